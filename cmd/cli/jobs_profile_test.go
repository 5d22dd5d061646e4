package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	profilesof "github.com/csiglab/csiglab/reports/profiles"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/fluid"
	"github.com/csiglab/csiglab/workloads/profilefile"
)

// profiledPair is an experiment of two jobs on a link of 10 Gb/s: each alone, and both.
func profiledPair(t *testing.T, a, b string) string {
	t.Helper()
	first, second := "{name: a, hosts: [0, 2], steps: 24, "+a+"}", "{name: b, hosts: [1, 3], steps: 24, "+b+"}"
	return workloadFile(t, "pair.yaml", fmt.Sprintf(`schema: 1
name: pair
topology: {dumbbell: {left: 2, right: 2, rate: 10Gbps, delay: 1us}}
links: {ecn: {low: 65kB, high: 66kB}}
hosts: {cc: dctcp}
telemetry: {interval: 50us}
jobs: []
variants:
  a: {jobs: [%s]}
  b: {jobs: [%s]}
  both: {jobs: [%s, %s]}
`, first, second, first, second))
}

// runFolder runs an experiment and returns its folder.
func runFolder(t *testing.T, file string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "run")
	var stdout, stderr bytes.Buffer
	if code := execute(t.Context(), command.Linked{}, newWork(command.Linked{}), []string{"run", file, "--out", out, "--no-report"}, nil, &stdout, &stderr); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	return out
}

// "A profile measured from a run predicts the joint run's iteration times within 5 %"
// (issue 17, must show 7): the profiles of two jobs that ran alone, and ideal fair sharing.
func TestMeasuredProfilesPredict(t *testing.T) {
	checkout.SkipLong(t)
	checkout.SkipSlowRace(t)
	for _, c := range []struct {
		name, a, b string
		shared     bool // the iterations of both take at least 10 % longer than alone
	}{
		{"incompatible, overlapping", "jitter: 0.01, profile: {compute: 8ms, bytes: 15MB}", "jitter: 0.01, profile: {compute: 10ms, bytes: 11.25MB}", true},
		{"compatible, started together", "profile: {compute: 14.1ms, bytes: 10MB}", "profile: {compute: 14.1ms, bytes: 10MB}", true},
		{"compatible, started apart", "jitter: 0.002, profile: {compute: 14.1ms, bytes: 10MB}", "start: 12ms, jitter: 0.002, profile: {compute: 14.1ms, bytes: 10MB}", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := runFolder(t, profiledPair(t, c.a, c.b))
			network := fluid.Network{Links: []float64{float64(10 * units.Gbps)}, Sharing: fluid.Weighted}
			for _, name := range []string{"a", "b"} {
				file := filepath.Join(t.TempDir(), name+".json")
				if code, _, stderr := csiglab(&fakeLab{}, nil, "jobs", "profile", dir, "--variant", name, "--out", file); code != 0 {
					t.Fatalf("exit %d: %s", code, stderr)
				}
				jobs, err := profilefile.ReadFile(file)
				if err != nil || len(jobs) != 1 || jobs[0].Name != name {
					t.Fatalf("%v: %+v", err, jobs)
				}
				job := fluid.NewJob(&jobs[0].Profile, 10*units.Gbps)
				job.Iterations = 24
				network.Jobs = append(network.Jobs, job)
			}
			if strings.HasPrefix(c.b, "start: 12ms") {
				network.Jobs[1].Offset = 12 * units.Millisecond
			}
			predicted, err := network.Solve(24)
			if err != nil {
				t.Fatal(err)
			}
			f, err := runfolder.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			for k, name := range []string{"a", "b"} {
				alone, measured := f.Summary.Variants[name].Metrics["iteration_us.mean."+name], f.Summary.Variants["both"].Metrics["iteration_us.mean."+name]
				want := predicted.Mean(k, 0).Microseconds()
				t.Logf("%s: alone %.0f us, together %.0f us, predicted %.0f us (%+.1f %%)", name, alone, measured, want, 100*(want/measured-1))
				if math.Abs(want/measured-1) > 0.05 {
					t.Errorf("job %s: predicted %v us, measured %v us", name, want, measured)
				}
				if shared := measured > 1.1*alone; shared != c.shared {
					t.Errorf("job %s takes %v us together and %v us alone", name, measured, alone)
				}
			}
		})
	}
}

