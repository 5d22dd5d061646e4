package runfolder

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
)

// schema2 writes the folder that a csiglab of schema 2 would have written for what
// finished writes: its manifest without names of ports and signals, and its tables of
// rows with numbers.
func schema2(t *testing.T) string {
	t.Helper()
	dir := finished(t)
	f := must(Open(dir))(t)
	m := f.Manifest
	m.Schema, m.Files, m.Digest, m.Signals = 2, nil, "", nil
	for i := range m.Ports {
		m.Ports[i].Name, m.Ports[i].Tier, m.Ports[i].Direction = "", "", ""
	}
	for i := range m.Variants[0].Locators.Locators {
		m.Variants[0].Locators.Locators[i].Places = nil
	}
	text := string(must(json.Marshal(m))(t))
	for _, key := range []string{`"signals":null,`, `,"name":"","tier":"","direction":""`, `,"places":null`} {
		if !strings.Contains(text, key) {
			t.Fatalf("the manifest has no %s", key)
		}
		text = strings.ReplaceAll(text, key, "")
	}
	if err := os.WriteFile(filepath.Join(dir, ManifestFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	one := 100.0
	rewrite(t, dir, tablePorts, portRow2{"base", 1, 1, "tor0", 2, one, 1, 2, 3, 4, 5, 6, 7})
	rewrite(t, dir, tableFlows, flowRow2{"base", 1, 1, "1-0", one, 1, 2, 3})
	rewrite(t, dir, tableCC, ccRow2{"base", 1, 1, "1-0", one, 1, 2, map[string]int64{"hold": 3}, 4, 5})
	rewrite(t, dir, tableSignals, signalRow2{"base", 1, 0, "0-1", 1, 9, one, 1, 2, 3, 4}, signalRow2{"base", 1, 0, "0-1", 2, 40000, one, 1, 2, 3, 4}, signalRow2{"base", 1, 0, "0-1", 3, 0, one, 1, 2, 3, 4})
	rewrite(t, dir, tablePhases, phaseRow2{"base", 1, 3, 0, "0-1", &one, nil, &one, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14})
	return dir
}

// rewrite replaces a table, and its number of rows in the manifest.
func rewrite[T any](t *testing.T, dir, table string, rows ...T) {
	t.Helper()
	if err := parquet.WriteFile(filepath.Join(dir, tableFileName(table)), rows); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, ManifestFile)
	var m map[string]any
	if err := json.Unmarshal(must(os.ReadFile(path))(t), &m); err != nil {
		t.Fatal(err)
	}
	m["tables"].(map[string]any)[table] = len(rows)
	if err := os.WriteFile(path, must(json.Marshal(m))(t), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A folder of schema 2 is read as one of schema 3, as far as it has what that has.
func TestReadsSchema2(t *testing.T) {
	f := must(Open(schema2(t)))(t)
	if got := f.Manifest.Ports[2].Name; got != "tor0-agg0" || f.Manifest.Schema != 2 {
		t.Errorf("port %q of schema %d, want tor0-agg0 of 2", got, f.Manifest.Schema)
	}
	node, port, one := int32(1), int32(0), 100.0
	for _, d := range []string{
		cmp.Diff(must(collect(f.Ports()))(t), []PortRow{{"base", 1, 1, "tor0", 2, "tor0-agg0", "agg0", "", "", 400e9, one, 1, 2, 3, 4, 5, 6, 7, nil, nil}}),
		cmp.Diff(must(collect(f.Flows()))(t), []FlowRow{{"base", 1, 1, "1-0", "tor0", "host0", one, 1, 2, 3}}),
		cmp.Diff(must(collect(f.CC()))(t), []CCRow{{"base", 1, 1, "1-0", "tor0", "host0", one, 1, 2, map[string]int64{"hold": 3}, 4, 5, nil, nil, nil, "", "", nil}}),
		cmp.Diff(must(collect(f.Signals()))(t), []SignalRow{
			{"base", 1, 0, "0-1", "host0", "tor0", "abw-c", "", 9, 1, &node, "tor0", &port, "tor0-host0", "host0", "", "", one, 1, 2, 3, 4, nil, nil, nil, nil, "", "", nil},
			{"base", 1, 0, "0-1", "host0", "tor0", "delay", "", 40000, 2, &node, "tor0", nil, "", "", "", "", one, 1, 2, 3, 4, nil, nil, nil, nil, "", "", nil},
			{"base", 1, 0, "0-1", "host0", "tor0", "nqd", "", 0, 0, nil, "", nil, "", "", "", "", one, 1, 2, 3, 4, nil, nil, nil, nil, "", "", nil},
		}),
		cmp.Diff(must(collect(f.Phases()))(t), []PhaseRow{{"base", 1, 3, 0, "0-1", "host0", "tor0", &one, nil, &one, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}}),
	} {
		if d != "" {
			t.Errorf("table (-got +want):\n%s", d)
		}
	}
}
