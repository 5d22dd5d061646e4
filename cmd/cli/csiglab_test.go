package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/doctor"
	"github.com/csiglab/csiglab/cmd/cli/machine"
	"github.com/csiglab/csiglab/cmd/cli/perform"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/labs/application"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/programs/programstest"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
	"github.com/csiglab/csiglab/orchestrator/run/predict"
	"github.com/csiglab/csiglab/reports"
	"github.com/csiglab/csiglab/reports/browsertest"
)

// TestMain lets doctor start this test's program as the probe, and TestLab as
// csiglab.
func TestMain(m *testing.M) {
	asProgram()
	if code, ended := application.Init(); ended { // the init of namespaces that doctor tries
		os.Exit(code)
	}
	if len(os.Args) == 3 && os.Args[1] == machine.ProbeName {
		os.Exit(Main(command.Linked{}))
	}
	code := browsertest.Main(m)
	programstest.Remove()
	os.Exit(code)
}

// fakeLab answers with a summary and remembers what it was asked.
type fakeLab struct {
	set      *experiment.Set
	options  campaign.Options
	summary  runfolder.Summary
	err      error
	ran      int
	runs     []runs.Run
	damaged  []runs.Damaged
	cleaned  []string
	did      []string // to labs
	report   runs.Report
	downErr  error
	progress []campaign.Progress
}

func (f *fakeLab) lab() command.Work {
	return command.Work{Campaigns: command.Campaigns{
		Run: func(_ context.Context, set *experiment.Set, opts campaign.Options) (*campaign.Result, error) {
			f.set, f.options = set, opts
			f.ran++
			for _, p := range f.progress {
				opts.Progress(p)
			}
			return &campaign.Result{Folder: "runs/x", Set: set, Summary: &f.summary, Kept: 1, Runs: 10}, f.err
		},
		Validate: func(set *experiment.Set, _ predict.Visit) (*predict.Validation, error) {
			f.set = set
			return &predict.Validation{
				Hosts: 16, Switches: 13, Links: 36, Flows: 3, Bytes: 600_000_000, LockstepSeconds: 60,
				Prediction: predict.Prediction{CPU: 2 * time.Second, Wall: 1500 * time.Millisecond, Memory: 80e6}, Available: predict.Available{Bytes: 1e9},
			}, f.err
		},
		Report: func(ctx context.Context, folder string, progress func(float64)) (string, *reports.Report, error) {
			if folder != "runs/x" {
				return perform.WriteReport(ctx, folder, progress)
			}
			numbers, err := f.numbers()
			return folder + "/report.html", numbers, err
		},
	}, Labs: command.Labs{
		List:    func(context.Context) ([]runs.Run, error) { return f.runs, f.err },
		Damaged: func() ([]runs.Damaged, error) { return f.damaged, nil },
		Clean: func(_ context.Context, id string, how runs.Cleaner) ([]string, error) {
			f.cleaned = append(f.cleaned, strings.TrimSpace(fmt.Sprintf("%q %v%s", id, how.All, map[bool]string{true: " force"}[how.Force])))
			return []string{"namespace 17"}, f.err
		},
		Start: func(_ context.Context, args, _ []string, _ io.Writer) (string, error) {
			f.did = append(f.did, strings.Join(args, " "))
			return "lab1", f.err
		},
		Down: func(_ context.Context, r runs.Run, _ func(string)) (runs.Report, error) {
			return f.report, f.downErr
		},
		Enter: func(r *runs.Run, n runs.Node, command, _ []string) (int, error) {
			f.did = append(f.did, fmt.Sprintf("%s %s %q", r.ID, n.Name, command))
			return 0, f.err
		},
	}}
}

// someRuns are a lab and a run of one name, and a lab that comes up.
func someRuns() []runs.Run {
	nodes := []runs.Node{{Name: "h0", Kind: "host", Addresses: []string{"10.0.0.1"}}, {Name: "tor0", Kind: "switch"}}
	return []runs.Run{
		{ID: "lab1", Name: "three-flow", Runtime: "netns", Clock: "wall", Dilation: 40, State: runs.Held, Held: true, PID: 42, Folder: "/runs/x", Nodes: nodes, Started: time.Unix(1, 0)},
		{ID: "run2", Name: "three-flow", Runtime: "netns", Clock: "lockstep", State: runs.Running, Nodes: nodes},
		{ID: "lab3", Runtime: "netns", Clock: "wall", State: runs.Running, Held: true, PID: 17},
	}
}

