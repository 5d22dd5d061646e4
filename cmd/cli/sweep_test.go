package cli

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/checkout"
)

// The sweep does faults to csiglab at drawn moments, each to a process or an
// interface that is drawn too: kill -9 of any process that csiglab started, and other
// faults. Whatever is hit, no command waits for more than patience, none panics, and
// csiglab down and clean leave the machine as it was. docs/explanation/reliability.md says how to
// run all of it.
const (
	sweepEnv     = "TEST_SWEEP"      // kills,faults: how many points; such as 200,100
	sweepSeedEnv = "TEST_SWEEP_SEED" // default 1; the same seed draws the same points
	sweepOnlyEnv = "TEST_SWEEP_ONLY" // netns: no containers

	patience = 60 * time.Second
	serves   = time.Second
)

// scene is something that a user does with csiglab, as commands one after the other.
type scene struct {
	name     string
	engine   bool
	commands func(s *stage) [][]string
	takes    time.Duration // without a fault; measured once

	// Of scenes whose result is files:
	virtual bool     // of clock virtual: there are neither nodes nor interfaces
	outputs []string // patterns of path.Match
	resumes bool     // the folder says what is missing
	again   func(s *stage) [][]string
	files   map[string][]byte // without a fault
}

// stage is where a scene plays.
type stage struct {
	dir  string
	runs string // folder with the runs a and b
	name string // of the lab
}

func (s *stage) file() string { return filepath.Join(s.dir, "x.yaml") }

const sweepText = `
schema: 1
name: NAME
topology: {dragonfly: {p: 1, a: 1, h: 1, rate: 1Gbps, delay: 1ms}}
wall: {dilation: 10, budget: {lateness: 1000, displaced: 1, rate: 1}}
`

func runScene(name string, engine bool, flags ...string) *scene {
	return &scene{name: name, engine: engine, commands: func(s *stage) [][]string {
		return [][]string{append([]string{"run", s.file(), "--out", filepath.Join(s.dir, "run"), "--set", "workload.transfers=[0 -> 1 20MB]"}, flags...)}
	}}
}

func labScene(name, runtime string, engine bool) *scene {
	return &scene{name: name, engine: engine, commands: func(s *stage) [][]string {
		return [][]string{
			{"up", s.file(), "--runtime", runtime, "--out", filepath.Join(s.dir, "lab"), "--set", "applications={hosts: [0, 1]}"},
			{"exec", s.name, "h0", "sleep", "0.3"},
			{"exec", s.name, "h1", "env", "-i", "/bin/sh", "-c", "/bin/sleep 300 & /bin/sleep 0.2"},
			{"down", s.name},
		}
	}}
}

var scenes = []*scene{
	runScene("run netns lockstep", false, "--runtime", "netns", "--clock", "lockstep"),
	runScene("run netns one process", false, "--runtime", "netns", "--clock", "lockstep", "--processes", "one"),
	runScene("run netns in two parts", false, "--runtime", "netns", "--clock", "lockstep", "--shards", "2"),
	runScene("run netns wall", false, "--runtime", "netns", "--clock", "wall", "--set", "end=100ms"),
	labScene("lab netns", "netns", false),
	runScene("run containers lockstep", true, "--runtime", "containerlab", "--clock", "lockstep"),
	labScene("lab containers", "containerlab", true),
}

// faultSweep is a machine that the sweep plays on.
type faultSweep struct {
	*testing.T
	faults *faults
	random *rand.Rand
	scenes []*scene
	did    map[string]int

	runs, temporary string
}

func TestSweep(t *testing.T) {
	checkout.SkipLong(t)
	kills, others := 3, 2
	if os.Getenv("CSIGLAB_E2E") == "1" {
		kills, others = 10, 6
	}
	if text := os.Getenv(sweepEnv); text != "" {
		if n, err := fmt.Sscanf(text, "%d,%d", &kills, &others); n != 2 {
			t.Fatalf("%s=%s: %v; want kills,faults", sweepEnv, text, err)
		}
	}
	if !alone(t) {
		return
	}
	seed := uint64(1)
	if text := os.Getenv(sweepSeedEnv); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	_, err := exec.LookPath("dockerd")
	engine := err == nil && os.Getenv("CSIGLAB_E2E") == "1" && os.Getenv(sweepOnlyEnv) == ""
	s := &faultSweep{T: t, faults: newFaults(t, engine), random: rand.New(rand.NewPCG(seed, 0)), did: map[string]int{}}
	s.prepareFiles()
	for _, scene := range slices.Concat(scenes, fileScenes) {
		if scene.engine && !engine {
			continue
		}
		s.scenes = append(s.scenes, scene)
		s.rehearse(scene)
	}
	for i := range kills {
		s.point(fmt.Sprintf("seed %d kill %d", seed, i), killed)
	}
	list := slices.DeleteFunc(slices.Clone(otherFaults), func(f fault) bool { return f.engine && !engine })
	for i := range others {
		s.point(fmt.Sprintf("seed %d fault %d", seed, i), list[s.random.IntN(len(list))])
	}
	for _, what := range slices.Sorted(maps.Keys(s.did)) {
		t.Logf("%4d %s", s.did[what], what)
	}
}

