package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/nodes/fault"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// resizes returns the sizes that the port of tor0 to agg0 gets with each change of its rate.
func resizes(p *plan.Plan) (list []*dataplane.PortSizes) {
	for n := range p.Nodes {
		if p.Graph.Nodes[n].Name != "tor0" || p.Nodes[n].Faults == nil {
			continue
		}
		for _, c := range p.Nodes[n].Faults.Changes {
			switch {
			case c.Kind != fault.Rate:
			case c.Sizes == 0:
				list = append(list, nil)
			default:
				list = append(list, &p.Nodes[n].Switch.Resized[c.Sizes-1])
			}
		}
	}
	return list
}

// With its rate a port loses its share of what follows from it: it has what a port of a link
// of that rate has; sizes that the file gives are scaled. The other direction, and a fault
// that keeps the buffers, leave it as it is.
func TestRateFaultsScaleBuffers(t *testing.T) {
	const text = `
schema: 1
name: x
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 100Gbps, spine_rate: %s, delay: 1us}}
workload: {permutation: {size: 1MB}}
%s
%s
`
	fault := func(more string) string { return "faults: [{kind: rate, links: tor0-agg0" + more + "}]" }
	compile := func(rate, links, fault string) *plan.Plan {
		return backendtest.Compile(t, fmt.Sprintf(text, rate, links, fault))
	}
	tor := func(p *plan.Plan) dataplane.PortSizes {
		s := p.Switch(4)
		port := &s.Ports[2]
		sizes := dataplane.PortSizes{Buffer: port.Buffer, ECN: port.ECN}
		for i, c := range port.Classes {
			sizes.Classes = append(sizes.Classes, dataplane.ClassSizes{PortClass: c, AQM: s.Classes.AQM[i].Params})
		}
		return sizes
	}
	half := func(got []*dataplane.PortSizes, name string, want dataplane.PortSizes) {
		t.Helper()
		if len(got) != 1 || got[0] == nil {
			t.Fatalf("%s: %d changes, %v, want one with other sizes", name, len(got), got)
		}
		got[0].AQM = nil
		if diff := cmp.Diff(want, *got[0]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, links := range []string{"", "links: {trim: false}", "links: {trim_threshold: auto, last_hop_trim: 1.5}"} {
		slow := compile("50Gbps", links, "")
		got := resizes(compile("100Gbps", links, fault(", rate: 50Gbps")))
		want := tor(slow)
		// The network RTT of the slower fabric is a little longer: a packet more at most.
		if len(got) != 1 || got[0] == nil || got[0].Buffer.Data > want.Buffer.Data || got[0].Buffer.Data < want.Buffer.Data*9/10 ||
			got[0].ECN.Low > want.ECN.Low || got[0].ECN.High > want.ECN.High || got[0].ECN.High < want.ECN.High*8/10 || got[0].Buffer.Control < want.Buffer.Control*9/10 {
			t.Errorf("%q: %+v, want about %+v", links, got, want)
		}
	}
	const given = "links: {queue: 200kB, control_queue: 100kB, trim_threshold: 160kB, ecn: {low: 40kB, high: 120kB}, aqm: {name: red, low: 20kB}}"
	got := resizes(compile("100Gbps", given, fault(", share: 0.25")))
	want := tor(compile("100Gbps", "links: {queue: 50kB, control_queue: 25kB, trim_threshold: 40kB, ecn: {low: 10kB, high: 30kB}}", ""))
	if got[0].AQM["low"] != "5kB" {
		t.Errorf("aqm %v, want low of 5kB", got[0].AQM)
	}
	half(got, "given sizes", want)
	if got := resizes(compile("100Gbps", "", fault(", rate: 50Gbps, buffers: kept"))); len(got) != 1 || got[0] != nil {
		t.Errorf("kept: %v, want its own sizes", got)
	}
	if got := resizes(compile("100Gbps", "", fault(", rate: 50Gbps, direction: down"))); len(got) != 0 {
		t.Errorf("the other direction: %d changes of sizes, want none", len(got))
	}
	if got := resizes(compile("100Gbps", "", fault(", share: 0.001, at: 1us, for: 1us"))); len(got) != 2 || got[1] != nil || got[0].Buffer.Data != 2*4150 {
		t.Errorf("a thousandth: %+v, want two packets, and then its own sizes", got)
	}
	classes := "classes: [{name: default}, {name: lossless, lossless: true, dscp: 20, match: {src: [0]}}]"
	got = resizes(compile("100Gbps", classes, fault(", rate: 50Gbps")))
	slow := tor(compile("50Gbps", classes, ""))
	own := tor(compile("100Gbps", classes, ""))
	if len(got) != 1 || got[0] == nil || len(got[0].Classes) != 2 || got[0].Classes[0].Limits.Data > slow.Classes[0].Limits.Data ||
		got[0].Classes[1].Ingress.XOff > slow.Classes[1].Ingress.XOff || got[0].Classes[1].Ingress.Headroom <= own.Classes[1].Ingress.Headroom {
		t.Errorf("classes: %+v; of a link of the rate %+v, of its own %+v", got[0].Classes, slow.Classes, own.Classes)
	}
}

// Parameters that make no sense at the rate that is left are refused at the fault.
func TestRateFaultsRefuseParameters(t *testing.T) {
	_, err := withFaults(t, 1, "{kind: rate, links: tor0-agg0, share: 0.25}")
	if err != nil {
		t.Fatal(err)
	}
	p := compileFaults(t, 1, "{kind: rate, links: tor0-agg0, share: 0.25, buffers: kept}")
	if !strings.HasSuffix(p.Faults[0].What, "at 25 % of the rate, with the queues of the whole rate") {
		t.Errorf("%q", p.Faults[0].What)
	}
}
