package congestion

import (
	"slices"
	"strings"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/units"
)

// wrapped are the algorithms whose increases others can scale: mltcp and csig-share, whose
// parameter wrap names one of them.
var wrapped = []*Algorithm{&dctcp, &swift, &nscc, &dcqcn}

// scaled is a controller whose increases can be scaled. The factor, 1 at first, holds for
// the events after it.
type scaled interface {
	Controller
	scaleIncrease(factor float64)
}

// scaledRate is a scaled controller that listens to every event, as one that sets a rate.
type scaledRate interface {
	scaled
	Timed
	SendListener
	PhaseListener
	CNPListener
}

// law is what increases are scaled by.
type law interface {
	onPhase(now units.Time, p *Phase)
	onAck(now units.Time, a *Ack)
	factor() float64
}

func wrappedNames() (names []string) {
	for _, a := range wrapped {
		names = append(names, a.Name)
	}
	return names
}

// wrappedParams returns the parameters of all of them. One that several have means the
// same in each.
func wrappedParams() (params []algorithm.Param) {
	at := map[string]int{}
	for _, a := range wrapped {
		for _, p := range a.Params {
			i, known := at[p.Name]
			if !known {
				i = len(params)
				at[p.Name] = i
				p.With = &algorithm.Condition{Param: "wrap"}
				params = append(params, p)
			}
			params[i].With.Values = append(params[i].With.Values, a.Name)
		}
	}
	for i := range params {
		p := &params[i]
		if names := p.With.Values; len(names) > 1 {
			p.Doc = "as " + strings.Join(names, ", ") + " have it"
		} else {
			p.Doc = names[0] + ": " + p.Doc
		}
	}
	return params
}

// scaledActions are what wrappedActions returns.
var scaledActions = wrappedActions()

// wrappedActions returns the actions of all of them, what an ACK can be answered with
// whatever is wrapped; several algorithms have some of the same name.
func wrappedActions() (actions []Action) {
	for _, a := range wrapped {
		for _, action := range a.Actions {
			if !slices.ContainsFunc(actions, func(b Action) bool { return b.Name == action.Name }) {
				actions = append(actions, action)
			}
		}
	}
	return actions
}

func wrappedBy(r *algorithm.Reader) *Algorithm {
	name := r.Text("wrap")
	for _, a := range wrapped {
		if a.Name == name {
			return a
		}
	}
	return wrapped[0] // the reader refuses the name
}

func wrappedNeeds(r *algorithm.Reader) Needs {
	if a := wrappedBy(r); a.Needs != nil {
		return a.Needs(r.Inner(a.Spec))
	}
	return Needs{}
}

func wrappedConstants(p Path, r *algorithm.Reader) []Constant {
	if a := wrappedBy(r); a.Constants != nil {
		return a.Constants(p, r.Inner(a.Spec))
	}
	return nil
}

func wrappedWindows(p Path, r *algorithm.Reader) Windows {
	a := wrappedBy(r)
	return a.Windows(p, r.Inner(a.Spec))
}

// wrapper is a controller that scales the increases of another one by a law.
type wrapper struct {
	out    Output
	law    law
	wants  csig.Weights // of the law
	inner  scaled
	from   *Output
	action []uint8 // of the wrapper, by that of inner
}

// rateWrapper is a wrapper of a scaledRate. It is a type of its own, so that flows with
// other controllers pay nothing for events that nobody listens to.
type rateWrapper struct {
	wrapper
	rate scaledRate
}

// wrap returns the controller of an algorithm whose parameters are wrap, wrappedParams and
// those of the law, and which wants what it wraps and the law want.
func wrap(p Path, r *algorithm.Reader, l law, wants csig.Weights) Controller {
	a := wrappedBy(r)
	inner := r.Inner(a.Spec)
	w := wrapper{law: l, wants: wants, inner: a.Build(p, inner).(scaled)}
	r.Adopt(inner)
	w.from = w.inner.Output()
	for _, own := range a.Actions {
		w.action = append(w.action, uint8(slices.IndexFunc(scaledActions, func(b Action) bool { return b.Name == own.Name })))
	}
	w.publish()
	if rate, ok := w.inner.(scaledRate); ok {
		return &rateWrapper{wrapper: w, rate: rate}
	}
	return &w
}

func (c *wrapper) Output() *Output { return &c.out }

// OnPhase takes the begin and the end of an iteration's communication.
func (c *wrapper) OnPhase(now units.Time, p *Phase) {
	c.law.onPhase(now, p)
	c.inner.scaleIncrease(c.law.factor())
}

func (c *wrapper) OnAck(now units.Time, a *Ack) {
	c.law.onAck(now, a)
	c.inner.scaleIncrease(c.law.factor())
	c.inner.OnAck(now, a)
	c.publish()
}

func (c *wrapper) OnNack(now units.Time, n *Nack) {
	c.inner.OnNack(now, n)
	c.publish()
}

func (c *wrapper) OnTimeout(now units.Time, t *Timeout) {
	c.inner.OnTimeout(now, t)
	c.publish()
}

func (c *wrapper) publish() {
	c.out = *c.from
	c.out.Action = c.action[c.from.Action]
	c.out.Wants = c.out.Wants.Merge(c.wants)
}

func (c *rateWrapper) OnPhase(now units.Time, p *Phase) {
	c.wrapper.OnPhase(now, p)
	c.rate.OnPhase(now, p)
	c.publish()
}

func (c *rateWrapper) OnTimer(now units.Time) {
	c.rate.OnTimer(now)
	c.publish()
}

func (c *rateWrapper) OnSend(now units.Time, s *Send) {
	c.rate.OnSend(now, s)
	c.publish()
}

func (c *rateWrapper) OnCNP(now units.Time) {
	c.rate.OnCNP(now)
	c.publish()
}
