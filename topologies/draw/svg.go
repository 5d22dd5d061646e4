package draw

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"math"

	"github.com/csiglab/csiglab/topologies"
)

// Measures of the drawing, in pixels.
const (
	margin    = 24.0
	legend    = 150.0 // to the left of the fabric: what the rows are
	title     = 58.0  // its height
	leastGap  = 70.0  // between the boxes of two tiers
	mostGap   = 190.0
	boxHeight = 22.0
	letter    = 6.4 // of a node's name
	boxPad    = 12.0
	boxGap    = 7.0
	tightGap  = 3.0 // between upright boxes
	podGap    = 14.0
	podPad    = 9.0
	podName   = 20.0 // below its hosts
	upright   = 64   // from so many nodes on, a row's names stand upright
)

// style has the colours as variables, for light and dark readers. An SVG that is
// put into a page keeps them to itself.
const style = `
svg.fabric { --paper: #ffffff; --ink: #1c2430; --soft: #5b6675; --pod: #f4f6f9; --rule: #cfd6df;
  --switch: #dbe7f6; --switch-rule: #4e79a8; --host: #eef0f3; --host-rule: #8a94a3;
  --k0: #6b7686; --k1: #2f6fb0; --k2: #b5601c; --k3: #2e8560; --k4: #80519c; }
@media (prefers-color-scheme: dark) {
  svg.fabric { --paper: #12161d; --ink: #e6eaf1; --soft: #a3adbd; --pod: #1a2029; --rule: #313a48;
    --switch: #223a57; --switch-rule: #6ea8e0; --host: #252c37; --host-rule: #7d8899;
    --k0: #7d8899; --k1: #5aa9ee; --k2: #f0975a; --k3: #4fc79a; --k4: #c99be6; }
}
.fabric text { font: 11px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", Arial, sans-serif; fill: var(--ink); font-variant-numeric: tabular-nums; }
.fabric .title { font-size: 16px; font-weight: 600; }
.fabric .soft { fill: var(--soft); }
.fabric .name { text-anchor: middle; dominant-baseline: central; }
.fabric .own { text-anchor: middle; font-size: 9.5px; paint-order: stroke; stroke: var(--paper); stroke-width: 3px; }
.fabric .pod { fill: var(--pod); stroke: var(--rule); }
.fabric .switch { fill: var(--switch); stroke: var(--switch-rule); }
.fabric .silent { fill: var(--paper); stroke-dasharray: 4 3; }
.fabric .host { fill: var(--host); stroke: var(--host-rule); }
.fabric .link { fill: none; stroke-width: 1.1px; stroke-opacity: .75; }
.fabric .link:hover { stroke-width: 3px !important; stroke-opacity: 1; }
`

// row is a tier, or its nodes outside of pods.
type row struct {
	nodes   []int
	width   float64 // of a box
	pitch   float64 // from box to box, at least
	height  float64
	upright bool
	y       float64 // of the boxes' middle
	above   float64 // room for arcs between nodes of the row
	local   float64 // of this, for arcs within a pod
}

// point is the middle of a node's box.
type point struct{ x, y float64 }

// picture is a sketch with places.
type picture struct {
	*sketch
	rows   []row
	rowOf  []int // by node
	at     []point
	pods   []frame
	width  float64
	height float64
}

// frame is the box around a pod.
type frame struct {
	pod                   int
	left, top, right, end float64
}

// SVG writes g as a stand-alone SVG: tiers in rows, hosts lowest, pods side by
// side, what the links of two tiers have in common at the left. Links between
// nodes of a tier, as in a Dragonfly, are arcs above it. speak says by node which switches
// speak CSIG, so that the others are dashed; nil: nothing is said of that. The error is of w, or
// wraps ErrTooLarge.
func SVG(w io.Writer, g *topologies.Graph, speak []bool) error {
	s, err := newSketch(g, speak)
	if err != nil {
		return err
	}
	p := &picture{sketch: s, rowOf: make([]int, len(g.Nodes)), at: make([]point, len(g.Nodes))}
	p.place()
	out := &printer{Writer: bufio.NewWriter(w)}
	name := html.EscapeString(g.Name)
	out.put(`<svg xmlns="http://www.w3.org/2000/svg" class="fabric" role="img" width="%v" height="%v" viewBox="0 0 %v %v">`, p.width, p.height, p.width, p.height)
	out.put("<title>%v: %v</title>\n<style>%v</style>", name, p.summary(), style)
	out.put(`<rect width="100%%" height="100%%" fill="var(--paper)"/>`)
	out.put(`<text class="title" x="%v" y="34">%v</text>`, margin, name)
	out.put(`<text class="soft" x="%v" y="54">%v</text>`, margin, p.summary())
	p.drawPods(out)
	p.drawEdges(out)
	p.drawNodes(out)
	p.drawLegend(out)
	out.put("</svg>")
	return out.Flush()
}

