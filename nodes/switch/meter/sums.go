package meter

import "github.com/csiglab/csiglab/units"

// Counted is what a Sums counts.
type Counted uint8

// What happens at a port, in bytes of packets.
const (
	Sent        Counted = iota // packets that leave
	TrimmedSent                // of those, the trimmed ones
	Trimmed                    // cut off packets
	Dropped                    // packets that find no room
	counted
)

// Sums counts bytes at an egress port over the windows that its Bandwidth has: the last
// closed window (Tumbling), or the sub-windows that make up the interval (Sliding). What is
// counted belongs to the window of its moment: a packet that leaves, to that in which its
// first bit does. Only ports of switches with signals of modules have one.
type Sums struct {
	interval  units.Duration
	sub       units.Duration // length of a window
	count     int            // windows in an interval
	at        int            // ring position of the window that closes next
	windowEnd units.Time     // of the open window
	ring      [subWindows][counted]units.Size
	sum       [counted]units.Size // of the windows in the interval
	open      [counted]units.Size
}

// NewSums returns the sums of a port at which nothing has happened. The arguments are those
// of NewBandwidth.
func NewSums(interval units.Duration, mode Mode, phase units.Duration) Sums {
	var s Sums
	s.sub, s.count, s.windowEnd = windows(interval, mode, phase)
	s.interval = s.sub * units.Duration(s.count)
	return s
}

// Count counts bytes at now. Calls are in order of time.
func (s *Sums) Count(now units.Time, what Counted, size units.Size) {
	s.roll(now)
	s.open[what] += size
}

// Bytes returns the bytes of the last interval that has closed at now.
func (s *Sums) Bytes(now units.Time, what Counted) units.Size {
	s.roll(now)
	return s.sum[what]
}

// Interval returns the interval that the sums are of: that of NewSums, rounded down to a
// multiple of the sub-windows of Sliding.
func (s *Sums) Interval() units.Duration { return s.interval }

// roll closes the windows that end at or before now.
func (s *Sums) roll(now units.Time) {
	if now < s.windowEnd {
		return
	}
	passed := int64(now.Sub(s.windowEnd)/s.sub) + 1
	for range min(passed, int64(s.count)+1) { // after these the ring is empty
		for k := range s.sum {
			s.sum[k] += s.open[k] - s.ring[s.at][k]
		}
		s.ring[s.at], s.open = s.open, [counted]units.Size{}
		if s.at++; s.at == s.count {
			s.at = 0
		}
	}
	s.windowEnd = s.windowEnd.Add(units.Duration(passed) * s.sub)
}
