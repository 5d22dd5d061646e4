package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/compare/results"
	"github.com/csiglab/csiglab/orchestrator/compare/sweep"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
)

// pointsText is an experiment with a sweep of short runs: two points, each with a variant
// whose expectation fails at one of them.
const pointsText = `
schema: 1
name: points
topology: {dragonfly: {p: 1, a: 1, h: 1, rate: 100Gbps, delay: 1us}}
workload: {transfers: [0 -> 1 SIZE, 1 -> 0 SIZE]}
seeds: 1..2
sweep: {grid: {links.mtu: [1500B, 4kB]}}
`

func pointsFile(t *testing.T, size, rest string) string {
	t.Helper()
	return write(t, "points.yaml", strings.ReplaceAll(pointsText, "SIZE", size)+rest)
}

// separately runs csiglab and returns its exit code, its results and its messages.
func separately(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(builtPrograms(t), "csiglab"), args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// tableRows returns the rows of the table of a sweep in short.
func tableRows(t *testing.T, folder string) (list []string) {
	t.Helper()
	table, err := results.Open(filepath.Join(folder, results.File))
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	for row, err := range table.Rows() {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%d %v %s %d %s %v", row.Point, row.Set, row.Variant, row.Seed, row.Outcome, len(row.Metrics) > 0 && len(row.TraceHash) == 64))
	}
	return list
}

// A sweep runs all its trials, prints the medians of each point, and gives the table and the
// exit code that its trials deserve; run and validate know of its points.
func TestSweepCommand(t *testing.T) {
	file := pointsFile(t, "100kB", "expect: ['run[\"fct_us.max\"] < 15']\n") // holds at one of the two points
	dir := filepath.Join(t.TempDir(), "sweep")
	code, out, said := separately(t, "sweep", file, "--out", dir, "--parallel", "2", "--keep")
	if code != command.ExitFailed && code != command.ExitOK || !strings.Contains(said, "points: 2 points x 1 variant x 2 seeds: 4 trials\n") {
		t.Fatalf("exit code %d\n%s%s", code, out, said)
	}
	for _, want := range []string{"point  links.mtu  seeds  fct_us.mean", "\n0      1500B      2 ", "\n1      4kB        2 ", "results " + dir + "/results.parquet\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	rows := tableRows(t, dir)
	failed := 0
	for i, row := range rows {
		want := fmt.Sprintf("%d [%s] run %d ", i/2, []string{"1500B", "4kB"}[i/2], i%2+1)
		if !strings.HasPrefix(row, want+"pass true") && !strings.HasPrefix(row, want+"fail true") {
			t.Errorf("row %q, want %q", row, want)
		}
		failed += strings.Count(row, " fail ")
	}
	if len(rows) != 4 || (failed > 0) != (code == command.ExitFailed) {
		t.Errorf("exit code %d with %q", code, rows)
	}
	kept, err := filepath.Glob(filepath.Join(dir, "runs", "run-seed*", runfolder.ManifestFile))
	if err != nil || len(kept) != 4 {
		t.Errorf("kept: %q, %v", kept, err)
	}
	if reports, _ := filepath.Glob(filepath.Join(dir, "runs", "*", runfolder.ReportFile)); len(reports) > 0 {
		t.Errorf("trials write reports: %q", reports)
	}
	if got, want := names(t, dir), []string{"results.parquet", "runs", "sweep.json", "trials.jsonl"}; !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
	// Again, as a queue does that starts a job anew: nothing runs, and the results are the same.
	again, out2, said := separately(t, "sweep", file, "--out", dir)
	if again != code || out2 != out || !strings.Contains(said, "4 trials; 4 have ended already") {
		t.Errorf("again: exit code %d\n%s%s", again, out2, said)
	}
	code, out, _ = separately(t, "sweep", "--resume", dir, "--json", "--metric", "fct_us.*")
	var sum sweep.Summary
	if err := json.Unmarshal([]byte(out), &sum); err != nil || code != again || sum.Done != 4 || len(sum.Points) != 2 || sum.Points[1].Metrics["fct_us.mean"] <= 0 || strings.Count(out, "\n") != 1 {
		t.Errorf("--json: exit code %d, %v\n%s", code, err, out)
	}
	if code, out, _ := separately(t, "validate", file); code != command.ExitOK || !strings.Contains(out, "a sweep of 2 points, all valid: 4 trials; csiglab sweep runs them\n") {
		t.Errorf("validate: exit code %d\n%s", code, out)
	}
	code, _, said = separately(t, "run", file, "--no-report", "--out", filepath.Join(t.TempDir(), "run"))
	if code > command.ExitFailed || !strings.Contains(said, "note: points has a sweep of 2 points, which csiglab sweep runs; this is a run without it\n") {
		t.Errorf("run: exit code %d\n%s", code, said)
	}
}

// Two rivals in a cell of the atlas: the table has the metrics that it judges by, and the page
// says that its intervals are not corrected.
func TestAtlasCell(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "atlas")
	code, out, said := separately(t, "sweep", "atlas", "--at", "fabric=rail", "--at", "trouble=slow-link", "--at", "rate=400Gbps", "--at", "cc=nscc,poseidon", "--at", "lb=reps", "--seeds", "2", "--out", dir)
	if code != command.ExitOK || !strings.Contains(out, "iteration_us.mean.train") {
		t.Fatalf("exit code %d\n%s%s", code, out, said)
	}
	table, err := results.Open(filepath.Join(dir, results.File))
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	for row, err := range table.Rows() {
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"iteration_us.mean.train", "message_us.p99.train", "fct_us.p99.victim", "worst_queue_kb"} {
			if row.Metrics[name] <= 0 {
				t.Errorf("point %v, seed %d: %s is %v", row.Set, row.Seed, name, row.Metrics[name])
			}
		}
		if _, has := row.Metrics["trims"]; has {
			t.Error("the table has a metric that nothing is judged by")
		}
	}
	if code, out, said := separately(t, "report", dir, "--markdown"); code != command.ExitOK || !strings.Contains(out, "not corrected for the number of comparisons, which is 6 ") || !strings.Contains(out, "| rail | slow-link | ") {
		t.Errorf("report: exit code %d\n%s%s", code, out, said)
	}
}

