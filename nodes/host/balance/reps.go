package balance

import (
	"math/rand/v2"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// reps recycles EVs: each that came back clean is used once more, oldest first, and where
// there is none an EV is drawn (uet-htsim: reps). After a timeout it freezes: it uses the
// EVs of its ring in turn, again and again, as paths that are known to work.
//
//	recycling --timeout--> frozen --feedback after freeze--> exploring --16 packets--> recycling
var reps = Algorithm{
	Spec: algorithm.Spec{Name: "reps", Doc: "EVs that came back clean once more, else drawn ones; frozen after a timeout", Params: []algorithm.Param{
		paths,
		{
			Name: "freeze", Kind: algorithm.Duration, Default: algorithm.Auto, Check: algorithm.NotNegative(units.ParseDuration),
			Doc: "after a timeout the last EVs that came back clean are used in turn for this time; 0s: never; auto: 10 ms where switches trim, else never",
		},
	}},
	Build: newREPS,
}

// Constants of the reference (uet-htsim: buffer_reps.cpp, uec_mp.cpp). An ACK for every 16 KiB brings
// back one EV of four: hosts.ack_every of a packet where REPS is compared.
const (
	repsRing    = 8                      // EVs kept
	repsFreeze  = 10 * units.Millisecond // without trimming the reference does not freeze
	repsExplore = 16                     // packets with drawn EVs after it
)

type repsState struct {
	random *rand.Rand
	paths  int
	upper  uint16 // bits of the flow's EVs

	ring  [repsRing]uint16
	fresh uint8 // bit i: ring[i] has not been used since it came back
	head  uint8 // where the next goes
	count uint8 // EVs in the ring

	cursor  uint8 // next one of a frozen ring
	explore uint8 // packets with drawn EVs left
	frozen  bool
	freeze  units.Duration // 0: never
	thaw    units.Time     // of a frozen ring
}

func newREPS(f Flow, r *algorithm.Reader) Balancer {
	var freeze units.Duration
	if f.Trim {
		freeze = repsFreeze
	}
	n := r.Int("paths")
	return &repsState{
		random: f.Random, paths: n, freeze: algorithm.OrAuto(r, "freeze", r.Duration, freeze),
		upper: uint16(f.Random.IntN(wire.EntropyRange)) &^ uint16(n-1),
	}
}

func (s *repsState) draw() uint16 { return s.upper | uint16(s.random.IntN(s.paths)) }

func (s *repsState) Next(units.Time) uint16 {
	switch {
	case s.explore > 0:
		s.explore--
		return s.draw()
	case s.frozen && s.count > 0:
		i := s.cursor
		s.cursor = (i + 1) % s.count
		s.fresh &^= 1 << i
		return s.ring[i]
	case s.frozen || s.fresh == 0:
		return s.draw()
	}
	// The oldest fresh EV: outside of a frozen ring the fresh ones are the last written.
	i := s.head
	for s.fresh>>i&1 == 0 {
		i = (i + 1) % repsRing
	}
	s.fresh &^= 1 << i
	return s.ring[i]
}

func (s *repsState) OnFeedback(now units.Time, f *Feedback) {
	if f.Returned {
		s.forget(f.EV) // it may have come back clean before its path went down
	}
	if f.Outcome == Lost && !s.frozen && s.explore == 0 && s.freeze > 0 {
		s.frozen, s.thaw = true, now.Add(s.freeze)
	}
	if s.frozen && now > s.thaw {
		s.frozen, s.explore = false, repsExplore
		s.fresh, s.head, s.count, s.cursor = 0, 0, 0, 0
	}
	if f.Outcome == Good {
		s.ring[s.head] = f.EV
		s.fresh |= 1 << s.head
		s.head = (s.head + 1) % repsRing
		s.count = min(s.count+1, repsRing)
	}
}

// forget takes an EV out of the ring.
func (s *repsState) forget(ev uint16) {
	was, old := *s, s.ring
	s.fresh, s.head, s.count, s.cursor = 0, 0, 0, 0
	for k := range int(was.count) {
		i := (int(was.head) + repsRing - int(was.count) + k) % repsRing // from the oldest one
		if old[i] == ev {
			continue
		}
		s.ring[s.head] = old[i]
		s.fresh |= was.fresh >> i & 1 << s.head
		s.head = (s.head + 1) % repsRing
		s.count++
	}
}
