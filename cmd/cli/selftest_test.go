package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/orchestrator/selftest"
)

// TestSelftestCommand holds what csiglab selftest prints where, and how it ends.
func TestSelftestCommand(t *testing.T) {
	code, stdout, stderr := csiglab(&fakeLab{}, nil, "selftest", "--only", "rate", "--json")
	var report selftest.Report
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != command.ExitOK || len(report.Checks) != 1 || !report.OK || report.Schema != selftest.Schema {
		t.Errorf("--json: exit %d, %v: %s%s", code, err, stdout, stderr)
	}
	if !strings.Contains(stderr, "1 of 1: rate\n") {
		t.Errorf("progress: got %q", stderr)
	}
	code, stdout, _ = csiglab(&fakeLab{}, nil, "selftest", "--only", "delay", "--sources")
	for _, want := range []string{"sensitivity: ", "  ok       delay: ", "predicted 7.01376 us, to the ps", "2kD + ", "1 of 1 checks ok, in "} {
		if code != command.ExitOK || !strings.Contains(stdout, want) {
			t.Errorf("--sources: exit %d, want %q in\n%s", code, want, stdout)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--only", "sensitivty"}, `csiglab: --only: no check or kind of check is called "sensitivty" (did you mean "sensitivity"?); see csiglab selftest --help`},
		{[]string{"--only", ""}, `csiglab: --only: no check or kind of check is called ""; see csiglab selftest --help`},
		{[]string{"rate"}, `csiglab: unknown command "rate" for "csiglab selftest"`},
		{[]string{"--onli", "rate"}, `csiglab: unknown flag: --onli (did you mean "--only"?); see csiglab selftest --help`},
	} {
		if code, stdout, stderr := csiglab(&fakeLab{}, nil, append([]string{"selftest"}, c.args...)...); code != command.ExitUsage || stdout != "" || stderr != c.want+"\n" {
			t.Errorf("%q: exit %d, %q, %q; want %d, %q", c.args, code, stdout, stderr, command.ExitUsage, c.want)
		}
	}
	t.Setenv("TMPDIR", "/nowhere")
	t.Setenv("XDG_CACHE_HOME", "/dev/null/cache")
	if code, _, stderr := csiglab(&fakeLab{}, nil, "selftest"); code != command.ExitInfrastructure || !strings.Contains(stderr, "/nowhere") {
		t.Errorf("without a folder: exit %d, %q", code, stderr)
	}
	code, stdout, _ = csiglab(&fakeLab{}, nil, "__complete", "selftest", "--only", "")
	if code != command.ExitOK || !strings.Contains(stdout, "sensitivity\nrate\n") {
		t.Errorf("completion: exit %d, %s", code, stdout)
	}
	for _, name := range []string{"regress", "bisect", "baseline save"} {
		args := append([]string{"__complete"}, append(strings.Fields(name), "--experiment", "")...)
		if code, stdout, _ := csiglab(&fakeLab{}, nil, args...); code != command.ExitOK || !strings.Contains(stdout, "\nincast\n") {
			t.Errorf("completion of %s --experiment: exit %d, %s", name, code, stdout)
		}
	}
}
