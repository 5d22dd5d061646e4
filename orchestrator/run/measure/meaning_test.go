package measure

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// Unit, direction and reasons of absence are found by the name of a metric, with any words for
// its placeholders.
func TestMeaning(t *testing.T) {
	for metric, want := range map[string]meaning.Meaning{
		"fct_us.p99":               {Unit: "µs", Better: meaning.Lower},
		"fct_us.0-1":               {Unit: "µs", Better: meaning.Lower, Single: true},
		"goodput_gbps.h0-h3 app#2": {Unit: "Gb/s", Better: meaning.Higher, Single: true},
		"jain.all":                 {Better: meaning.Higher},
		"flows.incomplete":         {Unit: "flows", Better: meaning.Lower},
		"packets.new":              {Unit: "packets"},
		"packets.retransmitted":    {Unit: "packets", Better: meaning.Lower},
		"programs.arp_answered":    {Unit: "packets"},
		"tags.updated":             {Unit: "tags"},
		"drops":                    {Unit: "packets", Better: meaning.Lower},
		"class_bytes.bulk":         {Unit: "B"},
		"pauses.storage.tor0-agg0": {Unit: "frames", Better: meaning.Lower, Single: true},
		"cpu_seconds":              {Unit: "s", Better: meaning.Lower, Machine: true},
		// Derived metrics have the unit that their names say, and no direction.
		"worst_fct_us":   {Unit: "µs"},
		"lost_packets":   {Unit: "packets"},
		"fairness_ratio": {},
		"":               {},
	} {
		if got := Meaning(metric); got != want {
			t.Errorf("%q: %+v, want %+v", metric, got, want)
		}
	}
	for metric, want := range map[string]bool{"packets.new": true, "packets.lost": false, "packets": false, "jain.train": true, "fct": false, "lost_packets": false} {
		if got := entryOf(metric) != nil; got != want {
			t.Errorf("%q is known: %v, want %v", metric, got, want)
		}
	}
}

// Every name that a run can have, of every kind of experiment and every congestion control,
// leads back to an entry that says the same of it as the one that declares it.
func TestNamesLeadToEntries(t *testing.T) {
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
		subjects := newSubjects(p)
		for _, g := range Catalogue {
			for _, m := range g.Entries {
				for _, f := range subjects.families(g, m) {
					families++
					var words []string
					for _, part := range f.Parts {
						words = append(words, append(part.words, "x")[0])
					}
					metric := strings.Join(words, ".")
					if m == constant {
						continue // the suffix of its name says its unit
					}
					if of := entryOf(metric); of == nil || of.unitOf(metric) != m.unitOf(metric) || of.Better != m.Better || of.Machine != m.Machine || of.Absent != m.Absent {
						t.Errorf("%s: %s of the form %s leads to %+v", name, metric, m.Form, of)
					}
				}
			}
		}
	}
	if families < 500 {
		t.Errorf("only %d families", families)
	}
}
