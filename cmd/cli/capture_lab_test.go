package cli

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/nodes/capture/capturetest"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// captured captures links of a lab, until Ctrl-C and for a while.
func captured(u *tool, r runs.Run) {
	u.Helper()
	cmd := u.command("capture", r.ID, "--link", "tor0-agg0", "--out", "live.pcapng")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		u.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		u.Fatal(err)
	}
	said := bufio.NewReader(stderr)
	if line, err := said.ReadString('\n'); err != nil || !strings.HasPrefix(line, "captures tor0:p") {
		u.Fatalf("capture said %q, %v", line, err)
	}
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM} { // at the same time: no second Ctrl-C
		if err := cmd.Process.Signal(s); err != nil {
			u.Fatal(err)
		}
	}
	rest, err := io.ReadAll(said)
	if code := u.code(cmd.Wait()); err != nil || code != command.ExitOK || !strings.Contains(string(rest), " packet") {
		u.Errorf("capture after Ctrl-C: exit %d, said %q, %v", code, rest, err)
	}
	// The file is whole: it is read to its end, whatever the link carried.
	check := func(p capturetest.Packet) {
		if !strings.HasPrefix(p.Port, "tor") && !strings.HasPrefix(p.Port, "agg0") {
			u.Errorf("a packet of %s", p.Port)
		}
	}
	capturetest.ReadFile(u, filepath.Join(u.dir, "live.pcapng"), check)

	stdout, _ := u.want(command.ExitOK, "capture", r.Folder, "--link", "tor1-agg0", "--out", "-", "--duration", "50ms")
	capturetest.Read(u, bytes.NewReader([]byte(stdout)), check)
	// One end shows each packet once, in the order in which the node saw it.
	stdout, said1 := u.want(command.ExitOK, "capture", r.ID, "--link", "tor0-agg0", "--end", "agg0", "--out", "-", "--duration", "200ms")
	if !strings.HasPrefix(said1, "captures agg0:p0\n") {
		u.Errorf("one end: said %q", said1)
	}
	capturetest.Read(u, bytes.NewReader([]byte(stdout)), func(p capturetest.Packet) {
		if p.Port != "agg0:p0" {
			u.Errorf("one end: a packet of %s", p.Port)
		}
	})
	if _, said := u.want(command.ExitOK, "capture", r.ID, "--end", "h0", "--duration", "50ms"); !strings.Contains(said, "wrote h0.pcapng") {
		u.Errorf("the only link of a host: said %q", said)
	}
	for flags, want := range map[string]string{
		"--link tor0-agg0 --end tor1": `capture tor0-agg0: "tor1" is no end of it; it joins tor0 and agg0`,
		"--end agg0":                  "capture: agg0 has 2 links; name one of them with --link: tor0-agg0, tor1-agg0",
		"--end agg7":                  `capture: there is no node "agg7" (did you mean "agg0"?)`,
	} {
		if _, said := u.want(command.ExitUsage, append([]string{"capture", r.ID, "--out", "x"}, strings.Fields(flags)...)...); !strings.Contains(said, want) {
			u.Errorf("%s: %s, want %s", flags, said, want)
		}
	}
	if _, said := u.want(command.ExitUsage, "capture", r.Name, "--link", "tor0-agg1", "--out", "x"); !strings.Contains(said, `(did you mean "tor0-agg0"?)`) {
		u.Errorf("a link that is not there: %s", said)
	}
	if left, err := filepath.Glob(filepath.Join(r.Folder, ".live*")); err != nil || len(left) > 0 {
		u.Errorf("captures left %q, %v", left, err)
	}
}
