package reports

import (
	"fmt"
	"html"
	"html/template"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/analysis"
)

// tierNames are the names of tiers in drawings, in short.
var tierNames = map[string]string{"host": "hosts", "tor": "ToR", "agg": "agg", "core": "core", "other": "other"}

// tierName names the ports of a tier and direction.
func tierName(tier, direction string) string {
	name, ok := tierNames[tier]
	if !ok {
		name = clipped(tier)
	}
	switch direction {
	case "up":
		name += " ↑"
	case "down":
		name += " ↓"
	}
	return strings.TrimSpace(name)
}

// signatures draws how busy ports are in the course of a step: the signatures of a job
// beside each other, and those of runs without jobs.
func signatures(r *analysis.Result) (pictures []picture) {
	for _, kind := range []struct {
		id        string
		available bool
	}{{"signature", false}, {"signature-available", true}} {
		var drawings []*signatureDrawing
		total := 0
		for i := range r.Signatures {
			s := &r.Signatures[i]
			if len(s.Rows) == 0 || s.Bins < 1 || len(s.Utilisation) != len(s.Rows) || kind.available && (!s.Measured || len(s.Available) != len(s.Rows)) {
				continue
			}
			if total++; len(drawings) < maxOfAKind {
				drawings = append(drawings, newSignatureDrawing(r, s, kind.id, kind.available))
			}
		}
		for len(drawings) > 0 {
			id := drawings[0].id
			var of []*signatureDrawing
			for _, d := range drawings {
				if d.id == id {
					of = append(of, d)
				}
			}
			drawings = slices.DeleteFunc(drawings, func(d *signatureDrawing) bool { return d.id == id })
			pictures = append(pictures, signaturePicture(r, of))
		}
		if len(pictures) > 0 {
			pictures[len(pictures)-1].Caption += leftOut(total, min(total, maxOfAKind))
		}
	}
	return pictures
}

func signatureID(kind string, s *analysis.Signature) string {
	if s.Job == "" {
		return kind
	}
	return kind + "-" + idPart(s.Job)
}

// signaturePicture returns the picture of the signatures of a job.
func signaturePicture(r *analysis.Result, drawings []*signatureDrawing) picture {
	s := drawings[0]
	p := picture{ID: s.id, Columns: min(len(drawings), 2)}
	of := "the run"
	if s.Job != "" {
		of = "a step of " + clipped(s.Job)
	}
	if s.available {
		p.Title = "What links had left, in the course of " + of
		p.Caption = "Each row is a port, each column a slice of time. A cell that stands out from the background: the least bandwidth that was available there was close to nothing; of switch ports as their CSIG meters had it, of hosts as the windows left it. The number on the right is the least of the row."
		p.Legend = scaleKeys("over 99.5 % left", func(from, to float64) string {
			return fmt.Sprintf("%s to %s %% left", number(100-100*to), number(100-100*from))
		})
	} else {
		p.Title = "Signature: how busy each link is in the course of " + of
		p.Caption = "Each row is a port, each column a slice of time. The more a cell stands out from the background, the busier is the line. The number on the right is the greatest value of the row."
		p.Legend = scaleKeys("idle", func(from, to float64) string {
			return fmt.Sprintf("%s to %s %% busy", number(100*from), number(100*to))
		})
	}
	p.Caption += " Rows go from the hosts up (↑) and down again (↓)."
	if slices.ContainsFunc(drawings, func(d *signatureDrawing) bool { return len(d.Spans) > 0 }) {
		p.Caption += " The bars above say when collectives and phases are under way: thin from the first begin to the last end, thick while one is."
	}
	for i, d := range drawings {
		d.figure = fmt.Sprintf("%s-%d", p.ID, i)
		width := pictureWidth
		if p.Columns == 2 {
			width = halfWidth
		}
		p.Panels = append(p.Panels, picturePanel{Title: d.title, Subtitle: d.subtitle(r), SVG: d.svg(width, 46, 104), Narrow: d.svg(narrowWidth, 44, 0)})
		p.data = append(p.data, d.data())
	}
	return p
}

func newSignatureDrawing(r *analysis.Result, s *analysis.Signature, kind string, available bool) *signatureDrawing {
	d := &signatureDrawing{Signature: s, id: signatureID(kind, s), title: clipped(s.Variant), available: available}
	if len(r.Variants) < 2 {
		d.title = clipped(r.Name)
	}
	for i := range r.Signatures { // one axis for all steps of a job
		if o := &r.Signatures[i]; o.Job == s.Job {
			d.total = max(d.total, float64(o.Bins)*o.BinUS)
		}
	}
	return d
}

