package trial

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// playEnv makes this test's program a csiglab that does what the variable says.
const playEnv = "TEST_TRIAL_PLAY"

func TestMain(m *testing.M) {
	switch play := os.Getenv(playEnv); {
	case play != "" && os.Args[1] == TurnsCommand:
		Turns(os.Stdin, os.Stdout, func(args []string, stdout io.Writer) int { return playCsiglab(play, args, stdout) })
		os.Exit(0)
	case play != "":
		os.Exit(playCsiglab(play, os.Args[1:], os.Stdout))
	}
	os.Exit(m.Run())
}

// option returns the value of --NAME VALUE or --NAME=VALUE.
func option(args []string, name string) string {
	for i, arg := range args {
		if arg == "--"+name && i+1 < len(args) {
			return args[i+1]
		}
		if value, ok := strings.CutPrefix(arg, "--"+name+"="); ok {
			return value
		}
	}
	return ""
}

func playCsiglab(play string, args []string, stdout io.Writer) int {
	seed, _ := strconv.ParseUint(option(args, "seed"), 10, 64)
	run := runfolder.RunSummary{Seed: seed, TraceHash: fmt.Sprintf("%064x", seed), Metrics: map[string]float64{"fct_us.p99": float64(100 * seed)}}
	s := runfolder.Summary{
		Schema: runfolder.SummarySchema, Name: "x", Valid: true,
		Variants: map[string]runfolder.VariantSummary{option(args, "variant"): {Runs: []runfolder.RunSummary{run}}},
	}
	code := 0
	switch play {
	case "process":
		run.Metrics["process"] = float64(os.Getpid())
	case "seed 3 ends":
		if seed == 3 {
			return 17
		}
	case "seed 3 panics":
		if seed == 3 {
			panic("at the disco")
		}
	case "second of a process":
		if option(args, "out") == "" && seed > 1 {
			os.Exit(0)
		}
	case "chatters":
		fmt.Print("3 4 5\n")
	case "old":
		fmt.Fprintln(os.Stderr, "csiglab: unknown flag: --"+NoReportFlag)
		return 2
	case "fails":
		code = 1
	case "invalid":
		s.Valid, s.Reasons, code = false, []string{"variant a, seed 1: conservation: 3 packets are missing"}, 3
		run.Failed = []string{"conservation"}
		s.Variants[option(args, "variant")].Runs[0] = run
	case "mistake":
		fmt.Fprintln(os.Stderr, "note: something\ncsiglab: x.yaml:3:5: links.mtu: 12 is too small")
		return 2
	case "breaks":
		fmt.Fprintln(os.Stderr, "csiglab: node h3 died\nthe run is incomplete: no run has finished; what it left is in x; csiglab run --resume x does the rest")
		return 3
	case "panics":
		panic("at the disco")
	case "strange exit":
		return 17
	case "no text":
		fmt.Fprintln(stdout, "{")
		return 0
	case "other seed":
		run.Seed++
		s.Variants = map[string]runfolder.VariantSummary{option(args, "variant"): {Runs: []runfolder.RunSummary{run}}}
	case "other variant":
		s.Variants = map[string]runfolder.VariantSummary{"b": {Runs: []runfolder.RunSummary{run}}}
	case "flood":
		block := []byte(strings.Repeat("x", 1<<20))
		for range maxOutput>>20 + 1 {
			stdout.Write(block)
		}
		return 0
	case "full":
		fmt.Fprintln(os.Stderr, "csiglab: run folder x: no space left on device; make room, or choose another disk with --out")
		return 3
	case "killed":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "leaves a child":
		child := exec.Command("sleep", "1000")
		child.Stdout = os.Stdout
		if err := child.Start(); err != nil {
			return 9
		}
		os.WriteFile(os.Getenv("TEST_TRIAL_NOTE"), []byte(strconv.Itoa(child.Process.Pid)), 0o600)
	case "waits":
		os.WriteFile(os.Getenv("TEST_TRIAL_NOTE"), []byte(strconv.Itoa(os.Getpid())), 0o600)
		time.Sleep(time.Minute)
	case "tells":
		s.Reasons = args
		for _, pair := range os.Environ() {
			if strings.HasPrefix(pair, "CSIGLAB_") {
				s.Reasons = append(s.Reasons, pair)
			}
		}
		s.Reasons = append(s.Reasons, filepath.Dir(args[slices.Index(args, "--out")+1]))
		s.Reasons = []string{strings.Join(s.Reasons, "\x1f")}
		s.Valid, code = false, 3
	}
	if out := option(args, "out"); out != "" {
		os.WriteFile(filepath.Join(out, "manifest.json"), []byte("{}"), 0o600)
	}
	json.NewEncoder(stdout).Encode(s)
	return code
}

// player returns a runner whose programs do what play says.
func player(t testing.TB, play string) *Local {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &Local{Folder: filepath.Join(t.TempDir(), "work"), Program: self, Environment: append(os.Environ(), playEnv+"="+play)}
}

// Trials of equal keys are interchangeable: the key has all that decides about numbers, and
// not where the program and the experiment are.
func TestKey(t *testing.T) {
	base := Trial{Program: "p", Identity: "i", Experiment: "e", Content: "c", Set: []string{"a=1"}, Variant: "v", Seed: 1, Flags: []string{"--x"}, Repeat: 1}
	moved := base
	moved.Program, moved.Experiment = "elsewhere", "elsewhere.yaml"
	if base.Key() != moved.Key() || base.Name() != moved.Name() {
		t.Error("the places of the program and the experiment change the key")
	}
	names := map[string]bool{base.Name(): true}
	for what, change := range map[string]func(*Trial){
		"identity": func(x *Trial) { x.Identity = "j" }, "content": func(x *Trial) { x.Content = "d" },
		"set": func(x *Trial) { x.Set = []string{"a=2"} }, "sets": func(x *Trial) { x.Set = nil }, "variant": func(x *Trial) { x.Variant = "w" },
		"seed": func(x *Trial) { x.Seed = 2 }, "flags": func(x *Trial) { x.Flags = nil }, "repeat": func(x *Trial) { x.Repeat = 2 },
		"experiment without content": func(x *Trial) { x.Content = "" }, "another experiment without content": func(x *Trial) { x.Content, x.Experiment = "", "f" },
	} {
		other := base
		change(&other)
		if base.Key() == other.Key() || names[other.Name()] {
			t.Errorf("%s: the same key or name", what)
		}
		names[other.Name()] = true
	}
	if name := (Trial{Variant: "../../x\n"}).Name(); strings.ContainsAny(name, "/.\n") {
		t.Errorf("name %q", name)
	}
}
