package reports

import (
	"cmp"
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/analysis"
)

// orNaN returns a value, or NaN if there is none.
func orNaN(v int, ok bool) float64 {
	if !ok {
		return math.NaN()
	}
	return float64(v)
}

// heatmaps draws, from block of hosts to block of hosts, what the CSIG samples were and
// which port they named.
func heatmaps(r *analysis.Result) (pictures []picture) {
	total := 0
	for i := range r.Heatmaps {
		h := &r.Heatmaps[i]
		if n := len(h.Blocks); n == 0 || len(h.Mean) != n || len(h.Modal) != n || len(h.Samples) != n {
			continue
		}
		if total++; len(pictures) < maxOfAKind {
			pictures = append(pictures, heatmapPicture(r, h, i))
		}
	}
	if n := len(pictures); n > 0 {
		pictures[n-1].Caption += leftOut(total, n)
	}
	return pictures
}

// signalNames are the names of signals in titles. Where low is set, small values are those
// of a loaded path.
var signalNames = map[string]struct {
	name string
	low  bool
}{
	"abw":   {"available bandwidth", true},
	"abw-c": {"available bandwidth, as a share of the link's rate", true},
	"delay": {"delay per hop", false},
	"nqd":   {"queue, as a share of its scale", false},
}

// heatmapDrawing draws one heatmap.
type heatmapDrawing struct {
	*analysis.Heatmap
	low       bool // small values are those of a loaded path
	from, to  float64
	code      map[int]string // of a locator's index, in its cells
	order     []int          // of locators, those of most cells first
	name      string
	figure    string
	class     string // of the drawing
	cellOf    func(row, column int) (class, text string)
	titleOf   func(row, column int) string
	valueOf   func(row, column int) float64
	valueName axisData
}

func heatmapPicture(r *analysis.Result, h *analysis.Heatmap, index int) picture {
	signal, known := signalNames[h.Signal]
	if !known {
		signal.name, signal.low = clipped(h.Signal), h.Below
	}
	id := fmt.Sprintf("heatmap-%s-%s", idPart(h.Variant), idPart(h.Signal))
	p := picture{ID: id, Columns: 2, Title: "From where to where: CSIG's " + signal.name + inVariant(r, clipped(h.Variant))}
	d := heatmapDrawing{Heatmap: h, low: signal.low, from: 0, to: 100, code: map[int]string{}}
	if h.Unit != "%" {
		d.to = 0
		for _, row := range h.Mean {
			for _, v := range row {
				if !math.IsNaN(v) {
					d.to = max(d.to, v)
				}
			}
		}
		if d.to == 0 {
			d.to = 1
		}
	}
	block := map[string]string{"tor": "the hosts below one ToR", "tors": "the hosts below several ToRs", "hosts": "hosts"}[h.By]
	p.Caption = fmt.Sprintf("Rows are sources, columns destinations; each stands for %s. Left: the mean of the samples; a cell with fewer than %d samples is empty. Right: the letter and the colour name the port that most samples of heavily loaded ports named; heavily loaded: %s.",
		cmp.Or(block, "hosts"), analysis.HeatmapSamples, d.heavyText())
	d.codes()

	mean := d
	mean.name, mean.figure = "Mean "+signal.name+", "+h.Variant, id+"-mean"
	mean.cellOf = func(i, k int) (string, string) {
		v := h.Mean[i][k]
		if math.IsNaN(v) {
			return "", ""
		}
		return fmt.Sprintf("c%d", d.level(v)), number(math.Round(v*10) / 10)
	}
	mean.titleOf = func(i, k int) string {
		if math.IsNaN(h.Mean[i][k]) {
			return fmt.Sprintf("%d samples", h.Samples[i][k])
		}
		return fmt.Sprintf("%s %s, %s samples", number(h.Mean[i][k]), h.Unit, number(float64(h.Samples[i][k])))
	}
	mean.valueOf = func(i, k int) float64 { return h.Mean[i][k] }
	mean.valueName = axisData{Name: "Mean", Unit: h.Unit, Min: d.from, Max: d.to}

	modal := d
	modal.name, modal.figure = "Port named most often among heavily loaded ones, "+h.Variant, id+"-place"
	modal.cellOf = func(i, k int) (string, string) {
		m := h.Modal[i][k]
		if m < 0 || m >= len(h.Locators) {
			return "", ""
		}
		return fmt.Sprintf("k%d", d.colour(m)), d.code[m]
	}
	modal.valueOf = func(i, k int) float64 { return orNaN(h.Modal[i][k], h.Modal[i][k] >= 0) }
	modal.valueName = axisData{Name: "Named most often"}
	for i := range h.Locators {
		modal.valueName.Names = append(modal.valueName.Names, clipped(d.code[i]+" "+shortPorts(r, h.Locators[i].Ports)))
	}
	modal.titleOf = func(i, k int) string {
		m := h.Modal[i][k]
		if m < 0 || m >= len(h.Locators) {
			return fmt.Sprintf("%d samples of heavily loaded ports", h.Heavy[i][k])
		}
		return fmt.Sprintf("%s: %s of %s samples of heavily loaded ports", shortPorts(r, h.Locators[m].Ports), percent(h.Share[i][k]), number(float64(h.Heavy[i][k])))
	}
	p.Panels = []picturePanel{
		{Title: "Mean of the samples (" + h.Unit + ")", Subtitle: seedsText(h.Seeds), SVG: mean.svg(halfWidth), Narrow: mean.svg(narrowWidth)},
		{Title: "Port that was named most often", Subtitle: fmt.Sprintf("%s of %s samples are of heavily loaded ports", number(float64(sum(h.Heavy))), number(float64(sum(h.Samples)))), SVG: modal.svg(halfWidth), Narrow: modal.svg(narrowWidth)},
	}
	p.data = []figureData{mean.data(), modal.data()}
	p.Legend = d.legend(r)
	return p
}