// signatureDrawing draws one signature.
type signatureDrawing struct {
	*analysis.Signature
	id            string // of its picture
	figure, title string
	available     bool
	total         float64 // length of the time axis, in microseconds
}

func (d *signatureDrawing) subtitle(r *analysis.Result) string {
	var parts []string
	switch {
	case d.Job == "":
	case d.Steps == 1:
		parts = append(parts, "one step of "+tenths(d.StepUS.Max, scalesOfDelays))
	default:
		parts = append(parts, fmt.Sprintf("%s steps of %s to %s laid over each other", number(float64(d.Steps)), tenths(d.StepUS.Min, scalesOfDelays), tenths(d.StepUS.Max, scalesOfDelays)))
	}
	parts = append(parts, "columns of "+span(d.BinUS))
	if note := seedNote(r, d.Variant); note != "" {
		parts = append(parts, note)
	}
	if d.LeftOut > 0 {
		parts = append(parts, fmt.Sprintf("%d shorter collectives and phases have no bar", d.LeftOut))
	}
	switch {
	case d.AllPorts:
	case d.available:
		parts = append(parts, "of each tier the busiest ports, and the least of the others")
	default:
		parts = append(parts, "of each tier the busiest ports, and the mean of the others")
	}
	text := strings.Join(parts, "; ")
	return strings.ToUpper(text[:1]) + text[1:]
}

// value returns a cell in per cent, and false if there is none.
func (d *signatureDrawing) value(row, bin int) (int, bool) {
	cells := d.Utilisation[row]
	if d.available {
		cells = d.Available[row]
	}
	if bin >= len(cells) || cells[bin] == analysis.NoPercent {
		return 0, false
	}
	return int(cells[bin]), true
}

func (d *signatureDrawing) level(row, bin int) int {
	v, ok := d.value(row, bin)
	switch {
	case !ok:
		return -1
	case d.available:
		v = 100 - v
	}
	return levelOf(float64(v) / 100)
}

// extreme returns the greatest value of a row, or the least one available.
func (d *signatureDrawing) extreme(row int) string {
	best, found := 0, false
	for bin := range d.Bins {
		if v, ok := d.value(row, bin); ok && (!found || !d.available && v > best || d.available && v < best) {
			best, found = v, true
		}
	}
	if !found {
		return none
	}
	return fmt.Sprint(best)
}

func (d *signatureDrawing) rowName(row int) string {
	one := &d.Rows[row]
	if one.Name != "" {
		return one.Name
	}
	if d.AllPorts || !slices.ContainsFunc(d.Rows, func(o analysis.SignatureRow) bool {
		return o.Name != "" && o.Tier == one.Tier && o.Direction == one.Direction
	}) {
		return plural(one.Ports, "port")
	}
	return plural(one.Ports, "other port")
}

// svg draws with so much space for the names of tiers and, if names is not 0, of ports.
func (d *signatureDrawing) svg(width, tiers, names float64) template.HTML {
	wide := names > 0
	spanHeight, left, right := 13.0, tiers+names, 30.0
	if !wide {
		spanHeight = 17
	}
	rowHeight := min(max(360/float64(len(d.Rows)), 9.5), 20)
	if !wide {
		rowHeight = min(max(220/float64(len(d.Rows)), 5), 18)
	}
	area := plotArea{X: left, Y: float64(len(d.Spans))*spanHeight + 14, Width: width - left - right, Height: rowHeight * float64(len(d.Rows))}
	p := &pen{width: width, height: area.Y + area.Height + 36}
	x := func(us float64) float64 { return area.X + min(max(us/d.total, 0), 1)*area.Width }
	for i := range d.Spans {
		d.span(p, &d.Spans[i], float64(i)*spanHeight, area, x, wide)
	}
	drawn := area
	drawn.Width *= float64(d.Bins) * d.BinUS / d.total
	p.cells(drawn, len(d.Rows), d.Bins, d.level)
	p.text("tick", width-right/2-2, area.Y-5, right, "%")
	for row, end := 0, 0; row < len(d.Rows); row = end {
		for end = row + 1; end < len(d.Rows) && d.Rows[end].Tier == d.Rows[row].Tier && d.Rows[end].Direction == d.Rows[row].Direction; end++ {
		}
		y := area.Y + float64(row)*rowHeight
		if row > 0 {
			p.put(`<path class="tier" d="M%v %vH%v"/>`, 0.0, y, width)
		}
		p.text("head", 0, y+max(float64(end-row)*rowHeight/2, 5), tiers, tierName(d.Rows[row].Tier, d.Rows[row].Direction))
	}
	class := "name"
	if rowHeight < 12 {
		class = "name dense"
	}
	for row := range d.Rows {
		y := area.Y + (float64(row)+0.5)*rowHeight
		if wide {
			p.text(class, left-6, y, names-8, d.rowName(row))
			p.text("value", width-right+22, y, right, d.extreme(row))
		} else if rowHeight > 8 {
			p.text("value", width-right+22, y, right, d.extreme(row))
		}
	}
	label := "Time in the step"
	if d.Job == "" {
		label = "Time"
		if d.FromUS > 0 {
			label = "Time after " + span(d.FromUS)
		}
	}
	p.timeAxis(area, d.total, label)
	return p.svg(d.name(), fmt.Sprintf("%d rows of ports by %d columns of %s", len(d.Rows), d.Bins, span(d.BinUS)), d.figure, area)
}

