package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// roomModule has a signal of which hops keep the smallest value, and a controller that asks
// for it.
const roomModule = `package room

import (
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/units"
)

const room csig.Type = 6

func init() {
	csig.Register(csig.Signal{
		Name: "queue-room", Doc: "least room that a queue has left", Type: room, Min: true, Unit: csig.Bytes, Heavy: 60_000,
		Compact: "even(4kB)", Wide: "linear(64B)",
		Value: func(in *csig.Inputs) uint64 { return uint64(in.Limit - min(in.Queue, in.Limit)) },
	})
	congestion.Register(congestion.Algorithm{
		Spec: algorithm.Spec{Name: "room", Doc: "one packet more as long as 60 kB are left, half otherwise"},
		Windows: func(p congestion.Path, _ *algorithm.Reader) congestion.Windows {
			return congestion.Windows{Min: p.MTU, Max: 64 * p.MTU}
		},
		Build: func(p congestion.Path, _ *algorithm.Reader) congestion.Controller {
			return &controller{mtu: p.MTU, out: congestion.Output{Window: 16 * p.MTU, BaseRTT: p.NetworkRTT, Wants: csig.Only(room)}}
		},
	})
}

type controller struct {
	mtu units.Size
	out congestion.Output
}

func (c *controller) Output() *congestion.Output { return &c.out }

func (c *controller) OnAck(_ units.Time, a *congestion.Ack) {
	switch s := &a.CSIG[room]; {
	case !s.Fresh:
	case s.Sample.Point >= 60_000:
		c.out.Window = min(c.out.Window+c.mtu, 64*c.mtu)
	default:
		c.out.Window = max(c.out.Window/2, c.mtu)
	}
}

func (c *controller) OnNack(_ units.Time, n *congestion.Nack)       { c.out.Window = max(c.out.Window-n.Size, c.mtu) }
func (c *controller) OnTimeout(_ units.Time, _ *congestion.Timeout) { c.out.Window = c.mtu }
`

const roomExperiment = `schema: 1
name: room
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 4, rate: 10Gbps, delay: 1us}}
workload: {transfers: [4 -> 0 400kB, 5 -> 0 400kB, 6 -> 0 400kB]}
csig: {format: wide, quantisers: {queue-room: linear(256B)}}
links: {queue: 100kB}
hosts:
  cc: {name: room}
telemetry: {truth: 8}
`

// TestModuleSignal builds a csiglab with a signal of a module and runs an experiment whose
// controller asks for it, in virtual time and with real frames.
func TestModuleSignal(t *testing.T) {
	needTime(t)
	w := newWorkshop(t)
	t.Run("refused", func(t *testing.T) {
		wrong := strings.Replace(roomModule, "csig.Type = 6", "csig.Type = 3", 1)
		code, stdout, stderr := w.build(t, "example.com/wrong", w.module(t, "example.com/wrong", strings.Replace(wrong, "package room", "package wrong", 1)), "wrong")
		if want := `module example.com/wrong: signal "queue-room": Signal.Type of queue-room is 3: want a T from 4 to 7`; code != command.ExitUsage || !strings.Contains(stderr, want) {
			t.Errorf("exit code %d, %s%s; want %s", code, stdout, stderr, want)
		}
	})
	mine, _ := w.built(t, "example.com/room", w.module(t, "example.com/room", roomModule), "mine")
	if _, list, _ := w.run(t, mine, "list", "signals"); !strings.Contains(list, "  queue-room: least room that a queue has left (T 6, in B)\n    of module example.com/room\n") {
		t.Errorf("list signals:\n%s", list)
	}
	experiment := filepath.Join(w.dir, "room.yaml")
	if err := os.WriteFile(experiment, []byte(roomExperiment), 0o644); err != nil {
		t.Fatal(err)
	}
	hash := map[string]string{}
	for _, c := range []struct{ name, clock string }{{"virtual", ""}, {"netns", "lockstep"}} {
		if c.clock != "" && exec.Command("unshare", "-rn", "true").Run() != nil {
			t.Log("no network namespaces here")
			continue
		}
		args := []string{"run", experiment, "--out", filepath.Join(w.dir, c.name)}
		if c.clock != "" {
			args = append(args, "--runtime", c.name, "--clock", c.clock)
		}
		if code, stdout, stderr := w.run(t, mine, args...); code != command.ExitOK {
			t.Fatalf("%s: exit code %d\n%s%s", c.name, code, stdout, stderr)
		}
		f, err := runfolder.Open(filepath.Join(w.dir, c.name))
		if err != nil {
			t.Fatal(err)
		}
		hash[c.name] = f.Manifest.Runs[0].TraceHash
		if hash["virtual"] != hash[c.name] || hash[c.name] == "" {
			t.Errorf("trace hashes differ: %v", hash)
		}
		checkRoom(t, f)
		if report := read(t, filepath.Join(w.dir, c.name, runfolder.ReportFile)); !bytes.Contains(report, []byte("at most 60 kB, as the module of the signal says")) {
			t.Errorf("%s: the report has no heatmap of the signal", c.name)
		}
	}
}

// checkRoom checks what a run folder has of the signal.
func checkRoom(t *testing.T, f *runfolder.Folder) {
	t.Helper()
	m := f.Manifest
	want := []runfolder.ModuleSignal{{Name: "queue-room", Doc: "least room that a queue has left", Unit: "B", Least: true, Heavy: 60_000}}
	if diff := cmp.Diff(want, m.ModuleSignals); diff != "" || len(m.Signals) != 7 || m.Signals[6] != "queue-room" || m.Signals[4] != "type4" {
		t.Errorf("the manifest has the signals %v, and of modules\n%s", m.Signals, diff)
	}
	samples, least := int64(0), int64(100_000)
	for row, err := range f.Signals() {
		if err != nil {
			t.Fatal(err)
		}
		if row.Type != "queue-room" {
			t.Errorf("a sample of %s", row.Type)
		}
		samples, least = samples+row.Samples, min(least, row.PointMin)
	}
	if samples < 100 || least > 60_000 || least < 0 {
		t.Errorf("%d samples, the least room is %d", samples, least)
	}
	got := map[string]float64{}
	for row, err := range f.Metrics() {
		if err != nil {
			t.Fatal(err)
		}
		got[row.Name] = row.Value
	}
	if v := got["csig_queue_room_kb.min.4-0"]; v <= 0 || v > 60 {
		t.Errorf("the least room of 4-0 is %v kB", v)
	}
	// The truth of a queue is what the tag says, up to the quantiser: 256 B.
	if v, ok := got["csig_queue_room_kb.error_p99"]; !ok || v > 0.256 {
		t.Errorf("error %v, %v", v, ok)
	}
	if v := got["bottleneck_share.queue-room.tor1-agg0"]; v < 0.5 {
		t.Errorf("the samples name the uplink that the flows share with the share %v", v)
	}
}
