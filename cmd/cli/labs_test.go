package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/labs"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab/containerlabtest"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// labText is a fabric of seven nodes, slow enough for any machine, a budget that
// none exceeds, and an expectation that none meets: labs have none.
const labText = `
schema: 1
name: NAME
topology:
  fat_tree:
    hosts: 4
    pod: 4
    tiers:
      - {down: 2, up: 1, rate: 1Gbps, delay: 1ms}
      - {down: 2, rate: 1Gbps, delay: 1ms}
workload: {transfers: ["0 -> 3 100kB"]}
csig: {format: compact}
wall: {dilation: 100, budget: {lateness: 1000, displaced: 1, rate: 1}}
expect: ["run.model_ms < 0"]
seeds: [7]
`

// tool is csiglab as a user has it: a program, in a directory of its own.
type tool struct {
	*testing.T
	program, dir string
	env          []string
}

// limit bounds a command, on a machine that does much else.
const limit = time.Minute

func newTool(t *testing.T, programs string) *tool {
	t.Helper()
	u := &tool{T: t, program: filepath.Join(programs, "csiglab"), dir: t.TempDir()}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "CSIGLAB_") && !strings.HasPrefix(v, "PATH=") {
			u.env = append(u.env, v)
		}
	}
	u.env = append(u.env, "PATH="+programs+":"+os.Getenv("PATH"))
	t.Cleanup(func() {
		for _, r := range u.ps() {
			u.run("", "clean", r.ID)
			if syscall.Kill(r.PID, syscall.SIGKILL) == nil {
				ended(u, r.PID)
				u.run("", "clean", r.ID)
			}
		}
	})
	return u
}

// command prepares a command of csiglab.
func (u *tool) command(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	u.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, u.program, args...)
	cmd.Dir, cmd.Env = u.dir, u.env
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// run runs a command to its end. A signal that ends it is a code as a shell's.
func (u *tool) run(stdin string, args ...string) (code int, stdout, stderr string) {
	u.Helper()
	var out, errs bytes.Buffer
	cmd := u.command(args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	began := time.Now()
	code = u.code(cmd.Run())
	if took := time.Since(began); took > time.Second {
		u.Logf("csiglab %s took %v", strings.Join(args, " "), took.Round(time.Millisecond))
	}
	return code, out.String(), errs.String()
}

func (u *tool) code(err error) int {
	u.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exit):
		u.Fatal(err)
	}
	if status := exit.Sys().(syscall.WaitStatus); status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exit.ExitCode()
}

// want runs a command and checks its exit code.
func (u *tool) want(code int, args ...string) (stdout, stderr string) {
	u.Helper()
	got, stdout, stderr := u.run("", args...)
	if got == command.ExitInfrastructure && strings.Contains(stderr, "not available") {
		u.Skip(stderr)
	}
	if got != code {
		u.Fatalf("csiglab %s: exit %d, want %d\n%s%s", strings.Join(args, " "), got, code, stdout, stderr)
	}
	return stdout, stderr
}

// ps returns the runs of this directory.
func (u *tool) ps() (own []labs.Entry) {
	u.Helper()
	_, text, stderr := u.run("", "ps", "--json")
	var all []labs.Entry
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		u.Fatalf("ps: %v\n%s%s", err, text, stderr)
	}
	for _, r := range all {
		if strings.HasPrefix(r.Folder, u.dir+"/") {
			own = append(own, r)
		}
	}
	return own
}

// named makes a name that no lab of another process has.
func named(name string) string { return fmt.Sprintf("%s-%d", name, os.Getpid()) }

// experiment writes labText under a name.
func (u *tool) experiment(name string) {
	u.Helper()
	text := strings.Replace(labText, "NAME", named(name), 1)
	if err := os.WriteFile(filepath.Join(u.dir, name+".yaml"), []byte(text), 0o600); err != nil {
		u.Fatal(err)
	}
}