// The profile of a job is measured without records of its steps, at a port by name, and is
// what the job was told to do.
func TestProfileOfPorts(t *testing.T) {
	checkout.SkipSlowRace(t)
	const job = "profile: {compute: 3ms, bytes: 5MB}"
	dir := runFolder(t, profiledPair(t, job, job))
	code, stdout, stderr := csiglab(&fakeLab{}, nil, "jobs", "profile", dir, "--variant", "b", "--port", "h1-s0", "--port", "h3-s1", "--json")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	var profiles []profilesof.Profile
	if err := json.Unmarshal([]byte(stdout), &profiles); err != nil || len(profiles) != 1 {
		t.Fatalf("%v: %s", err, stdout)
	}
	p := &profiles[0]
	// 5 MB are 1250 packets of 4000 bytes and a header, at 10 Gb/s: 4.1 ms.
	if p.Name != "h1-s0" || p.Iterations != 24 || p.Alike != 24 || len(p.Bursts) != 1 || p.Records != nil || p.Correlation < 0.9 ||
		math.Abs(p.PeriodUS.Mean-7110) > 30 || math.Abs(p.Bursts[0].AtUS.Mean-3000) > 30 || math.Abs(p.Bursts[0].LengthUS.Mean-4110) > 30 || math.Abs(p.Bursts[0].Gbps.Mean-10) > 0.2 {
		t.Errorf("%+v", p)
	}
	code, stdout, stderr = csiglab(&fakeLab{}, nil, "jobs", "profile", dir, "--variant", "both")
	if code != 0 || !strings.Contains(stdout, "It shares links with b; alone its bursts may be shorter.") || !strings.Contains(stdout, "The records of its 24 steps: ") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
}

// A job that shows no profile does not keep the others from theirs, a port that is named twice
// counts once, and the output is the same each time.
func TestProfilesOfSomeJobs(t *testing.T) {
	dir := runFolder(t, workloadFile(t, "some.yaml", `schema: 1
name: some
topology: {dumbbell: {left: 3, right: 3, rate: 10Gbps, delay: 1us}}
links: {ecn: {low: 65kB, high: 66kB}}
hosts: {cc: dctcp}
telemetry: {interval: 50us}
jobs:
  - {name: a, hosts: [0, 3], steps: 40, profile: {compute: 1ms, bytes: 1MB}}
  - {name: b, hosts: [1, 4], steps: 10, profile: {compute: 1ms, bytes: 1MB}}
  - {name: brief, hosts: [2, 5], start: 100ms, steps: 2, profile: {compute: 1ms, bytes: 1MB}}
`))
	profiles := func(args ...string) ([]profilesof.Profile, string, string) {
		t.Helper()
		code, stdout, stderr := csiglab(&fakeLab{}, nil, append([]string{"jobs", "profile", dir, "--json"}, args...)...)
		var all []profilesof.Profile
		if err := json.Unmarshal([]byte(stdout), &all); err != nil || code != 0 {
			t.Fatalf("%v: exit %d: %s %v", args, code, stderr, err)
		}
		return all, stdout, stderr
	}
	all, first, stderr := profiles()
	if len(all) != 2 || !strings.Contains(stderr, "note: job brief: no profile: the series has fewer than three periods") {
		t.Fatalf("%+v: %s", all, stderr)
	}
	for _, p := range all {
		// Job b runs for a fifth of the run.
		if math.Abs(p.PeriodUS.Mean/p.Records.IterationUS-1) > 0.02 || p.Iterations != p.Records.Steps {
			t.Errorf("job %s: period %v us of %d iterations, and its %d steps last %v us", p.Name, p.PeriodUS.Mean, p.Iterations, p.Records.Steps, p.Records.IterationUS)
		}
	}
	for range 3 {
		if _, again, _ := profiles(); again != first {
			t.Errorf("once %s and once %s", first, again)
		}
	}
	once, _, _ := profiles("--port", "h0-s0")
	twice, _, _ := profiles("--port", "h0-s0", "--port", "h0-s0")
	if diff := cmp.Diff(once, twice); diff != "" || once[0].Bursts[0].Gbps.Mean < 5 {
		t.Errorf("a port once and twice: %s", diff)
	}
	code, stdout, stderr := csiglab(&fakeLab{}, nil, "jobs", "profile", dir, "--job", "a", "--job", "brief")
	if code != 2 || stdout != "" || !strings.Contains(stderr, "job brief: no profile: ") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
}

