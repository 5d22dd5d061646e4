package congestion

import (
	"math"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/units"
)

// What a link and its switch, with 1 us each way, add to the round trip of a packet.
const (
	threeTierHop = 2*units.Microsecond + 332_000 + 5_120
	twoTierHop   = 2*units.Microsecond + 41_500 + 640
)

// The networks of the check values (docs/reference/references.md#network-constants): hops of 1 us, a full packet and its
// ACK serialised on every link.
var (
	threeTier = Path{LinkRate: 100 * units.Gbps, NetworkRTT: 6 * threeTierHop, HostRTT: threeTierHop, HopRTT: threeTierHop, SlowestRate: 100 * units.Gbps, MTU: 4150, Header: 64, Trim: true}
	twoTier   = Path{LinkRate: 800 * units.Gbps, NetworkRTT: 4 * twoTierHop, HostRTT: twoTierHop, HopRTT: twoTierHop, SlowestRate: 800 * units.Gbps, MTU: 4150, Header: 64, Trim: true}
)

const packet = 4150

func newState(t *testing.T, p Path, v algorithm.Values) *nsccState {
	t.Helper()
	c, err := nscc.New(p, v)
	if err != nil {
		t.Fatal(err)
	}
	return c.(*nsccState)
}

func near(got, want float64) bool { return math.Abs(got-want) <= 5e-6*want }

func TestNSCCConstants(t *testing.T) {
	// docs/reference/references.md#network-constants, #window-limits. The reference prints the same values.
	for _, test := range []struct {
		name                       string
		path                       Path
		target                     units.Duration
		alpha, fair, eta, fastGain float64
		window                     units.Size
	}{
		{"3-tier 100G", threeTier, 10_517_040, 1.59158e-3, 23873.7, 716, 0.29214, 262_926},
		{"2-tier 800G", twoTier, 6_126_420, 7.41705e-3, 111256, 3337, 5.44571 / 4, 1_225_284},
	} {
		c := newState(t, test.path, nil)
		if c.target != test.target {
			t.Errorf("%s: target %v, want %v", test.name, c.target, test.target)
		}
		for _, f := range []struct {
			name      string
			got, want float64
		}{
			{"alpha", c.alpha, test.alpha}, {"fi", c.fair, test.fair}, {"eta", float64(c.eta), test.eta}, {"fi_scale", c.fastGain, test.fastGain},
		} {
			if !near(f.got, f.want) {
				t.Errorf("%s: %s = %v, want %v", test.name, f.name, f.got, f.want)
			}
		}
		if c.out.Window != test.window {
			t.Errorf("%s: first window %d, want %d", test.name, c.out.Window, test.window)
		}
	}
	// 0.75 of the network RTT with trimming, 1.0 without.
	drops := threeTier
	drops.Trim = false
	if c := newState(t, drops, nil); c.target != drops.NetworkRTT {
		t.Errorf("target without trimming %v, want %v", c.target, drops.NetworkRTT)
	}
	if got := nscc.ConstantsOf(threeTier, algorithm.Values{"target_qdelay": "7us"})[0]; got.Name != "target_qdelay_us" || got.Value != 7 {
		t.Errorf("constant %+v with a target of 7us", got)
	}
}

func TestNSCCRefuses(t *testing.T) {
	for name, texts := range map[string][]string{
		"cwnd":          {"0B", "4149B", "262927B", "-4150B"},
		"target_qdelay": {"0us", "-1us"},
		"gamma":         {"0", "-0.5", "1.01", "NaN"},
		"delay_alpha":   {"0", "1.5", "NaN"},
		"csig":          {"max-abw"},
	} {
		for _, text := range texts {
			if _, err := nscc.New(threeTier, algorithm.Values{name: text}); err == nil || !strings.Contains(err.Error(), "nscc: parameter "+name) {
				t.Errorf("%s = %q: error %v, want one that names the parameter", name, text, err)
			}
		}
	}
	for name, texts := range map[string][]string{"cwnd": {"4150B", "262926B"}, "gamma": {"1"}, "delay_alpha": {"1"}} {
		for _, text := range texts {
			if _, err := nscc.New(threeTier, algorithm.Values{name: text}); err != nil {
				t.Errorf("%s = %q: %v", name, text, err)
			}
		}
	}
}

// ack is an ACK of one packet whose RTT is base RTT plus delay.
func ack(c *nsccState, delay units.Duration, marked bool) *Ack {
	return &Ack{Acked: packet, RTT: c.baseRTT + delay, HasRTT: true, ECN: marked, Penalty: 255}
}

