package shift

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/sectiontest"
)

func share(v float64) Share { return Share{Share: v} }

// The table says where the bottleneck was, of many places that share one the first ones.
func TestTable(t *testing.T) {
	s := &Section{Shifts: []Shift{
		{Before: Side{Variant: "a"}, After: Side{Variant: "b"}, Basis: BasisSamples, Signal: "abw-c", From: 0, To: -1, FromTier: 0, ToTier: 1, Agree: 2, Seeds: 3,
			Places: []Place{{Ports: []string{"tor0-agg0", "tor1-agg0", "tor2-agg0", "tor3-agg0"}, Before: share(0.6), After: share(0)}},
			Tiers:  []Tier{{Tier: "tor", Direction: "up", Before: share(0.9)}, {Tier: "tor", Direction: "down", After: share(1)}}},
		{Fault: "link x down", Before: Side{Variant: "a"}, Basis: BasisWindows, From: -1, To: -1, FromTier: -1, ToTier: -1, Seeds: 1},
	}}
	text := strings.ReplaceAll(sectiontest.Text(&section.Part{Blocks: []section.Block{s.table()}}), "\u00a0", " ")
	for _, want := range []string{
		"a | b | samples of abw-c | tor, up (90 %); tor0-agg0, tor1-agg0, tor2-agg0 (60 %) or one of 1 others | tor, down (100 %) | 2 of 3",
		"a before link x down | afterwards | windows of switch ports | – | – | 0 of 1",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	s.Shifts = make([]Shift, phrases.MaxRows+5)
	if got := s.table(); len(got.Rows) != phrases.MaxRows || !strings.Contains(got.Note, "JSON") {
		t.Errorf("%d rows, note %q", len(got.Rows), got.Note)
	}
}

// A part speaks of the shift that is the surest; it says so of places, or of tiers where no
// place stands out, and of sides without a bottleneck.
func TestSays(t *testing.T) {
	shift := func(change func(*Shift)) Shift {
		s := Shift{Before: Side{Variant: "a"}, After: Side{Variant: "b"}, Basis: BasisWindows, Agree: 2, Seeds: 2, Moved: true, To: 1, ToTier: 1,
			Places: []Place{{Ports: []string{"tor0-agg0"}, Tier: "tor", Direction: "up", Before: share(0.8), After: share(0.1)}, {Ports: []string{"agg0-tor1"}, Tier: "agg", Direction: "down", Before: share(0.2), After: share(0.9)}},
			Tiers:  []Tier{{Tier: "tor", Direction: "up", Before: share(0.8), After: share(0.1)}, {Tier: "agg", Direction: "down", Before: share(0.2), After: share(0.9)}}}
		change(&s)
		return s
	}
	stayed := shift(func(s *Shift) { s.Moved, s.To, s.ToTier, s.Places[0].After = false, 0, 0, share(0.7) })
	for _, c := range []struct {
		shifts []Shift
		level  section.Level
		says   string
	}{
		{[]Shift{stayed}, section.Quiet, "The bottleneck stayed at tor0-agg0 (80 % in a, 70 % in b). 2 of 2 seeds say the same."},
		{[]Shift{stayed, shift(func(*Shift) {})}, section.Telling, "The bottleneck moved from tor0-agg0 (80 % in a) to agg0-tor1 (90 % in b, up from 20 %). 2 of 2 seeds say the same."},
		{[]Shift{shift(func(s *Shift) { s.Agree = 1 })}, section.Quiet, "The bottleneck was mostly at tor0-agg0 in a (80 %), and at agg0-tor1 in b (90 %). 1 of 2 seeds say the same."},
		{[]Shift{shift(func(s *Shift) { s.Fault = "a link"; s.Seeds, s.Agree = 1, 1 })}, section.Telling, "The bottleneck moved from tor0-agg0 (80 % in the time before) to agg0-tor1 (90 % in the time after, up from 20 %)."},
		{[]Shift{shift(func(s *Shift) { s.Places[0].Before, s.Places[1].After = share(0.1), share(0.2) })}, section.Telling,
			"The bottleneck moved from ports of tier tor, up (80 % in a) to ports of tier agg, down (90 % in b, up from 20 %). 2 of 2 seeds say the same."},
		{[]Shift{shift(func(s *Shift) { s.Moved, s.ToTier, s.Places[1].After = false, 0, share(0.2) })}, section.Quiet, "The bottleneck stayed at ports of tier tor, up (80 % in a, 10 % in b). 2 of 2 seeds say the same."},
		{[]Shift{shift(func(s *Shift) { s.From, s.FromTier = -1, -1 })}, section.Quiet, "No port was heavily loaded in a; in b the bottleneck was mostly agg0-tor1 (90 %)."},
		{[]Shift{shift(func(s *Shift) { s.To, s.ToTier = -1, -1 })}, section.Quiet, "In a the bottleneck was mostly tor0-agg0 (80 %); no port was heavily loaded in b."},
	} {
		s := &Section{r: &reading.Reading{Facts: reading.Facts{Variants: make([]reading.Variant, 2)}}, Shifts: c.shifts}
		parts := s.Parts()
		if len(parts) != 1 || parts[0].ID != "shift" || parts[0].Level != c.level || parts[0].Says != c.says {
			t.Errorf("part %d %q, want %d %q", parts[0].Level, parts[0].Says, c.level, c.says)
		}
		f := parts[0].Blocks[1].(*chart.Figure)
		if bars := f.Panels[1].Chart.(*chart.Pairs); len(f.Panels) != 2 || len(bars.Rows) != 2 || len(bars.Sides) != 2 {
			t.Errorf("figure %+v", f)
		}
	}
}

// A folder without a heavily loaded port has no part.
func TestNothingToShow(t *testing.T) {
	if parts := (&Section{r: &reading.Reading{}, Shifts: []Shift{}}).Parts(); parts != nil {
		t.Errorf("parts %+v", parts)
	}
}
