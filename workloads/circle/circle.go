// Package circle says which training jobs fit on a link together. A job computes and
// communicates with a period, so that its communication is a set of arcs on a circle whose
// perimeter is the period. Jobs that share a link are put onto one unified circle, whose
// perimeter is the least common multiple of their periods; they are compatible if rotations
// exist with which their arcs keep apart (Rajasekaran et al., HotNets 2022), or with which
// the link carries all that they send (Rajasekaran et al., CASSINI, NSDI 2024).
//
// It is arithmetic on whole picoseconds; it knows no packet and no congestion control, and
// asks no clock. What sharing makes of jobs that overlap is a matter of workloads/fluid.
package circle

import (
	"github.com/csiglab/csiglab/units"
)

// Burst is a time in which a job communicates.
type Burst struct {
	At     units.Duration // from the begin of the period; at least 0
	Length units.Duration // more than 0; At+Length is at most the period
	Rate   units.Rate     // while it lasts; 0: whatever the link has
}

// Profile is the communication of a job, which repeats with the period. A period begins
// with computing.
type Profile struct {
	Name   string
	Period units.Duration // more than 0
	Bursts []Burst        // at least one, ascending, apart
}

// Compute returns the part of the period in which the job does not communicate.
func (p *Profile) Compute() units.Duration {
	compute := p.Period
	for _, b := range p.Bursts {
		compute -= b.Length
	}
	return compute
}
