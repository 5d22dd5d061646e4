package compare

import (
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/orchestrator/compare/statistics"
	"github.com/csiglab/csiglab/reports/section/variants"
)

// judge gives each metric its outcome: those of one case of A, with which each of the sides is
// compared. P is corrected for all metrics of all sides whose test could reject: that of a metric
// that is equal for every seed could not, so that it is none of the chances to be wrong. Where the
// seeds of a side are too few for Holm's correction of so many, it is swapped with A, and the sides
// share the confidence evenly: what is known of a swap is the chance of one side, whatever the
// others do.
func (d *Design) judge(sides []*CaseComparison) {
	var p []float64
	of := 0
	for _, c := range sides {
		own := c.tested()
		for _, m := range own {
			p = append(p, m.P)
		}
		if len(own) > 0 {
			of++
		}
	}
	few := false
	for _, c := range sides {
		c.Tested = len(p)
		if of > 1 {
			c.Sides = of
		}
		seeds := len(c.Seeds)
		c.Swapped = c.Paired && len(p) > 0 && seeds < fewestSeeds(d.Confidence, len(p)) && seeds >= c.fewestSwapped(d.Confidence) && seeds <= statistics.MostFlips
		few = few || c.Swapped
	}
	corrected := statistics.Holm(p)
	for _, c := range sides {
		own := c.tested()
		if few {
			for i, v := range c.alone(own) {
				corrected[i] = min(1, float64(of)*v)
			}
		}
		for i, m := range own {
			d.decide(m, corrected[i], c)
		}
		corrected = corrected[len(own):]
	}
}

// judgeTogether judges the metrics of all cases as one family. Cases of the same seeds are swapped
// together, as if they were one: a seed of theirs runs under both sides.
func (d *Design) judgeTogether(cases []CaseComparison) {
	var all []*CaseComparison
	of := make([]int, len(cases)) // of each case, the place in all
	for i := range cases {
		c := &cases[i]
		of[i] = slices.IndexFunc(all, func(o *CaseComparison) bool { return o.Paired == c.Paired && slices.Equal(o.Seeds, c.Seeds) })
		if of[i] < 0 {
			of[i], all = len(all), append(all, &CaseComparison{Paired: c.Paired, Seeds: c.Seeds})
		}
		all[of[i]].Metrics = append(all[of[i]].Metrics, c.Metrics...)
	}
	d.judge(all)
	for i := range cases {
		c, from := &cases[i], all[of[i]]
		n := copy(c.Metrics, from.Metrics)
		from.Metrics = from.Metrics[n:]
		c.Tested, c.Sides, c.Swapped = from.Tested, from.Sides, from.Swapped
	}
}

// fewestSwapped returns with how many seeds swapping the sides of each can find a difference.
func (c *CaseComparison) fewestSwapped(confidence float64) int {
	return statistics.FewestFlips((1 - confidence) / float64(max(c.Sides, 1)))
}

// tested returns the metrics whose test could reject.
func (c *CaseComparison) tested() (all []*MetricComparison) {
	for i := range c.Metrics {
		if m := &c.Metrics[i]; !m.equal(c.Paired) {
			all = append(all, m)
		}
	}
	return all
}

// alone returns p corrected for the metrics of the case alone.
func (c *CaseComparison) alone(metrics []*MetricComparison) []float64 {
	p, moves := make([]float64, len(metrics)), make([][]float64, len(metrics))
	for i, m := range metrics {
		p[i], moves[i] = m.P, m.moves
	}
	if c.Swapped {
		return statistics.Flips(moves)
	}
	return statistics.Holm(p)
}

// decide gives a metric its outcome with its corrected p.
func (d *Design) decide(m *MetricComparison, corrected float64, c *CaseComparison) {
	single := m.P
	m.P = corrected
	switch {
	case m.Outcome != "":
	case m.P > 1-d.Confidence:
		m.Outcome = Inconclusive
		if single <= 1-d.Confidence {
			m.Reason = joined(m.Reason, fmt.Sprintf("alone it would count as a difference, but it is one of %d metrics", c.Tested))
		}
	case m.Better == "":
		m.Outcome = Changed
	case (m.Effect > 0) == (m.Better == "higher"):
		m.Outcome = variants.Better
	default:
		m.Outcome = variants.Worse
	}
}