// rehearse plays a scene without a fault, to see that it works and how long it takes.
func (s *faultSweep) rehearse(scene *scene) {
	s.Helper()
	began := time.Now()
	at, results := s.play(scene, nil)
	for _, result := range results {
		if result.code != 0 {
			s.Fatalf("%s: csiglab %q: exit %d\n%s", scene.name, result.args, result.code, result.said)
		}
	}
	scene.takes = time.Since(began)
	if scene.again != nil {
		scene.files = contents(s.T, at.dir)
		for _, pattern := range scene.outputs {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(scene.files)), func(name string) bool { ok, _ := path.Match(pattern, name); return ok }) {
				s.Fatalf("%s: no %s", scene.name, pattern)
			}
		}
	}
	s.nothingLeft()
	s.Logf("%s takes %v", scene.name, scene.takes.Round(10*time.Millisecond))
}

// result is how a command ended.
type result struct {
	args []string
	code int
	said string
}

// play plays a scene, and meanwhile does something to it.
func (s *faultSweep) play(scene *scene, meanwhile func()) (at *stage, results []result) {
	s.Helper()
	at = &stage{dir: s.TempDir(), runs: s.runs, name: "sweep"}
	files := map[string]string{"x.yaml": strings.Replace(sweepText, "NAME", at.name, 1)}
	if scene.again != nil {
		files = map[string]string{"x.yaml": filesText, "suite.yaml": filesSuite}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(at.dir, name), []byte(text), 0o600); err != nil {
			s.Fatal(err)
		}
	}
	var doing sync.WaitGroup
	if meanwhile != nil {
		doing.Go(meanwhile)
	}
	for _, args := range scene.commands(at) {
		results = append(results, s.command(args...))
	}
	doing.Wait()
	return at, results
}

// nothingLeft checks that the machine is as it was, the folder for temporary files too.
func (s *faultSweep) nothingLeft() {
	s.Helper()
	s.faults.nothingLeft(s.T)
	left, err := os.ReadDir(s.temporary)
	if err != nil || len(left) > 0 {
		s.Errorf("temporary files are left: %v, %v", left, err)
	}
	for _, entry := range left { // so that the next point does not fail for this one
		os.RemoveAll(filepath.Join(s.temporary, entry.Name()))
	}
}

// command runs a command of csiglab within the patience of a user.
func (s *faultSweep) command(args ...string) result {
	s.Helper()
	p := csiglabProcess(args...)
	p.cmd.Stdin = nil
	p.cmd.Env = append(os.Environ(), "TMPDIR="+s.temporary)
	began := time.Now()
	if args[0] == "serve" { // until Ctrl-C
		defer time.AfterFunc(serves, func() {
			<-p.started
			p.cmd.Process.Signal(syscall.SIGINT)
		}).Stop()
	}
	code, said := p.run(s.T)
	if took := time.Since(began); took > patience {
		s.Errorf("csiglab %q took %v", args, took.Round(time.Second))
	}
	if strings.Contains(said, "goroutine ") {
		s.Errorf("csiglab %q panicked:\n%s", args, said)
	}
	return result{args, code, said}
}

// fault is something that happens to csiglab.
type fault struct {
	name   string
	engine bool // in scenes with an engine alone
	nodes  bool // in scenes with nodes alone
	// do returns what it was done to; "" if there was nothing to do it to.
	do func(s *faultSweep) (to string)
}

// point does one fault at a drawn moment of a drawn scene, and then wants the machine
// back as it was.
func (s *faultSweep) point(name string, f fault) {
	scenes := slices.DeleteFunc(slices.Clone(s.scenes), func(scene *scene) bool { return f.engine && !scene.engine || f.nodes && scene.virtual })
	scene := scenes[s.random.IntN(len(scenes))]
	wait := time.Duration(s.random.Float64() * 1.05 * float64(scene.takes))
	// What a fault is done to is drawn from what is found: it must not change the
	// points to come.
	of := rand.New(rand.NewPCG(s.random.Uint64(), 1))
	s.Run(name, func(t *testing.T) {
		one := *s
		one.T, one.random = t, of
		one.hit(scene, wait, f)
	})
	s.did[scene.name+": "+f.name]++
}

