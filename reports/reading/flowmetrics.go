package reading

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Metrics of single flows that the analysis needs.
const (
	rateOfFlow     = "rate_gbps"
	slowdownOfFlow = "slowdown"
)

// FlowMetrics are metrics of single flows, by run and flow.
type FlowMetrics struct {
	Rates     map[RunID]map[string]float64
	Slowdowns map[RunID]map[string]float64
	ascending map[RunID][]float64 // slowdowns, once they are needed
}

// slowdownEnds are the ends of names of slowdowns that are not of a flow.
var slowdownEnds = []string{"mean", "p50", "p95", "p99", "max"}

// ofFlows is the kind of details that summaries of many flows have in the table of
// metrics alone (Manifest.Details).
const ofFlows = "flows"

// readFlowMetrics reads the metrics of flows: from the summary, or where that has too
// many flows from the table of metrics.
func readFlowMetrics(f *runfolder.Folder) (*FlowMetrics, error) {
	of := &FlowMetrics{map[RunID]map[string]float64{}, map[RunID]map[string]float64{}, map[RunID][]float64{}}
	put := func(to map[RunID]map[string]float64, r RunID, flow string, value float64) {
		if to[r] == nil {
			to[r] = map[string]float64{}
		}
		to[r][flow] = value
	}
	if slices.Contains(f.Manifest.Details, ofFlows) {
		for row, err := range f.MetricsOf(rateOfFlow, slowdownOfFlow) {
			if err != nil {
				return nil, err
			}
			to := of.Rates
			if row.Metric == slowdownOfFlow {
				to = of.Slowdowns
			}
			put(to, RunID{row.Variant, row.Seed}, *row.Subject, row.Value)
		}
		return of, nil
	}
	for variant, v := range f.Summary.Variants {
		for _, r := range v.Runs {
			for name, value := range r.Metrics {
				if flow, ok := strings.CutPrefix(name, rateOfFlow+"."); ok {
					put(of.Rates, RunID{variant, r.Seed}, flow, value)
				} else if flow, ok := strings.CutPrefix(name, slowdownOfFlow+"."); ok && !slices.Contains(slowdownEnds, flow) {
					put(of.Slowdowns, RunID{variant, r.Seed}, flow, value)
				}
			}
		}
	}
	return of, nil
}

// SlowdownsOf returns the slowdowns of the transfers that completed in a run, ascending;
// nil unless all of them are known.
func (of *FlowMetrics) SlowdownsOf(r RunID, completed int) []float64 {
	known, done := of.ascending[r]
	if !done {
		known = slices.Sorted(maps.Values(of.Slowdowns[r]))
		of.ascending[r] = known
	}
	if len(known) != completed {
		return nil
	}
	return known
}

// chooseSeeds picks for each variant the seed whose rates are nearest to the
// medians, as the sum of relative distances; the lowest of equals.
func chooseSeeds(m *runfolder.Manifest, s *runfolder.Summary, of *FlowMetrics) map[string]uint64 {
	seeds := map[string]uint64{}
	for _, v := range m.Variants {
		var runs []map[string]float64 // their rates
		var all []uint64
		for _, r := range s.Variants[v.Name].Runs {
			runs, all = append(runs, of.Rates[RunID{v.Name, r.Seed}]), append(all, r.Seed)
		}
		for _, r := range m.Runs {
			if len(runs) == 0 && r.Variant == v.Name {
				all = append(all, r.Seed)
				break
			}
		}
		if len(all) > 0 {
			seeds[v.Name] = all[nearest(runs)]
		}
	}
	return seeds
}

// nearest returns the index of the run whose rates are nearest to the medians.
func nearest(runs []map[string]float64) (best int) {
	if len(runs) < 2 {
		return 0
	}
	distances, values := make([]float64, len(runs)), make([]float64, len(runs))
	for _, flow := range slices.Sorted(maps.Keys(runs[0])) { // sums of floating-point numbers depend on their order
		all := true
		for i, rates := range runs {
			rate, ok := rates[flow]
			values[i], all = rate, all && ok
		}
		if median := runfolder.Median(values); all && median != 0 {
			for i, rate := range values {
				distances[i] += math.Abs(rate-median) / math.Abs(median)
			}
		}
	}
	for i, distance := range distances {
		if distance < distances[best] {
			best = i
		}
	}
	return best
}
