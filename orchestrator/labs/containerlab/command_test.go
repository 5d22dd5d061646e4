package containerlab_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"

	"github.com/csiglab/csiglab/orchestrator/labs/containerlab/containerlabtest"
)

// testCommand deploys a topology file of Deploy with containerlab's own command,
// as it is, and compares the time that both take to deploy and destroy it.
func testCommand(t *testing.T, b *bench) {
	// Best of some rounds, in turns: the machine has other work too.
	ours, theirs := time.Hour, time.Hour
	const rounds = 5
	for i, measured := 0, 0; i < rounds; i++ {
		a, c, err := b.race(t, containerlabtest.Command(t))
		if errors.Is(err, context.DeadlineExceeded) {
			t.Logf("round %d: the engine stopped for good under containerlab's command, and is started again: %v", i+1, err)
			b.restart(t, "r1")
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("round %d: csiglab %v to deploy, %v to destroy; containerlab %v and %v", i+1, a.deploy, a.destroy, c.deploy, c.destroy)
		ours, theirs = min(ours, a.sum()), min(theirs, c.sum())
		if measured++; measured > 1 && ours <= theirs*11/10 {
			return
		}
	}
	t.Errorf("best of %d: deploy and destroy in %v, containerlab's command in %v: want at most 1.1 times that", rounds, ours, theirs)
}

// restart starts the engine again and takes away what a run has left.
func (b *bench) restart(t *testing.T, run string) {
	t.Helper()
	b.dockerd.Stop(syscall.SIGKILL) // says that it was killed
	b.dockerd.Start(t)
	if _, err := b.engine.Clean(t.Context(), run); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkDeploy deploys and destroys the 29 containers and 28 links of
// three-flow, in turns by this package and by containerlab's command. x/command
// is the ratio of both.
func BenchmarkDeploy(b *testing.B) {
	containerlabtest.Program(b)
	command := containerlabtest.Command(b)
	bench, _ := newBench(b)
	var ours, theirs times
	n := 0
	for b.Loop() {
		a, c, err := bench.race(b, command)
		if err != nil {
			b.Fatal(err)
		}
		ours, theirs = ours.plus(a), theirs.plus(c)
		n++
	}
	for name, d := range map[string]time.Duration{
		"s/deploy": ours.deploy, "s/destroy": ours.destroy, "s/command-deploy": theirs.deploy, "s/command-destroy": theirs.destroy,
	} {
		b.ReportMetric(d.Seconds()/float64(n), name)
	}
	b.ReportMetric(ours.sum().Seconds()/theirs.sum().Seconds(), "x/command")
	b.ReportMetric(0, "ns/op") // of both together says nothing
}

// times is how long a lab took.
type times struct{ deploy, destroy time.Duration }

func (a times) sum() time.Duration { return a.deploy + a.destroy }
func (a times) plus(b times) times { return times{a.deploy + b.deploy, a.destroy + b.destroy} }

// commandTime bounds each of containerlab's commands, which take seconds. Their
// containers leave the network "none" all at once, from which Docker 20.10 may
// not come back (moby/moby#46661).
const commandTime = time.Minute

// race deploys and destroys three-flow, first here and then with containerlab's
// command from the same file. The error wraps context.DeadlineExceeded if that
// took longer than commandTime.
func (b *bench) race(t testing.TB, command string) (ours, theirs times, err error) {
	t.Helper()
	g := threeFlow(t)
	lab, _ := b.lab(t, g, "r1")
	start := time.Now()
	d, err := b.engine.Deploy(t.Context(), lab)
	if err != nil {
		return ours, theirs, err
	}
	ours.deploy = time.Since(start)
	if err := b.engine.Destroy(t.Context(), d); err != nil {
		return ours, theirs, err
	}
	ours.destroy = time.Since(start) - ours.deploy

	run := func(args ...string) (time.Duration, error) {
		ctx, cancel := context.WithTimeout(t.Context(), commandTime)
		defer cancel()
		cmd := exec.CommandContext(ctx, command, append(args, "--topo", filepath.Join(lab.Folder, "three-flow.clab.yml"))...)
		cmd.Env = append(os.Environ(), "CLAB_VERSION_CHECK=disable", "TMPDIR="+lab.Folder) // it keeps a copy of the file in TMPDIR
		start := time.Now()
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%v: %w\n%s", cmd, cmp.Or(ctx.Err(), err), out)
		}
		return time.Since(start), err
	}
	if theirs.deploy, err = run("deploy"); err != nil {
		return ours, theirs, err
	}
	list, err := b.docker.ContainerList(t.Context(), container.ListOptions{Filters: filters.NewArgs(filters.Arg("label", "csiglab.run=r1"), filters.Arg("status", "running"))})
	if err != nil || len(list) != len(g.Nodes) {
		return ours, theirs, fmt.Errorf("containerlab made %d containers that run, want %d (%v)", len(list), len(g.Nodes), err)
	}
	theirs.destroy, err = run("destroy", "--cleanup")
	return ours, theirs, err
}
