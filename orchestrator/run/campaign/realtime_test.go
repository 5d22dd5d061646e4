package campaign

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab/containerlabtest"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// TestRealTime is short and asks nothing of the machine.
func TestRealTime(t *testing.T) {
	checkout.SkipLong(t)
	priority := false // whether threads get one in network namespaces
	everyRuntime(t, func(t *testing.T, runtime string) {
		t.Run("short run", func(t *testing.T) {
			got := testShortRun(t, runtime)
			if runtime == runtimes.Netns {
				priority = got.RealTime
			} else if got.RealTime != priority {
				t.Errorf("real-time priority %v, in network namespaces %v", got.RealTime, priority)
			}
		})
		t.Run("too fast", func(t *testing.T) { testTooFast(t, runtime) })
		t.Run("released", func(t *testing.T) { testReleased(t, runtime) })
	})
}

// everyRuntime runs a test of real time on both runtimes that have it. That of
// containers gets a Docker engine, or is skipped.
func everyRuntime(t *testing.T, test func(t *testing.T, runtime string)) {
	t.Helper()
	buildNodes(t)
	t.Run(runtimes.Netns, func(t *testing.T) { test(t, runtimes.Netns) })
	t.Run(runtimes.Containerlab, func(t *testing.T) {
		containerlabtest.Docker(t)
		test(t, runtimes.Containerlab)
	})
}

// needTime skips a test, or a part of one, that waits for real time or for containers
// and does on another runtime or clock what is tested anyway.
func needTime(t *testing.T) {
	t.Helper()
	if os.Getenv("CSIGLAB_E2E") == "" {
		t.Skip("takes a while; set CSIGLAB_E2E=1")
	}
}

// gentle is a fabric that a busy machine keeps up with: the wire has 0.2 s for a
// frame. The two flows share the uplink of a leaf. Lateness is not judged: this
// machine may do something else for as long as it likes.
const gentle = `
schema: 1
name: gentle
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 1Gbps, delay: 1ms}}
workload: {transfers: [0 -> 2 500kB, 1 -> 3 500kB]}
csig: {format: compact}
hosts: {cc: {name: nscc, csig: max-delay}}
measure: {to: 14ms}
wall: {dilation: 200, budget: {lateness: 1000, displaced: 0.2, rate: 1}}
`

// A short run in real time completes, its goodputs are near those in virtual time,
// tc shows a tbf on both ends of every link while it is under way, and the manifest
// has its fidelity.
func testShortRun(t *testing.T, runtime string) runfolder.Fidelity {
	set := parse(t, gentle)
	result, err := Run(context.Background(), set, Options{Out: filepath.Join(t.TempDir(), "virtual")})
	if err != nil {
		t.Fatal(err)
	}
	want := result.Summary.Variants["run"].Metrics
	folder := filepath.Join(t.TempDir(), "run")
	var shown string
	var once sync.Once
	got := runIn(t, set, Options{
		Out: folder, Runtime: runtime, Clock: runtimes.Wall,
		Progress: func(p Progress) {
			if p.Fraction > 0.4 {
				once.Do(func() { shown = qdiscs(t, folder) })
			}
		},
	})
	if !got.Valid {
		t.Errorf("reasons %q", got.Reasons)
	}
	for _, name := range []string{"goodput_gbps.0-2", "goodput_gbps.1-3"} {
		g, w := got.Variants["run"].Metrics[name], want[name]
		if w == 0 || math.Abs(g/w-1) > 0.15 {
			t.Errorf("%s is %.3f, in virtual time %.3f", name, g, w)
		}
	}
	f := fidelityOf(t, folder)
	if f.Dilation != 200 || f.SmallestDelayUS == 0 || f.Events < 1000 || f.Frames < 500 || f.Lost != 0 || f.Shaped != 0 ||
		f.LatenessP50US <= 0 || f.LatenessP99US < f.LatenessP50US || f.LatenessMaxUS < f.LatenessP99US || len(f.Links) == 0 || f.CPUShare <= 0 {
		t.Errorf("fidelity %+v", f)
	}
	checkQdiscs(t, shown)
	return f
}

// qdiscs returns what tc shows of the interfaces of a run's nodes.
func qdiscs(t *testing.T, folder string) string {
	if os.Geteuid() != 0 {
		return "" // may not enter the nodes' namespaces
	}
	for _, program := range []string{"tc", "nsenter"} {
		if _, err := exec.LookPath(program); err != nil {
			return ""
		}
	}
	list, err := runs.List(context.Background())
	if err != nil {
		t.Error(err)
		return ""
	}
	var shown strings.Builder
	for _, r := range list {
		if r.Folder != folder {
			continue
		}
		for _, n := range r.Nodes {
			text, err := exec.Command("nsenter", "--net="+n.Network, "tc", "-s", "qdisc", "show").CombinedOutput()
			if err != nil {
				t.Errorf("tc in %s: %v: %s", n.Name, err, text)
			}
			fmt.Fprintf(&shown, "node %s\n%s", n.Name, text)
		}
	}
	return shown.String()
}

