package meter

import (
	"slices"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/units"
)

// Scope is whose available bandwidth a port writes into tags.
type Scope uint8

// Scopes. Raw is the signal of the drafts; the others are extensions.
const (
	Raw        Scope = iota // the port's: its rate less what it sent
	PauseAware              // the same less the time in which the packet's class was paused and the port idle
	PerClass                // what the packet's class could get beside the other classes, less what it sent
)

// String returns the name.
func (s Scope) String() string { return scopes[s] }

// UnmarshalText implements encoding.TextUnmarshaler: raw, pause-aware or per-class.
func (s *Scope) UnmarshalText(text []byte) error {
	return spelling.Enum(s, "available bandwidth", text, scopes)
}

var scopes = []string{"raw", "pause-aware", "per-class"}

// Names returns the names, in the order of their values.
func (Scope) Names() []string { return slices.Clone(scopes) }

// Control is the class of packets that are of none: they go before all classes.
const Control = -1

// ShareConfig says what a class of a port shares the port with.
type ShareConfig struct {
	// Before is the set of classes whose packets the class gives way to, bit i for class i,
	// with itself if it has no Weights. Control packets are always among them.
	Before uint8
	// Weights are those of the classes that share by weight what Before leaves, the class
	// itself too, by class; 0 of all others. Empty: the class may have all of it.
	Weights []int
	Class   int // of Weights
}

// Share measures the available bandwidth of one class at an egress port that may be
// paused: what the class could get, less what it sent
// (docs/reference/references.md#available-bandwidth). Time in which the class is paused counts as if
// packets of Before had filled it. With Weights, each other class keeps what it sent in
// the rest of the time, or its share by weight of what is there if that is less. A packet
// belongs to where it began: one that began in a pause is part of the pause.
type Share struct {
	cfg    ShareConfig
	taken  Bandwidth   // by Before and pauses
	rivals []Bandwidth // what the classes of Weights sent
	since  units.Time  // up to where the pause is in taken; Never: there is none
	left   units.Time  // when the last packet that counts has left
	passes units.Time  // when the last packet of a rival that began in the pause has left
}

// NewShare returns the meter of a class. fresh is a new meter of the port.
func NewShare(fresh Bandwidth, cfg ShareConfig) Share {
	s := Share{cfg: cfg, taken: fresh, rivals: make([]Bandwidth, len(cfg.Weights)), since: units.Never}
	for i := range s.rivals {
		s.rivals[i] = fresh
	}
	return s
}

// eachMeter calls f for each meter.
func (s *Share) eachMeter(f func(*Bandwidth)) {
	f(&s.taken)
	for i := range s.rivals {
		f(&s.rivals[i])
	}
}

// SetRate is that of Bandwidth.
func (s *Share) SetRate(now units.Time, rate units.Rate) {
	s.bookPause(now)
	s.eachMeter(func(b *Bandwidth) { b.SetRate(now, rate) })
}

// Restart begins anew at now, as a meter that is fresh. A pause goes on.
func (s *Share) Restart(now units.Time, fresh Bandwidth) {
	s.bookPause(now)
	s.eachMeter(func(b *Bandwidth) { *b = b.Restart(now, fresh) })
	s.left, s.passes = now, now
}

// Transmit counts a packet of a class, or of Control, as Bandwidth.Transmit does.
func (s *Share) Transmit(now, departs units.Time, size units.Size, class int) {
	s.bookPause(now)
	meter := &s.taken
	switch {
	case class == Control || s.cfg.Before>>class&1 != 0:
	case class >= len(s.rivals) || s.cfg.Weights[class] == 0:
		return // the class goes first
	case s.since != units.Never:
		s.passes = departs
		return
	default:
		meter = &s.rivals[class]
	}
	meter.Transmit(now, departs, size)
	s.left = departs
}

// Pause says that the class may not send from now on.
func (s *Share) Pause(now units.Time) {
	if s.since == units.Never {
		s.since, s.passes = now, now
	}
}

// Resume ends a pause.
func (s *Share) Resume(now units.Time) {
	s.bookPause(max(now, s.passes))
	s.since = units.Never
}

// bookPause puts the time of a pause before now into taken, as far as no packet does.
func (s *Share) bookPause(now units.Time) {
	if s.since == units.Never {
		return
	}
	interval := s.taken.interval
	from := max(s.since, s.left, now.Add(-3*interval)) // what is older is in no window
	for from < now {
		to := min(now, from.Add(interval))
		s.taken.Transmit(from, to, s.taken.rate.Volume(to.Sub(from)))
		from = to
		s.left = to
	}
	s.since = max(s.since, now)
}

// Available returns the available bandwidth of the class in byte/s.
func (s *Share) Available(now units.Time) uint64 {
	s.bookPause(now)
	room := s.taken.Available(now)
	if len(s.rivals) == 0 {
		return room
	}
	// Shares by weight: a class that sent less than its share leaves the rest to the others.
	var sum uint64
	for _, w := range s.cfg.Weights {
		sum += uint64(w)
	}
	var served uint8
	for again := true; again; {
		again = false
		for i := range s.rivals {
			w := uint64(s.cfg.Weights[i])
			if i == s.cfg.Class || w == 0 || served>>i&1 != 0 {
				continue
			}
			if sent := s.rivals[i].used(now); sent*sum <= room*w {
				room, sum, served, again = room-sent, sum-w, served|1<<i, true
			}
		}
	}
	share := room * uint64(s.cfg.Weights[s.cfg.Class]) / sum
	return share - min(share, s.rivals[s.cfg.Class].used(now))
}

// used returns what was sent in the interval in byte/s, at most the rate.
func (b *Bandwidth) used(now units.Time) uint64 { return uint64(b.rate)/8 - b.Available(now) }

// Relative returns the available bandwidth of the class in ppm of the port's rate.
func (s *Share) Relative(now units.Time) uint64 { return relative(s.Available(now), s.taken.rate) }
