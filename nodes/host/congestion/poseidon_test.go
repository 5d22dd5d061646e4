package congestion

import (
	"math"
	"testing"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/units"
)

func TestReal(t *testing.T) {
	for x := -2.0; x <= 2; x += 1.0 / 64 {
		if got, want := expReduced(x), math.Exp(x); !about(got, want, 1e-14) {
			t.Errorf("exp(%v) = %v, want %v", x, got, want)
		}
	}
	for x := 1e-9; x < 1e12; x *= 1.37 {
		if got, want := ln(x), math.Log(x); math.Abs(got-want) > 1e-14*max(1, math.Abs(want)) {
			t.Errorf("ln(%v) = %v, want %v", x, got, want)
		}
	}
	if ln(1) != 0 || expReduced(0) != 1 {
		t.Errorf("ln 1 = %v, exp 0 = %v", ln(1), expReduced(0))
	}
}

// perHop is a sample of max(Delay) that is all queueing.
func perHop(delay units.Duration, fresh bool) (all Signals) {
	point := uint64(delay / units.Nanosecond)
	all[csig.Delay] = Signal{Valid: true, Fresh: fresh, Sample: csig.Sample{Type: csig.Delay, Locator: 1, Low: point, Point: point}}
	return all
}

func TestPoseidonTarget(t *testing.T) {
	// Poseidon paper and its public simulator: MPT(rate) = p (ln Rmax - ln rate) /
	// (ln Rmax - ln Rmin) + k, so that it falls by the same for each factor of the rate.
	c := made[*poseidonState](t, poseidon, algorithm.Values{"delay_p": "30us", "delay_k": "2us", "min_share": "0.001"})
	c.rtts.last = 10 * units.Microsecond // a packet per RTT is 3.32 Gbps
	for _, test := range []struct{ share, want float64 }{{1, 2}, {0.1, 12}, {0.01, 22}, {0.001, 32}, {0.0001, 32}, {2, 2}} {
		c.cwnd = test.share * 100 / 3.32
		if got := c.target() / 1e6; !about(got, test.want, 1e-9) {
			t.Errorf("target %v us at %v of the line, want %v", got, test.share, test.want)
		}
	}
	// The automatic ones are those of the public simulator, 42 us and 2 us, where the
	// network RTT is 14 us.
	c = made[*poseidonState](t, poseidon, nil)
	if !about(c.p/1e6, 42, 0.01) || !about(c.k/1e6, 2, 0.01) || !about(c.spread, math.Log(1000), 1e-9) || c.m != 0.25 {
		t.Errorf("p %v us, k %v us, spread %v, m %v", c.p/1e6, c.k/1e6, c.spread, c.m)
	}
}

func TestPoseidonStep(t *testing.T) {
	// Public simulator of Poseidon: U = exp((MPT-MPD)/p (ln Rmax - ln Rmin) m), clamped
	// to [0.4, 2.5], and per packet acknowledged rate *= 1 + (U-1)/cwnd.
	const target = 12 * units.Microsecond // at a tenth of the line
	values := algorithm.Values{"delay_p": "30us", "delay_k": "2us", "step": "0.5", "cwnd": "41500B"}
	ratio := func(error float64) float64 { return math.Exp(error / 30 * math.Log(1000) * 0.5) }
	for _, test := range []struct {
		name   string
		delay  units.Duration
		acked  int
		want   float64 // of the window
		action uint8
	}{
		{"at the target", target, 10, 1, poseidonIncrease},
		{"below, a window", target - 4*units.Microsecond, 10, ratio(4), poseidonIncrease},
		{"below, a packet", target - 4*units.Microsecond, 1, 1 + (ratio(4)-1)/10, poseidonIncrease},
		{"above, half a window", target + 5*units.Microsecond, 5, 1 + (ratio(-5)-1)/2, poseidonDecrease},
		{"far below", 0, 10, 2.5, poseidonIncrease},
		{"far above", 60 * units.Microsecond, 10, 0.4, poseidonDecrease},
		{"more than a window", target - 4*units.Microsecond, 30, ratio(4), poseidonIncrease},
	} {
		c := made[*poseidonState](t, poseidon, values)
		a := packets(test.acked, 0, 5)
		a.CSIG = perHop(test.delay, true)
		c.rtts.last = 33_200 * units.Nanosecond // 10 packets: 10 Gbps
		if c.OnAck(early, a); !about(c.cwnd, 10*test.want, 1e-6) || c.out.Action != test.action || c.out.Delay != test.delay {
			t.Errorf("%s: window %v by action %d for %v, want %v", test.name, c.cwnd, c.out.Action, c.out.Delay, 10*test.want)
		}
	}
}

