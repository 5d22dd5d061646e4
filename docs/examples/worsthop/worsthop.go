// Package worsthop is a congestion controller for csiglab: a window that follows the
// queueing delay of the worst hop of its path, which CSIG tags of max(Delay) bring back.
package worsthop

import (
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/units"
)

func init() {
	congestion.Register(congestion.Algorithm{
		Spec: algorithm.Spec{
			Name: "worst-hop",
			Doc:  "AIMD on the queueing delay of the worst hop, by CSIG max(Delay)",
			Params: []algorithm.Param{
				{Name: "target", Kind: algorithm.Duration, Default: "5us", Check: algorithm.Positive(units.ParseDuration), Doc: "queueing delay of the worst hop that is aimed for"},
				{Name: "gain", Kind: algorithm.Number, Default: "0.5", Check: algorithm.Share, Doc: "largest cut of the window, as a share"},
			},
		},
		Actions: []congestion.Action{
			grow: {Name: "grow", Label: "grow by a packet per RTT", Short: "grow"},
			cut:  {Name: "cut", Label: "cut by the excess delay", Short: "cut"},
			hold: {Name: "hold", Label: "hold until the cut shows", Short: "hold"},
		},
		Windows: func(p congestion.Path, _ *algorithm.Reader) congestion.Windows {
			return congestion.Windows{Min: p.MTU, Max: 2 * p.LinkRate.Volume(p.NetworkRTT)}
		},
		Build: func(p congestion.Path, r *algorithm.Reader) congestion.Controller {
			c := &controller{path: p, target: r.Duration("target"), gain: r.Number("gain"), most: 2 * p.LinkRate.Volume(p.NetworkRTT)}
			c.out = congestion.Output{Window: p.LinkRate.Volume(p.NetworkRTT), BaseRTT: p.NetworkRTT}
			c.out.Wants[csig.Delay] = 1
			return c
		},
	})
}

const (
	grow uint8 = iota
	cut
	hold
)

type controller struct {
	path   congestion.Path
	target units.Duration
	gain   float64
	most   units.Size
	resume units.Time // until then the window is not cut again
	out    congestion.Output
}

func (c *controller) Output() *congestion.Output { return &c.out }

func (c *controller) OnAck(now units.Time, a *congestion.Ack) {
	worst := &a.CSIG[csig.Delay]
	if !worst.Valid {
		return
	}
	c.out.Delay = worst.Queueing()
	switch excess := c.out.Delay - c.target; {
	case excess <= 0:
		c.out.Action = grow
		c.set(c.out.Window + c.path.MTU*a.Acked/c.out.Window)
	case now < c.resume:
		c.out.Action = hold
	default:
		c.out.Action = cut
		c.resume = now.Add(c.path.NetworkRTT)
		c.set(units.Size(float64(c.out.Window) * (1 - c.gain*float64(excess)/float64(c.out.Delay))))
	}
}

func (c *controller) OnNack(_ units.Time, n *congestion.Nack)       { c.set(c.out.Window - n.Size) }
func (c *controller) OnTimeout(_ units.Time, t *congestion.Timeout) { c.set(c.out.Window - t.Size) }

// set keeps the window in the bounds that Windows states.
func (c *controller) set(window units.Size) { c.out.Window = min(max(window, c.path.MTU), c.most) }
