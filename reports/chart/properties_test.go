package chart

import (
	"bytes"
	"compress/zlib"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
)

// charts returns the charts of the gallery by name.
func charts() map[string]Chart {
	all := map[string]Chart{}
	for _, f := range gallery() {
		for i, p := range f.Panels {
			all[f.ID+strconv.Itoa(i)] = p.Chart
		}
	}
	return all
}

var widths = []float64{Narrow, 480, Half, Whole}

// bounds calls f with the corners of each mark, in units of the drawing.
func bounds(marks []Mark, x, y, k float64, f func(m Mark, x, y float64)) {
	for _, m := range marks {
		at := func(px, py float64) { f(m, x+k*px, y+k*py) }
		switch m := m.(type) {
		case *Path:
			m.each(func(_ op, p []float64) {
				for i := 0; i < len(p); i += 2 {
					at(p[i], p[i+1])
				}
			})
		case *Rect:
			at(m.X, m.Y)
			at(m.X+m.Width, m.Y+m.Height)
		case *Circle:
			at(m.X-m.Radius, m.Y-m.Radius)
			at(m.X+m.Radius, m.Y+m.Radius)
		case *Cells:
			at(m.X, m.Y)
			at(m.X+m.Width, m.Y+m.Height)
		case *Text:
			text, _ := m.shown()
			sin, cos := math.Sincos(m.Rotate * math.Pi / 180)
			wide := TextWidth(text, m.size(), m.Bold)
			from := -wide * [...]float64{0, 0.5, 1}[m.Anchor]
			for _, dx := range []float64{from, from + wide} {
				for _, dy := range []float64{-m.size() * 0.4, m.size() * 0.4} {
					at(m.X+dx*cos-dy*sin, m.Y+dx*sin+dy*cos)
				}
			}
		case *Group:
			scale := m.Scale
			if scale == 0 {
				scale = 1
			}
			bounds(m.Marks, x+k*m.X, y+k*m.Y, k*scale, f)
		}
	}
}

func TestMarksAreInside(t *testing.T) {
	for name, c := range charts() {
		for _, width := range widths {
			d := c.Draw(width)
			if d.Width != width || !(d.Height > 0) {
				t.Errorf("%s: a drawing of %g by %g, want a width of %g", name, d.Width, d.Height, width)
			}
			bounds(d.Marks, 0, 0, 1, func(m Mark, x, y float64) {
				if !(x >= -1 && x <= width+1 && y >= -1 && y <= d.Height+1) {
					t.Errorf("%s of width %g: %T %+v is at %g %g, beyond %g by %g", name, width, m, m, x, y, d.Width, d.Height)
				}
			})
		}
	}
}

// Ticks are whole multiples of 1, 2, 2.5 or 5 times a power of ten, and from two to six.
func TestTicks(t *testing.T) {
	for _, top := range []float64{1e-9, 0.3, 0.99, 1, 1.01, 3, 7, 9.99, 10, 24, 100, 12345, 9e14} {
		for _, low := range []float64{0, -top / 3, -top, -7 * top} {
			from, to, all := wholeEnds(low, top)
			if from > low || to < top {
				t.Errorf("from %g to %g: the axis goes from %g to %g", low, top, from, to)
			}
			if len(all) < 2 || len(all) > 12 {
				t.Errorf("from %g to %g: %d ticks", low, top, len(all))
			}
			step := all[1].at - all[0].at
			mantissa := step / math.Pow(10, math.Floor(math.Log10(step)+1e-9))
			if !nearOne(mantissa, 1, 2, 2.5, 5, 10) {
				t.Errorf("from %g to %g: a step of %g", low, top, step)
			}
			for i := range all {
				if i > 0 && all[i].text == all[i-1].text {
					t.Errorf("from %g to %g: two ticks %s", low, top, all[i].text)
				}
				if all[i].at < from-1e-9*step || all[i].at > to+1e-9*step {
					t.Errorf("from %g to %g: a tick at %g", low, top, all[i].at)
				}
			}
		}
	}
}

func nearOne(v float64, of ...float64) bool {
	for _, o := range of {
		if math.Abs(v-o) < 1e-6*o {
			return true
		}
	}
	return false
}

