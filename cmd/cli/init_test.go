package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/experiment"
)

// TestInit holds that the experiment that init writes can be checked and run at once, in
// seconds, that its expectations hold, and that comments explain each of its parts.
func TestInit(t *testing.T) {
	checkout.SkipSlowRace(t)
	t.Chdir(t.TempDir())
	code, stdout, stderr := csiglab(&fakeLab{}, nil, "init", "mine")
	if want := "wrote  mine.yaml\nnext   csiglab validate mine.yaml\n       csiglab run mine.yaml\n"; code != command.ExitOK || stdout != want || stderr != "" {
		t.Fatalf("init: exit %d, %q, %s; want %q", code, stdout, stderr, want)
	}
	call := func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if code := execute(context.Background(), command.Linked{}, newWork(command.Linked{}), args, nil, &out, &errs); code != command.ExitOK {
			t.Fatalf("%q: exit %d, %s%s", args, code, out.String(), errs.String())
		}
		return out.String()
	}
	if text := call("validate", "mine.yaml"); !strings.HasPrefix(text, "mine is valid: 2 variants x 3 seeds; ") || strings.Contains(text, "share theirs") {
		t.Errorf("validate: got %s", text)
	}
	began := cpuOf(t, os.Getpid()) // the machine may have other work
	var summary runfolder.Summary
	if err := json.Unmarshal([]byte(call("run", "mine.yaml", "--json", "--out", "run")), &summary); err != nil {
		t.Fatal(err)
	}
	if took, most := cpuOf(t, os.Getpid())-began, 10*time.Second; took > most {
		t.Errorf("run: took %v of CPU, want %v at most", took, most)
	}
	if len(summary.Expectations) != 3 || !summary.Valid {
		t.Errorf("summary: got %+v, want three expectations of a valid run", summary)
	}
	// One variant alone: what is expected of both is skipped with a note, and does not fail.
	var out, errs bytes.Buffer
	code = execute(context.Background(), command.Linked{}, newWork(command.Linked{}), []string{"run", "mine.yaml", "--variant", "csig", "--seed", "77", "--out", "one"}, nil, &out, &errs)
	if want := "note: skipped: expect[0], csig.unfairness < plain.unfairness, because variant plain does not run\n"; code != command.ExitOK || !strings.Contains(errs.String(), want) || strings.Contains(out.String(), "FAILED") {
		t.Errorf("run of one variant: exit %d, %s%s; want %s", code, out.String(), errs.String(), want)
	}
	resolved, err := os.ReadFile("one/experiment.yaml")
	if err != nil || !strings.Contains(string(resolved), "\nseeds:\n  - 77\n") || strings.Contains(string(resolved), "plain") {
		t.Errorf("experiment.yaml: %v; want seed 77 and variant csig alone in\n%s", err, resolved)
	}
	if log, err := os.ReadFile("one/log.jsonl"); err != nil || !strings.Contains(string(log), "skipped: expect[0]") {
		t.Errorf("log.jsonl: %v; want the note in\n%s", err, log)
	}
	checkComments(t, "mine.yaml")
}

// TestInitJob holds that the training job that init writes is valid and runs, that its
// oversubscription is one line, and that comments explain each of its parts.
func TestInitJob(t *testing.T) {
	checkout.SkipSlowRace(t)
	t.Chdir(t.TempDir())
	code, stdout, stderr := csiglab(&fakeLab{}, nil, "init", "mine", "--job")
	if want := "wrote  mine.yaml\nnext   csiglab validate mine.yaml\n       csiglab run mine.yaml\n"; code != command.ExitOK || stdout != want || stderr != "" {
		t.Fatalf("init: exit %d, %q, %s; want %q", code, stdout, stderr, want)
	}
	var out, errs bytes.Buffer
	// A tenth of its scale, to be quick.
	args := []string{"run", "mine.yaml", "--seeds", "1", "--set", "jobs.0.model.scale=0.00005", "--set", "topology.rail.spine_rate=200Gbps", "--out", "run"}
	if code := execute(context.Background(), command.Linked{}, newWork(command.Linked{}), args, nil, &out, &errs); code != command.ExitOK {
		t.Fatalf("run: exit %d, %s%s", code, out.String(), errs.String())
	}
	checkComments(t, "mine.yaml")
}

