package congestion

import (
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/units"
)

// rccc leaves everything to the credit that receivers grant (transport.Puller). The
// sender has no window of its own and answers nothing.
var rccc = Algorithm{
	Spec: algorithm.Spec{
		Name: "rccc",
		Doc:  "UET receiver congestion control alone: receivers grant credit, senders have no window of their own",
	},
	Actions: []Action{{"none", "nothing", "nothing"}},
	Build:   newRCCC,
	Windows: func(p Path, _ *algorithm.Reader) Windows { return Windows{Min: unlimited(p), Max: unlimited(p)} },
	Needs:   func(*algorithm.Reader) Needs { return Needs{Credits: true} },
}

type rcccState struct {
	out  Output
	rtts rtts
}

func newRCCC(p Path, _ *algorithm.Reader) Controller {
	c := &rcccState{rtts: newRTTs(p)}
	c.out.Window, c.out.BaseRTT = unlimited(p), c.rtts.base
	return c
}

func (c *rcccState) Output() *Output { return &c.out }

func (c *rcccState) OnAck(_ units.Time, a *Ack) {
	c.rtts.take(a)
	c.out.Delay, c.out.BaseRTT = c.rtts.queueing(), c.rtts.base
}

func (c *rcccState) OnNack(units.Time, *Nack) {}

func (c *rcccState) OnTimeout(units.Time, *Timeout) {}