// places reads the d of a path: the places of its pen.
func places(d string) (all []point) {
	number := regexp.MustCompile(`-?\d*\.?\d+|[a-zA-Z]`)
	var x, y float64
	var command string
	words := number.FindAllString(d, -1)
	for i := 0; i < len(words); {
		if strings.ContainsAny(words[i], "mlhvczML") {
			command = words[i]
			i++
			if command == "z" {
				continue
			}
		}
		read := func() float64 {
			v, _ := strconv.ParseFloat(words[i], 64)
			i++
			return v
		}
		switch command {
		case "m", "l":
			x, y = x+read(), y+read()
			command = "l"
		case "M", "L":
			x, y = read(), read()
		case "h":
			x += read()
		case "v":
			y += read()
		case "c":
			i += 4
			x, y = x+read(), y+read()
		}
		all = append(all, point{x, y})
	}
	return all
}

// The line of a drawing, its data and its CSV are the same numbers.
func TestLineDataAndCSVAreEqual(t *testing.T) {
	c := &Lines{Name: "a", X: Scaling{Name: "Time", Unit: "ms", Max: 9}, Y: Scaling{Name: "Rate"}, Lines: []Line{{Name: "one", Look: Nth(0), X: []float64{0, 1, 2, 3, 5, 9}, Y: []float64{1, -2, 3.25, 0, 7, 4}}}}
	f := &Figure{ID: "f", Panels: []Panel{{Title: "p", Chart: c}}}
	data := f.Data()[0]
	d := c.Draw(Whole)
	path := regexp.MustCompile(`<path data-series="0"[^>]* d="([^"]*)"`).FindStringSubmatch(string(f.SVG(0, f.width(0))))
	if path == nil {
		t.Fatal("no path of series 0")
	}
	at := places(path[1])
	if len(at) != len(c.Lines[0].Y) {
		t.Fatalf("%d places of %d points", len(at), len(c.Lines[0].Y))
	}
	for i, p := range at {
		x := data.X.Min + (p.x-d.Plot.X)/d.Plot.Width*(data.X.Max-data.X.Min)
		y := data.Y.Min + (1-(p.y-d.Plot.Y)/d.Plot.Height)*(data.Y.Max-data.Y.Min)
		if math.Abs(x-c.Lines[0].X[i]) > 0.01 || math.Abs(y-c.Lines[0].Y[i]) > 0.01 {
			t.Errorf("point %d is drawn at %g, %g; want %g, %g", i, x, y, c.Lines[0].X[i], c.Lines[0].Y[i])
		}
	}
	var b bytes.Buffer
	if err := f.Write(&b, CSV, Layout{}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || strings.Join(rows[0], ",") != "panel,series,Time (ms),Rate,low,high" {
		t.Fatalf("header %v, %v", rows[0], err)
	}
	for i, row := range rows[1:] {
		if x, _ := strconv.ParseFloat(row[2], 64); x != c.Lines[0].X[i] {
			t.Errorf("row %d has x %s, want %g", i, row[2], c.Lines[0].X[i])
		}
		if y, _ := strconv.ParseFloat(row[3], 64); y != c.Lines[0].Y[i] {
			t.Errorf("row %d has value %s, want %g", i, row[3], c.Lines[0].Y[i])
		}
	}
}

// Every value of every chart is in its CSV once.
func TestCSVHasAllValues(t *testing.T) {
	for _, f := range gallery() {
		var b bytes.Buffer
		if err := f.Write(&b, CSV, Layout{}); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&b).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", f.ID, err)
		}
		want := 1
		for _, p := range f.Panels {
			for _, s := range p.Chart.Data().Series {
				want += len(s.Values)
			}
		}
		if len(rows) != want {
			t.Errorf("%s: %d rows, want %d", f.ID, len(rows), want)
		}
	}
}

// What the page's script looks for: see reports/script.
func TestScriptAttributes(t *testing.T) {
	for name, want := range map[string][]string{
		"lines0":  {`data-part="shade" style="fill:var(--shade)" d="M`, `data-part="x"`, `data-series="2"`, ` data-plot="`},
		"bars0":   {`<rect data-series="2"`, `<text data-series="0"`},
		"matrix0": {` data-plot="`},
		"heat0":   {`data-part="cells"`, `data-part="spans"`, `class="cells"`, `data-part="x"`},
		"graph0":  {`class="chart fabric"`, `class="link" data-line="0"`, `class="way"`, `class="badge"`, `class="switch"`, `class="host"`, `class="mark"`},
	} {
		f := &Figure{ID: "f", Panels: []Panel{{Chart: charts()[name]}}}
		svg := string(f.SVG(0, f.width(0)))
		for _, text := range want {
			if !strings.Contains(svg, text) {
				t.Errorf("%s: no %s in\n%.2000s", name, text, svg)
			}
		}
		data := f.Data()
		if scripted := strings.Contains(svg, ` data-figure="f-0"`); scripted != (len(data) == 1 && data[0].ID == "f-0") {
			t.Errorf("%s: data-figure %v, data %d", name, scripted, len(data))
		}
		if strings.Count(svg, `role="img"`) != 1 || !strings.Contains(svg, "<title>") || !strings.Contains(svg, "<desc>") {
			t.Errorf("%s: no role, title or desc", name)
		}
	}
}

