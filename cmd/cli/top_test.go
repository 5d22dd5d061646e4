package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/command/commandtest"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// topped prints the table of a lab once, as where there is no terminal.
func topped(u *tool, r runs.Run) {
	u.Helper()
	stdout, stderr := u.want(command.ExitOK, "top", r.ID[:8], "--interval", "300ms")
	for _, want := range []string{
		`^csiglab top ` + r.Name + " " + r.ID + `  cc \S+, lb \S+, aqm \S+, csig compact\n`, `\nPORT  .* BUSY`,
		`\nh0-tor0 +host  up +1G +[0-9.]+% +[0-9.]+% `, `\nNAMED BY CSIG SAMPLES `, `\nFLOW .*\n0-3 +`,
	} {
		if !regexp.MustCompile(want).MatchString(stdout) {
			u.Errorf("top does not match %s:\n%s%s", want, stdout, stderr)
		}
	}
	if strings.Contains(stdout, "NO ANSWER") || strings.Contains(stdout, "\x1b") {
		u.Errorf("top of a lab whose nodes all live, on no terminal:\n%q", stdout)
	}
	if n := strings.Count(stdout, "1G "); n != 12 {
		u.Errorf("%d ports, want both ends of 6 links:\n%s", n, stdout)
	}
	if _, stderr := u.want(command.ExitUsage, "top", strings.Replace(r.Name, "one", "onne", 1)); !strings.Contains(stderr, `did you mean "`+r.Name+`"?`) {
		u.Errorf("a wrong name: %s", stderr)
	}
	u.want(command.ExitUsage, "top", r.ID, "--interval", "1ms")
	u.want(command.ExitUsage, "top")
}

// TestTop draws on a terminal until q is typed, until Ctrl-C, until csiglab is ended by a
// signal, and until the lab ends, and leaves the terminal as it was.
func TestTop(t *testing.T) {
	checkout.SkipSlowRace(t)
	u := newTool(t, builtPrograms(t))
	lab := u.up("netns", "one", "first")
	var down sync.WaitGroup
	defer down.Wait()
	for _, end := range []struct {
		name string
		do   func(terminal *os.File, p *os.Process)
		says string
	}{
		{"q", func(terminal *os.File, _ *os.Process) { terminal.WriteString("xq") }, ""},
		{"Ctrl-C", func(terminal *os.File, _ *os.Process) { terminal.WriteString("\x03") }, ""},
		{"SIGTERM", func(_ *os.File, p *os.Process) { p.Signal(syscall.SIGTERM) }, ""},
		{"down", func(*os.File, *os.Process) { down.Go(func() { u.run("", "down", lab.ID) }) }, "lab " + lab.Name + " " + lab.ID + " has ended\r\n"},
	} {
		t.Run(end.name, func(t *testing.T) {
			terminal, user := commandtest.PseudoTerminal(t)
			if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
				t.Fatal(err)
			}
			before, err := term.GetState(int(user.Fd()))
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(u.program, "top", lab.ID, "--interval", "200ms")
			cmd.Dir, cmd.Env = u.dir, append(u.env, "TERM=xterm")
			cmd.Stdin, cmd.Stdout, cmd.Stderr = user, user, user
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			drawn, ended := make(chan struct{}), make(chan error, 1)
			go func() {
				b := make([]byte, 1<<16)
				for pictures := 0; ; {
					n, err := terminal.Read(b)
					if err != nil {
						return
					}
					out.Write(b[:n])
					if now := strings.Count(out.String(), "\x1b[H"); pictures < 3 && now >= 3 {
						pictures = now
						close(drawn)
					}
				}
			}()
			go func() { ended <- cmd.Wait() }()
			select {
			case <-drawn:
			case err := <-ended:
				t.Fatalf("ended: %v\n%q", err, out.String())
			case <-time.After(limit):
				cmd.Process.Kill()
				t.Fatalf("has not drawn:\n%q", out.String())
			}
			end.do(terminal, cmd.Process)
			select {
			case err := <-ended:
				if err != nil {
					t.Errorf("ended with %v, want 0", err)
				}
			case <-time.After(limit):
				cmd.Process.Kill()
				t.Error("has not ended")
			}
			if after, err := term.GetState(int(user.Fd())); err != nil || fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("the terminal's state was %v and is %v, error %v", before, after, err)
			}
			user.Close()
			time.Sleep(50 * time.Millisecond) // until what is on its way has been read
			terminal.Close()
			text := out.String()
			first, last := strings.Index(text, "\x1b[?1049h\x1b[?25l"), strings.LastIndex(text, "\x1b[?25h\x1b[?1049l")
			if first != 0 || last < 0 || text[last+len("\x1b[?25h\x1b[?1049l"):] != end.says {
				t.Errorf("it takes the screen over at %d and gives it back at %d of %d, want that and then %q:\n%q", first, last, len(text), end.says, text)
			}
			if !strings.Contains(text, "tor0-agg0") || !strings.Contains(text, "\x1b[1mPORT ") {
				t.Errorf("no table:\n%q", text)
			}
		})
	}
}