// Shards that are merged give the table of the whole sweep, to the byte.
func TestSweepShards(t *testing.T) {
	file := pointsFile(t, "10kB", "")
	at := func(name string) string { return filepath.Join(filepath.Dir(file), name) }
	for i := 1; i <= 3; i++ {
		if code, out, said := separately(t, "sweep", file, "--shard", fmt.Sprintf("%d/3", i), "--out", at(fmt.Sprint("shard", i))); code != command.ExitOK {
			t.Fatalf("shard %d: exit code %d\n%s%s", i, code, out, said)
		}
	}
	code, _, said := separately(t, "sweep", "--merge", at("shard1"), at("shard3"), "--out", at("part"))
	if code != command.ExitInfrastructure || !strings.Contains(said, at("part")+" is incomplete: 1 of 4 trials are missing; csiglab sweep --resume "+at("part")+" does them") {
		t.Errorf("without a shard: exit code %d\n%s", code, said)
	}
	for _, args := range [][]string{{"--resume", at("part")}, {"--merge", at("shard1"), at("shard2"), at("shard3"), "--out", at("whole")}, {file, "--out", at("once")}} {
		if code, out, said := separately(t, append([]string{"sweep"}, args...)...); code != command.ExitOK {
			t.Fatalf("%q: exit code %d\n%s%s", args, code, out, said)
		}
	}
	want, err := os.ReadFile(filepath.Join(at("once"), results.File))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"part", "whole"} {
		if got, err := os.ReadFile(filepath.Join(at(name), results.File)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: another table, or %v", name, err)
		}
	}
}

