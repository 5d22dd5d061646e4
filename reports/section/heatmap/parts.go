package heatmap

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/heat"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// Parts implements section.Section: one part, whose first figure is of the heatmap that it
// speaks of.
func (s *Section) Parts() []section.Part {
	if len(s.Heatmaps) == 0 {
		return nil
	}
	told := max(0, slices.IndexFunc(s.Heatmaps, func(h heat.Heatmap) bool { return h.Variant == s.r.Told }))
	p := section.Part{ID: "heatmap", Title: "Congestion " + between(&s.Heatmaps[told]) + ", as CSIG samples it"}
	p.Says, p.Level = s.says(&s.Heatmaps[told])
	order := []int{told}
	for i := range s.Heatmaps {
		if i != told && len(order) < phrases.MaxOfAKind {
			order = append(order, i)
		}
	}
	var figures []section.Block
	for _, i := range order {
		figures = append(figures, s.figure(&s.Heatmaps[i]))
	}
	last := figures[len(figures)-1].(*chart.Figure)
	last.Caption += phrases.LeftOut(len(s.Heatmaps), len(figures))
	p.Blocks = figures[:1]
	if len(figures) > 1 {
		p.Blocks = append(p.Blocks[:1:1], section.Fold{Title: "Of other variants and signals", Blocks: figures[1:]})
	}
	return []section.Part{p}
}

// between says what the rows and columns of a heatmap are.
func between(h *heat.Heatmap) string {
	if h.By == "tor" || h.By == "tors" {
		return "between racks"
	}
	return "between hosts"
}

// leastCells is the number of cells that name a port from which on a matrix says more than a
// sentence.
const leastCells = 12

// says names the port that most samples of heavily loaded ports name.
func (s *Section) says(h *heat.Heatmap) (text string, level section.Level) {
	named, heavy, all := map[int32]int64{}, int64(0), int64(0)
	for _, side := range s.samples.Sides(h.Variant, h.Signal) {
		all += side.All[reading.BothSides]
		for locator, n := range side.Heavy[reading.BothSides] {
			named[locator] += n
			heavy += n
		}
	}
	in := phrases.In(&s.r.Facts, words.Clipped(h.Variant))
	if heavy == 0 {
		return "No sample names a heavily loaded port" + in + ".", section.Quiet
	}
	most := slices.MaxFunc(slices.Sorted(maps.Keys(named)), func(a, b int32) int { return cmp.Compare(named[a], named[b]) })
	cells := 0
	for i := range h.Locators {
		cells += h.Locators[i].Cells
	}
	if cells >= leastCells {
		level = section.Plain
	}
	return fmt.Sprintf("%s of the samples are of heavily loaded ports%s; %s of these name %s.", words.Percent(float64(heavy)/float64(all)), in,
		words.Percent(float64(named[most])/float64(heavy)), phrases.Arrow(phrases.Shared(&s.r.Facts, s.samples.Locator(h.Variant, most).Ports))), level
}

// Signal is how a signal is named in titles. Where Low is set, small values are those of a
// loaded path.
type Signal struct {
	Name string
	Low  bool
}

var signals = map[string]Signal{
	"abw":   {"available bandwidth", true},
	"abw-c": {"available bandwidth, as a share of the link's rate", true},
	"delay": {"delay per hop", false},
	"nqd":   {"queue, as a share of its scale", false},
}

// SignalOf returns how a signal is named. below says whether small values are those of a loaded
// path, of a signal that is not this program's.
func SignalOf(signal string, below bool) Signal {
	if s, known := signals[signal]; known {
		return s
	}
	return Signal{words.Clipped(signal), below}
}

// Matrix returns a drawing from each block of hosts to each. The caller adds the cells and what
// their values are.
func Matrix(name string, blocks []heat.Block) *chart.Matrix {
	m := &chart.Matrix{Name: name, Corner: "from ↓, to →"}
	for _, b := range blocks {
		m.Names = append(m.Names, b.Name)
	}
	return m
}

