package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
)

// --trace none reaches the experiment; whatever it does not go with is refused.
func TestTraceFlag(t *testing.T) {
	f := &fakeLab{}
	csiglab(f, nil, "run", "incast")
	if f.ran != 1 || f.set.Base.Telemetry.Untraced() {
		t.Errorf("%d runs, without trace hash %v; want one with", f.ran, f.set.Base.Telemetry.Untraced())
	}
	csiglab(f, nil, "run", "incast", "--trace", "none")
	if f.ran != 2 || !f.set.Base.Telemetry.Untraced() || !f.set.Variants[0].Experiment.Telemetry.Untraced() {
		t.Errorf("--trace none: %d runs, without trace hash %v; want a second one without", f.ran, f.set.Base.Telemetry.Untraced())
	}
	for want, args := range map[string][]string{
		`--trace some: telemetry.trace_hash: unknown value "some"`:             {"--trace", "some"},
		"--check-parity compares trace hashes":                                 {"--trace", "none", "--check-parity"},
		"telemetry.trace_hash: none needs clock virtual":                       {"--trace", "none", "--runtime", "netns"},
		"--trace none and --set telemetry.trace_hash=full give the same value": {"--trace", "none", "--set", "telemetry.trace_hash=full"},
	} {
		code, _, stderr := csiglab(f, nil, append([]string{"run", "incast"}, args...)...)
		if code != command.ExitUsage || !strings.Contains(stderr, want) || f.ran != 2 {
			t.Errorf("%q: exit code %d, %d runs, want %d and none:\n%s\nwant %s", args, code, f.ran, command.ExitUsage, stderr, want)
		}
	}
	code, _, stderr := csiglab(f, nil, "run", "--resume", filepath.Join(t.TempDir(), "run"), "--trace", "none")
	if code != command.ExitUsage || !strings.Contains(stderr, "--trace and --resume") {
		t.Errorf("--resume: exit code %d: %s", code, stderr)
	}
}
