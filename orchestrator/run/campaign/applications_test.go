package campaign

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/shim"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// besideText has programs on two hosts and a transfer between the others.
const besideText = `
schema: 1
name: beside
topology:
  leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 20Mbps, delay: 2ms}
runtime: netns
clock: wall
wall: {dilation: 1}
links: {queue: 90kB}
csig: {format: compact, signal: nqd, init: 1/4}
workload:
  WORKLOAD
applications:
  hosts: [2, 0]
  mtu: 4000B
  programs:
    - {host: 2, run: iperf3 -s, background: true}
    - {host: 0, run: "iperf3 -u -c 10.0.0.3 -l 9000 -b 4M -t 1", start: 100ms}
`

func TestPlanOfApplications(t *testing.T) {
	set := parseText(t, strings.Replace(besideText, "WORKLOAD", "transfers: [1 -> 3 300kB]", 1))
	p, err := plan.Compile(set.Variants[0].Experiment, 1)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i, f := range p.Flows {
		names = append(names, fmt.Sprintf("%s %d->%d", f.Name, f.Src, f.Dst))
		if int(f.Flow) != i {
			t.Errorf("flow %d has number %d", i, f.Flow)
		}
	}
	if diff := cmp.Diff([]string{"1-3 1->3", "h0-h2 app 0->2", "h2-h0 app 2->0"}, names); diff != "" {
		t.Error("flows (-want +got)", diff)
	}
	pairs := []metrics.Pair{{Flow: 1, Source: 0, Destination: 2}, {Flow: 2, Source: 2, Destination: 0}}
	for host, programs := range []bool{true, false, true, false} {
		m := p.Nodes[host]
		if (m.Shim != nil) != programs || (m.Host != nil) == programs {
			t.Errorf("host %d: %+v", host, m)
		}
		if !programs {
			continue
		}
		s := m.Edge()
		if s.Node != host || s.Queue != 90*units.KB || s.Init != (shim.Init{Sampling: csig.Sampling{Every: 4}, Signals: csig.Only(csig.NQD)}) || !cmp.Equal(s.Pairs, pairs) {
			t.Errorf("host %d: %+v", host, *s)
		}
	}
	for _, n := range p.Nodes[p.Hosts():] {
		s := n.Switch
		if !cmp.Equal(s.Pairs, pairs) {
			t.Errorf("switch %s has pairs %v", s.Name, s.Pairs)
		}
	}
	if !p.Format.Raw || !p.Capture().Format.Raw || p.ApplicationMTU != 4*units.KB {
		t.Errorf("format %+v, MTU %v", p.Format, p.ApplicationMTU)
	}
	want := []plan.Program{
		{Host: 2, Args: []string{"iperf3", "-s"}, Background: true},
		{Host: 0, Args: strings.Fields("iperf3 -u -c 10.0.0.3 -l 9000 -b 4M -t 1"), Start: units.Time(100 * units.Millisecond)},
	}
	if diff := cmp.Diff(want, p.Programs); diff != "" {
		t.Error("programs (-want +got)", diff)
	}
}

