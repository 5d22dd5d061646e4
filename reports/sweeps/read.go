// Package sweeps makes a page of a sweep: for each cell, which of the rivals is best by each
// metric, by how much, and whether the seeds tell. What competes, in which cells and by which
// metrics is what the experiment's key sweep.judge says; without it the variants compete, or the
// values of the last path.
package sweeps

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/orchestrator/compare/results"
)

// Plan is what a page needs of the plan of a sweep.
type Plan struct {
	Name, Version, Experiment string // Version is of csiglab
	Command, Given            []string
	Started                   time.Time
	Paths                     []string // that points change; the first Axes of them are names of axes
	Axes                      int
	Points                    [][]string // values by Paths
	Variants                  []string
	Seeds                     []uint64
	Trials                    int    // of all points
	Judge                     *Judge // nil without
}

// Judge is what competes and how it is judged: the key sweep.judge of an experiment, which says
// what the fields are.
type Judge struct {
	Between  []string
	Baseline map[string][]string
	Sides    []string
	Metrics  []Metric
}

// Metric is a metric with its title.
type Metric struct{ Name, Title string }

// Sweep is what a page says of a sweep.
type Sweep struct {
	Plan    *Plan
	Folder  string
	Judge   Judge
	Others  []string   // the dimensions of cells
	Values  [][]string // of each of Others, in the order of the points
	Rivals  []Rival
	Cells   []Cell
	Runs    int // that have ended
	Invalid int // of Runs, those whose numbers do not count
	of      meaning.Of
	judged  map[judged]Judgement
}

// judged is a cell and a metric.
type judged struct {
	cell   *Cell
	metric string
}

// Rival is a combination of the values of the axes that compete.
type Rival struct {
	Values   []string // by Judge.Between
	Baseline bool
}

// Name returns the name of a rival.
func (r *Rival) Name() string { return strings.Join(r.Values, ", ") }

// Cell is where the rivals are compared.
type Cell struct {
	Values  []string  // by Sweep.Others
	Results []*Result // by Sweep.Rivals; nil: there is no point for it
}

// Result is what the seeds of a rival came to in a cell.
type Result struct {
	Point   int
	Variant string
	Seeds   []uint64
	Values  []map[string]float64 // of the metrics, by seed
	Hash    string               // trace of the first seed
	Invalid int
	Reason  string // of the first that does not count
}

// variantAxis is the dimension that is no path.
const variantAxis = "variant"

// Read reads the folder of a sweep. Metrics without a direction of their own, such as derived
// ones, are better when they are less. key chooses the metrics to judge by of those that the table
// has, where the plan does not say. The error wraps results.ErrDamaged.
func Read(folder string, p *Plan, key func(metrics []string) []string, of meaning.Of) (*Sweep, error) {
	t, err := results.Open(filepath.Join(folder, results.File))
	if err != nil {
		return nil, err
	}
	defer t.Close() // opened for reading
	s := &Sweep{Plan: p, Folder: folder, of: of, judged: map[judged]Judgement{}}
	if p.Judge != nil {
		s.Judge = *p.Judge
	} else if s.Judge, err = usual(p, key(t.Metrics)); err != nil {
		return nil, err
	}
	s.arrange()
	for row, err := range t.Rows() {
		if err != nil {
			return nil, err
		}
		s.add(&row)
	}
	if p.Judge == nil {
		s.Judge.Metrics = slices.DeleteFunc(s.Judge.Metrics, func(m Metric) bool { return !s.known(m.Name) })
		if len(s.Judge.Metrics) == 0 {
			return nil, fmt.Errorf("%s: no metric is known of both sides; %d of %s have ended", folder, s.Runs, spelling.Plural(p.Trials, "run"))
		}
	}
	return s, nil
}

// known reports whether a metric is known of a rival in a cell, and of both sides if there are two,
// and is not 0 for all.
func (s *Sweep) known(metric string) bool {
	return slices.ContainsFunc(s.Cells, func(c Cell) bool {
		j := s.Judgement(&c, metric)
		return j.Winner >= 0 && (!s.compared() || j.Base >= 0 && j.Other >= 0) &&
			slices.ContainsFunc(j.Medians, func(v float64) bool { return v != 0 && !math.IsNaN(v) })
	})
}

// usual is what a sweep compares that says nothing about it.
func usual(p *Plan, metrics []string) (j Judge, err error) {
	switch {
	case len(p.Variants) > 1:
		j.Between = []string{variantAxis}
		j.Baseline = map[string][]string{variantAxis: p.Variants[:1]}
	case len(p.Paths) > 0:
		j.Between = p.Paths[len(p.Paths)-1:]
	default:
		return j, fmt.Errorf("the sweep has one point and one variant: there is nothing to compare")
	}
	for _, name := range metrics {
		j.Metrics = append(j.Metrics, Metric{Name: name, Title: name})
	}
	return j, nil
}

// arrange fills in the rivals and the cells.
func (s *Sweep) arrange() {
	dimensions := slices.Clone(s.Plan.Paths)
	if len(s.Plan.Variants) > 1 {
		dimensions = append(dimensions, variantAxis)
	}
	for _, name := range dimensions {
		if !slices.Contains(s.Judge.Between, name) {
			s.Others = append(s.Others, name)
		}
	}
	s.Values = make([][]string, len(s.Others))
	for i := range s.Plan.Points {
		for _, variant := range s.Plan.Variants {
			s.cell(s.Plan.Points[i], variant)
		}
	}
}

