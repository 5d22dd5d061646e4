package selftest

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/nodes/emu/process"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/backend/netns"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
)

// TestMain lets the test binary be the supervisor of runs in network namespaces, and the
// programs of their nodes.
func TestMain(m *testing.M) {
	netns.Supervise()
	if name := filepath.Base(os.Args[0]); name == "csig-host" || name == "csig-switch" {
		os.Exit(process.Main())
	}
	os.Exit(m.Run())
}

// needsNodes skips a test where nodes cannot have namespaces, and puts their programs on PATH.
func needsNodes(t *testing.T) {
	t.Helper()
	checkout.SkipSlowRace(t)
	if err := exec.Command("unshare", "--user", "--map-root-user", "--net", "true").Run(); err != nil && os.Geteuid() != 0 {
		t.Skip("this user can make no network namespaces: ", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"csig-host", "csig-switch"} {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func isReal(c test) bool { return c.kind == Parity || c.name == "lost-frame" }

// TestSelftest holds that every check passes, that each has a prediction with its formula and
// source, and that nothing remains of the runs.
func TestSelftest(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("CSIGLAB_LINKS_MTU", "9000B") // a user's setting has no part in it
	chosen := slices.DeleteFunc(slices.Clone(checks), func(c test) bool {
		return isReal(c) || checkout.SlowRace(t) && c.name == "statistics" // arithmetic, slow there
	})
	var seen []string
	report, err := run(t.Context(), chosen, Options{Version: "test", Progress: func(name string, _, _ int) { seen = append(seen, name) }})
	if err != nil {
		t.Fatal(err)
	}
	if !report.OK || report.Count(OK) != len(chosen) {
		t.Errorf("not all checks are ok:\n%s", report.Text(true))
	}
	for i, c := range report.Checks {
		if c.Name != seen[i] || c.Changed == "" || len(c.Claims) == 0 || headings[c.Kind] == "" {
			t.Errorf("check %d: got %+v, want the name %s, what is changed, claims and a kind with a heading", i, c, seen[i])
		}
		for _, claim := range c.Claims {
			if claim.What == "" || claim.Predicted == "" || claim.Formula == "" || claim.Source == "" || claim.Measured == "" {
				t.Errorf("%s: a claim lacks something: %+v", c.Name, claim)
			}
		}
	}
	if last := seen[len(seen)-1]; last != "" {
		t.Errorf("progress ends with %q, want the empty name", last)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
	data, err := json.Marshal(report)
	var again Report
	if wrong := json.Unmarshal(data, &again); err != nil || wrong != nil || len(again.Checks) != len(report.Checks) {
		t.Errorf("as JSON: %v, %v", err, wrong)
	}
}

// TestRealFrames holds that the checks with real frames pass, also for an ordinary user with
// user namespaces, which CI is.
func TestRealFrames(t *testing.T) {
	needsNodes(t)
	report, err := run(t.Context(), slices.DeleteFunc(slices.Clone(checks), func(c test) bool { return !isReal(c) }), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if report.Count(OK) != 2 {
		t.Errorf("want both checks ok:\n%s", report.Text(true))
	}
}

// TestPlantedFaults plants a fault in each kind of check and wants it to fail with words that
// name the prediction and what was measured.
func TestPlantedFaults(t *testing.T) {
	checkout.SkipSlowRace(t)
	with := func(c contrast, set ...string) func(context.Context, *bench) ([]Claim, error) {
		c.set = set
		return c.check
	}
	for _, fault := range []struct {
		name   string
		claims func(context.Context, *bench) ([]Claim, error)
		want   string // in the reason
	}{
		{"a rate that acts by less", with(halfRate, "variants.after.topology.dumbbell.rate=60Gbps"), "FCT at 50 Gb/s: predicted 672.96192 us, to the ps, measured 561.8"},
		{"one byte more", with(halfRate, "links.mtu=4161B", "workload.transfers=[0 -> 1 4097kB]"), "FCT at 100 Gb/s: predicted 339.48096 us, to the ps, measured 339.56"},
		{"a delay that does not act", with(doubleDelay, "variants.after.topology.dumbbell.delay=1us"), "base RTT at 2 us: predicted 13.01376 us, to the ps, measured 7.01376 us"},
		{"ECN that stays on", with(withoutECN, "variants.after.links.ecn.enabled=true"), "packets marked without: predicted none, measured 7"},
		{"ECN that never acted", with(withoutECN, "links.ecn.enabled=false"), "packets marked with ECN: predicted some, measured 0 packets"},
		{"a buffer that is not halved", with(halfBuffer, "variants.after.links.queue=300kB"), "longest queue of at most 200 kB: predicted 195.84 to 200 kB, measured 29"},
		{"fewer senders than said", with(fanIn, "variants.after.workload.incast.fan_in=7"), "last FCT of 8 senders: predicted 2669.08 to 2802.54 us, measured 23"},
		{"an all-reduce of other bytes", with(collective, "variants.after.jobs=[{name: ring, ranks: 4, hosts: [0..3], collective: {kind: all_reduce, algorithm: ring, size: 30MiB}}]"), "CCT of 32 MiB: predicted "},
		{"tags that say the wrong load", with(load, "variants.after.hosts.cc.rate=81Gbps"), "ABW at 80 Gb/s: predicted 20 ± 0.26 Gb/s, measured 18.9"},
		{"a delay that does not follow the window", with(window, "variants.after.hosts.cc.cwnd=208kB"), "CSIG delay with windows of 416 kB: predicted 59.5462 ± 0.3328 us, measured 26.264 us"},
		{"a wrong prediction", contrast{experiment: "rate", claims: func(before, _ metrics) []Claim {
			return []Claim{before.exactly("FCT", "fct_us.0-1", alone(1001, 100, 1), basis{})}
		}}.check, "FCT: predicted 339.81376 us, to the ps, measured 339.48096 us"},
		{"a metric that has gone", contrast{experiment: "rate", claims: func(before, _ metrics) []Claim {
			return []Claim{before.exactly("FCT", "fct_us.0-9", 1, basis{})}
		}}.check, "FCT: predicted 1 us, to the ps, measured nothing: the run lacks fct_us.0-9"},
		{"no prediction", contrast{experiment: "rate", claims: func(_, _ metrics) []Claim { return nil }}.check, "the check predicts nothing"},
		{"something irrelevant that acts", unmoved("unused-link", []string{"links.queue=40kB"}, []string{"links.queue=30kB"}, "a shorter queue"), "trace: predicted the same trace, measured another trace"},
		{"something relevant that does not act", unmoved("unused-link", []string{"name=other"}, []string{"name=another"}, "a name"), "trace after a name: predicted another trace, measured the same trace"},
		{"books without losses", books("small"), "packets that were dropped: predicted some, measured 0 packets"},
		{"a loss that is not noticed", leaking(1 << 40), "check conservation: predicted noticed at tor0, measured ports, links and 5 flows add up"},
		{"a seed that does not repeat", again([3]uint64{1, 2, 3}), "trace with the same seed: predicted the same trace, measured another trace"},
		{"a seed that does not act", again([3]uint64{1, 1, 1}), "trace with another seed: predicted another trace, measured the same trace"},
		{"statistics that see a difference", judged(1.02, 1.1), "false fails in 300 A/A comparisons: predicted 0 to 30, measured "},
		{"statistics that miss a slowdown", judged(1, 1.03), "fails of a candidate 10 % slower: predicted 285 to 300, measured "},
		{"an experiment that is refused", func(_ context.Context, b *bench) ([]Claim, error) {
			_, err := b.parse("rate", "links.mtu=1")
			return nil, err
		}, "links.mtu"},
	} {
		t.Run(fault.name, func(t *testing.T) {
			report, err := run(t.Context(), []test{{fault.name, Sensitivity, "a planted fault", fault.claims}}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if r := report.Checks[0]; report.OK || r.Outcome != Failed || !strings.Contains(r.Reason, fault.want) {
				t.Errorf("got %s, %q; want failed, with %q", r.Outcome, r.Reason, fault.want)
			}
			if text := report.Text(false); !strings.Contains(text, "1 failed ("+fault.name+")") {
				t.Errorf("the table does not name it:\n%s", text)
			}
		})
	}
}

// TestPlantedFaultsInRealFrames is TestPlantedFaults with real frames.
func TestPlantedFaultsInRealFrames(t *testing.T) {
	needsNodes(t)
	for _, fault := range []struct {
		name   string
		claims func(context.Context, *bench) ([]Claim, error)
		want   string
	}{
		{"a frame that is changed on its way", parity("flip=tor0-agg0:20"), "parity: the trace of "},
		{"a loss that is not noticed", lostFrame("tor0-agg0", 1<<40), "measured nothing was noticed"},
	} {
		t.Run(fault.name, func(t *testing.T) {
			report, err := run(t.Context(), []test{{fault.name, Parity, "a planted fault", fault.claims}}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if r := report.Checks[0]; report.OK || r.Outcome != Failed || !strings.Contains(r.Reason, fault.want) {
				t.Errorf("got %s, %q; want failed, with %q", r.Outcome, r.Reason, fault.want)
			}
		})
	}
}

// TestOutcomes holds what errors make of a check and of the report.
func TestOutcomes(t *testing.T) {
	claims := func(err error) func(context.Context, *bench) ([]Claim, error) {
		return func(context.Context, *bench) ([]Claim, error) { return []Claim{{OK: true}}, err }
	}
	for _, c := range []struct {
		err  error
		want Outcome
		ok   bool
	}{
		{nil, OK, true},
		{backend.ErrUnavailable, NotRun, true},
		{failure.Infrastructure(backend.ErrUnavailable), NotRun, true},
		{failure.Infrastructure(errors.New("a node died")), Broken, false},
		{&invalidError{[]string{"conservation"}}, Failed, false},
		{errors.New("refused"), Failed, false},
	} {
		report, err := run(t.Context(), []test{{"x", Parity, "", claims(c.err)}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := report.Checks[0]; got.Outcome != c.want || report.OK != c.ok || (got.Reason == "") != (c.err == nil) {
			t.Errorf("%v: got %s, %q, ok %v; want %s, ok %v", c.err, got.Outcome, got.Reason, report.OK, c.want, c.ok)
		}
	}
	full := failure.Infrastructure(unix.ENOSPC)
	if _, err := run(t.Context(), []test{{"x", Parity, "", claims(full)}}, Options{}); !failure.DiskFull(err) {
		t.Errorf("full disk: got %v, want it as the error of all", err)
	}
}

// TestInterrupted holds that an interrupt ends the checks at once and leaves nothing.
func TestInterrupted(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	report, err := Run(ctx, Options{Progress: func(_ string, done, _ int) {
		if done == 1 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || len(report.Checks) != 1 {
		t.Errorf("got %v after %d checks, want context.Canceled after 1", err, len(report.Checks))
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}

// TestOnly holds which checks names and kinds choose.
func TestOnly(t *testing.T) {
	for _, c := range []struct {
		only []string
		want []string
	}{
		{[]string{"delay", "rate"}, []string{"rate", "delay"}},
		{[]string{Parity, "seed"}, []string{"real-frames", "seed"}},
		{[]string{Independence, "name"}, []string{"name", "unused-link"}},
	} {
		chosen, err := choose(checks, c.only)
		var got []string
		for _, one := range chosen {
			got = append(got, one.name)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, %v; want %q", c.only, got, err, c.want)
		}
	}
	var unknown *UnknownError
	if _, err := Run(t.Context(), Options{Only: []string{"rate", "sensitivty"}}); !errors.As(err, &unknown) || unknown.Nearest != Sensitivity {
		t.Errorf("got %v, want an unknown name that is near to %s", err, Sensitivity)
	}
	names := Names()
	if sorted := slices.Compact(slices.Sorted(slices.Values(names))); len(sorted) != len(names) {
		t.Errorf("a name stands for two things: %q", names)
	}
}

// TestExperiments holds that each experiment can be run by csiglab run as it is.
func TestExperiments(t *testing.T) {
	files, err := experiments.ReadDir("experiments")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if _, err := (&bench{}).parse(strings.TrimSuffix(f.Name(), ".yaml")); err != nil {
			t.Error(err)
		}
	}
}

var update = flag.Bool("update", false, "write the checks into docs/how-to/selftest.md")

// TestDocumented holds that docs/how-to/selftest.md has a row for each check.
func TestDocumented(t *testing.T) {
	text := "\n## The checks\n\n| check | of | what is changed |\n|---|---|---|\n"
	for _, c := range checks {
		text += fmt.Sprintf("| `%s` | %s | %s |\n", c.name, c.kind, c.changed)
	}
	checkout.Written(t, "how-to/selftest.md", text, *update)
}