func seedsText(n int) string {
	if n == 1 {
		return "One seed"
	}
	return fmt.Sprintf("All %d seeds", n)
}

func sum(counts [][]int64) (n int64) {
	for _, row := range counts {
		for _, c := range row {
			n += c
		}
	}
	return n
}

// heavyText says in words what a heavily loaded port is.
func (h *heatmapDrawing) heavyText() string {
	side := "more than"
	if h.Below {
		side = "at most"
	}
	value := fmt.Sprintf("%s %s", number(h.Threshold), h.Unit)
	switch h.Rule {
	case analysis.HeavyTarget:
		return fmt.Sprintf("%s %s, the delay that congestion control aims at", side, value)
	case analysis.HeavyPackets:
		return fmt.Sprintf("%s %s, the time of two and a half packets", side, value)
	case analysis.HeavyQueue:
		return "a queue that is a quarter full or more"
	case analysis.HeavyModule:
		return fmt.Sprintf("%s %s, as the module of the signal says", side, strings.TrimSpace(value))
	}
	return "at most a quarter of the rate is available"
}

// level returns the level of a mean: dark is a loaded path.
func (h *heatmapDrawing) level(v float64) int {
	share := (v - h.from) / (h.to - h.from)
	if h.low {
		share = 1 - share
	}
	return levelOf(share)
}

// modalColours is the number of colours of places. Further ones share the last.
const modalColours = 6

// codes gives each locator a short code, those of most cells first: A to Z, then a to z,
// then numbers.
func (h *heatmapDrawing) codes() {
	h.order = make([]int, len(h.Locators))
	for i := range h.order {
		h.order[i] = i
	}
	slices.SortStableFunc(h.order, func(a, b int) int { return cmp.Compare(h.Locators[b].Cells, h.Locators[a].Cells) })
	for rank, i := range h.order {
		switch {
		case rank < 26:
			h.code[i] = string(rune('A' + rank))
		case rank < 52:
			h.code[i] = string(rune('a' + rank - 26))
		default:
			h.code[i] = fmt.Sprint(rank - 51)
		}
	}
}