// value returns the value of a dimension at a point.
func (s *Sweep) value(dimension string, values []string, variant string) string {
	if dimension == variantAxis {
		return variant
	}
	return cmp.Or(values[slices.Index(s.Plan.Paths, dimension)], "as it is")
}

// cell returns the cell of a point and the index of its rival, which it adds if they are new.
func (s *Sweep) cell(values []string, variant string) (*Cell, int) {
	var rival Rival
	rival.Baseline = len(s.Judge.Baseline) > 0
	for _, name := range s.Judge.Between {
		v := s.value(name, values, variant)
		rival.Values = append(rival.Values, v)
		if list, ok := s.Judge.Baseline[name]; ok && !slices.Contains(list, v) {
			rival.Baseline = false
		}
	}
	r := slices.IndexFunc(s.Rivals, func(o Rival) bool { return slices.Equal(o.Values, rival.Values) })
	if r < 0 {
		s.Rivals, r = append(s.Rivals, rival), len(s.Rivals)
	}
	var where []string
	for k, name := range s.Others {
		v := s.value(name, values, variant)
		where = append(where, v)
		if !slices.Contains(s.Values[k], v) {
			s.Values[k] = append(s.Values[k], v)
		}
	}
	c := slices.IndexFunc(s.Cells, func(o Cell) bool { return slices.Equal(o.Values, where) })
	if c < 0 {
		s.Cells, c = append(s.Cells, Cell{Values: where}), len(s.Cells)
	}
	return &s.Cells[c], r
}

// add adds a run.
func (s *Sweep) add(row *results.Row) {
	cell, r := s.cell(row.Set, row.Variant)
	for len(cell.Results) < len(s.Rivals) {
		cell.Results = append(cell.Results, nil)
	}
	if cell.Results[r] == nil {
		cell.Results[r] = &Result{Point: row.Point, Variant: row.Variant}
	}
	res := cell.Results[r]
	s.Runs++
	if row.Outcome != results.Passed && row.Outcome != results.Failed {
		s.Invalid++
		if res.Invalid++; res.Reason == "" {
			res.Reason = cmp.Or(row.Reason, row.Outcome)
		}
		return
	}
	if len(res.Seeds) == 0 {
		res.Hash = row.TraceHash
	}
	res.Seeds = append(res.Seeds, row.Seed)
	values := map[string]float64{}
	for _, m := range s.Judge.Metrics {
		if v, ok := row.Metrics[m.Name]; ok {
			values[m.Name] = v
		}
	}
	res.Values = append(res.Values, values)
}

// Command returns the command that repeats the runs of a result.
func (s *Sweep) Command(r *Result) string {
	p := s.Plan
	parts := []string{"csiglab run", spelling.ShellWord(p.Experiment)}
	point := p.Points[r.Point]
	for i, name := range p.Paths[:p.Axes] {
		parts = append(parts, "--at", spelling.ShellWord(name+"="+point[i]))
	}
	for i, path := range p.Paths[p.Axes:] {
		if v := point[p.Axes+i]; v != "" {
			parts = append(parts, "--set", spelling.ShellWord(path+"="+v))
		}
	}
	for _, given := range p.Given {
		parts = append(parts, "--set", spelling.ShellWord(given))
	}
	if len(p.Variants) > 1 {
		parts = append(parts, "--variant", r.Variant)
	}
	return strings.Join(append(parts, fmt.Sprintf("--seeds %d", len(p.Seeds))), " ")
}

// sides returns what the baseline and the others are called where the best of each meet: by
// their names where there is one.
func (s *Sweep) sides() (baseline, others string) {
	baseline, others = s.names()
	baseline, others = "the best "+baseline, "the best "+others
	if list := s.side(true); len(list) == 1 {
		baseline = s.Rivals[list[0]].Name()
	}
	if list := s.side(false); len(list) == 1 {
		others = s.Rivals[list[0]].Name()
	}
	return baseline, others
}

// side returns the rivals of the baseline, or the others.
func (s *Sweep) side(baseline bool) (list []int) {
	for r := range s.Rivals {
		if s.Rivals[r].Baseline == baseline {
			list = append(list, r)
		}
	}
	return list
}

// single reports whether one rival meets one.
func (s *Sweep) single() bool { return len(s.side(true)) == 1 && len(s.side(false)) == 1 }

// names returns what the baseline and the others are called.
func (s *Sweep) names() (baseline, others string) {
	if len(s.Judge.Sides) == 2 {
		return s.Judge.Sides[0], s.Judge.Sides[1]
	}
	return "of the baseline", "of the others"
}

// values returns the values of a metric by seed.
func (r *Result) values(metric string) map[uint64]float64 {
	list := map[uint64]float64{}
	if r == nil {
		return list
	}
	for i, seed := range r.Seeds {
		if v, ok := r.Values[i][metric]; ok {
			list[seed] = v
		}
	}
	return list
}

// sorted returns the values of a map by its keys.
func sorted(m map[uint64]float64) (list []float64) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		list = append(list, m[k])
	}
	return list
}
