package plan_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
)

// traceText has four transfers, two flows of programs and one of a generator.
const traceText = `
schema: 1
name: traced
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, rate: 100Mbps, delay: 1ms}}
runtime: netns
clock: wall
workload: {transfers: [0 -> 3 30kB, 1 -> 2 30kB, 1 -> 2 30kB, 10 -> 1 30kB]}
applications: {hosts: [3, 0]}
generators: [{host: 4, to: 5, every: 1ms, count: 10}]
trace: TRACE
`

func traceOf(t *testing.T, trace string) (*plan.Plan, error) {
	t.Helper()
	text := strings.NewReplacer("TRACE", trace, "hosts_per_leaf: 4", "hosts_per_leaf: 8").Replace(traceText)
	set, err := experiment.Parse("test.yaml", "", []byte(text), experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		return nil, err
	}
	return plan.Compile(set.Variants[0].Experiment, 1)
}

// A flow is traced if an item is its name, a pattern of it, or its number: 1-2 is a
// name, 1..2 two numbers.
func TestTraced(t *testing.T) {
	for items, want := range map[string]string{
		`1-2`:                 "1-2",
		`"1-2*"`:              "1-2, 1-2#2",
		`1..2`:                "1-2, 1-2#2",
		`0`:                   "0-3",
		`"h0-h3 app"`:         "h0-h3 app",
		`"* raw", 10-1, 3, 3`: "10-1, h4-h5 raw",
		`"*"`:                 "0-3, 1-2, 1-2#2, 10-1, h0-h3 app, h3-h0 app, h4-h5 raw",
		`0..6`:                "0-3, 1-2, 1-2#2, 10-1, h0-h3 app, h3-h0 app, h4-h5 raw",
	} {
		p, err := traceOf(t, "{flows: ["+items+"]}")
		if err != nil {
			t.Errorf("%s: %v", items, err)
			continue
		}
		var got []string
		for _, f := range p.Flows {
			if p.Traced[f.Flow] != 0 {
				got = append(got, f.Name)
			}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %v, want %s", items, got, want)
		}
		for i, n := range p.Nodes {
			configs := 0
			for _, traced := range []bool{
				n.Host != nil && cmp.Equal(n.Host.Traced, p.Traced), n.Edge() != nil && cmp.Equal(n.Edge().Traced, p.Traced),
				n.Generator != nil && cmp.Equal(n.Generator.Traced, p.Traced), n.Switch != nil && cmp.Equal(n.Switch.Traced, p.Traced),
			} {
				if traced {
					configs++
				}
			}
			if configs == 0 {
				t.Errorf("%s: node %d does not know what to trace", items, i)
			}
		}
		if diff := cmp.Diff(p, throughGob(t, p), whole); diff != "" {
			t.Errorf("%s: the plan after a process boundary (-want +got)\n%s", items, diff)
		}
	}
	if p, err := traceOf(t, "{flows: []}"); err != nil || p.Traced != nil {
		t.Errorf("no flows: %v, %v", p.Traced, err)
	}
}

func TestRefusedTrace(t *testing.T) {
	for trace, want := range map[string]string{
		`{flows: [1-20]}`:                       `trace.flows[0]: no flow is called "1-20"; the 7 flows are called like "0-3" (did you mean "1-2"?)`,
		`{flows: ["*", "h0-h2 app"]}`:           `trace.flows[1]: no flow is called "h0-h2 app"; the 7 flows are called like "0-3" (did you mean "h0-h3 app"?)`,
		`{flows: [7]}`:                          `trace.flows[0]: there is no flow 7; flows go from 0 to 6`,
		`{flows: [0, 5..9]}`:                    `trace.flows[1]: there is no flow 7; flows go from 0 to 6`,
		`{flows: ["h0-h3 app"], events: [ack]}`: `trace.events: flows of raw frames have no ACKs; want sample, send or both`,
	} {
		_, err := traceOf(t, trace)
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, failure.ErrConfiguration) {
			t.Errorf("%s: %v\nwant %s", trace, err, want)
		}
	}
}

// Many events deserve a note, with about how many.
func TestManyEvents(t *testing.T) {
	note := func(size, trace string, seeds int) (string, *plan.Plan) {
		p := backendtest.Compile(t, fmt.Sprintf(`
schema: 1
name: large
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, rate: 100Gbps, delay: 1us}}
workload: {transfers: [0 -> 5 %s, 1 -> 5 1MB]}
csig: {format: compact}
seeds: 1..%d
trace: %s
`, size, seeds, trace))
		i := slices.IndexFunc(p.Notes, func(n string) bool { return strings.HasPrefix(n, "trace: ") })
		if i < 0 {
			return "", p
		}
		return p.Notes[i], p
	}
	// 1 GB is 244,739 packets, of 2.6 events each with ACKs and samples.
	if got, p := note("1GB", "{flows: [0-5]}", 1); got != "" || p.TracedEvents() != 636_321 {
		t.Errorf("a flow of 1 GB: %d events, note %q", p.TracedEvents(), got)
	}
	if got, _ := note("1GB", "{flows: [0-5]}", 20); !strings.HasPrefix(got, "trace: about 12 million rows in events.parquet, and about 0.1 GB") {
		t.Errorf("20 seeds: note %q", got)
	}
	if got, p := note("1GB", "{flows: [0-5], events: [send]}", 20); got != "" || p.TracedEvents() != 244_739 {
		t.Errorf("20 seeds without ACKs: %d events, note %q", p.TracedEvents(), got)
	}
	if got, _ := note("100GB", "{flows: [1-5]}", 1); got != "" {
		t.Errorf("the large flow is not traced: note %q", got)
	}
}

