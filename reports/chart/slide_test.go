package chart

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"testing"
)

// Lines that are no variants have looks that differ, and none has a variant's colour.
func TestBeside(t *testing.T) {
	for variants := 2; variants <= 10; variants++ {
		seen := map[string]bool{}
		for i := range 8 {
			look := Beside(variants, i)
			seen[fmt.Sprint(look)] = true
			for v := range variants {
				if look.Paint == Nth(v).Paint {
					t.Errorf("of %d variants line %d has the colour of variant %d", variants, i, v)
				}
			}
		}
		if len(seen) != 8 {
			t.Errorf("of %d variants 8 lines have %d looks", variants, len(seen))
		}
	}
	if got, want := fmt.Sprint(Beside(1, 3)), fmt.Sprint(Nth(3)); got != want {
		t.Errorf("without a second variant: %s, want %s", got, want)
	}
}

// All letters of a slide are at least 24 of 1080 pixels high, or, where a size is given, as large as
// that, but for the title. Rows of a Heat are fewer then: the strong one and those of the greatest
// weight of each group, with names that differ.
func TestLettersOfSlides(t *testing.T) {
	h := &Heat{Name: "ports", X: Scaling{Name: "Time", Unit: "ms", Max: 10}, Step: 1, Columns: 10, Value: Scaling{Max: 100}, EndHead: "%"}
	for i := range 64 {
		h.Rows = append(h.Rows, HeatRow{Group: fmt.Sprint("tier ", i/16), Name: fmt.Sprintf("a-rather-long-name-of-a-switch-%d-and-of-its-peer-in-the-fabric", i), Values: make([]float64, 10), End: "9", Weight: float64(i % 16), Strong: i == 3})
	}
	for i := range 8 {
		h.Spans = append(h.Spans, HeatSpan{Name: fmt.Sprintf("a-collective-of-stage-%c-of-the-pipeline-of-the-job", rune(0x41+i)), To: float64(i + 1), Paint: Rest})
	}
	f := &Figure{ID: "slide", Title: "Ports", Caption: strings.Repeat("Each row is a port. ", 12), Columns: 3}
	for _, name := range []string{"a", "b", "c"} {
		f.Panels = append(f.Panels, Panel{Title: name, Subtitle: strings.Repeat("steps ", 20), Chart: h})
	}
	for _, font := range []float64{0, 10, 14} {
		s := f.compose(Layout{Size: Slide, FontSize: font})
		rows := map[string]int{}
		var look func(marks []Mark, k float64)
		look = func(marks []Mark, k float64) {
			for _, m := range marks {
				switch m := m.(type) {
				case *Group:
					look(m.Marks, k*cmp.Or(m.Scale, 1))
				case *Text:
					points := m.size() * k * s.points
					if least := 24.0 / 1920 * 720; font == 0 && points < least-0.01 || font > 0 && math.Abs(points-font) > 0.01 && m.Text != f.Title {
						t.Errorf("of size %v, %q has letters of %.2f points", font, m.Text, points)
					}
					if text, _ := m.shown(); strings.HasPrefix(m.Text, "a-rather") || strings.Contains(m.Text, "…") {
						rows[text]++
					}
				}
			}
		}
		look(s.Marks, 1)
		if s.Width*s.points != 720 || math.Abs(s.Height*s.points-405) > 1e-9 {
			t.Errorf("a slide of %v by %v points", s.Width*s.points, s.Height*s.points)
		}
		for name, n := range rows {
			if n != len(f.Panels) {
				t.Errorf("of size %v, %q is there %d times in %d panels", font, name, n, len(f.Panels))
			}
		}
		if len(rows) < 5 {
			t.Errorf("of size %v only %d rows and spans", font, len(rows))
		}
	}
	var got []string
	for _, r := range h.heaviest(6) {
		got = append(got, r.Name[strings.Index(r.Name, "switch-"):strings.Index(r.Name, "-and")])
	}
	if want := "switch-3 switch-15 switch-30 switch-31 switch-47 switch-63"; strings.Join(got, " ") != want {
		t.Errorf("rows %s, want %s", got, want)
	}
}

// Texts that are equal when they are cut keep what they differ in.
func TestDistinct(t *testing.T) {
	got := distinct([]string{"dp-0-stage-1", "dp-3-stage-1", "tp", "embedding"}, 40, 10, false)
	if got[0] == got[1] || !strings.Contains(got[0], "0") || !strings.Contains(got[1], "3") || got[2] != "tp" {
		t.Errorf("%q", got)
	}
	for _, text := range got {
		if TextWidth(text, 10, false) > 40 {
			t.Errorf("%q is %.1f wide", text, TextWidth(text, 10, false))
		}
	}
}

// On a phone an upright line of intervals does not go through the names above them.
func TestUprightLinesLeaveNames(t *testing.T) {
	c := &Intervals{X: Scaling{Name: "Times", Max: 2}, Lines: []UprightMark{{"alone", 0.2}}, Rows: []IntervalRow{{Name: "the name of a row"}, {Name: "another"}}}
	for _, width := range []float64{Narrow, Whole} {
		var names []*Text
		var lines [][2]float64
		var look func(marks []Mark)
		look = func(marks []Mark) {
			for _, m := range marks {
				switch m := m.(type) {
				case *Group:
					look(m.Marks)
				case *Text:
					if m.Text == c.Rows[0].Name || m.Text == c.Rows[1].Name {
						names = append(names, m)
					}
				case *Path:
					if m.Stroke == Bad {
						lines = append(lines, [2]float64{m.at[1], m.at[3]})
					}
				}
			}
		}
		look(c.Draw(width).Marks)
		if len(names) != 2 || len(lines) != 3 {
			t.Fatalf("%v wide: %d names, %d lines", width, len(names), len(lines))
		}
		for _, l := range lines {
			for _, n := range names {
				if width == Narrow && l[0] < n.Y+4 && n.Y-4 < l[1] {
					t.Errorf("a line from %v to %v goes through a name at %v", l[0], l[1], n.Y)
				}
			}
		}
	}
}
