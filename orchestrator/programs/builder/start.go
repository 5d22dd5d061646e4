package builder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/internal/crash"
	"github.com/csiglab/csiglab/internal/marked"
	"github.com/csiglab/csiglab/internal/plain"
)

// Bounds of the first start of a new csiglab.
const (
	startTime   = 20 * time.Second
	startOutput = 1 << 20 // bytes that it may print
	startMemory = 1 << 30 // bytes of writable memory
)

// starting names the code of a module that runs in each start.
const starting = "a function that runs while the program starts, such as init or Build,"

// startMark is the variable of the environment whose value is in all processes of a start.
const startMark = "CSIGLAB_BUILD_START"

// start starts a new csiglab, whose modules may do anything, and returns what it prints. why
// says what is wrong with it; "" is nothing. No process that it has started stays, unless that has
// changed its environment.
func (t *tool) start(ctx context.Context, program string, args ...string) (stdout []byte, why string, err error) {
	limited, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	cmd := exec.CommandContext(limited, program, args...)
	cmd.SysProcAttr = t.group.attributes()
	cmd.WaitDelay = time.Second
	mark := strconv.FormatUint(rand.Uint64(), 36)
	cmd.Env = append(os.Environ(), startMark+"="+mark)
	out, said := &bounded{most: startOutput, full: cancel}, &bounded{most: startOutput, full: cancel}
	cmd.Stdout, cmd.Stderr = out, said
	defer endMarked(mark)
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	// The runtime of Go does not take that much before the limit is there.
	limit := unix.Rlimit{Cur: startMemory, Max: startMemory}
	if err := unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_DATA, &limit, nil); err != nil && !errors.Is(err, unix.ESRCH) {
		cancel()
		cmd.Wait() //nolint:errcheck // it was killed
		return nil, "", fmt.Errorf("the limit of the new csiglab's memory: %w", err)
	}
	err = cmd.Wait()
	text := said.text.String()
	switch {
	case ctx.Err() != nil:
		return nil, "", ctx.Err()
	case out.over || said.over:
		return nil, fmt.Sprintf("prints more than %d MiB while it starts; %s must not print", startOutput>>20, starting), nil
	case limited.Err() != nil:
		return nil, fmt.Sprintf("does not start within %v: %s does not return", startTime, starting), nil
	case errors.Is(err, exec.ErrWaitDelay):
		return nil, fmt.Sprintf("starts a process that does not end with it; %s must start none", starting), nil
	case err != nil && strings.Contains(text, "out of memory"):
		return nil, fmt.Sprintf("does not start: %s takes more than %d GiB of memory", starting, startMemory>>30), nil
	case err != nil && strings.TrimSpace(text) == "":
		return nil, fmt.Sprintf("does not start: %s ends the program without a word: %v", starting, err), nil
	case err != nil && strings.Contains(text, "goroutine "):
		return nil, "does not start:\n" + crash.Words(text), nil
	case err != nil:
		return nil, "does not start:\n" + plainLines(strings.TrimPrefix(strings.TrimSpace(text), "csiglab: ")), nil
	}
	return out.text.Bytes(), "", nil
}

// plainLines returns the first lines of a text for the terminal.
func plainLines(text string) string {
	lines := strings.Split(tidy(text), "\n")
	for i, line := range lines {
		lines[i] = plain.Text(line, 1000)
	}
	return strings.Join(lines, "\n")
}

// bounded keeps what is written to it, and calls full when that is too much.
type bounded struct {
	text bytes.Buffer
	most int
	full func()
	over bool
}

// Write implements io.Writer.
func (w *bounded) Write(p []byte) (int, error) {
	if w.over = w.over || w.text.Len()+len(p) > w.most; w.over {
		w.full()
		return len(p), nil
	}
	return w.text.Write(p)
}

// endMarked kills the processes of a start: of a module's function that has started one which
// has left the group.
func endMarked(mark string) {
	for range 3 { // a process may start another one meanwhile
		left := marked.Processes(startMark)[mark]
		if len(left) == 0 {
			return
		}
		for _, pid := range left {
			marked.Kill(pid, startMark, mark)
		}
	}
}
