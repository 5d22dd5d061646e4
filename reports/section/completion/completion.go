// Package completion shows how long flows take: the completion times of each, how they and the
// slowdowns are distributed, and of many flows those that fared the worst, and why.
package completion

import (
	"math"
	"slices"

	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/series"
)

// Section is the section of completion times.
type Section struct {
	series.Charted
	Times []Times
	Worst []Worst // transfers of variants with more than reading.ManyFlows, by variant

	r       *reading.Reading
	lists   [][]Worst // by variant; nil: the variant is not listed
	samples samplesOf
}

// Times says how completion times and slowdowns are distributed in one variant.
type Times struct {
	Variant  string                `json:"variant"`
	FCTUS    *reading.Distribution `json:"fctUs,omitempty"`    // of transfers that completed; nil without
	Slowdown *reading.Distribution `json:"slowdown,omitempty"` // likewise; nil too if it is not known of all
}

// New returns the section of a folder.
func New(r *reading.Reading) section.Section {
	return &Section{Charted: series.NewCharted(r, FCT, Slowdown), r: r}
}

// Pass implements reading.Reader.
func (s *Section) Pass(n int, p *reading.Pass) error {
	switch n {
	case 0:
		s.listWorst()
		if slices.ContainsFunc(s.lists, func(list []Worst) bool { return list != nil }) {
			p.Phases(s.transfer)
		}
	case 1:
		s.Worst = slices.Concat(append([][]Worst{{}}, s.lists...)...)
		if s.samples = newSamplesOf(s.Worst); len(s.samples) > 0 {
			p.Signals(s.sample)
		}
	}
	return s.Collection.Pass(n, p)
}

// Settle implements section.Section.
func (s *Section) Settle() error {
	s.explain()
	for _, v := range s.r.Manifest.Variants {
		one := Times{Variant: v.Name}
		var fct, slow [][]float64
		known := true
		for _, run := range s.r.RunsOf(v.Name) {
			times := s.r.Times[run]
			fct = append(fct, times)
			slowdowns := s.r.Metrics.SlowdownsOf(run, len(times))
			known = known && slowdowns != nil
			slow = append(slow, slowdowns)
		}
		if one.FCTUS = reading.DistributionOf(fct); known {
			one.Slowdown = reading.DistributionOf(slow)
		}
		s.Times = append(s.Times, one)
	}
	return s.Charted.Settle()
}

// Numbers implements section.Section.
func (s *Section) Numbers() map[string]any {
	return map[string]any{"charts": s.Charts, "worst": s.Worst, "fairness": s.Times}
}

// FCT collects the distribution of completion times where there are more transfers than
// lines: the value of point i is the time of the transfer of that rank (series.Rank). Of those
// that did not complete there is none.
var FCT = series.Kind{ID: "fct", Unit: "µs", Compare: func(s *series.Scope) series.Collector {
	return distribution(s.Reading.Transfers(s.Of.Name), series.MaxGroups, s.Times[s.Run])
}}

// Slowdown collects the distribution of slowdowns where there are many transfers, as FCT does
// that of completion times.
var Slowdown = series.Kind{ID: "slowdown", Compare: func(s *series.Scope) series.Collector {
	return distribution(s.Reading.Transfers(s.Of.Name), reading.ManyFlows, s.Metrics.SlowdownsOf(s.Run, len(s.Times[s.Run])))
}}

// maxRanks bounds the points of a distribution.
const maxRanks = 201

// distribution collects a distribution over the transfers, of which some have a value, where
// there are more than few transfers.
func distribution(transfers, few int, sorted []float64) series.Collector {
	return series.Collector{Panels: func() []series.Panel {
		if transfers <= few || len(sorted) == 0 {
			return nil
		}
		values := make(reading.Values, min(transfers, maxRanks))
		for i := range values {
			values[i] = math.NaN()
			if rank := series.Rank(i, len(values), transfers); rank <= len(sorted) {
				values[i] = sorted[rank-1]
			}
		}
		return []series.Panel{{Lines: []series.Line{{Group: reading.Group{Flows: transfers}, Values: values}}}}
	}}
}
