package analysis

import (
	"fmt"
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Overlay has what figures need that show one variant of a run folder and one of another,
// or of the same, over each other.
type Overlay struct {
	// Result has two variants with the names of the two sides. Of its other lists it has
	// Charts, whose panels hold both sides, and the ports of these in Findings.Ports.
	*Result
	Heatmaps   []HeatmapChange   `json:"heatmaps"`
	Signatures []SignatureChange `json:"signatures"`
	LeftOut    []string          `json:"leftOut,omitempty"` // what cannot be laid over each other, and why
}

// VariantPair names the variants of an Overlay, and the two sides in its legends.
type VariantPair struct {
	A, B           string
	LabelA, LabelB string
}

// HeatmapChange is the difference of two heatmaps of one signal, B minus A, by blocks of
// hosts that both have.
type HeatmapChange struct {
	Signal string  `json:"signal"`
	Unit   string  `json:"unit"` // as Heatmap.Unit
	By     string  `json:"by"`
	Blocks []Block `json:"blocks"`
	// A and B are the means, Change is B minus A; null where either has less than
	// HeatmapSamples.
	A      []Values `json:"a"`
	B      []Values `json:"b"`
	Change []Values `json:"change"`
}

// SignatureChange is the difference of two signatures, B minus A, in points of
// utilisation, by rows and bins that both have.
type SignatureChange struct {
	Job    string         `json:"job,omitempty"` // "": the run
	BinUS  float64        `json:"binUs"`
	FromUS float64        `json:"fromUs"`
	Bins   int            `json:"bins"`
	Rows   []SignatureRow `json:"rows"`
	A      []Values       `json:"a"` // per cent
	B      []Values       `json:"b"`
	Change []Values       `json:"change"`
	StepsA Spread         `json:"stepsA"` // lengths in µs
	StepsB Spread         `json:"stepsB"`
}

// overlayKinds are charts of overlays alone.
func overlayKinds() []ChartKind {
	kinds := []ChartKind{{ID: BusyChart, Unit: "%", Compare: busyOverTime}}
	for _, signal := range []string{"abw", "abw-c", "delay", "nqd"} {
		kinds = append(kinds, ChartKind{ID: SignalChart + signal, Unit: signalUnits[signal].unit, Compare: func(s *Scope) Collector { return signalOverTime(s, signal) }})
	}
	return kinds
}

// IDs of charts of overlays. The name of the signal follows SignalChart, and that of the job
// StepsChart, of which a point stands for a step.
const (
	BusyChart   = "busy"
	SignalChart = "signal-"
	StepsChart  = "steps-"
)

// busyOverTime collects the share of the time in which the lines of ports were busy.
func busyOverTime(s *Scope) Collector {
	points := s.Point(s.EndUS-s.PointUS/2) + 1
	busy := map[PortID]Values{}
	for _, p := range s.Ports {
		busy[p.PortID] = make(Values, max(points, 0))
	}
	return Collector{
		Port: func(r runfolder.PortRow) {
			if b, k := busy[PortID{r.Node, r.Port}], s.Point(r.StartUS); k >= 0 && k < len(b) {
				b[k] += 100 * r.BusyUS() / s.PointUS
			}
		},
		Panels: func() (panels []Panel) {
			for _, p := range s.Ports {
				if b := busy[p.PortID]; len(b) > 0 {
					for i := range b {
						b[i] = min(b[i], 100) // a frame that began in one window ends in the next
					}
					panels = append(panels, Panel{Port: &p.PortID, Lines: []Line{{Values: b}}})
				}
			}
			return panels
		},
	}
}

// signalOverTime collects the mean of the CSIG samples of all flows of one signal.
func signalOverTime(s *Scope, signal string) Collector {
	var sums, samples track
	return Collector{
		Signal: func(r runfolder.SignalRow) {
			if point := s.Point(r.StartUS); r.Type == signal && r.Samples > 0 && point >= 0 && point < math.MaxInt32 {
				sums.add(point, float64(r.PointSum)*signalUnits[signal].scale)
				samples.add(point, float64(r.Samples))
			}
		},
		Panels: func() []Panel {
			if len(sums.sums) == 0 {
				return nil
			}
			values := make(Values, len(sums.sums))
			for i := range values {
				values[i] = math.NaN()
				if n := samples.at(sums.first + i); n > 0 {
					values[i] = sums.sums[i] / n
				}
			}
			return []Panel{{Lines: []Line{{First: sums.first, Values: values}}}}
		},
	}
}

// ReadOverlays reads two run folders, which may be one, and lays variants over each other.
// Errors are as those of Read.
func ReadOverlays(a, b *runfolder.Folder, of meaning.Of, pairs []VariantPair) ([]Overlay, error) {
	overlays, err := readOverlays(a, b, of, pairs)
	if err != nil {
		return nil, fmt.Errorf("analyse runs: %w", err)
	}
	return overlays, nil
}

func readOverlays(a, b *runfolder.Folder, of meaning.Of, pairs []VariantPair) ([]Overlay, error) {
	var sides [2]*reading
	for i, f := range []*runfolder.Folder{a, b} {
		var err error
		if sides[i], err = begin(f, of); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Dir, err)
		}
	}
	// Both sides have the same points of time, the same ports and the same flow in charts.
	point := max(sides[0].pointUS, sides[1].pointUS)
	charted := [2][]Port{sides[0].ports, sides[1].ports}
	for i, g := range sides {
		g.pointUS = point
		g.charted = slices.Clone(g.ports)
		for k := range charted[1-i] {
			name := portName(&charted[1-i][k].Place)
			same := func(p Port) bool { return portName(&p.Place) == name }
			if at := slices.IndexFunc(g.all, same); at >= 0 && !slices.ContainsFunc(g.charted, same) {
				g.charted = append(g.charted, g.all[at])
			}
		}
	}
	if slices.ContainsFunc(sides[1].flows, func(f runfolder.Flow) bool { return f.Name == sides[0].slowest }) {
		sides[1].slowest = sides[0].slowest
	}
	for i, g := range sides {
		g.totals.elsewhere = map[string]map[string]float64{}
		for _, p := range pairs {
			own, other := p.A, p.B
			if i == 1 {
				own, other = p.B, p.A
			}
			g.totals.elsewhere[own] = sides[1-i].totals.busyByName(other)
		}
	}
	var results [2]*Result
	for i, g := range sides {
		var err error
		if results[i], err = g.finish(overlayKinds()); err != nil {
			return nil, fmt.Errorf("%s: %w", g.folder.Dir, err)
		}
	}
	var overlays []Overlay
	for _, p := range pairs {
		overlays = append(overlays, newOverlay(p, sides, results))
	}
	return overlays, nil
}