// early is before the first adjustment period has passed.
const early = units.Time(10 * units.Microsecond)

func TestNSCCQuadrants(t *testing.T) {
	// The four cases of docs/reference/references.md#nscc-window.
	const target = units.Duration(10_517_040)
	for _, test := range []struct {
		delay    units.Duration
		marked   bool
		action   uint8
		increase float64
	}{
		{target, false, actionFair, 23873.71 * packet},
		{target + 1, false, actionFair, 23873.71 * packet},
		{target - 1, false, actionProportional, 1.591579e-3 * packet},
		{target - units.Microsecond, false, actionProportional, 1.591579e-3 * packet * 1e6},
		{target, true, actionDecrease, 0},
		{target - 1, true, actionNone, 0},
		{0, true, actionNone, 0},
	} {
		c := newState(t, threeTier, algorithm.Values{"cwnd": "100kB"})
		c.OnAck(early, ack(c, test.delay, test.marked))
		if c.out.Action != test.action || c.out.Delay != test.delay {
			t.Errorf("delay %v, marked %v: %v for %v, want %v", test.delay, test.marked, c.out.Action, c.out.Delay, test.action)
		}
		if !near(c.increase, test.increase) {
			t.Errorf("delay %v, marked %v: increase %v, want %v", test.delay, test.marked, c.increase, test.increase)
		}
		if c.out.Window != 100_000 {
			t.Errorf("delay %v, marked %v: window %d, want 100000 until an adjustment", test.delay, test.marked, c.out.Window)
		}
	}
}

func TestNSCCFastIncrease(t *testing.T) {
	// docs/reference/references.md#nscc-window: fast increase, at once, after more than a window
	// of bytes with delays under 1 us, and no longer than these last.
	c := newState(t, threeTier, algorithm.Values{"cwnd": "8300B"})
	const step = 1212 // 0.29214 * 4150, rounded down
	for i, test := range []struct {
		delay  units.Duration
		action uint8
		window units.Size
	}{
		{0, actionProportional, 8300},                          // 4150 acknowledged
		{0, actionProportional, 8300},                          // 8300: not more than the window
		{0, actionFast, 8300 + step},                           //
		{units.Microsecond - 1, actionFast, 8300 + 2*step},     // still about zero
		{units.Microsecond, actionProportional, 8300 + 2*step}, // ends it
		{0, actionProportional, 8300 + 2*step},                 // counts again from zero
		{20 * units.Microsecond, actionFair, 8300 + 2*step},    // fair increase leaves the count
		{0, actionProportional, 8300 + 2*step},                 // 8300 of 10724
		{0, actionFast, 8300 + 3*step},                         // 12450
	} {
		c.received, c.increase = 0, 0 // no adjustment between
		c.OnAck(early, ack(c, test.delay, false))
		if c.out.Action != test.action || c.out.Window != test.window {
			t.Errorf("ACK %d: %v, window %d, want %v, %d", i+1, c.out.Action, c.out.Window, test.action, test.window)
		}
	}
	// A multiplicative decrease ends it.
	c.OnAck(early, ack(c, 20*units.Microsecond, true))
	if c.fastMode || c.fastCount != 0 {
		t.Error("a decrease left fast mode on")
	}
}

func TestNSCCAverage(t *testing.T) {
	// docs/reference/references.md#ack-processing: the average delay has gain 0.0125; an unmarked
	// sample above the target counts as a quarter of base RTT.
	const target, before = units.Duration(10_517_040), 8 * units.Microsecond
	base := threeTier.NetworkRTT
	for _, test := range []struct {
		name   string
		delay  units.Duration
		marked bool
		sample units.Duration
	}{
		{"at the target, not damped", target, false, target},
		{"above the target, damped", target + 1, false, base / 4},
		{"above the target, marked", target + 1, true, target + 1},
		{"an outlier, marked", 6 * base, true, 6 * base},
		{"an outlier, damped", 6 * base, false, base / 4},
		{"below", 0, false, 0},
	} {
		c := newState(t, threeTier, nil)
		c.avgDelay = before
		c.OnAck(early, ack(c, test.delay, test.marked))
		want := 0.9875*float64(before) + 0.0125*float64(test.sample)
		if got := float64(c.avgDelay); math.Abs(got-want) > 1 {
			t.Errorf("%s: average %v ps, want %v", test.name, got, want)
		}
	}
	// Without a sample the delay is the average, which stays.
	c := newState(t, threeTier, nil)
	c.avgDelay = before
	c.OnAck(early, &Ack{Acked: packet, Penalty: 255, ECN: true})
	if c.avgDelay != before || c.out.Delay != before {
		t.Errorf("without a sample: average %v, delay %v, want %v", c.avgDelay, c.out.Delay, before)
	}
}

