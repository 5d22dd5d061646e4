// Package history shows how the metrics of a suite went over revisions: of each its median with an
// interval, where it changed by more than the noise, and which verdict was given. Revisions are
// read by orchestrator/compare/history.
package history

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/compare/statistics"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/reports/compare"
	"github.com/csiglab/csiglab/reports/section/variants"
)

// Schema is the version of History in JSON.
const Schema = 1

// History is the metrics of a suite over revisions.
type History struct {
	Schema     int     `json:"schema"`     // the constant
	Confidence float64 `json:"confidence"` // of intervals and changes
	// Delta is the share of the value before within which a metric is the same.
	Delta     float64            `json:"delta"`
	Revisions []verdict.Revision `json:"revisions"` // in order of time; they are numbered from 1
	Metrics   []Metric           `json:"metrics"`   // by experiment
	Notes     []string           `json:"notes,omitempty"`
}

// Metric is one metric of an experiment.
type Metric struct {
	Experiment string  `json:"experiment"` // NAME or NAME/VARIANT
	Name       string  `json:"name"`
	Unit       string  `json:"unit,omitempty"`
	Better     string  `json:"better,omitempty"` // lower or higher; "": neither
	Points     []Point `json:"points"`           // of revisions that have it
}

// Point is a metric as of one revision.
type Point struct {
	Revision int     `json:"revision"` // its number
	Seeds    int     `json:"seeds"`
	Median   float64 `json:"median"` // over the seeds
	// Low and High enclose the median of all seeds that there could be; nil: too few seeds.
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`
	// Verdict is what regress said of it; "": it was not asked.
	Verdict verdict.Outcome `json:"verdict,omitempty"`
	// Redefined: the experiment is another one than before.
	Redefined bool `json:"redefined,omitempty"`
	// Change is against the revision before that has the metric, nil of the first.
	Change *Change `json:"change,omitempty"`
}

// Change is by how much a metric is greater than before: as compare says it of two folders. P is
// corrected for all metrics of the revision.
type Change struct {
	Since    int             `json:"since"` // number of the revision before
	Absolute bool            `json:"absolute"`
	Effect   float64         `json:"effect"`
	Low      *float64        `json:"low"`
	High     *float64        `json:"high"`
	P        float64         `json:"p"`
	Outcome  variants.Effect `json:"outcome"`

	of *compare.MetricComparison
}

// moved reports whether a metric changed by more than the noise.
func (c *Change) moved() bool {
	return c != nil && (c.Outcome == variants.Worse || c.Outcome == variants.Better || c.Outcome == compare.Changed)
}

// New returns the history of revisions, which are in order of time, of the metrics that the design
// only takes.
func New(revisions []verdict.Revision, notes []string, d compare.Design) (*History, error) {
	h := &History{Schema: Schema, Confidence: d.Confidence, Delta: d.Delta, Revisions: revisions, Metrics: []Metric{}, Notes: notes}
	index := map[[2]string]int{}
	own := directions(revisions)
	known := d.Meaning
	d.Meaning = func(name string) meaning.Meaning {
		m := known(name)
		if better, ok := own[name]; ok {
			m.Better = better
		}
		return m
	}
	if d.Single, d.Together = true, true; d.Only == nil {
		d.Only = func(string) bool { return true }
	}
	last := map[string]seen{}
	for i := range revisions {
		changes, err := h.changes(i, last, d)
		if err != nil {
			return nil, err
		}
		for k := range revisions[i].Cells {
			c := &revisions[i].Cells[k]
			before, ok := last[c.Name]
			redefined := ok && before.definition != "" && c.Definition != "" && before.definition != c.Definition
			for _, kept := range c.Metrics {
				if len(kept.Values) == 0 || !d.Only(kept.Name) {
					continue
				}
				key := [2]string{c.Name, kept.Name}
				at, ok := index[key]
				if !ok {
					of := d.Meaning(kept.Name)
					at = len(h.Metrics)
					index[key], h.Metrics = at, append(h.Metrics, Metric{Experiment: c.Name, Name: kept.Name, Unit: of.Unit, Better: of.Better.String()})
				}
				p := newPoint(i+1, &kept, d.Confidence)
				p.Redefined, p.Change = redefined, changes[key]
				h.Metrics[at].Points = append(h.Metrics[at].Points, p)
			}
			last[c.Name] = seen{number: i + 1, definition: c.Definition, one: caseOf(c)}
		}
	}
	slices.SortStableFunc(h.Metrics, func(a, b Metric) int { return strings.Compare(a.Experiment, b.Experiment) })
	h.note()
	return h, nil
}

// seen is an experiment as of the last revision that has it.
type seen struct {
	number     int
	definition string
	one        compare.Case
}

// directions are those that suites give metrics.
func directions(revisions []verdict.Revision) map[string]meaning.Better {
	all := map[string]meaning.Better{}
	for _, r := range revisions {
		for _, c := range r.Cells {
			for _, m := range c.Metrics {
				switch m.Better {
				case verdict.Lower:
					all[m.Name] = meaning.Lower
				case verdict.Higher:
					all[m.Name] = meaning.Higher
				case verdict.Same:
					all[m.Name] = meaning.Neutral
				}
			}
		}
	}
	return all
}

// caseOf returns a cell as comparisons take it.
func caseOf(c *verdict.Cell) compare.Case {
	seeds := map[uint64]map[string]float64{}
	for _, m := range c.Metrics {
		for seed, v := range m.Values {
			if seeds[seed] == nil {
				seeds[seed] = map[string]float64{}
			}
			seeds[seed][m.Name] = v
		}
	}
	one := compare.Case{Variant: c.Name}
	for _, seed := range slices.Sorted(maps.Keys(seeds)) {
		one.Seeds = append(one.Seeds, compare.Seed{Seed: seed, Metrics: seeds[seed]})
	}
	return one
}

// changes compares the experiments of a revision with those that were last seen, by experiment and
// metric.
func (h *History) changes(i int, last map[string]seen, d compare.Design) (map[[2]string]*Change, error) {
	before, now := &compare.Measured{Folder: "before"}, &compare.Measured{Folder: h.Revisions[i].Name}
	for k := range h.Revisions[i].Cells {
		c := &h.Revisions[i].Cells[k]
		if l, ok := last[c.Name]; ok && len(l.one.Seeds) > 0 && len(c.Metrics) > 0 {
			before.Cases, now.Cases = append(before.Cases, l.one), append(now.Cases, caseOf(c))
		}
	}
	all := map[[2]string]*Change{}
	if len(now.Cases) == 0 {
		return all, nil
	}
	c, err := compare.Folders(before, now, d)
	if err != nil {
		return nil, fmt.Errorf("revision %d, %s: %w", i+1, h.Revisions[i].Name, err)
	}
	for k := range c.Cases {
		one := &c.Cases[k]
		for n := range one.Metrics {
			m := &one.Metrics[n]
			all[[2]string{one.VariantB, m.Name}] = &Change{Since: last[one.VariantB].number, Absolute: m.Absolute, Effect: m.Effect, Low: m.Low, High: m.High, P: m.P, Outcome: m.Outcome, of: m}
		}
	}
	return all, nil
}

func newPoint(number int, kept *verdict.Kept, confidence float64) Point {
	values := slices.Sorted(maps.Values(kept.Values))
	low, high := statistics.MedianInterval(values, confidence)
	return Point{Revision: number, Seeds: len(values), Median: runfolder.Median(values), Low: statistics.Finite(low), High: statistics.Finite(high), Verdict: kept.Outcome}
}

// note says what a reader has to know of the runs.
func (h *History) note() {
	var wall, redefined []string
	for _, r := range h.Revisions {
		for _, c := range r.Cells {
			if c.Clock == "wall" && !slices.Contains(wall, c.Name) {
				wall = append(wall, c.Name)
			}
		}
	}
	for _, m := range h.Metrics {
		if slices.ContainsFunc(m.Points, func(p Point) bool { return p.Redefined }) && !slices.Contains(redefined, m.Experiment) {
			redefined = append(redefined, m.Experiment)
		}
	}
	if len(wall) > 0 {
		h.Notes = append(h.Notes, strings.Join(wall, ", ")+": under clock wall values depend on the machine too, and a change may be its")
	}
	if len(redefined) > 0 {
		h.Notes = append(h.Notes, strings.Join(redefined, ", ")+": the experiment itself changed too, where the tables say \"redefined\"")
	}
}

// changed returns the metrics that changed, those that did so last first.
func (h *History) changed() (all []*Metric) {
	for i := range h.Metrics {
		if h.Metrics[i].lastMove() >= 0 {
			all = append(all, &h.Metrics[i])
		}
	}
	slices.SortStableFunc(all, func(a, b *Metric) int {
		return b.Points[b.lastMove()].Revision - a.Points[a.lastMove()].Revision
	})
	return all
}

// lastMove returns the last point at which the metric changed, or -1.
func (m *Metric) lastMove() int {
	for i := len(m.Points) - 1; i >= 0; i-- {
		if m.Points[i].Change.moved() {
			return i
		}
	}
	return -1
}

// moves counts what changed at a revision.
func (h *History) moves(number int) map[variants.Effect]int {
	counts := map[variants.Effect]int{}
	for i := range h.Metrics {
		for k := range h.Metrics[i].Points {
			if p := &h.Metrics[i].Points[k]; p.Revision == number && p.Change != nil {
				counts[p.Change.Outcome]++
			}
		}
	}
	return counts
}

// finite returns a bound, or NaN where there is none.
func finite(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}