// up starts a lab and returns what inspect says of it.
func (u *tool) up(runtime, name, folder string) runs.Run {
	u.Helper()
	u.experiment(name)
	stdout, _ := u.want(command.ExitOK, "up", name+".yaml", "--runtime", runtime, "--out", folder, "--json")
	return u.parse(stdout)
}

func (u *tool) parse(text string) (r runs.Run) {
	u.Helper()
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		u.Fatalf("%v in %s", err, text)
	}
	return r
}

// down ends a lab and checks its verdict. A machine that is busy may lose a frame,
// which makes the run invalid, and no more.
func (u *tool) down(args ...string) {
	u.Helper()
	code, stdout, stderr := u.run("", append([]string{"down"}, args...)...)
	if code != command.ExitOK && (code != command.ExitInfrastructure || !strings.Contains(stdout, "INVALID")) {
		u.Fatalf("down %s: exit %d\n%s%s", args, code, stdout, stderr)
	}
	if !strings.Contains(stdout, "\nreport  "+u.dir) {
		u.Errorf("down %s does not name the report:\n%s%s", args, stdout, stderr)
	}
}

// TestLab uses labs as a user does, in network namespaces and, where there is a
// Docker engine, in containers.
func TestLab(t *testing.T) {
	checkout.SkipLong(t)
	programs := programsOfAnyUser(t)
	t.Run("netns", func(t *testing.T) {
		u := newTool(t, programs)
		testLabs(u, "netns", "p")
		testUpInterrupted(u, "netns", "three-flow") // which takes a while to deploy
		if left := u.ps(); len(left) > 0 {
			t.Errorf("left: %+v", left)
		}
	})
	t.Run("containerlab", func(t *testing.T) {
		checkout.SkipLong(t)
		docker := containerlabtest.Docker(t)
		u := newTool(t, programs)
		testLabs(u, "containerlab", "eth")
		testUpInterrupted(u, "containerlab", "one.yaml")
		testProgramsContainer(u, docker)
		if left := u.ps(); len(left) > 0 {
			t.Errorf("left: %+v", left)
		}
		left, err := docker.ContainerList(context.Background(), container.ListOptions{All: true})
		if err != nil || len(left) > 0 {
			t.Errorf("%d containers are left, error %v", len(left), err)
		}
	})
}

