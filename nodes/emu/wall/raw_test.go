package wall_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/nodes/emu/lockstep/shared"
	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/nodes/host/shim"
	"github.com/csiglab/csiglab/nodes/netio"
	"github.com/csiglab/csiglab/nodes/node/nodetest"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/units"
)

// programsText returns the fabric of backendtest.Small; hosts 0 and 5 run
// programs, others load it.
func programsText() string {
	fabric, _, _ := strings.Cut(backendtest.Small, "workload:")
	return fabric + `
workload:
  transfers:
    - 1 -> 4 100kB
    - 3 -> 4 100kB
    - 6 -> 7 50kB
csig: {format: wide}
hosts:
  cc: {name: nscc}
runtime: netns
clock: wall
applications:
  hosts: [0, 5]
  signals: [abw, delay]
  programs: [{host: 0, run: "true"}]
seeds: [7]
`
}

// withPrograms returns the drivers of a plan's nodes, over links in memory, and what
// the programs of some hosts see of them.
func withPrograms(t testing.TB, f emu.Fabric, hosts ...int) ([]*emu.Node, []lockstep.Channel, []*netio.Memory, *backendtest.Records) {
	t.Helper()
	p := backendtest.Compile(t, programsText())
	f.Graph, f.Format, f.TieSeed, f.End, f.Run, f.Applications = p.Graph, p.Format, p.TieSeed, p.End, 99, hosts
	programs := make([]*netio.Memory, len(hosts))
	nodes, links, conns, records := backendtest.InMemory(t, p, f)
	for i, h := range hosts {
		programs[i] = netio.NewMemory(1)
		netio.Join(programs[i], 0, conns[h], shim.Application)
	}
	return nodes, links, programs, records
}

func send(t testing.TB, c *netio.Memory, frame []byte) {
	t.Helper()
	if err := c.Send([]netio.Message{{Header: frame}}); err != nil {
		t.Error(err)
	}
}

// receive returns the next frame within d, nil without one.
func receive(t testing.TB, c *netio.Memory, d time.Duration) []byte {
	t.Helper()
	batch := make([]netio.Frame, 1)
	n, err := c.Receive(batch, d)
	if err != nil {
		t.Error(err)
	}
	if n == 0 {
		return nil
	}
	return bytes.Clone(batch[0].Data)
}

// Programs on two hosts talk across the fabric, beside the transport's traffic: each
// frame comes as it was sent, after the time that the fabric takes for it, and each
// tag leaves a sample.
func TestProgramsTalkAcrossTheFabric(t *testing.T) {
	const (
		dilation = 3000
		rounds   = 24
	)
	random := rand.New(rand.NewPCG(1, 2))
	var results []backendtest.Result
	synctest.Test(t, func(t *testing.T) {
		nodes, links, programs, records := withPrograms(t, emu.Fabric{}, 0, 5)
		var busy atomic.Bool
		busy.Store(true)
		go func() {
			defer busy.Store(false)
			// The frames do not wait for one another, and the fabric falls idle between
			// some of them.
			for round := range rounds {
				there, back := nodetest.RawFrame(0, 5, 14+random.IntN(1500), random), nodetest.RawFrame(5, 0, 14+random.IntN(1500), random)
				start := time.Now()
				send(t, programs[0], there)
				got := receive(t, programs[1], time.Second)
				if !bytes.Equal(got, there) {
					t.Errorf("round %d: host 5 got\n%x, want\n%x", round, got, there)
				}
				// Six links of 1 us at 100 Gb/s. A node takes along what is due within 60 us
				// of the wall, and looks for frames now and then.
				fabric := 6 * (units.Microsecond + units.Duration(len(there)+4)*80*units.Picosecond)
				least := wall.Clock{Dilation: dilation}.At(units.Time(fabric))
				// While the background flows last there may be a queue.
				if took := time.Since(start); took < least-60*time.Microsecond || round > rounds/2 && took > least+time.Millisecond {
					t.Errorf("round %d: %d B took %v, want %v", round, len(there), took, least)
				}
				send(t, programs[1], back)
				if got := receive(t, programs[0], time.Second); !bytes.Equal(got, back) {
					t.Errorf("round %d: host 0 got\n%x, want\n%x", round, got, back)
				}
			}
		}()
		timing, at, err := wall.PaceAsleepWhile(wall.Clock{Dilation: dilation}, units.Never, nodes, links, punctual, busy.Load)
		if err != nil {
			t.Fatal(err)
		}
		// What the programs send and get is no frame of a link.
		if timing.Displaced != 0 || timing.Received != at.Sent {
			t.Errorf("%d packets displaced, %d frames received of %d", timing.Displaced, timing.Received, at.Sent)
		}
		for _, port := range timing.Ports {
			if port.Port == shim.Application && (port.Node == 0 || port.Node == 5) && port.Packets != 0 {
				t.Errorf("the rate of the programs' interface was measured: %+v", port)
			}
		}
		for i, n := range nodes {
			if n.Strays() != 0 {
				t.Errorf("node %d: %d stray frames", i, n.Strays())
			}
			n.Finish(at.Last + 1)
		}
		results = records.Results()
	})
	for h, peer := range map[int]int{0: 5, 5: 0} {
		r := results[h]
		if r.Senders[0].NewPackets != rounds || r.Receivers[0].DeliveredWhole != rounds {
			t.Errorf("host %d sent %d and got %d from %d, want %d", h, r.Senders[0].NewPackets, r.Receivers[0].DeliveredWhole, peer, rounds)
		}
		samples := map[csig.Type]int64{}
		for _, w := range r.Windows.Signals {
			samples[csig.Type(w.Type)] += w.Samples
			// A small frame that waits nowhere is no later than a fresh tag says: its delay
			// is within the quantiser's first step of 16 ns, whose middle is 8.
			if w.Locator == 0 && (w.Type != uint8(csig.Delay) || w.PointMax != 8) {
				t.Errorf("host %d: %d samples that no port has written: %+v", h, w.Samples, w)
			}
		}
		if samples[csig.ABW] != rounds/2 || samples[csig.Delay] != rounds/2 {
			t.Errorf("host %d: samples %v, want %d of ABW and of Delay", h, samples, rounds/2)
		}
	}
	if got := results[4].Receivers[0].PayloadBytes; got != 100_000 {
		t.Errorf("a background flow brought %d B, want 100000", got)
	}
}

