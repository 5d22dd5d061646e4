package analysis

import (
	"cmp"
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/histogram"
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Truth is how far samples of one signal are from the exact values of the hops, in one
// variant: those whose worst hop was a port of one rate, of all seeds together.
type Truth struct {
	Variant string `json:"variant"`
	Format  string `json:"format"` // of the tags
	Signal  string `json:"signal"`
	RateBPS int64  `json:"rateBps"`
	Samples int64  `json:"samples"`
	// Bins are the samples by their error, as a share: of the port's rate for abw, of the
	// truth for delay, and in points for the others. Bin i has those up to TruthBins[i] and
	// beyond the bin before; the last one has the rest.
	Bins   []int64 `json:"bins"`
	Median float64 `json:"median"` // of the error without its sign, in the unit of truth.parquet
	P99    float64 `json:"p99"`
	// Stale is the median error against the truth when samples were read; absent where that is
	// not known of any.
	Stale   *float64 `json:"stale,omitempty"`
	Outside float64  `json:"outside"` // share of the samples whose code does not explain the error
	Missed  float64  `json:"missed"`  // share of the samples that name another port than the worst
}

// TruthBins are the upper ends of the bins of errors.
var TruthBins = []float64{0.001, 0.01, 0.05, 0.2, 0.5}

type truthKey struct {
	variant int
	format  string
	signal  string
	rate    int64
}

type truthSum struct {
	bins            []int64
	errors, stale   histogram.Histogram // in thousandths of the type's unit
	outside, missed int64
}

// readTruth sums up the samples of the measuring window that stand beside the truth.
func readTruth(f *runfolder.Folder) ([]Truth, error) {
	m, variants, sums := &f.Manifest, map[string]int{}, map[truthKey]*truthSum{}
	for i, v := range m.Variants {
		variants[v.Name] = i
	}
	for r, err := range f.Truth() {
		if err != nil {
			return nil, err
		}
		v, known := variants[r.Variant]
		if !known || !inWindow(m, r.TimeUS) {
			continue
		}
		k := truthKey{v, cmp.Or(r.Format, m.Variants[v].CSIG), r.Type, r.RateBPS}
		if sums[k] == nil {
			sums[k] = &truthSum{bins: make([]int64, len(TruthBins)+1)}
		}
		sums[k].add(&r)
	}
	var all []Truth
	for k, s := range sums {
		n := s.errors.Weight()
		t := Truth{
			Variant: m.Variants[k.variant].Name, Format: k.format, Signal: k.signal, RateBPS: k.rate, Samples: n, Bins: s.bins,
			Median: float64(s.errors.Quantile(0.5)) / 1000, P99: float64(s.errors.Quantile(0.99)) / 1000,
			Outside: float64(s.outside) / float64(n), Missed: float64(s.missed) / float64(n),
		}
		if s.stale.Weight() > 0 {
			stale := float64(s.stale.Quantile(0.5)) / 1000
			t.Stale = &stale
		}
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b Truth) int {
		return cmp.Or(cmp.Compare(variants[a.Variant], variants[b.Variant]), cmp.Compare(a.Signal, b.Signal), cmp.Compare(a.Format, b.Format), cmp.Compare(a.RateBPS, b.RateBPS))
	})
	return all, nil
}

func (s *truthSum) add(r *runfolder.TruthRow) {
	off := math.Abs(r.Error())
	s.errors.Add(int64(math.Round(1000*off)), 1)
	if r.AtUse != nil {
		s.stale.Add(int64(math.Round(1000*math.Abs(float64(r.Point)-*r.AtUse))), 1)
	}
	share := off / 1e6 // of points in ppm
	switch r.Type {
	case "abw":
		share = off * 8 / float64(r.RateBPS)
	case "delay":
		share = off / max(r.Truth, 1)
	}
	bin, _ := slices.BinarySearch(TruthBins, share)
	s.bins[bin]++
	if !r.Inside {
		s.outside++
	}
	if r.Named == metrics.NamedOther.String() {
		s.missed++
	}
}
