package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/experiments"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/run/predict"
)

func TestValidateFiles(t *testing.T) {
	topology, workload := write(t, "x.topo", topo), write(t, "y.cm", matrix)
	for _, c := range []struct{ args, want string }{
		{"--topology " + topology, `{"hosts":4,"pods":1,"tors":2,"aggs":1,"cores":0,"links":{"host":4,"tor_agg":2,"agg_core":0}}`},
		{"--topology " + topology + " --workload " + workload, `{"hosts":4,"pods":1,"tors":2,"aggs":1,"cores":0,"links":{"host":4,"tor_agg":2,"agg_core":0},"flows":2,"bytes":1500000}`},
		{"--workload " + workload, `{"bytes":1500000,"flows":2,"hosts":4}`},
	} {
		code, stdout, stderr := csiglab(&fakeLab{}, nil, append([]string{"validate", "--json"}, strings.Fields(c.args)...)...)
		if code != 0 || strings.TrimSpace(stdout) != c.want {
			t.Errorf("%s: exit %d, %s\ngot  %swant %s", c.args, code, stderr, stdout, c.want)
		}
	}
	other := write(t, "z.cm", strings.Replace(matrix, "Nodes 4", "Nodes 8", 1))
	if code, _, stderr := csiglab(&fakeLab{}, nil, "validate", "--topology", topology, "--workload", other); code != command.ExitUsage || !strings.Contains(stderr, "8") {
		t.Errorf("8 hosts on 4: exit %d, %s; want %d and the number", code, stderr, command.ExitUsage)
	}
}

func TestValidateExperiment(t *testing.T) {
	code, stdout, stderr := csiglab(&fakeLab{}, nil, "validate", "three-flow", "--clock", "lockstep", "--json")
	want := `{"name":"three-flow","variants":["baseline","csig","csig-wide"],"seeds":5,"hosts":16,"switches":13,"links":36,"flows":3,"bytes":600000000,"predictedSeconds":60,"predictedMemoryBytes":80000000,"availableMemoryBytes":1000000000,"fitsInMemory":true}`
	if code != 0 || strings.TrimSpace(stdout) != want {
		t.Errorf("exit %d %s\ngot  %swant %s", code, stderr, stdout, want)
	}
}

// What is predicted is what can be known.
func TestValidateText(t *testing.T) {
	l := (&fakeLab{}).lab()
	l.Validate = predict.Validate
	for _, c := range []struct{ args, want string }{
		{"one", "1 variant x 1 seed; 16 hosts, 20 switches, 48 links; 1 flow, 2MB\npredicted: less than 0.5 s with runtime inproc and clock virtual\n"},
		{"three-flow --clock lockstep --runtime netns", "3 flows, 600MB\npredicted: 67 s with runtime netns and clock lockstep\n"},
		{"iperf3", "9 links; 7 programs\ntakes as long as its programs, with runtime netns and clock wall\n"},
		{"../../docs/examples/lab.yaml", "6 links; no traffic\nends at once; csiglab up holds it as a lab, with runtime netns and clock wall\n"},
		{"../../docs/examples/tcp.yaml --set workload.transfers=[{\"src\":1,\"dst\":2,\"size\":2500kB}]", "6 links; 1 flow, 2.5MB, 2 programs\npredicted: 2.0 s, longer if its programs take longer, with runtime netns and clock wall\n"},
		{"../../docs/examples/lab.yaml --json", `"flows":0,"bytes":0,"predictedMemoryBytes":`},
		{"../../docs/examples/tcp.yaml --json", `"fitsInMemory":true,"programs":2}`},
	} {
		var stdout, stderr bytes.Buffer
		if code := execute(t.Context(), command.Linked{}, l, append([]string{"validate"}, strings.Fields(c.args)...), nil, &stdout, &stderr); code != command.ExitOK || !strings.Contains(stdout.String(), c.want) {
			t.Errorf("%s: exit %d, %s\ngot  %swant %s", c.args, code, stderr.String(), stdout.String(), c.want)
		}
	}
}

// validate --verbose prints what auto becomes, by classes of ports and flows.
func TestValidateVerbose(t *testing.T) {
	checkout.SkipSlowRace(t)
	command := func(args ...string) string {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if code := execute(t.Context(), command.Linked{}, newWork(command.Linked{}), args, nil, &stdout, &stderr); code != command.ExitOK {
			t.Fatalf("%q: exit %d, %s", args, code, stderr.String())
		}
		return stdout.String()
	}
	plain, verbose := command("validate", "three-flow"), command("validate", "three-flow", "--verbose", "--set", "variants.csig.hosts.cc.target_qdelay=9us")
	if strings.Contains(plain, "Data queue") {
		t.Errorf("validate without --verbose prints\n%s", plain)
	}
	lines := map[string][]string{}
	for line := range strings.Lines(verbose) {
		fields := regexp.MustCompile(" {2,}").Split(strings.TrimSpace(line), -1)
		lines[fields[0]] = fields[1:]
	}
	for name, want := range map[string][]string{
		"core":                 {"agg", "4", "100 Gb/s", "178.45 kB", "178.45 kB", "356.9 kB", "37.35 kB", "145.25 kB", "linear (high 145.25kB, low 37.35kB)"},
		"base RTT of the path": {"14.02272 µs", "9.34848 µs", "14.02272 µs", "9.34848 µs", "14.02272 µs", "9.34848 µs"},
		"CC target_qdelay":     {"10.51704us", "10.51704us", "9us", "9us", "10.51704us", "10.51704us"},
	} {
		if diff := cmp.Diff(lines[name], want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", name, diff)
		}
	}
	var check struct {
		Parameters map[string]runfolder.Parameters
	}
	if err := json.Unmarshal([]byte(command("validate", "three-flow", "--verbose", "--json")), &check); err != nil {
		t.Fatal(err)
	}
	if p := check.Parameters["csig-wide"]; len(p.Ports) != 6 || len(p.Flows) != 2 || p.Flows[1].Flows != 2 {
		t.Errorf("parameters of csig-wide: %+v", p)
	}
}

// validate compiles each plan once: the parameters of --verbose are of the plans that are
// checked and predicted.
func TestVerboseCompilesOnce(t *testing.T) {
	checkout.SkipSlowRace(t)
	l, visited := newWork(command.Linked{}), 0
	l.Validate = func(ctx context.Context, set *experiment.Set, o predict.Options) (*predict.Validation, error) {
		visit := o.Visit
		o.Visit = func(i int, p *plan.Plan) {
			visited++
			if i == 1 { // the parameters are of this plan and no other
				p.Flows, p.Transfers = p.Flows[:1], 1
			}
			visit(i, p)
		}
		return predict.Validate(ctx, set, o)
	}
	var stdout, stderr bytes.Buffer
	if code := execute(t.Context(), command.Linked{}, l, []string{"validate", "three-flow", "--verbose", "--json"}, nil, &stdout, &stderr); code != command.ExitOK {
		t.Fatalf("exit %d, %s", code, stderr.String())
	}
	var check experiments.Check
	if err := json.Unmarshal(stdout.Bytes(), &check); err != nil {
		t.Fatal(err)
	}
	if visited != 3 || len(check.Parameters) != 3 || len(check.Parameters["csig"].Flows) != 1 || len(check.Parameters["baseline"].Flows) != 2 {
		t.Errorf("%d plans, parameters %+v", visited, check.Parameters)
	}
}
