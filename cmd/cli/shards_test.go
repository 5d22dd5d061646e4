package cli

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/experiments"
	"github.com/csiglab/csiglab/orchestrator/run/predict"
)

// TestValidateShards: validate says how a fabric is cut, and what that costs.
func TestValidateShards(t *testing.T) {
	l := (&fakeLab{}).lab()
	l.Validate = predict.Validate
	validate := func(args ...string) (code int, stdout, stderr string) {
		var out, errs bytes.Buffer
		code = execute(t.Context(), command.Linked{}, l, append([]string{"validate"}, args...), nil, &out, &errs)
		return code, out.String(), errs.String()
	}
	for _, c := range []struct {
		args string
		want []string
	}{
		{"all-to-all --shards 2", []string{"2 parts:\n  part 0: 8 hosts, 10 switches, 50 % of the load\n  part 1: 8 hosts, 10 switches, 50 % of the load\n  8 links cut, lookahead 1us: agg1-core1 ", "frames cross; in lockstep about 16 exchanges, less than 0.5 s, 1."}},
		{"all-to-all --shards 2 --set topology.k_ary.delay=5us", []string{"lookahead 5us"}},
		{"all-to-all --shards 1", []string{"1 part:\n  part 0: 16 hosts, 20 switches, 100 % of the load\n"}},
		{"three-flow --shards 2", []string{"2 parts of baseline, csig, csig-wide:\n", "  csig: about ", " exchanges, 6.1 s, 1.37 times one machine's time\n"}},
		{"dragonfly-72 --shards 3", []string{"part 2: 24 hosts, 12 switches, 33 % of the load\n  27 links cut, lookahead 1us: ", " and 19 more\n"}},
	} {
		code, stdout, stderr := validate(strings.Fields(c.args)...)
		for _, want := range c.want {
			if code != command.ExitOK || !strings.Contains(stdout, want) {
				t.Errorf("%s: exit %d, %s\ngot  %s\nwant %s", c.args, code, stderr, stdout, want)
			}
		}
	}
	if code, _, stderr := validate("all-to-all", "--shards", "37"); code != command.ExitUsage || !strings.Contains(stderr, "cut the fabric into 37 parts: it has 36 nodes, and each part needs one") {
		t.Errorf("37 parts: exit %d, %s", code, stderr)
	}

	code, stdout, stderr := validate("all-to-all", "--shards", "4", "--json")
	var check experiments.Check
	if err := json.Unmarshal([]byte(stdout), &check); code != command.ExitOK || err != nil || len(check.Cuts) != 1 {
		t.Fatalf("exit %d, %s, %v: %s", code, stderr, err, stdout)
	}
	cut, load, nodes := check.Cuts[0], 0.0, 0
	for _, part := range cut.Parts {
		load += part.Load
		nodes += len(part.Nodes)
	}
	if len(cut.Parts) != 4 || nodes != 36 || math.Abs(load-1) > 1e-9 || len(cut.Links) != 12 || cut.Variants[0].Slowdown <= 1 {
		t.Errorf("got %+v", cut)
	}
	// In real time there are no exchanges.
	if code, stdout, stderr := validate("../../docs/examples/lab.yaml", "--shards", "2"); code != command.ExitOK || !strings.Contains(stdout, "frames cross\n") {
		t.Errorf("a lab: exit %d, %s\n%s", code, stderr, stdout)
	}
}
