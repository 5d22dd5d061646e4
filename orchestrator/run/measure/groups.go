package measure

import (
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
)

// groupMetrics are figures of groups of flows.
var groupMetrics = Group{Title: "Groups of flows", Entries: []*Entry{groupFCT, groupRPC}}

var (
	groupFCT = &Entry{Form: "fct_us.<statistic>.<group>", Words: []*words{namesOf(groupStatistics), {of: groupsThat(hasTransfers)}}, Better: meaning.Lower, Absent: noCompletion,
		Doc: "completion times of the transfers of a group that completed, exact"}
	groupRPC = &Entry{Form: "rpc_us.<statistic>.<group>", Words: []*words{namesOf(groupStatistics), {of: groupsThat(calls)}}, Better: meaning.Lower, Absent: "no RPC of the group was answered",
		Lacking: func(s *subjects) (all []lacking) {
			if len(s.Plan.Calls) > 0 {
				return nil
			}
			for _, name := range groupsThat(hasTransfers)(s) {
				all = append(all, lacking{name, "its workload has no RPCs"})
			}
			return all
		},
		Doc: "latencies of the RPCs of a group (`workload.traffic[].rpc` with a response), exact: from the start of the request, jitter included, to the last byte of the response at the client"}
)

// groupsThat returns the function for the names of the groups that are so.
func groupsThat(are func(*plan.Plan, plan.Group) bool) func(s *subjects) []string {
	return func(s *subjects) (names []string) {
		for _, g := range s.Plan.Groups {
			if are(s.Plan, g) {
				names = append(names, g.Name)
			}
		}
		return names
	}
}

// calls reports whether requests of RPCs belong to a group.
func calls(p *plan.Plan, g plan.Group) bool { return len(callsOf(p, g)) > 0 }

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
	add := func(m *Entry, group string, values []float64) {
		slices.Sort(values)
		emitAll(func(value float64, words ...string) { e.set(m, value, append(words, group)...) }, groupStatistics, values)
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