// telemetry.interval auto makes at most 200 windows of the predicted length, in steps of
// 1, 2 and 5 between 1 us and 100 us, the same for all variants.
func TestAutoInterval(t *testing.T) {
	const text = `
schema: 1
name: windows
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, rate: 100Gbps, delay: 1us}}
workload: {transfers: [0 -> 5 SIZE]}
telemetry: {interval: auto}
`
	at := func(text string, from ...string) units.Duration {
		return backendtest.Compile(t, strings.NewReplacer(from...).Replace(text)).Interval
	}
	for _, c := range []struct {
		size, more string
		want       units.Duration
	}{
		{"1kB", "", units.Microsecond},
		{"2MB", "", units.Microsecond},         // 160 us
		{"3MB", "", 2 * units.Microsecond},     // 240 us
		{"10MB", "", 5 * units.Microsecond},    // 0.8 ms
		{"50MB", "", 20 * units.Microsecond},   // 4 ms
		{"100MB", "", 50 * units.Microsecond},  // 8 ms
		{"100GB", "", 100 * units.Microsecond}, // 8 s
		{"200MB", "end: 1ms", 5 * units.Microsecond},
		{"1kB at 9.5ms", "", 50 * units.Microsecond},
		{"1kB", "generators: [{host: 1, to: 2, every: 1us, count: 1000}]", 5 * units.Microsecond},
		{"1kB", "generators: [{host: 1, to: 2, every: 1us}]\nend: 30ms", 100 * units.Microsecond},
		// Programs decide how long they take.
		{"1kB", "applications: {hosts: [1, 2]}\nruntime: netns\nclock: wall", 100 * units.Microsecond},
		{"1kB", "applications: {hosts: [1, 2]}\nruntime: netns\nclock: wall\nend: 1s", 100 * units.Microsecond},
	} {
		if got := at(text+c.more+"\n", "SIZE", c.size); got != c.want {
			t.Errorf("%s, %s: windows of %v, want %v", c.size, c.more, got, c.want)
		}
	}
	if got := at(text, "SIZE", "100MB", "telemetry: {interval: auto}\n", ""); got != 50*units.Microsecond {
		t.Errorf("windows of %v without the key, want 50us", got)
	}

	set, err := experiment.Parse("test.yaml", "", []byte(strings.Replace(text, "SIZE", "1MB", 1)+"variants: {small: {}, large: {workload.transfers: [0 -> 5 100MB]}}\nseeds: [1, 2]\n"),
		experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	var variants plan.Variants
	var shapes []*plan.Shape
	for _, v := range set.Variants {
		s, err := variants.NewShape(v.Experiment)
		if err != nil {
			t.Fatal(err)
		}
		shapes = append(shapes, s)
	}
	plan.SettleInterval(shapes)
	for i, s := range shapes {
		for seed := range uint64(2) {
			p, err := s.Plan(seed)
			if err != nil || p.Interval != 50*units.Microsecond {
				t.Errorf("variant %d, seed %d: windows of %v, %v; want 50us", i, seed, p.Interval, err)
			}
		}
	}
}

// A lab has windows no shorter than a full packet takes on its slowest link.
func TestWidenInterval(t *testing.T) {
	for _, c := range []struct {
		rate string
		want units.Duration
		note bool
	}{{"20Mbps", 2 * units.Millisecond, true}, {"332Mbps", 100 * units.Microsecond, false}, {"331Mbps", 200 * units.Microsecond, true}, {"100Gbps", 100 * units.Microsecond, false}} {
		set, err := experiment.Parse("test.yaml", "", []byte("schema: 1\nname: slow\ntopology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: "+c.rate+", spine_rate: 100Gbps, delay: 1us}}\nworkload: {transfers: [0 -> 3 1kB]}\n"),
			experiment.Options{Tables: experiment.StandardTables()})
		if err != nil {
			t.Fatal(err)
		}
		s, err := plan.NewShape(set.Variants[0].Experiment)
		if err != nil {
			t.Fatal(err)
		}
		s.WidenInterval()
		p, err := s.Plan(1)
		if err != nil || p.Interval != c.want || slices.ContainsFunc(p.Notes, func(n string) bool { return strings.Contains(n, "telemetry.interval") }) != c.note {
			t.Errorf("%s: windows of %v, notes %q, %v; want %v, a note: %v", c.rate, p.Interval, p.Notes, err, c.want, c.note)
		}
	}
}