func csiglab(f *fakeLab, env []string, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = execute(context.Background(), command.Linked{}, f.lab(), args, env, &out, &errs)
	return code, out.String(), errs.String()
}

// write makes a file in a fresh folder and returns its name.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const topo = `Nodes 4
Tiers 2
Podsize 4
Tier 0
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 1
Oversubscribed 2
Downlink_Latency_ns 1000
Tier 1
Downlink_speed_Gbps 100
Radix_Down 2
Downlink_Latency_ns 1000
`

const matrix = "Nodes 4\nConnections 2\n0->3 id 1 start 0 size 1000000\n1->2 id 2 start 0 size 500000\n"

// TestWrongUse lists command lines that end in exit code 2 before anything
// runs, with what they are told. FILE is a file of the given text.
func TestWrongUse(t *testing.T) {
	t.Parallel()
	const head = "schema: 1\nname: x\n"
	embedded := strings.Join(experiment.Names(), " ")
	for _, c := range []struct {
		args string
		file string
		env  string
		want string
	}{
		{args: "rnu three-flow", want: `unknown command "rnu" (did you mean "run"?); see csiglab --help`},
		{args: "run three-flow --runtme netns", want: `unknown flag: --runtme (did you mean "--runtime"?); see csiglab run --help`},
		{args: "run three-flow bidir", want: `want an experiment, got 2: ["three-flow" "bidir"]; see csiglab run --help`},
		{args: "run", want: "name an experiment, or give --topology and --workload; embedded: " + embedded},
		{args: "run three-flwo", want: `three-flwo: no such file, nor an embedded experiment; embedded: ` + embedded + ` (did you mean "three-flow"?)`},
		{args: "run x.topo", want: "x.topo: not an experiment; topologies and matrices go with --topology"},
		{args: "run three-flow --payload elide", want: "--payload elide: needs --runtime netns; the runtime inproc has no frames"},
		{args: "run three-flow --processes one", want: "--processes one: needs --runtime netns"},
		{args: "run three-flow --dilation 10", want: "--dilation 10: needs --clock wall; virtual has no wall seconds"},
		{args: "run three-flow --runtime netns --clock wall --shards 2", want: "--shards 2: clock wall in parts needs a network for each"},
		{args: "up three-flow --shards 2", want: "--shards 2: clock wall in parts needs a network for each"},
		{args: "run three-flow --runtime netns --clock wall --dilation 0", want: "--dilation 0: want N at least 1, or auto"},
		{args: "run three-flow --clock wall --dilation=-1", want: "--dilation -1: want N at least 1, or auto"},
		{args: "run three-flow --clock wall --check-parity", want: "--check-parity: clock wall does not claim the trace of a virtual run"},
		{args: "run three-flow --runtime inproc --clock wall", want: "--clock wall: clock: wall needs runtime netns"},
		{args: "run three-flow --clock wall --set wall.budget.rate=-1", want: "wall.budget.rate: -1 is not a share"},
		{args: "run three-flow --parallel 0", want: "--parallel 0: want at least 1"},
		{args: "run /", want: "/: a directory; name a file in it"},
		{args: "run three-flow --seeds 0", want: "--seeds 0: want at least 1"},
		{args: "run three-flow --seeds 10001", want: "--seeds 10001: want 1 to 10000"},
		{args: "run three-flow --seeds 2 --seed 7", want: "--seed 7 and --seeds 2 exclude each other; --set 'seeds=[7]' --seeds 2 begins there"},
		{args: "run three-flow --seed -1", want: "invalid argument \"-1\" for \"--seed\" flag: want a whole number from 0"},
		{args: "run three-flow --seed 7 --set seeds=[1]", want: "--seed 7 and --set seeds=[1] give the same value; want one of them"},
		{args: "run three-flow --runtime netns --set runtime=inproc", want: "--runtime netns and --set runtime=inproc give the same value; want one of them"},
		{args: "run three-flow --variant csgi", want: "--variant \"csgi\": no such variant; known: baseline csig csig-wide (did you mean \"csig\"?)"},
		{args: "validate three-flow --variant csig --variant csig", want: "--variant \"csig\": the variant is given twice"},
		{args: "validate --topology FILE --variant run", file: topo, want: "--variant goes with an experiment"},
		{args: "validate --topology FILE --seed 2", file: topo, want: "--seed goes with an experiment"},
		{args: "run three-flow --set links.mtu --set hosts.cc", want: "--set links.mtu: want path=value, such as hosts.cc.csig=none\n--set hosts.cc: want path=value"},
		{args: "up three-flow --seed 1 --set seeds=[2]", want: "--seed 1 and --set seeds=[2] give the same value; want one of them"},
		{args: "run three-flow --seeds two", want: `invalid argument "two" for "--seeds" flag: want a whole number; see csiglab run --help`},
		{args: "run three-flow --set hosts.cc.csgi=none", want: `--set hosts.cc.csgi=none: hosts.cc.csgi: nscc has no such parameter (did you mean "csig"?)`},
		{args: "run three-flow --set links.mtu=1500", want: `--set links.mtu=1500: links.mtu: size "1500": a unit is missing`},
		{args: "run three-flow --set hosts.lb.paths=3", want: "hosts.lb.paths: 3 is not a power of two from 1 to 4096"},
		{args: "run three-flow --runtime netsn", want: `--runtime netsn: runtime: unknown value "netsn"; known: inproc netns containerlab kubernetes (did you mean "netns"?)`},
		{args: "run three-flow --runtime inproc --clock lockstep", want: "--clock lockstep: clock: lockstep needs runtime netns"},
		{args: "run three-flow --payload none", want: `--payload "none": want one of full, elide`},
		{args: "run three-flow --parallel -1", want: "--parallel -1: want at least 1"},
		{args: "run three-flow --cc nscc", want: "--cc goes with --topology; change an experiment with --set"},
		{args: "run three-flow", env: "CSIGLAB_PARALLEL=many", want: `environment variable CSIGLAB_PARALLEL: "many": `},
		{args: "run three-flow", env: "CSIGLAB_LINK_MTU=1kB", want: `CSIGLAB_LINK_MTU: sets nothing that an experiment has (did you mean "CSIGLAB_LINKS_MTU"?)`},
		{args: "run three-flow", env: "CSIGLAB_END=5", want: `environment variable CSIGLAB_END: end: duration "5": a unit is missing`},
		{args: "run --topology FILE", file: topo, want: ": needs --workload"},
		{args: "run --workload FILE", file: matrix, want: ": needs --topology"},
		{args: "run three-flow --topology FILE", file: topo, want: `experiment "three-flow" and --topology or --workload exclude each other`},
		{args: "run --topology FILE --workload nowhere.cm", file: topo, want: "--workload nowhere.cm: workload.file: file "},
		{args: "run --topology FILE --workload FILE --cc swfit", file: topo, want: `--cc swfit: hosts.cc.name: unknown algorithm "swfit"`},
		{args: "run --topology FILE --workload FILE --csig max-dealy", file: topo, want: `hosts.cc.csig: unknown value "max-dealy"; known: none max-delay (did you mean "max-delay"?)`},
		{args: "run --topology FILE --workload FILE --csig max-delay --format none", file: topo, want: "--csig max-delay: hosts.cc.csig: max-delay needs a CSIG tag"},
		{args: "validate FILE", file: head + "topolgy: {}\nworkload: {}\n", want: `FILE:3:1: topolgy: unknown key "topolgy" (did you mean "topology"?)`},
		{args: "validate FILE", file: head + "topology: {fat_tree: {hosts: 16\n", want: "FILE:3:22: not valid YAML"},
		{args: "validate FILE", file: "", want: "FILE:1:1: the file is empty"},
		{args: "validate FILE", file: head, want: `FILE:1:1: the key "topology" is missing`},
		{args: "validate --topology FILE", file: strings.Replace(topo, "Podsize 4", "Podsize four", 1), want: "FILE:3:"},
		{args: "validate --topology FILE", file: strings.Replace(topo, "Radix_Down", "Radix_Dwon", 1), want: "FILE:6:1: "},
		{args: "validate --topology FILE", file: topo[:60], want: "FILE:"},
		{args: "validate --topology FILE --workload FILE", file: topo, want: "FILE:2:1: unknown word \"Tiers\""},
		{args: "validate --topology FILE --set links.mtu=1kB", file: topo, want: "--set goes with an experiment"},
		{args: "validate --topology FILE --start-unit us", file: topo, want: "--start-unit goes with --workload"},
		{args: "validate --topology /", want: "/: not a regular file"},
		{args: "validate --topology nowhere.topo", want: "nowhere.topo: no such file or directory"},
		{args: "validate --workload FILE", file: strings.Replace(matrix, "0->3", "3->3", 1), want: "FILE:3:"},
		{args: "validate --workload FILE", file: strings.Replace(matrix, "0->3", "0->4", 1), want: "FILE:3:"},
		{args: "validate --workload FILE", file: strings.Replace(matrix, "Connections 2", "Connections 3", 1), want: "FILE:"},
		{args: "validate --workload FILE --start-unit ms", file: matrix, want: "--start-unit: "},
		{args: "report", want: "want a run's folder, got 0: []; see csiglab report --help"},
		{args: "run three-flow --processes many", want: `--processes "many": want one of node, one`},
		{args: "report nowhere --markdown --json", want: "--markdown and --json exclude each other"},
		{args: "report nowhere --json", want: "open run folder nowhere: "},
		{args: "report nowhere", want: "open run folder nowhere: "},
		{args: "report FILE", file: "x", want: "this is not a run folder of csiglab"},
		{args: "graph", want: "name an experiment, or give --topology; embedded: "},
		{args: "graph three-flow bidir", want: `want an experiment, got 2: ["three-flow" "bidir"]; see csiglab graph --help`},
		{args: "graph three-flwo", want: `(did you mean "three-flow"?)`},
		{args: "graph three-flow --format svgg", want: `--format "svgg": want one of svg, mermaid (did you mean "svg"?)`},
		{args: "graph three-flow --topology FILE", file: topo, want: `experiment "three-flow" and --topology exclude each other`},
		{args: "graph --topology FILE --set links.mtu=1kB", file: topo, want: "--variant and --set change an experiment"},
		{args: "graph --topology FILE", file: strings.Replace(topo, "Radix_Down", "Radix_Dwon", 1), want: "FILE:6:1: "},
		{args: "graph --topology nowhere.topo", want: "nowhere.topo: no such file or directory"},
		{args: "graph mine.topo", want: "mine.topo: not an experiment; draw a topology with --topology mine.topo"},
		{args: "graph three-flow --variant csgi", want: `--variant "csgi": three-flow has no such variant (did you mean "csig"?); known: baseline csig csig-wide`},
		{args: "graph three-flow --set topology", want: "--set topology: want path=value"},
		{args: "graph all-to-all --set topology.k_ary.k=5", want: "topology.k_ary.k: 5 is odd"},
		{args: "graph all-to-all --set topology.k_ary.k=20 --set workload.all_to_all.hosts=16", want: "too large to draw: 2500 nodes, the most is 2048"},
		{args: "graph three-flow --out /nowhere/x.svg", want: "--out /nowhere/x.svg: no such file or directory"},
		{args: "topo exprt", want: `unknown command "exprt" (did you mean "export"?); see csiglab topo --help`},
		{args: "topo export --format dot", want: "name an experiment, or give --topology; embedded: "},
		{args: "topo export three-flow", want: `--format "": want one of htsim, dot, clab, c9s, sai`},
		{args: "topo export three-flow --format dto", want: `--format "dto": want one of htsim, dot, clab, c9s, sai (did you mean "dot"?)`},
		{args: "topo export three-flow --format dot --shards 2", want: "--shards goes with --format clab"},
		{args: "topo export three-flow --format c9s --shards 2", want: "--shards goes with --format clab; clabernetes places the nodes of a topology itself"},
		{args: "topo export three-flow --format clab --shards 0 --out x", want: "--shards 0: want at least 1"},
		{args: "topo export three-flow --format clab --shards 2 --remotes 192.0.2.1,192.0.2.2", want: "--shards writes a file for each machine: name their folder with --out"},
		{args: "topo export three-flow --format clab --shards 2 --out x", want: "--remotes: 0 addresses for 2 machines; want one each"},
		{args: "topo export three-flow --format clab --shards 2 --remotes a,b --out x", want: `--remotes: "a" is no IP address`},
		{args: "topo export three-flow --format clab --remotes 192.0.2.1", want: "--remotes goes with --shards"},
		{args: "topo export three-flow --format clab --vni 7", want: "--vni goes with --shards"},
		{args: "topo export three-flow --format clab --api-group c9s.run", want: "--api-group goes with --format c9s"},
		{args: "topo export --topology ../../docs/examples/fat-tree-16.topo --format sai", want: "--format sai needs an experiment"},
		{args: "topo export three-flow --format c9s --api-group c9s", want: `--api-group "c9s": want one of c9s.run, clabernetes.containerlab.dev`},
		{args: "validate three-flow --shards 0", want: "--shards 0: want at least 1"},
		{args: "validate --topology FILE --shards 2", file: topo, want: "--shards goes with an experiment"},
		{args: "topo export dragonfly --format htsim", want: "topology dragonfly-1-2-1: htsim's format has fat trees and leaf-spine fabrics only"},
		{args: "topo export all-to-all --format htsim --set topology.k_ary.rate=2.5Gbps", want: "rate 2.5Gbps is not a whole number of Gbps"},
		{args: "topo export all-to-all --format htsim --set topology.k_ary.delay=1500ps", want: "must be whole nanoseconds"},
		{args: "clean r1 --all", want: `run "r1" and --all exclude each other`},
		{args: "up", want: "name an experiment, or give --topology and --workload; embedded: "},
		{args: "up three-flow bidir", want: `want an experiment, got 2: ["three-flow" "bidir"]; see csiglab up --help`},
		{args: "up three-flwo", want: `(did you mean "three-flow"?)`},
		{args: "up three-flow --clock lockstep", want: "--clock lockstep: a lab runs in real time, under clock wall"},
		{args: "up three-flow --runtime inproc", want: "--runtime inproc: a lab has real nodes; want netns, containerlab or kubernetes"},
		{args: "up three-flow --runtime netsn", want: `unknown value "netsn"; known: inproc netns containerlab kubernetes (did you mean "netns"?)`},
		{args: "up three-flow --seeds 2", want: "--seeds 2: a lab is one run, with the first seed; --seed chooses another"},
		{args: "up three-flow --variant csgi", want: `--variant "csgi": three-flow has no such variant (did you mean "csig"?); known: baseline csig csig-wide`},
		{args: "up three-flow --variant csig --variant baseline", want: `invalid argument "baseline" for "--variant" flag: "csig" is given already; there is one`},
		{args: "graph three-flow --variant csig --variant baseline", want: `invalid argument "baseline" for "--variant" flag: "csig" is given already; there is one`},
		{args: "up three-flow --dilation=-1", want: "--dilation -1: want N at least 1, or auto"},
		{args: "up three-flow --processes many", want: `--processes "many": want one of node, one`},
		{args: "up three-flow --runtime containerlab --processes one", want: "--processes one: needs --runtime netns"},
		{args: "up three-flow --check-parity", want: "unknown flag: --check-parity"},
		{args: "up three-flow --set links.mtu=1500", want: `links.mtu: size "1500": a unit is missing`},
		{args: "up --topology FILE", file: topo, want: ": needs --workload"},
		{args: "down", want: "name a lab, or give --all; csiglab ps lists them"},
		{args: "down lab1 --all", want: `lab "lab1" and --all exclude each other`},
		{args: "down lba1", want: `run "lba1": there is no such run (did you mean "lab1"?); known: lab1 three-flow run2 three-flow lab3`},
		{args: "down lab1 nowhere", want: `run "nowhere": there is no such run; known: lab1 three-flow run2 three-flow lab3`},
		{args: "down run2", want: "run run2 is no lab and ends by itself"},
		{args: "down lab3", want: "lab lab3 is not up yet; interrupt its csiglab up (process 17) to end it"},
		{args: "down three-flow", want: "run \"three-flow\": there are 2 of them; write an id in its place, such as run2 for the one that was started last:\n  lab1  three-flow, held, since "},
		{args: "inspect", want: "want a lab, got 0: []; see csiglab inspect --help"},
		{args: "inspect lab1 run2", want: `want a lab, got 2: ["lab1" "run2"]`},
		{args: "inspect nowhere", want: `run "nowhere": there is no such run; known: lab1 three-flow run2 three-flow lab3`},
		{args: "exec", want: "want a lab, a node and a command, got []; see csiglab exec --help"},
		{args: "exec lab1 h0 --", want: `want a lab, a node and a command, got ["lab1" "h0" "--"]`},
		{args: "exec --it lab1 h0 -- sh", want: "unknown flag: --it; see csiglab exec --help"},
		{args: "exec nowhere h0 -- true", want: `run "nowhere": there is no such run`},
		{args: "exec three-flow h0 -- true", want: "there are 2 of them; write an id in its place"},
		{args: "exec lab1 h01 -- true", want: `node "h01": there is no such node (did you mean "h0"?); known: h0 tor0`},
		{args: "exec lab1 10.0.0.7 -- true", want: `node "10.0.0.7": there is no such node (did you mean "10.0.0.1"?); known: 10.0.0.1`},
		{args: "ps now", want: `unknown command "now" for "csiglab ps"`},
		{args: machine.ProbeName + " here", want: "this is for doctor, in a network namespace of its own"},
	} {
		t.Run(c.args+" "+c.env, func(t *testing.T) {
			t.Parallel()
			file := write(t, "input", c.file)
			args := strings.Fields(strings.ReplaceAll(c.args, "FILE", file))
			var env []string
			if c.env != "" {
				env = []string{c.env}
			}
			f := fakeLab{runs: someRuns()}
			code, stdout, stderr := csiglab(&f, env, args...)
			if want := strings.ReplaceAll(c.want, "FILE", file); code != command.ExitUsage || !strings.Contains(stderr, want) {
				t.Errorf("exit %d, want %d\ngot  %swant %s", code, command.ExitUsage, stderr, want)
			}
			if stdout != "" || f.ran != 0 || len(f.did) > 0 {
				t.Errorf("%d runs, %q, standard output %q; want none", f.ran, f.did, stdout)
			}
		})
	}
}

// TestStandardOutputIsFull holds that a result that cannot be printed is an
// error, not a success without a result.
func TestStandardOutputIsFull(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	for _, args := range []string{"run three-flow", "run three-flow --json", "validate three-flow", "validate three-flow --json"} {
		var errs bytes.Buffer
		f := &fakeLab{summary: summaryOf(nil)}
		code := execute(context.Background(), command.Linked{}, f.lab(), strings.Fields(args), nil, full, &errs)
		if want := "csiglab: standard output: no space left on device\n"; code != command.ExitInfrastructure || errs.String() != want {
			t.Errorf("%s: exit %d, %q; want %d, %q", args, code, errs.String(), command.ExitInfrastructure, want)
		}
	}
}

func TestNoPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read every file")
	}
	file := write(t, "x.yaml", "schema: 1\n")
	if err := os.Chmod(file, 0); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"run", file}, {"validate", "--topology", file}, {"run", "--topology", file, "--workload", file}} {
		code, _, stderr := csiglab(&fakeLab{}, nil, args...)
		if code != command.ExitUsage || !strings.Contains(stderr, "permission denied") {
			t.Errorf("%q: exit %d, %s; want %d and permission denied", args, code, stderr, command.ExitUsage)
		}
	}
}

func summaryOf(set map[string]float64, expectations ...runfolder.Expectation) runfolder.Summary {
	var list []runfolder.RunMetrics
	for variant, ratio := range set {
		list = append(list, runfolder.RunMetrics{Variant: variant, Seed: 1, Metrics: map[string]float64{"fairness_ratio": ratio, "trims": 7}})
	}
	s := runfolder.NewSummary("three-flow", list...)
	s.Expectations = expectations
	return s
}

func TestExitCodes(t *testing.T) {
	valid := summaryOf(map[string]float64{"baseline": 4.6, "csig": 2.3})
	failed := summaryOf(nil, runfolder.Expectation{Expr: "a.b > 1", Text: "a.b = 0.5 > 1", Value: 0.5})
	invalid := valid
	invalid.Valid, invalid.Reasons = false, []string{"a frame is missing on link tor0-agg0"}
	for _, c := range []struct {
		name    string
		summary runfolder.Summary
		err     error
		want    int
		says    string
	}{
		{"all held", valid, nil, 0, "report  runs/x/report.html"},
		{"an expectation failed", failed, nil, 1, "a.b = 0.5 > 1 FAILED"},
		{"configuration", valid, fmt.Errorf("%w: no such queue", failure.ErrConfiguration), 2, "csiglab: configuration: no such queue"},
		{"invalid", invalid, nil, 3, "  a frame is missing on link tor0-agg0"},
		{"infrastructure", valid, errors.New("node agg0 died"), 3, "node agg0 died\nthe run is incomplete: 1 of 10 runs has finished and is kept in runs/x; csiglab run --resume runs/x does the rest"},
	} {
		f := &fakeLab{summary: c.summary, err: c.err}
		code, stdout, stderr := csiglab(f, nil, "run", "three-flow")
		if code != c.want || !strings.Contains(stdout+stderr, c.says) {
			t.Errorf("%s: exit %d, want %d; said:\n%s%s\nwant: %s", c.name, code, c.want, stdout, stderr, c.says)
		}
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	l := (&fakeLab{}).lab()
	l.Run = func(ctx context.Context, _ *experiment.Set, _ campaign.Options) (*campaign.Result, error) {
		cancel()
		return &campaign.Result{Folder: "runs/x", Notes: []string{"prio is not used"}}, fmt.Errorf("variant a: %w", context.Cause(ctx))
	}
	const want = "note: prio is not used\ncsiglab: interrupted\nthe run is incomplete: no run has finished; what it left is in runs/x; csiglab run --resume runs/x does the rest\n"
	var out, errs bytes.Buffer
	if code := execute(ctx, command.Linked{}, l, []string{"run", "three-flow"}, nil, &out, &errs); code != command.ExitInfrastructure || errs.String() != want {
		t.Errorf("exit %d, %q; want %d, %q", code, errs.String(), command.ExitInfrastructure, want)
	}
}

func TestJSONIsAlone(t *testing.T) {
	f := &fakeLab{
		summary:  summaryOf(map[string]float64{"baseline": 4.6}),
		progress: []campaign.Progress{{Done: 1, Total: 2, Variant: "baseline", Seed: 1, ETA: 3 * time.Second}, {Done: 2, Total: 2, Variant: "csig", Seed: 1}},
	}
	code, stdout, stderr := csiglab(f, nil, "run", "three-flow", "--json")
	var got runfolder.Summary
	if err := json.Unmarshal([]byte(stdout), &got); code != 0 || err != nil {
		t.Fatalf("exit %d, %v of %s", code, err, stdout)
	}
	if diff := cmp.Diff(got, f.summary); diff != "" {
		t.Errorf("got - want +:\n%s", diff)
	}
	if stderr != "" {
		t.Errorf("progress of less than a second: %q", stderr)
	}
}

func TestRunPassesItsFlags(t *testing.T) {
	f := &fakeLab{summary: summaryOf(nil)}
	code, _, stderr := csiglab(f, []string{"CSIGLAB_OUT=from-env", "CSIGLAB_PARALLEL=3", "CSIGLAB_LINKS_TRIM=false", "HOME=/"},
		"run", "three-flow", "--runtime", "netns", "--seeds", "2", "--set", "links.mtu=2000B", "--check-parity",
		"--processes", "one", "--payload", "elide", "--inject", "drop=tor0-agg0:7", "--parallel", "4")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	o := f.options
	o.Progress, o.Announce, o.Version = nil, nil, ""
	want := campaign.Options{
		Out: "from-env", Payload: "elide", Processes: "one", Shards: 1, CheckParity: true, Inject: []string{"drop=tor0-agg0:7"}, Parallel: 4,
		Command: append([]string{"csiglab"}, "run", "three-flow", "--runtime", "netns", "--seeds", "2", "--set", "links.mtu=2000B", "--check-parity",
			"--processes", "one", "--payload", "elide", "--inject", "drop=tor0-agg0:7", "--parallel", "4"),
	}
	if diff := cmp.Diff(o, want); diff != "" {
		t.Errorf("options, got - want +:\n%s", diff)
	}
	e := f.set.Variants[1].Experiment
	got := fmt.Sprint(e.Runtime, " ", e.Clock, " ", e.Links.MTU, e.Links.Trim, e.Seeds)
	if want := "netns lockstep 2kB false [1 2]"; got != want {
		t.Errorf("experiment: got %s, want %s", got, want)
	}
}

func TestRunWithoutAnExperiment(t *testing.T) {
	topology, workload := write(t, "Fat_Tree.topo", topo), write(t, "two.cm", matrix)
	for _, c := range []struct{ args, want string }{
		{"", "none none mixed [1]"},
		{"--csig max-delay --seed 7", "compact max-delay mixed [7]"},
		{"--csig max-delay --format wide --lb single --cc nscc", "wide max-delay single [1]"},
	} {
		f := &fakeLab{summary: summaryOf(nil)}
		args := append([]string{"run", "--topology", topology, "--workload", workload}, strings.Fields(c.args)...)
		if code, _, stderr := csiglab(f, nil, args...); code != 0 {
			t.Errorf("%s: exit %d: %s", c.args, code, stderr)
			continue
		}
		e := f.set.Variants[0].Experiment
		got := fmt.Sprint(e.CSIG.Format, " ", e.Hosts.CC.Params["csig"], " ", e.Hosts.LB.Name, " ", e.Seeds)
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.args, got, c.want)
		}
		if e.Topology.Spec != experiment.TopologyFile(topology) || e.Workload.Spec != experiment.WorkloadFile(workload) || e.Workload.StartJitter != 0 || f.set.Variants[0].Name != "run" || e.Name != "run-fat-tree-two" {
			t.Errorf("%s: got variant %s of %+v", c.args, f.set.Variants[0].Name, e)
		}
	}
}

func TestVerdictTable(t *testing.T) {
	f := &fakeLab{summary: summaryOf(map[string]float64{"baseline": 4.65, "csig": 2.1},
		runfolder.Expectation{Expr: "csig.fairness_ratio < 3", Text: "csig.fairness_ratio = 2.1 < 3", OK: true, Value: 2.1})}
	code, stdout, _ := csiglab(f, nil, "demo")
	for _, want := range []string{
		"three-flow, median of 5 seeds  baseline  csig  csig-wide\n",
		"fairness_ratio                 4.65      2.1   -\n",
		"trims                          7         7     -\n",
		"baseline fairness_ratio  5       4.65  4.4 to 5.1  reproduced\n",
		"csig fairness_ratio      2.3     2.1   2.2 to 2.4  outside the band\n",
		"\ncsig fairness_ratio: The decoding of 500 ns buckets",
		"csig.fairness_ratio = 2.1 < 3 OK\n\nThe bottleneck is tor0 → agg0, 99 % busy in csig, with a mean queue of 50\u00a0kB.\n\n",
		"report  runs/x/report.html\n",
	} {
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("exit %d; %q is not in:\n%s", code, want, stdout)
		}
	}
	if strings.Contains(stdout, "INVALID") || strings.Contains(stdout, "drops") {
		t.Errorf("a valid run without drops says:\n%s", stdout)
	}
}

// TestDoctor holds that every check that fails names a fix, and that leftovers
// are reported.
func TestDoctor(t *testing.T) {
	f := &fakeLab{runs: []runs.Run{{ID: "r1", State: runs.Dead}, {ID: "r2", State: runs.Running}}}
	code, stdout, stderr := csiglab(f, nil, "doctor", "--json", "--out", t.TempDir())
	var got []doctor.Finding
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatalf("%v: %s%s", err, stdout, stderr)
	}
	healthy, names := command.ExitOK, map[string]doctor.Finding{}
	for _, f := range got {
		names[f.Name] = f
		if !f.OK && !f.Optional {
			healthy = command.ExitInfrastructure
		}
		if f.Detail == "" || f.OK != (f.Fix == "") {
			t.Errorf("%+v: want a detail, and a fix when it failed", f)
		}
	}
	if code != healthy {
		t.Errorf("exit %d, want %d for %s", code, healthy, stdout)
	}
	for _, name := range []string{"kernel namespaces", "user namespaces", "veth links", "AF_PACKET", "capabilities", "network namespaces", "traffic shaping", "real-time priority", "namespaces of programs", "cores", "disk", "csig-switch", "csig-host", "csiglab-lab", "csiglab-serve", "csiglab-cluster"} {
		if _, ok := names[name]; !ok {
			t.Errorf("no check of %s", name)
		}
	}
	if left := names["leftover runs"]; left.OK || left.Detail != "r1" {
		t.Errorf("leftovers: got %+v, want r1", left)
	}
}

func TestProbeLeavesDoctorsNetworkAlone(t *testing.T) {
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Skip(err)
	}
	if code, stdout, stderr := csiglab(&fakeLab{}, nil, machine.ProbeName, own); code != command.ExitUsage || stdout != "" {
		t.Errorf("exit %d, %s%s; want %d and nothing done", code, stdout, stderr, command.ExitUsage)
	}
}

func TestVersion(t *testing.T) {
	if code, stdout, _ := csiglab(&fakeLab{}, nil, "version"); code != 0 || !strings.HasPrefix(stdout, "csiglab ") {
		t.Errorf("exit %d: %s", code, stdout)
	}
}
