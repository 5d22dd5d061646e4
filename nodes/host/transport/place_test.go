package transport_test

import (
	"testing"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// docs/reference/references.md#trimming-and-d: "trimmed at the last hop" comes from one of two DSCPs
// or from the locator of the trimmed packet's tag. Both give controller and balancer the
// same; each knows nothing of the other. A packet without a tag, by the locator, counts as
// trimmed inside the fabric. Of packets and of probes alike.
func TestTrimPlace(t *testing.T) {
	const lastHop, core = 5, 70
	for _, test := range []struct {
		name    string
		place   transport.TrimPlace
		dscp    bool   // of the last hop
		locator uint16 // 0: no tag
		want    bool
	}{
		{"dscp, last hop", transport.ByDSCP, true, lastHop, true},
		{"dscp, core", transport.ByDSCP, false, core, false},
		{"dscp, not the locator", transport.ByDSCP, true, core, true},
		{"dscp, without a tag", transport.ByDSCP, true, 0, true},
		{"locator, last hop", transport.ByLocator, true, lastHop, true},
		{"locator, core", transport.ByLocator, false, core, false},
		{"locator, not the dscp", transport.ByLocator, false, lastHop, true},
		{"locator, not the dscp, core", transport.ByLocator, true, core, false},
		{"locator, without a tag", transport.ByLocator, true, 0, false},
	} {
		for _, probes := range []bool{false, true} {
			d := domain(t, csig.FormatWide)
			s := newSender(t, 100*mss, units.NoLimit, func(c *transport.SenderConfig) {
				c.Domain = d
				c.Tagging = transport.Tagging{Sampling: csig.All, Signal: csig.Delay, Probe: 10 * units.Microsecond}
				c.Place = test.place
				c.LastHops.Add(lastHop)
			})
			r := newReceiver(100*mss, 1)
			p, answer := s.send(), new(wire.Packet)
			if probes {
				p = new(wire.Packet)
				s.Probe(s.now, p)
			}
			if test.locator == 0 {
				p.StripTag()
			} else {
				d.Trim(p.Tag(), 100, test.locator)
			}
			p.Trim(sizes, test.dscp)
			s.now = s.now.Add(units.Microsecond)
			if probes {
				r.OnProbe(p, answer)
				s.OnProbeReply(s.now, answer)
			} else {
				r.OnData(s.now, p, answer)
				s.OnNack(s.now, answer)
				if got := s.cc.nacks[0].LastHop; got != test.want {
					t.Errorf("%s: the controller learns of the last hop: %v", test.name, got)
				}
			}
			want := balance.Trimmed
			if test.want {
				want = balance.Good
			}
			if got := s.lb.feedback[0].Outcome; got != want {
				t.Errorf("%s, probes %v: the balancer learns of outcome %d, want %d", test.name, probes, got, want)
			}
		}
	}
}
