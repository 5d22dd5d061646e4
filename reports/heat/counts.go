package heat

import (
	"maps"
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
)

// counts collects the heatmaps of one variant, and what samples named before and after
// faults.
type counts struct {
	variant  *runfolder.Variant
	manifest *runfolder.Manifest
	blocks   []Block
	by       string
	cells    map[int32]int32            // flow -> cell
	own      map[uint64]map[int32]int32 // the same by seed, of runs with flows of their own
	signals  map[string]*signalCounts
	rates    map[int32]float64 // byte/s of the slowest port of a locator
	packetUS float64           // of a full packet at the most common rate of switch ports; 0: not known
	rate     float64           // byte/s; 0: switch ports have different rates
	ports    map[int32]Locator
	faulty   map[reading.RunID]reading.Sides
}

// signalCounts is the samples of one signal.
type signalCounts struct {
	rule     heavyTest
	samples  []int64 // by cell
	heavy    []int64
	sums     []float64
	locators []locatorCounts   // of heavy samples, by cell
	placed   map[uint64]*Sides // by seed
}

// locatorCounts are counts by locator. A cell has few locators.
type locatorCounts []locatorCount

type locatorCount struct {
	locator int32
	samples int64
}

func (c *locatorCounts) add(locator int32, samples int64) {
	for i := range *c {
		if (*c)[i].locator == locator {
			(*c)[i].samples += samples
			return
		}
	}
	*c = append(*c, locatorCount{locator, samples})
}

// heavyTest says which samples of a signal are of heavily loaded ports.
type heavyTest struct {
	rule      HeavyRule
	below     bool
	threshold float64 // in the unit of points
	scale     float64 // of the unit of heatmaps
	unit      string
	ofRate    bool // the threshold is a quarter of the locator's rate
}

// signalUnits are the units in which charts have the points of samples, by signal.
var signalUnits = map[string]chartUnit{"abw": unitInCharts("B/s"), "abw-c": unitInCharts("ppm"), "nqd": unitInCharts("ppm"), "delay": unitInCharts("ns")}

// chartUnit is a unit of charts, and how many of it one in the unit of points is.
type chartUnit struct {
	scale float64
	unit  string
}

// unitInCharts returns the unit that results have for points in a unit; shares are in per cent.
func unitInCharts(points string) chartUnit {
	u := meaning.SignalUnits[points]
	if u.Share {
		return chartUnit{100 / u.Per, "%"}
	}
	return chartUnit{1 / u.Per, meaning.UnitOf(u.Suffix)}
}

// newCounts prepares the counts of the variants that have CSIG.
func newCounts(r *reading.Reading) []*counts {
	m := r.Manifest
	var all []*counts
	for i := range m.Variants {
		v := &m.Variants[i]
		if v.Locators == nil && v.CSIG == "none" {
			continue
		}
		h := &counts{variant: v, manifest: m, own: map[uint64]map[int32]int32{}, signals: map[string]*signalCounts{}, faulty: r.Totals.Faulty}
		block := h.place(m.NodesOf(v.Name), m.PortsOf(v.Name))
		h.cells = h.cellsOf(m.FirstFlows(v.Name), block)
		for k := range m.Runs {
			if r := &m.Runs[k]; r.Variant == v.Name && r.Flows != nil {
				h.own[r.Seed] = h.cellsOf(r.Flows, block)
			}
		}
		h.locate(m.PortsOf(v.Name))
		all = append(all, h)
	}
	return all
}

// cellsOf returns the cells of flows. block is that of each host.
func (h *counts) cellsOf(flows []runfolder.Flow, block map[int32]int) map[int32]int32 {
	cells := make(map[int32]int32, len(flows))
	for _, f := range flows {
		src, known := block[f.Src]
		dst, reaches := block[f.Dst]
		if known && reaches {
			cells[f.Flow] = int32(src*len(h.blocks) + dst)
		}
	}
	return cells
}

// place makes the blocks and returns that of each host.
func (h *counts) place(nodes []runfolder.Node, ports []runfolder.Port) map[int32]int {
	r, block := runfolder.Racks(nodes, ports, MaxBlocks)
	h.by, h.blocks = r.By, r.Blocks
	return block
}

