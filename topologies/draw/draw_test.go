package draw_test

import (
	gocmp "cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/topologies/draw"
	"github.com/csiglab/csiglab/units"
	"github.com/google/go-cmp/cmp"
)

const us = units.Microsecond

func tree(t testing.TB, f topologies.FatTree, err error) *topologies.Graph {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	g, err := f.Build()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func kary(t testing.TB, k int) *topologies.Graph {
	f, err := topologies.KAryFatTree(k, 100*units.Gbps, us)
	return tree(t, f, err)
}

// leafSpine has two links per leaf and spine, of another rate than the hosts'.
func leafSpine(t testing.TB) *topologies.Graph {
	f, err := topologies.LeafSpine(topologies.LeafSpineSpec{
		Leaves: 4, Spines: 2, HostsPerLeaf: 8, Bundle: 2, Rate: 100 * units.Gbps, SpineRate: 400 * units.Gbps, Delay: us, SwitchDelay: us / 10,
	})
	return tree(t, f, err)
}

// uneven is leafSpine with a host's link and one link of a bundle that differ.
func uneven(t testing.TB) *topologies.Graph {
	g := leafSpine(t)
	g.Links[3].Rate = 25 * units.Gbps
	g.Links[33].Delay = 7 * us
	return g
}

func dragonfly(t testing.TB, p, a, h int) *topologies.Graph {
	t.Helper()
	g, err := topologies.Dragonfly(topologies.DragonflySpec{HostsPerRouter: p, Routers: a, Global: h, Rate: 100 * units.Gbps, Delay: us, GlobalDelay: 3 * us})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func graphs(t testing.TB) []*topologies.Graph {
	return append(odd(t), kary(t, 4), kary(t, 8), leafSpine(t), uneven(t), dragonfly(t, 1, 2, 1), dragonfly(t, 2, 4, 2))
}

// odd returns fabrics that are no trees, and one with servers of several NICs.
func odd(t testing.TB) []*topologies.Graph {
	t.Helper()
	var list []*topologies.Graph
	add := func(g *topologies.Graph, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, g)
	}
	add(topologies.Dumbbell(topologies.DumbbellSpec{Left: 3, Right: 2, Rate: 100 * units.Gbps, BottleneckRate: 40 * units.Gbps, Delay: us}))
	add(topologies.ParkingLot(topologies.ParkingLotSpec{Hops: 3, Rate: 100 * units.Gbps, Delay: us}))
	add(topologies.Ring(topologies.RingSpec{Switches: 5, Hosts: 2, Rate: 100 * units.Gbps, Delay: us, Routes: topologies.Clockwise}))
	add(topologies.Rail(topologies.RailSpec{Servers: 4, NICs: 4, Group: 2, Spines: 2, Bundle: 2, Rate: 400 * units.Gbps, SpineRate: 800 * units.Gbps, Delay: us}))
	custom := topologies.Custom{Name: "triangle"}
	for _, name := range []string{"left", "right", "top", "a", "b"} {
		kind := topologies.Switch
		if len(name) == 1 {
			kind = topologies.Host
		}
		custom.Nodes = append(custom.Nodes, topologies.CustomNode{Name: name, Kind: kind})
	}
	for _, l := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 2, 1}, {3, 0, 1}, {4, 1, 1}} {
		custom.Links = append(custom.Links, topologies.CustomLink{A: l[0], B: l[1], Count: l[2], Rate: 100 * units.Gbps, Delay: us})
	}
	add(custom.Build())
	return list
}

// The lines of the legend are apart from one another and inside the drawing.
func TestLegendLinesAreApart(t *testing.T) {
	for _, g := range graphs(t) {
		type line struct {
			text string
			y    float64
		}
		var lines []line
		list := parseSVG(t, g)
		for _, e := range list {
			if e.Name == "text" && e.Attr["x"] == "24" {
				lines = append(lines, line{e.Text, e.number(t, "y")})
			}
		}
		slices.SortFunc(lines, func(a, b line) int { return gocmp.Compare(a.y, b.y) })
		for i, l := range lines {
			if i > 0 && l.y-lines[i-1].y < 11 {
				t.Errorf("%s: %q stands %.1f below %q", g.Name, l.text, l.y-lines[i-1].y, lines[i-1].text)
			}
			if l.y > list[0].number(t, "height") {
				t.Errorf("%s: %q lies below the drawing", g.Name, l.text)
			}
		}
	}
}