// printer writes lines; numbers are rounded to a tenth of a pixel.
type printer struct{ *bufio.Writer }

func (p *printer) put(format string, args ...any) {
	for i, a := range args {
		if v, ok := a.(float64); ok {
			args[i] = math.Round(v*10) / 10
		}
	}
	fmt.Fprintf(p, format+"\n", args...)
}

// place computes every position.
func (p *picture) place() {
	for _, nodes := range p.tiers() {
		p.rows = append(p.rows, p.newRow(nodes))
		for _, n := range nodes {
			p.rowOf[n] = len(p.rows) - 1
		}
	}
	p.placeAcross()
	p.placeDown()
}

func (p *picture) newRow(nodes []int) row {
	letters := 0
	for _, n := range nodes {
		letters = max(letters, len(p.graph.Nodes[n].Name))
	}
	r := row{nodes: nodes, width: float64(letters)*letter + boxPad, height: boxHeight, upright: len(nodes) > upright}
	r.pitch = r.width + boxGap
	if r.upright {
		r.width, r.height, r.pitch = 15, r.width, 15+tightGap
	}
	return r
}

// placeAcross gives every pod the width of its widest row and spreads each row
// evenly over its pod, and nodes outside of pods over all.
func (p *picture) placeAcross() {
	pods, _ := p.byPod()
	position := make(map[int]int)
	for i, pod := range pods {
		position[pod] = i
	}
	inPod := make([][]int, len(p.rows)) // by row and pod: how many
	inner, whole := 0.0, 0.0
	for i, r := range p.rows {
		inPod[i] = make([]int, len(pods))
		if p.graph.Nodes[r.nodes[0]].Pod < 0 {
			whole = max(whole, float64(len(r.nodes))*r.pitch)
			continue
		}
		for _, n := range r.nodes {
			at := position[p.graph.Nodes[n].Pod]
			inPod[i][at]++
			inner = max(inner, float64(inPod[i][at])*r.pitch)
		}
	}
	left := margin + legend
	step := inner + 2*podPad + podGap
	if n := float64(len(pods)); n > 0 {
		if rest := whole - (n*step - podGap); rest > 0 {
			inner += rest / n
			step += rest / n
		}
		whole = n*step - podGap
	}
	for i, r := range p.rows {
		seen := make([]int, len(pods))
		for j, n := range r.nodes {
			pod := p.graph.Nodes[n].Pod
			if pod < 0 {
				p.at[n].x = left + whole*(float64(j)+0.5)/float64(len(r.nodes))
				continue
			}
			at := position[pod]
			p.at[n].x = left + float64(at)*step + podPad + inner*(float64(seen[at])+0.5)/float64(inPod[i][at])
			seen[at]++
		}
	}
	for i, pod := range pods {
		if len(pods) > 1 {
			x := left + float64(i)*step
			p.pods = append(p.pods, frame{pod: pod, left: x, right: x + inner + 2*podPad})
		}
	}
	p.width = left + whole + margin
}

// placeDown stacks the rows, with room for arcs above a row that needs it.
func (p *picture) placeDown() {
	reach := make([]float64, len(p.rows)) // below a row: how far its lines go aside
	for _, e := range p.edges {
		high := p.rowOf[e.high]
		if r := &p.rows[high]; high == p.rowOf[e.low] {
			if p.kinds[e.kind].name != global {
				r.local = max(r.local, p.rise(e))
			}
			r.above = max(r.above, p.rise(e))
			continue
		}
		reach[high] = max(reach[high], math.Abs(p.at[e.high].x-p.at[e.low].x))
	}
	y := title
	for i := range p.rows {
		r := &p.rows[i]
		if i == 0 {
			y += boxHeight + r.above
		} else {
			y += max(leastGap, min(reach[i-1]/6, mostGap)) + r.above
		}
		r.y = y + r.height/2
		y += r.height
		for _, n := range r.nodes {
			p.at[n].y = r.y
		}
	}
	p.height = y + margin
	if len(p.pods) > 0 {
		p.height += podName
	}
	for i, f := range p.pods {
		f.top, f.end = math.Inf(1), 0
		for _, r := range p.rows {
			if p.graph.Nodes[r.nodes[0]].Pod >= 0 {
				f.top, f.end = min(f.top, r.y-r.height/2-r.local-podPad), max(f.end, r.y+r.height/2+podName)
			}
		}
		p.pods[i] = f
	}
}

// rise is how far an arc stands above its row. That of a link between pods
// clears those within.
func (p *picture) rise(e edge) float64 {
	reach := math.Abs(p.at[e.high].x - p.at[e.low].x)
	if p.kinds[e.kind].name == global {
		return 70 + 0.16*min(reach, 1100)
	}
	return 8 + 0.2*min(reach, 200)
}