// busyByName returns how long the ports were busy in the run that charts show, in µs.
func (t *totals) busyByName(variant string) map[string]float64 {
	ports, busy := t.ports[run{variant, t.shown[variant]}], map[string]float64{}
	for _, p := range placesOf(t.manifest, variant) {
		if sums := ports[p.PortID]; sums != nil {
			busy[portName(&p)] = sums.busyUS
		}
	}
	return busy
}

// newOverlay lays two variants over each other.
func newOverlay(p VariantPair, sides [2]*reading, results [2]*Result) Overlay {
	o := Overlay{Result: &Result{Name: results[0].Name, Setup: results[0].Setup, PointUS: results[0].PointUS, Slowest: results[0].Slowest}, Heatmaps: []HeatmapChange{}, Signatures: []SignatureChange{}}
	if m := results[1].Setup.Measure; m != o.Setup.Measure {
		o.Setup.Measure = runfolder.Window{} // no span is shaded
	}
	names, labels := [2]string{p.A, p.B}, [2]string{p.LabelA, p.LabelB}
	ids := map[string]PortID{} // of ports in the overlay
	for i, r := range results {
		if at := slices.IndexFunc(r.Variants, func(v Variant) bool { return v.Name == names[i] }); at >= 0 {
			v := r.Variants[at]
			v.Name = labels[i]
			o.Variants = append(o.Variants, v)
		}
		for _, port := range sides[i].charted {
			use, ok := port.In(names[i])
			if !ok {
				continue
			}
			use.Variant = labels[i]
			name := portName(&port.Place)
			id, known := ids[name]
			if !known {
				id = PortID{Node: int32(len(ids))}
				ids[name] = id
				port.PortID, port.Use, port.Lost = id, nil, nil
				o.Findings.Ports = append(o.Findings.Ports, port)
			}
			own := &o.Findings.Ports[slices.IndexFunc(o.Findings.Ports, func(p Port) bool { return p.PortID == id })]
			own.Use = append(own.Use, use)
			own.Full = own.Full || use.Utilisation > fullShare
		}
	}
	o.layCharts(names, labels, sides, results, ids)
	o.laySteps(names, labels, results)
	o.compareHeatmaps(names, results)
	o.compareSignatures(names, results)
	return o
}