// locate finds where the ports of locators are, and their rates.
func (h *counts) locate(ports []runfolder.Port) {
	byName := make(map[string]*runfolder.Port, len(ports))
	for i := range ports {
		byName[ports[i].Name] = &ports[i]
	}
	h.ports, h.rates = map[int32]Locator{}, map[int32]float64{}
	common := map[int64]int{}
	if h.variant.Locators != nil {
		for _, l := range h.variant.Locators.Locators {
			at := Locator{Locator: l.Locator, Ports: l.Ports}
			for i, name := range l.Ports {
				p := byName[name]
				if p == nil || p.RateBPS <= 0 {
					continue
				}
				common[p.RateBPS]++
				if rate := float64(p.RateBPS) / 8; h.rates[l.Locator] == 0 || rate < h.rates[l.Locator] {
					h.rates[l.Locator] = rate
				}
				switch {
				case i == 0:
					at.Tier, at.Direction = p.Tier, p.Direction
				default:
					if at.Tier != p.Tier {
						at.Tier = ""
					}
					if at.Direction != p.Direction {
						at.Direction = ""
					}
				}
			}
			h.ports[l.Locator] = at
		}
	}
	best := int64(0)
	for rate, n := range common {
		if n > common[best] || n == common[best] && rate > best {
			best = rate
		}
	}
	if best > 0 {
		h.packetUS = float64(h.variant.MTU+h.variant.Overhead) * 8e6 / float64(best)
	}
	if len(common) == 1 {
		h.rate = float64(best) / 8
	}
}

// test returns how the samples of a signal are judged. It reports whether the signal is
// known.
func (h *counts) test(signal string) (heavyTest, bool) {
	u, known := signalUnits[signal]
	t := heavyTest{scale: u.scale, unit: u.unit}
	switch signal {
	case "abw":
		t.rule, t.below, t.threshold, t.ofRate = HeavyRatio, true, (1-reading.HeavyShare)*h.rate, true
	case "abw-c":
		t.rule, t.below, t.threshold = HeavyRatio, true, (1-reading.HeavyShare)*1e6
	case "nqd":
		t.rule, t.threshold = HeavyQueue, 0.25e6
	case "delay":
		t.rule, t.threshold = HeavyPackets, 2.5*h.packetUS*1000
		for _, c := range h.variant.Constants {
			if c.Name == "target_qdelay_us" && c.Value > 0 {
				t.rule, t.threshold = HeavyTarget, c.Value*1000
			}
		}
	default:
		return h.moduleTest(signal)
	}
	return t, known
}

// moduleTest is test of a signal that a module has registered.
func (h *counts) moduleTest(signal string) (t heavyTest, known bool) {
	for _, s := range h.manifest.ModuleSignals {
		if _, ok := meaning.SignalUnits[s.Unit]; ok && s.Name == signal {
			u := unitInCharts(s.Unit)
			return heavyTest{rule: HeavyModule, below: s.Least, threshold: s.Heavy, scale: u.scale, unit: u.unit}, true
		}
	}
	return t, false
}

// signal takes a row of the variant that began in the measuring window.
func (h *counts) signal(row *runfolder.SignalRow) {
	if row.Samples <= 0 {
		return
	}
	cells, ok := h.own[row.Seed]
	if !ok {
		cells = h.cells
	}
	cell, ok := cells[row.Flow]
	if !ok {
		return
	}
	s := h.signals[row.Type]
	if s == nil {
		rule, known := h.test(row.Type)
		if !known {
			return
		}
		n := len(h.blocks) * len(h.blocks)
		s = &signalCounts{rule: rule, samples: make([]int64, n), heavy: make([]int64, n), sums: make([]float64, n), locators: make([]locatorCounts, n), placed: map[uint64]*Sides{}}
		h.signals[row.Type] = s
	}
	side := 0
	if f, ok := h.faulty[reading.RunID{Variant: row.Variant, Seed: row.Seed}]; ok {
		side = f.Of(row.StartUS, row.WindowUS)
	}
	sides := s.placed[row.Seed]
	if sides == nil {
		sides = &Sides{Heavy: [3]map[int32]int64{{}, {}, {}}}
		s.placed[row.Seed] = sides
	}
	s.samples[cell] += row.Samples
	s.sums[cell] += float64(row.PointSum)
	sides.All[reading.BothSides] += row.Samples
	if side != reading.BothSides {
		sides.All[side] += row.Samples
	}
	if row.Locator == 0 || !s.rule.heavy(float64(row.PointSum)/float64(row.Samples), h.rates[row.Locator]) {
		return // no hop wrote what locator 0 has
	}
	s.heavy[cell] += row.Samples
	s.locators[cell].add(row.Locator, row.Samples)
	sides.Heavy[reading.BothSides][row.Locator] += row.Samples
	if side != reading.BothSides {
		sides.Heavy[side][row.Locator] += row.Samples
	}
}

