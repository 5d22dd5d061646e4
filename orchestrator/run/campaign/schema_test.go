package campaign

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/experiment"
)

// "summary.json keeps its schema version rule: additions documented, schema raised if a key
// changed its meaning" (issue 10). testdata/summary-N.json is what the first csiglab with
// schema N wrote for summary-N.yaml: as long as the schema is N, each of its keys is there
// and has its value, metrics included. cpu_seconds, which differs from run to run, is not
// in the file.
func TestSummarySchema(t *testing.T) {
	name := filepath.Join("testdata", fmt.Sprintf("summary-%d", runfolder.SummarySchema))
	first, err := os.ReadFile(name + ".json")
	if err != nil {
		t.Fatalf("%v: a new schema needs a summary of its first csiglab", err)
	}
	set, err := experiment.Load(name+".yaml", experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "run")
	if _, err := Run(context.Background(), set, Options{Out: dir}); err != nil {
		t.Fatal(err)
	}
	now, err := os.ReadFile(filepath.Join(dir, runfolder.SummaryFile))
	if err != nil {
		t.Fatal(err)
	}
	var was, is any
	for text, v := range map[*[]byte]*any{&first: &was, &now: &is} {
		if err := json.Unmarshal(*text, v); err != nil {
			t.Fatal(err)
		}
	}
	if n := checkKept(t, "summary.json", was, is); n < 300 {
		t.Errorf("%d values were compared, want more than 300", n)
	}
}

// checkKept compares what a document was with what it is, which may have more keys. It
// returns how many values it compared.
func checkKept(t *testing.T, path string, was, is any) (compared int) {
	t.Helper()
	switch was := was.(type) {
	case map[string]any:
		object, ok := is.(map[string]any)
		if !ok {
			t.Errorf("%s was an object and is %T", path, is)
		}
		for _, key := range slices.Sorted(maps.Keys(was)) {
			if _, ok := object[key]; !ok {
				t.Errorf("%s.%s is gone: raise runfolder.SummarySchema", path, key)
				continue
			}
			compared += checkKept(t, path+"."+key, was[key], object[key])
		}
		return compared
	case []any:
		list, ok := is.([]any)
		if !ok || len(list) != len(was) {
			t.Errorf("%s was a list of %d and is %v", path, len(was), is)
			return 0
		}
		for i := range was {
			compared += checkKept(t, fmt.Sprintf("%s[%d]", path, i), was[i], list[i])
		}
		return compared
	}
	a, number := was.(float64)
	b, _ := is.(float64)
	if number && math.Abs(a-b) <= 1e-9*math.Abs(a) { // machines that fuse operations round otherwise
		return 1
	}
	if was != is {
		t.Errorf("%s was %v and is %v: if its meaning has changed, raise runfolder.SummarySchema", path, was, is)
	}
	return 1
}

// Every key of summary.json is in its section of docs/reference/run-folder.md, which states the schema.
func TestSummaryIsDescribed(t *testing.T) {
	text, err := os.ReadFile("../../../docs/reference/run-folder.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n### summary.json\n")
	if !found {
		t.Fatal("docs/reference/run-folder.md has no section on summary.json")
	}
	section, _, _ = strings.Cut(section, "\n### ")
	if want := fmt.Sprintf(`{"schema":%d,`, runfolder.SummarySchema); !strings.Contains(section, want) {
		t.Errorf("docs/reference/run-folder.md does not have %s", want)
	}
	keys := 0
	for _, of := range []any{runfolder.Summary{}, runfolder.VariantSummary{}, runfolder.RunSummary{}, runfolder.Expectation{}, runfolder.Operand{}} {
		for _, key := range tags(of, "json") {
			keys++
			if !strings.Contains(section, `"`+key+`":`) && !strings.Contains(section, "`"+key+"`") {
				t.Errorf("docs/reference/run-folder.md does not describe the key %s of %v", key, reflect.TypeOf(of))
			}
		}
	}
	if keys < 20 {
		t.Errorf("%d keys, want at least 20", keys)
	}
}