// layCharts puts the lines of both sides into one panel, where charts compare variants.
func (o *Overlay) layCharts(names, labels [2]string, sides [2]*reading, results [2]*Result, ids map[string]PortID) {
	type key struct {
		flow string
		port PortID
	}
	for _, kind := range append(slices.Clone(chartKinds), overlayKinds()...) {
		if kind.Compare == nil {
			continue
		}
		c := Chart{ID: kind.ID, Unit: kind.Unit}
		index := map[key]int{}
		for i, r := range results {
			at := slices.IndexFunc(r.Charts, func(c Chart) bool { return c.ID == kind.ID })
			if at < 0 {
				continue
			}
			for _, p := range r.Charts[at].Panels {
				line := slices.IndexFunc(p.Lines, func(l Line) bool { return l.Variant == names[i] })
				if line < 0 || p.Flow != "" && p.Flow != o.Slowest {
					continue
				}
				k, panel := key{flow: p.Flow, port: PortID{-1, -1}}, Panel{Flow: p.Flow}
				if p.Port != nil {
					port := slices.IndexFunc(sides[i].charted, func(q Port) bool { return q.PortID == *p.Port })
					if port < 0 {
						continue
					}
					k.port = ids[portName(&sides[i].charted[port].Place)]
					panel.Port = &k.port
				}
				to, ok := index[k]
				if !ok {
					to = len(c.Panels)
					index[k] = to
					c.Panels = append(c.Panels, panel)
				}
				l := p.Lines[line]
				l.Variant = labels[i]
				c.Panels[to].Lines = append(c.Panels[to].Lines, l)
			}
		}
		if len(c.Panels) > 0 {
			o.Charts = append(o.Charts, c)
		}
	}
}

// laySteps adds a chart of the lengths of the steps of each job that has some.
func (o *Overlay) laySteps(names, labels [2]string, results [2]*Result) {
	index := map[string]int{}
	for i, r := range results {
		for k := range r.Signatures {
			s := &r.Signatures[k]
			if s.Variant != names[i] || s.Job == "" || len(s.StepTimesUS) == 0 {
				continue
			}
			at, ok := index[s.Job]
			if !ok {
				at = len(o.Charts)
				index[s.Job] = at
				o.Charts = append(o.Charts, Chart{ID: StepsChart + s.Job, Unit: "µs", Panels: []Panel{{}}})
			}
			o.Charts[at].Panels[0].Lines = append(o.Charts[at].Panels[0].Lines, Line{Variant: labels[i], Values: s.StepTimesUS})
		}
	}
}

// compareHeatmaps subtracts the heatmaps of A from those of B.
func (o *Overlay) compareHeatmaps(names [2]string, results [2]*Result) {
	for i := range results[0].Heatmaps {
		a := &results[0].Heatmaps[i]
		at := slices.IndexFunc(results[1].Heatmaps, func(b Heatmap) bool { return b.Variant == names[1] && b.Signal == a.Signal })
		if a.Variant != names[0] || at < 0 {
			continue
		}
		b := &results[1].Heatmaps[at]
		c := HeatmapChange{Signal: a.Signal, Unit: a.Unit, By: a.By}
		var rows [2][]int // of the blocks of both
		for k, block := range a.Blocks {
			if same := slices.IndexFunc(b.Blocks, func(o Block) bool { return o == block }); same >= 0 {
				c.Blocks, rows[0], rows[1] = append(c.Blocks, block), append(rows[0], k), append(rows[1], same)
			}
		}
		if len(c.Blocks) == 0 || a.By != b.By {
			o.LeftOut = append(o.LeftOut, "the heatmaps of "+a.Signal+": the hosts have other names, or are other blocks")
			continue
		}
		for src := range c.Blocks {
			var values [3]Values
			for dst := range c.Blocks {
				va, vb := a.Mean[rows[0][src]][rows[0][dst]], b.Mean[rows[1][src]][rows[1][dst]]
				values[0], values[1], values[2] = append(values[0], va), append(values[1], vb), append(values[2], rounded(vb-va))
			}
			c.A, c.B, c.Change = append(c.A, values[0]), append(c.B, values[1]), append(c.Change, values[2])
		}
		o.Heatmaps = append(o.Heatmaps, c)
	}
}