// A program that asks for an address hears at once, and what is not for the fabric
// stays outside.
func TestProgramsAreAnsweredByTheShim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, links, programs, _ := withPrograms(t, emu.Fabric{}, 0, 5)
		var busy atomic.Bool
		busy.Store(true)
		go func() {
			defer busy.Store(false)
			me, peer := wire.MAC(0, 0), wire.MAC(5, 0)
			request := slices.Concat(bytes.Repeat([]byte{0xff}, 6), me[:], []byte{8, 6, 0, 1, 8, 0, 6, 4, 0, 1},
				me[:], []byte{10, 0, 0, 1}, make([]byte, 6), []byte{10, 0, 0, 6})
			want := slices.Concat(me[:], peer[:], []byte{8, 6, 0, 1, 8, 0, 6, 4, 0, 2}, peer[:], []byte{10, 0, 0, 6}, me[:], []byte{10, 0, 0, 1})
			start := time.Now()
			send(t, programs[0], []byte{1, 2, 3}) // no frame
			send(t, programs[0], request)
			if got := receive(t, programs[0], time.Second); !bytes.Equal(got, want) {
				t.Errorf("got %x, want %x", got, want)
			}
			if took := time.Since(start); took > time.Millisecond {
				t.Errorf("answered within %v", took)
			}
			if got := receive(t, programs[1], 100*time.Millisecond); got != nil {
				t.Errorf("host 5 got %x", got)
			}
		}()
		if _, _, err := wall.PaceAsleepWhile(wall.Clock{Dilation: 3000}, units.Never, nodes, links, punctual, busy.Load); err != nil {
			t.Fatal(err)
		}
		if got := nodes[0].Strays(); got != 1 {
			t.Errorf("%d frames that nobody can read, want 1", got)
		}
	})
}

// What a program sends faster than the node reads is lost at its door, and counted.
func TestFramesOfProgramsThatNobodyReadsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, links, programs, records := withPrograms(t, emu.Fabric{Inject: []emu.Injection{{Link: 5, Reverse: true, Number: 3}}}, 0, 5)
		const extra = 37
		frame := nodetest.RawFrame(0, 5, 60, rand.New(rand.NewPCG(1, 2)))
		for range netio.SlotsOf(2) + extra { // before the nodes begin
			send(t, programs[0], frame)
		}
		timing, at, err := wall.PaceAsleepWhile(wall.Clock{Dilation: 3000}, units.Never, nodes, links, punctual, func() bool { return false })
		if err != nil {
			t.Fatal(err)
		}
		// A frame that its link has lost is not one of them.
		if lost := at.Sent - timing.Received; timing.Unread != extra || lost != 1 {
			t.Errorf("%d frames of programs unread, %d lost on links, want %d, 1", timing.Unread, lost, extra)
		}
		nodes[0].Finish(at.Last + 1)
		if got := records.Results()[0].Senders[0].NewPackets; got == 0 {
			t.Error("nothing was sent")
		}
	})
}

