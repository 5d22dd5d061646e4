package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
)

// slowText is a fabric of 1 Mb/s with flows of some kb/s.
const slowText = `schema: 1
name: slow
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 1Mbps, delay: 2ms}}
links: {mtu: 1500B}
workload: {transfers: [0 -> 2 20kB]}
generators: [{host: 1, to: 3, rate: 5kbps, size: 100B}]
telemetry: {interval: 100ms}
end: 3s
`

// The report of a slow fabric has units that fit: kb/s, ms, kB.
func TestUnitsOfASlowFabric(t *testing.T) {
	command := func(args ...string) string {
		var out, errs bytes.Buffer
		if code := execute(context.Background(), command.Linked{}, newWork(command.Linked{}), args, nil, &out, &errs); code != command.ExitOK {
			t.Fatalf("%q: exit %d\n%s%s", args, code, out.String(), errs.String())
		}
		return out.String()
	}
	folder := filepath.Join(t.TempDir(), "run")
	command("run", write(t, "slow.yaml", slowText), "--out", folder)
	page, err := os.ReadFile(filepath.Join(folder, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	text := command("report", folder, "--markdown") + string(page)
	for _, want := range []string{"Size (kB)", "run (ms)", "Throughput (kb/s)", "in windows of 100\u00a0ms", "66.048\u00a0ms", "target queueing delay 49.54 ms"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report has no %q", want)
		}
	}
	for _, wrong := range []string{`[^0-9.]0\.0[0-9]*[\s\x{a0}]+[GM]b/s`, `[0-9]{2}\x{202f}[0-9]{3}[\s\x{a0}]+µs`, `\(µs\)`, `\(Gb/s\)`} {
		if found := regexp.MustCompile(wrong).FindString(text); found != "" {
			t.Errorf("the report says %q", found)
		}
	}
}
