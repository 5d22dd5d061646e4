package fabric

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/section/sectiontest"
	"github.com/csiglab/csiglab/units"
)

// The fabric is drawn with its flows, loads and bottlenecks, and has a text for who
// cannot see it.
func TestFabricIsDrawn(t *testing.T) {
	s, _ := sectiontest.Read[*Section](t, readingtest.ThreeFlow().Folder(t, nil), New)
	f := s.First()
	sectiontest.Survives(t, s.Fabric)
	sectiontest.Survives(t, s.Loads)
	if f.ID != "fabric" || f.Title != "Fabric and load in baseline" || len(f.Panels) != 1 || len(f.Legend) != 3+3+1 || f.Legend[0].Name != "0-3" {
		t.Errorf("figure %+v", f)
	}
	for _, width := range []float64{chart.Half, chart.Narrow} {
		count := map[chart.Part]int{}
		load := map[chart.Paint]int{}
		tips := map[string]bool{}
		d := f.Panels[0].Chart.Draw(width)
		for _, m := range d.Marks {
			switch m := m.(type) {
			case *chart.Rect:
				count[m.Part]++
			case *chart.Path:
				count[m.Part]++
				tips[m.Tip] = true
				if m.Part == chart.PartLink {
					load[m.Stroke]++
				}
			case *chart.Circle:
				count[m.Part]++
			}
		}
		want := map[chart.Part]int{chart.PartHost: 4, chart.PartSwitch: 3, chart.PartLink: 6, chart.PartWay: 3, chart.PartMark: 2, chart.PartBadge: 2}
		for part, n := range want {
			if count[part] != n {
				t.Errorf("%v wide: %d of %s, want %d", width, count[part], part, n)
			}
		}
		if load[chart.Load(0)] != 2 || load[chart.Load(1)] != 2 || load[chart.Load(3)] != 2 {
			t.Errorf("%v wide: links by load %v", width, load)
		}
		for _, tip := range []string{"s0 → s1 100 %, s1 → s0 0 % busy", "flow 0-3"} {
			if !tips[tip] {
				t.Errorf("%v wide: no tip %q in %v", width, tip, tips)
			}
		}
		if !strings.HasPrefix(d.Title, "Fabric: 4 hosts, 3 switches and 6 links. Lines show how busy the links are in baseline") || !strings.Contains(d.Desc, "Number 1, bottleneck: s1 → s2: 100 % busy") {
			t.Errorf("title %q, description %q", d.Title, d.Desc)
		}
	}
	badges := s.Badges()
	if len(badges) != 2 || badges[0].Name != "bottleneck: s1 → s2" || !strings.HasPrefix(badges[0].Value, "100 % busy, mean queue 88") {
		t.Errorf("badges %+v", badges)
	}
}

// A folder without links has no drawing, no map and no numbers of a fabric.
func TestWithoutLinks(t *testing.T) {
	s := &Section{r: &reading.Reading{}}
	if s.First() != nil || s.Map() != nil || len(s.Numbers()) != 0 || s.Parts() != nil {
		t.Errorf("first %v, map %v, numbers %v", s.First(), s.Map(), s.Numbers())
	}
}

// Nothing is drawn outside of the drawing, on a row, on a ring, and where boxes fold.
func TestFabricStaysInside(t *testing.T) {
	row := func(f *Fabric, row, n, hosts, switches int) {
		for i := range n {
			f.Boxes = append(f.Boxes, Box{Name: fmt.Sprintf("node%d-%d", row, i), Row: row, Pod: -1, Hosts: hosts, Switches: switches, Folded: hosts+switches > 1, Pods: []int{2 * i, 2*i + 1}})
			for k := range len(f.Boxes) - 1 {
				f.Lines = append(f.Lines, Line{A: k, B: len(f.Boxes) - 1, Links: 2, Up: float64(k%5) / 4})
			}
		}
	}
	tree, ring, line := &Fabric{}, &Fabric{Ring: true}, &Fabric{}
	row(tree, 0, 10, 128, 32)
	row(tree, 1, 24, 0, 1)
	row(ring, 0, 24, 8, 4)
	row(line, 0, 20, 1, 0)
	for name, f := range map[string]*Fabric{"tree": tree, "ring": ring, "line": line} {
		f.Marks = []Mark{{Port: 0, From: 0, To: 0}, {Port: 1, From: 0, To: 0}, {Port: 0, From: 0, To: 7}}
		s := &Section{r: &reading.Reading{Facts: reading.Facts{Variants: []reading.Variant{{}}, Limits: make([]reading.Port, 2)}}, Fabric: f}
		for _, width := range []float64{chart.Half, chart.Narrow} {
			d := s.First().Panels[0].Chart.Draw(width)
			inside := func(what any, x, y float64) {
				if x < -1 || x > width+1 || y < -1 || y > d.Height+1 {
					t.Errorf("%s, %v wide: %T %+v is at %v, %v", name, width, what, what, x, y)
				}
			}
			for _, m := range d.Marks {
				switch m := m.(type) {
				case *chart.Rect:
					inside(m, m.X, m.Y)
					inside(m, m.X+m.Width, m.Y+m.Height)
				case *chart.Circle:
					inside(m, m.X-m.Radius, m.Y-m.Radius)
					inside(m, m.X+m.Radius, m.Y+m.Radius)
				case *chart.Text:
					inside(m, m.X, m.Y)
				}
			}
		}
	}
}

