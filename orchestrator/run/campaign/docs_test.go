package campaign

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
)

// described returns the first column, a name in backquotes, of the rows below a
// heading of a document, down to the next heading of the same level or a
// higher one.
func described(t *testing.T, document, heading string) []string {
	t.Helper()
	section := sectionOf(t, document, heading)
	var names []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(section, -1) {
		names = append(names, m[1])
	}
	return names
}

// sectionOf returns the text below a heading of a document, to the next one.
func sectionOf(t *testing.T, document, heading string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "reference", document))
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n"+heading+"\n")
	if !ok {
		t.Fatalf("docs/reference/%s has no heading %q", document, heading)
	}
	section, _, _ = strings.Cut(section, "\n#")
	return section
}

// describedMetrics returns the names in the first column of the tables of metrics in
// docs/reference/metrics.md, of all runs and of ports.
func describedMetrics(t *testing.T) (names []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "reference", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	inTable := false
	for line := range strings.Lines(string(text)) {
		first, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		switch {
		case strings.HasPrefix(line, "| metric |"), strings.HasPrefix(line, "| metric of ports |"):
			inTable = true
		case !strings.HasPrefix(line, "|"):
			inTable = false
		case inTable:
			if name, quoted := strings.CutPrefix(first, "`"); quoted {
				names = append(names, strings.TrimSuffix(name, "`"))
			}
		}
	}
	return names
}

// TestMetricsAreDescribed compares the metrics of real runs with those that
// docs/reference/metrics.md describes, both ways.
func TestMetricsAreDescribed(t *testing.T) {
	const text = fatTree16 + `
workload: {transfers: [0 -> 8 1MB, 4 -> 8 1MB, 0 -> 8 1MB]}
csig: {format: compact}
hosts: {cc: {name: nscc, csig: max-delay}}
telemetry: {truth: 1}
`
	m, out := runVirtual(t, parseText(t, text).Variants[0].Experiment, 1)
	if _, ok := m["fct_us.0-8#2"]; !ok {
		t.Error("the second flow between two hosts has no metric")
	}
	// Groups that have a name, and RPCs.
	const calls = fatTree16 + `
workload: {traffic: [{name: calls, rpc: {clients: [0], servers: [8], size: 1kB, response: 1kB, count: 2, outstanding: 1}}]}
`
	named, _ := runVirtual(t, parseText(t, calls).Variants[0].Experiment, 1)
	maps.Copy(m, named)
	// A collector of postcards, and a fault.
	spine := strings.Replace(slowSpine, "name: rpc", "name: calls", 1)
	collected, _ := runVirtual(t, parseText(t, spine).Variants[0].Experiment, 1)
	maps.Copy(m, collected)
	// A foreign switch, which a run in real time alone has.
	foreign, err := plan.Compile(foreignText(t, "{name: agg0, forwards: bridge}", generated).Variants[0].Experiment, 1)
	if err != nil {
		t.Fatal(err)
	}
	for name := range measure.Names(foreign).Match("foreign_*") {
		m[name] = 0
	}
	var actions, outcomes []string
	for _, a := range congestion.Table {
		actions = append(actions, a.ActionNames()...)
	}
	for _, r := range out.Nodes {
		for _, tag := range r.Tags {
			if !slices.Contains(outcomes, tag.Name) {
				outcomes = append(outcomes, tag.Name)
			}
		}
	}
	whole, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "reference", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range outcomes {
		if !strings.Contains(string(whole), "`"+name+"`") {
			t.Errorf("docs/reference/metrics.md does not name %s", name)
		}
	}
	matched := map[string]bool{}
	for _, name := range describedMetrics(t) {
		pattern := "^" + strings.NewReplacer(
			"<flow>", `[0-9]+-[0-9]+(#[0-9]+)?`, "<action>", "("+strings.Join(actions, "|")+")", "<outcome>", "("+strings.Join(outcomes, "|")+")",
			"<signal>", "(abw_gbps|abwc|delay_us|nqd|abw|abw-c|delay)", "<statistic>", "(mean|min|max|p50|p95|p99|p999)",
			"<class>", "(host|up|down|core)", "<group>", "(all|job-[0-9]+|calls)", "<fault>", "[a-z0-9-]+", "<constant>", "[a-z]+_qdelay_us",
			"<effect>", "(untouched|updated|damaged|removed|added)", "<switch>", "[a-z]+[0-9]+", "<port>", "([a-z]+[0-9]+-[a-z]+[0-9]+|locator-[0-9]+|none)",
		).Replace(regexp.QuoteMeta(name)) + "$"
		is, found := regexp.MustCompile(pattern), false
		for metric := range m {
			if is.MatchString(metric) {
				matched[metric], found = true, true
			}
		}
		if !found {
			t.Errorf("docs/reference/metrics.md describes %s, which no run has", name)
		}
	}
	for _, metric := range slices.Sorted(maps.Keys(m)) {
		if !matched[metric] {
			t.Errorf("docs/reference/metrics.md does not describe %s", metric)
		}
	}
}

