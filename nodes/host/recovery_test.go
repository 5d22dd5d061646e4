package host_test

import (
	"math/rand/v2"
	"testing"

	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/node/nodetest"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Where packets are dropped, SLEEK finds most losses before RTO, and the transfer is done
// sooner.
func TestSleekIsFasterThanRTO(t *testing.T) {
	run := func(r transport.Recovery) (timeouts int64, done units.Time) {
		var c [2]host.Config
		for i := range c {
			c[i] = config(i)
			c[i].Recovery, c[i].RTO, c[i].Path.Trim = r, 500*units.Microsecond, false
		}
		sends(&c[0], 0, 2000*mss, 0)
		receives(&c[1], 0, 2000*mss)
		p := newPair(t, c)
		random := rand.New(rand.NewPCG(1, 0))
		p.Fault = func(_ units.Time, _ int, p *wire.Packet) []units.Duration {
			if p.Kind() == wire.Data && random.IntN(200) == 0 {
				return nil
			}
			return nodetest.Intact
		}
		s := p.totals()[0].Senders[0]
		return s.Timeouts, s.Done
	}
	timeouts, done := run(transport.Selective)
	fewer, sooner := run(transport.Sleek)
	if done == units.Never || fewer > timeouts/4 || sooner > done/2 {
		t.Errorf("done at %v with %d timeouts, with SLEEK at %v with %d", done, timeouts, sooner, fewer)
	}
}
