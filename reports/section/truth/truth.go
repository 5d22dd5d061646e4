// Package truth shows how far CSIG samples are from the exact values of the hops.
package truth

import (
	"cmp"
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/histogram"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
)

// Section is the section of signal truth.
type Section struct {
	Truth []Truth // of runs that recorded it

	r    *reading.Reading
	sums map[truthKey]*truthSum
}

// New returns the section of a folder.
func New(r *reading.Reading) section.Section { return &Section{r: r, sums: map[truthKey]*truthSum{}} }

// Truth is how far samples of one signal are from the exact values of the hops, in one
// variant: those whose worst hop was a port of one rate, of all seeds together.
type Truth struct {
	Variant string `json:"variant"`
	Format  string `json:"format"` // of the tags
	Signal  string `json:"signal"`
	RateBPS int64  `json:"rateBps"`
	Samples int64  `json:"samples"`
	// Bins are the samples by their error, as a share: of the port's rate for abw, of the
	// truth for delay, and in points for the others. Bin i has those up to Bins[i] and
	// beyond the bin before; the last one has the rest.
	Bins   []int64 `json:"bins"`
	Median float64 `json:"median"` // of the error without its sign, in the unit of truth.parquet
	P99    float64 `json:"p99"`
	// Stale is the median error against the truth when samples were read; absent where that is
	// not known of any.
	Stale   *float64 `json:"stale,omitempty"`
	Outside float64  `json:"outside"` // share of the samples whose code does not explain the error
	Missed  float64  `json:"missed"`  // share of the samples that name another port than the worst
	Silent  float64  `json:"silent"`  // share of the samples whose worst hop does not write into tags
}

// Bins are the upper ends of the bins of errors.
var Bins = []float64{0.001, 0.01, 0.05, 0.2, 0.5}

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
	silent          int64
}

// Pass implements reading.Reader: it sums up the samples of the measuring window that stand
// beside the truth.
func (s *Section) Pass(n int, p *reading.Pass) error {
	if n > 0 {
		return nil
	}
	m, variants := s.r.Manifest, s.variants()
	p.Truth(func(row *runfolder.TruthRow) {
		v, known := variants[row.Variant]
		if !known || !s.r.Measured(row.TimeUS) {
			return
		}
		k := truthKey{v, cmp.Or(row.Format, m.Variants[v].CSIG), row.Type, row.RateBPS}
		if s.sums[k] == nil {
			s.sums[k] = &truthSum{bins: make([]int64, len(Bins)+1)}
		}
		s.sums[k].add(row)
	})
	return nil
}

func (s *Section) variants() map[string]int {
	index := map[string]int{}
	for i, v := range s.r.Manifest.Variants {
		index[v.Name] = i
	}
	return index
}

// Settle implements section.Section.
func (s *Section) Settle() error {
	variants := s.variants()
	for k, sum := range s.sums {
		n := sum.errors.Weight()
		t := Truth{
			Variant: s.r.Manifest.Variants[k.variant].Name, Format: k.format, Signal: k.signal, RateBPS: k.rate, Samples: n, Bins: sum.bins,
			Median: float64(sum.errors.Quantile(0.5)) / 1000, P99: float64(sum.errors.Quantile(0.99)) / 1000,
			Outside: float64(sum.outside) / float64(n), Missed: float64(sum.missed) / float64(n), Silent: float64(sum.silent) / float64(n),
		}
		if sum.stale.Weight() > 0 {
			stale := float64(sum.stale.Quantile(0.5)) / 1000
			t.Stale = &stale
		}
		s.Truth = append(s.Truth, t)
	}
	s.sums = nil
	slices.SortFunc(s.Truth, func(a, b Truth) int {
		return cmp.Or(cmp.Compare(variants[a.Variant], variants[b.Variant]), cmp.Compare(a.Signal, b.Signal), cmp.Compare(a.Format, b.Format), cmp.Compare(a.RateBPS, b.RateBPS))
	})
	return nil
}

// Numbers implements section.Section.
func (s *Section) Numbers() map[string]any {
	if s.Truth == nil {
		return nil
	}
	return map[string]any{"truth": s.Truth}
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
	bin, _ := slices.BinarySearch(Bins, share)
	s.bins[bin]++
	if !r.Inside {
		s.outside++
	}
	if r.Named == metrics.NamedOther.String() {
		s.missed++
	}
	if !r.Updates {
		s.silent++
	}
}
