package changes_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
)

// newCommand has the command of testdata/command, and its word.
var newCommand = addition{
	edits: map[string][]edit{"cmd/cli/fabrics/fabrics.go": {{"graphCommand(a), ", "hostsCommand(a), "}}},
	added: map[string]string{"cmd/cli/fabrics/hosts.go": "testdata/command/hosts.go"},
}

// TestCommand adds a command by its file and a word in its group's list. The help has it under
// the heading of the group; its results and its exit codes are as those of the others.
func TestCommand(t *testing.T) {
	program := withAdditions(t)
	help, err := exec.Command(program, "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	_, group, _ := strings.Cut(string(help), "Fabrics and workloads:\n")
	if group, _, _ = strings.Cut(group, "\n\n"); !strings.Contains(group, "  hosts ") {
		t.Errorf("the group has no command hosts:\n%s", help)
	}
	if out, err := exec.Command(program, "hosts", fromRoot("docs/examples/fat-tree-16.topo")).CombinedOutput(); err != nil || string(out) != "16\n" {
		t.Errorf("got %q, %v", out, err)
	}
	wrong := exec.Command(program, "hosts", "none.topo")
	if out, err := wrong.CombinedOutput(); err == nil || wrong.ProcessState.ExitCode() != command.ExitUsage || !strings.HasPrefix(string(out), "csiglab: ") {
		t.Errorf("a file that is not there: exit %d: %s", wrong.ProcessState.ExitCode(), out)
	}
}
