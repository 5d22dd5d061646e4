package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/heat"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section/completion"
	"github.com/csiglab/csiglab/reports/section/control"
	"github.com/csiglab/csiglab/reports/section/heatmap"
	"github.com/csiglab/csiglab/reports/section/queues"
	"github.com/csiglab/csiglab/reports/section/rates"
	"github.com/csiglab/csiglab/reports/section/signature"
	"github.com/csiglab/csiglab/reports/series"
)

// Overlay has what figures need that show one variant of a run folder and one of another,
// or of the same, over each other.
type Overlay struct {
	// Facts are those that figures need: the two variants have the names of the two sides, and
	// Limits are the ports of Charts.
	reading.Facts
	Charts     []series.Chart // whose panels hold both sides
	Heatmaps   []HeatmapChange
	Signatures []SignatureChange
	LeftOut    []string // what cannot be laid over each other, and why

	side string // what sentences call B; "": B
}

func (o *Overlay) named() string { return cmp.Or(o.side, "B") }

// VariantPair names the variants of an Overlay, and the two sides in its legends.
type VariantPair struct {
	A, B           string
	LabelA, LabelB string

	side string // see Overlay
}

// HeatmapChange is the difference of two heatmaps of one signal, B minus A, by blocks of
// hosts that both have.
type HeatmapChange struct {
	Signal string
	Unit   string // as heat.Heatmap.Unit
	By     string
	Blocks []heat.Block
	// A and B are the means, Change is B minus A; NaN where either has less than
	// heat.LeastSamples.
	A, B, Change []reading.Values
}

// SignatureChange is the difference of two signatures, B minus A, in points of
// utilisation, by rows and bins that both have.
type SignatureChange struct {
	Job            string // "": the run
	BinUS, FromUS  float64
	Bins           int
	Rows           []signature.Row
	A, B, Change   []reading.Values // per cent
	StepsA, StepsB reading.Spread   // lengths in µs
}

// side is a folder while it is read.
type side struct {
	*reading.Reading
	charts     *series.Collection
	signatures *signature.Section
	heatmaps   *heatmap.Section

	laid []series.Chart // when all is read
}

func openSide(f *runfolder.Folder, of meaning.Of) (*side, error) {
	r, err := reading.Open(f, of)
	if err != nil {
		return nil, err
	}
	s := &side{Reading: r, charts: series.NewCollection(r, kinds()...), signatures: signature.New(r).(*signature.Section), heatmaps: heatmap.New(r).(*heatmap.Section)}
	if err := r.Survey(s.charts, s.signatures, s.heatmaps); err != nil {
		return nil, err
	}
	s.charts.Ports = slices.Clone(r.Limits)
	return s, nil
}

func (s *side) finish() error {
	if err := s.Finish(s.charts, s.signatures, s.heatmaps); err != nil {
		return err
	}
	s.laid = s.charts.Charts()
	if err := s.signatures.Settle(); err != nil {
		return err
	}
	return s.heatmaps.Settle()
}

// kinds are the charts that compare variants, and those of overlays alone.
func kinds() []series.Kind {
	all := []series.Kind{rates.Slowest, completion.FCT, completion.Slowdown, queues.Queues, control.Window, {ID: busyChart, Unit: "%", Compare: busyOverTime}}
	for _, signal := range []string{"abw", "abw-c", "delay", "nqd"} {
		unit, points := heat.Unit(signal)
		all = append(all, series.Kind{ID: signalChart + signal, Unit: unit, Compare: func(s *series.Scope) series.Collector { return signalOverTime(s, signal, points) }})
	}
	return all
}

// IDs of charts of overlays. The name of the signal follows signalChart, and that of the job
// stepsChart, of which a point stands for a step.
const (
	busyChart   = "busy"
	signalChart = "signal-"
	stepsChart  = "steps-"
)

