// Package reports renders the numbers of a run (package reports/analysis) as one
// offline HTML file, as Markdown or as JSON. It words sentences, rounds numbers,
// chooses units of axes and draws charts. It reads no file and computes no
// metric.
package reports

import (
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/reports/analysis"
)

// page is what HTML and Markdown show, as text. Charts are apart: Markdown has
// none.
type page struct {
	Title        string
	Description  string
	Verdict      banner
	Story        []string // at most five sentences on what came out
	Notes        []string // what a reader of the results should know
	Findings     []string
	Compared     table // variants with the first one
	Published    table
	Expectations table
	Metrics      table
	Details      table // every metric
	DetailsTitle string
	Distribution table // of completion times and slowdowns, where there are many flows, and of collectives
	Worst        table // flows
	Completion   table
	Programs     table
	Faults       table
	Steps        []stepPicture // of the slowest step of each job
	Jobs         table
	JobGroups    table // jobs that share links
	Collectives  table // of jobs
	Paths        table // critical ones, of steps of jobs
	Blame        table // slow collectives, or transfers
	Fairness     table // of flows at ports that they share
	WorstCCTs    table // instances of collectives
	Named        table // ports that CSIG samples named
	Truth        table // errors of these samples
	Locators     table // that several ports share
	PortClasses  table // where there are many ports
	WorstPorts   table
	Ports        table // parameters, by classes of ports
	Flows        table // parameters, by classes of flows
	How          []fact
	Runs         table
}

// States of the banner and of cells.
const (
	stateGood = "good"
	stateWarn = "warn" // good, but flows are unfinished or runs are missing
	stateBad  = "bad"
)

// banner is the verdict in short.
type banner struct {
	State    string // stateGood, stateWarn or stateBad
	Headline string
	Reasons  []string // which flows are unfinished, why the experiment is not valid, and which expectations failed
}

// table is a table of text. Every row has as many cells as there are columns. A
// table without rows is not shown.
type table struct {
	Label   string // its name, for readers who do not see where it stands
	Columns []column
	Rows    [][]cell
	Note    string
	Query   string // a command that lists what the table leaves out, in the run folder; may be ""
}

// column is a column's heading; numbers are set flush right.
type column struct {
	Name   string
	Number bool
}

// cell is one cell of a table. State is a state or "".
type cell struct {
	Text  string
	State string
}

// fact is a name and its value.
type fact struct{ Name, Value string }

func newPage(r *analysis.Result) *page {
	return &page{
		Title: r.Name, Description: r.Description,
		Verdict: newBanner(r), Story: story(r), Notes: notes(r), Findings: Findings(r), Compared: compared(r),
		Published: published(r.Verdict.Published), Expectations: withNotEvaluated(expectations(r.Verdict.Expectations), r.Verdict.Incomplete),
		Metrics: keyMetrics(r), Details: allMetrics(r), DetailsTitle: detailsTitle(r),
		Distribution: distributions(r), Worst: worstFlows(r), PortClasses: portClasses(r.Ports), WorstPorts: worstPorts(r.Ports),
		Completion: completion(r), Programs: programs(r.Programs), Faults: faults(r.Faults), Named: named(r), Truth: truth(r), Locators: locators(r.Locators),
		Steps: newStepPictures(r), Jobs: jobs(r), JobGroups: jobGroups(r), Collectives: collectives(r), Paths: criticalPaths(r), Blame: blame(r), Fairness: fairness(r), WorstCCTs: worstCollectives(r),
		Ports: portParameters(r.Variants), Flows: flowParameters(r.Variants),
		How: how(r), Runs: runs(r.Runs),
	}
}

// Marks of the states, which do not depend on colour.
func (b *banner) Mark() string {
	switch b.State {
	case stateGood:
		return "✓"
	case stateWarn:
		return "!"
	}
	return "✗"
}

func newBanner(r *analysis.Result) banner {
	v, open := &r.Verdict, Unfinished(r)
	b := banner{State: stateBad, Reasons: slices.Concat(open, v.Reasons, failedExpectations(v.Expectations))}
	held, total := v.Held(), len(v.Expectations)
	switch {
	case !v.Valid:
		b.Headline = "The run is not valid"
	case held < total:
		b.Headline = fmt.Sprintf("Valid, but %d of %d expectations failed", total-held, total)
	case total == 0:
		b.Headline = "Valid; the experiment states no expectation"
	default:
		b.Headline = fmt.Sprintf("Valid; %d of %d expectations hold", held, total)
	}
	if v.Good() {
		b.State = stateGood
	}
	if len(open) > 0 {
		b.Headline = "Flows are unfinished. " + b.Headline
		if v.Good() {
			b.State = stateWarn
		}
	}
	if n := len(v.Published); n > 0 {
		b.Headline += fmt.Sprintf("; %d of %d published figures %s", v.Count(analysis.Reproduced), n, analysis.Reproduced)
	}
	b.addIncomplete(v, len(open) > 0)
	return b
}