func TestPoseidonSamples(t *testing.T) {
	// A held sample changes nothing; what was acknowledged with it counts with the next.
	c := made[*poseidonState](t, poseidon, algorithm.Values{"cwnd": "41500B"})
	a := packets(1, 14*units.Microsecond, 5)
	for _, signals := range []Signals{{}, perHop(0, false), perHop(0, false)} {
		a.CSIG = signals
		if c.OnAck(early, a); c.cwnd != 10 || c.out.Action != poseidonHold {
			t.Fatalf("window %v without a fresh sample", c.cwnd)
		}
	}
	a.CSIG = perHop(units.Microsecond, true)
	a.CSIG[csig.Delay].Sample.DoNotUpdate = true
	if c.OnAck(early, a); c.cwnd != 10 {
		t.Errorf("window %v by a forced sample", c.cwnd)
	}
	once := made[*poseidonState](t, poseidon, algorithm.Values{"cwnd": "41500B"})
	five := packets(5, 14*units.Microsecond, 5)
	five.CSIG = perHop(units.Microsecond, true)
	once.OnAck(early, five)
	a.CSIG = perHop(units.Microsecond, true)
	if c.OnAck(early, a); c.cwnd != once.cwnd || c.cwnd <= 10 {
		t.Errorf("window %v after five packets, want %v", c.cwnd, once.cwnd)
	}
	if c.out.Wants != csig.Only(csig.Delay) || !poseidon.NeedsTag {
		t.Errorf("wants %v", c.out.Wants)
	}
}

func TestPoseidonLoss(t *testing.T) {
	// Ours: a loss takes half the window, once per RTT.
	c := made[*poseidonState](t, poseidon, algorithm.Values{"cwnd": "41500B"})
	c.OnNack(early, &Nack{Size: packet})
	c.OnTimeout(early.Add(c.rtts.last-1), &Timeout{Size: packet})
	if c.cwnd != 5 {
		t.Errorf("window %v after two losses in an RTT, want 5", c.cwnd)
	}
	if c.OnTimeout(early.Add(c.rtts.last), &Timeout{Size: packet}); c.cwnd != 2.5 {
		t.Errorf("window %v after the next, want 2.5", c.cwnd)
	}
	for at := early; c.cwnd > c.least; at = at.Add(units.Millisecond) {
		c.OnNack(at.Add(units.Millisecond), &Nack{Size: packet})
	}
	if c.out.Window != 41 || c.out.PacingRate == 0 {
		t.Errorf("window %v at %v, want the least, paced", c.out.Window, c.out.PacingRate)
	}
}

// utilisation has fresh samples of both of csig-hpcc's signals, of packets sent at one time.
func utilisation(abwc, nqd float64, sentAt units.Time) (all Signals) {
	for t, share := range map[csig.Type]float64{csig.ABWC: abwc, csig.NQD: nqd} {
		all[t] = Signal{Valid: true, Fresh: true, SentAt: sentAt, Sample: csig.Sample{Type: t, Locator: 1, Point: uint64(math.Round(share * 1e6))}}
	}
	return all
}

