package congestion

import (
	"fmt"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/units"
)

// csigShare is ours: it makes the share of a job at a link depend on what CSIG tells, so
// that jobs that compute and communicate in turns move apart. As mltcp it scales another
// algorithm's increases, by a factor from low to high.
//
// With weight: abw it is first come, first served. When a communication phase begins, the
// path's smallest ABW/C says how much of its bottleneck nobody uses yet. A phase that finds
// a free link has a claim of 1 to it, one that finds a busy link of about 0:
//
//	factor = low + (high-low) claim
//
// The claim is of the phase. It grows to what stays free for the time hold, so that a phase
// takes the link over when the other one has left it. What is free for a moment, as rates
// go up and down, does not count. Two phases that begin within csig.interval both find a free
// link, and share it evenly.
//
// With weight: remaining the phase goes first that has the fewest bytes left:
//
//	factor = high - (high-low) min(1, remaining/reference)
var csigShare = Algorithm{
	Spec: algorithm.Spec{
		Name:     "csig-share",
		Doc:      "ours: another algorithm's increases scaled by what CSIG ABW/C says of the link when a phase begins, or by the bytes that remain",
		NeedsTag: true,
		Params: append([]algorithm.Param{
			{Name: "wrap", Kind: algorithm.Enum, Default: "dctcp", Values: wrappedNames(), Doc: "the algorithm whose increases are scaled; its parameters are parameters of csig-share"},
			{Name: "weight", Kind: algorithm.Enum, Default: shareABW, Values: []string{shareABW, shareRemaining}, Doc: "abw: a phase that finds the link free goes first; remaining: the phase with the fewest bytes left"},
			{Name: "low", Kind: algorithm.Number, Default: "0.1", Check: positiveNumber, Doc: "the least factor of increases"},
			{Name: "high", Kind: algorithm.Number, Default: "2", Check: positiveNumber, Doc: "the largest factor, at least low"},
			{Name: "hold", Kind: algorithm.Duration, Default: algorithm.Auto, Check: algorithm.Positive(units.ParseDuration), With: &algorithm.Condition{Param: "weight", Values: []string{shareABW}}, Doc: "with weight abw: how long a share of the link has to stay free until a phase that found it busy claims it; auto: 10 times csig.interval"},
			{Name: "reference", Kind: algorithm.Size, Default: algorithm.Auto, Check: algorithm.Positive(units.ParseSize), With: &algorithm.Condition{Param: "weight", Values: []string{shareRemaining}}, Doc: "with weight remaining: bytes left, headers included, from which the factor is low; auto: those of the phase"},
		}, wrappedParams()...),
	},
	Actions:   scaledActions,
	Build:     newCSIGShare,
	Share:     csigShareOfLink,
	Needs:     wrappedNeeds,
	Constants: wrappedConstants,
	Windows:   wrappedWindows,
}

// Weights of csigShare.
const (
	shareABW       = "abw"
	shareRemaining = "remaining"
)

// shareHold is the automatic hold in intervals of the signal.
const shareHold = 10

func newCSIGShare(p Path, r *algorithm.Reader) Controller {
	span := span{low: r.Number("low"), high: r.Number("high")}
	if span.low > span.high {
		r.Fail("low", fmt.Errorf("%v is above high, %v", span.low, span.high))
	}
	if r.Text("weight") == shareRemaining {
		l := &remainingLaw{span: span}
		if r.Text("reference") != algorithm.Auto {
			l.reference = r.Size("reference")
		}
		return wrap(p, r, l, csig.Weights{})
	}
	hold := algorithm.OrAuto(r, "hold", r.Duration, max(shareHold*p.SignalInterval, units.Microsecond))
	return wrap(p, r, &claimLaw{span: span, hold: hold, claim: 1}, csig.Only(csig.ABWC))
}

// span is a range of factors.
type span struct{ low, high float64 }

func (s *span) at(share float64) float64 { return s.low + float64((s.high-s.low)*share) }

// claimLaw is weight: abw.
type claimLaw struct {
	span
	hold  units.Duration
	claim float64 // 0 to 1
	begun units.Time
	first bool       // no packet of the phase has brought a sample
	free  float64    // the least ABW/C since from
	from  units.Time // when the first of these samples was sent
}

// onPhase begins a phase, which keeps the claim of the one before until it has a sample.
func (l *claimLaw) onPhase(now units.Time, p *Phase) {
	if p.Begin {
		l.begun, l.first = now, true
	}
}

// onAck takes the samples of packets that were sent in this phase.
func (l *claimLaw) onAck(_ units.Time, a *Ack) {
	s := &a.CSIG[csig.ABWC]
	if !s.Valid || !s.Fresh || s.Sample.DoNotUpdate || s.SentAt < l.begun {
		return
	}
	free := min(float64(s.Sample.Point)/fullShare, 1)
	if l.first {
		l.first, l.claim = false, free
		l.free, l.from = free, s.SentAt
		return
	}
	l.free = min(l.free, free)
	if s.SentAt.Sub(l.from) >= l.hold {
		l.claim = max(l.claim, l.free)
		l.free, l.from = free, s.SentAt
	}
}

func (l *claimLaw) factor() float64 { return l.at(l.claim) }

// remainingLaw is weight: remaining.
type remainingLaw struct {
	span
	reference units.Size // 0: that of the phase
	phase     progress   // in acknowledged bytes
}

func (l *remainingLaw) onPhase(_ units.Time, p *Phase) { l.phase.begin(p) }

func (l *remainingLaw) onAck(_ units.Time, a *Ack) { l.phase.sent += a.Acked }

func (l *remainingLaw) factor() float64 {
	reference := l.reference
	if reference == 0 {
		reference = l.phase.total
	}
	if reference == 0 { // outside phases
		return l.high
	}
	remaining := max(0, l.phase.total-l.phase.sent)
	return l.at(1 - min(1, float64(remaining)/float64(reference)))
}

func csigShareOfLink(r *algorithm.Reader) Share {
	low, high := r.Number("low"), r.Number("high")
	switch {
	case r.Text("weight") == shareABW:
		return Share{Intercept: 1, Low: low / high, Words: fmt.Sprintf("first come: weights %s, and down to %s on a busy link", r.Text("high"), r.Text("low"))}
	case r.Text("reference") != algorithm.Auto:
		return Share{Unknown: "how flows of csig-share with a reference share a link is not modelled"}
	}
	return Share{Intercept: low, Slope: high - low, Words: fmt.Sprintf("fewest bytes left first: weights %s to %s", r.Text("low"), r.Text("high"))}
}
