package dataplane_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

const full = units.Time(332 * units.Nanosecond) // a packet of 4150 B at 100 Gb/s

func TestForwards(t *testing.T) {
	r := newRig(t, config())
	p := r.data(2, 4150)
	r.receive(1000, 3, p)
	if len(r.Sent) != 1 {
		t.Fatalf("%d packets sent, want 1 at once", len(r.Sent))
	}
	d := r.Sent[0]
	if d.Port != 2 || d.At != 1000 || d.Departs != 1000+full || d.Packet != p {
		t.Errorf("sent on port %d at %d, departs %d, want 2, 1000, %d", d.Port, d.At, d.Departs, 1000+full)
	}
	destination, source := macs(p)
	if destination != 0x02_000002_0000 || source != 0x02_000009_0002 {
		t.Errorf("MAC addresses %012x from %012x, want those of port 2 and its peer", destination, source)
	}
	if ttl := p.Header()[wire.EthernetLen+8]; ttl != 63 {
		t.Errorf("TTL %d, want 63", ttl)
	}
	if err := valid(p, r.domain); err != nil {
		t.Error(err)
	}
	r.wants(nil, nil)
}

// docs/reference/references.md#switch-queue: a coin trims the packet that arrives, or the one
// enqueued last, in whose place the new one is enqueued.
func TestTrimmingCoin(t *testing.T) {
	const rounds = 2000
	arriving := 0
	for seed := range uint64(rounds) {
		cfg := config()
		cfg.Seed = seed
		dataLimit(&cfg, 2*4150)
		cfg.Ports[1].LastHop = seed%2 == 0
		r := newRig(t, cfg)
		var packets []*wire.Packet
		for range 4 { // one on the wire, two queued, one too many
			packets = append(packets, r.data(1, 4150))
		}
		r.receive(0, 3, packets...)
		switch {
		case packets[3].Trimmed() && !packets[2].Trimmed():
			arriving++
		case packets[2].Trimmed() && !packets[3].Trimmed():
		default:
			t.Fatalf("seed %d: trimmed: %v %v, want one of the last two", seed, packets[2].Trimmed(), packets[3].Trimmed())
		}
		if packets[0].Trimmed() || packets[1].Trimmed() {
			t.Fatalf("seed %d: an earlier packet was trimmed", seed)
		}
		for _, p := range packets {
			if p.Trimmed() && (p.Size != 64 || p.TrimmedLastHop() != cfg.Ports[1].LastHop) {
				t.Fatalf("seed %d: trimmed packet of %v, last hop %v", seed, p.Size, p.TrimmedLastHop())
			}
		}
		r.Run(forever)
		if got, want := r.kinds(), []string{"data", "trimmed", "data", "data"}; !slices.Equal(got, want) {
			t.Fatalf("seed %d: order %v, want %v", seed, got, want)
		}
		if got := r.port(1); got.TrimmedPackets != 1 || got.CutBytes != 4086 || got.QueueMax != 2*4150 {
			t.Fatalf("seed %d: %d trimmed, %d bytes cut, queue %d", seed, got.TrimmedPackets, got.CutBytes, got.QueueMax)
		}
	}
	if math.Abs(float64(arriving)-rounds/2) > 6*math.Sqrt(rounds)/2 {
		t.Errorf("the arriving packet was trimmed %d of %d times, want half", arriving, rounds)
	}
}

// A small tail makes too little room: then the arriving packet is trimmed too,
// and the queue's recorded depth falls by the tail at once.
func TestTrimmedTailTooSmall(t *testing.T) {
	for seed := range uint64(64) {
		cfg := config()
		cfg.Seed = seed
		dataLimit(&cfg, 4150+1000)
		cfg.Records = units.Nanosecond * 1000
		r := newRig(t, cfg)
		packets := []*wire.Packet{r.data(1, 4150), r.data(1, 4150), r.data(1, 1000), r.data(1, 4150)}
		r.receive(0, 3, packets...)
		if !packets[3].Trimmed() {
			t.Fatalf("seed %d: the arriving packet fitted", seed)
		}
		if !packets[2].Trimmed() {
			continue // the coin chose the arriving packet
		}
		r.Run(forever)
		// 4150 B wait for 332 ns and two trimmed packets of 5.12 ns.
		want := int64(4150) * 342_240 / 1000
		if got := r.port(1).QueueByteNS; got != want {
			t.Errorf("seed %d: queue integral %d byte-ns, want %d", seed, got, want)
		}
		return
	}
	t.Error("64 seeds never trimmed the tail")
}