// compareSignatures subtracts the signatures of A from those of B.
func (o *Overlay) compareSignatures(names [2]string, results [2]*Result) {
	for i := range results[0].Signatures {
		a := &results[0].Signatures[i]
		at := slices.IndexFunc(results[1].Signatures, func(b Signature) bool { return b.Variant == names[1] && b.Job == a.Job })
		if a.Variant != names[0] || at < 0 {
			continue
		}
		b := &results[1].Signatures[at]
		c := SignatureChange{Job: a.Job, BinUS: max(a.BinUS, b.BinUS), FromUS: a.FromUS, StepsA: a.StepUS, StepsB: b.StepUS}
		what := "the signature of the run"
		if a.Job != "" {
			what = "the signature of job " + a.Job
		}
		if a.FromUS != b.FromUS || !(c.BinUS > 0) {
			o.LeftOut = append(o.LeftOut, what+": the measuring windows begin at other times")
			continue
		}
		c.Bins = int(math.Ceil(max(float64(a.Bins)*a.BinUS, float64(b.Bins)*b.BinUS)/c.BinUS - 1e-9))
		for k := range a.Rows {
			row := &a.Rows[k]
			same := slices.IndexFunc(b.Rows, func(o SignatureRow) bool {
				return o.Name == row.Name && o.Tier == row.Tier && o.Direction == row.Direction && o.Ports == row.Ports
			})
			// The other ports are those that have no row of their own: the same only if those with
			// one are.
			if row.Name == "" && !slices.Equal(a.named(row), b.named(row)) {
				same = -1
			}
			if same < 0 {
				continue
			}
			va, vb := a.rebin(a.Utilisation[k], c.BinUS, c.Bins), b.rebin(b.Utilisation[same], c.BinUS, c.Bins)
			change := make(Values, c.Bins)
			for bin := range change {
				change[bin] = vb[bin] - va[bin]
			}
			c.Rows, c.A, c.B, c.Change = append(c.Rows, *row), append(c.A, va), append(c.B, vb), append(c.Change, change)
		}
		if len(c.Rows) == 0 {
			o.LeftOut = append(o.LeftOut, what+": no port has the same name")
			continue
		}
		o.Signatures = append(o.Signatures, c)
	}
}

// named returns the names of the rows of single ports of a row's tier and direction.
func (g *Signature) named(row *SignatureRow) (names []string) {
	for i := range g.Rows {
		if r := &g.Rows[i]; r.Name != "" && r.Tier == row.Tier && r.Direction == row.Direction {
			names = append(names, r.Name)
		}
	}
	return names
}

// rebin returns the cells of a row in longer bins: means weighted by time. Where there is no
// cell there is no value.
func (g *Signature) rebin(cells Percents, binUS float64, bins int) Values {
	sums, spans := make(Values, bins), make([]float64, bins)
	for i, cell := range cells {
		from, to := float64(i)*g.BinUS, float64(i+1)*g.BinUS
		for bin := max(0, int(from/binUS)); cell != NoPercent && bin < bins && float64(bin)*binUS < to; bin++ {
			if part := min(to, float64(bin+1)*binUS) - max(from, float64(bin)*binUS); part > 0 {
				sums[bin] += float64(cell) * part
				spans[bin] += part
			}
		}
	}
	for bin := range sums {
		if spans[bin] > 0 {
			sums[bin] /= spans[bin]
		} else {
			sums[bin] = math.NaN()
		}
	}
	return sums
}
