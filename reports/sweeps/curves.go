package sweeps

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/words"
	"github.com/csiglab/csiglab/units"
)

// mostCurves is the most panels of curves of one metric.
const mostCurves = 12

// amounts are the values of a dimension that are numbers, or numbers with one unit.
type amounts struct {
	dimension int // in Sweep.Others
	unit      string
	values    []float64 // by those of the dimension
	order     []int     // indices of values, ascending
}

// curve returns the dimension that curves are drawn over: of those of numbers the one with most
// values, and nil if none has three.
func (s *Sweep) curve() (best *amounts) {
	for k := range s.Others {
		a := amountsOf(s.Values[k])
		if a != nil && len(a.values) > 2 && (best == nil || len(a.values) > len(best.values)) {
			a.dimension, best = k, a
		}
	}
	return best
}

func amountsOf(texts []string) *amounts {
	for _, as := range []struct {
		unit  string
		parse func(text string) (float64, error)
	}{
		{"", func(text string) (float64, error) { return strconv.ParseFloat(text, 64) }},
		{"µs", func(text string) (float64, error) {
			d, err := units.ParseDuration(text)
			return d.Microseconds(), err
		}},
		{"Gb/s", func(text string) (float64, error) {
			r, err := units.ParseRate(text)
			return float64(r) / 1e9, err
		}},
		{"kB", func(text string) (float64, error) {
			b, err := units.ParseSize(text)
			return float64(b) / 1e3, err
		}},
	} {
		a := &amounts{}
		for _, text := range texts {
			v, err := as.parse(text)
			if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
				break
			}
			a.values, a.order = append(a.values, v), append(a.order, len(a.order))
		}
		if len(a.values) == len(texts) {
			var factor float64
			a.unit, factor = words.ScaleOf(as.unit, a.values...)
			for i := range a.values {
				a.values[i] *= factor
			}
			slices.SortFunc(a.order, func(i, j int) int { return cmp.Compare(a.values[i], a.values[j]) })
			return a
		}
	}
	return nil
}

// axis is the horizontal one.
func (s *Sweep) axis(a *amounts) chart.Scaling {
	least, greatest := a.values[a.order[0]], a.values[a.order[len(a.order)-1]]
	return chart.Scaling{Name: s.Others[a.dimension], Unit: a.unit, Min: least, Max: greatest}
}

// along returns the cells of each curve, in the order of the amounts, by the values of the other
// dimensions.
func (s *Sweep) along(a *amounts) (titles []string, cells [][]*Cell) {
	others := slices.Delete(slices.Clone(s.Values), a.dimension, a.dimension+1)
	for _, rest := range combinations(others) {
		if len(cells) == mostCurves {
			break
		}
		var list []*Cell
		for _, i := range a.order {
			list = append(list, s.place(slices.Insert(slices.Clone(rest), a.dimension, s.Values[a.dimension][i])))
		}
		titles, cells = append(titles, strings.Join(rest, ", ")), append(cells, list)
	}
	return titles, cells
}

// gainCurves has a line for each rival that is not of the baseline: how much more or less of a
// metric it has than the best of the baseline, with its interval over the seeds.
func (s *Sweep) gainCurves(m Metric, a *amounts) *chart.Figure {
	base, _ := s.sides()
	better := "less"
	if s.higher(m.Name) {
		better = "more"
	}
	f := &chart.Figure{
		ID: figureID(m.Name, "gain"), Title: m.Title + " against " + base,
		Caption: fmt.Sprintf("How much more or less each has than %s at the same %s, in percent of it; %s is better. Bands are intervals of %.0f %% over %s in pairs.", base, s.Others[a.dimension], better, 100*confidence(len(s.Plan.Seeds)), words.Plural(len(s.Plan.Seeds), "seed")),
	}
	titles, cells := s.along(a)
	zeros := false
	for i, list := range cells {
		lines := &chart.Lines{Name: titles[i], X: s.axis(a), Y: chart.Scaling{Name: m.Title + " against " + base, Unit: "%"}, Levels: []chart.LevelMark{{Name: "as " + base, Y: 0}}}
		for r := range s.Rivals {
			if s.Rivals[r].Baseline {
				continue
			}
			l := s.line(r, a)
			for _, c := range list {
				y, low, high := math.NaN(), math.NaN(), math.NaN()
				if c != nil {
					if j := s.Judgement(c, m.Name); j.Base >= 0 {
						e, absolute, v := s.compare(c, m.Name, j.Base, r)
						if v != Unknown && !absolute {
							y, low, high = 100*e.Effect, 100*e.Low, 100*e.High
						}
						zeros = zeros || absolute
					}
				}
				l.Y, l.Low, l.High = append(l.Y, y), append(l.Low, low), append(l.High, high)
			}
			lines.Lines = append(lines.Lines, l)
		}
		f.Panels = append(f.Panels, chart.Panel{Title: titles[i], Chart: lines})
	}
	if zeros {
		f.Caption += " A point is missing where a seed has 0 on one side, which has no share."
	}
	f.Legend = s.keys(false)
	return f
}

