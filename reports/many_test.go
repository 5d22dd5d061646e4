package reports

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/measure"
	"github.com/csiglab/csiglab/reports/analysis"
	"github.com/csiglab/csiglab/reports/analysis/analysistest"
)

// "tables of thousands of flows become distributions with the worst ten named with why"
// (issue 11): the report does not grow with the number of flows, and says where all are.
func TestManyFlows(t *testing.T) {
	checkout.SkipSlowRace(t)
	sizes := map[int]int{}
	for _, hosts := range []int{5, 10} {
		m := &analysistest.Many{Leaves: 8, Spines: 16, Hosts: hosts, Seeds: 2, Samples: true, Open: true}
		f := m.Folder(t)
		numbers, err := analysis.Read(f, measure.Meaning)
		if err != nil {
			t.Fatal(err)
		}
		var page bytes.Buffer
		if err := WriteHTML(&page, numbers); err != nil {
			t.Fatal(err)
		}
		sizes[hosts] = page.Len()
		p := newPage(numbers)
		if len(p.Completion.Rows) > 0 {
			t.Error("there is a table of all flows")
		}
		worst := p.Worst
		if len(worst.Rows) != analysis.MaxWorst {
			t.Fatalf("%d worst flows, want %d", len(worst.Rows), analysis.MaxWorst)
		}
		// Of both seeds: first the flow that did not complete, then that of slowdown 100.
		for i, want := range []string{"0-1 1 not done: 50 %", "0-1 2 not done: 50 %", "3-2 1 500", "3-2 2 500"} {
			row := worst.Rows[i]
			size := row[2].Text
			if got := row[0].Text + " " + row[1].Text + " " + row[3].Text; got != want || size != "64" {
				t.Errorf("row %d: %q of %s, want %q of 64", i, got, size, want)
			}
		}
		row := worst.Rows[2]
		where := "crosses tor0 → h2 ("
		if m.Samples { // the ports of tor0 share the locator; one of them is on the way
			where = "CSIG names tor0-h2 (90 % of its delay samples)"
		}
		if got := []string{row[4].Text, row[5].Text, row[6].Text, row[7].Text, row[8].Text}; !slices.Equal(got, []string{"100", "16", "98", "10", "2"}) || !strings.HasPrefix(row[9].Text, where) {
			t.Errorf("flow 3-2: %v, %q", got, row[9].Text)
		}
		if !strings.Contains(worst.Note, "The worst 10 of "+number(float64(m.Flows()))+" flows") || !strings.Contains(worst.Note, "phases.parquet") {
			t.Errorf("note %q", worst.Note)
		}
		if n := len(p.Distribution.Rows); n != 2 {
			t.Errorf("%d rows of distributions, want completion times and slowdowns", n)
		}
		if len(p.PortClasses.Rows) != 4 || len(p.WorstPorts.Rows) != analysis.MaxWorst || p.PortClasses.Rows[0][0].Text != "host" {
			t.Errorf("classes %v, %d worst ports", p.PortClasses.Rows, len(p.WorstPorts.Rows))
		}
		if !strings.Contains(p.WorstPorts.Note, fmt.Sprintf("The 10 of %d ports", 2*8*(16+hosts))) {
			t.Errorf("note %q", p.WorstPorts.Note)
		}
		if d := f.Summary.Details; d == nil || !strings.Contains(p.Details.Note, "metrics.parquet has "+plural(int(d.Metrics), "metric")+" more, of flows and ports") {
			t.Errorf("details %+v; note %q", f.Summary.Details, p.Details.Note)
		}
		if !bytes.Contains(page.Bytes(), []byte(`<section id="slowdown">`)) {
			t.Error("there is no distribution of slowdowns")
		}
	}
	if sizes[10] > sizes[5]*11/10 {
		t.Errorf("the report of four times as many flows has %d bytes, that of %d hosts %d", sizes[10], 40, sizes[5])
	}
}