func TestDropsWithoutAPort(t *testing.T) {
	r := newRig(t, config())
	old := r.data(1, 4150)
	for range 63 {
		old.DecrementTTL()
	}
	r.receive(0, 3, r.data(4, 4150), r.data(77, 64), old)
	r.Run(forever)
	r.wants(map[string]int64{"no route": 2, "TTL exceeded": 1}, nil)
	for _, p := range r.result().Ports {
		if p.EnqueuedPackets != 0 || p.TxPackets != 0 {
			t.Errorf("port %d: %+v, want nothing", p.Port, p)
		}
	}
	returnsEverything(t, r)
}

// returnsEverything checks that no packet is lost from the pool: what is out is
// what was sent.
func returnsEverything(t *testing.T, r *rig) {
	t.Helper()
	if got := r.pool.Out(); got != len(r.Sent) {
		t.Errorf("%d packets out of the pool, %d were sent", got, len(r.Sent))
	}
}

// The switch's own delay moves packets later and keeps their order.
func TestDelayKeepsOrder(t *testing.T) {
	cfg := config()
	cfg.Delay = 500 * units.Nanosecond
	r := newRig(t, cfg)
	var packets []*wire.Packet
	rnd, seed := random()
	now := units.Time(0)
	arrivals := map[*wire.Packet]units.Time{}
	for range 200 {
		p := r.data(rnd.IntN(3), 64)
		packets, arrivals[p] = append(packets, p), now
		r.receive(now, 3, p)
		now += units.Time(rnd.IntN(20_000))
	}
	if len(r.Sent) == len(packets) {
		t.Errorf("seed %d: nothing was delayed", seed)
	}
	r.Run(forever)
	last := map[int]int{}
	for _, d := range r.Sent {
		if wait := d.At.Sub(arrivals[d.Packet]); wait < cfg.Delay {
			t.Fatalf("seed %d: a packet left after %v, want at least %v", seed, wait, cfg.Delay)
		}
		i := slices.Index(packets, d.Packet)
		if i < last[d.Port] {
			t.Fatalf("seed %d: port %d: packet %d left after packet %d", seed, d.Port, i, last[d.Port])
		}
		last[d.Port] = i
	}
	if len(r.Sent) != len(packets) {
		t.Errorf("seed %d: %d of %d packets left", seed, len(r.Sent), len(packets))
	}
	// An early call changes nothing.
	p := r.data(1, 64)
	r.receive(now+units.Time(units.Microsecond), 3, p)
	sent := len(r.Sent)
	r.sw.HandleTimeout(r.Now + 1)
	if r.sw.NextTimeout() != r.Now.Add(cfg.Delay) || len(r.Sent) != sent {
		t.Error("an early HandleTimeout did something")
	}
}

func TestNewRefuses(t *testing.T) {
	cfg := config()
	marking(&cfg, 2, 1)
	if _, err := dataplane.New(cfg, new(wire.Pool), metrics.Discard); err == nil || !strings.Contains(err.Error(), "switch tor0: aqm") {
		t.Errorf("thresholds in the wrong order: %v", err)
	}
	cfg.AQM.Name = "linaer"
	if _, err := dataplane.New(cfg, new(wire.Pool), metrics.Discard); err == nil || !strings.Contains(err.Error(), `switch tor0: unknown AQM "linaer"`) {
		t.Errorf("an AQM that does not exist: %v", err)
	}
	cfg = withCSIG(config(), 1)
	cfg.CSIG.Domain.TPIDCompact = 0x0800
	if _, err := dataplane.New(cfg, new(wire.Pool), metrics.Discard); err == nil || !strings.Contains(err.Error(), "switch tor0: csig") {
		t.Errorf("a TPID that is IPv4's: %v", err)
	}
}