// Wrong input has a message and exit code 2, and starts and leaves nothing.
func TestSweepRefuses(t *testing.T) {
	file := pointsFile(t, "10kB", "")
	dir := filepath.Dir(file)
	list := filepath.Join(dir, "list.csv")
	if err := os.WriteFile(list, []byte("links.mtuu\n1kB\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, c := range []struct {
		args string
		env  []string
		want string
	}{
		{args: "", want: "name an experiment; embedded: "},
		{args: "points.yaml points.yaml", want: "want an experiment, got 2"},
		{args: "absent.yaml", want: "absent.yaml: no such file"},
		{args: "points.yaml --grid links.mtu", want: "--grid links.mtu: want path=value,value"},
		{args: "points.yaml --grid links.mtu=1500B,4kb", want: `point 1 (links.mtu=4kb): --grid links.mtu=1500B,4kb: links.mtu: size "4kb": unknown unit "kb"`},
		{args: "points.yaml --grid link.mtu=1500B", want: `(did you mean "links.mtu"?)`},
		{args: "points.yaml --grid links.mtu=1kB --grid links.mtu=2kB", want: "the grid has the path twice"},
		{args: "points.yaml --grid links.mtu=1kB --set links.mtu=2kB", want: "--set links.mtu=2kB and the points give the same value; want one of them"},
		{args: "points.yaml --set links.mtuu=2kB", want: `unknown key "mtuu" (did you mean "mtu"?)`},
		{args: "points.yaml --list list.csv", want: `point 0 (links.mtuu=1kB): list.csv:2:1: links.mtuu: unknown key "mtuu" (did you mean "mtu"?)`},
		{args: "points.yaml --list absent.csv", want: "--list absent.csv: no such file or directory"},
		{args: "points.yaml --list points.txt", want: "want a file that ends in .csv, .yaml or .yml"},
		{args: "points.yaml --seeds 0", want: "--seeds 0: want at least 1"},
		{args: "points.yaml --parallel 0", want: "--parallel 0: want at least 1"},
		{args: "points.yaml --metric fct_us.p99 --metric fct_uss.*", want: `--metric: no run has a metric "fct_uss.*" (did you mean "fct_us.*"?)`},
		{args: "points.yaml --metric fct_us.p99,trims", want: "give --metric once for each pattern"},
		{args: "points.yaml --variant rum", want: `(did you mean "run"?)`},
		{args: "points.yaml --shard 0/4", want: `--shard "0/4": want I/N, from 1/N to N/N`},
		{args: "points.yaml --shard 5/4", want: `--shard "5/4": want I/N`},
		{args: "points.yaml --shard 2", want: `--shard "2": want I/N`},
		{args: "points.yaml --shard 1/99", want: "--shard 1/99: the sweep has only 4 trials"},
		{args: "points.yaml --set runtime=netns --set clock=wall --parallel 2", want: "--parallel 2: runs in real time (clock wall) disturb each other; want 1"},
		{args: "points.yaml --gird a=b", want: `(did you mean "--grid"?)`},
		{args: "points.yaml", env: []string{"CSIGLAB_LINKS_MTU=9kB"}, want: "environment variable CSIGLAB_LINKS_MTU: a sweep is given by its files and flags alone"},
		{args: "points.yaml --out .", want: ".: the folder is not empty; name another one"},
		{args: "points.yaml --out /proc/x", want: "/proc/x: no such file or directory; choose another folder with --out"},
		{args: "points.yaml --out points.yaml", want: "not a directory; choose another folder with --out"},
		{args: "points.yaml --grid description=" + strings.Repeat("x", 10000) + " --grid links.mtu=1", want: "x…, links.mtu=1): --grid links.mtu=1: links.mtu: "},
		{args: "--resume .", want: ".: this is not the folder of a sweep: it has no sweep.json"},
		{args: "--resume absent", want: "absent: this is not the folder of a sweep"},
		{args: "--resume=", want: "--resume: name the folder of a sweep"},
		{args: "--resume . points.yaml", want: `experiment "points.yaml" and --resume . exclude each other`},
		{args: "--resume . --seeds 3", want: "--seeds and --resume . exclude each other"},
		{args: "--resume . --merge", want: "--resume and --merge exclude each other"},
		{args: "--merge --out x", want: "--merge: name the folders of the shards"},
		{args: "--merge a", want: "--merge: name the folder of the whole sweep with --out"},
		{args: "--merge a --out x", want: "a: this is not the folder of a sweep"},
		{args: "--merge a --out x --seeds 2", want: "--seeds and --merge exclude each other"},
	} {
		f := &fakeLab{}
		code, out, said := csiglab(f, c.env, append([]string{"sweep"}, strings.Fields(c.args)...)...)
		if code != command.ExitUsage || out != "" || !strings.Contains(said, c.want) {
			t.Errorf("sweep %s: exit code %d, %q; want 2 and %q", c.args, code, said, c.want)
		}
	}
	if got, want := names(t, dir), []string{"list.csv", "points.yaml"}; !slices.Equal(got, want) {
		t.Errorf("left: %q", got)
	}
}

// Ctrl-C, and kill -9 of the sweep, keep the trials that have ended and leave no process and
// no run folder; --resume does the rest, with the table of a sweep that nobody disturbed.
func TestInterruptedSweep(t *testing.T) {
	checkout.SkipSlowRace(t)
	file := pointsFile(t, "8MB", "")
	at := func(name string) string { return filepath.Join(filepath.Dir(file), name) }
	args := []string{"sweep", file, "--seeds", "4", "--parallel", "2", "--out"}
	if code, out, said := separately(t, append(args, at("whole"))...); code != command.ExitOK {
		t.Fatalf("exit code %d\n%s%s", code, out, said)
	}
	want, err := os.ReadFile(filepath.Join(at("whole"), results.File))
	if err != nil {
		t.Fatal(err)
	}
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		dir := at(fmt.Sprint("cut", int(signal)))
		cmd := exec.Command(filepath.Join(builtPrograms(t), "csiglab"), append(args, dir)...)
		var said bytes.Buffer
		cmd.Stderr = &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		children := awaitTrials(t, cmd.Process.Pid, dir, 2)
		cmd.Process.Signal(signal)
		cmd.Wait() //nolint:errcheck // the exit code is checked
		for _, pid := range children {
			ended(t, pid)
		}
		journal, err := os.ReadFile(filepath.Join(dir, "trials.jsonl"))
		if err != nil || bytes.Count(journal, []byte(`"trial":`)) < 2 {
			t.Errorf("%v: the journal: %v\n%.300s", signal, err, journal)
		}
		if _, err := os.Stat(filepath.Join(dir, results.File)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v: an incomplete sweep has a table: %v", signal, err)
		}
		if signal == syscall.SIGINT {
			if code := cmd.ProcessState.ExitCode(); code != command.ExitInfrastructure || !strings.Contains(said.String(), "csiglab: interrupted\nthe sweep is incomplete: ") ||
				!strings.Contains(said.String(), " of 8 trials have ended and are kept in "+dir+"; csiglab sweep --resume "+dir+" does the rest") {
				t.Errorf("exit code %d\n%s", code, &said)
			}
			if got, want := names(t, dir), []string{"sweep.json", "trials.jsonl"}; !slices.Equal(got, want) {
				t.Errorf("files %q, want %q", got, want)
			}
		}
		// What has ended can be read.
		if code, out, text := separately(t, "report", dir, "--csv"); code != command.ExitOK || strings.Count(out, "\n") != bytes.Count(journal, []byte(`"trial":`))+1 || strings.Contains(out, ".0-1,") {
			t.Errorf("%v: report: exit code %d\n%s%s", signal, code, out, text)
		}
		code, out, text := separately(t, "sweep", "--resume", dir)
		if code != command.ExitOK || !strings.Contains(text, " have ended already") {
			t.Fatalf("%v: resume: exit code %d\n%s%s", signal, code, out, text)
		}
		if got, err := os.ReadFile(filepath.Join(dir, results.File)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%v: another table, or %v", signal, err)
		}
		if got, want := names(t, dir), []string{"results.parquet", "sweep.json", "trials.jsonl"}; !slices.Equal(got, want) {
			t.Errorf("%v: files %q, want %q", signal, got, want)
		}
	}
}