// figure draws what the samples were, and which port they named.
func (s *Section) figure(h *heat.Heatmap) *chart.Figure {
	signal := SignalOf(h.Signal, h.Below)
	d := newDrawing(&s.r.Facts, h, signal)
	f := &chart.Figure{ID: fmt.Sprintf("heatmap-%s-%s", words.ID(h.Variant), words.ID(h.Signal)), Columns: 2,
		Title: words.Capital(between(h)) + ": CSIG's " + signal.Name + phrases.In(&s.r.Facts, words.Clipped(h.Variant))}
	block := map[string]string{"tor": "the hosts below one ToR", "tors": "the hosts below several ToRs"}[h.By]
	f.Caption = fmt.Sprintf("Rows are sources, columns destinations; each stands for %s. Left: the mean of the samples; a cell with fewer than %d samples is empty. Right: the letter and the colour name the port that most samples of heavily loaded ports named; heavily loaded: %s.",
		cmp.Or(block, "hosts"), heat.LeastSamples, heavyText(h))
	f.Legend = d.legend()
	seeds := "One seed"
	if h.Seeds != 1 {
		seeds = fmt.Sprintf("All %d seeds", h.Seeds)
	}
	f.Panels = []chart.Panel{
		{Title: "Mean of the samples (" + h.Unit + ")", Subtitle: seeds, Variant: h.Variant, Chart: d.mean(signal.Name)},
		{Title: "Port that was named most often", Subtitle: fmt.Sprintf("%s of %s samples are of heavily loaded ports", words.Number(float64(sum(h.Heavy))), words.Number(float64(sum(h.Samples)))), Variant: h.Variant, Chart: d.modal()},
	}
	return f
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
func heavyText(h *heat.Heatmap) string {
	side := "more than"
	if h.Below {
		side = "at most"
	}
	value := fmt.Sprintf("%s %s", words.Number(h.Threshold), h.Unit)
	switch h.Rule {
	case heat.HeavyTarget:
		return fmt.Sprintf("%s %s, the delay that congestion control aims at", side, value)
	case heat.HeavyPackets:
		return fmt.Sprintf("%s %s, the time of two and a half packets", side, value)
	case heat.HeavyQueue:
		return "a queue that is a quarter full or more"
	case heat.HeavyModule:
		return fmt.Sprintf("%s %s, as the module of the signal says", side, strings.TrimSpace(value))
	}
	return "at most a quarter of the rate is available"
}

// drawing draws one heatmap.
type drawing struct {
	*heat.Heatmap
	f    *reading.Facts
	low  bool
	to   float64        // end of the scale, which begins at 0
	code map[int]string // of a locator's index, in its cells
	rank []int          // of a locator's index: those of most cells first
}

func newDrawing(f *reading.Facts, h *heat.Heatmap, signal Signal) *drawing {
	d := &drawing{Heatmap: h, f: f, low: signal.Low, to: 100, code: map[int]string{}, rank: make([]int, len(h.Locators))}
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
	for rank, i := range d.order() {
		d.rank[i] = rank
		switch { // A to Z, then a to z, then numbers
		case rank < 26:
			d.code[i] = string(rune('A' + rank))
		case rank < 52:
			d.code[i] = string(rune('a' + rank - 26))
		default:
			d.code[i] = fmt.Sprint(rank - 51)
		}
	}
	return d
}

// order returns the indexes of locators, those of most cells first.
func (d *drawing) order() []int {
	order := make([]int, len(d.Locators))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(d.Locators[b].Cells, d.Locators[a].Cells) })
	return order
}

// colours are those of places by rank. Further ones share the last.
var colours = []chart.Paint{chart.Action(4), chart.Action(2), chart.Action(1), chart.Action(3), chart.Action(5), chart.Action(0)}

func (d *drawing) colour(locator int) chart.Paint {
	return colours[min(d.rank[locator], len(colours)-1)]
}

func (d *drawing) mean(signal string) *chart.Matrix {
	m := Matrix("Mean "+signal+", "+d.Variant, d.Blocks)
	m.Value = chart.Scaling{Name: "Mean", Unit: d.Unit, Max: d.to}
	m.Cell = func(i, k int) chart.Cell {
		v := d.Mean[i][k]
		c := chart.Cell{Value: v, Few: d.Samples[i][k] > 0, Tip: fmt.Sprintf("%d samples", d.Samples[i][k])}
		if math.IsNaN(v) {
			return c
		}
		share := v / d.to
		if d.low { // dark is a loaded path
			share = 1 - share
		}
		c.Paint, c.Text = chart.Scale(chart.LevelOf(share)), words.Number(math.Round(v*10)/10)
		c.Tip = fmt.Sprintf("%s %s, %s samples", words.Number(v), d.Unit, words.Number(float64(d.Samples[i][k])))
		return c
	}
	return m
}

func (d *drawing) modal() *chart.Matrix {
	m := Matrix("Port named most often among heavily loaded ones, "+d.Variant, d.Blocks)
	m.Value = chart.Scaling{Name: "Named most often"}
	for i := range d.Locators {
		m.Values = append(m.Values, words.Clipped(d.code[i]+" "+phrases.Shared(d.f, d.Locators[i].Ports)))
	}
	m.Cell = func(i, k int) chart.Cell {
		at := d.Modal[i][k]
		if at < 0 || at >= len(d.Locators) {
			return chart.Cell{Value: math.NaN(), Few: d.Samples[i][k] > 0, Tip: fmt.Sprintf("%d samples of heavily loaded ports", d.Heavy[i][k])}
		}
		return chart.Cell{Value: float64(at), Paint: d.colour(at), Text: d.code[at],
			Tip: fmt.Sprintf("%s: %s of %s samples of heavily loaded ports", phrases.Shared(d.f, d.Locators[at].Ports), words.Percent(d.Share[i][k]), words.Number(float64(d.Heavy[i][k])))}
	}
	return m
}

// maxKeys is how many ports the legend names.
const maxKeys = 12

func (d *drawing) legend() []chart.Key {
	keys := chart.ScaleKeys(d.scale(0)+" "+d.Unit, func(from, to float64) string {
		if d.low {
			from, to = to, from
		}
		return fmt.Sprintf("%s to %s %s", d.scale(from), d.scale(to), d.Unit)
	})
	for rank, i := range d.order() {
		if rank == maxKeys {
			return append(keys, chart.Key{Name: fmt.Sprintf("%d other ports, named in the JSON form of this report", len(d.Locators)-rank), Fills: colours[len(colours)-1:], Text: "…"})
		}
		l := &d.Locators[i]
		name := words.Clipped(phrases.Shared(d.f, l.Ports))
		if tier := phrases.Tier(l.Tier, l.Direction); tier != "" {
			name += " (" + tier + ")"
		}
		keys = append(keys, chart.Key{Name: name + ", " + words.Plural(l.Cells, "cell"), Fills: []chart.Paint{d.colour(i)}, Text: d.code[i]})
	}
	return keys
}

// scale returns the value at a share of the scale.
func (d *drawing) scale(share float64) string {
	if d.low {
		share = 1 - share
	}
	return words.Number(math.Round(share*d.to*10) / 10)
}