// tbf is what tc -s qdisc says of a shaper.
var tbf = regexp.MustCompile(`qdisc tbf 1: dev (\S+) root refcnt \d+ rate ([0-9.]+)([MK])bit .*\n Sent (\d+) bytes`)

// checkQdiscs checks both ends of gentle's 6 links. The shapers' rate is 1.1 times
// that of the links, 1 Gb/s / 200, and a little for what frames are longer than
// packets.
func checkQdiscs(t *testing.T, shown string) {
	t.Helper()
	if shown == "" {
		t.Log("the shapers cannot be looked at here")
		return
	}
	found, busy := tbf.FindAllStringSubmatch(shown, -1), 0
	if len(found) != 2*6 {
		t.Errorf("tc shows %d interfaces with tbf, want both ends of 6 links:\n%s", len(found), shown)
	}
	for _, m := range found {
		if rate, err := strconv.ParseFloat(m[2], 64); err != nil || m[3] == "M" && (rate < 5.5 || rate > 5.75) || m[3] == "K" && (rate < 5500 || rate > 5750) {
			t.Errorf("%s: rate %s%sbit, want 1.1 times 5Mbit", m[1], m[2], m[3])
		}
		if m[4] != "0" {
			busy++
		}
	}
	if busy < 6 {
		t.Errorf("%d shapers have passed something, want those of every link:\n%s", busy, shown)
	}
}

// A dilation that no machine keeps gives an invalid run that says why.
func testTooFast(t *testing.T, runtime string) {
	folder := filepath.Join(t.TempDir(), "run")
	text := strings.NewReplacer("1Gbps", "100Gbps", "1ms", "1us", "500kB", "3MB").Replace(gentle)
	// Timers that are late for real make flows send again and again.
	text = text[:strings.Index(text, "measure:")] + "end: 300ms\nwall: {dilation: 1}\n"
	got := runIn(t, parse(t, text), Options{Out: folder, Runtime: runtime, Clock: runtimes.Wall})
	f := fidelityOf(t, folder)
	if got.Valid || f.LatenessShare < 1 {
		t.Errorf("valid %v, lateness %v of the smallest delay", got.Valid, f.LatenessShare)
	}
	if reasons := strings.Join(got.Reasons, "\n"); !strings.Contains(reasons, "fidelity: ") || !strings.Contains(reasons, "of the smallest delay 0.332 us times 1; the budget is 0.25") {
		t.Errorf("reasons %q do not name the lateness and its budget", got.Reasons)
	}
}

// A run that is held and released in the middle of its traffic adds up.
func testReleased(t *testing.T, runtime string) {
	folder, hold := filepath.Join(t.TempDir(), "run"), make(chan struct{})
	var once sync.Once
	got := runIn(t, parse(t, strings.Replace(gentle, "dilation: 200", "dilation: 400", 1)), Options{
		Out: folder, Runtime: runtime, Clock: runtimes.Wall, Hold: hold,
		Progress: func(p Progress) {
			if p.Fraction > 0.5 {
				once.Do(func() { close(hold) })
			}
		},
	})
	if !got.Valid {
		t.Errorf("reasons %q", got.Reasons)
	}
	f, err := runfolder.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	ended := false
	for _, c := range f.Manifest.Runs[0].Checks {
		ended = ended || c.Name == "completion" && c.OK && strings.Contains(c.Detail, "the run was ended at ")
	}
	if !ended {
		t.Errorf("checks %+v, want a run that was ended", f.Manifest.Runs[0].Checks)
	}
}

func parse(t *testing.T, text string) *experiment.Set {
	t.Helper()
	set, err := experiment.Parse("test.yaml", "", []byte(text), experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func fidelityOf(t *testing.T, folder string) runfolder.Fidelity {
	t.Helper()
	f, err := runfolder.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	run := f.Manifest.Runs[0]
	if run.Fidelity == nil || run.Fidelity.Dilation != f.Manifest.Dilation {
		t.Fatalf("the run has fidelity %+v, the manifest dilation %v", run.Fidelity, f.Manifest.Dilation)
	}
	t.Logf("took %.1f s; fidelity %+v", run.WallSeconds, *run.Fidelity)
	return *run.Fidelity
}
