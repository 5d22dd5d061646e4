// Package misbehave has algorithms that end a run in each of the ways in which one can.
package misbehave

import (
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/units"
)

// after is how many events an algorithm behaves for.
const after = 200

func how(values ...string) []algorithm.Param {
	return []algorithm.Param{{Name: "how", Kind: algorithm.Enum, Default: "well", Values: append(values, "well", "panic", "loop"), Doc: "how it ends the run"}}
}

// trouble panics or loops at its 200th call, or at once with an even shorter fuse.
type trouble struct {
	how   string
	calls int
	table []int
}

func (t *trouble) step() {
	if t.calls++; t.calls < after {
		return
	}
	switch t.how {
	case "panic":
		t.table[t.calls]++
	case "loop":
		for t.how == "loop" {
			t.calls++
		}
	}
}

func init() {
	congestion.Register(congestion.Algorithm{
		Spec:    algorithm.Spec{Name: "bad-cc", Doc: "misbehaves", Params: how("negative", "huge", "action", "build")},
		Actions: []congestion.Action{{Name: "only", Label: "the only one", Short: "only"}},
		Windows: func(p congestion.Path, _ *algorithm.Reader) congestion.Windows {
			return congestion.Windows{Min: p.MTU, Max: 100 * p.MTU}
		},
		Build: func(p congestion.Path, r *algorithm.Reader) congestion.Controller {
			c := &controller{trouble: trouble{how: r.Text("how")}}
			if c.how == "build" {
				panic("no such path")
			}
			c.out = congestion.Output{Window: 50 * p.MTU, BaseRTT: p.NetworkRTT}
			return c
		},
	})
	balance.Register(balance.Algorithm{
		Spec: algorithm.Spec{Name: "bad-lb", Doc: "misbehaves", Params: how()},
		Build: func(_ balance.Flow, r *algorithm.Reader) balance.Balancer {
			return &balancer{trouble{how: r.Text("how")}}
		},
	})
	aqm.Register(aqm.Algorithm{
		Spec:  algorithm.Spec{Name: "bad-aqm", Doc: "misbehaves", Params: how()},
		Build: func(_ aqm.Port, r *algorithm.Reader) aqm.Policy { return &policy{trouble{how: r.Text("how")}} },
	})
}

type controller struct {
	trouble
	out congestion.Output
}

func (c *controller) Output() *congestion.Output { return &c.out }

func (c *controller) OnAck(units.Time, *congestion.Ack) {
	if c.step(); c.calls < after {
		return
	}
	switch c.how {
	case "negative":
		c.out.Window = -1
	case "huge":
		c.out.Window = units.GB
	case "action":
		c.out.Action = 7
	}
}
func (c *controller) OnNack(units.Time, *congestion.Nack)       {}
func (c *controller) OnTimeout(units.Time, *congestion.Timeout) {}

type balancer struct{ trouble }

func (b *balancer) Next(units.Time) uint16 {
	b.step()
	return 0
}
func (b *balancer) OnFeedback(units.Time, *balance.Feedback) {}

type policy struct{ trouble }

func (p *policy) Mark(units.Time, aqm.Departure) bool {
	p.step()
	return false
}
