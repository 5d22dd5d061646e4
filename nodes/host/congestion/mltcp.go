package congestion

import (
	"slices"
	"strings"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/units"
)

// mltcp is MLTCP (HotNets'24 paper; arXiv 2402.09589) around a window algorithm: its
// increases are scaled by F = slope*ratio + intercept, with ratio the share of the
// communication phase that is acknowledged. Of two jobs on a link the one that is further
// in its phase gets more of it, so that their phases slide apart.
//
// Departs from the public ns-3 code, which takes a gap in the ACKs for a new iteration:
// here the application says where its phases begin.
var mltcp = Algorithm{
	Spec: algorithm.Spec{
		Name: "mltcp",
		Doc:  "MLTCP: another algorithm's increases scaled by slope*ratio + intercept, by how much of the phase is done",
		Params: append([]algorithm.Param{
			{Name: "wrap", Kind: algorithm.Enum, Default: "dctcp", Values: wrappedNames(), Doc: "the algorithm whose increases are scaled; its parameters are parameters of mltcp"},
			{Name: "slope", Kind: algorithm.Number, Default: "1.75", Check: notNegativeNumber, Doc: "S: the ratio's share in the scale"},
			{Name: "intercept", Kind: algorithm.Number, Default: "0.25", Check: positiveNumber, Doc: "I: the scale at the begin of a phase"},
		}, wrappedParams()...),
	},
	Actions: mltcpActions,
	Build:   newMLTCP,
	Needs: func(r *algorithm.Reader) Needs {
		if a := wrappedBy(r); a.Needs != nil {
			return a.Needs(r.Inner(a.Spec))
		}
		return Needs{}
	},
	Constants: func(p Path, r *algorithm.Reader) []Constant {
		if a := wrappedBy(r); a.Constants != nil {
			return a.Constants(p, r.Inner(a.Spec))
		}
		return nil
	},
	Windows: func(p Path, r *algorithm.Reader) Windows {
		a := wrappedBy(r)
		return a.Windows(p, r.Inner(a.Spec))
	},
}

// wrapped are the algorithms that mltcp can wrap: those whose controllers are scaled.
var wrapped = []*Algorithm{&dctcp, &swift, &nscc}

// scaled is a controller whose increases can be scaled. The factor, 1 at first, holds for
// the events after it.
type scaled interface {
	Controller
	scaleIncrease(factor float64)
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

// mltcpActions are what an ACK can be answered with, whatever is wrapped.
var mltcpActions = wrappedActions()

// wrappedActions returns the actions of all of them; several algorithms have some of the
// same name.
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

type mltcpState struct {
	out    Output
	inner  scaled
	from   *Output
	action []uint8 // of mltcp, by that of inner

	slope, intercept float64
	phase            progress // in acknowledged bytes
}

func newMLTCP(p Path, r *algorithm.Reader) Controller {
	a := wrappedBy(r)
	inner := r.Inner(a.Spec)
	c := &mltcpState{slope: r.Number("slope"), intercept: r.Number("intercept")}
	c.inner = a.Build(p, inner).(scaled)
	r.Adopt(inner)
	c.from = c.inner.Output()
	for _, own := range a.Actions {
		c.action = append(c.action, uint8(slices.IndexFunc(mltcpActions, func(b Action) bool { return b.Name == own.Name })))
	}
	c.publish()
	return c
}

func (c *mltcpState) Output() *Output { return &c.out }

// OnPhase takes the begin and the end of an iteration's communication.
func (c *mltcpState) OnPhase(_ units.Time, p *Phase) {
	c.phase.begin(p)
	c.scale()
}

// scale is F(bytes_ratio) = slope*bytes_ratio + intercept (MLTCP paper, equation 1).
func (c *mltcpState) scale() {
	c.inner.scaleIncrease(float64(c.slope*c.phase.ratio()) + c.intercept)
}

func (c *mltcpState) OnAck(now units.Time, a *Ack) {
	c.phase.sent += a.Acked
	c.scale()
	c.inner.OnAck(now, a)
	c.publish()
}

func (c *mltcpState) OnNack(now units.Time, n *Nack) {
	c.inner.OnNack(now, n)
	c.publish()
}

func (c *mltcpState) OnTimeout(now units.Time, t *Timeout) {
	c.inner.OnTimeout(now, t)
	c.publish()
}

func (c *mltcpState) publish() {
	c.out = *c.from
	c.out.Action = c.action[c.from.Action]
}

// notNegativeNumber is a Check of a Number: 0 or more.
func notNegativeNumber(text string) error {
	if text == "0" {
		return nil
	}
	return positiveNumber(text)
}
