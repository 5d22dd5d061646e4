package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/labs"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab/containerlabtest"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/docker/docker/client"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// TestExecAlone: csiglab needs no other program, such as nsenter, neither as root nor as an
// ordinary user.
func TestExecAlone(t *testing.T) {
	programs := programsOfAnyUser(t)
	u := newTool(t, programs)
	u.env = append(u.env, "PATH="+programs) // the last one counts
	r := u.up("netns", "alone", "alone")
	for _, node := range []string{"h0", "tor1"} {
		stdout, _ := u.want(command.ExitOK, "exec", r.ID, node, "--", "/bin/sh", "-c", "read line </proc/sys/kernel/hostname; echo $line $PATH")
		if want := node + " " + programs + "\n"; stdout != want {
			t.Errorf("%s: got %q, want %q", node, stdout, want)
		}
	}
	u.want(128+15, "exec", r.ID, "h0", "--", "/bin/sh", "-c", "kill $$")
	u.down(r.ID)
}

// ran checks that a command in a node has its own input, output, code and signals.
func ran(u *tool, r runs.Run) {
	u.Helper()
	for _, c := range []struct {
		args           string // with tabs for spaces within one
		stdin          string
		code           int
		stdout, stderr string
	}{
		{args: "10.0.0.4 -- cat", stdin: "as it is\n", stdout: "as it is\n"},
		{args: "h3 sh -c exit\t7", code: 7},
		{args: "h3 -- uname -n", stdout: "h3\n"},
		{args: "tor1 -- uname -n", stdout: "tor1\n"},
		{args: "tor1 -- sh -c kill\t-9\t$$", code: 128 + 9},
		{args: "h0 -- sh -c echo\t$0\t$@>&2 -x --json --", stderr: "-x --json --\n"},
		{args: "h0 -- no-such-command", code: labs.ExitNotFound, stderr: "csiglab: no-such-command: executable file not found in $PATH\n"},
		{args: "h0 -- /etc/passwd", code: labs.ExitNotExecutable, stderr: "csiglab: /etc/passwd: permission denied\n"},
		{args: "h7 -- true", code: command.ExitUsage, stderr: `csiglab: node "h7": there is no such node (did you mean "h0"?); known: h0 h1 h2 h3 tor0 tor1 agg0` + "\n"},
		{args: "10.0.0.5 -- true", code: command.ExitUsage, stderr: `csiglab: node "10.0.0.5": there is no such node (did you mean "10.0.0.1"?); known: 10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4` + "\n"},
	} {
		args := []string{"exec", r.ID}
		for _, a := range strings.Split(c.args, " ") {
			args = append(args, strings.ReplaceAll(a, "\t", " "))
		}
		code, stdout, stderr := u.run(c.stdin, args...)
		if code != c.code || stdout != c.stdout || stderr != c.stderr {
			u.Errorf("%q: exit %d, %q, %q; want %d, %q, %q", args, code, stdout, stderr, c.code, c.stdout, c.stderr)
		}
	}
	// Its network is the node's, which has its ports and nothing else.
	for i, n := range r.Nodes {
		stdout, _ := u.want(command.ExitOK, "exec", r.ID, n.Name, "--", "cat", "/proc/net/dev")
		var got, want []string
		for line := range strings.Lines(stdout) {
			if name, _, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) != "lo" {
				got = append(got, strings.TrimSpace(name))
			}
		}
		for _, p := range n.Interfaces {
			want = append(want, p.Name)
		}
		slices.Sort(got)
		if diff := cmp.Diff(got, want); diff != "" {
			u.Errorf("interfaces in node %d (-got +want):\n%s", i, diff)
		}
	}
	// Ctrl-C is the command's.
	cmd := u.command("exec", r.ID, "h0", "--", "sh", "-c", `trap 'echo caught; exit 3' INT; echo ready; while :; do sleep 0.01; done`)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		u.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
		u.Fatal(err)
	}
	cmd.Process.Signal(os.Interrupt)
	rest, _ := io.ReadAll(out)
	if code := u.code(cmd.Wait()); code != 3 || string(rest) != "caught\n" {
		u.Errorf("Ctrl-C: exit %d, %q; want 3 and the command's word", code, rest)
	}
}

