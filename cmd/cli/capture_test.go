package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/run/packets"
)

// captureLab answers a capture with the text of what it was asked.
func captureLab(t *testing.T, err error) command.Work {
	t.Helper()
	f := fakeLab{runs: []runs.Run{
		{ID: "aa11", Name: "up", Clock: runtimes.Wall, State: runs.Held, Folder: t.TempDir()},
		{ID: "bb22", Name: "steps", Clock: runtimes.Lockstep, State: runs.Running, Folder: "runs/steps"},
		{ID: "cc33", Name: "gone", Clock: runtimes.Wall, State: runs.Dead},
	}}
	l := f.lab()
	l.Recapture = func(c packets.Recapture, _ context.Context, out io.Writer) error {
		fmt.Fprintf(out, "run %s %s %q %d %v", filepath.Base(c.Folder), c.Link, c.Variant, c.Seed, c.AnySeed)
		return err
	}
	l.Live = func(c packets.Live, _ context.Context, out io.Writer) (*packets.Captured, error) {
		fmt.Fprintf(out, "live %s %s %v %d", c.Run.ID, c.Link, c.Duration, c.Packets)
		return &packets.Captured{Packets: 2, Missed: 1, Ended: c.Duration == 0}, err
	}
	return l
}

func TestCapture(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "folder")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	l := captureLab(t, nil)
	list, err := l.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		want string // on standard output, or in the error
		code int
	}{
		{folder + " --link a-b --out -", `run folder a-b "" 0 true`, command.ExitOK},
		{folder + " --link a-b --out - --variant v --seed 3", `run folder a-b "v" 3 false`, command.ExitOK},
		{"up --link a-b --out -", "live aa11 a-b 0s 0", command.ExitOK},
		{"aa --link a-b --out - --duration 2s --packets 7", "live aa11 a-b 2s 7", command.ExitOK},
		{list[0].Folder + " --link a-b --out -", "live aa11 a-b 0s 0", command.ExitOK}, // its folder, before it is over
		{"", "want a run's folder or a lab", command.ExitUsage},
		{"up", "--link is missing", command.ExitUsage},
		{"nothing --link a-b", `there is no such run`, command.ExitUsage},
		{"steps --link a-b", "csiglab capture runs/steps has its packets when it is over", command.ExitUsage},
		{"gone --link a-b", "csiglab clean cc33", command.ExitInfrastructure},
		{"up --link a-b --seed 1", "--seed: run aa11 is under way", command.ExitUsage},
		{folder + " --link a-b --packets 1", "--packets:", command.ExitUsage},
		{"up --link a-b --packets 0", "--packets 0: want at least 1", command.ExitUsage},
		{"up --link a-b --duration 0s", "--duration 0s: want more than 0", command.ExitUsage},
		{"up --link a-b --duration -1s", "--duration -1s: want more than 0", command.ExitUsage},
		{"up --link a-b --out /nowhere/x", "--out /nowhere/x: no such file or directory", command.ExitUsage},
		{folder + " --link a-b --out /nowhere/x", "--out /nowhere/x: no such file or directory", command.ExitUsage},
	} {
		var stdout, stderr bytes.Buffer
		code := execute(t.Context(), command.Linked{}, l, append([]string{"capture"}, strings.Fields(c.args)...), nil, &stdout, &stderr)
		if got := stdout.String(); code != c.code || c.code == command.ExitOK && got != c.want || c.code != command.ExitOK && !strings.Contains(stderr.String(), c.want) {
			t.Errorf("capture %s: exit %d, wrote %q, said %q; want exit %d, %q", c.args, code, got, stderr.String(), c.code, c.want)
		}
	}
}