func TestCSIGHPCCLaw(t *testing.T) {
	// HPCC paper, algorithm 1: W = Wc eta/U + W_AI if U >= eta or after maxStage additive
	// steps, else W = Wc + W_AI. Ours: U = 1 - min(ABW/C) + max(nQD).
	for _, test := range []struct {
		name      string
		abwc, nqd float64
		stage     int
		want      float64
		action    uint8
	}{
		{"half used", 0.5, 0, 0, 100_000 + 500, hpccAdditive},
		{"at eta", 0.05, 0, 0, 100_000 + 500, hpccMultiplicative},
		{"full, with a queue", 0, 0.25, 0, 100_000*0.95/1.25 + 500, hpccMultiplicative},
		{"a queue on a hop that is not full", 0.2, 0.15, 0, 100_000 + 500, hpccMultiplicative},
		{"after five steps", 0.25, 0, 5, 100_000*0.95/0.75 + 500, hpccMultiplicative},
		{"idle after five steps", 1, 0, 5, 175_284, hpccMultiplicative}, // at most doubled, to 1 BDP
	} {
		c := madeOn[*csigHPCCState](t, csigHPCC, fruPath, algorithm.Values{"window_ai": "500B"})
		c.most, c.window, c.stage = 175_284, 100_000, test.stage
		a := packets(1, 14*units.Microsecond, 5)
		a.CSIG = utilisation(test.abwc, test.nqd, units.Time(units.Millisecond))
		if c.OnAck(units.Time(2*units.Millisecond), a); !about(c.window, test.want, 1e-6) || c.out.Action != test.action {
			t.Errorf("%s: window %v by action %d, want %v", test.name, c.window, c.out.Action, test.want)
		}
		if want := 0; test.action == hpccMultiplicative && c.stage != want || test.action == hpccAdditive && c.stage != test.stage+1 {
			t.Errorf("%s: stage %d after %d", test.name, c.stage, test.stage)
		}
	}
	c := madeOn[*csigHPCCState](t, csigHPCC, fruPath, algorithm.Values{"nqd_weight": "3"})
	if want := (csig.Weights{csig.ABWC: 1, csig.NQD: 3}); c.out.Wants != want || c.window != 175_000 {
		t.Errorf("wants %v, window %v", c.out.Wants, c.window)
	}
	// HPCC paper: R = W/T and W_AI = W_init (1-eta)/N.
	if !about(c.step, 875, 2e-3) {
		t.Errorf("W_AI %v", c.step)
	}
	c.window = 87_500
	if c.publish(); !about(float64(c.out.PacingRate), 50e9, 1e-9) {
		t.Errorf("paced at %v, want 50 Gbps", c.out.PacingRate)
	}
}

func TestCSIGHPCCWaits(t *testing.T) {
	// Ours: a change is judged by samples in which it shows: of packets sent after it, and
	// for ABW/C an interval after it. Held and forced samples change nothing.
	c := madeOn[*csigHPCCState](t, csigHPCC, fruPath, nil)
	at := units.Time(units.Millisecond)
	send := func(abwcAt, nqdAt units.Time) uint8 {
		a := packets(1, 14*units.Microsecond, 5)
		a.CSIG = utilisation(0, 0.25, abwcAt)
		a.CSIG[csig.NQD].SentAt = nqdAt
		c.OnAck(at, a)
		return c.out.Action
	}
	c.change = at
	const interval = 128 * units.Microsecond
	for _, test := range []struct {
		name      string
		abwc, nqd units.Duration // after the change
		want      uint8
	}{
		{"ABW/C too young", interval - 1, interval, hpccHold},
		{"nQD before the change", interval, -1, hpccHold},
		{"both after", interval, 0, hpccMultiplicative},
	} {
		c.abwc, c.nqd, c.change = hpccSample{}, hpccSample{}, units.Time(units.Millisecond)
		if got := send(c.change.Add(test.abwc), c.change.Add(test.nqd)); got != test.want {
			t.Errorf("%s: action %d, want %d", test.name, got, test.want)
		}
	}
	// One sample counts once.
	before := c.window
	c.change = 0
	a := packets(1, 14*units.Microsecond, 5)
	a.CSIG = utilisation(0, 0.25, at)
	for t := range a.CSIG {
		a.CSIG[t].Fresh = false
	}
	if c.OnAck(at.Add(units.Millisecond), a); c.window != before {
		t.Errorf("window %v by held samples, want %v", c.window, before)
	}
	// A loss takes half, once per RTT.
	at = at.Add(10 * units.Millisecond)
	c.OnNack(at, &Nack{Size: packet})
	c.OnNack(at, &Nack{Size: packet})
	if !about(c.window, before/2, 1e-9) {
		t.Errorf("window %v after two losses, want half of %v", c.window, before)
	}
}