// A run that is killed runs again in a process of its own, so that it is not blamed for what ran
// before in the same process. If it is killed there, it is an invalid row with its reason; the
// others are kept, and the exit code is 3.
func TestKilledTrial(t *testing.T) {
	file := pointsFile(t, "8MB", "")
	dir := filepath.Join(filepath.Dir(file), "sweep")
	cmd := exec.Command(filepath.Join(builtPrograms(t), "csiglab"), "sweep", file, "--parallel", "1", "--out", dir)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, performs := range []string{trial.TurnsCommand, "run"} {
		child := awaitProcesses(t, cmd.Process.Pid, dir, 1, performs)[0]
		if err := syscall.Kill(child, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	cmd.Wait() //nolint:errcheck // the exit code is checked
	if code := cmd.ProcessState.ExitCode(); code != command.ExitInfrastructure || !strings.Contains(out.String(), "INVALID: 1 trial of 4; their rows have no numbers.\n") ||
		!strings.Contains(out.String(), "csiglab was killed (SIGKILL)") {
		t.Errorf("exit code %d\n%s%s", code, &out, &said)
	}
	if rows := strings.Join(tableRows(t, dir), "\n"); strings.Count(rows, " invalid false") != 1 || strings.Count(rows, " pass true") != 3 {
		t.Errorf("rows\n%s", rows)
	}
}

// awaitTrials waits until a sweep has so many ended trials, and others under way, and returns the
// processes of those under way.
func awaitTrials(t *testing.T, pid int, dir string, done int) []int {
	t.Helper()
	return awaitProcesses(t, pid, dir, done, trial.TurnsCommand)
}

// awaitProcesses is awaitTrials of processes that perform a command.
func awaitProcesses(t *testing.T, pid int, dir string, done int, performs string) []int {
	t.Helper()
	for until := time.Now().Add(limit); time.Now().Before(until); time.Sleep(time.Millisecond) {
		journal, _ := os.ReadFile(filepath.Join(dir, "trials.jsonl"))
		if bytes.Count(journal, []byte(`"trial":`)) < done {
			continue
		}
		var children []int
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
		for _, task := range tasks {
			more, _ := os.ReadFile(task)
			text = append(append(text, ' '), more...)
		}
		for _, word := range strings.Fields(string(text)) {
			var child int
			fmt.Sscan(word, &child) //nolint:errcheck // a number
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child))
			if strings.HasPrefix(string(line), "csiglab\x00"+performs+"\x00") && !slices.Contains(children, child) {
				children = append(children, child)
			}
		}
		if len(children) > 0 {
			return children
		}
		if !exists(t, pid) {
			t.Fatal("the sweep has ended")
		}
	}
	t.Fatalf("no %d trials in %s", done, dir)
	return nil
}

