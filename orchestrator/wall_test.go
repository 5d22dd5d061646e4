package orchestrator

import (
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/nodes/emu/process"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/netns"
	"github.com/csiglab/csiglab/units"
)

// shortThreeFlow is the csig variant of three-flow with 20 MB flows.
func shortThreeFlow(t *testing.T, set ...string) *experiment.Set {
	t.Helper()
	opts := experiment.Options{Tables: experiment.StandardTables(), Seeds: 1}
	for _, text := range append([]string{
		`workload.transfers=["1 -> 10 20MB", "0 -> 2 20MB", "9 -> 10 20MB"]`, "measure={from: 0us, to: 2ms}",
	}, set...) {
		o, err := experiment.ParseSet("--set", text)
		if err != nil {
			t.Fatal(err)
		}
		opts.Override = append(opts.Override, o)
	}
	s, err := experiment.Load("three-flow", opts)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range s.Variants {
		if v.Name == "csig" {
			s.Variants = s.Variants[i : i+1]
			s.Base.Expect, s.Base.Published = nil, nil
			return s
		}
	}
	t.Fatal("three-flow has no variant csig")
	return nil
}

// buildNodes puts the nodes' programs on PATH. An ordinary user may not be able to
// build, as the module cache is another's: the programs are this one then.
func buildNodes(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if os.Geteuid() == 0 {
		cmd := exec.Command("go", "build", "-o", dir, "./cmd/csig-host", "./cmd/csig-switch")
		cmd.Dir, cmd.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	} else {
		self, err := os.Executable()
		for _, name := range []string{"csig-host", "csig-switch"} {
			if err == nil {
				err = os.Symlink(self, filepath.Join(dir, name))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// beNode turns this program into a node's, and ends it, if that is the name that
// it was called by.
func beNode() {
	switch filepath.Base(os.Args[0]) {
	case "csig-host", "csig-switch":
		os.Exit(process.Main())
	}
}

// runIn runs a set and returns what came of it, or skips the test where the
// runtime is not to be had.
func runIn(t *testing.T, set *experiment.Set, opts Options) *runfolder.Summary {
	t.Helper()
	opts.Announce = func(s string) { t.Log(s) }
	result, err := Run(context.Background(), set, opts)
	if errors.Is(err, netns.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return result.Summary
}

// In real time, at a dilation that this machine keeps, goodputs are within 15 %
// of the virtual ones, and the run is valid.
func TestWallThreeFlow(t *testing.T) {
	needQuiet(t)
	if os.Geteuid() != 0 {
		t.Skip("without a real-time priority the dilation is too large for a test")
	}
	set := shortThreeFlow(t)
	result, err := Run(context.Background(), set, Options{Out: filepath.Join(t.TempDir(), "virtual")})
	if err != nil {
		t.Fatal(err)
	}
	want := result.Summary.Variants["csig"].Metrics
	everyRuntime(t, func(t *testing.T, runtime string) {
		t.Setenv("XDG_CACHE_HOME", t.TempDir()) // calibrate under the load of now
		folder := filepath.Join(t.TempDir(), "run")
		got := runIn(t, set, Options{Out: folder, Runtime: runtime, Clock: ClockWall})
		f := fidelityOf(t, folder)
		if !got.Valid || !f.RealTime || f.Lost != 0 || f.Frames < 100000 || len(f.Links) == 0 {
			t.Errorf("valid %v, reasons %q, fidelity %+v", got.Valid, got.Reasons, f)
		}
		if f.LatenessShare > 1.2*latenessTarget { // percentiles are known to an eighth
			t.Errorf("events were %.3f of the smallest delay late (p99), auto aims at %v", f.LatenessShare, latenessTarget)
		}
		for _, name := range []string{"goodput_gbps.1-10", "goodput_gbps.0-2", "goodput_gbps.9-10"} {
			g, w := got.Variants["csig"].Metrics[name], want[name]
			if w == 0 || math.Abs(g/w-1) > 0.15 {
				t.Errorf("%s is %.2f, in virtual time %.2f", name, g, w)
			}
			t.Logf("%s: %.3f, in virtual time %.3f, error %+.3f %%", name, g, w, 100*(g/w-1))
		}
	})
}

func TestWallHasNoParity(t *testing.T) {
	_, err := Run(context.Background(), shortThreeFlow(t), Options{Clock: ClockWall, CheckParity: true, Out: t.TempDir()})
	if !errors.Is(err, ErrConfiguration) {
		t.Errorf("--check-parity in real time: error %v, want one of configuration", err)
	}
}

// The dilation follows lateness and the smallest delay, or CPU and the load,
// whichever asks for more.
func TestDilation(t *testing.T) {
	p, err := Compile(shortThreeFlow(t).Variants[0].Experiment, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := smallestDelay(p); got != 332*units.Nanosecond { // 4150 B at 100 Gb/s; links have 1 us
		t.Errorf("smallest delay %v, want 332ns", got)
	}
	idle := func(late time.Duration) *calibration {
		return &calibration{Loads: []calibrationLoad{{0.1, late}}, FrameHop: time.Nanosecond}
	}
	if got := idle(83 * time.Microsecond).dilation(p); got != 5000 { // 83 us / (5 % of 332 ns)
		t.Errorf("dilation for 83us of lateness is %v, want 5000", got)
	}
	if got := idle(84 * time.Microsecond).dilation(p); got != 5100 { // 5060, rounded up to two digits
		t.Errorf("dilation for 84us of lateness is %v, want 5100", got)
	}
	busy := idle(time.Nanosecond)
	busy.FrameHop = 20 * time.Microsecond
	once := busy.dilation(p)
	busy.FrameHop *= 10
	if ten := busy.dilation(p); once < 2 || ten < 9*once || ten > 11*once {
		t.Errorf("dilation for 20us of CPU per frame-hop is %v, for 200us %v, want ten times as much", once, ten)
	}
	if got := idle(1).dilation(p); got != 1 {
		t.Errorf("dilation of a perfect machine is %v, want 1", got)
	}
	// Timers that are late under load only ask for less load: the dilation is where
	// the two meet.
	busy.Loads = []calibrationLoad{{0.1, 10 * time.Microsecond}, {0.5, 410 * time.Microsecond}}
	d := busy.dilation(p)
	share := busy.load(p) / d
	if late, allowed := busy.lateness(share), 0.05*0.332e-6*d; share > 0.5 || late.Seconds() > allowed || d < 1.1*10*once {
		t.Errorf("dilation %v is a load of %.2f, under which timers are %v late, allowed %.3g s", d, share, late, allowed)
	}
	if late := busy.lateness(busy.load(p) / (d * 0.9)); late.Seconds() <= 0.05*0.332e-6*d*0.9 {
		t.Errorf("dilation %v is not the least", d)
	}
	for share, want := range map[float64]time.Duration{0: 10, 0.1: 10, 0.2: 110, 0.5: 410, 0.9: 410} {
		if got := busy.lateness(share); (got - want*time.Microsecond).Abs() > time.Microsecond {
			t.Errorf("lateness under a load of %v is %v, want %dus", share, got, want)
		}
	}
}

// Each part of the budget fails on its own.
func TestFidelityBudget(t *testing.T) {
	p, err := Compile(shortThreeFlow(t).Variants[0].Experiment, 1)
	if err != nil {
		t.Fatal(err)
	}
	budget := experiment.Budget{Lateness: 0.25, Displaced: 0.01, Rate: 0.05}
	good := runfolder.Fidelity{Dilation: 4000, LatenessShare: 0.25, Frames: 1000, Displaced: 10, Links: []runfolder.LinkRate{{Rate: 0.96}, {Node: 1, Rate: 1.04}}}
	for _, c := range []struct {
		change func(f *runfolder.Fidelity)
		want   string
	}{
		{func(*runfolder.Fidelity) {}, ""},
		{func(f *runfolder.Fidelity) { f.LatenessShare = 0.26 }, "0.26 of the smallest delay"},
		{func(f *runfolder.Fidelity) { f.Displaced = 11 }, "11 of 1000 packets came too late"},
		{func(f *runfolder.Fidelity) { f.Lost = 1 }, "1 frames were lost on their way; a larger --dilation helps"},
		{func(f *runfolder.Fidelity) { f.Unread, f.Foreign = 2, 1 }, "2 frames of programs found no reader at their hosts: too many at a time, or longer than csig0's MTU"},
		{func(f *runfolder.Fidelity) { f.Foreign = 1 }, ""},
		{func(f *runfolder.Fidelity) { f.Links = append(f.Links, runfolder.LinkRate{Node: 2, Rate: 0.9}) }, "1 of 3 busy links were off their rate; h2 port 0 sent at 0.9 of it"},
		{func(f *runfolder.Fidelity) { f.Behind = 2.5 }, "given up when it was 2.5 s behind"},
	} {
		f := good
		c.change(&f)
		got := checkFidelity(p, &f, budget)
		if got.ok != (c.want == "") || !strings.Contains(got.detail, c.want) || f.Unread > 0 && strings.Contains(got.detail, "dilation") {
			t.Errorf("check of %+v: ok %v, %q; want %q", f, got.ok, got.detail, c.want)
		}
	}
}

// needQuiet skips a test that keeps real time, which a machine that is busy with
// other packages' tests cannot.
func needQuiet(t *testing.T) {
	t.Helper()
	if os.Getenv("CSIGLAB_E2E") == "" {
		t.Skip("needs a machine that does nothing else; set CSIGLAB_E2E=1 and go test -p 1")
	}
}