// valueCurves has a line for each rival: its median of a metric, and a band from the least to the
// greatest of its seeds.
func (s *Sweep) valueCurves(m Metric, a *amounts) *chart.Figure {
	f := &chart.Figure{
		ID: figureID(m.Name, "curves"), Title: m.Title,
		Caption: fmt.Sprintf("Medians over %s; bands reach from the least to the greatest.", words.Plural(len(s.Plan.Seeds), "seed")),
	}
	titles, cells := s.along(a)
	var all []float64
	for i, list := range cells {
		lines := &chart.Lines{Name: titles[i], X: s.axis(a)}
		for r := range s.Rivals {
			l := s.line(r, a)
			for _, c := range list {
				y, low, high := math.NaN(), math.NaN(), math.NaN()
				if c != nil && r < len(c.Results) {
					if values := sorted(c.Results[r].values(m.Name)); len(values) > 0 {
						y, low, high = s.Judgement(c, m.Name).Medians[r], slices.Min(values), slices.Max(values)
						all = append(all, high)
					}
				}
				l.Y, l.Low, l.High = append(l.Y, y), append(l.Low, low), append(l.High, high)
			}
			lines.Lines = append(lines.Lines, l)
		}
		f.Panels = append(f.Panels, chart.Panel{Title: titles[i], Chart: lines})
	}
	unit, factor := words.ScaleOf(s.of(m.Name).Unit, all...)
	for i := range f.Panels {
		lines := f.Panels[i].Chart.(*chart.Lines)
		lines.Y = chart.Scaling{Name: m.Title, Unit: unit}
		for _, l := range lines.Lines {
			for _, list := range [][]float64{l.Y, l.Low, l.High} {
				for k := range list {
					list[k] *= factor
				}
			}
		}
	}
	f.Legend = s.keys(true)
	return f
}

// line begins the line of a rival. A colour is a rival's in all figures.
func (s *Sweep) line(rival int, a *amounts) chart.Line {
	l := chart.Line{Name: s.Rivals[rival].Name(), Look: chart.Nth(rival), Dots: true}
	for _, i := range a.order {
		l.X = append(l.X, a.values[i])
	}
	return l
}

// keys are those of the rivals, with the baseline or without.
func (s *Sweep) keys(all bool) (keys []chart.Key) {
	for r := range s.Rivals {
		if all || !s.Rivals[r].Baseline {
			keys = append(keys, chart.LineKey(s.Rivals[r].Name(), chart.Nth(r)))
		}
	}
	return keys
}

// bestText says at which amount of the curve each rival that is not of the baseline is best by the
// first metric, and what it gains there.
func (s *Sweep) bestText(a *amounts) (told []string) {
	m := s.Judge.Metrics[0]
	titles, cells := s.along(a)
	for i, list := range cells {
		for r := range s.Rivals {
			if s.Rivals[r].Baseline {
				continue
			}
			var best *Cell
			differs, first := false, math.NaN()
			for _, c := range list {
				if c == nil || math.IsNaN(s.Judgement(c, m.Name).Medians[r]) {
					continue
				}
				v := s.Judgement(c, m.Name).Medians[r]
				if math.IsNaN(first) {
					first = v
				}
				differs = differs || v != first
				if best == nil || s.higher(m.Name) && v > s.Judgement(best, m.Name).Medians[r] || !s.higher(m.Name) && v < s.Judgement(best, m.Name).Medians[r] {
					best = c
				}
			}
			if best == nil || !differs { // the amount does not reach it
				continue
			}
			j := s.Judgement(best, m.Name)
			text := fmt.Sprintf("%s is best at %s %s: %s %s", s.Rivals[r].Name(), s.Others[a.dimension], best.Values[a.dimension], m.Title, s.amount(m.Name, j.Medians[r]))
			if titles[i] != "" {
				text = titles[i] + ": " + text
			}
			if j.Base >= 0 {
				own := Judgement{}
				own.Estimate, own.Absolute, own.Verdict = s.compare(best, m.Name, j.Base, r)
				text += fmt.Sprintf(", against %s of %s: %s", s.amount(m.Name, j.Medians[j.Base]), s.Rivals[j.Base].Name(), s.effect(&own, m.Name, true))
			}
			told = append(told, text+".")
		}
	}
	return told[:min(len(told), 4)]
}