func TestNSCCDecrease(t *testing.T) {
	// docs/reference/references.md#nscc-window: a decrease goes by the average delay, once per base
	// RTT, at most to half and not below one MTU; the sample decides whether there is one.
	base := threeTier.NetworkRTT
	const target = units.Duration(10_517_040)
	const now = units.Time(units.Millisecond)
	for _, test := range []struct {
		name     string
		avg      units.Duration
		sinceCut units.Duration
		cwnd     int64
		want     int64
	}{
		{"average of two targets", 2 * target, base + 1, 200_000, 120_000}, // 1 - 0.8/2
		{"at most half", 20 * target, base + 1, 200_000, 100_000},
		{"not below a packet", 20 * target, base + 1, 5_000, packet},
		{"once per base RTT", 2 * target, base, 200_000, 200_000},
		{"average at the target", target, base + 1, 200_000, 200_000},
		{"average below, sample above", target / 2, base + 1, 200_000, 200_000},
	} {
		c := newState(t, threeTier, nil)
		c.cwnd, c.avgDelay, c.lastCut, c.lastAdjust = test.cwnd, test.avg, now.Add(-test.sinceCut), now
		// The sample equals the average where it is above the target, so that
		// the average stays.
		c.OnAck(now, ack(c, max(test.avg, target), true))
		if c.out.Action != actionDecrease || math.Abs(float64(int64(c.out.Window)-test.want)) > 1 {
			t.Errorf("%s: %v to %d, want a decrease to %d", test.name, c.out.Action, c.out.Window, test.want)
		}
		wantCut := now
		if test.want == test.cwnd {
			wantCut = now.Add(-test.sinceCut)
		}
		if c.lastCut != wantCut {
			t.Errorf("%s: last cut at %v, want %v", test.name, c.lastCut, wantCut)
		}
	}
}

func TestNSCCAdjust(t *testing.T) {
	// docs/reference/references.md#nscc-window: pending increases are applied after 8 MTU or a
	// network RTT (strictly more), eta once that RTT has passed.
	const now = units.Time(units.Millisecond)
	period := threeTier.NetworkRTT
	fair := 23 * units.Microsecond // above the target
	for _, test := range []struct {
		name     string
		received int64
		since    units.Duration
		window   units.Size
	}{
		{"8 packets are not more than 8 MTU", 7 * packet, 0, 100_000},
		// 23873.71 B * 4150 B / 100000 B = 990
		{"9 packets", 8 * packet, 0, 100_990},
		{"a period", 0, period, 100_000},
		{"more than a period", 0, period + 1, 100_990 + 716},
		{"9 packets and a period", 8 * packet, period, 100_990 + 716},
	} {
		c := newState(t, threeTier, algorithm.Values{"cwnd": "100kB"})
		c.received, c.lastAdjust = test.received, now.Add(-test.since)
		c.OnAck(now, ack(c, fair, false))
		if c.out.Window != test.window {
			t.Errorf("%s: window %d, want %d", test.name, c.out.Window, test.window)
		}
		if adjusted := test.window != 100_000; adjusted != (c.increase == 0 && c.received == 0) {
			t.Errorf("%s: %v collected over %d bytes", test.name, c.increase, c.received)
		}
	}
}

