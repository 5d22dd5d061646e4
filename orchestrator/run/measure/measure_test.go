package measure_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/units"
	"github.com/google/go-cmp/cmp"
)

const programs = `schema: 1
name: programs
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 20Mbps, delay: 2ms}}
runtime: netns
clock: wall
csig: {format: compact}
applications: {hosts: [0, 3]}
`

func compile(t *testing.T, text string) *plan.Plan {
	t.Helper()
	set, err := experiment.Parse("t.yaml", "", []byte(text), experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Compile(set.Variants[0].Experiment, 1)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// totals are what nodes of a run that did nothing leave.
func totals(p *plan.Plan) *metrics.Batch {
	b := &metrics.Batch{}
	for i, n := range p.Graph.Nodes {
		b.Totals = append(b.Totals, metrics.NodeTotals{Node: int32(i), Name: n.Name})
	}
	return b
}

// The share of a locator that several ports have is not that of a port.
func TestBottleneckShareOfSharedLocators(t *testing.T) {
	p := compile(t, programs)
	records := measure.NewRecords(p, nil)
	records.Consume(&metrics.Batch{Node: 3, Signals: []metrics.SignalWindow{
		{Flow: 0, Type: uint8(csig.Delay), Locator: 3, Samples: 5},  // tor0-agg0 and tor1-agg0
		{Flow: 0, Type: uint8(csig.Delay), Locator: 26, Samples: 4}, // agg0-tor1
		{Flow: 0, Type: uint8(csig.Delay), Samples: 1},
	}})
	records.Consume(totals(p))
	got := measure.Metrics(p, &backend.Outcome{}, records)
	maps.DeleteFunc(got, func(name string, _ float64) bool { return !strings.HasPrefix(name, "bottleneck_share.") })
	want := map[string]float64{
		"bottleneck_share.delay.locator-3": 0.5, "bottleneck_share.delay.agg0-tor1": 0.4, "bottleneck_share.delay.none": 0.1, // this flow is the only one
		"bottleneck_share.h0-h3 app.delay.locator-3": 0.5, "bottleneck_share.h0-h3 app.delay.agg0-tor1": 0.4, "bottleneck_share.h0-h3 app.delay.none": 0.1,
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("shares (-got +want):\n%s", d)
	}
}

// Notes has the remarks of each rule, in the order of the table; a run without anything
// remarkable has none.
func TestNotes(t *testing.T) {
	p := compile(t, strings.Replace(programs, "applications:", "measure: {to: 1s}\napplications:", 1))
	for _, c := range []struct {
		end     units.Time
		drained bool
		dropped int64
		want    []string
	}{
		{end: units.Time(units.Second), drained: true},
		{end: units.Time(units.Millisecond)},
		{end: units.Time(units.Millisecond), drained: true, dropped: 7, want: []string{
			"7 records were dropped, which came faster than they could be written; tables and charts lack them",
			"the measuring window goes on to 1s, and the run ends at 1ms: there the window ends too",
		}},
	} {
		records := measure.NewRecords(p, nil)
		b := totals(p)
		b.Dropped = c.dropped
		records.Consume(b)
		if got := measure.Notes(p, &backend.Outcome{End: c.end, Drained: c.drained}, records); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