// Of a large fabric the boxes say how many nodes they stand for.
func TestBoxesOfMany(t *testing.T) {
	for _, c := range []struct {
		box   Box
		short bool
		want  string
	}{
		{Box{Name: "tor0", Switches: 1}, false, "tor0"},
		{Box{Name: "h0–h7", Hosts: 8, Folded: true}, false, "h0–h7|8 hosts"},
		{Box{Name: "core0–core63", Switches: 64, Folded: true}, false, "core0–core63|64 switches"},
		{Box{Name: "agg0–tor7", Switches: 16, Hosts: 64, Folded: true, Pods: []int{3}}, false, "pod 3|16 switches|64 hosts"},
		{Box{Name: "agg0–tor15", Switches: 32, Hosts: 128, Folded: true, Pods: []int{2, 3}}, false, "pods 2–3|32 switches|128 hosts"},
		{Box{Name: "agg0–tor15", Switches: 32, Hosts: 128, Folded: true, Pods: []int{2, 3}}, true, "2–3|32 sw|128 h"},
		{Box{Name: "r0", Switches: 1, Hosts: 2, Folded: true}, false, "r0|2 hosts"},
	} {
		if got := strings.Join(c.box.lines(c.short), "|"); got != c.want {
			t.Errorf("%+v: %q, want %q", c.box, got, c.want)
		}
	}
}

// The map has the section's numbers, byte for byte, and names as text.
func TestMapData(t *testing.T) {
	s, _ := sectiontest.Read[*Section](t, readingtest.ThreeFlow().Folder(t, nil), New)
	if len(s.Loads) == 0 || len(s.Loads[0].Lines) != len(s.Fabric.Lines) {
		t.Fatalf("%d loads", len(s.Loads))
	}
	hostile := "</script><script>x()//<!--\n"
	s.Fabric.Boxes[s.Fabric.Lines[0].A].Name = hostile
	text, err := json.Marshal(s.Map())
	if err != nil {
		t.Fatal(err)
	}
	var back chart.Map
	if err := json.Unmarshal(text, &back); err != nil || !strings.HasPrefix(back.Lines[0], hostile) {
		t.Errorf("names %q, %v", back.Lines, err)
	}
	if keys := s.Map().Keys; len(keys) != 6 || keys[0].Name != "idle" || keys[5].Name != "to 100 %" || len(keys[5].Fills) != 2 {
		t.Errorf("legend %+v", keys)
	}
	for i, v := range back.Variants {
		load := &s.Loads[i]
		for q, of := range []func(*InTime) reading.Percents{
			func(l *InTime) reading.Percents { return l.Busy },
			func(l *InTime) reading.Percents { return l.Left },
			func(l *InTime) reading.Percents { return l.Named },
		} {
			if q == 2 && !load.HasNamed {
				if v.Values[q] != nil {
					t.Errorf("%s names links without samples", v.Name)
				}
				continue
			}
			values := v.Values[q]
			if len(values) != len(load.Lines)*load.Bins {
				t.Fatalf("%s: %d bytes", v.Name, len(values))
			}
			for l := range load.Lines {
				for bin, want := range of(&load.Lines[l]) {
					if got := values[l*load.Bins+bin]; got != byte(want) && !(want < 0 && got == chart.NoByte) {
						t.Fatalf("%s: quantity %d, line %d, bin %d: %d, want %d", v.Name, q, l, bin, got, want)
					}
				}
			}
		}
	}
	s.Loads = nil
	if s.Map() != nil {
		t.Error("a map without loads")
	}
}

// Links that a fault slowed are marked, all of them, and the legend says to which rate.
func TestSlowedLinks(t *testing.T) {
	for _, c := range []struct {
		kind string
		want int
		says string
	}{{"rate", 2, "slowed by a fault, to 25 % of the rate"}, {"loss", 0, ""}} {
		p := &readingtest.Planted{Many: readingtest.Many{Leaves: 2, Spines: 3, Hosts: 1}, Interval: 100 * units.Microsecond, Variants: []string{"run"}, EndUS: 100,
			Faults: []runfolder.Fault{{Name: "slow", Kind: c.kind, What: "2 links (tor0-agg1, tor1-agg2) at 25 % of the rate", Where: []string{"tor0-agg1", "tor1-agg2"}, Happened: true}}}
		p.Run = func(m *runfolder.Manifest, _ string, _ uint64, b *metrics.Batch) {
			b.Ports = append(b.Ports, p.Window(&m.Ports[readingtest.PortNamed(t, m, "tor0-agg0")], 0, 1, 1e5))
		}
		s, _ := sectiontest.Read[*Section](t, p.Folder(t), New)
		f := s.First()
		dashed := 0
		for _, m := range f.Panels[0].Chart.Draw(chart.Half).Marks {
			if path, ok := m.(*chart.Path); ok && path.Tip == "slowed by a fault" {
				dashed++
			}
		}
		said := slices.ContainsFunc(f.Legend, func(k chart.Key) bool { return k.Name == c.says })
		if dashed != c.want || said != (c.want > 0) {
			t.Errorf("under a fault of kind %s %d links are marked, want %d; legend %+v", c.kind, dashed, c.want, f.Legend)
		}
	}
}