// busyOverTime collects the share of the time in which the lines of ports were busy.
func busyOverTime(s *series.Scope) series.Collector {
	c := s.OfPorts(func(r *runfolder.PortRow) float64 { return 100 * r.BusyUS() / s.PointUS })
	all := c.Panels
	c.Panels = func() []series.Panel {
		panels := all()
		for _, p := range panels {
			for i, busy := range p.Lines[0].Values {
				p.Lines[0].Values[i] = min(busy, 100) // a frame that began in one window ends in the next
			}
		}
		return panels
	}
	return c
}

// signalOverTime collects the mean of the CSIG samples of all flows of one signal, of whose
// unit a point is so many.
func signalOverTime(s *series.Scope, signal string, points float64) series.Collector {
	var sums, samples series.Track
	return series.Collector{
		Signal: func(r *runfolder.SignalRow) {
			if point := s.Point(r.StartUS); r.Type == signal && r.Samples > 0 && point >= 0 && point < math.MaxInt32 {
				sums.Add(point, float64(r.PointSum)*points)
				samples.Add(point, float64(r.Samples))
			}
		},
		Panels: func() []series.Panel {
			if len(sums.Sums) == 0 {
				return nil
			}
			values := make(reading.Values, len(sums.Sums))
			for i := range values {
				values[i] = math.NaN()
				if n := samples.At(sums.First + i); n > 0 {
					values[i] = sums.Sums[i] / n
				}
			}
			return []series.Panel{{Lines: []series.Line{{First: sums.First, Values: values}}}}
		},
	}
}

// ReadOverlays reads two run folders, which may be one, and lays variants over each other.
// Errors wrap runfolder.ErrDamaged when a table cannot be read.
func ReadOverlays(a, b *runfolder.Folder, of meaning.Of, pairs []VariantPair) ([]Overlay, error) {
	overlays, err := readOverlays(a, b, of, pairs)
	if err != nil {
		return nil, fmt.Errorf("analyse runs: %w", err)
	}
	return overlays, nil
}

func readOverlays(a, b *runfolder.Folder, of meaning.Of, pairs []VariantPair) ([]Overlay, error) {
	var sides [2]*side
	for i, f := range []*runfolder.Folder{a, b} {
		var err error
		if sides[i], err = openSide(f, of); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Dir, err)
		}
	}
	agree(&sides, pairs)
	for _, s := range sides {
		if err := s.finish(); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Folder.Dir, err)
		}
	}
	var overlays []Overlay
	for _, p := range pairs {
		overlays = append(overlays, newOverlay(p, sides))
	}
	return overlays, nil
}

// agree gives both sides the same points of time, the same ports and the same flow in charts,
// and tells each which ports of the other one were busy.
func agree(sides *[2]*side, pairs []VariantPair) {
	point := max(sides[0].PointUS, sides[1].PointUS)
	for i, s := range sides {
		s.PointUS = point
		for k := range sides[1-i].Limits {
			name := phrases.Port(&sides[1-i].Limits[k].Place)
			same := func(p reading.Port) bool { return phrases.Port(&p.Place) == name }
			if at := slices.IndexFunc(s.Ports, same); at >= 0 && !slices.ContainsFunc(s.charts.Ports, same) {
				s.charts.Ports = append(s.charts.Ports, s.Ports[at])
			}
		}
		s.Elsewhere = map[string]map[string]float64{}
		for _, p := range pairs {
			own, other := p.A, p.B
			if i == 1 {
				own, other = p.B, p.A
			}
			s.Elsewhere[own] = busyByName(sides[1-i].Reading, other)
		}
	}
	if slices.ContainsFunc(sides[1].Flows, func(f runfolder.Flow) bool { return f.Name == sides[0].Slowest }) {
		sides[1].Slowest = sides[0].Slowest
	}
}

// busyByName returns how long the ports were busy in the run that charts show, in µs.
func busyByName(r *reading.Reading, variant string) map[string]float64 {
	ports, busy := r.Totals.Ports[r.ShownRun(variant)], map[string]float64{}
	for _, p := range reading.PlacesOf(r.Manifest, variant) {
		if sums := ports[p.PortID]; sums != nil {
			busy[p.Name()] = sums.BusyUS
		}
	}
	return busy
}