// grey returns how bright a paint is in a grey print, from 0 to 1 (Rec. 709 luma).
func grey(paint Paint) float64 {
	c := Print.Colour(paint)
	return (0.2126*float64(c.R) + 0.7152*float64(c.G) + 0.0722*float64(c.B)) / 255
}

// Less and More are the sides of the diverging scale.
func Less(level int) Paint { return Change(-level) }
func More(level int) Paint { return Change(level) }

// A grey print tells neighbours apart.
func TestGreysOfPrint(t *testing.T) {
	for _, kind := range []struct {
		name     string
		n        int
		paint    func(int) Paint
		least    float64
		monotone bool
	}{{"flow", Flows, Flow, 0.12, false}, {"action", Actions, Action, 0.1, false}, {"load", Loads, Load, 0.1, true}, {"scale", Levels + 1, Scale, 0.01, true}, {"less", Changes + 1, Less, 0.03, true}, {"more", Changes + 1, More, 0.03, true}, {"path", int(ins), func(in int) Paint { return inPath(In(in)) }, 0.1, false}} {
		for i := 1; i < kind.n; i++ {
			a, b := grey(kind.paint(i-1)), grey(kind.paint(i))
			if math.Abs(a-b) < kind.least && !(kind.name == "scale" && i == 1) || kind.monotone && b >= a && !(kind.name == "scale" && i == 1) {
				t.Errorf("%s %d has the grey %.2f, %d has %.2f", kind.name, i-1, a, i, b)
			}
		}
	}
	for l := 1; l <= Changes; l++ {
		if Print.hatches[Less(l)] == Print.hatches[More(l)] {
			t.Errorf("level %d: less and more have the same hatch", l)
		}
	}
	for i := range Flows - 1 {
		if dashArray(Nth(i).Dashes) == dashArray(Nth(i+1).Dashes) {
			t.Errorf("lines %d and %d have the same dashes", i, i+1)
		}
	}
}

// CSS defines each variable twice: in light and in dark.
func TestCSSHasAllPaints(t *testing.T) {
	css := CSS()
	for _, p := range allPaints() {
		if n := strings.Count(css, p.Variable()+": #"); n != 2 {
			t.Errorf("%s is defined %d times", p.Variable(), n)
		}
	}
}

// hostile returns figures whose names are not fit for any document.
func hostile() (all []*Figure) {
	bad := "</title><script>alert(1)</script>\"'&\x00\x1b[31m\u202e}{\\input{x}%$#_^~\uFFFE" + strings.Repeat("W", 500)
	return []*Figure{{ID: bad, Title: bad, Caption: bad, Columns: 3, Legend: []Key{LineKey(bad, Nth(0)), FillKey(bad, Action(0)), {Name: bad, Text: bad}}, Panels: []Panel{
		{Title: bad, Subtitle: bad, Chart: &Lines{Name: bad, X: Scaling{Name: bad, Unit: bad, Max: 1}, Y: Scaling{Name: bad, Unit: bad}, Lines: []Line{{Name: bad, X: []float64{0, 1}, Y: []float64{0, 1}}}, Levels: []LevelMark{{bad, 1}}}},
		{Chart: &Bars{Name: bad, Parts: []BarPart{{bad, bad, Action(0)}}, Rows: []BarRow{{bad, bad, []float64{100}}}}},
		{Chart: &Pairs{Name: bad, Sides: []Side{{bad, Flow(0)}}, Rows: []PairRow{{bad, []Spread{{1, 0, 2, bad}}}}}},
		{Chart: &Matrix{Name: bad, Corner: bad, Names: []string{bad, bad}, Cell: func(r, c int) Cell { return Cell{1, Scale(3), false, bad, bad} }}},
		{Chart: &Heat{Name: bad, X: Scaling{Name: bad, Max: 1}, Step: 1, Columns: 1, Value: Scaling{Max: 1}, Rows: []HeatRow{{Group: bad, Name: bad, Values: []float64{1}, End: bad}}, Spans: []HeatSpan{{Name: bad, To: 1, Tip: bad}}, EndHead: "%"}},
		{Chart: &Gantt{Name: bad, Desc: bad, X: Scaling{Max: 1}, Kinds: []SpanKind{{Name: bad}}, Above: []Span{{Text: bad, To: 1, Tip: bad}}, Lanes: []Lane{{Name: bad, Spans: []Span{{To: 1, Text: bad, Tip: bad}}}}, Others: bad}},
		{Chart: &Wheel{Name: bad, Desc: bad, Unit: bad, Turn: 1, Note: bad, Rings: []Ring{{Name: bad, Arcs: []Arc{{0, 1}}}}}},
		{Chart: &Graph{Name: bad, Desc: bad, Boxes: []Box{{Lines: []string{bad}}, {Row: 1, Lines: []string{bad}}}, Links: []Link{{0, 1, 9, 1, bad}}}},
		{Chart: &Intervals{Name: bad, X: Scaling{Name: bad, Max: 1}, Lines: []UprightMark{{bad, 1}}, Rows: []IntervalRow{{Name: bad, Text: bad, Tip: bad}}}},
	}}}
}

