package host_test

import (
	"fmt"
	"testing"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// scripted is a controller of which a test sees every event and sets the output. Any of
// its functions may be nil.
type scripted struct {
	out     congestion.Output
	onAck   func(c *scripted, now units.Time, a *congestion.Ack)
	onTimer func(c *scripted, now units.Time)
	onSend  func(c *scripted, now units.Time, s *congestion.Send)
	onPhase func(c *scripted, now units.Time, p *congestion.Phase)
	onCNP   func(c *scripted, now units.Time)
}

func (c *scripted) Output() *congestion.Output { return &c.out }
func (c *scripted) OnAck(now units.Time, a *congestion.Ack) {
	if c.onAck != nil {
		c.onAck(c, now, a)
	}
}
func (c *scripted) OnNack(units.Time, *congestion.Nack)       {}
func (c *scripted) OnTimeout(units.Time, *congestion.Timeout) {}
func (c *scripted) OnTimer(now units.Time) {
	if c.onTimer != nil {
		c.onTimer(c, now)
	}
}
func (c *scripted) OnSend(now units.Time, s *congestion.Send) {
	if c.onSend != nil {
		c.onSend(c, now, s)
	}
}
func (c *scripted) OnPhase(now units.Time, p *congestion.Phase) {
	if c.onPhase != nil {
		c.onPhase(c, now, p)
	}
}
func (c *scripted) OnCNP(now units.Time) {
	if c.onCNP != nil {
		c.onCNP(c, now)
	}
}

// plain is scripted without the optional interfaces.
type plain struct{ c *scripted }

func (p plain) Output() *congestion.Output                      { return p.c.Output() }
func (p plain) OnAck(now units.Time, a *congestion.Ack)         { p.c.OnAck(now, a) }
func (p plain) OnNack(now units.Time, n *congestion.Nack)       {}
func (p plain) OnTimeout(now units.Time, t *congestion.Timeout) {}

// script adds a congestion control to the table for the time of a test, and returns its
// choice. build sets up each flow's controller.
func script(t *testing.T, needs congestion.Needs, build func(c *scripted) congestion.Controller) algorithm.Choice {
	t.Helper()
	before := congestion.Table
	t.Cleanup(func() { congestion.Table = before })
	name := fmt.Sprintf("test-scripted-%d", len(before))
	congestion.Table = append(before[:len(before):len(before)], congestion.Algorithm{
		Spec: algorithm.Spec{Name: name, Doc: "what a test wants"},
		Build: func(p congestion.Path, _ *algorithm.Reader) congestion.Controller {
			return build(&scripted{out: congestion.Output{Window: 1000 * p.MTU, Timer: units.Never, BaseRTT: p.NetworkRTT}})
		},
		Needs: func(*algorithm.Reader) congestion.Needs { return needs },
	})
	return algorithm.Choice{Name: name}
}

// onlyOutput builds controllers without optional interfaces, of which set makes the output.
func onlyOutput(set func(o *congestion.Output)) func(c *scripted) congestion.Controller {
	return func(c *scripted) congestion.Controller {
		set(&c.out)
		return plain{c}
	}
}

// tap is a pair of hosts with the times at which data packets of each flow began to leave.
type tap struct {
	*pair
	data map[uint32][]units.Time
	seen func(now units.Time, from int, p *wire.Packet) // nil: nobody looks
}

func newTap(t *testing.T, c [2]host.Config) *tap {
	t.Helper()
	x := &tap{pair: newPair(t, c), data: map[uint32][]units.Time{}}
	x.Fault = func(now units.Time, from int, p *wire.Packet) []units.Duration {
		if p.Kind() == wire.Data {
			x.data[p.Flow()] = append(x.data[p.Flow()], now)
		}
		if x.seen != nil {
			x.seen(now, from, p)
		}
		return []units.Duration{0}
	}
	return x
}
