package signature

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/section"
)

// signatureOf returns a signature of two ports, of which the first is full in one of four bins.
func signatureOf(variant, job string) Signature {
	place := func(from, to string) *reading.Place { return &reading.Place{From: from, To: to} }
	return Signature{Variant: variant, Job: job, Steps: 2, StepUS: reading.Spread{Count: 2, Min: 300, Max: 400}, BinUS: 100, Bins: 4, AllPorts: true, Measured: true,
		Rows:        []Row{{Name: "tor0-agg0", Tier: "tor", Direction: "up", Ports: 1, Place: place("tor0", "agg0")}, {Tier: "tor", Direction: "down", Ports: 3}},
		Utilisation: []reading.Percents{{0, 100, 20, reading.NoPercent}, {10, 10, 10, 10}},
		Available:   []reading.Percents{{100, 0, 80, 100}, {90, 90, 90, 90}},
		Spans:       []Span{{Name: "all_reduce", BeginUS: 100, EndUS: 400, Active: reading.Percents{0, 50, 0, 100}}}}
}

// A part has the signatures of a job, those of variants beside each other; what was available
// is folded.
func TestParts(t *testing.T) {
	s := &Section{r: &reading.Reading{Facts: reading.Facts{Variants: make([]reading.Variant, 2), Told: "b"}}}
	for _, job := range []string{"gpt", "GPT"} {
		for _, variant := range []string{"a", "b"} {
			s.Signatures = append(s.Signatures, signatureOf(variant, job))
		}
	}
	s.Signatures[2].Bins, s.Signatures[2].BinUS = 4, 200 // one axis for all steps of a job
	parts := s.Parts()
	if len(parts) != 2 || parts[0].ID != "signature-gpt" || parts[0].Level != section.Telling || parts[1].Level != section.Quiet || parts[0].ID == parts[1].ID {
		t.Fatalf("parts %+v", parts)
	}
	if want := "The busiest port, tor0 → agg0, is used to 100 % at times, and to 40 % on average over a step in b."; parts[0].Says != want {
		t.Errorf("says %q, want %q", parts[0].Says, want)
	}
	f := parts[0].Blocks[0].(*chart.Figure)
	if f.Title != "How busy each link is over a step of gpt" || f.Columns != 2 || len(f.Panels) != 2 || f.Panels[1].Variant != "b" || !strings.Contains(f.Caption, "The bars above") {
		t.Errorf("figure %+v", f)
	}
	if text := strings.ReplaceAll(f.Panels[0].Subtitle, "\u00a0", " "); text != "2 steps of 300 µs to 400 µs laid over each other; columns of 100 µs" {
		t.Errorf("subtitle %q", text)
	}
	h := f.Panels[0].Chart.(*chart.Heat)
	if h.Name != "Utilisation of ports: a step of gpt, a" || h.X.Clock != "step gpt" || h.X.Unit != "µs" || h.X.Max != 400 || h.Step != 100 || h.Columns != 4 {
		t.Errorf("drawing %+v", h)
	}
	if r := h.Rows[0]; r.Group != "ToR ↑" || r.Name != "tor0-agg0" || r.End != "100" || r.Values[1] != 100 || !math.IsNaN(r.Values[3]) {
		t.Errorf("row %+v", r)
	}
	if r := h.Rows[1]; r.Name != "3 ports" {
		t.Errorf("row %+v", r)
	}
	if sp := h.Spans[0]; sp.Name != "all-reduce" || sp.From != 100 || !slices.Equal(sp.Active, [][2]float64{{100, 200}, {300, 400}}) {
		t.Errorf("span %+v", sp)
	}
	left := parts[0].Blocks[1].(section.Fold).Blocks[0].(*chart.Figure)
	if l := left.Panels[0].Chart.(*chart.Heat); left.ID != "signature-available-gpt" || !l.Low || l.Rows[0].End != "0" || l.Value.Name != "Left" {
		t.Errorf("left %+v", l)
	}
	if x := parts[1].Blocks[0].(*chart.Figure).Panels[1].Chart.(*chart.Heat).X; x.Max != 800 {
		t.Errorf("the axis of the shorter steps ends at %v", x.Max)
	}
}

// Of a run the columns are of model time. A report has so many signatures at most, and says how
// many it lacks.
func TestPartOfRuns(t *testing.T) {
	s := &Section{r: &reading.Reading{Facts: reading.Facts{Variants: make([]reading.Variant, 6)}}}
	for _, variant := range []string{"a", "b", "c", "d", "e", "f"} {
		one := signatureOf(variant, "")
		one.FromUS, one.Measured = 2000, false
		s.Signatures = append(s.Signatures, one)
	}
	parts := s.Parts()
	if len(parts) != 1 || parts[0].ID != "signature" || parts[0].Level != section.Plain || len(parts[0].Blocks) != 1 {
		t.Fatalf("parts %+v", parts)
	}
	f := parts[0].Blocks[0].(*chart.Figure)
	if len(f.Panels) != phrases.MaxOfAKind || !strings.Contains(f.Caption, " 2 more are in the JSON form") {
		t.Errorf("%d panels, caption %q", len(f.Panels), f.Caption)
	}
	if h := f.Panels[0].Chart.(*chart.Heat); h.X.Min != 2000 || h.X.Max != 2400 || h.X.Clock != "" || h.XLabel == "" {
		t.Errorf("axis %+v, label %q", h.X, h.XLabel)
	}
	if parts := (&Section{r: &reading.Reading{}}).Parts(); parts != nil {
		t.Errorf("parts without signatures: %+v", parts)
	}
}

// In a comparison of two folders a port that is busy in the other one has a row, whatever it
// sent in this one: both have the same rows.
func TestRowsOfTheOtherFolder(t *testing.T) {
	f := readingtest.ThreeFlow().Folder(t, nil)
	rows := func(elsewhere map[string]map[string]float64) (names []string) {
		r, err := reading.Open(f, measure.Meaning)
		if err != nil {
			t.Fatal(err)
		}
		s := New(r)
		if err := r.Survey(s); err != nil {
			t.Fatal(err)
		}
		r.Elsewhere = elsewhere
		if err := r.Finish(s); err != nil {
			t.Fatal(err)
		}
		if err := s.Settle(); err != nil {
			t.Fatal(err)
		}
		for _, row := range s.(*Section).Signatures[0].Rows {
			names = append(names, row.Name)
		}
		return names
	}
	own := rows(nil)
	both := rows(map[string]map[string]float64{"baseline": {"s1-s0": 100, "h0-s0": 5}})
	if slices.Contains(own, "s1-s0") || !slices.Contains(both, "s1-s0") || len(both) != len(own)+1 {
		t.Errorf("rows %v, and with the other folder %v", own, both)
	}
}
