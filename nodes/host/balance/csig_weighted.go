package balance

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/csiglab/csiglab/internal/fifo"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/units"
)

// csigWeighted sends EVs in proportion to weights that follow from the CSIG samples of
// their paths (docs/reference/references.md#csig-weighted): (1 - nQD)^gamma, or the least available
// bandwidth. A share of the packets explores all EVs alike. Two rules keep it from chasing
// what no path can help: a sample that is too old is forgotten, and one whose locator is
// a last hop lowers no weight.
var csigWeighted = Algorithm{
	Spec: algorithm.Spec{
		Name: "csig-weighted", Doc: "EVs in proportion to what CSIG says of their paths, the last hop left out", NeedsTag: true,
		Params: []algorithm.Param{
			paths,
			{Name: "weight", Kind: algorithm.Enum, Default: "nqd", Values: []string{"nqd", "abw"}, Doc: "of an EV: (1 - nQD)^gamma, or the least available bandwidth"},
			{Name: "gamma", Kind: algorithm.Int, Default: "2", Check: algorithm.Between(1, 16), Doc: "exponent of 1 - nQD, from 1 to 16"},
			{Name: "explore", Kind: algorithm.Number, Default: "0.03125", Check: exploreRange, Doc: "share of packets that use all EVs alike, from 1/32 to 1"},
			{
				Name: "max_age", Kind: algorithm.Duration, Default: algorithm.Auto, Check: algorithm.Positive(units.ParseDuration),
				Doc: "age from which an EV's sample no longer counts; auto: twice the network RTT or csig.interval, whichever is longer",
			},
			{Name: "pick", Kind: algorithm.Enum, Default: "round-robin", Values: []string{"round-robin", "two-choice", "ack-clocked"}, Doc: "smooth weighted round robin, the better of two drawn EVs, or those of ACKs again by their weights, else round robin"},
			{Name: "last_hop", Kind: algorithm.Enum, Default: "keep", Values: []string{"keep", "move"}, Doc: "a bottleneck at the last hop leaves the weight of an EV as it is, or counts as any other"},
		},
	},
	Build: newCSIGWeighted,
}

// leastExplored is the smallest share of packets that explore
// (docs/reference/references.md#csig-weighted).
const leastExplored = 1.0 / 32

// wholeShare is a share of 1. Decimal fractions of up to nine places are exact.
const wholeShare = 1_000_000_000

func exploreRange(text string) error {
	if v, err := strconv.ParseFloat(text, 64); err != nil || v < leastExplored || v > 1 {
		return fmt.Errorf("%s is not from 1/32 to 1", text)
	}
	return nil
}

// pathState is what is known of an EV's path.
type pathState struct {
	weight float64    // of the last sample that counts; clean: as the best
	credit float64    // of the round robin: what the EV is owed, in packets
	at     units.Time // the weight was learnt; units.Never: it is not known
	lost   units.Time // until then the EV is not used, because a packet timed out or was returned
	gone   units.Time // a packet was returned then: samples of packets sent before say nothing of the path
	worst  uint16     // locator of the last sample
}

// lostFor is how long an EV is not used after a timeout, not even to explore: as long as
// REPS freezes. A path that is gone would cost a timeout each time.
const lostFor = repsFreeze

// clean is the weight of an EV of which nothing is known but that its bottleneck is the
// last hop. It counts as the best known one.
const clean = math.MaxFloat64

type csigState struct {
	wants    csig.Weights
	signal   csig.Type
	gamma    int
	explored int64 // share of packets that explore, of wholeShare
	maxAge   units.Duration
	two      bool // two-choice
	clocked  bool // ack-clocked
	keep     bool // last_hop
	states   []pathState
	known    []float64 // scratch: weights that count
	median   float64   // of them; what an EV without a weight has
	best     float64   // the greatest of them
	walk     walk      // of the round robin, and of drawn EVs
	explore  walk
	// returned has, of ack-clocked, the EVs that ACKs brought back and that are owed a
	// packet. A path that is slow brings back few.
	returned fifo.Queue[uint16]
	owed     int64 // to exploring, in wholeShare of a packet; below 1 packet
	picks    int   // until the weights are compared again
	now      units.Time
}

func newCSIGWeighted(f Flow, r *algorithm.Reader) Balancer {
	n := r.Int("paths")
	s := &csigState{
		signal: csig.NQD, gamma: r.Int("gamma"), explored: int64(math.Round(r.Number("explore") * wholeShare)),
		maxAge: algorithm.OrAuto(r, "max_age", r.Duration, 2*max(f.NetworkRTT, f.Interval)),
		two:    r.Text("pick") == "two-choice", clocked: r.Text("pick") == "ack-clocked", keep: r.Text("last_hop") == "keep",
		states: make([]pathState, n), known: make([]float64, 0, n),
		walk: newWalk(f.Random, n), explore: newWalk(f.Random, n), picks: n,
		median: 1, best: 1,
	}
	s.explore.upper = s.walk.upper
	first := 1 + f.Random.IntN(int(wholeShare/s.explored)) // packet that explores
	s.owed = wholeShare - int64(first)*s.explored
	if r.Text("weight") == "abw" {
		s.signal = csig.ABW
	}
	s.wants = csig.Only(s.signal)
	for i := range s.states {
		s.states[i].at = units.Never
	}
	return s
}

// Wants implements Listener.
func (s *csigState) Wants() csig.Weights { return s.wants }

func (s *csigState) Next(now units.Time) uint16 {
	s.now = now
	if s.owed += s.explored; s.owed >= wholeShare {
		s.owed -= wholeShare
		return s.walk.upper | s.any()
	}
	if s.picks--; s.picks <= 0 {
		s.compare()
	}
	if s.two {
		return s.walk.upper | s.better()
	}
	if ev, ok := s.returned.Pop(); ok {
		return ev
	}
	return s.walk.upper | s.turn()
}

