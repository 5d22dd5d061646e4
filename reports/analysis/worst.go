package analysis

import (
	"cmp"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Bounds of what is listed of many flows and ports.
const (
	// manyFlows is the number of transfers above which the worst of them are listed.
	manyFlows = 32
	// MaxWorst is how many flows or ports of a variant are listed, and MaxWorstVariants
	// of how many variants.
	MaxWorst         = 10
	MaxWorstVariants = 8
)

// Worst is one of the transfers that fared the worst in their variant, of all its seeds:
// first those that did not complete, the least done first, and then those with the
// greatest slowdown, or of folders without slowdowns the greatest completion time.
type Worst struct {
	Variant       string   `json:"variant"`
	Seed          uint64   `json:"seed"`
	Flow          string   `json:"flow"`
	SizeBytes     int64    `json:"sizeBytes"`
	Share         float64  `json:"share"`              // of the payload that arrived; 1 if the flow completed
	FCTUS         *float64 `json:"fctUs,omitempty"`    // nil: it did not complete
	Slowdown      *float64 `json:"slowdown,omitempty"` // nil: likewise, or it is not known
	Packets       int64    `json:"packets"`            // sent for the first time
	Retransmitted int64    `json:"retransmitted"`      // sent again
	Timeouts      int64    `json:"timeouts"`           // packets given up for lost
	Trimmed       int64    `json:"trimmed"`            // packets that arrived trimmed
	// Named is what most of the flow's CSIG samples in the measuring window named as the
	// bottleneck: one port, or several that share a locator and lie on shortest paths of
	// the flow. nil without samples that name a port.
	Named []string `json:"named,omitempty"`
	// NamedShare is their share of the samples of Signal.
	NamedShare float64 `json:"namedShare,omitempty"`
	Signal     string  `json:"signal,omitempty"`
	// Crosses is, without samples, the port with the deepest mean queue, or else the
	// busiest, that all shortest paths of the flow have in common; nil if they have none.
	Crosses *Place `json:"crosses,omitempty"`
	Use     *Use   `json:"use,omitempty"` // of Crosses
}

// compareWorst orders transfers by how badly they fared, the worst first.
func compareWorst(a, b *Worst) int {
	if (a.FCTUS == nil) != (b.FCTUS == nil) {
		if a.FCTUS == nil {
			return -1
		}
		return 1
	}
	if a.FCTUS == nil {
		return cmp.Compare(a.Share, b.Share)
	}
	if a.Slowdown != nil && b.Slowdown != nil {
		return cmp.Or(cmp.Compare(*b.Slowdown, *a.Slowdown), cmp.Compare(*b.FCTUS, *a.FCTUS))
	}
	return cmp.Compare(*b.FCTUS, *a.FCTUS)
}

// worstFlows collects the worst transfers of each variant from the table of phases.
type worstFlows struct {
	lists     [][]Worst // by variant; nil: the variant is not listed
	slowdowns map[run]map[string]float64
}

// newWorstFlows returns an empty collection. Variants with few transfers are not listed.
func newWorstFlows(m *runfolder.Manifest, transfers map[string]int, of *flowMetrics) *worstFlows {
	w := &worstFlows{lists: make([][]Worst, len(m.Variants)), slowdowns: of.slowdowns}
	listed := 0
	for i, v := range m.Variants {
		if transfers[v.Name] > manyFlows && listed < MaxWorstVariants {
			w.lists[i] = []Worst{}
			listed++
		}
	}
	return w
}

// add takes a transfer of a variant.
func (w *worstFlows) add(variant int, row *runfolder.PhaseRow, size int64) {
	if w.lists[variant] == nil {
		return
	}
	one := Worst{Variant: row.Variant, Seed: row.Seed, Flow: row.FlowName, SizeBytes: size, Share: 1,
		Packets: row.NewPackets, Retransmitted: row.Retransmitted, Timeouts: row.Timeouts, Trimmed: row.DeliveredTrimmed}
	if row.StartUS == nil || row.SenderDoneUS == nil {
		one.Share = float64(row.PayloadBytes) / float64(size)
	} else {
		us := *row.SenderDoneUS - *row.StartUS
		one.FCTUS = &us
		if slowdown, ok := w.slowdowns[run{row.Variant, row.Seed}][row.FlowName]; ok {
			one.Slowdown = &slowdown
		}
	}
	if list := w.lists[variant]; len(list) == MaxWorst && compareWorst(&list[MaxWorst-1], &one) <= 0 {
		return
	}
	w.lists[variant] = first(append(w.lists[variant], one), MaxWorst, compareWorst)
}

// samplesOf counts the CSIG samples of single flows by signal and locator.
type samplesOf map[flowOfRun]map[signalOf]int64

type flowOfRun struct {
	run
	flow string
}

type signalOf struct {
	signal  string
	locator int32 // ofAll: of all locators
}

// newSamplesOf returns the counters for the samples of flows.
func newSamplesOf(flows []Worst) samplesOf {
	s := samplesOf{}
	for i := range flows {
		w := &flows[i]
		s[flowOfRun{run{w.Variant, w.Seed}, w.Flow}] = map[signalOf]int64{}
	}
	return s
}

func (s samplesOf) add(r *runfolder.SignalRow) {
	if counts, ok := s[flowOfRun{run{r.Variant, r.Seed}, r.FlowName}]; ok {
		counts[signalOf{r.Type, r.Locator}] += r.Samples
		counts[signalOf{r.Type, ofAll}] += r.Samples
	}
}

// explain says of flows what limited them: the port that samples named, or the one with
// the deepest queue that they must cross. all are the ports of the experiment.
func explain(m *runfolder.Manifest, flows []Worst, samples samplesOf, all []Port) {
	fabrics := map[string]*explainer{}
	for i := range flows {
		w := &flows[i]
		e := fabrics[w.Variant]
		if e == nil {
			e = newExplainer(m, w.Variant, all)
			fabrics[w.Variant] = e
		}
		if w.named(samples[flowOfRun{run{w.Variant, w.Seed}, w.Flow}], e.locators) {
			w.Named = e.onPath(w.Flow, w.Named)
			continue
		}
		e.crosses(w)
	}
}

// explainer knows the fabric of one variant.
type explainer struct {
	variant  string
	locators map[int32][]string
	graph    *paths
	flows    map[string]runfolder.Flow
	ports    map[[2]int32]*Port  // by node and peer, of those that no other port joins
	links    map[string][2]int32 // node and peer, by name of the port
}

func newExplainer(m *runfolder.Manifest, variant string, all []Port) *explainer {
	ports, flows := m.PortsOf(variant), m.FlowsOf(variant)
	e := &explainer{variant: variant, locators: portsByLocator(locatorsOf(m, variant)), graph: newPaths(ports),
		flows: make(map[string]runfolder.Flow, len(flows)), ports: make(map[[2]int32]*Port, len(all)), links: make(map[string][2]int32, len(ports))}
	for _, f := range flows {
		e.flows[f.Name] = f
	}
	for i := range all {
		if p := &all[i]; !p.Parallel {
			e.ports[[2]int32{p.Node, p.Peer}] = p
		}
	}
	for _, p := range ports {
		e.links[p.Name] = [2]int32{p.Node, p.Peer}
	}
	return e
}

// onPath returns those of the ports that share a locator which lie on a shortest path of
// a flow; all if none does.
func (e *explainer) onPath(flow string, names []string) []string {
	if len(names) < 2 {
		return names
	}
	f := e.flows[flow]
	from, to := e.graph.search(e.graph.out, f.Src), e.graph.search(e.graph.in, f.Dst)
	var on []string
	for _, name := range names {
		link, known := e.links[name]
		if known && from.has(f.Dst) && from.has(link[0]) && to.has(link[1]) && from.distance[link[0]]+1+to.distance[link[1]] == from.distance[f.Dst] {
			on = append(on, name)
		}
	}
	if len(on) == 0 {
		return names
	}
	return on
}

// crosses sets the port with the deepest queue that all shortest paths of a flow have in common.
func (e *explainer) crosses(w *Worst) {
	f := e.flows[w.Flow]
	for _, hop := range e.graph.common(f.Src, f.Dst) {
		p := e.ports[hop]
		if p == nil {
			continue
		}
		if use, ok := p.In(e.variant); ok && (w.Use == nil || cmp.Or(cmp.Compare(use.MeanQueueBytes, w.Use.MeanQueueBytes), cmp.Compare(use.Utilisation, w.Use.Utilisation)) > 0) {
			w.Crosses, w.Use = &p.Place, &use
		}
	}
}

// named sets what samples named, by the signal with the most samples. It reports whether
// there are samples that name a port.
func (w *Worst) named(counts map[signalOf]int64, ports map[int32][]string) bool {
	var best signalOf
	order := func(a, b signalOf) int {
		return cmp.Or(cmp.Compare(counts[signalOf{b.signal, ofAll}], counts[signalOf{a.signal, ofAll}]), cmp.Compare(a.signal, b.signal),
			cmp.Compare(counts[b], counts[a]), cmp.Compare(a.locator, b.locator))
	}
	found := false
	for s := range counts {
		if s.locator > 0 && (!found || order(s, best) < 0) {
			best, found = s, true
		}
	}
	if found {
		w.Named, w.Signal = portsOf(ports, best.locator), best.signal
		w.NamedShare = float64(counts[best]) / float64(counts[signalOf{best.signal, ofAll}])
	}
	return found
}

func locatorsOf(m *runfolder.Manifest, variant string) *runfolder.LocatorTable {
	for _, v := range m.Variants {
		if v.Name == variant {
			return v.Locators
		}
	}
	return nil
}