// element is what a test looks at of an SVG.
type element struct {
	Name, Class, Text string
	Attr              map[string]string
}

func (e element) number(t *testing.T, name string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(e.Attr[name], 64)
	if err != nil {
		t.Fatalf("%s %s: %v", e.Name, name, err)
	}
	return v
}

func parseSVG(t *testing.T, g *topologies.Graph) []element {
	t.Helper()
	var b strings.Builder
	if err := draw.SVG(&b, g, nil); err != nil {
		t.Fatal(err)
	}
	var list []element
	var open []int
	d := xml.NewDecoder(strings.NewReader(b.String()))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatalf("%s: %v", g.Name, err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := element{Name: token.Name.Local, Attr: map[string]string{}}
			for _, a := range token.Attr {
				e.Attr[a.Name.Local] = a.Value
			}
			e.Class = e.Attr["class"]
			open = append(open, len(list))
			list = append(list, e)
		case xml.CharData:
			if len(open) > 0 {
				list[open[len(open)-1]].Text += string(token)
			}
		case xml.EndElement:
			open = open[:len(open)-1]
		}
	}
}

// Nodes stand in rows by tier, hosts lowest, evenly and apart, inside the
// drawing and inside the frame of their pod.
func TestSVGPlaces(t *testing.T) {
	for _, g := range graphs(t) {
		list := parseSVG(t, g)
		width, height := list[0].number(t, "width"), list[0].number(t, "height")
		type box struct{ left, top, right, bottom float64 }
		var frames []box
		boxes := make(map[string]box)
		for i, e := range list {
			if e.Name != "rect" || e.Class == "" {
				continue
			}
			b := box{left: e.number(t, "x"), top: e.number(t, "y")}
			b.right, b.bottom = b.left+e.number(t, "width"), b.top+e.number(t, "height")
			if b.left < 0 || b.top < 0 || b.right > width || b.bottom > height {
				t.Errorf("%s: a %s reaches out of the drawing", g.Name, e.Class)
			}
			if e.Class == "pod" {
				frames = append(frames, b)
			} else {
				boxes[list[i+1].Text] = b
			}
		}
		if len(boxes) != len(g.Nodes) {
			t.Fatalf("%s: %d nodes are drawn, want %d", g.Name, len(boxes), len(g.Nodes))
		}
		if pods := g.Counts().Pods; pods > 1 && len(frames) != pods {
			t.Errorf("%s: %d frames for %d pods", g.Name, len(frames), pods)
		}
		gaps := make(map[string][]float64) // by tier and pod: from node to node
		for i, n := range g.Nodes {
			b := boxes[n.Name]
			if len(frames) > 0 && n.Pod >= 0 {
				if f := frames[n.Pod]; b.left < f.left || b.right > f.right || b.top < f.top || b.bottom > f.bottom {
					t.Errorf("%s: %s lies outside of pod %d", g.Name, n.Name, n.Pod)
				}
			}
			if i+1 == len(g.Nodes) || g.Nodes[i+1].Tier != n.Tier {
				continue
			}
			next := boxes[g.Nodes[i+1].Name]
			if next.top != b.top || next.left < b.right+2 {
				t.Errorf("%s: %s is not right of %s", g.Name, g.Nodes[i+1].Name, n.Name)
			}
			if g.Nodes[i+1].Pod == n.Pod {
				key := fmt.Sprint(n.Tier, n.Pod)
				gaps[key] = append(gaps[key], next.left-b.left)
			}
		}
		for key, list := range gaps {
			if slices.Max(list)-slices.Min(list) > 0.21 { // coordinates are rounded
				t.Errorf("%s: tier and pod %s: uneven gaps %v", g.Name, key, list)
			}
		}
		for _, l := range g.Links {
			a, b := boxes[g.Nodes[l.A.Node].Name], boxes[g.Nodes[l.B.Node].Name]
			if g.Nodes[l.A.Node].Tier < g.Nodes[l.B.Node].Tier && b.bottom >= a.top {
				t.Errorf("%s: %s is not above %s", g.Name, g.Nodes[l.B.Node].Name, g.Nodes[l.A.Node].Name)
			}
		}
	}
}