func (h *heatmapDrawing) colour(locator int) int {
	return min(slices.Index(h.order, locator)+1, modalColours) % modalColours
}

// maxModalKeys is how many ports the legend names.
const maxModalKeys = 12

func (h *heatmapDrawing) legend(r *analysis.Result) []pictureKey {
	keys := scaleKeys(h.scaleText(0, 0), h.scaleText)
	for rank, i := range h.order {
		if rank == maxModalKeys {
			keys = append(keys, pictureKey{modalSwatch(0, "…"), fmt.Sprintf("%d other ports, named in the JSON form of this report", len(h.order)-rank)})
			break
		}
		l := &h.Locators[i]
		name := clipped(shortPorts(r, l.Ports))
		if tier := tierName(l.Tier, l.Direction); tier != "" {
			name += " (" + tier + ")"
		}
		keys = append(keys, pictureKey{modalSwatch(h.colour(i), h.code[i]), fmt.Sprintf("%s, %s", name, plural(l.Cells, "cell"))})
	}
	return keys
}

func modalSwatch(colour int, code string) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg class="swatch picture" viewBox="0 0 26 12" aria-hidden="true"><g class="k%d"><rect x="4" y="0" width="18" height="12"/></g><text class="cell" x="13" y="6" style="font-size:10px">%s</text></svg>`, colour, html.EscapeString(code)))
}

// scaleText names a part of the scale; none of it for from and to 0.
func (h *heatmapDrawing) scaleText(from, to float64) string {
	value := func(share float64) string {
		if h.low {
			share = 1 - share
		}
		return number(math.Round((h.from+share*(h.to-h.from))*10) / 10)
	}
	if from == to {
		return value(0) + " " + h.Unit
	}
	if h.low {
		from, to = to, from
	}
	return fmt.Sprintf("%s to %s %s", value(from), value(to), h.Unit)
}

// svg draws a square of cells with the names of blocks beside and below it.
func (h *heatmapDrawing) svg(width float64) template.HTML {
	n := len(h.Blocks)
	longest := 0
	for _, b := range h.Blocks {
		longest = max(longest, len([]rune(b.Name)))
	}
	left := min(max(float64(longest)*smallText*letterWidth+10, 30), 96)
	below := 0.8 * left
	cell := min((width-left-30)/float64(n), 56)
	side := cell * float64(n)
	// Names of columns are at an angle and need room to the left of the first and below.
	area := plotArea{X: left + 14, Y: 16, Width: side, Height: side}
	p := &pen{width: width, height: area.Y + side + below + 18, class: h.class}
	p.put(`<text class="small" x="0" y="8">from ↓, to →</text><rect class="idle" x="%v" y="%v" width="%v" height="%v"/>`, area.X, area.Y, side, side)
	every := max(1, int(math.Ceil(11/cell)))
	for i, b := range h.Blocks {
		if i%every != 0 {
			continue
		}
		at := (float64(i) + 0.5) * cell
		p.text("name", area.X-5, area.Y+at, left-4, b.Name)
		p.put(`<g transform="translate(%v %v) rotate(-50)">`, area.X+at+2, area.Y+side+8)
		p.text("name", 0, 0, left-4, b.Name)
		p.put("</g>")
	}
	size := min(cell*0.42, 12)
	for i := range n {
		for k := range n {
			class, text := h.cellOf(i, k)
			if class == "" && h.Samples[i][k] == 0 {
				continue
			}
			x, y := area.X+float64(k)*cell, area.Y+float64(i)*cell
			if class == "" {
				class = "few"
			}
			fmt.Fprintf(&p.b, `<g class="%s"><rect x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, class, x+0.3, y+0.3, cell-0.6, cell-0.6)
			if letters := float64(len([]rune(text))); text != "" {
				if fits := min(size, (cell-2)/(letters*letterWidth)); fits >= 5 || letters == 1 {
					p.put(`<text class="cell" x="%v" y="%v" style="font-size:%vpx">%s</text>`, x+cell/2, y+cell/2, fits, html.EscapeString(text))
				}
			}
			// Titles of large matrices would be most of the page; the script has the values.
			if n <= 16 && width == halfWidth {
				p.put(`<title>%s</title>`, html.EscapeString(clipped(h.Blocks[i].Name+" → "+h.Blocks[k].Name+": "+h.titleOf(i, k))))
			}
			p.put("</g>")
		}
	}
	p.put(`<path class="edge" d="M%v %vv%vh%v"/>`, area.X, area.Y, side, side)
	return p.svg(h.name, fmt.Sprintf("%d sources by %d destinations", n, n), h.figure, area)
}

