package timekeeper

import "time"

// Sample is one round trip to another machine: two times of this machine's clock around two
// times of the other's.
type Sample struct {
	Sent     time.Duration // here
	Received time.Duration // there
	Answered time.Duration // there
	Returned time.Duration // here
}

// RoundTrip returns how long the sample was under way.
func (s Sample) RoundTrip() time.Duration { return s.Returned - s.Sent - (s.Answered - s.Received) }

// Offset is how far the clock of another machine is ahead of this one's.
type Offset struct {
	Ahead time.Duration
	Error time.Duration // Ahead is wrong by this much at most
}

// maxDrift is by how much two clocks may run at different rates, as a share: the kernel slews
// CLOCK_MONOTONIC by 500 ppm at most (adjtimex(2)), at either machine.
const maxDrift = 0.001

// Estimate returns the offset of the other machine's clock at a time of this one's. No packet
// arrives before it was sent, so each sample bounds the offset from both sides, as far apart
// as its round trip is long. All bounds together leave the offset; that is at least as good
// as the sample with the shortest round trip alone, whatever the ways there and back are
// like. Samples are in ascending order of time. Where a clock has jumped, as when a virtual
// machine was stopped, only the samples from then on count. Without a sample it returns false.
func Estimate(samples []Sample, at time.Duration) (Offset, bool) {
	if len(samples) == 0 {
		return Offset{}, false
	}
	var least, most time.Duration
	for i := range samples {
		s := samples[len(samples)-1-i] // the latest first
		drift := time.Duration(maxDrift * float64(max(at-s.Sent, s.Returned-at, 0)))
		low, high := s.Answered-s.Returned-drift, s.Received-s.Sent+drift
		if i == 0 {
			least, most = low, high
			continue
		}
		if max(least, low) > min(most, high) {
			break
		}
		least, most = max(least, low), min(most, high)
	}
	return Offset{Ahead: (least + most) / 2, Error: (most - least + 1) / 2}, true
}
