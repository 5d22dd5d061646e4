// Package aqm is what a switch port does about its data queue: mark with ECN,
// and choose which packet to trim when the queue is full.
package aqm

import (
	"fmt"
	"math/rand/v2"

	"github.com/csiglab/csiglab/units"
)

// Linear marks departing packets with a probability that is 0 up to Low, rises
// linearly and is 1 from High on (uet-htsim compositequeue: decide_ECN). The
// queue is taken after the departing packet has left it.
type Linear struct {
	Low, High units.Size
}

// Off marks nothing.
var Off = Linear{Low: units.NoLimit, High: units.NoLimit}

// Check refuses thresholds in the wrong order.
func (l Linear) Check() error {
	if l.Low < 0 || l.High < l.Low {
		return fmt.Errorf("aqm: ECN thresholds %v and %v are not in order", l.Low, l.High)
	}
	return nil
}

// Mark decides for one packet. It draws only between the thresholds.
func (l Linear) Mark(queue units.Size, r *rand.Rand) bool {
	switch {
	case queue <= l.Low && queue < l.High || l.Low == units.NoLimit:
		return false
	case queue >= l.High:
		return true
	}
	return units.Size(r.Uint64N(uint64(l.High-l.Low))) < queue-l.Low
}

// TrimArriving tosses the coin of a full queue: true trims the arriving packet,
// false the one that was enqueued last (uet-htsim compositequeue).
func TrimArriving(r *rand.Rand) bool { return r.Uint64()&1 != 0 }
