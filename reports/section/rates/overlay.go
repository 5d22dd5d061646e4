package rates

import (
	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/series"
)

// Figures returns the figures of charts that compare variants: the rate of the slowest flow.
// Charts and facts may be those of two folders.
func Figures(f *reading.Facts, charts []series.Chart) (figures []*chart.Figure) {
	s := &Section{r: &reading.Reading{Facts: *f}, Charts: charts}
	for _, f := range []*chart.Figure{s.First()} {
		if f != nil {
			figures = append(figures, f)
		}
	}
	return figures
}
