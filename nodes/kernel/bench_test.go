package kernel

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/netio"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/switch/buffer"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/switch/forward"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// benchConfig is a switch of two ports: host 0 is behind port 0, host 1 behind port 1.
func benchConfig(format csig.Format) Config {
	sizes := wire.Sizes{Header: 64}
	c := dataplane.Config{
		Name: "tor0", Sizes: sizes, Forward: forward.Config{Routes: topologies.NewRoutes([]uint16{0}, []uint16{1})},
		CSIG: &dataplane.CSIG{Domain: csig.Config{Format: format}}, Records: units.Second,
	}
	c.AQM.Name = "step"
	for i := range 2 {
		c.Ports = append(c.Ports, dataplane.Port{Rate: 400 * units.Gbps, Buffer: buffer.Limits{Data: units.MB, Control: units.MB}, Locator: uint16(i + 1)})
		c.Ports[i].ECN.Low, c.Ports[i].ECN.High = units.MB, units.MB
	}
	return Config{Switch: c, Format: wire.Format{Sizes: sizes, Raw: true, TPIDCompact: csig.DefaultTPIDCompact, TPIDWide: csig.DefaultTPIDWide}}
}

// benchFrame is a frame of 1500 B of IPv4 and TCP for host 1, with a fresh tag of a type.
func benchFrame(cfg Config, t csig.Type) []byte {
	domain, err := csig.NewDomain(cfg.Switch.CSIG.Domain)
	if err != nil {
		panic(err)
	}
	to, from := wire.MAC(1, 0), wire.MAC(0, 0)
	b := append(to[:], from[:]...)
	if n := domain.Format().Size(); n > 0 {
		b = append(b, make([]byte, n)...)
		domain.Init(b[12:], t)
	}
	b = wire.AppendIPv4UDP(append(b, 0x08, 0x00), wire.Datagram{Source: wire.HostIP(0), Destination: wire.HostIP(1), ECN: wire.ECT0, Length: 1472})
	return append(b, make([]byte, 1472)...)
}

// BenchmarkProgram is the program alone. It reports its size too, and how long the kernel
// verifies and compiles it.
func BenchmarkProgram(b *testing.B) {
	for _, tc := range []struct {
		name   string
		format csig.Format
		signal csig.Type
	}{{"untagged", csig.FormatNone, 0}, {"compact delay", csig.FormatCompact, csig.Delay}, {"wide nqd", csig.FormatWide, csig.NQD}, {"wide abw", csig.FormatWide, csig.ABW}} {
		b.Run(tc.name, func(b *testing.B) {
			cfg := benchConfig(tc.format)
			cfg.Interfaces = []int{0, 1} // a test run is of interface 0
			began := time.Now()
			s := load(b, cfg)
			took := time.Since(began)
			_, perRun, err := s.objects.Transit.Benchmark(benchFrame(cfg, tc.signal), b.N, b.ResetTimer)
			if err != nil {
				b.Fatal(err)
			}
			info, err := s.objects.Transit.Info()
			if err != nil {
				b.Fatal(err)
			}
			size, _ := info.TranslatedSize()
			b.ReportMetric(float64(perRun.Nanoseconds()), "ns/frame")
			b.ReportMetric(float64(size/8), "instructions")
			b.ReportMetric(float64(took.Milliseconds()), "ms/load")
		})
	}
}

