package measure

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// Every family of names that a run can have, of every kind of experiment and every
// congestion control, has a unit and a direction.
func TestEveryMetricHasAMeaning(t *testing.T) {
	const fabric = `schema: 1
name: families
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}}
`
	const transfers = "workload: {transfers: [0 -> 3 64kB]}\n"
	texts := map[string]string{
		"transfers": fabric + transfers,
		"CSIG":      fabric + transfers + "csig: {format: compact}\n",
		"classes":   fabric + transfers + "classes: [{name: storage, dscp: 26, lossless: true, match: {flows: [\"*\"]}}]\n",
		"faults":    fabric + transfers + "faults: [{kind: rate, links: tor0-agg*, share: 0.25}]\n",
		"a job":     fabric + "jobs: [{name: job, collective: {kind: all_reduce, algorithm: ring, size: 4MiB}}]\n",
		"programs": `schema: 1
name: programs
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 20Mbps, delay: 2ms}}
runtime: netns
clock: wall
csig: {format: compact}
applications: {hosts: [0, 3]}
`,
	}
	for _, a := range congestion.Table {
		texts["cc "+a.Name] = fabric + transfers + "csig: {format: compact}\nhosts: {cc: " + a.Name + "}\n"
	}
	families := 0
	for name, text := range texts {
		set, err := experiment.Parse("t.yaml", "", []byte(text), experiment.Options{Tables: experiment.StandardTables()})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p, err := plan.Compile(set.Variants[0].Experiment, 1)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, f := range Names(p).families {
			for _, word := range f.Parts[0].words {
				families++
				metric := word
				for _, part := range f.Parts[1:] {
					metric += "." + append(part.words, "x")[0]
				}
				if _, known := meaning.Known(metric); !known {
					t.Errorf("%s: metrics/meaning does not know %s: add it to the table quantities", name, metric)
				}
			}
		}
	}
	if families < 500 {
		t.Errorf("only %d families", families)
	}
}

// The units are those of docs/metrics.md.
func TestUnitsAreThoseOfTheDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	quoted := regexp.MustCompile("`([^`]+)`")
	rows, inTable := 0, false
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "|") || len(cells) < 3 {
			inTable = false
			continue
		}
		if first := strings.TrimSpace(cells[0]); first == "metric" || strings.HasPrefix(first, "metric of ") {
			inTable = strings.TrimSpace(cells[1]) == "unit"
		}
		if !inTable || !strings.Contains(cells[0], "`") || strings.Contains(cells[1], "its own") {
			continue
		}
		unit := strings.TrimSpace(cells[1])
		for _, m := range quoted.FindAllStringSubmatch(cells[0], -1) {
			if strings.HasPrefix(m[1], ".") {
				continue
			}
			rows++
			got := meaning.Of(m[1])
			want := meaning.Meaning{Unit: unit, Better: got.Better, Share: got.Share, Machine: got.Machine}
			switch unit {
			case "us":
				want.Unit = "µs"
			case "bytes":
				want.Unit = "B"
			case "share":
				want.Unit, want.Share = "", true
			}
			if got != want {
				t.Errorf("%s: unit %q, a share: %v; docs/metrics.md has %q", m[1], got.Unit, got.Share, unit)
			}
		}
	}
	if rows < 70 {
		t.Errorf("only %d rows", rows)
	}
}
