package truth

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/sectiontest"
)

// Errors are binned as shares of the link's rate for abw, of the truth for delay, and in
// points for the others; the samples that name another hop and those outside of their
// interval are counted.
func TestBins(t *testing.T) {
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
		s := truthSum{bins: make([]int64, len(Bins)+1)}
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

// The histogram of errors is a table; a run without truth has none.
func TestTable(t *testing.T) {
	s, _ := sectiontest.Read[*Section](t, readingtest.ThreeFlow().Folder(t, nil), New)
	if parts, numbers := s.Parts(), s.Numbers(); parts != nil || numbers != nil {
		t.Errorf("a run without truth has %+v and %+v", parts, numbers)
	}
	s.Truth = []Truth{
		{Variant: "csig", Format: "compact", Signal: "abw", RateBPS: 100e9, Samples: 8, Bins: []int64{4, 0, 0, 0, 2, 2}, Median: 125e6, P99: 6.25e9, Outside: 0.5, Missed: 0.125, Silent: 0.25},
	}
	p := s.Parts()[0]
	table := p.Blocks[0].(*section.Table)
	want := strings.Split("csig|abw|compact|100\u00a0Gb/s|8|1 Gb/s|50 Gb/s|–|50 %|0 %|0 %|0 %|25 %|25 %|50 %|12.5 %|25 %", "|")
	if d := cmp.Diff(sectiontest.Rows(table)[0], want); d != "" {
		t.Errorf("row (-got +want):\n%s", d)
	}
	if len(table.Columns) != len(want) || table.Columns[12].Name != "20 % to 50 %" {
		t.Errorf("columns %+v", table.Columns)
	}
	if p.Level != section.Telling || p.Says != "Half of the abw samples in csig are less than 1\u00a0Gb/s off; 12.5 % name another port than the worst hop. The worst hop of 25 % writes into no tags." {
		t.Errorf("level %d, %q", p.Level, p.Says)
	}
}
