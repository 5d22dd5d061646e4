package dataplane_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/class"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/nodes/switch/buffer"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/switch/meter"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Classes of the tests: the default one, one of weight 3, and a lossless one.
const (
	plain = iota
	heavy
	lossless
)

var dscps = [...]uint8{wire.DSCPTrimmable, 20, 26}

// withClasses gives the switch of cfg three classes.
func withClasses(cfg dataplane.Config) dataplane.Config {
	cfg.Classes = &dataplane.Classes{
		List: []class.Class{
			{Name: "default", DSCP: dscps[plain], Weight: 1}, {Name: "heavy", DSCP: dscps[heavy], Weight: 3},
			{Name: "lossless", DSCP: dscps[lossless], Weight: 1, Lossless: true},
		},
		AQM:     []algorithm.Choice{{Name: "none"}, {Name: "linear"}, {Name: "none"}},
		Quantum: 4150, Watchdog: units.Millisecond,
	}
	for i := range cfg.Ports {
		plainClass := dataplane.PortClass{Limits: buffer.Limits{Data: 10 * 4150}, Queue: 10 * 4150}
		marked := plainClass
		marked.ECN = aqm.Thresholds{Low: 2 * 4150, High: 2 * 4150}
		safe := plainClass
		safe.Ingress = buffer.IngressLimits{XOff: 4 * 4150, XOn: 2 * 4150, Headroom: 3 * 4150}
		cfg.Ports[i].Classes = []dataplane.PortClass{plainClass, marked, safe}
	}
	return cfg
}

// inClass gives a packet the DSCP of a class.
func inClass(k int, p *wire.Packet) *wire.Packet {
	p.SetDSCP(dscps[k])
	return p
}

// pausing returns a pause frame for a class.
func (r *rig) pausing(k int, quanta uint16) *wire.Packet {
	p := r.pool.Get()
	f := wire.PauseFields{Vector: 1 << k}
	f.Timers[k] = quanta
	p.BuildPause(wire.MAC(1, 0), f, sizes)
	return p
}

// classesSent returns the class of each packet that left through a port.
func (r *rig) classesSent(port int) (text string) {
	for _, d := range r.Sent {
		switch {
		case d.Port != port:
		case d.Packet.Pauses():
			text += "p"
		case !d.Packet.Queues():
			text += "c"
		default:
			for k, dscp := range dscps {
				if d.Packet.DSCP() == dscp {
					text += fmt.Sprint(k)
				}
			}
		}
	}
	return text
}

// Control goes first, then classes by weight, whatever came first.
func TestClassesAreServedByWeight(t *testing.T) {
	r := newRig(t, withClasses(config()))
	var packets []*wire.Packet
	for range 5 {
		packets = append(packets, inClass(plain, r.data(1, 4150)))
	}
	for range 6 {
		packets = append(packets, inClass(heavy, r.data(1, 4150)))
	}
	r.receive(0, 3, append(packets, r.ack(1))...)
	r.Run(units.Never - 1)
	if got := r.classesSent(1); got != "0c11101110000"[:len(got)] || len(got) != 12 {
		t.Errorf("classes left in order %s, want 0c1110111000", got)
	}
	r.wants(nil, nil)
}

// A class has its own limit, its own tail to trim, its own queue to mark by and its own
// depth in tags.
func TestClassesHaveQueuesOfTheirOwn(t *testing.T) {
	cfg := withClasses(withCSIG(config(), csig.FormatWide))
	r := newRig(t, cfg)
	var packets []*wire.Packet
	for range 13 { // one on the wire, ten queued, two too many
		packets = append(packets, inClass(plain, r.data(1, 4150)))
	}
	for range 4 {
		packets = append(packets, inClass(heavy, r.tagged(1, 4150, csig.NQD)))
	}
	r.receive(0, 3, packets...)
	r.Run(units.Never - 1)
	trimmed, marked := 0, 0
	for i, p := range packets {
		if p.Trimmed() {
			trimmed++
			if i >= 13 {
				t.Errorf("packet %d of a class with room was trimmed", i)
			}
		}
		if p.ECN() == wire.CE {
			marked++
		}
	}
	if trimmed != 2 || marked != 2 {
		t.Errorf("%d trimmed, %d marked, want 2 of the full class and 2 of the class that leave two packets behind", trimmed, marked)
	}
	// The first of four leaves three of its class behind: 30 %, whatever else waits.
	sample, ok := r.domain.Decode(packets[13].Tag())
	if !ok || sample.Point < 299_000 || sample.Point > 301_000 {
		t.Errorf("queue depth %v ppm, want 300000 of its own class", sample.Point)
	}
}

