package metrics

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/sectiontest"
	"github.com/csiglab/csiglab/reports/words"
)

func tables(t *testing.T, s *Section) (key, all *section.Table) {
	t.Helper()
	parts := s.Parts()
	if len(parts) != 1 || len(parts[0].Blocks) != 2 || parts[0].Level != section.Quiet {
		t.Fatalf("parts %+v", parts)
	}
	fold := parts[0].Blocks[1].(section.Fold)
	return parts[0].Blocks[0].(*section.Table), fold.Blocks[0].(*section.Table)
}

func TestTables(t *testing.T) {
	s, _ := sectiontest.Read[*Section](t, readingtest.ThreeFlow().Folder(t, nil), New)
	key, all := tables(t, s)
	var names []string
	for _, row := range sectiontest.Rows(key) {
		names = append(names, row[0])
	}
	if d := cmp.Diff(names, []string{"fairness_ratio", "fct_us.max (of all 3 flows)", "fct_us.mean (of all 3 flows)", "fct_us.p99 (of all 3 flows)", "packets.new", "target_qdelay_us"}); d != "" {
		t.Errorf("key metrics (-got +want):\n%s", d)
	}
	// NaN is absent, and what is 0 everywhere is left out.
	want := [][]string{
		{"fairness_ratio", "", "4.668 (4.638 … 4.698)", "2.346 (2.316 … 2.376)"},
		{"fct_us.0-3", "µs", "32\u202f001 (32\u202f000 … 32\u202f002)", "32\u202f001 (32\u202f000 … 32\u202f002)"},
	}
	rows := sectiontest.Rows(all)
	for i, row := range want {
		if d := cmp.Diff(rows[i][:4], row); d != "" {
			t.Errorf("row %d of all metrics (-got +want):\n%s", i, d)
		}
	}
	if len(rows) != 10 || all.Label != "Every metric of every flow" {
		t.Errorf("%d rows of all metrics, want 10; %q", len(rows), all.Label)
	}
}

// Metrics of very many flows and ports are not listed; the note says where they are.
func TestDetails(t *testing.T) {
	f := (&readingtest.Many{Leaves: 4, Spines: 2, Hosts: 4}).Folder(t)
	s, _ := sectiontest.Read[*Section](t, f, New)
	_, all := tables(t, s)
	if d := f.Summary.Details; d == nil || !strings.Contains(all.Note, "metrics.parquet has "+words.Plural(int(d.Metrics), "metric")+" more, of flows and ports") || all.Label != "Every metric but those of single flows and ports" {
		t.Errorf("details %+v; %q, note %q", f.Summary.Details, all.Label, all.Note)
	}
}

// The command names a file and columns that there are.
func TestQuery(t *testing.T) { sectiontest.Query(t, queryMetrics) }
