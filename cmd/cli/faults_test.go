package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab/containerlabtest"
)

// Flows of the runs that faults are done to: one that has ended before the run is
// destroyed, and one that goes on for some seconds.
const (
	brief   = "1MB"
	lasting = "3GB"
)

// hangs is after how long a command that does not end is said to hang. It is
// above every limit of csiglab's own in what is tested here, and below that of
// a destruction.
const hangs = 90 * time.Second

// faults is a machine to do faults to.
type faults struct {
	engine *containerlabtest.Engine
	before []string // of the machine
}

// alone is containerlabtest.Alone with the programs built.
func alone(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() == 0 {
		t.Setenv(programsEnv, builtPrograms(t))
	}
	return containerlabtest.Alone(t)
}

// newFaults prepares a machine: with a Docker engine that has the images, if the
// runtime needs them.
func newFaults(t *testing.T, engine bool) *faults {
	t.Helper()
	f := new(faults)
	if engine {
		f.engine = containerlabtest.New(t)
	}
	t.Setenv("PATH", builtPrograms(t)+":"+os.Getenv("PATH"))
	f.look(t)
	return f
}

func (f *faults) look(t *testing.T) {
	t.Helper()
	if f.engine != nil {
		f.before = containerlabtest.Machine(t, f.engine.Client)
	} else {
		f.before = containerlabtest.Machine(t, nil)
	}
}

// four writes an experiment with two hosts and two switches, of 3 links.
func four(t *testing.T, size string) string {
	t.Helper()
	return write(t, "faults.yaml", `
schema: 1
name: faults
topology:
  dragonfly: {p: 1, a: 1, h: 1, rate: 100Gbps, delay: 1us}
workload:
  transfers: [0 -> 1 `+size+`]
`)
}

// nodes is how many nodes four has.
const nodes = 4

// process is a csiglab that runs as a process of its own.
type process struct {
	cmd            *exec.Cmd
	output         bytes.Buffer
	started, ended chan struct{}
}

// csiglabProcess returns a csiglab that has not been started.
func csiglabProcess(args ...string) *process {
	p := &process{cmd: exec.Command("csiglab", args...), started: make(chan struct{}), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	p.cmd.WaitDelay = time.Second // should a process that it left hold its output
	return p
}

// run starts the process and waits until it ends. It returns the exit code, -1
// if it was killed, and what it said.
func (p *process) run(t *testing.T) (code int, said string) {
	t.Helper()
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	close(p.started)
	stop := time.AfterFunc(hangs, func() {
		t.Errorf("csiglab %q hangs", p.cmd.Args[1:])
		p.cmd.Process.Kill()
	})
	err := p.cmd.Wait()
	stop.Stop()
	close(p.ended)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		t.Fatal(err)
	}
	return p.cmd.ProcessState.ExitCode(), p.output.String()
}

// kill kills the process as kill -9 does, and waits until it is gone.
func (p *process) kill() {
	<-p.started
	p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.ended
}

// failed checks how a run ended that a fault was done to: with exit code 3, by
// itself, and with words about what broke.
func failed(t *testing.T, code int, said string, want ...string) {
	t.Helper()
	if code != command.ExitInfrastructure {
		t.Errorf("exit code %d, want %d", code, command.ExitInfrastructure)
	}
	for _, w := range want {
		if !strings.Contains(said, w) {
			t.Errorf("it does not say %q:\n%s", w, said)
		}
	}
	if strings.Contains(said, "goroutine ") {
		t.Errorf("it panicked:\n%s", said)
	}
}

// clean checks that csiglab clean, and a second one, leave the machine as it was,
// and that no run is listed any more.
func (f *faults) clean(t *testing.T) {
	t.Helper()
	cleanTwice(t)
	f.nothingLeft(t)
}

// nothingLeft checks that the machine is as it was.
func (f *faults) nothingLeft(t *testing.T) {
	t.Helper()
	if f.engine != nil {
		containerlabtest.NothingLeft(t, f.engine.Client, f.before)
	} else {
		containerlabtest.NothingLeft(t, nil, f.before)
	}
}

// cleanAfterEngine is clean after the engine was ended in the middle.
func (f *faults) cleanAfterEngine(t *testing.T) {
	t.Helper()
	cleanTwice(t)
	containerlabtest.NothingLeftButEngine(t, f.engine.Client, f.before)
	f.look(t)
}

func cleanTwice(t *testing.T) {
	t.Helper()
	for range 2 {
		if code, said := csiglabProcess("clean").run(t); code != command.ExitOK {
			t.Errorf("clean: exit code %d\n%s", code, said)
		}
	}
	if code, said := csiglabProcess("ps").run(t); code != command.ExitOK || strings.Count(said, "\n") != 1 {
		t.Errorf("ps after clean: exit code %d\n%s", code, said)
	}
}

// eventually calls done until it is true, as long as the process lives.
func (p *process) eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for !done() {
		select {
		case <-p.ended:
			t.Errorf("this did not happen: %s", what)
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// runWhile is run while another goroutine does something to the process.
func (p *process) runWhile(t *testing.T, do func()) (code int, said string) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		<-p.started
		do()
	}()
	code, said = p.run(t)
	<-done
	return code, said
}

// interfacesOf returns how many interfaces but lo there are in the network
// namespaces of processes, and how many frames they have sent.
func interfacesOf(pids ...int) (count, sent int) {
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/dev", pid))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			name, numbers, found := strings.Cut(line, ":")
			// Eight columns of what is received come before those of what is sent,
			// of which the second counts frames.
			fields := strings.Fields(numbers)
			if !found || strings.TrimSpace(name) == "lo" || len(fields) < 10 {
				continue
			}
			count++
			var n int
			fmt.Sscan(fields[9], &n)
			sent += n
		}
	}
	return count, sent
}

// nodesOfRuns returns the processes of nodes, by name, of all runs of this machine.
func nodesOfRuns() map[string]int {
	found := map[string]int{}
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		environment, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		variables := strings.Split(string(environment), "\x00")
		i := slices.IndexFunc(variables, func(v string) bool { return strings.HasPrefix(v, "CSIGLAB_NODE=") })
		if i < 0 {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(file, "/proc/%d/environ", &pid); err == nil {
			found[strings.TrimPrefix(variables[i], "CSIGLAB_NODE=")] = pid
		}
	}
	return found
}

// running waits until the nodes of the run exchange frames, and returns their
// processes, by name.
func (p *process) running(t *testing.T) map[string]int {
	t.Helper()
	p.eventually(t, "nodes exchange frames", func() bool {
		all := nodesOfRuns()
		for _, pid := range all {
			if _, sent := interfacesOf(pid); sent == 0 {
				return false
			}
		}
		return len(all) == nodes
	})
	return nodesOfRuns()
}

// needTime skips a test that takes long and finds what a quicker one is likely to
// find too.
func needTime(t *testing.T) {
	t.Helper()
	if os.Getenv("CSIGLAB_E2E") == "" {
		t.Skip("takes a while; set CSIGLAB_E2E=1")
	}
}

// deleteInterface takes an interface in a network namespace away, and with it the
// link.
func deleteInterface(t *testing.T, space, name string) {
	t.Helper()
	cmd := exec.Command("nsenter", "--net="+space, "ip", "link", "delete", name)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %v\n%s", cmd, err, out)
	}
}