// IEEE 802.1Q §36: at XOFF a pause frame leaves at once, ahead of data and control, and at
// XON one with timer 0; the class is not dropped; available bandwidth does not see them.
func TestPauseFramesOfASwitch(t *testing.T) {
	cfg := withClasses(withCSIG(config(), csig.FormatWide))
	r := newRig(t, cfg)
	var packets []*wire.Packet
	for range 7 { // one leaves at once, four make XOFF, two more
		packets = append(packets, inClass(lossless, r.data(1, 4150)))
	}
	r.receive(0, 3, append(packets, inClass(plain, r.data(3, 4150)), inClass(plain, r.data(3, 4150)))...)
	r.Run(units.Never - 1)
	if got := r.classesSent(3); got != "p00p" && got != "p0p0" {
		t.Errorf("port 3 sent %s, want a pause frame at once and another later", got)
	}
	var frames []wire.PauseFields
	var at []units.Time
	for _, d := range r.Sent {
		if d.Packet.Pauses() {
			frames, at = append(frames, d.Packet.Pause()), append(at, d.At)
		}
	}
	want := []wire.PauseFields{{Vector: 1 << lossless}, {Vector: 1 << lossless}}
	want[0].Timers[lossless] = wire.MaxPause
	if len(frames) != 2 || frames[0] != want[0] || frames[1] != want[1] {
		t.Fatalf("frames %+v, want %+v", frames, want)
	}
	// XON at two packets: when the fifth of seven begins to leave.
	if at[0] != 0 || at[1] != 4*full {
		t.Errorf("frames at %d and %d, want 0 and %d", at[0], at[1], 4*full)
	}
	if got := r.classesSent(1); got != "2222222" {
		t.Errorf("the receiver got %s, want seven packets", got)
	}
	r.wants(nil, nil)
	totals := r.records.Classes
	for _, c := range totals {
		if c.Port == 3 && c.Class == lossless && (c.PausesSent != 2 || c.HeadroomMax != 2*4150) {
			t.Errorf("totals %+v, want 2 frames and two packets in the headroom", c)
		}
	}
	if p := r.port(3); p.PausesSent != 2 || p.TxPackets != 4 || p.EnqueuedPackets != 4 {
		t.Errorf("port totals %+v", p)
	}
}

// "Count only data frames a sender could control" (docs/reference/references.md#available-bandwidth):
// pause frames sent on an idle port leave ABW at the port's speed.
func TestPauseFramesAreNoBandwidth(t *testing.T) {
	cfg := withClasses(withCSIG(config(), csig.FormatWide))
	r := newRig(t, cfg)
	for i := range units.Time(40) { // XOFF and XON at port 3, again and again
		var packets []*wire.Packet
		for range 7 {
			packets = append(packets, inClass(lossless, r.data(1, 4150)))
		}
		r.receive(i*10*full, 3, packets...)
		r.Run((i + 1) * 10 * full)
	}
	p := r.tagged(3, 4150, csig.ABWC)
	r.receive(r.Now, 1, p)
	if r.port(3).PausesSent < 80 {
		t.Fatalf("%d pause frames, want 80", r.port(3).PausesSent)
	}
	if sample, ok := r.domain.Decode(p.Tag()); !ok || sample.Point != 1_000_000 {
		t.Errorf("available bandwidth %v ppm after pause frames alone, want all", sample.Point)
	}
}

// A peer's pause frame stops its class after the packet on the wire; other classes and
// control go on; the timer ends the pause.
func TestPausedBySwitch(t *testing.T) {
	r := newRig(t, withClasses(config()))
	var packets []*wire.Packet
	for range 3 {
		packets = append(packets, inClass(lossless, r.data(1, 4150)))
	}
	r.receive(0, 3, append(packets, inClass(plain, r.data(1, 4150)), r.ack(1))...)
	r.receive(1, 1, r.pausing(lossless, 1000))
	r.Run(units.Never - 1)
	if got := r.classesSent(1); got != "2c022" {
		t.Errorf("sent %s, want 2c022", got)
	}
	if at, want := r.Sent[3].At, units.Time(1+1000*5120); at != want {
		t.Errorf("the class went on at %d, want when the timer ended, %d", at, want)
	}
	for _, c := range r.records.Classes {
		if c.Port == 1 && c.Class == lossless && (c.PausesReceived != 1 || c.Paused != 1000*5120) {
			t.Errorf("totals %+v", c)
		}
	}
	r.wants(nil, nil)
}

