package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/fabrics"
)

// "counts for (16,32,16) without traffic", as they follow from docs/reference/references.md#dragonflies.
func TestTopoCount(t *testing.T) {
	run := func(args ...string) (code int, stdout, stderr string) {
		var out, errs bytes.Buffer
		code = execute(context.Background(), command.Linked{}, newWork(command.Linked{}), append([]string{"topo", "count"}, args...), nil, &out, &errs)
		return code, out.String(), errs.String()
	}
	const largest = "topology.dragonfly={p: 16, a: 32, h: 16, rate: 400Gbps, delay: 1us, arrangement: NAME}"
	for _, name := range []string{"absolute", "relative", "circulant"} {
		code, stdout, stderr := run("dragonfly-72", "--json", "--set", strings.Replace(largest, "NAME", name, 1))
		var c fabrics.FabricCounts
		if err := json.Unmarshal([]byte(stdout), &c); err != nil || code != 0 {
			t.Fatalf("%s: exit code %d, %v: %s%s", name, code, err, stdout, stderr)
		}
		d := c.Dragonfly
		if c.Hosts != 262656 || c.Switches != 16416 || d.Groups != 513 || d.Radix != 63 || d.GlobalLinks != 131328 || d.LocalLinks != 254448 || d.PerPair != 1 || len(d.Distances) != 4 || c.TooLarge == "" {
			t.Errorf("%s: %s", name, stdout)
		}
	}
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"dragonfly-72"}, []string{"72 hosts, 36 switches", "9 groups of 4 routers, each with 7 ports; 54 links within groups, 36 between groups, 1 for each pair", "4 at 0, 20 at 1, 51 at 2, 69 at 3"}},
		{[]string{"dragonfly-72", "--set", "topology.dragonfly.arrangement=circulant"}, []string{"4 at 0, 20 at 1, 54 at 2, 66 at 3"}},
		{[]string{"three-flow"}, []string{"16 hosts, 13 switches", "16 links of hosts, 12 between switches"}},
		{[]string{"three-flow", "--variant", "csig", "--set", "csig.speakers.tiers=[tor]"}, []string{"16 hosts, 13 switches", "8 of the switches speak CSIG"}},
		{[]string{"all-to-all"}, []string{"16 hosts, 20 switches", "16 links of hosts, 32 between switches"}},
	} {
		code, stdout, stderr := run(c.args...)
		if code != 0 || slices.ContainsFunc(c.want, func(want string) bool { return !strings.Contains(stdout, want) }) || strings.Contains(stdout, "too large") {
			t.Errorf("%v: exit code %d, %s%s; want %q", c.args, code, stdout, stderr, c.want)
		}
	}
	for setting, want := range map[string]string{
		"topology.dragonfly.h=3":                  "", // absolute takes any h
		"topology.dragonfly.groups=10":            "topology.dragonfly.groups: 10 is too large; the most is 9",
		"topology.dragonfly.arrangement=circular": `topology.dragonfly.arrangement: unknown value "circular"; known: absolute relative circulant (did you mean "circulant"?)`,
		"topology.dragonfly={p: 1, a: 2, h: 1, rate: 1Gbps, delay: 1us, arrangement: circulant}": "topology.dragonfly.arrangement: circulant needs an even h",
		"topology.dragonfly.ports=6":      "topology.dragonfly.ports: 6",
		"topology.dragonfly.ports=7":      "",
		"topology.dragonfly.p=1000000000": "topology.dragonfly.p: 1000000000 is too large",
	} {
		code, _, stderr := run("dragonfly-72", "--set", setting)
		if want == "" {
			if code != 0 {
				t.Errorf("--set %s: exit code %d, %s", setting, code, stderr)
			}
			continue
		}
		if code != command.ExitUsage || !strings.Contains(stderr, want) {
			t.Errorf("--set %s: exit code %d, %s; want %s", setting, code, stderr, want)
		}
	}
}
