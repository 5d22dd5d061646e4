package sectiontest

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/section"
)

// Query checks that a command that lists what a bounded table leaves out names a table and
// columns that run folders have. more are words that the command introduces.
func Query(t testing.TB, query string, more ...string) {
	t.Helper()
	columns := map[string]reflect.Type{
		"phases.parquet": reflect.TypeFor[runfolder.PhaseRow](), "metrics.parquet": reflect.TypeFor[runfolder.MetricRow](), "signals.parquet": reflect.TypeFor[runfolder.SignalRow](),
	}
	file := regexp.MustCompile(`'(\w+\.parquet)'`).FindStringSubmatch(query)
	if file == nil || columns[file[1]] == nil {
		t.Errorf("%s: no table", query)
		return
	}
	known := append(strings.Fields("duckdb c SELECT FROM ORDER BY DESC NULLS FIRST AS WHERE LIKE GROUP ALL sum"), more...)
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

// Rows returns the texts of a table's rows.
func Rows(t *section.Table) (rows [][]string) {
	for _, r := range t.Rows {
		var texts []string
		for _, c := range r.Cells {
			texts = append(texts, c.Text)
		}
		rows = append(rows, texts)
	}
	return rows
}