func TestNSCCQuickAdapt(t *testing.T) {
	// docs/reference/references.md#quick-adapt, rule by rule.
	const now = units.Time(units.Millisecond)
	type state struct {
		end       units.Time
		achieved  int64
		triggered bool
	}
	const gate = 262_926 >> 3
	const heavy = 4*10_517_040 + units.Duration(1)
	for _, test := range []struct {
		name   string
		state  state
		delay  units.Duration
		action uint8
		window units.Size
	}{
		{"the first call only starts the window", state{0, 0, true}, heavy, actionFair, 100_000},
		{"inside the window", state{now, 0, true}, heavy, actionFair, 100_000},
		{"heavy delay, nothing else achieved", state{now - 1, 0, false}, heavy, actionQuickAdapt, packet},
		{"delay at the threshold", state{now - 1, 0, false}, heavy - 1, actionFair, 100_000},
		{"triggered by a NACK", state{now - 1, 2 * packet, true}, 11 * units.Microsecond, actionQuickAdapt, 3 * packet},
		{"not triggered", state{now - 1, 2 * packet, false}, 11 * units.Microsecond, actionFair, 100_000},
		{"window is what was achieved", state{now - 1, 4 * packet, true}, heavy, actionQuickAdapt, 5 * packet},
		{"just under an eighth of the largest window", state{now - 1, gate - packet - 1, true}, heavy, actionQuickAdapt, gate - 1},
		{"an eighth of the largest window", state{now - 1, gate - packet, true}, heavy, actionFair, 100_000},
	} {
		c := newState(t, threeTier, algorithm.Values{"cwnd": "100kB"})
		c.lastAdjust = now
		c.qaEnd, c.qaAchieved, c.qaTriggered = test.state.end, test.state.achieved, test.state.triggered
		a := ack(c, test.delay, false)
		a.Inflight = 50_000
		c.OnAck(now, a)
		if c.out.Action != test.action || c.out.Window != test.window {
			t.Errorf("%s: %v, window %d, want %v, %d", test.name, c.out.Action, c.out.Window, test.action, test.window)
		}
		if test.state.end < now {
			// The next period begins.
			if want := now.Add(c.baseRTT + c.target); c.qaEnd != want || c.qaAchieved != 0 {
				t.Errorf("%s: window to %v with %d achieved, want to %v with 0", test.name, c.qaEnd, c.qaAchieved, want)
			}
		}
		if c.out.Action == actionQuickAdapt && (c.bytesToIgnore != 50_000 || c.bytesIgnored != 0 || c.qaTriggered || c.increase != 0 || c.received != 0) {
			t.Errorf("%s: left %+v", test.name, *c)
		}
	}
}

func TestNSCCQuickAdaptIgnores(t *testing.T) {
	// docs/reference/references.md#quick-adapt: the bytes of an ACK, and of a NACK, count as
	// ignored first; while fewer are ignored than were to be, a marked ACK changes nothing.
	c := newState(t, threeTier, algorithm.Values{"cwnd": "100kB"})
	c.qaEnd = units.Never - 1
	c.bytesToIgnore = 3 * packet
	c.OnAck(early, ack(c, 0, true))
	if c.out.Action != actionQuickAdapt {
		t.Errorf("a marked ACK of the flight: %v, want it ignored", c.out.Action)
	}
	c.OnAck(early, ack(c, 2*units.Microsecond, false))
	if c.out.Action != actionProportional {
		t.Errorf("an unmarked ACK of the flight: %v, want it heard", c.out.Action)
	}
	c.OnNack(early, &Nack{Size: packet})
	if c.out.Window != 100_000-packet {
		t.Errorf("a NACK with everything ignored: window %d, want %d", c.out.Window, 100_000-packet)
	}
	off := newState(t, threeTier, algorithm.Values{"quick_adapt": "false", "cwnd": "100kB"})
	off.qaEnd = 1
	off.OnNack(early, &Nack{Size: packet})
	if off.out.Window != 100_000-packet {
		t.Errorf("quick adapt off: window %d after a NACK, want %d", off.out.Window, 100_000-packet)
	}
}

func TestNSCCNack(t *testing.T) {
	// docs/reference/references.md#nack-and-timeout: a NACK triggers quick adapt and, if that does
	// not act, takes the packet off the window.
	c := newState(t, threeTier, algorithm.Values{"cwnd": "100kB"})
	c.OnNack(early, &Nack{Size: packet, Inflight: 50_000})
	if c.out.Window != 100_000-packet || !c.qaTriggered || c.bytesIgnored != packet {
		t.Errorf("window %d, triggered %v, ignored %d", c.out.Window, c.qaTriggered, c.bytesIgnored)
	}
	if want := units.Duration(0.0125 * float64(threeTier.NetworkRTT)); c.avgDelay < want-1 || c.avgDelay > want {
		t.Errorf("average %v, want %v", c.avgDelay, want)
	}
	// A NACK after the window is itself a loss: no ACK is needed to adapt.
	at := c.qaEnd + 1
	c.qaAchieved = 5 * packet
	c.OnNack(at, &Nack{Size: packet, Inflight: 50_000})
	if c.out.Window != 5*packet || c.bytesToIgnore != 50_000 {
		t.Errorf("after the window: window %d, to ignore %d, want %d, 50000", c.out.Window, c.bytesToIgnore, 5*packet)
	}
	// It is now within the flight to be ignored.
	c.OnNack(at, &Nack{Size: packet, Inflight: 45_850})
	if c.out.Window != 5*packet {
		t.Errorf("in the ignored flight: window %d, want %d", c.out.Window, 5*packet)
	}
	small := newState(t, threeTier, algorithm.Values{"cwnd": "5kB"})
	small.OnNack(early, &Nack{Size: packet})
	if small.out.Window != packet {
		t.Errorf("window %d, want one packet", small.out.Window)
	}
}

