// Package fairness shows which ports limit the flows, which flows share them, and how evenly.
package fairness

import (
	"cmp"
	"math"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
)

// Section is the section of fairness. It needs no table of its own.
type Section struct {
	section.Base
	Fairness []Fairness // by variant

	r *reading.Reading
}

// Fairness says how evenly flows share bottlenecks in one variant.
type Fairness struct {
	Variant string `json:"variant"`
	// Shared has the full ports that at least two flows must cross, the one with the most
	// flows first, at most maxShared. Without such a port it has one entry of all transfers,
	// without Place, if their rates compare.
	Shared []SharedPort `json:"shared"`
}

// maxShared bounds Fairness.Shared.
const maxShared = 8

// SharedPort is a port that several flows share.
type SharedPort struct {
	Place *reading.Place `json:"place,omitempty"` // nil: all transfers of the variant
	Flows int            `json:"flows"`
	// Jain is Jain's index of the flows' rates, median over the seeds: 1 if all are equal,
	// 1/Flows if one has everything (Jain, Chiu and Hawe, DEC-TR-301, 1984). JainSeeds is its
	// range over the seeds.
	Jain      float64        `json:"jain"`
	JainSeeds reading.Spread `json:"jainSeeds"`
	// The rates of the slowest and of the fastest flow, medians over the seeds.
	LeastGbps float64 `json:"leastGbps"`
	MostGbps  float64 `json:"mostGbps"`
	Slowest   string  `json:"slowest"` // the flow whose median rate is the least
}

// New returns the section of a folder.
func New(r *reading.Reading) section.Section { return &Section{r: r} }

// Settle implements section.Section.
func (s *Section) Settle() error {
	for _, v := range s.r.Manifest.Variants {
		s.Fairness = append(s.Fairness, Fairness{v.Name, s.shared(v.Name)})
	}
	return nil
}

// Numbers implements section.Section.
func (s *Section) Numbers() map[string]any { return map[string]any{"fairness": s.Fairness} }

// maxFairFlows bounds the transfers whose paths are searched.
const maxFairFlows = 512

// shared returns the full ports that transfers of a variant share.
func (s *Section) shared(variant string) []SharedPort {
	list := []SharedPort{}
	var flows []runfolder.Flow
	for _, f := range s.r.Manifest.FlowsOf(variant) {
		if reading.Completes(f) {
			flows = append(flows, f)
		}
	}
	var full []*reading.Port
	for i := range s.r.Ports {
		if use, ok := s.r.Ports[i].In(variant); ok && use.Utilisation > reading.FullShare && !s.r.Ports[i].Parallel {
			full = append(full, &s.r.Ports[i])
		}
	}
	if len(full) > 0 && len(flows) >= 2 && len(flows) <= maxFairFlows {
		g := reading.NewPaths(s.r.Manifest.PortsOf(variant))
		crossing := make([][]runfolder.Flow, len(full))
		for _, f := range flows {
			from, to := g.Search(g.Out, f.Src), g.Search(g.In, f.Dst)
			for i, p := range full {
				if g.OnAll(&from, &to, f.Dst, p.Node, p.Peer) {
					crossing[i] = append(crossing[i], f)
				}
			}
		}
		for i, p := range full {
			if one := s.jain(variant, crossing[i]); one != nil {
				one.Place = &p.Place
				list = append(list, *one)
			}
		}
		list = reading.First(list, maxShared, func(a, b *SharedPort) int { return cmp.Compare(b.Flows, a.Flows) })
	}
	if len(list) == 0 {
		if one := s.jain(variant, flows); one != nil {
			list = append(list, *one)
		}
	}
	return list
}

// jain returns how evenly transfers share; nil if their rates do not compare.
func (s *Section) jain(variant string, flows []runfolder.Flow) *SharedPort {
	if len(flows) < 2 || s.r.Manifest.Measure.ToUS == 0 && reading.MixedSizes(flows) {
		return nil
	}
	var index, least, most []float64
	byFlow := make([][]float64, len(flows))
	for _, run := range s.r.RunsOf(variant) {
		of, ok := s.r.Rates[run]
		if !ok {
			continue
		}
		sum, squares, low, high := 0.0, 0.0, math.Inf(1), 0.0
		for i, f := range flows {
			rate := of[f.Name]
			byFlow[i] = append(byFlow[i], rate)
			sum, squares, low, high = sum+rate, squares+rate*rate, min(low, rate), max(high, rate)
		}
		if squares > 0 {
			index, least, most = append(index, sum*sum/float64(len(flows))/squares), append(least, low), append(most, high)
		}
	}
	if len(index) == 0 {
		return nil
	}
	slowest := 0
	for i := range flows {
		if runfolder.Median(byFlow[i]) < runfolder.Median(byFlow[slowest]) {
			slowest = i
		}
	}
	return &SharedPort{Flows: len(flows), Jain: runfolder.Median(index), JainSeeds: reading.SpreadOf(index), LeastGbps: runfolder.Median(least), MostGbps: runfolder.Median(most), Slowest: flows[slowest].Name}
}
