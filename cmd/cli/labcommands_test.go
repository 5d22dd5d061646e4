package cli

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/google/go-cmp/cmp"
)

func TestPsAndClean(t *testing.T) {
	f := &fakeLab{runs: []runs.Run{{ID: "r1", Name: "three-flow", Runtime: "netns", Clock: "lockstep", State: runs.Dead}}}
	if code, stdout, _ := csiglab(f, nil, "ps"); code != 0 || !strings.Contains(stdout, "r1   three-flow  netns    lockstep  dead   0 ") {
		t.Errorf("ps: exit %d:\n%s", code, stdout)
	}
	for _, args := range []string{"clean", "clean r1", "clean --all", "clean --force", "clean --force r1"} {
		if code, stdout, _ := csiglab(f, nil, strings.Fields(args)...); code != 0 || stdout != "removed namespace 17\n" {
			t.Errorf("%s: exit %d: %s", args, code, stdout)
		}
	}
	if diff := cmp.Diff(f.cleaned, []string{`"" false`, `"r1" false`, `"" true`, `"" false force`, `"r1" false force`}); diff != "" {
		t.Errorf("cleaned, got - want +:\n%s", diff)
	}
}

// TestLabCommands holds what the commands pass on and print.
func TestLabCommands(t *testing.T) {
	const twin = "note: another three-flow is under way, since 0001-01-01 00:00:00: call this one lab1 and that one run2\n"
	invalid := runs.Report{Code: command.ExitInfrastructure, Output: "INVALID\n", Errors: "note: x\n"}
	for _, c := range []struct {
		args           string
		report         runs.Report
		downErr        error
		code           int
		stdout, stderr string
		did            string
	}{
		{args: "up three-flow --variant csig --dilation 40", did: "[hold three-flow --variant csig --dilation 40]",
			stdout: "lab         lab1\nexperiment  three-flow\nruntime     netns, clock wall, dilation 40, 2 nodes\nfolder      /runs/x\n" +
				"next        csiglab inspect lab1\n            csiglab exec lab1 h0 -- ip address\n            csiglab down lab1\n", stderr: twin},
		{args: "up three-flow", did: "[hold three-flow]", stdout: "lab         lab1",
			stderr: "note: three-flow has 3 variants; the lab is of baseline, --variant chooses another\n" + twin},
		{args: "exec run2 10.0.0.1 ip -br --json a", did: `[run2 h0 ["ip" "-br" "--json" "a"]]`},
		{args: "exec lab1 tor0 -- sh -- x", did: `[lab1 tor0 ["sh" "--" "x"]]`},
		{args: "down lab1", report: runs.Report{Output: "fine\n"}, stdout: "fine\n"},
		{args: "down --all", report: invalid, code: command.ExitInfrastructure, stdout: "INVALID\n", stderr: "note: x\n"},
		{args: "down lab1", report: runs.Report{Code: command.ExitFailed}, code: command.ExitFailed},
		{args: "down lab1", downErr: fmt.Errorf("end: %w", runs.ErrHolderDied), code: command.ExitInfrastructure, stdout: "removed namespace 17\n",
			stderr: "csiglab: lab lab1 has no result: end: its holder has died; it said nothing, so that process 42 was killed, by a user or by the kernel for want of memory, which the kernel's log says\n"},
		{args: "down lab1", downErr: context.Canceled, code: command.ExitInfrastructure, stderr: "csiglab: interrupted; lab lab1 still goes down\n"},
		{args: "inspect lab1", stdout: "experiment  three-flow\nruntime     netns, clock wall, dilation 40\nstate       held, started "},
		{args: "__complete exec lab1 t", stdout: "tor0\tswitch\n"},
		{args: "__complete down ", stdout: "lab1\tthree-flow, held\nrun2\tthree-flow, running\nlab3\t, running\n"},
	} {
		f := &fakeLab{runs: someRuns(), report: c.report, downErr: c.downErr}
		args := strings.Split(c.args, " ")
		code, stdout, stderr := csiglab(f, nil, args...)
		complete := args[0] == "__complete"
		if code != c.code || !strings.Contains(stdout, c.stdout) || stderr != c.stderr && !complete {
			t.Errorf("%s: exit %d, want %d\n%s%s\nwant\n%s%s", c.args, code, c.code, stdout, stderr, c.stdout, c.stderr)
		}
		if c.did != "" && fmt.Sprint(f.did) != c.did {
			t.Errorf("%s: did %s, want %s", c.args, f.did, c.did)
		}
	}
}
