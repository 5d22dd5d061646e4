package campaign

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/programs/programstest"
	"github.com/csiglab/csiglab/orchestrator/run/dilation"
)

// shortThreeFlow is the csig variant of three-flow with 20 MB flows.
func shortThreeFlow(t *testing.T, set ...string) *experiment.Set {
	t.Helper()
	s := load(t, "three-flow", append([]string{
		`workload.transfers=["1 -> 10 20MB", "0 -> 2 20MB", "9 -> 10 20MB"]`, "measure={from: 0us, to: 2ms}", "seeds=[1]",
	}, set...)...)
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

// buildNodes puts the programs on PATH.
func buildNodes(t *testing.T) {
	t.Helper()
	t.Setenv("PATH", programstest.Built(t)+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// runIn runs a set and returns what came of it, or skips the test where the
// runtime is not to be had.
func runIn(t *testing.T, set *experiment.Set, opts Options) *runfolder.Summary {
	t.Helper()
	opts.Announce = func(s string) { t.Log(s) }
	result, err := Run(context.Background(), set, opts)
	if errors.Is(err, backend.ErrUnavailable) {
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
		got := runIn(t, set, Options{Out: folder, Runtime: runtime, Clock: runtimes.Wall})
		f := fidelityOf(t, folder)
		if !got.Valid || !f.RealTime || f.Lost != 0 || f.Frames < 100000 || len(f.Links) == 0 {
			t.Errorf("valid %v, reasons %q, fidelity %+v", got.Valid, got.Reasons, f)
		}
		if f.LatenessShare > 1.2*dilation.LatenessTarget { // percentiles are known to an eighth
			t.Errorf("events were %.3f of the smallest delay late (p99), auto aims at %v", f.LatenessShare, dilation.LatenessTarget)
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
	_, err := Run(context.Background(), shortThreeFlow(t), Options{Clock: runtimes.Wall, CheckParity: true, Out: t.TempDir()})
	if !errors.Is(err, failure.ErrConfiguration) {
		t.Errorf("--check-parity in real time: error %v, want one of configuration", err)
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
