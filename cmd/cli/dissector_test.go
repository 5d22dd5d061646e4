package cli

import (
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/nodes/capture"
	"github.com/google/go-cmp/cmp"
)

func TestDissector(t *testing.T) {
	code, stdout, stderr := csiglab(&fakeLab{}, nil, "dissector")
	if code != command.ExitOK || stdout != capture.Dissector || stderr != "" {
		t.Errorf("exit %d, %d bytes, said %q; want the %d bytes of the dissector", code, len(stdout), stderr, len(capture.Dissector))
	}
}

func TestCaptureFlag(t *testing.T) {
	f := &fakeLab{summary: summaryOf(nil)}
	code, _, stderr := csiglab(f, nil, "run", "three-flow", "--capture", "tor0-agg0", "--capture", "h1-tor0")
	if code != command.ExitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, v := range f.set.Variants {
		if diff := cmp.Diff(v.Experiment.Capture, []string{"tor0-agg0", "h1-tor0"}); diff != "" {
			t.Errorf("variant %s captures: got - want +:\n%s", v.Name, diff)
		}
	}
	if code, _, _ := csiglab(f, nil, "run", "three-flow", "--capture", "tor0"); code != command.ExitUsage {
		t.Errorf("a name that can be no link: exit %d, want %d", code, command.ExitUsage)
	}
}