func TestNSCCTimeout(t *testing.T) {
	// docs/reference/references.md#nack-and-timeout: the packet off the window, not below one MTU.
	c := newState(t, threeTier, algorithm.Values{"cwnd": "10kB"})
	for _, want := range []units.Size{5850, 4150, 4150} {
		c.OnTimeout(early, &Timeout{Size: packet})
		if c.out.Window != want {
			t.Errorf("window %d, want %d", c.out.Window, want)
		}
	}
}

func TestNSCCBaseRTT(t *testing.T) {
	// docs/reference/references.md#window-limits: base RTT is a running minimum, and the limit
	// 1.5 BDP of it. A flow over 4 links at 100G has 9.348 us and 175284.
	pod := 8*units.Microsecond + 4*(332_000+5_120)
	for _, test := range []struct {
		name   string
		values algorithm.Values
		event  func(c *nsccState)
		base   units.Duration
		window units.Size
	}{
		{"ACK", nil, func(c *nsccState) { c.OnAck(early, &Ack{Acked: packet, RTT: pod, HasRTT: true, Penalty: 255}) }, pod, 175_284},
		{"ACK without a sample", nil, func(c *nsccState) { c.OnAck(early, &Ack{Acked: packet, RTT: pod, Penalty: 255}) }, threeTier.NetworkRTT, 262_926},
		{"NACK", nil, func(c *nsccState) { c.OnNack(early, &Nack{RTT: pod, HasRTT: true}) }, pod, 175_284},
		{"NACK, parameter off", algorithm.Values{"base_rtt_from_nack": "false"}, func(c *nsccState) { c.OnNack(early, &Nack{RTT: pod, HasRTT: true}) }, threeTier.NetworkRTT, 262_926},
		{"NACK without a sample", nil, func(c *nsccState) { c.OnNack(early, &Nack{RTT: pod}) }, threeTier.NetworkRTT, 262_926},
		// The trims at the start leave this one (docs/reference/references.md#window-limits).
		{"three-flow's victim", nil, func(c *nsccState) { c.OnNack(early, &Nack{RTT: 13_360_960, HasRTT: true}) }, 13_360_960, 250_518},
	} {
		c := newState(t, threeTier, test.values)
		test.event(c)
		if c.out.BaseRTT != test.base || c.out.Window != test.window {
			t.Errorf("%s: base RTT %v, window %d, want %v, %d", test.name, c.out.BaseRTT, c.out.Window, test.base, test.window)
		}
	}
	// The sample that lowers base RTT has no queueing delay, and a later longer
	// one does not raise it.
	c := newState(t, threeTier, nil)
	c.OnAck(early, &Ack{Acked: packet, RTT: pod, HasRTT: true, Penalty: 255})
	if c.out.Delay != 0 {
		t.Errorf("delay of the least RTT %v, want 0", c.out.Delay)
	}
	c.OnAck(early, &Ack{Acked: packet, RTT: pod + 3*units.Microsecond, HasRTT: true, Penalty: 255})
	if c.out.Delay != 3*units.Microsecond || c.baseRTT != pod {
		t.Errorf("delay %v over base RTT %v, want 3us over %v", c.out.Delay, c.baseRTT, pod)
	}
}

func TestNSCCReceiverPenalty(t *testing.T) {
	// docs/reference/references.md#ack-processing (2): the receiver's penalty.
	for penalty, want := range map[uint8]units.Size{255: 100_000, 0: 100_000 - packet, 51: 100_000 - 3320, 254: 100_000 - 16} {
		c := newState(t, threeTier, algorithm.Values{"cwnd": "100kB"})
		a := ack(c, 0, true)
		a.Penalty = penalty
		c.OnAck(early, a)
		if c.out.Window != want {
			t.Errorf("penalty %d: window %d, want %d", penalty, c.out.Window, want)
		}
	}
}