// A pause that lasts is refreshed before the peer's timer ends, for as long as it lasts.
func TestPauseIsRefreshed(t *testing.T) {
	r := newRig(t, withClasses(config()))
	r.receive(0, 1, r.pausing(lossless, wire.MaxPause))
	var packets []*wire.Packet
	for range 6 {
		packets = append(packets, inClass(lossless, r.data(1, 4150)))
	}
	r.receive(0, 3, packets...)
	const timer = units.Time(wire.MaxPause) * 5120
	for i := range units.Time(10) { // port 1 stays paused
		r.receive((i+1)*timer/2, 1, r.pausing(lossless, wire.MaxPause))
	}
	last := units.Time(0)
	for _, d := range r.Sent {
		if d.Port != 3 {
			continue
		}
		if !d.Packet.Pauses() || d.At > last+timer {
			t.Errorf("%v at %d, %d after the last", d.Packet, d.At, d.At-last)
		}
		last = d.At
	}
	if last < 4*timer {
		t.Errorf("the last pause frame left at %d, want refreshes up to %d", last, 5*timer)
	}
	if len(r.records.Stalls) != 1 || r.records.Stalls[0].Over {
		t.Fatalf("stalls %+v, want one: the port has been paused for more than a millisecond", r.records.Stalls)
	}
	s := r.records.Stalls[0]
	if s.Port != 1 || s.Class != lossless || len(s.Held) != 1 || s.Held[0] != (metrics.Held{Port: 3, Bytes: 6 * 4150, Resume: 2 * 4150}) {
		t.Errorf("stall %+v", s)
	}
	r.Run(units.Never - 1) // the timers end
	if n := len(r.records.Stalls); n < 2 || !r.records.Stalls[n-1].Over {
		t.Errorf("stalls %+v, want that it is over", r.records.Stalls)
	}
}

// A packet of a lossless class for which there is no headroom is dropped and counted.
func TestHeadroomIsLimited(t *testing.T) {
	r := newRig(t, withClasses(config()))
	r.receive(0, 1, r.pausing(lossless, wire.MaxPause))
	var packets []*wire.Packet
	for range 9 { // four, then three in the headroom
		packets = append(packets, inClass(lossless, r.data(1, 4150)))
	}
	r.receive(0, 3, packets...)
	r.Run(units.Never - 1)
	r.wants(map[string]int64{"headroom full": 2}, nil)
	for _, c := range r.records.Classes {
		if c.Port == 3 && c.Class == lossless && (c.HeadroomDropped != 2 || c.HeadroomMax != 3*4150) {
			t.Errorf("totals %+v", c)
		}
	}
}

// Ports that share memory leave each other what dynamic thresholds leave.
func TestPortsShareMemory(t *testing.T) {
	cfg := withClasses(config())
	cfg.Classes.Memory = &buffer.MemoryConfig{Shared: 30 * 4150, Alpha: 1}
	for i := range cfg.Ports {
		for k := range cfg.Ports[i].Classes {
			cfg.Ports[i].Classes[k].Limits = buffer.Limits{Data: units.NoLimit}
		}
	}
	r := newRig(t, cfg)
	var packets []*wire.Packet
	for range 40 {
		packets = append(packets, inClass(plain, r.data(1, 4150)))
	}
	r.receive(0, 3, packets...) // 15 of 30: half of what is free
	packets = nil
	for range 40 {
		packets = append(packets, inClass(heavy, r.data(2, 4150)))
	}
	r.receive(1, 3, packets...) // 8 of 15
	if m := r.result(); m.Memory.SharedMax != 23*4150 || m.Memory.BufferMax != 23*4150 || m.Memory.SharedSize != 30*4150 {
		t.Errorf("memory %+v, want 23 packets of 4150 B", m.Memory)
	}
}

