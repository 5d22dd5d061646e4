package campaign

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
)

// agentScript is what mpirun calls in place of ssh: HOST COMMAND…. The nodes share
// /tmp and, below mpirun's, its host name, so that each daemon needs a place of its
// own for its session.
const agentScript = `#!/bin/sh
export TMPDIR="$(mktemp -d "${0%/*}/$1.XXXXXX")"
host=$1; shift
exec csiglab exec "$CSIGLAB_RUN" "$host" -- sh -c "$*"
`

// Issue 3, must show 4: an MPI all-reduce over 4 hosts, with Debian's Open MPI over
// kernel TCP, completes with a right result. Its daemons are started on the other
// hosts through csiglab exec.
func TestMPI(t *testing.T) {
	checkout.SkipLong(t)
	if os.Geteuid() != 0 {
		t.Skip("Open MPI's launcher wants one user everywhere, and csiglab exec privileges here")
	}
	for _, name := range []string{"mpirun", "mpicc"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("needs Open MPI: ", err)
		}
	}
	buildNodes(t)
	dir := t.TempDir()
	if out, err := exec.Command("mpicc", "-O2", "-o", filepath.Join(dir, "allreduce"), filepath.Join("testdata", "allreduce.c")).CombinedOutput(); err != nil {
		t.Fatalf("mpicc: %v\n%s", err, out)
	}
	agent := filepath.Join(dir, "agent")
	if err := os.WriteFile(agent, []byte(agentScript), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	set := parseText(t, fmt.Sprintf(`
schema: 1
name: mpi
topology:
  leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 100Mbps, delay: 1ms}
runtime: netns
clock: wall
wall: {dilation: 1}
csig: {format: wide, interval: 10ms}
end: 1min # if it hangs
applications:
  hosts: [0, 1, 2, 3]
  signals: [abw, delay]
  programs:
    - host: 0
      run: >-
        mpirun --allow-run-as-root --host 10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4 -np 4
        --mca plm_rsh_agent %s --mca pml ob1 --mca btl tcp,self
        --mca btl_tcp_if_include csig0 --mca oob_tcp_if_include csig0 %s
`, agent, filepath.Join(dir, "allreduce")))
	f, summary := runPrograms(t, set, Options{})
	text, err := os.ReadFile(filepath.Join(f.Dir, "programs", "run-1", "h0-0.txt"))
	if want := "4 ranks, 5 rounds, 0 wrong elements"; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("%v: mpirun wrote\n%swant %q", err, text, want)
	}
	if p := f.Manifest.Runs[0].Programs[0]; p.Stopped {
		t.Error("mpirun did not end by itself")
	}
	m := summary.Variants["run"].Metrics
	for _, flow := range []string{"h0-h1", "h1-h0", "h2-h3", "h3-h2"} { // of a recursive doubling
		if m["rate_gbps."+flow+" app"] <= 0 {
			t.Errorf("nothing went from %s", flow)
		}
	}
}