// What a program sends faster than the node processes is lost as well, and counted:
// it does not take up memory without end.
func TestFloodOfAProgramIsBounded(t *testing.T) {
	const (
		times = 40
		sent  = times * netio.Slots
	)
	me, peer := wire.MAC(0, 0), wire.MAC(5, 0)
	random := rand.New(rand.NewPCG(1, 2))
	// Both are processed in the instant in which they come.
	for name, tc := range map[string]struct {
		frame []byte
		want  string
	}{
		"to another host": {nodetest.RawFrame(0, 5, 1500, random), ""},
		"ARP": {slices.Concat(bytes.Repeat([]byte{0xff}, 6), me[:], []byte{8, 6, 0, 1, 8, 0, 6, 4, 0, 1},
			me[:], []byte{10, 0, 0, 1}, make([]byte, 6), []byte{10, 0, 0, 6}), "arp_answered"},
		"for UDP 4793, cut": {slices.Concat(peer[:], me[:], []byte{8, 0, 0x45, 0, 0, 29, 0, 0, 0x40, 0, 64, 17, 0x66, 0xcd, 10, 0, 0, 1, 10, 0, 0, 6},
			[]byte{0xc0, 0, 0x12, 0xb9, 0, 9, 0, 0, 'H'}), "transport_port"},
	} {
		synctest.Test(t, func(t *testing.T) {
			nodes, links, programs, records := withPrograms(t, emu.Fabric{}, 0, 5)
			timing, err := wall.ReadOnly(nodes[0], times, func() {
				for range netio.Slots {
					send(t, programs[0], tc.frame)
				}
			})
			if want := int64(sent - emu.RawBacklog); err != nil || timing.Unread != want {
				t.Errorf("%s: %d frames unread, %v, want %d", name, timing.Unread, err, want)
			}
			// Then there is time for what has been kept, and for more.
			var busy atomic.Bool
			busy.Store(true)
			go func() {
				defer busy.Store(false)
				time.Sleep(time.Millisecond)
				send(t, programs[0], tc.frame)
			}()
			after, at, err := wall.PaceAsleepWhile(wall.Clock{Dilation: 1}, units.Never, nodes, links, punctual, busy.Load)
			if err != nil || after.Unread != timing.Unread {
				t.Errorf("%s: %d frames unread at the end, %v, want %d", name, after.Unread, err, timing.Unread)
			}
			nodes[0].Finish(at.Last + 1)
			result := records.Results()[0]
			processed := result.Ports[0].EnqueuedPackets
			for _, c := range result.Programs {
				if c.Name == tc.want {
					processed = c.Packets
				}
			}
			if processed != emu.RawBacklog+1 || nodes[0].Strays() != 0 {
				t.Errorf("%s: %d frames processed, %d stray, want %d, 0", name, processed, nodes[0].Strays(), emu.RawBacklog+1)
			}
		})
	}
}

// Programs do not wait for model time.
func TestLockstepRefusesPrograms(t *testing.T) {
	nodes, links, _, _ := withPrograms(t, emu.Fabric{}, 0, 5)
	_, err := shared.NewPool(nodes, links, units.Never)
	if err == nil || !strings.Contains(err.Error(), "port 1 leads to programs or a foreign node, which need real time") {
		t.Errorf("NewPool: %v", err)
	}
}

// Frames on a link that are not of the run, as a kernel sends unasked, are counted
// and change nothing, whatever they are.
func TestStraysOnLinks(t *testing.T) {
	p := backendtest.Compile(t, backendtest.Small)
	random := rand.New(rand.NewPCG(1, 2))
	strays := [][]byte{
		emu.AppendTrailer(nodetest.RawFrame(0, 5, 100, random), fabric(p).Run+1, 5, 1), // of another run
		emu.AppendTrailer(nil, fabric(p).Run, 5, 1)[:23],
		append(emu.AppendTrailer(nodetest.RawFrame(0, 5, 100, random), fabric(p).Run, 5, 1), 1), // and a byte
	}
	for n := range 70 {
		strays = append(strays, nodetest.RawFrame(0, 5, 14, random)[:min(n, 14)], nodetest.RawFrame(0, 5, n, random), make([]byte, n))
	}
	synctest.Test(t, func(t *testing.T) {
		nodes, links, conns, records := backendtest.InMemory(t, p, fabric(p))
		for _, f := range strays {
			send(t, conns[0], f) // to tor0, through port 0
		}
		timing, at, err := wall.PaceAsleep(wall.Clock{Dilation: 3000}, p.End, nodes, links, punctual)
		if err != nil || timing.Received != at.Sent {
			t.Fatalf("%v; %d frames received of %d", err, timing.Received, at.Sent)
		}
		for i, n := range nodes {
			want := int64(0)
			if i == p.Graph.Links[0].B.Node {
				want = int64(len(strays))
			}
			if n.Strays() != want {
				t.Errorf("node %d: %d stray frames, want %d", i, n.Strays(), want)
			}
			n.Finish(at.Last)
		}
		backendtest.Same(t, records.Results(), backendtest.Virtual(t, p, nil))
	})
}
