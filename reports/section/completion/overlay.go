package completion

import (
	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/series"
)

// Figures returns the figures of charts that compare variants: the distributions of completion times and of slowdowns.
// Charts and facts may be those of two folders.
func Figures(f *reading.Facts, charts []series.Chart) (figures []*chart.Figure) {
	s := &Section{r: &reading.Reading{Facts: *f}, Charts: charts}
	for _, f := range []*chart.Figure{s.First(), s.figure("slowdown", "Slowdown", "Slowdowns",
		"The share of the flows with a slowdown of at most so much: the completion time over that of the flow alone on an idle fabric.")} {
		if f != nil {
			figures = append(figures, f)
		}
	}
	return figures
}
