package fabric

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// loadClasses are the classes of load that lines are coloured by: those of at least a share.
var loadClasses = [chart.Loads]struct {
	from float64
	name string
}{{0, "idle"}, {0.01, "under 50 % busy"}, {0.5, "50 to 90 %"}, {0.9, "over 90 %"}}

func loadClass(load float64) int {
	class := 0
	for i, c := range loadClasses {
		if load >= c.from {
			class = i
		}
	}
	return class
}

// First returns the drawing for the first screen; nil when there is no fabric to draw.
func (s *Section) First() *chart.Figure {
	if s.Fabric == nil || len(s.Fabric.Boxes) == 0 {
		return nil
	}
	f := &chart.Figure{ID: "fabric", Title: "Fabric and load" + phrases.In(&s.r.Facts, s.Fabric.Variant), Caption: s.caption(), Panels: []chart.Panel{{Variant: s.Fabric.Variant, Chart: s.graph(), Width: chart.Half}}}
	for i := range s.Fabric.Paths {
		p := &s.Fabric.Paths[i]
		if look, drawn := s.look(p); drawn {
			f.Legend = append(f.Legend, chart.LineKey(p.Flow, look))
		}
	}
	for class, c := range loadClasses {
		if slices.ContainsFunc(s.Fabric.Lines, func(l Line) bool { return loadClass(l.Load()) == class }) {
			f.Legend = append(f.Legend, chart.LineKey(c.name, chart.Look{Paint: chart.Load(class), Width: 1.5 + 1.5*float64(class)}))
		}
	}
	if marks := len(s.Fabric.Marks); marks > 0 {
		f.Legend = append(f.Legend, chart.Key{Name: "numbered ports", Fills: []chart.Paint{chart.Target}, Shade: 0.25})
	}
	if slices.ContainsFunc(s.Fabric.Boxes, func(b Box) bool { return b.Foreign }) {
		f.Legend = append(f.Legend, chart.LineKey("node of which tables have no windows", chart.Unknown()))
	}
	if slices.ContainsFunc(s.Fabric.Lines, func(l Line) bool { return l.Slowed }) {
		f.Legend = append(f.Legend, chart.LineKey(s.slowed(), chart.Slowed()))
	}
	return f
}

// slowed says what faults did to the links that they slowed.
func (s *Section) slowed() string {
	to := ""
	for _, f := range s.r.Faults {
		if !f.Happened || f.Kind != "rate" || f.Variant != s.Fabric.Variant {
			continue
		}
		_, rate, _ := strings.Cut(f.What, " at ")
		if to != "" && rate != to {
			return "slowed by faults"
		}
		to = rate
	}
	if to == "" {
		return "slowed by a fault"
	}
	return "slowed by a fault, to " + to
}

// caption says what the drawing shows.
func (s *Section) caption() string {
	f := s.Fabric
	text := fmt.Sprintf("%s, %s and %s. Lines show how busy the links are%s, in the busier direction", words.Plural(f.Hosts, "host"), words.Plural(f.Switches, "switch"), words.Plural(f.Links, "link"), phrases.In(&s.r.Facts, f.Variant))
	if slices.ContainsFunc(f.Boxes, func(b Box) bool { return b.Folded }) {
		text += "; a box may stand for several nodes, and a line for several links, of which it shows the busiest"
	}
	text += "."
	if f.Silent > 0 {
		text += fmt.Sprintf(" %d of the switches speak CSIG; the others pass tags on untouched, so that no sample is of their ports.", f.Switches-f.Silent)
	}
	return text
}

// Badges says which ports the numbers in the drawing stand for, from 1, and how they are used
// in the variant that it shows, or, if that hardly uses them, in the one that does most.
func (s *Section) Badges() []section.Mark {
	var all []section.Mark
	for i := range s.r.Limits {
		p := &s.r.Limits[i]
		what := "busiest port: "
		if p.Full {
			what = "bottleneck: "
		}
		use, in := p.Busiest(), ""
		if told, ok := p.In(s.r.Told); ok && told.Utilisation >= use.Utilisation/2 {
			use = told
		} else {
			in = phrases.In(&s.r.Facts, use.Variant)
		}
		all = append(all, section.Mark{Name: what + phrases.Port(&p.Place) + in, Value: words.Percent(use.Utilisation) + " busy" + phrases.Queue(&use, ", mean queue ", 0)})
	}
	return all
}

