package check_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/orchestrator/backend/inproc"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/run/check"
)

// runFaults runs a plan in virtual time and returns its outcome and the nodes' totals.
func runFaults(t *testing.T, p *plan.Plan) (*backend.Outcome, []metrics.NodeTotals) {
	t.Helper()
	records := backendtest.NewRecords(len(p.Nodes))
	out, err := (inproc.Backend{}).Run(t.Context(), &backend.Run{Plan: p}, backend.Control{Records: records})
	if err != nil {
		t.Fatal(err)
	}
	var nodes []metrics.NodeTotals
	for _, r := range records.Results() {
		nodes = append(nodes, r.NodeTotals)
	}
	return out, nodes
}

// drawnFaults returns faults of every kind at random places and times, some without end.
func drawnFaults(r *rand.Rand) string {
	var faults []string
	for range 1 + r.IntN(4) {
		times := fmt.Sprintf("at: %dus", r.IntN(40))
		if r.IntN(4) > 0 {
			times += fmt.Sprintf(", for: %dus", 1+r.IntN(60))
		}
		kind := []string{
			fmt.Sprintf("kind: down, links: '*', random: %d", 1+r.IntN(3)),
			fmt.Sprintf("kind: down, links: 'tor*', random: %d, reroute_delay: %dus", 1+r.IntN(2), r.IntN(20)),
			fmt.Sprintf("kind: rate, links: '*', random: 2, share: 0.%d", 1+r.IntN(9)),
			fmt.Sprintf("kind: loss, links: '*', random: 3, share: 0.%d, burst: 3", 1+r.IntN(6)),
			fmt.Sprintf("kind: corruption, links: '*', random: 2, share: 0.0%d", 1+r.IntN(9)),
			fmt.Sprintf("kind: restart, switches: '*', random: 1, reroute_delay: %dus", r.IntN(9)),
			"kind: slow_nic, hosts: 'h*', random: 1, rate: 1Gbps",
		}[r.IntN(7)]
		if strings.Contains(kind, "restart") && !strings.Contains(times, "for") {
			times += ", for: 20us"
		}
		faults = append(faults, "{"+times+", "+kind+"}")
	}
	return strings.Join(faults, ", ")
}

// No packet appears or vanishes, whatever faults there are: what they dropped is counted,
// flows complete or are left no way by a fault without end, and the run ends.
func TestConservationWithFaults(t *testing.T) {
	seed := rand.Uint64()
	fabrics := 60
	if checkout.Long(t) {
		fabrics = 10
	}
	dropped := int64(0)
	for i := range fabrics {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		text := fmt.Sprintf(`schema: 1
name: drawn
topology: {leaf_spine: {leaves: %d, spines: %d, hosts_per_leaf: 2, rate: 100Gbps, delay: %s}}
workload: {permutation: {size: %dkB}}
links: {trim: %v}
faults: [%s]
`, 2+r.IntN(2), 1+r.IntN(3), []string{"100ns", "1us"}[r.IntN(2)], 50+r.IntN(500), r.IntN(2) == 0, drawnFaults(r))
		if r.IntN(3) == 0 {
			text += fmt.Sprintf("end: %dus\n", 50+r.IntN(100))
		}
		if r.IntN(3) == 0 {
			text += "classes: [{name: storage, dscp: 26, lossless: true, match: {flows: ['*']}}]\n"
			text = strings.Replace(text, "permutation: {", "incast: {fan_in: 3, ", 1)
		}
		p := backendtest.Compile(t, text)
		out, nodes := runFaults(t, p)
		for _, c := range []struct {
			ok     bool
			detail string
		}{
			{check.Conservation(p, out, nodes).OK, check.Conservation(p, out, nodes).Detail},
			{check.Completion(p, out, nodes).OK, check.Completion(p, out, nodes).Detail},
		} {
			if !c.ok {
				t.Fatalf("seed %d, fabric %d: %s\n%s", seed, i, c.detail, text)
			}
		}
		for _, n := range nodes {
			for _, f := range n.Faults {
				dropped += f.Arriving + f.Queued
			}
		}
	}
	if dropped == 0 {
		t.Error("no fault dropped anything")
	}
}

// What a fault drops and does not count is found.
func TestConservationFindsAFaultThatCountsNothing(t *testing.T) {
	p := backendtest.Compile(t, `schema: 1
name: x
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}}
workload: {permutation: {size: 1MB}}
faults: [{kind: loss, links: 'tor*', share: 0.1}]
`)
	out, nodes := runFaults(t, p)
	if c := check.Conservation(p, out, nodes); !c.OK {
		t.Fatal(c.Detail)
	}
	for i := range nodes {
		for k := range nodes[i].Drops {
			if d := &nodes[i].Drops[k]; d.Name == "lost on the link" && d.Packets > 0 {
				d.Packets--
				if c := check.Conservation(p, out, nodes); c.OK {
					t.Errorf("%s lacks a packet that was lost, and the check has passed: %s", nodes[i].Name, c.Detail)
				}
				return
			}
		}
	}
	t.Error("nothing was lost")
}
