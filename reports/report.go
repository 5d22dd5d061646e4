// Package reports turns a run folder into a report: verdict, tables and charts
// as plain data (Build), and that data as one offline HTML file or as Markdown.
// It reads the folder and nothing else, so that it works on last month's run.
package reports

import (
	"fmt"
	"strings"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Report is all that a report shows, as plain data.
type Report struct {
	Title       string
	Description string
	Verdict     Verdict
	Findings    []string // sentences derived from the data
	Published   *Table   // nil when the experiment names no published figure
	Charts      []Chart  // without those that have no data
	Metrics     Table
	Details     Table // every metric, by seed
	Completion  Table // flow completion times
	Programs    Table // that ran on hosts
	Named       Table // of programs: the ports that tags named
	How         []Fact
	Runs        Table
}

// States of verdicts and cells.
const (
	StateNone = ""
	StateGood = "good"
	StateBad  = "bad"
)

// Verdict is the outcome in short.
type Verdict struct {
	State        string // StateGood or StateBad
	Headline     string
	Reasons      []string // why the experiment is not valid
	Expectations Table
}

// Table is a table of text. Every row has as many cells as there are columns.
type Table struct {
	Columns []Column
	Rows    [][]Cell
	Note    string
}

// Column is a column's heading; numbers are set flush right.
type Column struct {
	Name   string
	Number bool
}

// Cell is one cell of a table.
type Cell struct {
	Text  string
	State string
}

// Fact is a name and its value.
type Fact struct{ Name, Value string }

// Build reads a folder's tables and returns its report.
func Build(folder *runfolder.Folder) (*Report, error) {
	d, err := load(folder)
	if err != nil {
		return nil, fmt.Errorf("build report: %w", err)
	}
	m := &folder.Manifest
	r := &Report{
		Title: m.Name, Description: strings.TrimSpace(m.Description),
		Published: published(m, &folder.Summary),
		Metrics:   keyMetrics(m, &folder.Summary), Details: allMetrics(m, &folder.Summary),
		Completion: d.completion(), Programs: programs(m), Named: d.named(),
		How: how(m, &folder.Summary), Runs: runs(m),
	}
	r.Verdict = verdict(&folder.Summary, r.Published)
	ports := d.bottlenecks()
	r.Findings = d.findings(ports)
	for _, c := range []Chart{d.throughput(), d.queues(ports), d.delays(), d.actions()} {
		if len(c.Panels) > 0 {
			r.Charts = append(r.Charts, c)
		}
	}
	return r, nil
}

func verdict(s *runfolder.Summary, published *Table) Verdict {
	v := Verdict{State: StateGood, Reasons: s.Reasons, Expectations: Table{Columns: []Column{{Name: "Expectation"}, {Name: "Value", Number: true}, {Name: "Outcome"}}}}
	held := 0
	for _, e := range s.Expectations {
		outcome := Cell{"✗ failed", StateBad}
		if e.OK {
			held++
			outcome = Cell{"✓ holds", StateGood}
		}
		v.Expectations.Rows = append(v.Expectations.Rows, []Cell{{Text: e.Expr}, {Text: expectationValue(e.Value)}, outcome})
	}
	total := len(s.Expectations)
	switch {
	case !s.Valid:
		v.State, v.Headline = StateBad, "The run is not valid"
	case held < total:
		v.State, v.Headline = StateBad, fmt.Sprintf("Valid, but %d of %d expectations failed", total-held, total)
	case total == 0:
		v.Headline = "Valid; the experiment states no expectation"
	default:
		v.Headline = fmt.Sprintf("Valid; %d of %d expectations hold", held, total)
	}
	if published != nil {
		judged := map[string]int{}
		for _, row := range published.Rows {
			judged[row[verdictColumn].State]++
		}
		if n := judged[StateGood] + judged[StateBad]; n > 0 {
			v.Headline += fmt.Sprintf("; %d of %d published figures reproduced", judged[StateGood], n)
		}
	}
	return v
}

func expectationValue(v any) string {
	switch v := v.(type) {
	case nil:
		return "–"
	case float64:
		return number(v)
	case bool:
		if v {
			return "true"
		}
		return "false"
	}
	return fmt.Sprint(v)
}
