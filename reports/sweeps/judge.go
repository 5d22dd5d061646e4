package sweeps

import (
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/compare/statistics"
)

// least is the smallest difference that counts, as a share.
const least = 0.01

// Verdict is how the best of the others compares with the best of the baseline.
type Verdict int

// Verdicts.
const (
	Unknown Verdict = iota // a side has no numbers
	Level                  // no difference: the interval has 0, or the difference is less than one per cent
	Ahead
	Behind
)

// Judgement is what a cell says by one metric. Indices are of Sweep.Rivals, -1 for none.
type Judgement struct {
	Medians []float64 // by rival; NaN: without numbers
	Winner  int       // of all
	Base    int       // the best of the baseline
	Other   int       // the best of the others
	Verdict Verdict
	// Effect is how much greater the value of Other is than that of Base, with the ends of its
	// interval: a share, or a difference in the metric's unit where Base has zeros.
	statistics.Estimate
	Absolute bool
}

// confidence returns that of intervals of so many pairs: 95 %, or what so few can say.
func confidence(pairs int) float64 { return min(0.95, 1-math.Pow(2, 1-float64(pairs))) }

// higher reports whether greater values of a metric are better.
func (s *Sweep) higher(metric string) bool { return s.of(metric).Better == meaning.Higher }

// Judgement judges a cell by a metric.
func (s *Sweep) Judgement(c *Cell, metric string) Judgement {
	at := judged{c, metric}
	j, ok := s.judged[at]
	if !ok {
		j = s.judge(c, metric)
		s.judged[at] = j
	}
	return j
}

func (s *Sweep) judge(c *Cell, metric string) Judgement {
	j := Judgement{Winner: -1, Base: -1, Other: -1, Medians: make([]float64, len(s.Rivals))}
	higher := s.higher(metric)
	better := func(i, than int) bool {
		return than < 0 || higher && j.Medians[i] > j.Medians[than] || !higher && j.Medians[i] < j.Medians[than]
	}
	for i := range s.Rivals {
		j.Medians[i] = math.NaN()
		if i >= len(c.Results) {
			continue
		}
		values := sorted(c.Results[i].values(metric))
		if len(values) == 0 {
			continue
		}
		j.Medians[i] = runfolder.Median(values)
		side := &j.Other
		if s.Rivals[i].Baseline {
			side = &j.Base
		}
		if better(i, *side) {
			*side = i
		}
		if better(i, j.Winner) {
			j.Winner = i
		}
	}
	if j.Base >= 0 && j.Other >= 0 {
		j.Estimate, j.Absolute, j.Verdict = s.compare(c, metric, j.Base, j.Other)
	}
	return j
}

// compare compares two rivals in a cell.
func (s *Sweep) compare(c *Cell, metric string, base, other int) (e statistics.Estimate, absolute bool, v Verdict) {
	if max(base, other) >= len(c.Results) {
		return e, false, Unknown
	}
	a, b := c.Results[base].values(metric), c.Results[other].values(metric)
	var pairs []statistics.Pair
	most := 0.0
	for _, seed := range s.Plan.Seeds {
		x, ok := a[seed]
		y, too := b[seed]
		if ok && too {
			pairs = append(pairs, statistics.Pair{Baseline: x, Candidate: y})
			absolute, most = absolute || x == 0 || y == 0, max(most, math.Abs(x), math.Abs(y))
		}
	}
	if len(pairs) == 0 {
		return e, false, Unknown
	}
	plan := statistics.Plan{Absolute: absolute, Confidence: max(confidence(len(pairs)), 0.01)}
	e = statistics.Compare(pairs, plan).Estimate
	smallest := least
	if absolute {
		smallest = least * most
	}
	switch {
	case len(pairs) < 2 || e.Low <= 0 && e.High >= 0 || math.Abs(e.Effect) < smallest:
		return e, absolute, Level
	case (e.Effect > 0) == s.higher(metric):
		return e, absolute, Ahead
	}
	return e, absolute, Behind
}

// Count is how many cells have each verdict, and the median effects of those that differ.
type Count struct {
	Ahead, Level, Behind, Unknown int
	Gain, Loss                    float64 // median shares, positive; NaN for none
}

// count counts the verdicts of cells.
func (s *Sweep) count(cells []*Cell, judge func(c *Cell) Judgement) (n Count) {
	var gains, losses []float64
	for _, c := range cells {
		j := judge(c)
		size := math.Abs(j.Effect)
		switch j.Verdict {
		case Ahead:
			if n.Ahead++; !j.Absolute {
				gains = append(gains, size)
			}
		case Behind:
			if n.Behind++; !j.Absolute {
				losses = append(losses, size)
			}
		case Level:
			n.Level++
		default:
			n.Unknown++
		}
	}
	n.Gain, n.Loss = medianOf(gains), medianOf(losses)
	return n
}

// cells returns the cells of which has is true; nil takes all.
func (s *Sweep) cells(has func(c *Cell) bool) (list []*Cell) {
	for i := range s.Cells {
		if has == nil || has(&s.Cells[i]) {
			list = append(list, &s.Cells[i])
		}
	}
	return list
}

func medianOf(list []float64) float64 {
	if len(list) == 0 {
		return math.NaN()
	}
	return runfolder.Median(list)
}

// Overall returns, by rival, the geometric mean over cells of its median over that of the first
// rival, of cells in which all rivals have numbers above 0; NaN without such cells. The number of
// these cells comes too.
func (s *Sweep) Overall(metric string) (means []float64, cells int) {
	sums := make([]float64, len(s.Rivals))
	for i := range s.Cells {
		m := s.Judgement(&s.Cells[i], metric).Medians
		if slices.ContainsFunc(m, func(v float64) bool { return !(v > 0) }) {
			continue
		}
		cells++
		for r := range m {
			sums[r] += math.Log(m[r] / m[0])
		}
	}
	for r := range sums {
		means = append(means, math.Exp(sums[r]/float64(cells))) // NaN without cells
	}
	return means, cells
}

// Fixed returns the best rival of each side over all cells together by a metric; -1 for none.
func (s *Sweep) Fixed(metric string) (base, other int) {
	base, other = -1, -1
	means, cells := s.Overall(metric)
	if cells == 0 {
		return base, other
	}
	for r, v := range means {
		side := &other
		if s.Rivals[r].Baseline {
			side = &base
		}
		if *side < 0 || s.higher(metric) && v > means[*side] || !s.higher(metric) && v < means[*side] {
			*side = r
		}
	}
	return base, other
}
