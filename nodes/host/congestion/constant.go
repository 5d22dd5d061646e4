package congestion

import (
	"fmt"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/units"
)

// constant controls nothing: a window, a rate, or both, that stay. It is what the
// others are compared with, and makes traffic of a known intensity.
var constant = Algorithm{
	Spec: algorithm.Spec{
		Name: "constant",
		Doc:  "a window, a rate or both that do not change; reacts to nothing",
		Params: []algorithm.Param{
			{Name: "cwnd", Kind: algorithm.Size, Default: algorithm.Auto, Check: algorithm.Positive(units.ParseSize), Doc: "the window; auto: 1 BDP of the network RTT, or with a rate so much that only the rate limits"},
			{Name: "rate", Kind: algorithm.Rate, Default: algorithm.Auto, Check: algorithm.Positive(units.ParseRate), Doc: "the rate of wire bytes; auto: that of the link, not paced"},
		},
	},
	Actions: []Action{{"none", "nothing", "nothing"}},
	Build:   newConstant,
	Windows: func(p Path, r *algorithm.Reader) Windows {
		window := constantWindow(p, r)
		return Windows{Min: window, Max: window}
	},
}

// constantWindow returns the window that does not change.
func constantWindow(p Path, r *algorithm.Reader) units.Size {
	window := max(bdp(p.NetworkRTT, p.LinkRate), p.MTU)
	if r.Text("rate") != algorithm.Auto {
		window = unlimited(p)
	}
	return algorithm.OrAuto(r, "cwnd", r.Size, window)
}

func newConstant(p Path, r *algorithm.Reader) Controller {
	c := newPassive(p)
	c.out.Window = constantWindow(p, r)
	if c.out.Window < p.MTU {
		r.Fail("cwnd", fmt.Errorf("%v is less than one packet, %v", c.out.Window, p.MTU))
	}
	if rate := algorithm.OrAuto(r, "rate", r.Rate, p.LinkRate); rate < p.LinkRate {
		c.out.PacingRate = rate
	} else if rate > p.LinkRate {
		r.Fail("rate", fmt.Errorf("%v is more than the link's %v", rate, p.LinkRate))
	}
	return &c
}