func (p *picture) drawPods(out *printer) {
	for _, f := range p.pods {
		out.put(`<rect class="pod" x="%v" y="%v" width="%v" height="%v" rx="6"/>`, f.left, f.top, f.right-f.left, f.end-f.top)
		out.put(`<text class="name soft" x="%v" y="%v">%v %v</text>`, (f.left+f.right)/2, f.end-podName/2, p.sketch.pods, f.pod)
	}
}

func (p *picture) drawEdges(out *printer) {
	var labels []func()
	parallel := make(map[[2]int]int) // lines drawn between two nodes: links that differ lie side by side
	for _, e := range p.edges {
		low, high := p.at[e.low], p.at[e.high]
		beside := float64(parallel[[2]int{e.low, e.high}])
		parallel[[2]int{e.low, e.high}]++
		low.x, high.x = low.x+5*beside, high.x+5*beside
		from, to := low.y-p.rows[p.rowOf[e.low]].height/2, high.y+p.rows[p.rowOf[e.high]].height/2
		middle := point{(low.x + high.x) / 2, (from + to) / 2}
		path := fmt.Sprintf("M%.1f %.1fL%.1f %.1f", low.x, from, high.x, to)
		if p.rowOf[e.low] == p.rowOf[e.high] {
			to = from
			rise := p.rise(e)
			middle.y = from - rise
			path = fmt.Sprintf("M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f", low.x, from, low.x, from-rise*4/3, high.x, to-rise*4/3, high.x, to)
		}
		wide := ""
		if e.links > 1 {
			wide = fmt.Sprintf(";stroke-width:%.1fpx", min(1.1*float64(e.links), 5))
		}
		out.put(`<path class="link" style="stroke:var(--k%v)%v" d="%v"><title>%v-%v: %v</title></path>`, e.kind%colours, wide, path,
			p.graph.Nodes[e.low].Name, p.graph.Nodes[e.high].Name, e.label())
		if own := p.own(e); own != "" {
			labels = append(labels, func() { out.put(`<text class="own" x="%v" y="%v">%v</text>`, middle.x, middle.y+12*beside, own) })
		}
	}
	for _, label := range labels {
		label() // above all lines
	}
}

// colours is the number of variables --k in style.
const colours = 5

func (p *picture) drawNodes(out *printer) {
	for _, r := range p.rows {
		for _, n := range r.nodes {
			class, at, turn := "switch", p.at[n], ""
			node := p.graph.Nodes[n]
			if node.Kind == topologies.Host {
				class = "host"
			}
			if p.silent(n) {
				class = "switch silent"
			}
			if r.upright {
				turn = fmt.Sprintf(` transform="rotate(-90 %.1f %.1f)"`, at.x, at.y)
			}
			out.put(`<rect class="%v" x="%v" y="%v" width="%v" height="%v" rx="3"/>`, class, at.x-r.width/2, at.y-r.height/2, r.width, r.height)
			out.put(`<text class="name" x="%v" y="%v"%v>%v</text>`, at.x, at.y, turn, html.EscapeString(node.Name))
		}
	}
}

// drawLegend tells, left of each row, what it is, and between the rows what
// their links are.
func (p *picture) drawLegend(out *printer) {
	for _, r := range p.rows {
		node := p.graph.Nodes[r.nodes[0]]
		out.put(`<text x="%v" y="%v">%v %v%v</text>`, margin, r.y+4, len(r.nodes), node.Tier, plural(len(r.nodes)))
		if node.Delay > 0 {
			out.put(`<text class="soft" x="%v" y="%v">%v each</text>`, margin, r.y+18, node.Delay)
		}
	}
	for id, k := range p.kinds {
		y := p.legendHeight(k)
		out.put(`<text x="%v" y="%v" style="fill:var(--k%v)">%v</text>`, margin, y, id%colours, k.name)
		out.put(`<text x="%v" y="%v" style="fill:var(--k%v)">%v</text>`, margin, y+14, id%colours, k.common)
	}
}

// legendHeight is the middle of the lines of a kind.
func (p *picture) legendHeight(k kind) float64 {
	low, high := math.Inf(1), math.Inf(-1)
	var above, arcs float64
	for _, r := range p.rows {
		tier := p.graph.Nodes[r.nodes[0]].Tier
		if tier == k.low {
			low, above, arcs = r.y-r.height/2, r.above, r.above
			if k.name != global {
				above = r.local
			}
		}
		if tier == k.high {
			high = r.y + r.height/2
		}
	}
	switch {
	case k.low != k.high:
		return (low-arcs+high)/2 - 4
	case k.name == global:
		return low - above + 6
	}
	return low - max(above/2+8, 25)
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}