// TestFilesAreDescribed compares the run folder's files, the columns that readers of its
// tables know with docs/reference/telemetry.md and docs/reference/run-folder.md.
func TestFilesAreDescribed(t *testing.T) {
	for name, row := range map[string]any{
		"ports": runfolder.PortRow{}, "flows": runfolder.FlowRow{}, "cc": runfolder.CCRow{},
		"signals": runfolder.SignalRow{}, "phases": runfolder.PhaseRow{}, "events": runfolder.EventRow{},
		"operations": runfolder.OperationRow{}, "instances": runfolder.InstanceRow{}, "truth": runfolder.TruthRow{}, "metrics": runfolder.MetricRow{},
	} {
		heading := "### " + name + ".parquet"
		same(t, "docs/reference/telemetry.md", heading, described(t, "telemetry.md", heading), tags(row, "parquet"))
		sayNull(t, name, sectionOf(t, "telemetry.md", heading), row)
	}

	folder := filepath.Join(t.TempDir(), "run")
	set := parseText(t, fatTree16+"workload: {transfers: [0 -> 1 1kB]}\n")
	if _, err := Run(context.Background(), set, Options{Out: folder}); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	files := []string{runfolder.ReportFile, "VARIANT-SEED.pcapng"} // of csiglab's commands; on request
	for _, e := range entries {
		files = append(files, e.Name())
	}
	same(t, "docs/reference/run-folder.md", "files", described(t, "run-folder.md", "## Files"), files)
}

// sayNull checks that the line of each column says so where the column may be null, and of
// no other.
func sayNull(t *testing.T, table, section string, row any) {
	t.Helper()
	for _, f := range reflect.VisibleFields(reflect.TypeOf(row)) {
		column, options, _ := strings.Cut(f.Tag.Get("parquet"), ",")
		_, line, _ := strings.Cut(section, "| `"+column+"` |")
		line, _, _ = strings.Cut(line, "\n")
		nullable := strings.Contains(options, "optional") || f.Type.Kind() == reflect.Pointer
		says := strings.Contains(strings.ToLower(line), "null")
		if table == "events" { // whose lines say which kinds of event have a value
			of := strings.Split(line, "|")[1]
			says = says || of != " all "
		}
		if says != nullable {
			t.Errorf("docs/reference/telemetry.md, %s.parquet: the column %s may be null: %v; its line says so: %v", table, column, nullable, says)
		}
	}
}

// tags returns the names that the fields of a struct have in a format.
func tags(of any, format string) []string {
	var names []string
	for i := range reflect.TypeOf(of).NumField() {
		name, _, _ := strings.Cut(reflect.TypeOf(of).Field(i).Tag.Get(format), ",")
		names = append(names, name)
	}
	return names
}

func same(t *testing.T, document, what string, got, want []string) {
	t.Helper()
	for _, name := range want {
		if !slices.Contains(got, name) {
			t.Errorf("%s: %s does not describe %s", what, document, name)
		}
	}
	for _, name := range got {
		if !slices.Contains(want, name) {
			t.Errorf("%s: %s describes %s, which does not exist", what, document, name)
		}
	}
}
