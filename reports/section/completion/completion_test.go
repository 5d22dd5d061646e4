package completion

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/sectiontest"
	"github.com/csiglab/csiglab/reports/words"
)

// "tables of thousands of flows become distributions with the worst ten named with why"
// (issue 11): the parts do not grow with the number of flows, and say where all are.
func TestManyFlows(t *testing.T) {
	checkout.SkipSlowRace(t)
	for _, hosts := range []int{5, 10} {
		m := &readingtest.Many{Leaves: 8, Spines: 16, Hosts: hosts, Seeds: 2, Samples: true, Open: true}
		s, r := sectiontest.Read[*Section](t, m.Folder(t), New)
		parts := s.Parts()
		if sectiontest.Part(parts, "flows") != nil {
			t.Error("there is a table of all flows")
		}
		all, part := sectiontest.Part(parts, "completion"), sectiontest.Part(parts, "worst")
		if all == nil || part == nil || all.Level != section.Telling {
			t.Fatalf("parts %+v", parts)
		}
		worst := part.Blocks[0].(*section.Table)
		if len(worst.Rows) != reading.MaxWorst {
			t.Fatalf("%d worst flows, want %d", len(worst.Rows), reading.MaxWorst)
		}
		// Of both seeds: first the flow that did not complete, then that of slowdown 100.
		rows := sectiontest.Rows(worst)
		for i, want := range []string{"0-1 1 not done: 50 %", "0-1 2 not done: 50 %", "3-2 1 500", "3-2 2 500"} {
			row, size := rows[i], rows[i][2]
			if got := row[0] + " " + row[1] + " " + row[3]; got != want || size != "64" {
				t.Errorf("row %d: %q of %s, want %q of 64", i, got, size, want)
			}
		}
		// The ports of tor0 share the locator; one of them is on the way.
		if row := rows[2]; !slices.Equal(row[4:9], []string{"100", "16", "98", "10", "2"}) || !strings.HasPrefix(row[9], "CSIG names tor0-h2 (90 % of its delay samples)") {
			t.Errorf("flow 3-2: %q", row)
		}
		if !strings.Contains(worst.Note, "The worst 10 of "+words.Number(float64(m.Flows()))+" flows") || !strings.Contains(worst.Note, "phases.parquet") {
			t.Errorf("note %q", worst.Note)
		}
		var titles []string
		for _, b := range all.Blocks {
			switch b := b.(type) {
			case *chart.Figure:
				titles = append(titles, b.ID)
			case *section.Table:
				titles = append(titles, fmt.Sprintf("%s of %d", b.Label, len(b.Rows)))
			}
		}
		if d := cmp.Diff(titles, []string{"fct", "slowdown", "Distributions of 2"}); d != "" {
			t.Errorf("blocks (-got +want):\n%s", d)
		}
		if part.Says != "Flow 0-1 is not done: 50 % of it arrived." || len(r.Completion) != m.Flows() {
			t.Errorf("says %q of %d flows", part.Says, len(r.Completion))
		}
	}
}

// Without samples, a flow's limit is the port that it must cross. Of fewer flows than the
// summary bounds there is a table of the slowest.
func TestWorstWithoutSamples(t *testing.T) {
	m := &readingtest.Many{Leaves: 4, Spines: 2, Hosts: 4}
	s, _ := sectiontest.Read[*Section](t, m.Folder(t), New)
	if len(s.Worst) != reading.MaxWorst || s.Worst[0].Flow != "3-2" || s.Worst[0].Named != nil || s.Worst[0].Crosses == nil {
		t.Fatalf("%d worst flows: %+v", len(s.Worst), s.Worst[0])
	}
	if got := where(&s.Worst[0]); !strings.HasPrefix(got, "crosses tor0 → h2 (") {
		t.Errorf("where %q", got)
	}
}

// Few flows have a table of their own and no list of the worst.
func TestFewFlows(t *testing.T) {
	s, _ := sectiontest.Read[*Section](t, readingtest.ThreeFlow().Folder(t, nil), New)
	parts := s.Parts()
	if len(parts) != 1 || len(parts[0].Blocks) != 1 || len(s.Worst) > 0 || s.First() != nil {
		t.Fatalf("parts %+v", parts)
	}
	table := parts[0].Blocks[0].(*section.Table)
	if d := cmp.Diff(sectiontest.Rows(table)[0][:4], []string{"0-3", "200", "32", "32 (3)"}); d != "" || len(table.Rows) != 3 {
		t.Errorf("%d rows (-got +want):\n%s", len(table.Rows), d)
	}
	if p := parts[0]; p.Level != section.Plain || p.Says != "The last flow to complete takes 32\u00a0ms in each variant." {
		t.Errorf("level %d, %q", p.Level, p.Says)
	}
}

func TestNotDone(t *testing.T) {
	e := readingtest.ThreeFlow()
	e.Rates = map[string][3]float64{"baseline": {31, 32, 32}}
	e.Open = true
	s, _ := sectiontest.Read[*Section](t, e.Folder(t, nil), New)
	p := s.Parts()[0]
	if got := p.Blocks[0].(*section.Table).Rows[0].Cells[2:]; !cmp.Equal(got, []section.Cell{{Text: "not done", State: section.Bad}, {Text: "in 1 of 3 seeds"}}) || p.Level != section.Telling {
		t.Errorf("completion %v of level %d", got, p.Level)
	}
	var story section.Story
	if s.Tell(&story); !strings.HasPrefix(story.Sentences()[0], "2 to 3 of 3 flows complete, on average in ") {
		t.Errorf("story %q", story.Sentences())
	}
}

// The distribution of completion times ends where flows did not complete.
func TestDistribution(t *testing.T) {
	nan := math.NaN()
	panels := distribution(9, 8, []float64{2, 3, 4, 5, 6, 7, 8}).Panels()
	if d := cmp.Diff(panels[0].Lines[0].Values, reading.Values{2, 3, 4, 5, 6, 7, 8, nan, nan}, cmpopts.EquateNaNs()); d != "" || panels[0].Lines[0].Flows != 9 {
		t.Errorf("of %d flows (-got +want):\n%s", panels[0].Lines[0].Flows, d)
	}
	if panels := distribution(8, 8, []float64{1}).Panels(); panels != nil {
		t.Errorf("a distribution of few flows: %v", panels)
	}
	if n := len(distribution(5000, 8, []float64{1}).Panels()[0].Lines[0].Values); n != maxRanks {
		t.Errorf("%d points of 5000 flows, want %d", n, maxRanks)
	}
}

// The commands of bounded tables name files and columns that there are.
func TestQueries(t *testing.T) {
	sectiontest.Query(t, queryFCTs, "fct_us")
	sectiontest.Query(t, queryWorst, "flow", "slowdown")
}
