package regression

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/words"
)

// signs mark outcomes, told apart without colours.
var signs = map[verdict.Outcome]chart.Sign{
	verdict.Pass: {Shape: chart.Dot, Paint: chart.Good}, verdict.Fail: {Shape: chart.Diamond, Paint: chart.Bad},
	verdict.Inconclusive: {Shape: chart.Hollow, Paint: chart.Warn}, verdict.Invalid: {Shape: chart.Hollow, Paint: chart.Soft},
}

// dots draws the pairs of a metric as dots at their effects, and below them the effect and
// its interval against the limit.
func (m *metric) dots(confidence string) *chart.Dots {
	limit := m.ofEffect(m.Delta)
	low, high := min(0, limit), max(0, limit)
	extend := func(v float64) {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			low, high = min(low, v), max(high, v)
		}
	}
	for _, v := range []float64{m.low, m.high, m.worse} {
		extend(m.ofEffect(v))
	}
	c := &chart.Dots{}
	for _, p := range m.Pairs {
		effect := p.Candidate - p.Baseline
		if !m.Absolute {
			effect /= math.Abs(p.Baseline)
		}
		if !math.IsNaN(effect) && !math.IsInf(effect, 0) {
			extend(effect)
			c.Samples = append(c.Samples, chart.Sample{Value: effect, Name: fmt.Sprintf("seed %d", p.Seed), Tip: m.pair(p, effect)})
		}
	}
	pad := (high - low) * 0.06
	if !(pad > 0) {
		pad = 0.01
	}
	low, high = low-pad, high+pad
	unit, factor := m.effectUnit(low, high)
	for i := range c.Samples {
		c.Samples[i].Value *= factor
	}
	c.Intervals = chart.Intervals{Name: m.Name + " of " + m.experiment.name, X: chart.Scaling{Name: "change", Unit: unit, Min: low * factor, Max: high * factor}, Signed: true, Zero: true,
		Lines: []chart.UprightMark{{Name: "allowed " + m.allowed(), X: limit * factor}},
		Rows:  []chart.IntervalRow{{Name: m.Name, Text: m.describe(confidence), Interval: m.interval(func(v float64) float64 { return m.ofEffect(v) * factor })}}}
	c.Worse = [2]float64{limit * factor, high * factor}
	if m.falls {
		c.Worse = [2]float64{low * factor, limit * factor}
	}
	return c
}

// interval returns the effect and its interval, as what place makes of worsenings.
func (m *metric) interval(place func(float64) float64) chart.Interval {
	low, high := place(m.low), place(m.high)
	return chart.Interval{Effect: place(m.worse), Low: min(low, high), High: max(low, high), Sign: signs[m.outcome]}
}

// pair says the values of a pair.
func (m *metric) pair(p verdict.Pair, effect float64) string {
	unit, factor := words.ScaleOf(m.Unit, p.Baseline, p.Candidate)
	return fmt.Sprintf("seed %d: %s → %s, %s", p.Seed, number(p.Baseline*factor), join(number(p.Candidate*factor), unit), m.change(m.ofEffect(effect)))
}

// describe says what a drawing of the metric shows.
func (m *metric) describe(confidence string) string {
	return fmt.Sprintf("%s: %s, %s %s, allowed %s, %s. %s", word(m.outcome), m.change(m.worse), confidence, m.between(), m.allowed(), spelling.Plural(len(m.Pairs), "pair"), m.values())
}

// Bounds of the picture of all effects.
const (
	mostEffects = 80
	mostLimits  = 63 // at the ends of the axis

	effectsWidth = 900.0 // legible in smaller windows too
)

// effects draws the effects of all metrics, in limits, worst first. It returns nil where
// there is none to draw.
func (v *view) effects() *chart.Figure {
	var list []*metric
	same := 0
	for i := range v.experiments {
		for k := range v.experiments[i].metrics {
			m := &v.experiments[i].metrics[k]
			switch {
			case math.IsNaN(m.worse):
			case m.worse == 0 && m.low == 0 && m.high == 0:
				same++
			default:
				list = append(list, m)
			}
		}
	}
	rank := map[verdict.Outcome]int{verdict.Fail: 0, verdict.Inconclusive: 1, verdict.Invalid: 2, verdict.Pass: 3}
	slices.SortStableFunc(list, func(a, b *metric) int {
		return cmp.Or(cmp.Compare(rank[a.outcome], rank[b.outcome]), cmp.Compare(b.severity(), a.severity()))
	})
	if len(list) == 0 {
		return nil
	}
	f := &chart.Figure{ID: "all-effects", Title: effectsTitle,
		Caption: "The change of each metric and its " + v.interval() + ", in multiples of what is allowed: 0 is no change, right of it is worse, beyond 1 it is worse than allowed."}
	for _, o := range []verdict.Outcome{verdict.Fail, verdict.Inconclusive, verdict.Pass} {
		f.Legend = append(f.Legend, chart.Key{Name: word(o), Sign: signs[o]})
	}
	if same > 0 {
		f.Caption += fmt.Sprintf(" Not drawn: %s with equal values on both sides.", spelling.Plural(same, "metric"))
	}
	if n := len(list) - mostEffects; n > 0 {
		f.Caption += fmt.Sprintf(" %d more that are no worse than these are in the tables below.", n)
		list = list[:mostEffects]
	}
	low, high := -1.0, 1.6
	c := &chart.Intervals{Name: "Changes of all metrics, worst first", Log: true, Zero: true, Lines: []chart.UprightMark{{Name: "worse than allowed", X: 1}}}
	for _, m := range list {
		for _, worse := range []float64{m.low, m.high, m.worse} {
			if limits := m.inLimits(worse); !math.IsInf(limits, 0) {
				low, high = min(low, limits), max(high, limits)
			} else if limits > 0 {
				high = max(high, 3)
			}
		}
		c.Rows = append(c.Rows, chart.IntervalRow{Name: m.experiment.name + "  " + m.Name, Text: m.change(m.worse), Tip: m.describe(v.interval()), Interval: m.interval(m.inLimits)})
	}
	c.X = chart.Scaling{Name: "change, in multiples of what is allowed", Min: max(low, -mostLimits) * 1.04, Max: min(high, mostLimits) * 1.04}
	c.Worse = [2]float64{1, c.X.Max}
	f.Panels = []chart.Panel{{Chart: c, Width: effectsWidth}}
	return f
}

const effectsTitle = "All metrics, worst first"
