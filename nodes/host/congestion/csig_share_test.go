package congestion

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/units"
)

// freeAck returns an ACK with a fresh sample of ABW/C, of a packet that was sent at a time.
func freeAck(sent units.Time, free float64) *Ack {
	a := packets(1, 20*units.Microsecond, 5)
	a.CSIG[csig.ABWC] = Signal{Valid: true, Fresh: true, SentAt: sent, Sample: csig.Sample{Type: csig.ABWC, Point: uint64(free * fullShare)}}
	return a
}

func TestCSIGShareClaims(t *testing.T) {
	// Ours: the first sample of a phase says what was free; then what stays free for hold.
	at := func(us int) units.Time { return early.Add(units.Duration(us) * units.Microsecond) }
	c := made[*wrapper](t, csigShare, algorithm.Values{"wrap": "dctcp", "low": "0.2", "high": "2.2", "hold": "100us"})
	l := c.law.(*claimLaw)
	if c.Output().Wants != csig.Only(csig.ABWC) {
		t.Errorf("wants %v", c.Output().Wants)
	}
	for _, step := range []struct {
		what  string
		event func()
		want  float64 // factor
	}{
		{"no sample yet", func() { c.OnPhase(at(0), &Phase{Begin: true, Total: units.MB}) }, 2.2},
		{"of a packet before the phase", func() { c.OnAck(at(10), freeAck(at(-1), 0.9)) }, 2.2},
		{"a busy link", func() { c.OnAck(at(20), freeAck(at(0), 0.1)) }, 0.4},
		{"free for a moment", func() { c.OnAck(at(60), freeAck(at(40), 0.8)) }, 0.4},
		{"and busy again", func() { c.OnAck(at(80), freeAck(at(60), 0.05)) }, 0.4},
		{"no more than that stayed free", func() { c.OnAck(at(120), freeAck(at(100), 0.7)) }, 0.4},
		{"free since", func() { c.OnAck(at(160), freeAck(at(140), 0.6)) }, 0.4},
		{"for hold", func() { c.OnAck(at(220), freeAck(at(200), 0.9)) }, 0.2 + 2*0.6},
		{"a claim does not fall", func() {
			for us := 220; us < 600; us += 20 {
				c.OnAck(at(us+20), freeAck(at(us), 0))
			}
		}, 0.2 + 2*0.6},
		{"the next phase has its own", func() {
			c.OnPhase(at(700), &Phase{Total: units.MB, Sent: units.MB})
			c.OnPhase(at(800), &Phase{Begin: true, Total: units.MB})
			c.OnAck(at(820), freeAck(at(800), 0.3))
		}, 0.2 + 2*0.3},
	} {
		if step.event(); !about(l.factor(), step.want, 1e-12) {
			t.Errorf("%s: factor %v, want %v", step.what, l.factor(), step.want)
		}
	}
	// Samples that say nothing new, or nothing of ABW/C.
	for name, change := range map[string]func(s *Signal){
		"held": func(s *Signal) { s.Fresh = false }, "none": func(s *Signal) { s.Valid = false }, "forced": func(s *Signal) { s.Sample.DoNotUpdate = true },
	} {
		c.OnPhase(at(900), &Phase{Begin: true, Total: units.MB})
		a := freeAck(at(900), 1)
		change(&a.CSIG[csig.ABWC])
		if c.OnAck(at(920), a); !l.first || !about(l.factor(), 0.8, 1e-12) {
			t.Errorf("%s: factor %v, want 0.8 as before", name, l.factor())
		}
	}
}

func TestCSIGShareScales(t *testing.T) {
	// The increase of what is wrapped is scaled by the factor.
	c := made[*wrapper](t, csigShare, algorithm.Values{"wrap": "dctcp", "cwnd": "41500B", "slow_start": "false", "low": "0.5", "high": "2"})
	c.OnPhase(early, &Phase{Begin: true, Total: units.MB})
	before := c.inner.(*dctcpState).cwnd
	a := freeAck(early, 0)
	c.OnAck(early.Add(units.Microsecond), a)
	if got, want := c.inner.(*dctcpState).cwnd-before, 0.5*packet*packet/before; !about(got, want, 1e-9) {
		t.Errorf("window grows by %v, want %v", got, want)
	}
}

func TestCSIGShareRemaining(t *testing.T) {
	// Ours: factor = high - (high-low) min(1, remaining/reference).
	for _, test := range []struct {
		reference string
		sent      units.Size // of 1 MB
		want      float64
	}{
		{"auto", 0, 0.5}, {"auto", 250 * units.KB, 1}, {"auto", units.MB, 2.5}, {"auto", 2 * units.MB, 2.5},
		{"500kB", 0, 0.5}, {"500kB", 500 * units.KB, 0.5}, {"500kB", 750 * units.KB, 1.5}, {"4MB", 0, 2},
	} {
		values := algorithm.Values{"weight": "remaining", "low": "0.5", "high": "2.5", "reference": test.reference}
		c := made[*wrapper](t, csigShare, values)
		if c.Output().Wants.Any() {
			t.Errorf("wants %v", c.Output().Wants)
		}
		if got := c.law.factor(); got != 2.5 {
			t.Errorf("factor %v outside phases", got)
		}
		c.OnPhase(early, &Phase{Begin: true, Total: units.MB})
		c.law.onAck(early, &Ack{Acked: test.sent})
		if got := c.law.factor(); !about(got, test.want, 1e-12) {
			t.Errorf("reference %s, %v sent: factor %v, want %v", test.reference, test.sent, got, test.want)
		}
	}
}

func TestCSIGShareParameters(t *testing.T) {
	for _, test := range []struct {
		values algorithm.Values
		want   string
	}{
		{algorithm.Values{"low": "3"}, "csig-share: parameter low: 3 is above high, 2"},
		{algorithm.Values{"reference": "1MB"}, "csig-share: parameter reference: only with weight remaining"},
		{algorithm.Values{"weight": "remaining", "hold": "1ms"}, "csig-share: parameter hold: only with weight abw"},
		{algorithm.Values{"wrap": "mltcp"}, "csig-share: parameter wrap: unknown value"},
		{algorithm.Values{"wrap": "nscc", "csig": "max-delay"}, ""},
	} {
		_, err := csigShare.New(threeTier, test.values)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want)) {
			t.Errorf("%v: error %v, want %q", test.values, err, test.want)
		}
	}
	// It asks for its own signal beside that of what it wraps.
	c := made[*wrapper](t, csigShare, algorithm.Values{"wrap": "nscc", "csig": "max-delay"})
	if w := c.Output().Wants; w[csig.ABWC] == 0 || w[csig.Delay] == 0 {
		t.Errorf("wants %v", w)
	}
}
