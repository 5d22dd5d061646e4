package sweep

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/internal/wildcard"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/compare/results"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
)

// Summary is the result of a sweep, or of the shard that the folder is of.
type Summary struct {
	Schema  int    `json:"schema"`
	Name    string `json:"name"`
	Folder  string `json:"folder"`
	Results string `json:"results"` // the table
	Shard   string `json:"shard,omitempty"`

	Trials  int `json:"trials"`  // that the sweep or the shard has
	Done    int `json:"done"`    // of these, how many have ended
	Invalid int `json:"invalid"` // of Done, those whose numbers do not count
	Failed  int `json:"failed"`  // of Done, those in which an expectation failed

	Paths   []string  `json:"paths"`
	Metrics []string  `json:"metrics"` // that Points has
	Points  []Medians `json:"points"`
	// Reasons are the first of the trials whose numbers do not count.
	Reasons []Reason `json:"reasons"`

	long int // metrics of a long table
}

// Medians are the results of one variant at one point.
type Medians struct {
	Point   int      `json:"point"`
	Values  []string `json:"values"` // by Summary.Paths; "": the point leaves the path alone
	Variant string   `json:"variant"`
	Seeds   int      `json:"seeds"` // whose numbers count
	Invalid int      `json:"invalid,omitempty"`
	// Metrics are the medians over the seeds that have the metric.
	Metrics map[string]float64 `json:"metrics"`
}

// Reason is a trial whose numbers do not count.
type Reason struct {
	Point   int      `json:"point"`
	Set     []string `json:"set"`
	Variant string   `json:"variant"`
	Seed    uint64   `json:"seed"`
	Reasons []string `json:"reasons"`
}

// maxBad is how many trials whose numbers do not count a Summary has.
const maxBad = 100

// summarySchema is the version of Summary.
const summarySchema = 1

// Finish writes results.parquet from what the folder has. Of the metrics it writes those that
// match one of the plan's patterns; without patterns those that the plan judges, or all. Those that
// differ from run to run (meaning.Meaning.Machine) it leaves out unless they are named. An error
// of class failure.ErrConfiguration says that a pattern matches none. shown returns the metrics
// of the Summary, of those that the table has.
func (s *Sweep) Finish(shown func(metrics []string) []string) (*Summary, error) {
	names, err := s.metrics()
	if err != nil {
		return nil, err
	}
	p := s.Plan
	sum := &Summary{
		Schema: summarySchema, Name: p.Name, Folder: s.Folder, Results: filepath.Join(s.Folder, results.File), Shard: p.Shard.String(),
		Paths: p.Paths, Metrics: append([]string{}, shown(names)...), Points: []Medians{}, Reasons: []Reason{},
	}
	columns := results.Columns{Paths: p.Paths, Metrics: names}
	if columns.Long() {
		sum.long = len(names)
	}
	err = own.WriteTo(sum.Results, 0o644, func(file io.Writer) error {
		w := results.NewWriter(file, columns)
		return cmp.Or(s.write(w, sum), w.Close())
	})
	if err != nil {
		return nil, failure.Infrastructure(fmt.Errorf("%s: %w", sum.Results, cause.Of(err)))
	}
	return sum, nil
}

// metrics returns the sorted names of the metrics that trials have and a pattern matches.
func (s *Sweep) metrics() ([]string, error) {
	patterns := s.Plan.Metrics
	all := map[string]bool{}
	for i := range s.Plan.Trials() {
		out, ok, err := s.journal.Get(s.Plan.trial(i))
		if err != nil {
			return nil, failure.Infrastructure(err)
		}
		if ok {
			for name := range out.Metrics {
				if slices.Contains(patterns, name) || !measure.Meaning(name).Machine {
					all[name] = true
				}
			}
		}
	}
	if judge := s.Plan.Judge; len(patterns) == 0 && judge != nil { // the page needs no others, of which there may be a thousand times as many
		maps.DeleteFunc(all, func(name string, _ bool) bool {
			return !slices.ContainsFunc(judge.Metrics, func(m experiment.JudgedMetric) bool { return m.Name == name })
		})
	}
	if len(patterns) == 0 || len(all) == 0 {
		return slices.Sorted(maps.Keys(all)), nil
	}
	chosen := map[string]bool{}
	for _, pattern := range patterns {
		found := false
		for name := range all {
			if wildcard.Match(pattern, name) {
				chosen[name], found = true, true
			}
		}
		if !found {
			return nil, failure.Configuration(noMetric(pattern, spelling.Nearest(pattern, slices.Sorted(maps.Keys(all)))))
		}
	}
	return slices.Sorted(maps.Keys(chosen)), nil
}

// write writes the rows and fills in the summary.
func (s *Sweep) write(w *results.Writer, sum *Summary) error {
	p := s.Plan
	values := map[string][]float64{} // of the variant at the point, by metric
	for i := range p.Trials() {
		at := p.place(i)
		if p.Shard.has(i) {
			sum.Trials++
		}
		out, ok, err := s.journal.Get(p.trial(i))
		if err != nil {
			return err
		}
		if ok {
			row := results.Row{
				Point: at.point, Set: p.Points[at.point].Values, Variant: at.variant, Seed: at.seed,
				Outcome: outcome(&out), Reason: strings.Join(out.Reasons, "\n"), TraceHash: out.TraceHash, Metrics: out.Metrics,
			}
			if err := w.Write(row); err != nil {
				return err
			}
			s.count(sum, row, out, values)
		}
		if at.last && len(sum.Points) > 0 {
			last := &sum.Points[len(sum.Points)-1]
			for name, list := range values {
				last.Metrics[name] = runfolder.Median(list)
			}
			clear(values)
		}
	}
	return nil
}

// count adds a row to the summary.
func (s *Sweep) count(sum *Summary, row results.Row, out trial.Outcome, values map[string][]float64) {
	sum.Done++
	last := len(sum.Points) - 1
	if last < 0 || sum.Points[last].Point != row.Point || sum.Points[last].Variant != row.Variant {
		sum.Points = append(sum.Points, Medians{Point: row.Point, Values: row.Set, Variant: row.Variant, Metrics: map[string]float64{}})
		last++
	}
	m := &sum.Points[last]
	if out.Exit == 1 {
		sum.Failed++
	}
	if !out.Counts() {
		sum.Invalid++
		m.Invalid++
		if len(sum.Reasons) < maxBad {
			sum.Reasons = append(sum.Reasons, Reason{row.Point, s.Plan.Points[row.Point].Set, row.Variant, row.Seed, out.Reasons})
		}
		return
	}
	m.Seeds++
	for _, name := range sum.Metrics {
		if v, ok := row.Metrics[name]; ok {
			values[name] = append(values[name], v)
		}
	}
}

// Each calls visit with the outcome of every trial that has ended, by point, then variant,
// then seed. The error is of class failure.ErrInfrastructure.
func (s *Sweep) Each(visit func(point int, variant string, seed uint64, out trial.Outcome)) error {
	for i := range s.Plan.Trials() {
		out, ok, err := s.journal.Get(s.Plan.trial(i))
		if err != nil {
			return failure.Infrastructure(err)
		}
		if ok {
			at := s.Plan.place(i)
			visit(at.point, at.variant, at.seed, out)
		}
	}
	return nil
}

// outcome returns the outcome of a trial as the table has it.
func outcome(out *trial.Outcome) string {
	switch out.Exit {
	case 0:
		return results.Passed
	case 1:
		return results.Failed
	case 2:
		return results.Wrong
	}
	return results.Invalid
}