var linkTitle = regexp.MustCompile(`^[a-z0-9.]+-[a-z0-9.]+: ([0-9] x )?[0-9]+Gbps, [0-9]us$`)

// Every pair of nodes with links has a line that says what they are; what a
// tier has in common is told once.
func TestSVGLinks(t *testing.T) {
	for _, c := range []struct {
		graph  *topologies.Graph
		lines  int
		legend []string // names and labels of the kinds
		own    []string // labels of single lines
	}{
		{kary(t, 4), 48, []string{"host-tor", "100Gbps, 1us", "tor-agg", "100Gbps, 1us", "agg-core", "100Gbps, 1us"}, nil},
		{leafSpine(t), 32 + 8, []string{"host-tor", "100Gbps, 1us", "tor-agg", "2 x 400Gbps, 1us"}, nil},
		{uneven(t), 32 + 8 + 1, []string{"host-tor", "100Gbps, 1us", "tor-agg", "2 x 400Gbps, 1us"}, []string{"25Gbps, 1us", "400Gbps, 1us", "400Gbps, 7us"}},
		{dragonfly(t, 2, 4, 2), 72 + 54 + 36, []string{"host-tor", "100Gbps, 1us", "local", "100Gbps, 1us", "global", "100Gbps, 3us"}, nil},
	} {
		lines := 0
		var legend, own []string
		list := parseSVG(t, c.graph)
		for i, e := range list {
			switch {
			case e.Name == "path":
				lines++
				if title := list[i+1]; title.Name != "title" || !linkTitle.MatchString(title.Text) {
					t.Errorf("%s: a line's title is %q", c.graph.Name, title.Text)
				}
			case e.Name == "text" && strings.HasPrefix(e.Attr["style"], "fill:var(--k"):
				legend = append(legend, e.Text)
			case e.Class == "own":
				own = append(own, e.Text)
			}
		}
		if lines != c.lines {
			t.Errorf("%s: %d lines, want %d", c.graph.Name, lines, c.lines)
		}
		if diff := cmp.Diff([][]string{legend, own}, [][]string{c.legend, c.own}); diff != "" {
			t.Errorf("%s: labels, got - want +:\n%s", c.graph.Name, diff)
		}
	}
}

// Each colour that is used is set for light and for dark readers.
func TestSVGColours(t *testing.T) {
	var b strings.Builder
	if err := draw.SVG(&b, dragonfly(t, 1, 2, 1), nil); err != nil {
		t.Fatal(err)
	}
	used := regexp.MustCompile(`var\((--[a-z0-9-]+)\)`).FindAllStringSubmatch(b.String(), -1)
	if len(used) == 0 {
		t.Fatal("no colour is a variable")
	}
	for _, name := range used {
		if n := strings.Count(b.String(), " "+name[1]+": #"); n != 2 {
			t.Errorf("%s is set %d times, want for light and dark", name[1], n)
		}
	}
	if !strings.Contains(b.String(), "@media (prefers-color-scheme: dark)") {
		t.Error("nothing is for dark readers")
	}
}

func TestSVGEscapesTheName(t *testing.T) {
	g := kary(t, 4)
	g.Name = `a<b & "c"`
	for _, e := range parseSVG(t, g) {
		if e.Class == "title" && e.Text != g.Name {
			t.Errorf("got %q, want %q", e.Text, g.Name)
		}
	}
}

// The grammar of what Mermaid writes; mermaid 11 parses it.
var (
	mermaidNode  = regexp.MustCompile(`^ +([a-z]+[0-9]+)[\[(]"([a-z0-9.-]+)"[\])]$`)
	mermaidLine  = regexp.MustCompile(`^  ([a-z]+[0-9]+) ---(?:\|"([^"|]+)"\|)? ([a-z]+[0-9]+)$`)
	mermaidPod   = regexp.MustCompile(`^  subgraph (?:pod|group)_[0-9]+ \["(?:pod|group) [0-9]+"\]$`)
	mermaidOther = regexp.MustCompile(`^(%% .*|flowchart TB|  legend>"[^"]+"\]|  legend ~~~ [a-z]+[0-9]+|  end)$`)
)