// machineNode forwards the frames of a space by the machine, without pacing: it is the least
// that a node in a process does to a frame.
func machineNode(b *testing.B, c *chain, space int, cfg Config) {
	conn := c.open(b, space, c.index[space][0], c.index[space][1])
	pool := new(wire.Pool)
	machine, err := dataplane.New(cfg.Switch, pool, metrics.Discard)
	if err != nil {
		b.Fatal(err)
	}
	stepper := node.NewStepper(machine, 2, metrics.Discard)
	stepper.LeaveOutHash()
	var stop atomic.Bool
	done := make(chan struct{})
	b.Cleanup(func() { stop.Store(true); <-done })
	began := time.Now()
	go func() {
		defer close(done)
		batch, out := make([]netio.Frame, 64), make([]netio.Message, 0, 64)
		packets := make([]*wire.Packet, 0, 64)
		for !stop.Load() {
			n, err := conn.Receive(batch, 10*time.Millisecond)
			if err != nil {
				return
			}
			out, packets = out[:0], packets[:0]
			take := func() {
				for _, d := range stepper.Departures {
					out = append(out, netio.Message{Port: d.Port, Header: d.Packet.Header(), Payload: d.Packet.Payload})
					packets = append(packets, d.Packet)
				}
			}
			for _, f := range batch[:n] {
				p := pool.Get()
				if p.Parse(f.Data, cfg.Format) != nil {
					pool.Put(p)
					continue
				}
				now := units.Time(time.Since(began)) * units.Time(units.Nanosecond)
				for port := range 2 {
					stepper.PortFree(now, port)
					take()
				}
				stepper.Receive(now, f.Port, p)
				take()
			}
			// What waits leaves with the batch: the links are faster than the node.
			for end := units.Time(time.Since(began)+time.Millisecond) * units.Time(units.Nanosecond); len(packets) < n; {
				before := len(packets)
				for port := range 2 {
					stepper.PortFree(end, port)
					take()
				}
				if len(packets) == before {
					break
				}
			}
			if conn.Send(out) != nil {
				return
			}
			for _, p := range packets {
				p.Payload = nil
				pool.Put(p)
			}
		}
	}()
}

// BenchmarkHops sends frames of 1500 B through switches in a row, over veths between network
// namespaces. The CPU time is that of this process, which has the work of the kernel in it,
// per frame and hop, without what the ends take.
func BenchmarkHops(b *testing.B) {
	ends := 0.0
	run := func(b *testing.B, hops int, forward func(b *testing.B, c *chain, space int, cfg Config)) {
		c := newChain(b, hops+2)
		cfg := benchConfig(csig.FormatWide)
		for i := range hops {
			forward(b, c, i+1, cfg)
		}
		first, last := c.ends(b)
		frame := benchFrame(cfg, csig.Delay)
		message := make([]netio.Message, 64)
		for i := range message {
			message[i].Header = frame
		}
		batch := make([]netio.Frame, len(message))
		before, lost := cpuTime(b), 0
		b.ResetTimer()
		for sent := 0; sent < b.N; {
			n := min(len(message), b.N-sent)
			if err := first.Send(message[:n]); err != nil {
				b.Fatal(err)
			}
			sent += n
			for got := 0; got < n; {
				k, err := last.Receive(batch, 100*time.Millisecond)
				if err != nil {
					b.Fatal(err)
				}
				if k == 0 {
					lost += n - got
					break
				}
				got += k
			}
		}
		b.StopTimer()
		per := float64(cpuTime(b)-before) / float64(b.N)
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "frames/s")
		b.ReportMetric(float64(lost), "lost")
		if hops == 0 {
			ends = per
			b.ReportMetric(per, "cpu-ns/frame")
			return
		}
		b.ReportMetric((per-ends)/float64(hops), "cpu-ns/hop")
	}
	b.Run("none", func(b *testing.B) { run(b, 0, nil) })
	for _, hops := range []int{1, 3, 5} {
		b.Run(fmt.Sprint("kernel/", hops), func(b *testing.B) {
			run(b, hops, func(b *testing.B, c *chain, space int, cfg Config) { c.forwards(b, space, cfg) })
		})
		b.Run(fmt.Sprint("machine/", hops), func(b *testing.B) { run(b, hops, machineNode) })
	}
}

// cpuTime returns the CPU time of the process in ns.
func cpuTime(b *testing.B) int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return t.Nano()
}
