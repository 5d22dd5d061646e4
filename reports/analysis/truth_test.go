package analysis

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Errors are binned as shares of the link's rate for abw, of the truth for delay, and in
// points for the others; the samples that name another hop and those outside of their
// interval are counted.
func TestTruthBins(t *testing.T) {
	const line = 100e9 / 8 // bytes/s
	for name, c := range map[string]struct {
		rows            []runfolder.TruthRow
		bins            []int64
		median          int64
		outside, missed int64
	}{
		"abw": {[]runfolder.TruthRow{
			{Type: "abw", RateBPS: 100e9, Point: line / 2, Truth: line / 2, Inside: true, Named: "worst"},
			{Type: "abw", RateBPS: 100e9, Point: line / 2, Truth: line/2 + line/200, Inside: true, Named: "other"},
			{Type: "abw", RateBPS: 100e9, Point: line, Truth: 0, Named: "none"},
		}, []int64{1, 1, 0, 0, 0, 1}, line / 200 * 1000, 1, 1},
		"delay": {[]runfolder.TruthRow{
			{Type: "delay", Point: 90, Truth: 100, Inside: true, Named: "worst"},
			{Type: "delay", Point: 140, Truth: 100, Named: "other"},
		}, []int64{0, 0, 0, 1, 1, 0}, 10_000, 1, 1},
		"nqd": {[]runfolder.TruthRow{
			{Type: "nqd", Point: 40_000, Truth: 1, Named: "worst"},
		}, []int64{0, 0, 1, 0, 0, 0}, 39_999_000, 1, 0},
	} {
		s := truthSum{bins: make([]int64, len(TruthBins)+1)}
		for i := range c.rows {
			s.add(&c.rows[i])
		}
		// Quantiles are those of a histogram.
		if got := s.errors.Quantile(0.5); float64(got) < 0.98*float64(c.median) || float64(got) > 1.02*float64(c.median) {
			t.Errorf("%s: median %d, want %d", name, got, c.median)
		}
		if diff := cmp.Diff(s.bins, c.bins); diff != "" || s.outside != c.outside || s.missed != c.missed {
			t.Errorf("%s: %d outside, %d missed, bins (-got +want):\n%s", name, s.outside, s.missed, diff)
		}
	}
}