func TestNSCCMaxDelay(t *testing.T) {
	// docs/reference/references.md#three-flow: the reflected delay takes the place of RTT - base
	// RTT and nothing else changes. A missing sample is not headroom: RTT serves; nor is
	// a value with D set, which trimming may have forced (docs/reference/references.md#trimming-and-d).
	const rttDelay = 4 * units.Microsecond
	sample := csig.Sample{Type: csig.Delay, Locator: 1, Point: 2750}
	sample.Low, sample.High = 2500, 2999
	frozen := sample
	frozen.DoNotUpdate = true
	idle := csig.Sample{Type: csig.Delay, High: 499, Point: 250, Untouched: true}
	const own = 332 * units.Nanosecond // what the packet takes through an idle hop
	signal := func(s csig.Sample) (all Signals) {
		all[csig.Delay] = Signal{Valid: true, Fresh: true, Sample: s, Unloaded: own}
		return all
	}
	held, headroom := signal(sample), Signals{csig.ABW: {Valid: true, Fresh: true, Sample: csig.Sample{Type: csig.ABW, Locator: 1, Point: 2750}}}
	held[csig.Delay].Fresh = false
	feed, keep := algorithm.Values{"csig": "max-delay"}, algorithm.Values{"csig": "max-delay", "csig_unloaded": "keep"}
	for _, test := range []struct {
		name   string
		values algorithm.Values
		signal Signals
		hasRTT bool
		want   units.Duration
	}{
		{"sample", feed, signal(sample), true, 2750*units.Nanosecond - own},
		{"sample, no RTT", feed, signal(sample), false, 2750*units.Nanosecond - own},
		{"kept", keep, signal(sample), true, 2750 * units.Nanosecond},
		{"held", feed, held, true, 2750*units.Nanosecond - own},
		{"absent", feed, Signals{}, true, rttDelay},
		{"absent, no RTT", feed, Signals{}, false, 0},
		{"D set", feed, signal(frozen), true, rttDelay},
		{"less than the first edge", feed, signal(idle), true, 0},
		{"another signal", feed, headroom, true, rttDelay},
		{"not asked for", nil, signal(sample), true, rttDelay},
	} {
		c := newState(t, threeTier, test.values)
		a := ack(c, rttDelay, false)
		a.CSIG, a.HasRTT = test.signal, test.hasRTT
		c.OnAck(early, a)
		if c.out.Delay != test.want {
			t.Errorf("%s: delay %v, want %v", test.name, c.out.Delay, test.want)
		}
		want := 0.0125 * float64(test.want)
		if test.name == "held" {
			want = 0 // an average takes a sample once
		}
		if math.Abs(float64(c.avgDelay)-want) > 1 {
			t.Errorf("%s: average %v ps, want %v", test.name, int64(c.avgDelay), want)
		}
		if want := (csig.Weights{}); test.values == nil && c.out.Wants != want || test.values != nil && c.out.Wants != csig.Only(csig.Delay) {
			t.Errorf("%s: wants %v", test.name, c.out.Wants)
		}
	}
	// Base RTT still learns from RTT.
	c := newState(t, threeTier, algorithm.Values{"csig": "max-delay"})
	c.OnAck(early, &Ack{Acked: packet, RTT: 9 * units.Microsecond, HasRTT: true, Penalty: 255, CSIG: signal(sample)})
	if c.out.BaseRTT != 9*units.Microsecond || c.out.Delay != 2750*units.Nanosecond-own {
		t.Errorf("base RTT %v, delay %v, want 9us, 2.418us", c.out.BaseRTT, c.out.Delay)
	}
}

// docs/reference/references.md#receiver-credits: "a trim at the last hop does not cut NSCC's window",
// with credits; without them, and elsewhere, it does.
func TestNSCCTrimAtLastHop(t *testing.T) {
	for _, credits := range []bool{false, true} {
		for _, last := range []bool{false, true} {
			c, err := nscc.New(Path{LinkRate: 100 * units.Gbps, NetworkRTT: 14_022_720, MTU: 4150, Header: 64, Trim: true, Credits: credits}, nil)
			if err != nil {
				t.Fatal(err)
			}
			before := c.Output().Window
			c.OnNack(0, &Nack{Size: 4150, Inflight: 41500, LastHop: last})
			want := before - 4150
			if credits && last {
				want = before
			}
			if got := c.Output().Window; got != want {
				t.Errorf("credits %v, at the last hop %v: window %v, want %v", credits, last, got, want)
			}
		}
	}
}