// wellFormed reads an XML document.
func wellFormed(text string) error {
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func TestHostileNames(t *testing.T) {
	for _, f := range hostile() {
		for i := range f.Panels {
			for _, svg := range []string{string(f.SVG(i, f.width(i))), string(f.SVG(i, Narrow))} {
				if err := wellFormed(svg); err != nil {
					t.Errorf("panel %d: %v", i, err)
				}
				if strings.Contains(svg, "<script") || strings.ContainsAny(svg, "\x00\x1b") {
					t.Errorf("panel %d: a name is markup", i)
				}
			}
			for _, width := range widths {
				d := f.Panels[i].Chart.Draw(width)
				bounds(d.Marks, 0, 0, 1, func(m Mark, x, y float64) {
					if !(x >= -2 && x <= width+2) {
						t.Errorf("panel %d of width %g: a %T at %g %g: %s", i, width, m, x, y, textOf(m))
					}
				})
			}
		}
		for i := range f.Legend {
			if err := wellFormed(string(f.Legend[i].Swatch())); err != nil {
				t.Error(err)
			}
		}
		if text, err := json.Marshal(f.Data()); err != nil || bytes.Contains(text, []byte("<script")) {
			t.Errorf("data %v", err)
		}
		for _, format := range Formats {
			for _, o := range []Layout{{}, {Size: OneColumn}, {Size: TwoColumns, Titled: true}, {Size: Slide}} {
				if format == PNG && o.Size != OneColumn {
					continue // takes long
				}
				var b bytes.Buffer
				if err := f.Write(&b, format, o); err != nil {
					t.Fatalf("%s %+v: %v", format, o, err)
				}
				switch format {
				case SVG:
					if err := wellFormed(b.String()); err != nil {
						t.Error(err)
					}
				case PGF:
					if err := balanced(b.String()); err != nil {
						t.Error(err)
					}
				}
			}
		}
	}
}

func textOf(m Mark) string {
	if t, ok := m.(*Text); ok {
		text, _ := t.shown()
		return text
	}
	return ""
}

// balanced reports whether the braces and environments of a LaTeX text are, and whether a
// letter that is a command stands in it.
func balanced(text string) error {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			depth--
		case '#', '&', '$', '^', '_':
			return fmt.Errorf("%q in %q", text[i], text[max(0, i-40):min(len(text), i+20)])
		case '%':
			if end := strings.IndexByte(text[i:], '\n'); end > 1 && i > 0 && text[i-1] != '\n' {
				return fmt.Errorf("a comment hides %q", text[i:i+end])
			} else {
				i += end
			}
		}
		if depth < 0 {
			return errors.New("a brace is closed that is not open")
		}
	}
	if depth != 0 || strings.Count(text, `\begin{`) != strings.Count(text, `\end{`) {
		return fmt.Errorf("%d braces are open", depth)
	}
	return nil
}