func (d *signatureDrawing) name() string {
	what := "Utilisation of ports: "
	if d.available {
		what = "Available bandwidth of ports: "
	}
	if d.Job != "" {
		return what + "a step of " + d.Job + ", " + d.title
	}
	return what + d.title
}

// span draws when a collective or a phase is under way, with its name beside or, where
// there is little room, above it.
func (d *signatureDrawing) span(p *pen, s *analysis.SignatureSpan, y float64, area plotArea, x func(float64) float64, wide bool) {
	class := "collective"
	if s.Phase {
		class = "phase"
	}
	name := strings.ReplaceAll(s.Name, "_", "-")
	if wide {
		p.text("name", area.X-6, y+6, area.X-12, name)
	} else {
		p.text("small", 0, y+12, area.X-4, name)
	}
	middle := y + 6.0
	if !wide {
		middle = y + 12
	}
	p.put(`<g class="%s" data-part="spans"><title>%s: %s to %s</title><path class="reach" d="M%v %vH%v"/>`, class, html.EscapeString(clipped(name)),
		html.EscapeString(span(s.BeginUS)), html.EscapeString(span(s.EndUS)), x(s.BeginUS), middle, max(x(s.EndUS), x(s.BeginUS)+1.5))
	for from := 0; from < len(s.Active); {
		to := from + 1
		active := s.Active[from] > 0
		for to < len(s.Active) && (s.Active[to] > 0) == active {
			to++
		}
		if active {
			a, b := max(x(float64(from)*d.BinUS), x(s.BeginUS)), min(x(float64(to)*d.BinUS), x(s.EndUS))
			p.put(`<rect x="%v" y="%v" width="%v" height="7"/>`, a, middle-3.5, max(b-a, 1.5))
		}
		from = to
	}
	p.put("</g>")
}

// data returns the numbers for the script.
func (d *signatureDrawing) data() figureData {
	unit := scaleFor(d.total, scalesOfDelays)
	f := figureData{ID: d.figure, Kind: figureMatrix, Name: d.name(),
		X:     axisData{Name: "Time in the step", Unit: unit.unit, Max: d.total * unit.factor, Step: d.BinUS * unit.factor, Clock: "step " + d.Job, Microseconds: 1 / unit.factor},
		Y:     axisData{Name: "Port", Max: float64(len(d.Rows))},
		Value: axisData{Name: "Busy", Unit: "%", Max: 100}}
	if d.Job == "" {
		// Columns are of model time; the drawing begins at FromUS.
		f.X.Name, f.X.Clock = "Time", ""
		if d.FromUS == 0 {
			f.X.Clock = clockRun
		}
		f.X.Start, f.X.Min, f.X.Max = d.FromUS*unit.factor, d.FromUS*unit.factor, (d.FromUS+d.total)*unit.factor
	}
	if d.available {
		f.Value.Name = "Left"
	}
	for row := range d.Rows {
		s := seriesData{Name: strings.TrimSpace(clipped(d.rowName(row)) + " (" + tierName(d.Rows[row].Tier, d.Rows[row].Direction) + ")")}
		for bin := range d.Bins {
			s.Values = append(s.Values, orNaN(d.value(row, bin)))
		}
		f.Series = append(f.Series, s)
	}
	return f
}