func (s *faultSweep) hit(scene *scene, wait time.Duration, f fault) {
	to, began := "", time.Now()
	at, results := s.play(scene, func() {
		time.Sleep(wait)
		to = f.do(s)
	})
	if to == "" {
		to = "nothing: it was over"
	}
	results = append(results, s.command("down", "--all"))
	for range 2 {
		r := s.command("clean")
		results = append(results, r)
		if r.code != command.ExitOK {
			s.Errorf("clean: exit %d", r.code)
		}
	}
	s.nothingLeft()
	s.whole(scene, at)
	s.Logf("%s, %v after the start of %s, to %s; %v in all", f.name, wait.Round(time.Millisecond), scene.name, to, time.Since(began).Round(time.Millisecond))
	if !s.Failed() {
		return
	}
	for _, r := range results {
		s.Logf("csiglab %q: exit %d\n%s", r.args, r.code, r.said)
	}
	for _, p := range s.processes() { // so that the next point does not fail for this one
		syscall.Kill(p.pid, syscall.SIGKILL)
	}
	s.command("clean")
	s.faults.look(s.T)
}

// killed is kill -9 of any process that csiglab started.
var killed = fault{"kill -9", false, false, func(s *faultSweep) string {
	return s.signal(syscall.SIGKILL, func(string) bool { return true })
}}

// otherFaults are the faults besides kill -9 of anything.
var otherFaults = []fault{
	{"a node is killed", false, true, func(s *faultSweep) string { return s.signal(syscall.SIGKILL, isNode) }},
	{"a node stops", false, true, func(s *faultSweep) string { return s.signal(syscall.SIGSTOP, isNode) }},
	{"SIGTERM", false, false, func(s *faultSweep) string { return s.signal(syscall.SIGTERM, isCommand) }},
	{"SIGINT", false, false, func(s *faultSweep) string { return s.signal(syscall.SIGINT, isCommand) }},
	{"SIGHUP", false, false, func(s *faultSweep) string { return s.signal(syscall.SIGHUP, isCommand) }},
	{"a supervisor stops", false, true, func(s *faultSweep) string { return s.signal(syscall.SIGSTOP, isSupervisor) }},
	{"an interface is deleted", false, true, func(s *faultSweep) string { return s.link("delete", "p0") }},
	{"an interface goes down", false, true, func(s *faultSweep) string { return s.link("set", "p0", "down") }},
	{"the engine stops for a second", true, true, func(s *faultSweep) string {
		engine := s.faults.engine
		if engine.Signal(syscall.SIGSTOP) != nil {
			return ""
		}
		time.Sleep(time.Second)
		if err := engine.Signal(syscall.SIGCONT); err != nil {
			s.Error(err)
		}
		return "dockerd"
	}},
}

// found is a process of this machine.
type found struct {
	pid  int
	line string
}

func isNode(line string) bool {
	return strings.Contains(line, "csig-host") || strings.Contains(line, "csig-switch")
}

func isSupervisor(line string) bool { return strings.Contains(line, "netns-supervisor") }

func isCommand(line string) bool {
	words := strings.Fields(line)
	return len(words) > 1 && filepath.Base(words[0]) == "csiglab" &&
		slices.Contains([]string{"run", "up", "exec", "down", "sweep", "regress", "bisect", "stress", "baseline", "report", "export", "compare", "serve"}, words[1])
}

// ofEngine reports whether a program is the engine's.
func ofEngine(program string) bool {
	return program == "dockerd" || program == "containerd" || program == "runc" || strings.HasPrefix(program, "containerd-shim")
}

// processes returns the processes of this machine but this test's and the engine's.
func (s *faultSweep) processes() (list []found) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		text, err := os.ReadFile(file)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil || len(text) == 0 || pid == 1 || pid == os.Getpid() {
			continue
		}
		line := strings.TrimRight(strings.ReplaceAll(string(text), "\x00", " "), " ")
		name, _, _ := strings.Cut(line, " ")
		if !ofEngine(filepath.Base(name)) {
			list = append(list, found{pid, line})
		}
	}
	return list
}

// signal sends a signal to a drawn process that fits.
func (s *faultSweep) signal(sig syscall.Signal, fits func(line string) bool) string {
	list := slices.DeleteFunc(s.processes(), func(p found) bool { return !fits(p.line) })
	if len(list) == 0 {
		return ""
	}
	p := list[s.random.IntN(len(list))]
	if err := syscall.Kill(p.pid, sig); err != nil {
		return ""
	}
	return fmt.Sprintf("process %d, %s", p.pid, p.line)
}

// link does something to the link of a drawn node, as ip link does.
func (s *faultSweep) link(args ...string) string {
	nodes := nodesOfRuns()
	names := slices.Sorted(maps.Keys(nodes))
	if len(names) == 0 {
		return ""
	}
	name := names[s.random.IntN(len(names))]
	cmd := exec.Command("nsenter", append([]string{fmt.Sprintf("--net=/proc/%d/ns/net", nodes[name]), "ip", "link"}, args...)...)
	if cmd.Run() != nil {
		return "" // the node has just gone
	}
	return "p0 of " + name
}
