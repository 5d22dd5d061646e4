package wall

import (
	"math"
	"math/bits"
	"time"

	"github.com/csiglab/csiglab/units"
)

// Lateness is a histogram of how late events were, in wall time. Its buckets are
// an eighth of an octave wide. The zero value is empty.
type Lateness struct {
	Counts []int64 // by bucket
	Events int64
	Max    time.Duration
}

// Buckets: the first 2^latenessBits are a nanosecond wide each.
const latenessBits = 3

func latenessBucket(d time.Duration) int {
	v := uint64(max(d, 0))
	shift := max(0, bits.Len64(v)-latenessBits-1)
	return shift<<latenessBits + int(v>>shift)
}

// top is the longest time that falls into a bucket.
func latenessTop(bucket int) time.Duration {
	shift := max(0, bucket>>latenessBits-1)
	return time.Duration((uint64(bucket-shift<<latenessBits)+1)<<shift - 1)
}

// Add counts an event that was late by d; one that was early was not late.
func (l *Lateness) Add(d time.Duration) {
	bucket := latenessBucket(d)
	for len(l.Counts) <= bucket {
		l.Counts = append(l.Counts, 0)
	}
	l.Counts[bucket]++
	l.Events++
	l.Max = max(l.Max, d)
}

// Merge adds the events of another histogram.
func (l *Lateness) Merge(o Lateness) {
	for len(l.Counts) < len(o.Counts) {
		l.Counts = append(l.Counts, 0)
	}
	for i, n := range o.Counts {
		l.Counts[i] += n
	}
	l.Events += o.Events
	l.Max = max(l.Max, o.Max)
}

// Quantile returns a lateness that the share q of all events does not exceed,
// within an eighth; 0 without events.
func (l *Lateness) Quantile(q float64) time.Duration {
	rank := int64(math.Ceil(q * float64(l.Events)))
	for bucket, n := range l.Counts {
		if rank -= n; rank <= 0 && l.Events > 0 {
			return min(latenessTop(bucket), l.Max)
		}
	}
	return l.Max
}

// Timing is how well a node, or all of them, kept real time.
type Timing struct {
	Lateness Lateness
	// Displaced counts the packets that the machine got after the moment at which
	// they had to arrive had passed for it, DisplacedMax the longest such time.
	Displaced      int64
	DisplacedMax   units.Duration
	Sent, Received int64 // frames of links
	Unread         int64 // frames of programs that nobody read in time, or that no interface took
	RealTime       bool  // the threads had a real-time priority, all of them
	Ports          []PortTiming
}

// PortTiming is how fast a port really sent, over the packets that left back to
// back.
type PortTiming struct {
	Node, Port int
	Packets    int64          // that followed the one before without a gap
	Model      units.Duration // that they took on the link, in model time
	Wall       time.Duration  // that they took in wall time
}

// Rate returns the achieved rate as a share of the nominal one, under a dilation.
func (p PortTiming) Rate(dilation float64) float64 {
	if p.Wall <= 0 {
		return 1
	}
	return float64(p.Model) / 1000 * dilation / float64(p.Wall)
}

// Merge adds what another node measured.
func (t *Timing) Merge(o Timing) {
	t.Lateness.Merge(o.Lateness)
	t.Displaced += o.Displaced
	t.DisplacedMax = max(t.DisplacedMax, o.DisplacedMax)
	t.Sent += o.Sent
	t.Received += o.Received
	t.Unread += o.Unread
	t.RealTime = t.RealTime && o.RealTime
	t.Ports = append(t.Ports, o.Ports...)
}