// The rates of flows that the summary lacks come from the table of metrics.
func TestRatesBeyondTheSummary(t *testing.T) {
	m := &analysistest.Many{Leaves: 4, Spines: 2, Hosts: 4}
	numbers, err := analysis.Read(m.Folder(t), measure.Meaning)
	if err != nil {
		t.Fatal(err)
	}
	if s := numbers.Findings.Sharing; s == nil || s.Slowest != "3-2" || s.Rates[0].SlowestGbps != 0.6 {
		t.Errorf("sharing %+v, want 3-2 with 0.6 Gb/s", s)
	}
	if len(numbers.Worst) != analysis.MaxWorst || numbers.Ports != nil {
		t.Errorf("%d worst flows, ports %+v; want %d and none", len(numbers.Worst), numbers.Ports, analysis.MaxWorst)
	}
}

// Few flows and ports have tables of their own and no list of the worst.
func TestFewFlows(t *testing.T) {
	p := newPage(build(t, analysistest.ThreeFlow().Folder(t, nil)).numbers)
	if len(p.Worst.Rows)+len(p.Distribution.Rows)+len(p.PortClasses.Rows) > 0 || len(p.Completion.Rows) != 3 {
		t.Errorf("%d worst flows, %d distributions, %d classes of ports, %d completion times; want three of the last", len(p.Worst.Rows), len(p.Distribution.Rows), len(p.PortClasses.Rows), len(p.Completion.Rows))
	}
}

// The commands of bounded tables name files and columns that there are.
func TestQueries(t *testing.T) {
	columns := map[string]reflect.Type{
		"phases.parquet": reflect.TypeFor[runfolder.PhaseRow](), "metrics.parquet": reflect.TypeFor[runfolder.MetricRow](), "signals.parquet": reflect.TypeFor[runfolder.SignalRow](),
	}
	words := strings.Fields("duckdb c SELECT FROM ORDER BY DESC NULLS FIRST AS WHERE LIKE GROUP ALL sum fct_us flow slowdown port mean_kb samples")
	for _, query := range []string{queryFCTs, queryWorst, queryPorts, queryMetrics, queryNamed} {
		file := regexp.MustCompile(`'(\w+\.parquet)'`).FindStringSubmatch(query)
		if file == nil || columns[file[1]] == nil {
			t.Errorf("%s: no table", query)
			continue
		}
		known := slices.Clone(words)
		for i := range columns[file[1]].NumField() {
			name, _, _ := strings.Cut(columns[file[1]].Field(i).Tag.Get("parquet"), ",")
			known = append(known, name)
		}
		for _, word := range regexp.MustCompile(`\w+`).FindAllString(regexp.MustCompile(`'[^']*'`).ReplaceAllString(query, ""), -1) {
			if !slices.Contains(known, word) {
				t.Errorf("%s: %s has no column %s", query, file[1], word)
			}
		}
	}
}

// A table that grows with the number of runs ends, and those that are not valid come
// first.
func TestManyRuns(t *testing.T) {
	var all []analysis.Run
	for i := range 1000 {
		all = append(all, analysis.Run{Variant: "run", Seed: uint64(i), Valid: i != 700})
	}
	got := runs(all)
	if len(got.Rows) != maxRows || got.Rows[0][1].Text != "700" || !strings.Contains(got.Note, "The first 200 of 1000 runs; manifest.json") {
		t.Errorf("%d rows, first %v, note %q", len(got.Rows), got.Rows[0], got.Note)
	}
}

// BenchmarkReportOfManyFlows writes the report of 16,256 flows (issue 11: 2 s).
func BenchmarkReportOfManyFlows(b *testing.B) {
	f := (&analysistest.Many{Leaves: 16, Spines: 8, Hosts: 8, Samples: true}).Folder(b)
	for b.Loop() {
		opened, err := runfolder.Open(f.Dir)
		if err != nil {
			b.Fatal(err)
		}
		r, err := analysis.Read(opened, measure.Meaning)
		if err != nil {
			b.Fatal(err)
		}
		var page bytes.Buffer
		if err := WriteHTML(io.MultiWriter(&page, io.Discard), r); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(page.Len())/1e6, "MB")
	}
}