// TestInitFrom holds that a copy of each experiment that is built in is valid under its new name,
// and finds the files that it reads.
func TestInitFrom(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, from := range experiment.Names() {
		name := "my-" + from
		code, stdout, stderr := csiglab(&fakeLab{}, nil, "init", name, "--from", from)
		if code != command.ExitOK || !strings.HasPrefix(stdout, "wrote  "+name+".yaml\n") || stderr != "" {
			t.Fatalf("%s: exit %d, %s%s", from, code, stdout, stderr)
		}
		set, err := experiment.Load(name+".yaml", experiment.Options{Tables: experiment.StandardTables()})
		if err != nil {
			t.Errorf("%s: %v", from, err)
		} else if set.Base.Name != name {
			t.Errorf("%s: the copy has the name %s, want %s", from, set.Base.Name, name)
		}
	}
	var out, errs bytes.Buffer
	if code := execute(context.Background(), command.Linked{}, newWork(command.Linked{}), []string{"validate", "my-chakra-ring.yaml"}, nil, &out, &errs); code != command.ExitOK {
		t.Errorf("validate: exit %d, %s%s", code, out.String(), errs.String())
	}
	for args, want := range map[string]string{
		"ring --from chakra-ring":     "chakra-ring/ring.0.et is there already and is not overwritten; choose another name, or remove it",
		"other --from traning-step":   `(did you mean "training-step"?)`,
		"other --from one --job":      "--job and --from exclude each other",
		"my-one --from training-step": "my-one.yaml is there already and is not overwritten",
	} {
		code, stdout, stderr := csiglab(&fakeLab{}, nil, append([]string{"init"}, strings.Fields(args)...)...)
		if code != command.ExitUsage || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit %d, %s%s; want %s", args, code, stdout, stderr, want)
		}
	}
	if _, err := os.Lstat("ring.yaml"); err == nil {
		t.Error("ring.yaml was written, although a file of it was there")
	}
}

// checkComments holds that comments explain each part of an experiment.
func checkComments(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "NAME") || !strings.Contains(string(text), "\nname: mine #") {
		t.Errorf("the file does not have its name:\n%s", text)
	}
	part := regexp.MustCompile(`(?m)^([a-z]+):`)
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		if m := part.FindStringSubmatch(line); m != nil && !strings.HasPrefix(lines[i-1], "#") && !strings.Contains(line, "#") && m[1] != "description" {
			t.Errorf("no comment explains %s", m[1])
		}
	}
}

func TestInitRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("taken.yaml", []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", "link.yaml"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"taken":      "taken.yaml is there already and is not overwritten; choose another name, or remove it",
		"link":       "link.yaml is there already and is not overwritten; choose another name, or remove it",
		"My Test":    `the name "My Test" is not up to 64 of a-z 0-9 and - (did you mean "my-test"?)`,
		"mine.yaml":  `the name "mine.yaml" is not up to 64 of a-z 0-9 and - (did you mean "mine"?)`,
		"../up":      `the name "../up" is not up to 64 of a-z 0-9 and - (did you mean "up"?)`,
		"":           `the name "" is not up to 64 of a-z 0-9 and -`,
		"three-flow": `"three-flow" is the name of an experiment that is built in; choose another`,
	} {
		code, stdout, stderr := csiglab(&fakeLab{}, nil, "init", name)
		if code != command.ExitUsage || stdout != "" || stderr != "csiglab: "+want+"\n" {
			t.Errorf("%q: exit %d, %s%s; want %s", name, code, stdout, stderr, want)
		}
	}
	if got, err := os.ReadFile("taken.yaml"); err != nil || string(got) != "mine" {
		t.Errorf("taken.yaml: got %q, %v", got, err)
	}
	if left, err := os.ReadDir("."); err != nil || len(left) != 2 {
		t.Errorf("files: got %v, %v; want the two that were there", left, err)
	}
}

// TestLibraryIsListed holds that list names every experiment that is built in.
func TestLibraryIsListed(t *testing.T) {
	_, stdout, _ := csiglab(&fakeLab{}, nil, "list", "experiments")
	for _, name := range experiment.Names() {
		if !strings.Contains(stdout, "\n  "+name+" ") {
			t.Errorf("%s is not in:\n%s", name, stdout)
		}
	}
}

// TestHelpShowsTheFirstSteps holds what a new user looks for in the help.
func TestHelpShowsTheFirstSteps(t *testing.T) {
	_, version, _ := csiglab(&fakeLab{}, nil, "version")
	if code, stdout, _ := csiglab(&fakeLab{}, nil, "--version"); code != command.ExitOK || stdout != version {
		t.Errorf("--version: exit %d, %q; want %q", code, stdout, version)
	}
	_, help, _ := csiglab(&fakeLab{}, nil, "--help")
	for _, want := range []string{"\n  completion ", "\n  init ", "\n  list ", "\n  doctor ", "--version "} {
		if !strings.Contains(help, want) {
			t.Errorf("%q is not in:\n%s", want, help)
		}
	}
}

// TestCommandsAreGrouped holds that each command has its place in the help.
func TestCommandsAreGrouped(t *testing.T) {
	_, help, _ := csiglab(&fakeLab{}, nil, "--help")
	if strings.Contains(help, "Additional Commands:") {
		t.Errorf("a command has no group, see groups.go:\n%s", help)
	}
	for _, g := range groups {
		if _, list, ok := strings.Cut(help, "\n"+g.title+"\n"); !ok || !strings.HasPrefix(list, "  ") {
			t.Errorf("%q: want it with its commands, in:\n%s", g.title, help)
		}
	}
}