// An iteration of two bursts that are much alike: their distance is not the job's period. The
// records of the job say so.
func TestProfileThatRecordsContradict(t *testing.T) {
	layers := workloadFile(t, "two.txt", "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 all_gpus: 2\n2\n"+
		"a -1 590000 ALLREDUCE 470000 0 NONE 0 0 NONE 0 0\nb -1 660000 ALLREDUCE 520000 0 NONE 0 0 NONE 0 0\n")
	dir := runFolder(t, workloadFile(t, "two.yaml", `schema: 1
name: two
topology: {dumbbell: {left: 1, right: 1, rate: 10Gbps, delay: 1us}}
hosts: {cc: dctcp}
telemetry: {interval: 10us}
jobs: [{name: a, steps: 12, trace: `+layers+`}]
`))
	code, stdout, stderr := csiglab(&fakeLab{}, nil, "jobs", "profile", dir)
	if code != 0 || stdout == "" || !strings.Contains(stderr, "note: job a: its ports repeat themselves every 1.0") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	out := filepath.Join(t.TempDir(), "a.json")
	code, _, stderr = csiglab(&fakeLab{}, nil, "jobs", "profile", dir, "--out", out)
	if _, err := os.Stat(out); code != 2 || !os.IsNotExist(err) || !strings.Contains(stderr, "--out: job a: its ports repeat themselves every 1.0") || !strings.Contains(stderr, "iterations of 2.1") {
		t.Errorf("exit %d: %s; %v", code, stderr, err)
	}
}

func TestWrongProfiles(t *testing.T) {
	const job = "profile: {compute: 1ms, bytes: 100kB}"
	dir := runFolder(t, profiledPair(t, job, job))
	short := workloadFile(t, "short.yaml", "schema: 1\nname: short\ntopology: {dumbbell: {left: 1, right: 1, rate: 10Gbps, delay: 1us}}\ntelemetry: {interval: 10us}\njobs: [{name: a, steps: 2, profile: {compute: 1ms, bytes: 100kB}}]\n")
	plain := workloadFile(t, "plain.yaml", "schema: 1\nname: plain\ntopology: {dumbbell: {left: 1, right: 1, rate: 10Gbps, delay: 1us}}\nworkload: {transfers: [0 -> 1 1MB]}\n")
	empty := t.TempDir()
	taken := filepath.Join(empty, "folder.json")
	if err := os.Mkdir(taken, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{filepath.Join(empty, "nothing")}, "nothing: no such file"},
		{[]string{empty}, "it has no manifest.json"},
		{[]string{dir}, "add --variant with one of: a b both"},
		{[]string{dir, "--variant", "boht"}, `unknown variant "boht" (did you mean "both"?)`},
		{[]string{dir, "--variant", "a", "--job", "b"}, `variant a has no job "b"`},
		{[]string{dir, "--variant", "a", "--seed", "7"}, "there is no run of variant a with seed 7"},
		{[]string{dir, "--variant", "a", "--port", "h9-s0"}, `no profile: there is no port "h9-s0"`},
		{[]string{dir, "--variant", "a", "--port", "h1-s0"}, "port h1-s0: no profile: nothing was sent"},
		{[]string{dir, "--variant", "a", "--port", "h0-s0", "--job", "a"}, "--job and --port exclude each other"},
		{[]string{dir, "--variant", "a", "--port", ""}, "--port: a name is empty"},
		{[]string{dir, "--variant", "a", "--job", "a,"}, "--job: a name is empty"},
		{[]string{runFolder(t, short)}, "job a: no profile: the series has fewer than three periods: bursts in it: 2"},
		{[]string{runFolder(t, plain)}, "has no jobs; --port says whose records to look at"},
	} {
		code, stdout, stderr := csiglab(&fakeLab{}, nil, append([]string{"jobs", "profile"}, c.args...)...)
		if code != 2 || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit %d: %s%s, want 2 and %s", c.args, code, stdout, stderr, c.want)
		}
	}
	if code, _, stderr := csiglab(&fakeLab{}, nil, "jobs", "profil"); code != 2 || !strings.Contains(stderr, `did you mean "profile"?`) {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