// What a terminal shows is what the command says: nothing asks it for its colours.
func TestNothingElseForTheTerminal(t *testing.T) {
	programs := builtPrograms(t)
	ptmx, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer ptmx.Close()
	n, err := unix.IoctlGetInt(int(ptmx.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(ptmx.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Skip(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer tty.Close()
	for _, term := range []string{"TERM=xterm-256color", "X="} {
		cmd := exec.Command(filepath.Join(programs, "csiglab-lab"), "version") // containerlab has libraries that ask
		cmd.Env = []string{term}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		shown := make([]byte, 1<<12)
		got, err := ptmx.Read(shown)
		if text := string(shown[:got]); err != nil || !strings.HasPrefix(text, "csiglab ") || strings.Contains(text, "\x1b") {
			t.Errorf("%s: the terminal got %q, error %v", term, text, err)
		}
	}
}

// testProgramsContainer: where an image holds a host's programs, exec runs in its
// container.
func testProgramsContainer(u *tool, docker *client.Client) {
	containerlabtest.Image(u, docker, "/bin/sh", "test/sh:1")
	u.experiment("programs")
	stdout, _ := u.want(command.ExitOK, "up", "programs.yaml", "--runtime", "containerlab", "--out", "fifth", "--json",
		"--set", "applications={hosts: [0], image: test/sh:1}", "--set", "workload.transfers=[1 -> 2 100kB]")
	r := u.parse(stdout)
	if h0 := r.Nodes[0]; h0.Application == "" || h0.Interfaces[1].Name != "csig0" || len(h0.Addresses) != 2 {
		u.Errorf("h0: %+v", h0)
	}
	for _, c := range []struct {
		stdin  string
		args   []string
		code   int
		stdout string
	}{
		{"in\n", []string{"10.0.0.1", "--", "sh", "-c", "read x; echo $x; echo /bin/* $CSIGLAB_NODE; echo >&2 err; exit 7"}, 7, "in\n/bin/sh h0\n"},
		{"", []string{"h0", "--", "sh", "-c", "kill -9 $$"}, 128 + 9, ""},
		{"", []string{"h0", "--", "sh", "-c", "read name </proc/sys/kernel/hostname; echo $name; while read line; do echo $line; done </etc/hosts"}, 0, "h0\n10.0.0.1 h0\nfd00:c51c::1 h0-v6\n127.0.0.1 localhost\n"},
		{"", []string{"h0", "--", "no-such-command"}, labs.ExitNotExecutable, "*"}, // so says the engine
		{"", []string{"h1", "--", "test", "-e", "/etc/passwd"}, 0, ""},             // without programs: this machine's files
	} {
		code, stdout, stderr := u.run(c.stdin, append([]string{"exec", r.ID}, c.args...)...)
		if code != c.code || stdout != c.stdout && c.stdout != "*" || (c.code == 7) != (stderr == "err\n") {
			u.Errorf("%q: exit %d, %q, %q; want %d, %q", c.args, code, stdout, stderr, c.code, c.stdout)
		}
	}
	// The interfaces are those of the host's container, and Ctrl-C is the command's.
	cmd := u.command("exec", r.ID, "h0", "--", "sh", "-c", `trap 'echo caught; exit 3' INT; while read line; do echo "$line"; done </proc/net/dev; echo ready; while :; do :; done`)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		u.Fatal(err)
	}
	lines, seen := bufio.NewScanner(out), ""
	for lines.Scan() && lines.Text() != "ready" {
		seen += lines.Text() + "\n"
	}
	cmd.Process.Signal(os.Interrupt)
	last := ""
	for lines.Scan() {
		last = lines.Text()
	}
	if code := u.code(cmd.Wait()); code != 3 || last != "caught" || !strings.Contains(seen, "csig0:") {
		u.Errorf("Ctrl-C: exit %d, %q; want 3 and the command's word; it saw the interfaces\n%s", code, last, seen)
	}
	u.down(r.ID)
}