func TestMermaid(t *testing.T) {
	odd := kary(t, 4)
	odd.Nodes[0].Name, odd.Nodes[1].Name = "end", "gpu-1" // words of Mermaid's own and with its signs
	for _, g := range append(graphs(t), odd) {
		var b strings.Builder
		lines, err := draw.Mermaid(&b, g, nil)
		if err != nil {
			t.Fatal(err)
		}
		names := make(map[string]bool)
		ids := make(map[string]bool)
		drawn, open, own := 0, 0, 0
		for _, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
			if m := mermaidNode.FindStringSubmatch(line); m != nil {
				if ids[m[1]] || names[m[2]] {
					t.Errorf("%s: %s is declared twice", g.Name, line)
				}
				ids[m[1]], names[m[2]] = true, true
			} else if m := mermaidLine.FindStringSubmatch(line); m != nil {
				drawn++
				if m[2] != "" {
					own++
				}
				if !ids[m[1]] || !ids[m[3]] {
					t.Errorf("%s: %s joins what is not declared", g.Name, line)
				}
			} else if mermaidPod.MatchString(line) {
				open++
			} else if !mermaidOther.MatchString(line) {
				t.Errorf("%s: line %q is not understood", g.Name, line)
			} else if line == "  end" {
				open--
			}
			if open < 0 || open > 1 {
				t.Errorf("%s: %d subgraphs open at %s", g.Name, open, line)
			}
		}
		if len(names) != len(g.Nodes) || drawn != lines || open != 0 {
			t.Errorf("%s: %d nodes, %d lines of %d, %d subgraphs left open", g.Name, len(names), drawn, lines, open)
		}
		if wantOwn := map[bool]int{true: 3}[g.Name == "leaf-spine-32" && g.Links[3].Rate == 25*units.Gbps]; own != wantOwn {
			t.Errorf("%s: %d lines have a label, want %d", g.Name, own, wantOwn)
		}
	}
	if lines, err := draw.Mermaid(io.Discard, leafSpine(t), nil); lines != 40 || err != nil {
		t.Errorf("a leaf-spine fabric of 40 pairs: %d lines, %v", lines, err)
	}
}

// A small drawing as a whole: what a document shows.
func TestMermaidText(t *testing.T) {
	f, err := topologies.LeafSpine(topologies.LeafSpineSpec{Leaves: 2, Spines: 1, HostsPerLeaf: 1, Rate: 100 * units.Gbps, Delay: us})
	g := tree(t, f, err)
	g.Links[3].Rate = 40 * units.Gbps
	var b strings.Builder
	if _, err := draw.Mermaid(&b, g, nil); err != nil {
		t.Fatal(err)
	}
	want := `%% leaf-spine-2: 2 hosts, 3 switches, 4 links
flowchart TB
  legend>"host-tor: 100Gbps, 1us<br/>tor-agg: 100Gbps, 1us"]
  legend ~~~ agg0
  agg0["agg0"]
  tor0["tor0"]
  tor1["tor1"]
  h0("h0")
  h1("h1")
  tor0 --- h0
  tor1 --- h1
  agg0 --- tor0
  agg0 ---|"40Gbps, 1us"| tor1
`
	if diff := cmp.Diff(b.String(), want); diff != "" {
		t.Errorf("got - want +:\n%s", diff)
	}
}

