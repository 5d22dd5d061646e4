package measure

import (
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
)

// Names of the figures of groups.
const (
	groupFCT = "fct_us"
	groupRPC = "rpc_us"
)

// exact are the statistics of figures of which a run keeps all values, by name; values
// ascend.
var exact = []struct {
	name string
	of   func(sorted []float64) float64
}{
	{"min", slices.Min[[]float64]}, {"mean", mean}, {"p50", percentile(0.5)}, {"p95", percentile(0.95)}, {"p99", percentile(0.99)},
	{"p999", percentile(0.999)}, {"max", slices.Max[[]float64]},
}

// groupNames declares the metrics of addGroups.
func groupNames(s *subjects) []family {
	names := make([]string, len(exact))
	for i := range exact {
		names[i] = exact[i].name
	}
	var groups, calling []string
	for _, g := range s.Plan.Groups {
		if hasTransfers(s.Plan, g) {
			groups = append(groups, g.Name)
		}
		if len(callsOf(s.Plan, g)) > 0 {
			calling = append(calling, g.Name)
		}
	}
	families := []family{
		{Parts: []*part{Words(groupFCT), Words(names...), Words(groups...)}},
		{Parts: []*part{Words(groupRPC), Words(names...), Words(calling...)}},
	}
	if s.Plan.Transfers > 0 && len(s.Plan.Calls) == 0 {
		families = append(families, family{Parts: []*part{Words(groupRPC), Words(names...), Words(groups...)}, Lacks: "its workload has no RPCs"})
	}
	return families
}

// hasTransfers reports whether flows of a group are transfers. The group of all has its
// figures as those of the run, and so has the only job of a workload without names.
// Connections of training jobs do not complete.
func hasTransfers(p *plan.Plan, g plan.Group) bool {
	if g.Name == plan.AllTransfers || strings.HasPrefix(g.Name, "job-") && len(g.Flows) == p.Completing() {
		return false
	}
	return g.Flows[0] < p.Completing() // ascending
}

// callsOf returns the RPCs whose requests belong to a group.
func callsOf(p *plan.Plan, g plan.Group) []plan.Call {
	var calls []plan.Call
	for _, c := range p.Calls {
		if _, in := slices.BinarySearch(g.Flows, int(c.Request)); in {
			calls = append(calls, c)
		}
	}
	return calls
}

// addGroups adds the completion times of the transfers of each group, and the latencies of
// its RPCs: from the start of the request to the last byte of the response at the client.
func addGroups(e *emitter, r *Run) {
	add := func(quantity, group string, values []float64) {
		if len(values) == 0 {
			return
		}
		slices.Sort(values)
		for _, s := range exact {
			e.named(quantity+"."+s.name, group, quantity+"."+s.name+"."+group, s.of(values), ofRun)
		}
	}
	took := func(from, to units.Time, values []float64) []float64 {
		if from == units.Never || to == units.Never {
			return values
		}
		return append(values, to.Sub(from).Microseconds())
	}
	for _, g := range r.Plan.Groups {
		var values []float64
		if hasTransfers(r.Plan, g) {
			for _, flow := range g.Flows {
				if f := &r.Flows[flow]; flow < r.Plan.Completing() {
					values = took(f.Sender.Start, f.Sender.Done, values)
				}
			}
			add(groupFCT, g.Name, values)
		}
		values = values[:0]
		for _, c := range callsOf(r.Plan, g) {
			values = took(r.Flows[c.Request].Sender.Start, answered(r.Flows, c), values)
		}
		add(groupRPC, g.Name, values)
	}
}

// answered returns when the client has the response, or units.Never.
func answered(flows []metrics.Flow, c plan.Call) units.Time { return flows[c.Response].Receiver.Done }
