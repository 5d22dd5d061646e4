package stress

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/orchestrator/compare/sweep"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/experiment/expression"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
)

// Verdict is what became of an expectation under a setting.
type Verdict string

// Verdicts.
const (
	Held         Verdict = "held"
	Failed       Verdict = "failed"
	DoesNotApply Verdict = "does not apply" // the setting changes no variant that the expectation mentions
	Invalid      Verdict = "invalid"        // a run has no numbers
	Refused      Verdict = "refused"        // by the reader of experiments
	NotRun       Verdict = "not run"        // a run is missing
)

// Cell is an expectation under a setting.
type Cell struct {
	Setting  string   `json:"setting"`
	Verdict  Verdict  `json:"verdict"`
	Promised bool     `json:"promised"`
	Value    *float64 `json:"value,omitempty"`  // the side of the comparison that is not the bound
	Figure   *float64 `json:"figure,omitempty"` // see expression.Results.Figure
	Text     string   `json:"text,omitempty"`   // the expectation with its values
	Reason   string   `json:"reason,omitempty"`
	Seeds    []uint64 `json:"seeds,omitempty"` // in which the condition of every_seed does not hold
}

// Row is an expectation under all settings.
type Row struct {
	Expect string `json:"expect"`
	Cells  []Cell `json:"cells"` // by Result.Settings
}

// SettingInfo is a setting of a Result.
type SettingInfo struct {
	Name  string   `json:"name"`
	Set   []string `json:"set"` // PATH=VALUE, as of --set
	Seeds []uint64 `json:"seeds"`
}

// Result is what became of the expectations of an experiment.
type Result struct {
	Experiment string        `json:"experiment"`
	Folder     string        `json:"folder,omitempty"`
	Settings   []SettingInfo `json:"settings"`
	Rows       []Row         `json:"rows"`
	Runs       int           `json:"runs"` // that have ended
	Missing    int           `json:"missing"`
	Seconds    float64       `json:"seconds"` // that the runs took together
}

// Judge judges the expectations by the runs of a sweep that have ended; nil: none were needed.
// The error is of reading the journal.
func (p *Plan) Judge(s *sweep.Sweep) (*Result, error) {
	r := &Result{Experiment: p.set.Base.Name, Settings: []SettingInfo{}, Rows: []Row{}}
	done := map[key]trial.Outcome{}
	if s != nil {
		r.Folder = s.Folder
		err := s.Each(func(point int, variant string, seed uint64, out trial.Outcome) {
			done[key{point, variant, seed}] = out
			r.Runs, r.Seconds = r.Runs+1, r.Seconds+out.Seconds
		})
		if err != nil {
			return nil, err
		}
		r.Missing = p.Sweep.Trials() - r.Runs
	}
	for i, setting := range p.settings {
		info := SettingInfo{Name: setting.Name, Set: []string{}, Seeds: p.seedsOf(i)}
		for _, o := range setting.Overrides {
			info.Set = append(info.Set, o.Path+"="+o.Value)
		}
		r.Settings = append(r.Settings, info)
	}
	for _, e := range p.expect {
		row := Row{Expect: strings.Join(strings.Fields(e.text), " ")}
		for i := range p.settings {
			cell := p.cell(e, i, done)
			cell.Setting, cell.Promised = p.settings[i].Name, p.set.Base.Promised(e.text, p.settings[i].Name)
			row.Cells = append(row.Cells, cell)
		}
		r.Rows = append(r.Rows, row)
	}
	return r, nil
}

type key struct {
	point   int
	variant string
	seed    uint64
}

// seedsOf returns the seeds that a setting is judged over.
func (p *Plan) seedsOf(setting int) []uint64 {
	if p.points[setting] == 0 {
		return p.seeds
	}
	return p.seeds[:p.few]
}

// cell judges an expectation under a setting.
func (p *Plan) cell(e expectation, setting int, done map[key]trial.Outcome) Cell {
	s := p.settings[setting]
	changed, same := p.mentioned(e, s)
	if len(changed) == 0 {
		return Cell{Verdict: DoesNotApply, Reason: p.whyNot(same, s)}
	}
	point := p.points[setting]
	if point > 0 && p.Sweep.Points[point].Refused != "" {
		return Cell{Verdict: Refused, Reason: p.Sweep.Points[point].Refused}
	}
	runs := map[string][]expression.Run{}
	for _, v := range e.compiled.Variants() {
		at := point
		if slices.Contains(same, v) {
			at = 0
		}
		for _, seed := range p.seedsOf(setting) {
			out, ok := done[key{at, v, seed}]
			switch {
			case !ok:
				return Cell{Verdict: NotRun, Reason: fmt.Sprintf("variant %s with seed %d has not been run", v, seed)}
			case !out.Counts():
				return Cell{Verdict: Invalid, Reason: fmt.Sprintf("variant %s, seed %d: %s", v, seed, strings.Join(out.Reasons, "; "))}
			}
			runs[v] = append(runs[v], expression.Run{Seed: seed, Metrics: out.Metrics})
		}
	}
	results := expression.NewResults(runs, measure.WhyAbsent)
	out := results.Expect(e.compiled)
	c := Cell{Verdict: Failed, Text: out.Text, Reason: out.Reason, Seeds: out.Seeds, Figure: results.Figure(e.compiled)}
	if value, ok := out.Value.(float64); ok {
		c.Value = &value
	}
	if out.OK {
		c.Verdict = Held
	}
	return c
}

// whyNot says why a setting changes nothing in some variants.
func (p *Plan) whyNot(variants []string, s Setting) string {
	if len(variants) == 0 {
		return "it mentions no variant"
	}
	var texts []string
	for _, v := range variants {
		text := s.Unchanged[v]
		if len(p.set.Variants) > 1 {
			text = v + ": " + text
		}
		add(&texts, []string{text})
	}
	return strings.Join(texts, "; ")
}

// Promise is what became of what an experiment promises.
type Promise int

// Promises, from the best to the worst.
const (
	Kept    Promise = iota // or nothing is promised
	Open                   // a run is missing
	Unknown                // a run has no numbers
	Broken                 // a promised expectation does not hold, or cannot be asked
)

// Promise returns what became of the promises of a result.
func (r *Result) Promise() (worst Promise) {
	for _, row := range r.Rows {
		for _, c := range row.Cells {
			if c.Promised {
				worst = max(worst, map[Verdict]Promise{NotRun: Open, Invalid: Unknown, Failed: Broken, Refused: Broken}[c.Verdict])
			}
		}
	}
	return worst
}
