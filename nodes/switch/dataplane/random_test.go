package dataplane_test

import (
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Conservation (docs/reference/run-folder.md#checks) at a port: packets in = out + dropped +
// queued, bytes in = out + dropped + cut by trimming + queued, on random traffic, at
// every instant, and no queue above its limit.
func TestConservation(t *testing.T) {
	for round := range 60 {
		rnd, seed := random()
		cfg := config()
		if round%3 > 0 {
			cfg = withCSIG(cfg, formats[round%2])
			for i := range cfg.Ports {
				for typ := range cfg.Ports[i].Policies {
					cfg.Ports[i].Policies[typ] = dataplane.Policy(rnd.IntN(4))
				}
			}
		}
		cfg.Seed = rnd.Uint64()
		cfg.Trim = round%4 != 0
		marking(&cfg, 4150, 6*4150)
		dataLimit(&cfg, 8*4150)
		controlLimit(&cfg, []units.Size{200, 4150, 100_000}[rnd.IntN(3)])
		cfg.Delay = []units.Duration{0, 300 * units.Nanosecond}[rnd.IntN(2)]
		cfg.Sizes.CountTag = rnd.IntN(2) == 0
		cfg.Ports[0].Ingress.Outside = rnd.IntN(2) == 0
		r := newRig(t, cfg)
		now, received := units.Time(0), 0
		for range 1500 {
			now += units.Time(rnd.IntN(250_000))
			dst, port := rnd.IntN(6), rnd.IntN(4)
			if rnd.IntN(2) == 0 {
				dst = 1 // a hot spot
			}
			var p *wire.Packet
			switch rnd.IntN(4) {
			case 0:
				p = r.ack(dst)
			case 1:
				p = r.data(dst, 64+rnd.IntN(4087))
			default:
				p = r.tagged(dst, 4150-rnd.IntN(2)*2000, csig.Type(rnd.IntN(4)))
			}
			p.Size = cfg.Sizes.Of(p)
			r.receive(now, port, p)
			received++
			if rnd.IntN(200) == 0 {
				now += units.Time(20 * units.Microsecond)
			}
		}
		check := func(drained bool) {
			t.Helper()
			result := r.result()
			var enqueued, dropped, queued, tx int64
			for _, p := range result.Ports {
				if p.EnqueuedPackets != p.TxPackets+p.DroppedPackets+p.QueuedPackets {
					t.Fatalf("seed %d: port %d: %d packets in, %d out + %d dropped + %d queued", seed, p.Port,
						p.EnqueuedPackets, p.TxPackets, p.DroppedPackets, p.QueuedPackets)
				}
				if p.EnqueuedBytes != p.TxBytes+p.DroppedBytes+p.CutBytes+p.QueuedBytes {
					t.Fatalf("seed %d: port %d: %d bytes in, %d out + %d dropped + %d cut + %d queued", seed, p.Port,
						p.EnqueuedBytes, p.TxBytes, p.DroppedBytes, p.CutBytes, p.QueuedBytes)
				}
				if limit := cfg.Ports[p.Port].Buffer.Data; p.QueueMax > int64(limit) {
					t.Fatalf("seed %d: port %d: queue of %d B, limit %d", seed, p.Port, p.QueueMax, limit)
				}
				enqueued, dropped, queued, tx = enqueued+p.EnqueuedPackets, dropped+p.DroppedPackets, queued+p.QueuedPackets, tx+p.TxPackets
			}
			var allDrops int64
			for _, d := range result.Drops {
				allDrops += d.Packets
			}
			if inside := int64(received) - tx - allDrops - queued; inside < 0 || drained && (inside != 0 || queued != 0) {
				t.Fatalf("seed %d: %d received, %d sent, %d dropped, %d queued", seed, received, tx, allDrops, queued)
			}
			if int64(received) < enqueued || tx != int64(len(r.Sent)) {
				t.Fatalf("seed %d: %d received, %d enqueued, %d sent of %d", seed, received, enqueued, tx, len(r.Sent))
			}
		}
		check(false)
		r.Run(forever)
		check(true)
		returnsEverything(t, r)
		for _, d := range r.Sent {
			if err := valid(d.Packet, r.domain); err != nil {
				t.Fatalf("seed %d: a packet left that does not parse: %v", seed, err)
			}
			if d.Packet.Size != cfg.Sizes.Of(d.Packet) {
				t.Fatalf("seed %d: a packet left with a size of %v, its bytes say %v", seed, d.Packet.Size, cfg.Sizes.Of(d.Packet))
			}
		}
	}
}

// The wire is never idle while packets wait, and never sends two at once.
func TestPortsAreWorkConserving(t *testing.T) {
	rnd, seed := random()
	r := newRig(t, config())
	now := units.Time(0)
	for range 3000 {
		now += units.Time(rnd.IntN(400_000))
		r.receive(now, 3, r.data(rnd.IntN(2), 64+rnd.IntN(4087)))
	}
	r.Run(forever)
	free := map[int]units.Time{}
	var queueing int
	for _, d := range r.Sent {
		if d.At < free[d.Port] {
			t.Fatalf("seed %d: port %d sends at %v and is busy until %v", seed, d.Port, d.At, free[d.Port])
		}
		if d.At > d.Packet.EnqueuedAt && d.At != free[d.Port] {
			t.Fatalf("seed %d: port %d was idle from %v to %v while a packet of %v waited", seed, d.Port, free[d.Port], d.At, d.Packet.EnqueuedAt)
		}
		if d.At > d.Packet.EnqueuedAt {
			queueing++
		}
		free[d.Port] = d.Departs
	}
	if queueing == 0 {
		t.Errorf("seed %d: nothing ever waited: the test is void", seed)
	}
}

// The same arrivals give the same trace, another seed another one.
func TestDeterminism(t *testing.T) {
	trace := func(seed uint64) [32]byte {
		cfg := withCSIG(config(), csig.FormatWide)
		cfg.Seed = seed
		marking(&cfg, 0, 20*4150)
		r := newRig(t, cfg)
		for i := range 2000 {
			r.receive(units.Time(i)*150_000, i%4, r.tagged(i%2, 4150, csig.Delay))
		}
		r.Run(forever)
		return r.result().TraceHash
	}
	first := trace(1)
	if trace(1) != first {
		t.Error("the same run gives another trace")
	}
	if trace(2) == first {
		t.Error("another seed gives the same trace: nothing was drawn")
	}
}

func TestNothingAllocatesPerPacket(t *testing.T) {
	for name, cfg := range map[string]dataplane.Config{"plain": config(), "csig": withCSIG(config(), csig.FormatCompact)} {
		marking(&cfg, 0, 20*4150)
		cfg.Records = units.Hour
		cfg.Delay = 100 * units.Nanosecond
		dataLimit(&cfg, 2*4150)
		pool := new(wire.Pool)
		var records metrics.Batch
		sw, err := dataplane.New(cfg, pool, &records)
		if err != nil {
			t.Fatal(err)
		}
		s := node.NewStepper(sw, len(cfg.Ports), &records)
		template := (&rig{pool: pool}).data(1, 4150)
		domain, err := csig.NewDomain(csig.Config{Format: csig.FormatCompact})
		if err != nil {
			t.Fatal(err)
		}
		domain.Init(template.InsertTag(4), csig.Delay)
		now := units.Time(0)
		// A turn: five packets arrive, queue, are marked, trimmed and leave.
		turn := func() {
			now += units.Time(100 * units.Microsecond)
			for range 5 {
				p := pool.Get()
				p.CopyHeader(template)
				s.Receive(now, 3, p)
			}
			now = now.Add(cfg.Delay)
			s.Timeout(now)
			for {
				for _, d := range s.Departures {
					pool.Put(d.Packet)
				}
				if len(s.Frees) == 0 {
					break
				}
				now = s.FreeAt(1)
				s.PortFree(now, 1)
			}
		}
		for range 100 {
			turn()
		}
		if allocs := testing.AllocsPerRun(500, turn); allocs != 0 {
			t.Errorf("%s: five packets cost %v allocations", name, allocs)
		}
		s.Close(now)
		if got := records.NodeTotals().Ports[1]; got.TrimmedPackets == 0 || got.MarkedPackets == 0 || got.QueuedPackets != 0 || pool.Out() != 1 {
			t.Errorf("%s: %d trimmed, %d marked, %d queued, %d out: the turn is not what it should be", name,
				got.TrimmedPackets, got.MarkedPackets, got.QueuedPackets, pool.Out())
		}
	}
}