// A file is there when the capture is whole, under the link's name by default.
func TestCaptureFile(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(t.TempDir())
	var stdout, stderr bytes.Buffer
	for _, what := range []string{folder, "up"} {
		if code := execute(t.Context(), command.Linked{}, captureLab(t, nil), []string{"capture", what, "--link", "tor0-agg0"}, nil, &stdout, &stderr); code != command.ExitOK {
			t.Fatalf("exit %d: %s", code, stderr.String())
		}
		text, err := os.ReadFile("tor0-agg0.pcapng")
		if err != nil || !strings.Contains(string(text), "tor0-agg0") {
			t.Errorf("%s: the file has %q, %v", what, text, err)
		}
	}
	if stdout.Len() > 0 || !strings.Contains(stderr.String(), "2 packets, 1 more were missed") || !strings.Contains(stderr.String(), "the run has ended") {
		t.Errorf("wrote %q, said %q", stdout.String(), stderr.String())
	}
	for _, c := range []struct {
		err  error
		code int
	}{
		{context.Canceled, command.ExitInfrastructure},
		{failure.ErrConfiguration, command.ExitUsage},
		{failure.ErrInfrastructure, command.ExitInfrastructure},
		{errors.New("damaged"), command.ExitInfrastructure},
	} {
		if code := execute(t.Context(), command.Linked{}, captureLab(t, c.err), []string{"capture", folder, "--link", "x-y"}, nil, &stdout, &stderr); code != c.code {
			t.Errorf("%v: exit %d, want %d", c.err, code, c.code)
		}
	}
	left, err := filepath.Glob(".capture*")
	if more, _ := filepath.Glob("x-y*"); err != nil || len(left)+len(more) > 0 {
		t.Errorf("captures that failed left %q %q, %v", left, more, err)
	}
}

// A pipe at --out gets the packets, and stays.
func TestCaptureIntoPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(pipe, os.O_RDWR, 0) // both ends: nothing waits for the other
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var said bytes.Buffer
	if code := execute(t.Context(), command.Linked{}, captureLab(t, nil), []string{"capture", t.TempDir(), "--link", "a-b", "--out", pipe}, nil, io.Discard, &said); code != command.ExitOK {
		t.Fatalf("exit %d: %s", code, said.String())
	}
	if info, err := os.Stat(pipe); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Fatalf("the pipe is now %v, %v", info, err)
	}
	got := make([]byte, 1<<10)
	if n, err := file.Read(got); err != nil || !strings.Contains(string(got[:n]), " a-b ") {
		t.Errorf("read %q, %v", got[:n], err)
	}
}

// The whole way: a run's folder gives the packets of a link.
func TestCaptureOfRun(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "run")
	var stdout, stderr bytes.Buffer
	args := []string{"run", write(t, "small.yaml", captureExperiment), "--out", folder}
	if code := execute(t.Context(), command.Linked{}, newWork(command.Linked{}), args, nil, &stdout, &stderr); code != command.ExitOK {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	stdout.Reset()
	if code := execute(t.Context(), command.Linked{}, newWork(command.Linked{}), []string{"capture", folder, "--link", "h0-tor0", "--out", "-"}, nil, &stdout, &stderr); code != command.ExitOK {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	if !bytes.HasPrefix(stdout.Bytes(), []byte{0x0a, 0x0d, 0x0d, 0x0a}) {
		t.Errorf("%d bytes, not of a pcapng", stdout.Len())
	}
	if !strings.Contains(stderr.String(), "the trace is that of the run") {
		t.Errorf("said %q", stderr.String())
	}
}

const captureExperiment = `
schema: 1
name: small
topology: {fat_tree: {hosts: 2, pod: 2, tiers: [{down: 1, up: 1, rate: 100Gbps, delay: 1us}, {down: 2, rate: 100Gbps, delay: 1us}]}}
workload: {transfers: [0 -> 1 100kB]}
`

// TestCaptureThatCannotBegin has a capture of a lab fail before its first packet:
// no empty file takes the place of what was there.
func TestCaptureThatCannotBegin(t *testing.T) {
	l := captureLab(t, nil)
	l.Live = func(packets.Live, context.Context, io.Writer) (*packets.Captured, error) {
		return nil, fmt.Errorf("%w: no such link", failure.ErrConfiguration)
	}
	fresh, old := filepath.Join(t.TempDir(), "fresh"), filepath.Join(t.TempDir(), "old")
	if err := os.WriteFile(old, []byte("packets"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{fresh, old} {
		var said bytes.Buffer
		if code := execute(t.Context(), command.Linked{}, l, []string{"capture", "up", "--link", "a-b", "--out", name}, nil, io.Discard, &said); code != command.ExitUsage {
			t.Errorf("--out %s: exit %d, want %d: %s", name, code, command.ExitUsage, said.String())
		}
	}
	if _, err := os.Stat(fresh); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("stat %s: %v, want none", fresh, err)
	}
	if got, err := os.ReadFile(old); err != nil || string(got) != "packets" {
		t.Errorf("%s has %q, %v, want what it had", old, got, err)
	}
}