// A disk that is full ends a sweep with exit code 3; with more room, --resume does the rest.
func TestSweepOnAFullDisk(t *testing.T) {
	if !alone(t) {
		return
	}
	file := pointsFile(t, "10kB", "")
	whole := filepath.Join(filepath.Dir(file), "whole")
	if code, out, said := separately(t, "sweep", file, "--parallel", "1", "--out", whole); code != command.ExitOK {
		t.Fatalf("exit code %d\n%s%s", code, out, said)
	}
	resumed := 0
	for _, pages := range []int{1, 2, 3} {
		disk := smallDisk(t, pages*page)
		dir := filepath.Join(disk, "sweep")
		code, _, said := separately(t, "sweep", file, "--parallel", "1", "--out", dir)
		if code != command.ExitInfrastructure || !strings.Contains(said, "no space left on device") {
			t.Errorf("%d pages: exit code %d\n%s", pages, code, said)
		}
		if err := unix.Mount("disk", disk, "tmpfs", unix.MS_REMOUNT, "size=64m"); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(said, "csiglab sweep --resume "+dir+" does the rest") {
			continue
		}
		resumed++
		if code, out, said := separately(t, "sweep", "--resume", dir); code != command.ExitOK {
			t.Errorf("%d pages: resume: exit code %d\n%s%s", pages, code, out, said)
		}
		want, err1 := os.ReadFile(filepath.Join(whole, results.File))
		got, err2 := os.ReadFile(filepath.Join(dir, results.File))
		if err1 != nil || err2 != nil || !bytes.Equal(got, want) {
			t.Errorf("%d pages: another table, %v, %v", pages, err1, err2)
		}
	}
	if resumed == 0 {
		t.Error("no sweep could be resumed")
	}
}
