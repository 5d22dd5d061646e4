package changes_test

import (
	"os/exec"
	"strings"
	"testing"
)

// A command costs one file in the package of its group, and its name in the group's Commands.
// It is then in csiglab --help, below the heading of the group, has help and exit codes, and
// knows experiments.
func TestCommand(t *testing.T) {
	program := buildWith(t, map[string][]edit{
		"cmd/cli/experiments/experiments.go": {{"schemaCommand(a), ", "seedsCommand(a), "}},
	}, map[string]string{"cmd/cli/experiments/seeds.go": "testdata/seeds/seeds.go"})
	for _, c := range []struct{ args, want string }{
		{"seeds three-flow --seeds 2", "[1 2]\n"},
		{"seeds three-flow --seed 7", "[7]\n"},
		{"seeds --help", "csiglab seeds EXPERIMENT"},
	} {
		out, err := exec.Command(program, strings.Fields(c.args)...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("csiglab %s: %v, want %q:\n%s", c.args, err, c.want, out)
		}
	}
	help, err := exec.Command(program, "--help").Output()
	_, group, _ := strings.Cut(string(help), "Experiments:\n")
	group, _, _ = strings.Cut(group, "\n\n")
	if err != nil || !strings.Contains(group, "  seeds ") {
		t.Errorf("--help: %v, want seeds below its heading:\n%s", err, help)
	}
	if err := exec.Command(program, "seeds").Run(); err == nil || err.(*exec.ExitError).ExitCode() != 2 {
		t.Errorf("seeds without an experiment: %v, want exit code 2", err)
	}
}