// A packet-hop of a switch with classes and pauses allocates nothing.
func TestClassesDoNotAllocate(t *testing.T) {
	cfg := withClasses(config())
	pool := new(wire.Pool)
	sw, err := dataplane.New(cfg, pool, metrics.Discard)
	if err != nil {
		t.Fatal(err)
	}
	now := units.Time(0)
	template := new(wire.Packet)
	template.Build(wire.Addresses{Source: wire.HostIP(3), Destination: wire.HostIP(1)}, wire.Data, 0, wire.ECT0, 4086)
	template.SetDSCP(dscps[lossless])
	template.Size = sizes.Of(template)
	hop := func() {
		for range 6 {
			p := pool.Get()
			p.CopyHeader(template)
			sw.Receive(now, 3, p)
		}
		for _, port := range []int{3, 1, 1, 1, 1, 1, 1, 3} {
			if p, departs, ok := sw.Transmit(now, port); ok {
				now = departs
				pool.Put(p)
			}
		}
	}
	for range 100 {
		hop()
	}
	if n := testing.AllocsPerRun(100, hop); n > 0 {
		t.Errorf("%v allocations for six packets and two pause frames", n)
	}
}

// A port that is paused is free by the raw signal, and not by the one that knows of pauses;
// the port's class of weight 3 is not the one that is paused.
func TestPausedTimeIsNotAvailable(t *testing.T) {
	const interval = 100 * units.Microsecond
	for _, c := range []struct {
		scope        meter.Scope
		paused, free float64 // shares of the rate that the lossless and the heavy class read
	}{{meter.Raw, 1, 1}, {meter.PauseAware, 0.25, 1}, {meter.PerClass, 0.25, 1}} {
		cfg := withClasses(withCSIG(config(), csig.FormatWide))
		cfg.CSIG.Available, cfg.CSIG.Domain.Interval, cfg.CSIG.Phase = c.scope, interval, meter.Aligned
		r := newRig(t, cfg)
		quanta := uint16(75 * units.Microsecond / (5120 * units.Picosecond)) // of 512 bits
		r.receive(units.Time(interval), 1, r.pausing(lossless, quanta))
		got := map[int]float64{}
		for _, signal := range []csig.Type{csig.ABWC, csig.ABW} {
			for _, k := range []int{lossless, heavy} {
				p := inClass(k, r.tagged(1, 4150, signal))
				r.receive(units.Time(2*interval)+1, 3, p)
				r.Run(units.Time(2*interval) + units.Time(10*units.Microsecond))
				sample, ok := r.domain.Decode(p.Tag())
				if !ok {
					t.Fatal("the tag has no sample")
				}
				got[k] = float64(sample.Point) / map[csig.Type]float64{csig.ABWC: 1e6, csig.ABW: 12.5e9}[signal]
			}
			if math.Abs(got[lossless]-c.paused) > 0.001 || math.Abs(got[heavy]-c.free) > 0.001 {
				t.Errorf("%s, %v: the paused class reads %.4f, another %.4f, want %v and %v", meter.Scope(0).Names()[c.scope], signal, got[lossless], got[heavy], c.paused, c.free)
			}
		}
	}
}

// The lossless class fills the port. Strict classes read what they could have: the first
// all but its own, the last nothing. By weight a class of 3 beside one of 1 could have 3/4.
func TestAvailableBandwidthOfClasses(t *testing.T) {
	for _, c := range []struct {
		scope  meter.Scope
		strict bool
		want   [3]float64
	}{{meter.Raw, true, [3]float64{}}, {meter.PerClass, true, [3]float64{0, 1, 0}}, {meter.PerClass, false, [3]float64{0.5, 0.75, 0}}} {
		cfg := withClasses(withCSIG(config(), csig.FormatWide))
		cfg.CSIG.Available, cfg.CSIG.Domain.Interval, cfg.CSIG.Phase = c.scope, 100*units.Microsecond, meter.Aligned
		list := cfg.Classes.List
		for k := range list {
			list[k].Strict, list[k].Order = c.strict, []int{plain: 2, heavy: 0, lossless: 1}[k]
		}
		r := newRig(t, cfg)
		full := units.Time(0)
		for ; full < units.Time(110*units.Microsecond); full = full.Add(332 * units.Nanosecond) { // 4150 bytes
			r.receive(full, 3, inClass(lossless, r.data(1, 4150)))
		}
		for k := range list {
			p := inClass(k, r.tagged(1, 4150, csig.ABWC))
			r.receive(full, 3, p)
			r.Run(full + units.Time(10*units.Microsecond))
			full += units.Time(10 * units.Microsecond)
			sample, _ := r.domain.Decode(p.Tag())
			if got := float64(sample.Point) / 1e6; math.Abs(got-c.want[k]) > 0.01 {
				t.Errorf("%s, strict %v: class %s reads %.4f, want %v", meter.Scope(0).Names()[c.scope], c.strict, list[k].Name, got, c.want[k])
			}
		}
	}
}