// any returns the next EV of those that explore.
func (s *csigState) any() uint16 {
	i := s.explore.step()
	for range s.states {
		if s.states[i].lost <= s.now {
			break
		}
		i = s.explore.step()
	}
	return i
}

// compare finds the best and the median weight of those known.
func (s *csigState) compare() {
	s.picks = len(s.states)
	s.known = s.known[:0]
	for i := range s.states {
		if p := &s.states[i]; s.counts(p) && p.weight != clean {
			s.known = append(s.known, p.weight)
		}
	}
	if len(s.known) == 0 {
		s.median, s.best = 1, 1
		return
	}
	slices.Sort(s.known)
	s.median, s.best = s.known[len(s.known)/2], s.known[len(s.known)-1]
}

// counts reports whether the weight of an EV is known and not too old.
func (s *csigState) counts(p *pathState) bool {
	return p.at != units.Never && s.now.Sub(p.at) <= s.maxAge
}

// share returns the weight of an EV as a share of the best one, from 0 to 1. Where none is
// worth anything, all are alike.
func (s *csigState) share(p *pathState) float64 {
	w := s.median
	switch {
	case p.lost > s.now:
		return 0
	case s.counts(p):
		w = p.weight
	}
	if w >= s.best {
		return 1
	}
	return w / s.best
}

// turn returns the next EV of the round robin. Each lap of the walk owes an EV its share
// of a packet, and the EV is sent when it is owed a whole one: with equal weights every EV
// in every lap, as oblivious does, and one of a third of the weight in every third lap.
func (s *csigState) turn() uint16 {
	n := len(s.states)
	for step := range 4 * n {
		i := s.walk.step()
		p := &s.states[i]
		if p.credit += s.share(p); p.credit >= wholePacket {
			p.credit = max(0, p.credit-1)
			return i
		}
		if step == n-1 {
			s.compare() // a whole lap without a turn: the best has become worse
		}
	}
	return s.any()
}

// wholePacket is 1, less what adding up shares may lose.
const wholePacket = 1 - 1e-9

// better returns the better one of two drawn EVs.
func (s *csigState) better() uint16 {
	i, k := s.walk.random.IntN(len(s.states)), s.walk.random.IntN(len(s.states))
	if s.share(&s.states[k]) > s.share(&s.states[i]) {
		i = k
	}
	return uint16(i)
}

func (s *csigState) OnFeedback(now units.Time, f *Feedback) {
	p := &s.states[f.EV&(s.walk.lap-1)]
	lastHop := f.LastHop && s.keep
	s.now = now
	switch {
	case f.Returned:
		s.avoid(f)
	case f.Sampled && f.Sample.DoNotUpdate:
		// Trimmed: in the core as bad as a path can be; at the last hop no path's fault.
		// The locator of the tag decides, whatever the outcome says.
		if !lastHop {
			s.set(p, 0)
		}
	case f.Outcome == Trimmed:
		s.set(p, 0)
	case f.Outcome == Lost:
		s.set(p, 0)
		p.lost = now.Add(lostFor)
	case f.Sampled && f.Sample.Type == s.signal && !(f.Dated && now.Add(-f.Age) < p.gone):
		p.worst = f.Sample.Locator
		s.learn(p, s.weigh(&f.Sample), lastHop)
	}
	if s.clocked && f.Acked > 0 {
		s.recycle(p, f.EV)
	}
}

// avoid leaves the EVs alone that lead to a port that is down: the one whose packet was
// returned, and those whose last sample names the port.
func (s *csigState) avoid(f *Feedback) {
	returned := f.EV & (s.walk.lap - 1)
	for i := range s.states {
		if p := &s.states[i]; uint16(i) == returned || f.Locator != 0 && p.worst == f.Locator {
			s.set(p, 0)
			p.lost, p.gone = s.now.Add(lostFor), s.now
		}
	}
	for range s.returned.Len() {
		if ev, _ := s.returned.Pop(); s.states[ev&(s.walk.lap-1)].lost <= s.now {
			s.returned.Push(ev)
		}
	}
}

// recycle owes an EV its share of a packet, because one came back.
func (s *csigState) recycle(p *pathState, ev uint16) {
	if p.credit += s.share(p); p.credit < wholePacket {
		return
	}
	p.credit = max(0, p.credit-1)
	if s.returned.Len() == len(s.states) {
		s.returned.Pop() // what explores comes back too
	}
	s.returned.Push(ev)
}

// learn takes the weight of a sample. A sample of the last hop lowers no weight: the rest
// of the path is no worse than it says, and so it may raise one.
func (s *csigState) learn(p *pathState, weight float64, lastHop bool) {
	switch {
	case !lastHop:
	case s.counts(p):
		weight = max(p.weight, weight)
	default:
		weight = clean
	}
	s.set(p, weight)
	p.lost = 0
}

func (s *csigState) set(p *pathState, weight float64) {
	p.weight, p.at = weight, s.now
	if weight != clean {
		s.best = max(s.best, weight)
	}
}

// weigh returns the weight that a sample says: (1 - nQD)^gamma, or bytes/s of available
// bandwidth, by the lower edge.
func (s *csigState) weigh(sample *csig.Sample) float64 {
	if s.signal == csig.ABW {
		return float64(sample.Low)
	}
	free, weight := 1-float64(min(sample.Point, ppm))/ppm, 1.0
	for range s.gamma {
		weight = float64(weight * free)
	}
	return weight
}

const ppm = 1_000_000 // nQD is in ppm