// description says what the drawing marks.
func (s *Section) description() string {
	var marks []string
	for i, b := range s.Badges() {
		marks = append(marks, fmt.Sprintf("Number %d, %s: %s.", i+1, b.Name, b.Value))
	}
	if marks == nil {
		return "No port is marked."
	}
	return strings.Join(marks, " ")
}

// look returns the look of a flow's way: that of its line in charts. It reports whether the
// way is drawn.
func (s *Section) look(p *Path) (look chart.Look, drawn bool) {
	at := slices.Index(s.r.Groups, reading.Group{Flow: p.Flow, Flows: 1})
	if at < 0 || len(p.Steps) == 0 {
		return look, false
	}
	return chart.Beside(len(s.r.Variants), at), true
}

func (s *Section) graph() *chart.Graph {
	f := s.Fabric
	g := &chart.Graph{Name: "Fabric: " + s.caption(), Desc: s.description(), Ring: f.Ring, Quantity: "Busy", Unit: "%"}
	for i := range f.Boxes {
		b := &f.Boxes[i]
		box := chart.Box{Row: b.Row, Pod: b.Pod, Lines: b.lines(false), Host: b.Switches == 0, Folded: b.Folded, Dashed: b.Foreign}
		if b.Folded {
			box.Short = b.lines(true)
		}
		g.Boxes = append(g.Boxes, box)
	}
	for i := range f.Lines {
		l := &f.Lines[i]
		if l.Slowed {
			g.Slowed = append(g.Slowed, [2]int{l.A, l.B})
		}
		g.Links = append(g.Links, chart.Link{A: l.A, B: l.B, Class: loadClass(l.Load()), Value: 100 * l.Load(), Tip: f.tip(l)})
	}
	for i := range f.Paths {
		p := &f.Paths[i]
		look, drawn := s.look(p)
		if !drawn {
			continue
		}
		tip := "flow " + p.Flow
		if !p.Whole {
			tip += ": the links of all its shortest paths"
		}
		g.Ways = append(g.Ways, chart.Way{Look: look, Steps: p.Steps, Tip: tip})
	}
	for _, m := range f.Marks {
		g.Marked = append(g.Marked, [2]int{m.From, m.To})
		g.Badges = append(g.Badges, chart.Badge{From: m.From, To: m.To, Text: fmt.Sprint(m.Port + 1)})
	}
	return g
}

// tip says how busy a line is.
func (f *Fabric) tip(l *Line) string {
	a, b := &f.Boxes[l.A], &f.Boxes[l.B]
	load := func(from *Box, load float64) string {
		if from.Foreign {
			return "unknown"
		}
		return words.Percent(load)
	}
	text := fmt.Sprintf("%s → %s %s, %s → %s %s busy", a.Name, b.Name, load(a, l.Up), b.Name, a.Name, load(b, l.Down))
	if l.Links > 1 {
		text = fmt.Sprintf("%d links, the busiest of them: %s", l.Links, text)
	}
	return text
}

// lines returns the text of a box, in short where there is little room.
func (b *Box) lines(short bool) []string {
	name := words.Shortened(b.Name, words.MostInDrawing)
	if !b.Folded {
		return []string{name}
	}
	if b.Hosts > 0 && b.Switches > 0 && b.Pods != nil {
		name = fmt.Sprintf("pod %d", b.Pods[0])
		if last := b.Pods[len(b.Pods)-1]; last != b.Pods[0] {
			name = fmt.Sprintf("pods %d–%d", b.Pods[0], last)
			if short {
				name = fmt.Sprintf("%d–%d", b.Pods[0], last)
			}
		}
	}
	count := func(n int, noun, letters string) string {
		if short {
			return words.Number(float64(n)) + " " + letters
		}
		return words.Plural(n, noun)
	}
	lines := []string{name}
	if b.Switches > 1 || b.Hosts == 0 {
		lines = append(lines, count(b.Switches, "switch", "sw"))
	}
	if b.Hosts > 0 {
		lines = append(lines, count(b.Hosts, "host", "h"))
	}
	return lines
}
