package campaign

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/failure"
	"github.com/csiglab/csiglab/orchestrator/plan"
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
		s := m.Shim
		if s.Node != host || s.Queue != 90*units.KB || s.Every != 4 || !cmp.Equal(s.Signals, []csig.Type{csig.NQD}) || !cmp.Equal(s.Pairs, pairs) {
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

// A matrix may not use a host that runs programs; that is seen when it is read.
func TestApplicationsAndMatrix(t *testing.T) {
	dir := t.TempDir()
	matrix := "Nodes 4\nConnections 2\n1->3 id 7 start 0 size 1000\n3->0 id 9 start 0 size 1000\n"
	if err := os.WriteFile(filepath.Join(dir, "x.cm"), []byte(matrix), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := experiment.Parse("test.yaml", dir, []byte(strings.Replace(besideText, "WORKLOAD", "file: x.cm", 1)), experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	_, err = plan.Compile(set.Variants[0].Experiment, 1)
	want := "workload: transfer 9 from 3 to 0: host 0 is one of applications.hosts, which have no transport"
	if !errors.Is(err, failure.ErrConfiguration) || err.Error() != want {
		t.Errorf("got %v, want a configuration error: %s", err, want)
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
