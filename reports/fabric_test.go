package reports

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/analysis"
	"github.com/csiglab/csiglab/reports/analysis/analysistest"
)

// elements returns the start tags of a drawing, which must be well-formed.
func elements(t *testing.T, svg string) []xml.StartElement {
	t.Helper()
	var all []xml.StartElement
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v:\n%s", err, svg)
		}
		if start, ok := token.(xml.StartElement); ok {
			all = append(all, start.Copy())
		}
	}
}

func attribute(e *xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// The fabric is drawn with its flows, loads and bottlenecks, and has a text for who
// cannot see it.
func TestFabricIsDrawn(t *testing.T) {
	r := build(t, analysistest.ThreeFlow().Folder(t, nil))
	f := newFabric(r.numbers)
	for form, svg := range map[string]string{"wide": string(f.SVG), "narrow": string(f.Narrow)} {
		count := map[string]int{}
		all := elements(t, svg)
		for i := range all {
			count[strings.TrimSpace(all[i].Name.Local+" "+attribute(&all[i], "class"))]++
		}
		want := map[string]int{"rect host": 4, "rect switch": 3, "path link load-1": 2, "path link load-0": 2, "path link load-3": 2, "path way": 3, "path mark": 2, "circle badge": 2}
		for class, n := range want {
			if count[class] != n {
				t.Errorf("%s: %d of %s, want %d: %v", form, count[class], class, n, count)
			}
		}
		for _, text := range []string{`role="img"><title>Fabric: 4 hosts, 3 switches and 6 links. Lines show how busy the links are in baseline`,
			"<title>s0 → s1 100 %, s1 → s0 0 % busy</title>", "<title>flow 0-3</title>", "stroke:var(--flow-0);stroke-dasharray:none", "stroke:var(--flow-1);stroke-dasharray:7 3"} {
			if !strings.Contains(svg, text) {
				t.Errorf("%s: the drawing lacks %q:\n%s", form, text, svg)
			}
		}
	}
	if len(f.Marks) != 2 || f.Marks[0].Name != "bottleneck: s1 → s2" || !strings.HasPrefix(f.Marks[0].Value, "100 % busy, mean queue 88") {
		t.Errorf("marks %+v", f.Marks)
	}
	if len(f.Flows) != 3 || f.Flows[0] != (Key{Name: "0-3", Style: 0}) || len(f.Loads) != 3 {
		t.Errorf("legend of flows %+v and of loads %+v", f.Flows, f.Loads)
	}
	r.numbers.Fabric = nil
	var page bytes.Buffer
	if err := WriteHTML(&page, r.numbers); err != nil || strings.Contains(page.String(), `id="fabric"`) {
		t.Errorf("%v; a page without links has a fabric", err)
	}
}

var numbersOf = regexp.MustCompile(`-?\d+(\.\d+)?`)

// Nothing is drawn outside of the drawing, on a row, on a ring, and where boxes fold.
func TestFabricStaysInside(t *testing.T) {
	row := func(f *analysis.Fabric, row, n, hosts, switches int) {
		for i := range n {
			f.Boxes = append(f.Boxes, analysis.Box{Name: fmt.Sprintf("node%d-%d", row, i), Row: row, Pod: -1, Hosts: hosts, Switches: switches, Folded: hosts+switches > 1, Pods: []int{2 * i, 2*i + 1}})
			for k := range len(f.Boxes) - 1 {
				f.Lines = append(f.Lines, analysis.FabricLine{A: k, B: len(f.Boxes) - 1, Links: 2, Up: float64(k%5) / 4})
			}
		}
	}
	tree, ring, line := &analysis.Fabric{}, &analysis.Fabric{Ring: true}, &analysis.Fabric{}
	row(tree, 0, 10, 128, 32)
	row(tree, 1, 24, 0, 1)
	row(ring, 0, 24, 8, 4)
	row(line, 0, 20, 1, 0)
	for name, f := range map[string]*analysis.Fabric{"tree": tree, "ring": ring, "line": line} {
		f.Marks = []analysis.FabricMark{{Port: 0, From: 0, To: 0}, {Port: 1, From: 0, To: 0}, {Port: 0, From: 0, To: 7}}
		r := &analysis.Result{Variants: []analysis.Variant{{}}, Fabric: f, Findings: analysis.Findings{Ports: make([]analysis.Port, 2)}}
		for _, width := range []float64{firstWidth, narrowWidth} {
			height := 210.0
			svg := string(newPlan(f, width, height).svg(r))
			all := elements(t, svg)
			for i := range all {
				e := &all[i]
				var xs, ys []float64
				value := func(name string) float64 { v, _ := strconv.ParseFloat(attribute(e, name), 64); return v }
				switch e.Name.Local {
				case "rect":
					xs, ys = []float64{value("x"), value("x") + value("width")}, []float64{value("y"), value("y") + value("height")}
				case "circle":
					xs, ys = []float64{value("cx") - 8, value("cx") + 8}, []float64{value("cy") - 8, value("cy") + 8}
				case "path": // of an arc the control points lie a third above it
					for k, n := range numbersOf.FindAllString(attribute(e, "d"), -1) {
						v, _ := strconv.ParseFloat(n, 64)
						if k%2 == 0 {
							xs = append(xs, v)
						} else if !strings.Contains(attribute(e, "d"), "C") {
							ys = append(ys, v)
						}
					}
				}
				for _, x := range xs {
					if x < -1 || x > width+1 {
						t.Errorf("%s, %v wide: %s %v is at x %v", name, width, e.Name.Local, e.Attr, x)
					}
				}
				for _, y := range ys {
					if y < -1 || y > height+1 {
						t.Errorf("%s, %v wide: %s %v is at y %v", name, width, e.Name.Local, e.Attr, y)
					}
				}
			}
		}
	}
}

// Of a large fabric the boxes say how many nodes they stand for.
func TestBoxesOfMany(t *testing.T) {
	for _, c := range []struct {
		box   analysis.Box
		short bool
		want  string
	}{
		{analysis.Box{Name: "tor0", Switches: 1}, false, "tor0"},
		{analysis.Box{Name: "h0–h7", Hosts: 8, Folded: true}, false, "h0–h7|8 hosts"},
		{analysis.Box{Name: "core0–core63", Switches: 64, Folded: true}, false, "core0–core63|64 switches"},
		{analysis.Box{Name: "agg0–tor7", Switches: 16, Hosts: 64, Folded: true, Pods: []int{3}}, false, "pod 3|16 switches|64 hosts"},
		{analysis.Box{Name: "agg0–tor15", Switches: 32, Hosts: 128, Folded: true, Pods: []int{2, 3}}, false, "pods 2–3|32 switches|128 hosts"},
		{analysis.Box{Name: "agg0–tor15", Switches: 32, Hosts: 128, Folded: true, Pods: []int{2, 3}}, true, "2–3|32 sw|128 h"},
		{analysis.Box{Name: "r0", Switches: 1, Hosts: 2, Folded: true}, false, "r0|2 hosts"},
	} {
		if got := strings.Join(boxLines(&c.box, c.short), "|"); got != c.want {
			t.Errorf("%+v: %q, want %q", c.box, got, c.want)
		}
	}
}

// Cells carry the names of their columns, for narrow windows.
func TestCellsNameTheirColumns(t *testing.T) {
	var page bytes.Buffer
	if err := WriteHTML(&page, build(t, analysistest.ThreeFlow().Folder(t, func(_ *runfolder.Manifest, s *runfolder.Summary) { s.Expectations[0].OK = false })).numbers); err != nil {
		t.Fatal(err)
	}
	if want := `<td class="bad" data-column="Outcome">✗ failed</td>`; !strings.Contains(page.String(), want) {
		t.Errorf("page lacks %s", want)
	}
}