// A host may run programs beside transfers, also those of a matrix with dependencies
// across hosts. It then has the transport with the edge of a shim below the programs,
// whose port comes before the control ports; a host with programs alone has the shim.
func TestPlanOfSharedHosts(t *testing.T) {
	dir := t.TempDir()
	matrix := "Nodes 4\nConnections 2\nTriggers 1\n1->0 id 7 start 0 size 1000 recv_done_trigger 1\n3->1 id 9 trigger 1 size 1000\ntrigger id 1 oneshot\n"
	if err := os.WriteFile(filepath.Join(dir, "x.cm"), []byte(matrix), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := experiment.Parse("test.yaml", dir, []byte(strings.Replace(besideText, "WORKLOAD", "file: x.cm", 1)), experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Compile(set.Variants[0].Experiment, 1)
	if err != nil {
		t.Fatal(err)
	}
	h := p.Nodes[0].Host
	if h == nil || h.Edge == nil || len(h.Receives) != 1 || h.Control != 1 || p.Nodes[0].Ports() != 3 {
		t.Fatalf("host 0, which runs programs and receives a transfer: %+v", p.Nodes[0])
	}
	alone := p.Nodes[2].Shim
	if alone == nil || p.Nodes[2].Host != nil {
		t.Fatalf("host 2, which only runs programs: %+v", p.Nodes[2])
	}
	if diff := cmp.Diff([]int{0, 2}, p.ApplicationHosts()); diff != "" {
		t.Error("hosts with programs (-want +got)", diff)
	}
	// Both edges are alike but for whose they are.
	edge := *h.Edge
	edge.Node, edge.Name = alone.Node, alone.Name
	if diff := cmp.Diff(alone.EdgeConfig, edge, cmpopts.IgnoreUnexported(csig.Quantiser{})); diff != "" {
		t.Error("edges (-shim +host)", diff)
	}
	if l := p.Control(); len(l) != 1 || l[0].A != (topologies.End{Node: 0, Port: 2}) && l[0].B != (topologies.End{Node: 0, Port: 2}) {
		t.Errorf("control links %+v, want one at port 2 of host 0, after the programs'", l)
	}
	fabric := (&backend.Run{Plan: p}).Fabric("")
	configs, _ := fabric.Configs()
	if ports := configs[0].Ports; len(ports) != 3 || !ports[1].Application || ports[0].Application || ports[2].Application || ports[2].Link != p.Control()[0].Name {
		t.Errorf("the driver's ports of host 0: %+v", ports)
	}
	if ports := configs[2].Ports; len(ports) != 2 || !ports[1].Application {
		t.Errorf("the driver's ports of host 2: %+v", ports)
	}
}

// Programs and transfers share a fabric: the run ends when both have ended. The
// program's datagrams are longer than the MTU.
func TestProgramsBesideTransfers(t *testing.T) {
	needIperf3(t)
	buildNodes(t)
	set := parseText(t, strings.Replace(besideText, "WORKLOAD", "transfers: [1 -> 3 300kB]", 1))
	_, summary := runPrograms(t, set, Options{})
	m := summary.Variants["run"].Metrics
	if m["flows.incomplete"] != 0 || m["fct_us.1-3"] <= 0 {
		t.Errorf("%v flows are incomplete, the transfer took %v us", m["flows.incomplete"], m["fct_us.1-3"])
	}
	if rate := m["rate_gbps.h0-h2 app"] * 1e3; rate < 2 || rate > 6 {
		t.Errorf("the program sent 4 Mb/s, %v arrived", rate)
	}
	for name := range m {
		if strings.HasPrefix(name, "fct_us.h") {
			t.Errorf("%s: a flow of programs has no end", name)
		}
	}
}

// A host runs transfers and programs at once, and nothing is lost: the samples of a
// transfer are of the types that its controller and its policy want, those of the
// programs of the types for their class, and nobody gets another's. A dependency crosses
// from one shared host to a host without programs.
func TestProgramsShareHosts(t *testing.T) {
	needIperf3(t)
	buildNodes(t)
	dir := t.TempDir()
	matrix := "Nodes 4\nConnections 3\nTriggers 1\n0->2 id 1 start 0 size 300000 recv_done_trigger 1\n2->0 id 2 start 0 size 300000\n1->3 id 3 trigger 1 size 50000\ntrigger id 1 oneshot\n"
	if err := os.WriteFile(filepath.Join(dir, "x.cm"), []byte(matrix), 0o600); err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("WORKLOAD", "file: x.cm", "{format: compact, signal: nqd, init: 1/4}", `
  format: wide
  policies:
    - {match: {dscp: [46]}, signals: {nqd: 3, delay: 1}}
    - {match: {flows: ["0-2"]}, signals: {abw-c: 1}}
hosts: {cc: {name: nscc, csig: max-delay}}`, "-b 4M", "-b 4M --dscp 46",
		"  mtu: 4000B", "  mtu: 4000B\n  signals: [abw]").Replace(besideText)
	set, err := experiment.Parse("test.yaml", dir, []byte(text), experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	f, summary := runPrograms(t, set, Options{})
	m := summary.Variants["run"].Metrics
	for _, flow := range []string{"0-2", "2-0", "1-3"} {
		if m["fct_us."+flow] <= 0 {
			t.Errorf("transfer %s took %v us", flow, m["fct_us."+flow])
		}
	}
	if rate := m["rate_gbps.h0-h2 app"] * 1e3; rate < 2 || rate > 6 {
		t.Errorf("the program sent 4 Mb/s, %v arrived", rate)
	}
	if abw := m["abw_gbps.h0-h2 app"] * 1e3; abw <= 0 || abw >= 20 {
		t.Errorf("the programs' tags say that %v Mb/s are available, of 20", abw)
	}
	got := samplesByType(t, f)
	app := got["h0-h2 app"]
	delete(got, "h0-h2 app")
	types := map[string]string{}
	for flow, samples := range got {
		var w csig.Weights
		for typ := range samples {
			w[typ] = 1
		}
		types[flow] = w.String()
	}
	want := map[string]string{"0-2": "abw-c:1 delay:1", "2-0": "delay:1", "1-3": "delay:1", "h2-h0 app": "abw:1"}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Error("types of the samples (-want +got)", diff)
	}
	// 4 Mb/s for a second are 56 datagrams of 9000 B, each three packets of DSCP 46.
	if n := app[csig.NQD] + app[csig.Delay]; n < 100 || app[csig.NQD] < 3*app[csig.Delay]-12 || app[csig.NQD] > 3*app[csig.Delay]+12 || app[csig.ABWC] != 0 {
		t.Errorf("samples of the program's packets %v, want three of nqd for one of delay", app)
	}
}