// testLabs has two labs side by side and ends one in order, one by a node's death,
// one by its holder's.
func testLabs(u *tool, runtime, port string) {
	one, two := u.up(runtime, "one", "first"), u.up(runtime, "two", "second")
	inspected(u, one, runtime, port)
	ran(u, one)
	captured(u, one)
	topped(u, one)

	// Each by its name; a beginning that stands for both is refused, as is a name.
	for _, r := range u.ps() {
		if r.State != runs.Held || r.Clock != "wall" || r.Runtime != runtime || r.Nodes != 7 {
			u.Errorf("ps: %+v", r)
		}
	}
	text, twins := u.want(command.ExitOK, "up", "one.yaml", "--runtime", runtime, "--out", "third", "--json")
	again := u.parse(text)
	if want := fmt.Sprintf("call this one %s and that one %s\n", again.ID[:6], one.ID[:6]); !strings.Contains(twins, want) {
		u.Errorf("up of a lab whose name another has: %s, want %q", twins, want)
	}
	for _, args := range [][]string{{"exec", named("one"), "h0", "true"}, {"down", named("one")}, {"inspect", named("one")}, {"capture", named("one"), "--link", "h0-tor0"}} {
		_, stderr := u.want(command.ExitUsage, args...)
		for _, want := range []string{one.ID + "  ", again.ID + "  ", one.Started.Format(time.DateTime), "write an id in its place, such as " + again.ID} {
			if !strings.Contains(stderr, want) {
				u.Errorf("%s of two labs of a name: %s, want %q", args[0], stderr, want)
			}
		}
	}

	// What has been started in a node ends with the lab, and not with another.
	sleepers := map[string]*exec.Cmd{}
	for _, r := range []runs.Run{one, two} {
		cmd := u.command("exec", r.ID, "h1", "--", "sh", "-c", "echo; exec sleep 1000")
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			u.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
			u.Fatalf("the program in h1: %v", err)
		}
		sleepers[r.ID] = cmd
	}
	u.down(one.ID)
	if code := u.code(sleepers[one.ID].Wait()); code != 128+int(syscall.SIGKILL) {
		u.Errorf("a program in a node of a lab that went down ended with %d", code)
	}
	manifest, err := os.ReadFile(filepath.Join(u.dir, "first", "manifest.json"))
	if err != nil || !regexp.MustCompile(`"csiglab",\s*"up",\s*"one.yaml"`).Match(manifest) {
		u.Errorf("the lab's manifest does not name the command (%v): %s", err, manifest)
	}
	for _, name := range []string{"summary.json", "report.html", "lab.log"} {
		if _, err := os.Stat(filepath.Join(u.dir, "first", name)); err != nil {
			u.Error(err)
		}
	}
	ended(u, one.PID)
	u.want(command.ExitUsage, "inspect", one.ID)
	if out, _ := u.want(command.ExitOK, "exec", two.ID, "h0", "echo", "here"); out != "here\n" || !alive(sleepers[two.ID].Process.Pid) {
		u.Errorf("the other lab: %q", out)
	}

	// A node dies: the lab ends by itself, and whoever asks is told why.
	agg := slices.IndexFunc(again.Nodes, func(n runs.Node) bool { return n.Name == "agg0" })
	if err := syscall.Kill(again.Nodes[agg].PID, syscall.SIGKILL); err != nil {
		u.Fatal(err)
	}
	ended(u, again.PID)
	if _, stderr := u.want(command.ExitInfrastructure, "down", again.ID); !strings.Contains(stderr, "node agg0: ") || !strings.Contains(stderr, "ended by itself") {
		u.Errorf("down after a node's death: %s", stderr)
	}
	u.want(command.ExitUsage, "down", again.ID)

	// The holder is killed: clean leaves a lab that lives alone, and removes what is
	// left, once.
	u.want(command.ExitInfrastructure, "clean", two.ID)
	u.want(command.ExitOK, "exec", two.ID, "h0", "true")
	kill := func(r runs.Run) {
		if err := syscall.Kill(r.PID, syscall.SIGKILL); err != nil {
			u.Fatal(err)
		}
		ended(u, r.PID)
	}
	kill(two)
	u.want(command.ExitInfrastructure, "exec", two.ID, "h0", "true")
	u.want(command.ExitInfrastructure, "top", two.ID)
	if out, _ := u.want(command.ExitOK, "clean", two.ID); !strings.Contains(out, "removed the entry of run "+two.ID) {
		u.Errorf("clean: %s", out)
	}
	if _, err := os.Lstat(filepath.Dir(two.Nodes[0].Metrics)); !errors.Is(err, fs.ErrNotExist) {
		u.Errorf("the folder of the nodes' metrics after clean: %v", err)
	}
	if code := u.code(sleepers[two.ID].Wait()); code != 128+int(syscall.SIGKILL) {
		u.Errorf("a program in a node of a lab that was cleaned ended with %d", code)
	}
	if out, _ := u.want(command.ExitOK, "clean", two.ID); out != "nothing to remove\n" {
		u.Errorf("clean again: %s", out)
	}
	last := u.up(runtime, "last", "fourth")
	kill(last)
	if _, stderr := u.want(command.ExitInfrastructure, "down", named("last")); !strings.Contains(stderr, "its holder has died; it said nothing, so that process ") {
		u.Errorf("down after the holder's death: %s", stderr)
	}
	for _, args := range [][]string{{"report", "fourth"}, {"run", "--resume", "fourth"}} {
		_, _, stderr := u.run("", args...)
		if !strings.Contains(stderr, "csiglab up starts another") || strings.Contains(stderr, "--resume RUN") {
			u.Errorf("%s of a lab whose holder died: %s", args[0], stderr)
		}
	}
}

