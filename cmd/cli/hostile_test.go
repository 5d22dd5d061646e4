package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/checkout"
)

// Bounds of an answer to any input. An idle core takes 5 s at most; with other work on the
// same cores, CPU time has been twice that, so the bound here only tells growth by a power.
const (
	answerTime   = 20 * time.Second
	answerMemory = 500 << 20 // bytes of peak resident memory
	answerText   = 64 << 10  // bytes of output
)

// hostile is an input that csiglab validate must answer.
type hostile struct {
	name string
	// place makes the input at a path, or returns another name for it.
	place func(t *testing.T, path string) string
	flag  string // --topology or --workload; "": an experiment
	valid bool   // exit code 0 is right; otherwise 2 is
}

// answer is how a csiglab ended.
type answer struct {
	code   int // -1: it was killed
	wall   time.Duration
	cpu    time.Duration
	memory int64 // the most that the peak can be, in bytes; 0: not known
	said   string
}

// ask runs csiglab, with so little address space that the machine stays usable whatever
// it does, and kills it if it hangs.
func ask(t *testing.T, args ...string) answer {
	t.Helper()
	var said bytes.Buffer
	cmd := exec.Command("sh", append([]string{"-c", `ulimit -v 8000000; exec csiglab "$@"`, "sh"}, args...)...)
	cmd.Stdout, cmd.Stderr = &said, &said
	started := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(hangs, func() { cmd.Process.Kill() })
	err := cmd.Wait()
	kill.Stop()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	peak := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	// A new process begins with the peak of the one that starts it. Under the race
	// detector that may be more than csiglab may take, whose own peak is then not known.
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		t.Fatal(err)
	} else if peak <= own.Maxrss<<10 && peak > answerMemory {
		peak = 0
	}
	return answer{
		code: cmd.ProcessState.ExitCode(), wall: time.Since(started),
		cpu:    cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
		memory: peak, said: strings.TrimPrefix(said.String(), command.WordChecking+"\n"), // which a busy machine has it say
	}
}

// wrong returns what an answer lacks, "" if nothing.
func (h *hostile) wrong(a answer) string {
	switch {
	case a.cpu > answerTime: // wall time is of the machine's other work, too
		return fmt.Sprintf("took %v of CPU", a.cpu)
	case a.memory > answerMemory:
		return fmt.Sprintf("took %d MB", a.memory>>20)
	case h.valid && a.code != command.ExitOK, !h.valid && a.code != command.ExitUsage:
		return fmt.Sprintf("exit code %d", a.code)
	case len(a.said) > answerText:
		return fmt.Sprintf("said %d bytes", len(a.said))
	case !h.valid && !strings.HasPrefix(a.said, "csiglab: "), strings.Contains(a.said, "goroutine "):
		return "gave no message"
	}
	return ""
}

// TestHostileInputs holds that every input gets an answer within answerTime and
// answerMemory: exit code 2 with a message, or 0 if it is valid. It runs the real
// program; without CSIGLAB_E2E=1 only on one input of ten.
func TestHostileInputs(t *testing.T) {
	checkout.SkipLong(t)
	checkout.SkipSlowRace(t)
	full := os.Getenv("CSIGLAB_E2E") != ""
	t.Setenv("PATH", builtPrograms(t)+":"+os.Getenv("PATH"))
	dir := t.TempDir()
	counted, slowest, largest := 0, answer{}, answer{}
	for _, kind := range hostileKinds() {
		inputs := kind.inputs()
		if len(inputs) < 20 {
			t.Errorf("%s: %d inputs, want 20", kind.name, len(inputs))
		}
		for i, h := range inputs {
			if !full && i%10 != 3 {
				continue
			}
			counted++
			t.Run(kind.name+"/"+h.name, func(t *testing.T) {
				path := h.place(t, fmt.Sprintf("%s/%d", dir, counted))
				args := []string{"validate", path}
				if h.flag != "" {
					args = []string{"validate", h.flag, path}
				}
				a := ask(t, args...)
				if wrong := h.wrong(a); wrong != "" {
					t.Errorf("%s (%v of wall, %v of CPU, %d MB): %.300s", wrong, a.wall.Round(time.Millisecond), a.cpu, a.memory>>20, a.said)
				}
				if a.wall > slowest.wall {
					slowest = a
				}
				if a.memory > largest.memory {
					largest = a
				}
			})
			os.RemoveAll(fmt.Sprintf("%s/%d", dir, counted))
		}
	}
	t.Logf("%d inputs; the slowest took %v (%v of CPU), the largest %d MB", counted, slowest.wall.Round(time.Millisecond), slowest.cpu, largest.memory>>20)
	if full && counted < 200 {
		t.Errorf("%d inputs, want 200", counted)
	}
}

// A check of an experiment ends at the first signal, also while it computes or waits for
// a file.
func TestValidateEndsAtASignal(t *testing.T) {
	t.Setenv("PATH", builtPrograms(t)+":"+os.Getenv("PATH"))
	path := write(t, "large.yaml", hostileHead+"topology: {k_ary: {k: 16, rate: 100Gbps, delay: 1us}}\nworkload: {all_to_all: {size: 1MB}}\n")
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		var said bytes.Buffer
		cmd := exec.Command("csiglab", "validate", path)
		cmd.Stderr = &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(500 * time.Millisecond) // alone, it takes some seconds
		sent := time.Now()
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		cmd.Wait() // its exit code is below
		if took := time.Since(sent); took > hangs || cmd.ProcessState.ExitCode() != command.ExitInfrastructure || !strings.Contains(said.String(), "interrupted") {
			t.Errorf("%v: ended after %v with exit code %d: %s; want 3", signal, took, cmd.ProcessState.ExitCode(), said.String())
		}
	}
}