// Charts without numbers, and with such as are none, are drawn.
func TestNoNumbers(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	none := []float64{nan, inf, -inf, nan}
	for i, c := range []Chart{
		&Lines{}, &Bars{}, &Pairs{}, &Matrix{}, &Heat{}, &Gantt{}, &Wheel{}, &Graph{}, &Intervals{}, &Dots{},
		&Lines{Lines: []Line{{}, {X: []float64{0, 1, 2, 3}, Y: none, Low: none, High: none}, {X: none, Y: []float64{1, 2, 3, 4}}}, Levels: []LevelMark{{"", nan}}},
		&Bars{Parts: []BarPart{{}}, Rows: []BarRow{{}, {Values: []float64{nan}}, {Values: []float64{inf}}}},
		&Pairs{Sides: []Side{{}}, Rows: []PairRow{{}, {Values: []Spread{{nan, nan, nan, ""}, {inf, -inf, inf, ""}}}}},
		&Matrix{Names: []string{"a"}, Cell: func(int, int) Cell { return Cell{Value: nan} }},
		&Heat{Rows: []HeatRow{{Values: none}}, Columns: 4, Step: 1, X: Scaling{Max: 4}, Value: Scaling{Max: 1}},
		&Heat{Rows: []HeatRow{{Values: none}, {}}, Columns: 6, Diverging: true, Value: Scaling{Max: nan}, Spans: []HeatSpan{{From: nan, To: inf, Active: [][2]float64{{nan, inf}}}}},
		&Gantt{X: Scaling{Max: 1}, Lanes: []Lane{{Spans: []Span{{From: nan, To: nan}, {From: -inf, To: inf, Kind: 9}}}}, Path: []Hop{{nan, nan, 0, 0, 9}, {0, 1, 7, -7, InWait}}, Shares: &Shares{Kinds: []int{0, 1}, Values: [][]float64{none}}},
		&Wheel{Turn: 0, Rings: []Ring{{Arcs: []Arc{{nan, inf}}, Marks: none}}, Over: []Arc{{0, -1}}},
		&Intervals{X: Scaling{Min: nan, Max: nan}, Rows: []IntervalRow{{Interval: Interval{nan, nan, nan, Sign{}}}, {Interval: Interval{inf, -inf, inf, Sign{Dot, Good}}}}, Log: true},
		&Dots{Samples: []Sample{{Value: nan}, {Value: inf}}},
	} {
		f := &Figure{ID: "none", Panels: []Panel{{Chart: c}}}
		svg := string(f.SVG(0, f.width(0)))
		if err := wellFormed(svg); err != nil || strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
			t.Errorf("chart %d (%T): %v\n%s", i, c, err, svg)
		}
		if _, err := json.Marshal(f.Data()); err != nil {
			t.Errorf("chart %d (%T): %v", i, c, err)
		}
		for _, format := range Formats {
			if err := f.Write(io.Discard, format, Layout{Size: OneColumn}); err != nil {
				t.Errorf("chart %d (%T): %v", i, c, err)
			}
		}
	}
}

// A line of a million points is thinned to four for each unit, and no burst is lost.
func TestManyPoints(t *testing.T) {
	const n = 1_000_000
	l := Line{Name: "many", Look: Nth(0), X: make([]float64, n), Y: make([]float64, n)}
	for i := range n {
		l.X[i], l.Y[i] = float64(i), math.Sin(float64(i)/1e5)
	}
	l.Y[654_321] = 40
	c := &Lines{X: Scaling{Max: n}, Lines: []Line{l}}
	start := time.Now()
	d := c.Draw(480)
	if took := time.Since(start); took > time.Second {
		t.Errorf("drawing took %v", took)
	}
	for _, m := range d.Marks {
		if p, ok := m.(*Path); ok && p.Series == 1 {
			if len(p.ops) > 4*480 {
				t.Errorf("%d points", len(p.ops))
			}
			top := math.Inf(1)
			p.each(func(_ op, at []float64) { top = min(top, at[1]) })
			if want := d.Plot.Y + d.Plot.Height*(1-40/(40*1.06+1.06)); top > want+2 {
				t.Errorf("the burst is at %g, want %g", top, want)
			}
		}
	}
}