// newOverlay lays two variants over each other.
func newOverlay(p VariantPair, sides [2]*side) Overlay {
	o := Overlay{Facts: reading.Facts{Name: sides[0].Name, Setup: sides[0].Setup, PointUS: sides[0].PointUS, Slowest: sides[0].Slowest}, side: p.side}
	if m := sides[1].Setup.Measure; m != o.Setup.Measure {
		o.Setup.Measure = runfolder.Window{} // no span is shaded
	}
	names, labels := [2]string{p.A, p.B}, [2]string{p.LabelA, p.LabelB}
	ids := map[string]reading.PortID{} // of ports in the overlay
	for i, s := range sides {
		if at := s.Variant(names[i]); at >= 0 {
			v := s.Variants[at]
			v.Name = labels[i]
			o.Variants = append(o.Variants, v)
		}
		for _, port := range s.charts.Ports {
			use, ok := port.In(names[i])
			if !ok {
				continue
			}
			use.Variant = labels[i]
			name := phrases.Port(&port.Place)
			id, known := ids[name]
			if !known {
				id = reading.PortID{Node: int32(len(ids))}
				ids[name] = id
				port.PortID, port.Use, port.Lost = id, nil, nil
				o.Limits = append(o.Limits, port)
			}
			own := &o.Limits[slices.IndexFunc(o.Limits, func(p reading.Port) bool { return p.PortID == id })]
			own.Use = append(own.Use, use)
			own.Full = own.Full || use.Utilisation > reading.FullShare
		}
	}
	o.layCharts(names, labels, sides, ids)
	o.laySteps(names, labels, [2][]signature.Signature{sides[0].signatures.Signatures, sides[1].signatures.Signatures})
	o.compareHeatmaps(names, [2][]heat.Heatmap{sides[0].heatmaps.Heatmaps, sides[1].heatmaps.Heatmaps})
	o.compareSignatures(names, [2][]signature.Signature{sides[0].signatures.Signatures, sides[1].signatures.Signatures})
	return o
}

// layCharts puts the lines of both sides into one panel.
func (o *Overlay) layCharts(names, labels [2]string, sides [2]*side, ids map[string]reading.PortID) {
	type key struct {
		flow string
		port reading.PortID
	}
	for _, kind := range kinds() {
		c := series.Chart{ID: kind.ID, Unit: kind.Unit}
		index := map[key]int{}
		for i, s := range sides {
			own := series.Find(s.laid, kind.ID)
			if own == nil {
				continue
			}
			for _, p := range own.Panels {
				line := slices.IndexFunc(p.Lines, func(l series.Line) bool { return l.Variant == names[i] })
				if line < 0 || p.Flow != "" && p.Flow != o.Slowest {
					continue
				}
				k, panel := key{flow: p.Flow, port: reading.PortID{Node: -1, Port: -1}}, series.Panel{Flow: p.Flow}
				if p.Port != nil {
					port := slices.IndexFunc(s.charts.Ports, func(q reading.Port) bool { return q.PortID == *p.Port })
					if port < 0 {
						continue
					}
					k.port = ids[phrases.Port(&s.charts.Ports[port].Place)]
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
func (o *Overlay) laySteps(names, labels [2]string, signatures [2][]signature.Signature) {
	index := map[string]int{}
	for i := range signatures {
		for k := range signatures[i] {
			s := &signatures[i][k]
			if s.Variant != names[i] || s.Job == "" || len(s.StepTimesUS) == 0 {
				continue
			}
			at, ok := index[s.Job]
			if !ok {
				at = len(o.Charts)
				index[s.Job] = at
				o.Charts = append(o.Charts, series.Chart{ID: stepsChart + s.Job, Unit: "µs", Panels: []series.Panel{{}}})
			}
			o.Charts[at].Panels[0].Lines = append(o.Charts[at].Panels[0].Lines, series.Line{Variant: labels[i], Values: s.StepTimesUS})
		}
	}
}
