package kernel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/google/go-cmp/cmp"
	"github.com/google/shlex"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/node/nodetest"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/units"
)

// load returns the switch of a configuration in the kernel. It skips the test where the
// kernel refuses any program.
func load(t testing.TB, cfg Config) *Switch {
	t.Helper()
	s, err := New(cfg)
	switch {
	case errors.Is(err, os.ErrPermission):
		t.Skipf("%v; programs need CAP_BPF and CAP_NET_ADMIN, and a kernel that allows bpf(2)", err)
	case errors.Is(err, ebpf.ErrNotSupported):
		t.Skip(err)
	case err != nil:
		var verifier *ebpf.VerifierError
		if errors.As(err, &verifier) {
			t.Fatalf("%+v", verifier)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() }) //nolint:errcheck // the end of the test
	return s
}

// socketBuffer is struct __sk_buff as BPF_PROG_TEST_RUN takes it and gives it back.
type socketBuffer struct {
	_    [12]uint32
	CB   [5]uint32
	Rest [124]byte
}

// departure is a frame that a datapath has sent.
type departure struct {
	at    units.Time // of its first bit
	frame []byte
}

// inKernel gives a frame to the program. It returns the port that the frame leaves
// through; ok is false for one that is dropped.
func (s *Switch) inKernel(t testing.TB, a arrival) (port int, d departure, ok bool) {
	t.Helper()
	context := socketBuffer{CB: [5]uint32{uint32(a.at), uint32(a.at >> 32), uint32(a.port)}}
	var after socketBuffer
	o := ebpf.RunOptions{Data: a.frame, DataOut: make([]byte, len(a.frame)+64), Context: &context, ContextOut: &after}
	verdict, err := s.objects.Transit.Run(&o)
	if err != nil {
		t.Fatalf("frame of %d B: %v", len(a.frame), err)
	}
	const redirect, drop = 7, 2
	switch verdict {
	case drop:
		return 0, d, false
	case redirect:
	default:
		t.Fatalf("verdict %d", verdict)
	}
	d.at = units.Time(uint64(after.CB[1])<<32 | uint64(after.CB[0]))
	if d.frame = o.DataOut; after.CB[3] != 0 { // a VLAN tag that the kernel keeps beside the frame
		d.frame = slices.Insert(d.frame, 12, binary.BigEndian.AppendUint32(nil, after.CB[3])...)
	}
	return int(after.CB[2]), d, true
}

// compare gives a script to the machine and to the program, and compares what leaves each
// port, when, and what is counted.
func compare(t *testing.T, cfg Config, script []arrival) (counts map[string]int64) {
	t.Helper()
	cfg.scripted = true
	s := load(t, cfg)
	machine := cfg.Switch
	machine.AtArrival = true
	rig := nodetest.New(t)
	nodetest.Add(rig, machine.PortCount(), dataplane.New, machine)
	pool := rig.Nodes[0].Pool
	want, got := make([][]departure, len(machine.Ports)), make([][]departure, len(machine.Ports))
	rig.Out = func(d nodetest.Departure) {
		want[d.Port] = append(want[d.Port], departure{d.At, append(bytes.Clone(d.Packet.Header()), d.Packet.Payload...)})
		pool.Put(d.Packet)
	}
	for i, a := range script {
		p := pool.Get()
		if err := p.ParseRaw(a.frame, cfg.Format); err != nil {
			t.Fatalf("frame %d: %v", i, err)
		}
		rig.Receive(a.at, 0, a.port, p)
		if port, d, ok := s.inKernel(t, a); ok {
			got[port] = append(got[port], d)
		}
	}
	rig.Run(script[len(script)-1].at.Add(units.Minute))
	for port := range want {
		for i := range min(len(want[port]), len(got[port])) {
			if w, g := want[port][i], got[port][i]; w.at != g.at || !bytes.Equal(w.frame, g.frame) {
				t.Fatalf("port %d, frame %d: the machine sends at %d\n%x\nthe kernel at %d\n%x", port, i, w.at, head(w.frame), g.at, head(g.frame))
			}
		}
		if len(want[port]) != len(got[port]) {
			t.Fatalf("port %d: the machine sends %d frames, the kernel %d", port, len(want[port]), len(got[port]))
		}
	}
	return compareCounts(t, s, rig.Nodes[0].Totals(rig.Now))
}

