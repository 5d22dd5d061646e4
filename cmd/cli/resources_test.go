package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
)

// Too few descriptors, threads or too little memory end csiglab with exit code 3 and
// words, also where they suffice for csiglab but not for the nodes of the run.
func TestTooFewResources(t *testing.T) {
	prlimit, err := exec.LookPath("prlimit")
	if err != nil {
		t.Skip("no prlimit: apt-get install util-linux")
	}
	dir, err := os.MkdirTemp("", "resources") // not t.TempDir, whose folders are one user's
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	programs := builtPrograms(t)
	file := filepath.Join(dir, "small.yaml")
	small := `
schema: 1
name: small
topology:
  dragonfly: {p: 1, a: 1, h: 1, rate: 100Gbps, delay: 1us}
workload:
  transfers: [0 -> 1 100kB]
`
	if err := os.WriteFile(file, []byte(small), 0o644); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		limit, runtime string
		want           string // "": the run ends well
	}{
		{"--nofile=3", "inproc", "too few descriptors: csiglab may have 3 and needs at least 24; see ulimit -n"},
		{"--nofile=5", "inproc", "too few descriptors: csiglab may have 5 and needs at least 24; see ulimit -n"},
		{"--nofile=12", "inproc", "too few descriptors: csiglab may have 12 and needs at least 24; see ulimit -n"},
		{"--nofile=60", "inproc", ""},
		{"--nofile=24", "netns", "too many open files"},
		{"--nofile=32", "netns", "csiglab may have 32 descriptors (ulimit -n)"},
		{"--nproc=24", "inproc", "; see ulimit -u"},
		{"--as=900000000", "inproc", "too little memory: csiglab may have "},
		{"--as=4000000000", "inproc", ""},
	} {
		if strings.HasPrefix(c.limit, "--nproc") && os.Geteuid() != 0 {
			continue // the limit counts what else this user runs
		}
		kind, number, _ := strings.Cut(c.limit, "=")
		limit, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		var out []byte
		var code int
		for {
			cmd := exec.Command(prlimit, fmt.Sprintf("%s=%d:%d", kind, limit, limit), filepath.Join(programs, "csiglab"),
				"run", file, "--runtime", c.runtime, "--out", filepath.Join(dir, fmt.Sprint(i)))
			if c.runtime != "inproc" {
				cmd.Args = append(cmd.Args, "--clock", "lockstep")
			}
			cmd.Env = []string{"HOME=" + dir, "TMPDIR=" + dir, "PATH=" + os.Getenv("PATH")}
			if os.Geteuid() == 0 { // root has no limit on threads
				const some = 54321 // a user without processes
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: some, Gid: some}}
			}
			out, _ = cmd.CombinedOutput()
			code = cmd.ProcessState.ExitCode()
			// How many threads a run needs depends on the machine: the first limit that it does not keep counts.
			if limit--; kind != "--nproc" || code != 0 || limit == 0 {
				break
			}
			if err := os.RemoveAll(filepath.Join(dir, fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
		}
		want := command.ExitInfrastructure
		if c.want == "" {
			want = command.ExitOK
		}
		if code != want || !strings.Contains(string(out), c.want) || strings.Contains(string(out), "goroutine ") {
			t.Errorf("%s %s: exit code %d, want %d and %q:\n%.2000s", c.limit, c.runtime, code, want, c.want, out)
		}
	}
}