// Sizes of what is large, in bytes: as small as before.
func TestSizes(t *testing.T) {
	large := &Heat{X: Scaling{Max: 256}, Step: 1, Columns: 256, Value: Scaling{Max: 100}}
	for r := range 256 {
		row := HeatRow{Values: make([]float64, 256)}
		for k := range row.Values {
			row.Values[k] = float64((r*37 + k/8*11) % 101)
		}
		large.Rows = append(large.Rows, row)
	}
	if n := len(large.Draw(Narrow).SVG()); n > 100_000 {
		t.Errorf("256 by 256 cells are %d bytes", n)
	}
	busy := &Gantt{X: Scaling{Max: 100_000}, Kinds: []SpanKind{{Name: "message", Paint: Flow(0), Place: Lower}}, Lanes: make([]Lane, 1)}
	for i := range 100_000 {
		busy.Lanes[0].Spans = append(busy.Lanes[0].Spans, Span{From: float64(i), To: float64(i) + 0.5})
		busy.Path = append(busy.Path, Hop{From: float64(i), To: float64(i) + 1, In: In(i % 3)})
	}
	if n := len(busy.Draw(Whole).SVG()); n > 60_000 {
		t.Errorf("100 000 spans and hops are %d bytes", n)
	}
	hosts := &Graph{}
	for i := range 1024 {
		hosts.Boxes = append(hosts.Boxes, Box{Pod: i / 32, Lines: []string{fmt.Sprint("h", i)}, Host: true})
		hosts.Links = append(hosts.Links, Link{A: i, B: 1024, Class: i % 4})
	}
	hosts.Boxes = append(hosts.Boxes, Box{Row: 1, Lines: []string{"spine"}})
	if n := len(hosts.Draw(Whole).SVG()); n > 500_000 {
		t.Errorf("1024 hosts are %d bytes", n)
	}
}

// streams returns the streams of a PDF.
func streams(pdf []byte) (all [][]byte) {
	for _, part := range bytes.Split(pdf, []byte("stream\n"))[1:] {
		if r, err := zlib.NewReader(bytes.NewReader(part)); err == nil {
			text, _ := io.ReadAll(r)
			all = append(all, text)
		}
	}
	return all
}

// A PDF has its fonts, its text is text, and it has no date of its making.
func TestPDFHasTextAndFonts(t *testing.T) {
	var b bytes.Buffer
	c := lines()
	c.Name, c.Y.Name = "µs ≤ −3", "Δ → µs ≤ −3 ↑"
	f := &Figure{ID: "f", Panels: []Panel{{Chart: c}}}
	if err := f.Write(&b, PDF, Layout{Size: OneColumn}); err != nil {
		t.Fatal(err)
	}
	pdf := b.Bytes()
	for _, want := range []string{"/FontFile2", "/ToUnicode", "D:19700101"} {
		if !bytes.Contains(pdf, []byte(want)) {
			t.Errorf("no %s", want)
		}
	}
	var want []byte
	for _, u := range utf16.Encode([]rune("→ µs ≤ −3")) {
		want = append(want, byte(u>>8), byte(u))
	}
	found := false
	for _, s := range streams(pdf) {
		found = found || bytes.Contains(s, want)
	}
	if !found {
		t.Error("the text is not in the document")
	}
	if glyphs("→ µs ≤ − ↑ ↓ … – ± × Δ", false) != "→ µs ≤ − ↑ ↓ … – ± × Δ" {
		t.Error("the font lacks letters that reports use")
	}
}

// Equal figures give equal bytes in all formats.
func TestDeterministic(t *testing.T) {
	for _, f := range gallery()[:4] {
		for _, format := range Formats {
			var a, b bytes.Buffer
			if err := errors.Join(f.Write(&a, format, Layout{Size: OneColumn}), f.Write(&b, format, Layout{Size: OneColumn})); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(a.Bytes(), b.Bytes()) {
				t.Errorf("%s as %s: two writings differ", f.ID, format)
			}
		}
	}
}

// Numbers of the script: a few are text of six digits, many are words; NaN is none in both.
func TestNumbers(t *testing.T) {
	text, err := json.Marshal(Numbers{0, 1.0 / 3, math.NaN(), 123456789, -1e-9, math.Inf(1)})
	if want := `[0,0.333333,null,1.23457e+08,-1e-09,null]`; err != nil || string(text) != want {
		t.Errorf("%s, %v; want %s", text, err, want)
	}
	many := make(Numbers, manyNumbers+1)
	for i := range many {
		many[i] = float64(i) - 100
	}
	many[7] = math.NaN()
	text, err = json.Marshal(many)
	var got struct {
		Min, Quantum float64
		Words        []byte
	}
	if err := errors.Join(err, json.Unmarshal(text, &got)); err != nil {
		t.Fatal(err)
	}
	for i, want := range many {
		word := int(got.Words[2*i]) | int(got.Words[2*i+1])<<8
		if v := got.Min + got.Quantum*float64(word); (word == noNumber) != math.IsNaN(want) || math.Abs(v-want) > got.Quantum/2 {
			t.Fatalf("number %d is %g, want %g", i, v, want)
		}
	}
}
