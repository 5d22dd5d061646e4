package analysis

import (
	"maps"
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Bounds of a heatmap.
const (
	// HeatmapBlocks is how many blocks of hosts a heatmap has at most on either axis.
	HeatmapBlocks = 64
	// HeatmapSamples is the number of samples below which a cell is empty.
	HeatmapSamples = 20
)

// Heatmap says what the CSIG samples of the traffic between blocks of hosts were, and
// which port they named. It is of one variant and signal, over all seeds and the measuring
// window. The cell of source block i and destination block k is at [i][k].
type Heatmap struct {
	Variant string `json:"variant"`
	Signal  string `json:"signal"` // such as abw-c
	Seeds   int    `json:"seeds"`
	// Unit is that of Mean and of Threshold: Gb/s of abw, % of abw-c and nqd, µs of delay.
	Unit   string  `json:"unit"`
	Blocks []Block `json:"blocks"`
	// By is what a block is: "tor" the hosts below one ToR, "tors" those below several ToRs
	// that follow each other, or "hosts" hosts that follow each other, in fabrics whose hosts
	// are below no ToR.
	By string `json:"by"`
	// Samples are counts. Mean is the mean of the samples; null where there are less than
	// HeatmapSamples.
	Samples [][]int64 `json:"samples"`
	Mean    []Values  `json:"mean"`
	// Heavy counts the samples of heavily loaded ports: those of telemetry windows whose mean
	// is on the side of Threshold that Below says. Rule says in words where the threshold
	// comes from: see HeavyRule. Of signal abw Threshold is 0 if the rates of ports differ.
	Heavy     [][]int64 `json:"heavy"`
	Threshold float64   `json:"threshold"`
	Below     bool      `json:"below"`
	Rule      HeavyRule `json:"rule"`
	// Modal has, by cell, the index in Locators of the locator that most samples of Heavy
	// name, of equals the lower locator; -1 where Heavy is less than HeatmapSamples. Share is
	// the share of Heavy that names it, null there.
	Modal    [][]int       `json:"modal"`
	Share    []Values      `json:"share"`
	Locators []HeatLocator `json:"locators"` // ascending: those of Modal
}

// Block is hosts that follow each other.
type Block struct {
	Name  string `json:"name"` // of its ToR, or of the first and the last ToR, or host
	Hosts int    `json:"hosts"`
}

// HeatLocator is a locator and the ports it stands for: one, or several that share it. A
// sample does not say which of these wrote it.
type HeatLocator struct {
	Locator   int32    `json:"locator"`
	Ports     []string `json:"ports"`
	Tier      string   `json:"tier"`      // that all of them have; "" if they differ
	Direction string   `json:"direction"` // likewise
	Cells     int      `json:"cells"`     // of which it is the modal one
}

// HeavyRule says when samples count as those of heavily loaded ports.
type HeavyRule string

// Rules.
const (
	// HeavyRatio: at most a quarter of the port's rate is available. Of signal abw the rate
	// is that of the port that the locator names.
	HeavyRatio HeavyRule = "a quarter of the rate"
	// HeavyTarget: the delay is above the queueing delay that the variant's congestion
	// control aims at.
	HeavyTarget HeavyRule = "target"
	// HeavyPackets: the delay is above the time in which the port sends 2.5 full packets,
	// which is the mean time that packets stay in a queue of random arrivals (M/D/1) whose
	// line is used to three quarters.
	HeavyPackets HeavyRule = "two and a half packets"
	// HeavyQueue: the queue is a quarter full, on the scale of the signal.
	HeavyQueue HeavyRule = "a quarter of the queue"
	// HeavyModule: the module that has registered the signal says so.
	HeavyModule HeavyRule = "as its module says"
)

// heatReader collects the heatmaps of one variant, and what samples named before and after
// faults, in the second pass.
type heatReader struct {
	variant  *runfolder.Variant
	index    int
	manifest *runfolder.Manifest
	blocks   []Block
	by       string
	cells    map[int32]int32            // flow -> cell
	own      map[uint64]map[int32]int32 // the same by seed, of runs with flows of their own
	seeds    map[uint64]bool
	signals  map[string]*heatSignal
	rates    map[int32]float64 // byte/s of the slowest port of a locator
	packetUS float64           // of a full packet at the most common rate of switch ports; 0: not known
	rate     float64           // byte/s; 0: switch ports have different rates
	ports    map[int32]HeatLocator
	faulty   map[run]sides
	interval float64
}

// heatSignal is the samples of one signal.
type heatSignal struct {
	rule     heavyTest
	samples  []int64 // by cell
	heavy    []int64
	sums     []float64
	locators []locatorCounts        // of heavy samples, by cell
	placed   map[uint64]*sideCounts // by seed
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

// sideCounts are the samples of one seed by side of a fault: all, and those of heavily
// loaded ports by locator.
type sideCounts struct {
	all   [3]int64
	heavy [3]map[int32]int64
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

// newHeatReaders prepares the heatmaps of the variants that have CSIG.
func newHeatReaders(t *totals) []*heatReader {
	m := t.manifest
	var all []*heatReader
	for i := range m.Variants {
		v := &m.Variants[i]
		if v.Locators == nil && v.CSIG == "none" {
			continue
		}
		h := &heatReader{variant: v, index: i, manifest: m, own: map[uint64]map[int32]int32{}, seeds: map[uint64]bool{}, signals: map[string]*heatSignal{}, faulty: t.faulty, interval: m.IntervalUS}
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
func (h *heatReader) cellsOf(flows []runfolder.Flow, block map[int32]int) map[int32]int32 {
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
func (h *heatReader) place(nodes []runfolder.Node, ports []runfolder.Port) map[int32]int {
	name, host := map[int32]string{}, map[int32]bool{}
	for _, n := range nodes {
		name[n.Node], host[n.Node] = n.Name, n.Kind == runfolder.KindHost
	}
	above := map[int32]int32{} // first switch of a host
	for _, p := range ports {
		if _, known := above[p.Node]; host[p.Node] && !known && !host[p.Peer] {
			above[p.Node] = p.Peer
		}
	}
	// One after the other: hosts by their first switch, where there are several switches.
	var keys []int32
	members := map[int32][]int32{}
	h.by = "tor"
	for _, n := range nodes {
		if !host[n.Node] {
			continue
		}
		tor, ok := above[n.Node]
		if !ok {
			h.by = "hosts"
		}
		if len(members[tor]) == 0 {
			keys = append(keys, tor)
		}
		members[tor] = append(members[tor], n.Node)
	}
	if len(keys) < 2 {
		h.by = "hosts"
	}
	if h.by == "hosts" {
		keys = keys[:0]
		clear(members)
		for _, n := range nodes {
			if host[n.Node] {
				keys = append(keys, n.Node)
				members[n.Node] = []int32{n.Node}
			}
		}
	}
	per := (len(keys) + HeatmapBlocks - 1) / HeatmapBlocks
	if per > 1 && h.by == "tor" {
		h.by = "tors"
	}
	block := map[int32]int{}
	for i := 0; i < len(keys); i += per {
		chunk := keys[i:min(i+per, len(keys))]
		b := Block{Name: name[chunk[0]]}
		if last := chunk[len(chunk)-1]; last != chunk[0] {
			b.Name += "–" + name[last]
		}
		for _, k := range chunk {
			for _, n := range members[k] {
				block[n] = len(h.blocks)
				b.Hosts++
			}
		}
		h.blocks = append(h.blocks, b)
	}
	return block
}

// locate finds where the ports of locators are, and their rates.
func (h *heatReader) locate(ports []runfolder.Port) {
	byName := make(map[string]*runfolder.Port, len(ports))
	for i := range ports {
		byName[ports[i].Name] = &ports[i]
	}
	h.ports, h.rates = map[int32]HeatLocator{}, map[int32]float64{}
	common := map[int64]int{}
	if h.variant.Locators != nil {
		for _, l := range h.variant.Locators.Locators {
			at := HeatLocator{Locator: l.Locator, Ports: l.Ports}
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
func (h *heatReader) test(signal string) (heavyTest, bool) {
	u, known := signalUnits[signal]
	t := heavyTest{scale: u.scale, unit: u.unit}
	switch signal {
	case "abw":
		t.rule, t.below, t.threshold, t.ofRate = HeavyRatio, true, (1-heavyShare)*h.rate, true
	case "abw-c":
		t.rule, t.below, t.threshold = HeavyRatio, true, (1-heavyShare)*1e6
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
func (h *heatReader) moduleTest(signal string) (t heavyTest, known bool) {
	for _, s := range h.manifest.ModuleSignals {
		if _, ok := meaning.SignalUnits[s.Unit]; ok && s.Name == signal {
			u := unitInCharts(s.Unit)
			return heavyTest{rule: HeavyModule, below: s.Least, threshold: s.Heavy, scale: u.scale, unit: u.unit}, true
		}
	}
	return t, false
}

// signal takes a row of the variant that began in the measuring window.
func (h *heatReader) signal(row *runfolder.SignalRow) {
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
		s = &heatSignal{rule: rule, samples: make([]int64, n), heavy: make([]int64, n), sums: make([]float64, n), locators: make([]locatorCounts, n), placed: map[uint64]*sideCounts{}}
		h.signals[row.Type] = s
	}
	side := 0
	if f, ok := h.faulty[run{row.Variant, row.Seed}]; ok {
		side = f.of(row.StartUS, h.interval)
	}
	counts := s.placed[row.Seed]
	if counts == nil {
		counts = &sideCounts{heavy: [3]map[int32]int64{{}, {}, {}}}
		s.placed[row.Seed] = counts
		h.seeds[row.Seed] = true
	}
	s.samples[cell] += row.Samples
	s.sums[cell] += float64(row.PointSum)
	counts.all[bothSides] += row.Samples
	if side != bothSides {
		counts.all[side] += row.Samples
	}
	if row.Locator == 0 || !s.rule.heavy(float64(row.PointSum)/float64(row.Samples), h.rates[row.Locator]) {
		return // no hop wrote what locator 0 has
	}
	s.heavy[cell] += row.Samples
	s.locators[cell].add(row.Locator, row.Samples)
	counts.heavy[bothSides][row.Locator] += row.Samples
	if side != bothSides {
		counts.heavy[side][row.Locator] += row.Samples
	}
}

// heavy reports whether samples with this mean are of a heavily loaded port with a rate in
// byte/s.
func (t *heavyTest) heavy(mean, rate float64) bool {
	threshold := t.threshold
	if t.ofRate {
		threshold = (1 - heavyShare) * rate
	}
	if t.below {
		return mean <= threshold
	}
	return mean > threshold
}

// result returns the heatmaps after the last row, in the order of the manifest's signals.
func (h *heatReader) result() []Heatmap {
	var all []Heatmap
	n := len(h.blocks)
	for _, name := range h.manifest.Signals {
		s := h.signals[name]
		if s == nil || slices.ContainsFunc(all, func(m Heatmap) bool { return m.Signal == name }) {
			continue
		}
		m := Heatmap{Variant: h.variant.Name, Signal: name, Seeds: len(s.placed), Unit: s.rule.unit, Blocks: h.blocks, By: h.by,
			Threshold: rounded(s.rule.threshold * s.rule.scale), Below: s.rule.below, Rule: s.rule.rule, Locators: []HeatLocator{}}
		modal, cells := make([]int32, n*n), map[int32]int{}
		for c := range modal {
			if modal[c] = s.locators[c].mode(); s.heavy[c] < HeatmapSamples {
				modal[c] = 0
			}
			if modal[c] != 0 {
				cells[modal[c]]++
			}
		}
		index := map[int32]int{}
		for _, locator := range slices.Sorted(maps.Keys(cells)) {
			l, ok := h.ports[locator]
			if !ok {
				l = HeatLocator{Locator: locator, Ports: []string{"unknown port"}}
			}
			l.Cells = cells[locator]
			index[locator] = len(m.Locators)
			m.Locators = append(m.Locators, l)
		}
		for src := range n {
			mean, share, at := make(Values, n), make(Values, n), make([]int, n)
			for dst := range n {
				c := src*n + dst
				mean[dst], share[dst], at[dst] = math.NaN(), math.NaN(), -1
				if s.samples[c] >= HeatmapSamples {
					mean[dst] = rounded(s.sums[c] / float64(s.samples[c]) * s.rule.scale)
				}
				if modal[c] != 0 {
					at[dst] = index[modal[c]]
					share[dst] = rounded(float64(s.locators[c].of(modal[c])) / float64(s.heavy[c]))
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