func TestDOT(t *testing.T) {
	edge := regexp.MustCompile(`(?m)^  "([^"]+)" -- "([^"]+)" \[label="([^"]+)", delay="([^"]+)", tail_port=([0-9]+), head_port=([0-9]+)(, constraint=false)?\];$`)
	rank := regexp.MustCompile(`(?m)^  \{ rank=same;((?: "[^"]+";)+) \}$`)
	for _, g := range graphs(t) {
		var b strings.Builder
		if err := draw.DOT(&b, g, nil); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		if strings.Count(text, "{") != strings.Count(text, "}") || !strings.HasSuffix(text, "}\n") {
			t.Errorf("%s: braces do not match", g.Name)
		}
		tier := make(map[string]topologies.Tier)
		for _, n := range g.Nodes {
			tier[n.Name] = n.Tier
		}
		ranked := 0
		for _, m := range rank.FindAllStringSubmatch(text, -1) {
			names := strings.Split(strings.Trim(m[1], ` ";`), `"; "`)
			ranked += len(names)
			for _, name := range names {
				if tier[name] != tier[names[0]] {
					t.Errorf("%s: %s and %s share a rank", g.Name, name, names[0])
				}
			}
		}
		if ranked != len(g.Nodes) {
			t.Errorf("%s: %d nodes have a rank, want %d", g.Name, ranked, len(g.Nodes))
		}
		var got []string
		for _, m := range edge.FindAllStringSubmatch(text, -1) {
			if tier[m[1]] < tier[m[2]] || (tier[m[1]] == tier[m[2]]) != (m[7] != "") {
				t.Errorf("%s: %s goes up, or constrains ranks of one tier", g.Name, m[0])
			}
			got = append(got, fmt.Sprintf("%s:%s %s:%s %s %s", m[1], m[5], m[2], m[6], m[3], m[4]))
		}
		var want []string
		for _, l := range g.Links {
			top, bottom := l.B, l.A
			if g.Nodes[l.A.Node].Tier == g.Nodes[l.B.Node].Tier {
				top, bottom = l.A, l.B
			}
			want = append(want, fmt.Sprintf("%s:%d %s:%d %v %v", g.Nodes[top.Node].Name, top.Port, g.Nodes[bottom.Node].Name, bottom.Port, l.Rate, l.Delay))
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("%s: edges, got - want +:\n%s", g.Name, diff)
		}
	}
}

func TestTooLarge(t *testing.T) {
	g := kary(t, 20) // 2500 nodes
	_, mermaid := draw.Mermaid(io.Discard, g, nil)
	for name, err := range map[string]error{"svg": draw.SVG(io.Discard, g, nil), "mermaid": mermaid, "dot": draw.DOT(io.Discard, g, nil)} {
		if !errors.Is(err, draw.ErrTooLarge) {
			t.Errorf("%s: got %v, want ErrTooLarge", name, err)
		}
	}
}

// full refuses to be written to.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestWriterThatFails(t *testing.T) {
	g := kary(t, 4)
	_, mermaid := draw.Mermaid(full{}, g, nil)
	for name, err := range map[string]error{"svg": draw.SVG(full{}, g, nil), "mermaid": mermaid, "dot": draw.DOT(full{}, g, nil)} {
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: got %v, want the writer's error", name, err)
		}
	}
}

func ExampleMermaid() {
	f, err := topologies.LeafSpine(topologies.LeafSpineSpec{Leaves: 1, Spines: 1, HostsPerLeaf: 2, Rate: 100 * units.Gbps, Delay: units.Microsecond})
	if err != nil {
		panic(err)
	}
	g, err := f.Build()
	if err != nil {
		panic(err)
	}
	lines, err := draw.Mermaid(io.Discard, g, nil)
	fmt.Println(lines, err)
	// Output: 3 <nil>
}

// Switches that do not speak CSIG are dashed in every format, the others and the hosts are not,
// and the summary counts those that speak.
func TestSilentSwitches(t *testing.T) {
	g := leafSpine(t)
	speak := make([]bool, len(g.Nodes))
	var silent []string
	for n := g.Hosts(); n < len(g.Nodes); n++ {
		if speak[n] = n%3 == 0; !speak[n] {
			silent = append(silent, g.Nodes[n].Name)
		}
	}
	var svg, mermaid, dot strings.Builder
	_, err := draw.Mermaid(&mermaid, g, speak)
	if err := errors.Join(draw.SVG(&svg, g, speak), err, draw.DOT(&dot, g, speak)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ text, pattern string }{
		"svg":     {svg.String(), `<rect class="switch silent"[^>]*/>\n<text[^>]*>([^<]+)</text>`},
		"mermaid": {mermaid.String(), `  style (\S+) stroke-dasharray`},
		"dot":     {dot.String(), `  "([^"]+)" \[style=dashed\];`},
	} {
		var got []string
		for _, m := range regexp.MustCompile(c.pattern).FindAllStringSubmatch(c.text, -1) {
			got = append(got, m[1])
		}
		slices.Sort(got)
		if diff := cmp.Diff(got, slices.Sorted(slices.Values(silent))); diff != "" {
			t.Errorf("%s: dashed (-got +want):\n%s", name, diff)
		}
		if want := fmt.Sprintf("; %d of the switches speak CSIG", len(g.Nodes)-g.Hosts()-len(silent)); !strings.Contains(c.text, want) {
			t.Errorf("%s does not say %q", name, want)
		}
	}
}