// inspected checks what inspect says of labText.
func inspected(u *tool, r runs.Run, runtime, port string) {
	u.Helper()
	first := map[string]int{"p": 0, "eth": 1}[port]
	stdout, _ := u.want(command.ExitOK, "inspect", r.ID[:8], "--json")
	if got := u.parse(stdout); !cmp.Equal(got, r) {
		u.Errorf("inspect differs from up (-inspect +up):\n%s", cmp.Diff(got, r))
	}
	if r.Dilation != 100 || r.Runtime != runtime || r.State != runs.Held || r.Folder != filepath.Join(u.dir, "first") || len(r.Nodes) != 7 || len(r.Links) != 6 {
		u.Errorf("inspect: %+v", r)
	}
	h3 := r.Nodes[3]
	for _, n := range r.Nodes {
		if !alive(n.PID) || (n.Container != "") != (runtime == "containerlab") {
			u.Errorf("node %+v", n)
		}
	}
	want := runs.Node{
		Name: "h3", Kind: "host", PID: h3.PID, Container: h3.Container, Addresses: []string{"10.0.0.4"}, Network: h3.Network, User: h3.User, Metrics: filepath.Join(r.NodeFolder, "metrics", "3"),
		Interfaces: []runs.Interface{{
			Name: fmt.Sprint(port, first), MAC: "02:00:00:03:00:00", Link: "h3-tor1", Peer: "tor1", PeerInterface: fmt.Sprint(port, first+1), RateBPS: 1e9,
		}},
	}
	if diff := cmp.Diff(h3, want); diff != "" {
		u.Errorf("h3 (-got +want):\n%s", diff)
	}
	if diff := cmp.Diff(r.Links[5], runs.Link{Name: "tor1-agg0", Nodes: [2]string{"tor1", "agg0"}, RateBPS: 1e9, DelayUS: 1000}); diff != "" {
		u.Errorf("link (-got +want):\n%s", diff)
	}
	stdout, _ = u.want(command.ExitOK, "inspect", r.Name)
	for _, line := range []string{"h3-tor1    1Gbps  1ms    h3 " + fmt.Sprint(port, first) + ", tor1 " + fmt.Sprint(port, first+1), "clock wall, dilation 100", r.Folder, "csiglab exec " + r.ID[:6] + " NODE -- COMMAND runs a command of this machine"} {
		if !strings.Contains(stdout, line) {
			u.Errorf("inspect: %q is not in:\n%s", line, stdout)
		}
	}
}

// testUpInterrupted: Ctrl-C while a lab comes up leaves nothing of it.
func testUpInterrupted(u *tool, runtime, experiment string) {
	cmd := u.command("up", experiment, "--runtime", runtime, "--out", "interrupted", "--dilation", "4000")
	read, write := io.Pipe()
	var stdout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, write
	if err := cmd.Start(); err != nil {
		u.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Wait()
		write.Close()
	}()
	said := make([]byte, 1<<12)
	n := 0
	for !bytes.Contains(said[:n], []byte("wall clock: ")) { // after that it is deployed
		more, err := read.Read(said[n:])
		if n += more; err != nil {
			u.Fatalf("up ended: %s", said[:n])
		}
	}
	cmd.Process.Signal(os.Interrupt)
	rest, _ := io.ReadAll(read)
	if code := u.code(<-ended); code != command.ExitInfrastructure || !bytes.Contains(rest, []byte("csiglab: interrupted")) || stdout.Len() > 0 {
		u.Errorf("up, interrupted: exit %d, %s%s", code, rest, stdout.String())
	}
	if left := u.ps(); len(left) > 0 {
		u.Errorf("up, interrupted, leaves %+v", left)
	}
	u.want(command.ExitUsage, "up", "one.yaml", "--out", "first", "--runtime", runtime) // not empty
	if left := u.ps(); len(left) > 0 {
		u.Errorf("up that failed leaves %+v", left)
	}
}