// data returns the numbers for the script: means, or indexes of places.
func (h *heatmapDrawing) data() figureData {
	n := len(h.Blocks)
	d := figureData{ID: h.figure, Kind: figureMatrix, Name: clipped(h.name), X: axisData{Name: "To", Max: float64(n)}, Y: axisData{Name: "From", Max: float64(n)}, Value: h.valueName}
	for i := range n {
		d.X.Names = append(d.X.Names, clipped(h.Blocks[i].Name))
		s := seriesData{Name: clipped(h.Blocks[i].Name)}
		for k := range n {
			s.Values = append(s.Values, h.valueOf(i, k))
		}
		d.Series = append(d.Series, s)
	}
	return d
}

// shifts draws where the bottleneck was on two sides.
func shifts(r *analysis.Result) (pictures []picture) {
	for i := range r.Shifts {
		s := &r.Shifts[i]
		if len(s.Places) == 0 {
			continue
		}
		if len(pictures) == maxOfAKind {
			break
		}
		pictures = append(pictures, shiftPicture(r, s))
	}
	if n := len(pictures); n > 0 {
		pictures[n-1].Caption += leftOut(len(r.Shifts), n)
	}
	return pictures
}

func shiftPicture(r *analysis.Result, s *analysis.Shift) picture {
	before, after := clipped(s.Before.Variant), clipped(s.After.Variant)
	id := "shift-" + idPart(s.After.Variant)
	if s.Fault != "" {
		before, after = "the time before", "the time after"
		id += "-fault"
	}
	p := picture{ID: id, Columns: 2, Title: "Where the bottleneck was: " + before + " and " + after}
	if s.Fault != "" {
		p.Title = fmt.Sprintf("Where the bottleneck was before and after the fault%s", inVariant(r, clipped(s.After.Variant)))
	}
	what := "of the telemetry windows in which a port had at most a quarter of its line left"
	if s.Basis == analysis.BasisSamples {
		what = "of the CSIG samples of heavily loaded ports, by the port that they name"
	}
	p.Caption = fmt.Sprintf("Bars are shares %s: %s of %s in %s, %s of %s in %s.", what, number(float64(s.Before.Heavy)), number(float64(s.Before.All)), before, number(float64(s.After.Heavy)), number(float64(s.After.All)), after)
	if s.Fault != "" {
		p.Caption += " The fault: " + clipped(s.Fault) + "."
	}
	p.Caption += shiftText(r, s, before, after)
	p.Legend = []pictureKey{
		{`<svg class="swatch picture" viewBox="0 0 26 12" aria-hidden="true"><rect class="before" x="2" y="2" width="22" height="8"/></svg>`, before},
		{`<svg class="swatch picture" viewBox="0 0 26 12" aria-hidden="true"><rect class="after" x="2" y="2" width="22" height="8"/></svg>`, after},
	}
	var tiers, places []shiftBar
	for _, t := range s.Tiers {
		tiers = append(tiers, shiftBar{cmp.Or(tierName(t.Tier, t.Direction), "ports"), t.Before, t.After})
	}
	for _, place := range s.Places {
		places = append(places, shiftBar{shortPorts(r, place.Ports), place.Before, place.After})
	}
	for _, one := range []struct {
		title, subtitle string
		bars            []shiftBar
	}{{"By tier", "↑ away from the hosts, ↓ towards them", tiers}, {"By port", "Those with the greatest shares", places}} {
		if len(one.bars) > 0 {
			p.Panels = append(p.Panels, picturePanel{Title: one.title, Subtitle: one.subtitle, SVG: shiftBars(one.title, one.bars, halfWidth), Narrow: shiftBars(one.title, one.bars, narrowWidth)})
		}
	}
	return p
}