// compareCounts compares the counters of the program with those of the machine, and returns
// the latter by name.
func compareCounts(t *testing.T, s *Switch, want metrics.NodeTotals) map[string]int64 {
	t.Helper()
	got, err := s.Totals()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int64{}
	for i := range want.Ports {
		w := &want.Ports[i]
		w.RxPackets, w.RxBytes, w.QueueMax, w.QueueByteNS, w.FirstDeparture, w.LastDeparture = 0, 0, 0, 0, 0, 0
		counts["sent"] += w.TxPackets
		counts["dropped"] += w.DroppedPackets
		counts["marked"] += w.MarkedPackets
	}
	if s.cfg.Switch.CSIG == nil {
		got.Tags = want.Tags // the machine does not look at them
	}
	for _, c := range want.Tags {
		counts[c.Name] = c.Packets
	}
	want.TraceHash, want.Events = [32]byte{}, 0
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counters (-machine +kernel)\n%s", diff)
	}
	return counts
}

func head(frame []byte) []byte { return frame[:min(len(frame), 120)] }

// The program does what the machine does, bit by bit and to the picosecond, with drawn
// configurations and scripts. CSIGLAB_E2E=1 has a million packets.
func TestEqual(t *testing.T) {
	rounds, packets := 24, 500
	if os.Getenv("CSIGLAB_E2E") != "" {
		rounds, packets = 500, 2000
	}
	seed := uint64(time.Now().UnixNano())
	all := map[string]int64{}
	for round := range rounds {
		ok := t.Run(fmt.Sprintf("seed=%d", seed+uint64(round)), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed+uint64(round), 0))
			cfg := drawConfig(r)
			for name, n := range compare(t, cfg, drawScript(r, &cfg, packets)) {
				all[name] += n
			}
		})
		if !ok {
			break
		}
	}
	if t.Failed() || len(all) == 0 {
		return
	}
	t.Log(all)
	for _, name := range append(outcomes[:], "sent", "dropped", "marked") {
		if all[name] == 0 {
			t.Errorf("nothing was %s: the scripts leave that out", name)
		}
	}
}

// What the program cannot do is refused by name.
func TestRefused(t *testing.T) {
	for want, change := range map[string]func(*dataplane.Config){
		"AQM linear":           func(c *dataplane.Config) { c.AQM.Name = "linear" },
		"routing adaptive":     func(c *dataplane.Config) { c.Forward.Routing.Name = "adaptive" },
		"classes":              func(c *dataplane.Config) { c.Classes = new(dataplane.Classes) },
		"port 2: policy termi": func(c *dataplane.Config) { c.Ports[2].Policies[csig.NQD] = dataplane.Terminate },
		"port 1: tags put on":  func(c *dataplane.Config) { c.Ports[1].Ingress.Outside = true },
		"port 0: a rate above": func(c *dataplane.Config) { c.Ports[0].Rate = 9000 * units.Gbps },
		"port 3: a queue":      func(c *dataplane.Config) { c.Ports[3].Buffer.Data = units.NoLimit },
	} {
		cfg := drawConfig(rand.New(rand.NewPCG(1, 1)))
		change(&cfg.Switch)
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// The committed object is what go generate makes of transit.c.
func TestObject(t *testing.T) {
	if _, err := exec.LookPath("clang-14"); err != nil {
		t.Skip(err)
	}
	source, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(source), "//go:generate go ")
	line, _, _ = strings.Cut(line, "\n")
	args, err := shlex.Split(line)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	at := slices.Index(args, "-cc")
	generate := exec.Command("go", slices.Insert(args, at, "-output-dir", folder)...)
	if out, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"transit_bpfel.o", "transit_bpfel.go"} {
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what go generate makes of transit.c", name)
		}
	}
}