// heavy reports whether samples with this mean are of a heavily loaded port with a rate in
// byte/s.
func (t *heavyTest) heavy(mean, rate float64) bool {
	threshold := t.threshold
	if t.ofRate {
		threshold = (1 - reading.HeavyShare) * rate
	}
	if t.below {
		return mean <= threshold
	}
	return mean > threshold
}

func (h *counts) locator(locator int32) Locator {
	if l, ok := h.ports[locator]; ok {
		return l
	}
	return unknown(locator)
}

// result returns the heatmaps after the last row, in the order of the manifest's signals.
func (h *counts) result() []Heatmap {
	var all []Heatmap
	n := len(h.blocks)
	for _, name := range h.manifest.Signals {
		s := h.signals[name]
		if s == nil || slices.ContainsFunc(all, func(m Heatmap) bool { return m.Signal == name }) {
			continue
		}
		m := Heatmap{Variant: h.variant.Name, Signal: name, Seeds: len(s.placed), Unit: s.rule.unit, Blocks: h.blocks, By: h.by,
			Threshold: reading.Rounded(s.rule.threshold * s.rule.scale), Below: s.rule.below, Rule: s.rule.rule, Locators: []Locator{}}
		modal, cells := make([]int32, n*n), map[int32]int{}
		for c := range modal {
			if modal[c] = s.locators[c].mode(); s.heavy[c] < LeastSamples {
				modal[c] = 0
			}
			if modal[c] != 0 {
				cells[modal[c]]++
			}
		}
		index := map[int32]int{}
		for _, locator := range slices.Sorted(maps.Keys(cells)) {
			l := h.locator(locator)
			l.Cells = cells[locator]
			index[locator] = len(m.Locators)
			m.Locators = append(m.Locators, l)
		}
		for src := range n {
			mean, share, at := make(reading.Values, n), make(reading.Values, n), make([]int, n)
			for dst := range n {
				c := src*n + dst
				mean[dst], share[dst], at[dst] = math.NaN(), math.NaN(), -1
				if s.samples[c] >= LeastSamples {
					mean[dst] = reading.Rounded(s.sums[c] / float64(s.samples[c]) * s.rule.scale)
				}
				if modal[c] != 0 {
					at[dst] = index[modal[c]]
					share[dst] = reading.Rounded(float64(s.locators[c].of(modal[c])) / float64(s.heavy[c]))
				}
			}
			m.Samples, m.Heavy = append(m.Samples, s.samples[src*n:(src+1)*n]), append(m.Heavy, s.heavy[src*n:(src+1)*n])
			m.Mean, m.Share, m.Modal = append(m.Mean, mean), append(m.Share, share), append(m.Modal, at)
		}
		all = append(all, m)
	}
	return all
}

// mode returns the locator with the most samples, of equals the lowest; 0 without any.
func (c locatorCounts) mode() int32 {
	var best locatorCount
	for _, l := range c {
		if l.samples > best.samples || l.samples == best.samples && l.locator < best.locator {
			best = l
		}
	}
	return best.locator
}

func (c locatorCounts) of(locator int32) int64 {
	for _, l := range c {
		if l.locator == locator {
			return l.samples
		}
	}
	return 0
}