// shiftText says in a sentence whether the bottleneck moved.
func shiftText(r *analysis.Result, s *analysis.Shift, before, after string) string {
	if s.From < 0 || s.To < 0 || s.From >= len(s.Places) || s.To >= len(s.Places) {
		return " One side has no heavily loaded port."
	}
	from, to := &s.Places[s.From], &s.Places[s.To]
	text := fmt.Sprintf(" It stayed at %s (%s in %s, %s in %s).", shortPorts(r, from.Ports), percent(from.Before.Share), before, percent(to.After.Share), after)
	if s.Moved {
		text = fmt.Sprintf(" The most frequent one moved from %s (%s) to %s (%s).", shortPorts(r, from.Ports), percent(from.Before.Share), shortPorts(r, to.Ports), percent(to.After.Share))
	}
	if s.Seeds > 1 {
		text += fmt.Sprintf(" %d of %d seeds say the same.", s.Agree, s.Seeds)
	}
	return text
}

// shiftBar is a pair of bars.
type shiftBar struct {
	name          string
	before, after analysis.ShiftShare
}

func shiftBars(title string, bars []shiftBar, width float64) template.HTML {
	left, right, pitch := 150.0, 52.0, 34.0
	if width == narrowWidth {
		left = 108
	}
	area := plotArea{X: left, Y: 4, Width: width - left - right, Height: pitch * float64(len(bars))}
	p := &pen{width: width, height: area.Height + 34}
	most := 0.0
	for _, b := range bars {
		most = max(most, b.before.Share, b.after.Share, b.before.Seeds.Max, b.after.Seeds.Max)
	}
	ticks, top := niceTicks(max(most*100, 1))
	top = max(top, 1)
	x := func(share float64) float64 { return area.X + share*100/top*area.Width }
	for _, t := range ticks {
		p.put(`<path class="rule" d="M%v %vV%v"/><text class="tick" x="%v" y="%v">%s</text>`, x(t.Value/100), area.Y, area.Y+area.Height, x(t.Value/100), area.Y+area.Height+10, t.Label)
	}
	p.put(`<text class="tick" x="%v" y="%v">Share (%%)</text>`, area.X+area.Width/2, area.Y+area.Height+24)
	for i, b := range bars {
		y := area.Y + float64(i)*pitch
		p.text("name", left-6, y+pitch/2, left-8, b.name)
		for k, side := range []struct {
			class string
			share analysis.ShiftShare
		}{{"before", b.before}, {"after", b.after}} {
			at := y + 4 + float64(k)*13
			p.put(`<rect class="%s" x="%v" y="%v" width="%v" height="12"/>`, side.class, area.X, at, max(x(side.share.Share)-area.X, 0.8))
			end := x(side.share.Share)
			if s := side.share.Seeds; s.Count > 1 && s.Max > s.Min {
				p.put(`<path class="edge" d="M%v %vH%v"/>`, x(s.Min), at+6, x(s.Max))
				end = max(end, x(s.Max))
			}
			p.text("end", end+4, at+6, right, strings.ReplaceAll(percent(side.share.Share), " ", "\u00a0"))
		}
	}
	p.put(`<path class="edge" d="M%v %vv%v"/>`, area.X, area.Y, area.Height)
	return p.svg(title, fmt.Sprintf("%d pairs of bars", len(bars)), "", area)
}
