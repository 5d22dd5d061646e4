package completion

import (
	"cmp"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
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
	Crosses *reading.Place `json:"crosses,omitempty"`
	Use     *reading.Use   `json:"use,omitempty"` // of Crosses
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

// listWorst makes the empty lists of the variants with many transfers.
func (s *Section) listWorst() {
	s.lists = make([][]Worst, len(s.r.Manifest.Variants))
	listed := 0
	for i, v := range s.r.Manifest.Variants {
		if s.r.Transfers(v.Name) > reading.ManyFlows && listed < reading.MaxWorstVariants {
			s.lists[i] = []Worst{}
			listed++
		}
	}
}

// transfer takes a row of the table of phases.
func (s *Section) transfer(row *runfolder.PhaseRow) {
	variant, size, ok := s.r.Transfer(row)
	if !ok || s.lists[variant] == nil {
		return
	}
	one := Worst{Variant: row.Variant, Seed: row.Seed, Flow: row.FlowName, SizeBytes: size, Share: 1,
		Packets: row.NewPackets, Retransmitted: row.Retransmitted, Timeouts: row.Timeouts, Trimmed: row.DeliveredTrimmed}
	if row.StartUS == nil || row.SenderDoneUS == nil {
		one.Share = float64(row.PayloadBytes) / float64(size)
	} else {
		us := *row.SenderDoneUS - *row.StartUS
		one.FCTUS = &us
		if slowdown, ok := s.r.Metrics.Slowdowns[reading.RunID{Variant: row.Variant, Seed: row.Seed}][row.FlowName]; ok {
			one.Slowdown = &slowdown
		}
	}
	if list := s.lists[variant]; len(list) == reading.MaxWorst && compareWorst(&list[reading.MaxWorst-1], &one) <= 0 {
		return
	}
	s.lists[variant] = reading.First(append(s.lists[variant], one), reading.MaxWorst, compareWorst)
}

// samplesOf counts the CSIG samples of single flows by signal and locator.
type samplesOf map[flowOfRun]map[signalOf]int64

type flowOfRun struct {
	reading.RunID
	flow string
}

type signalOf struct {
	signal  string
	locator int32 // ofAll: of all locators
}

const ofAll = -1

func (w *Worst) id() flowOfRun {
	return flowOfRun{reading.RunID{Variant: w.Variant, Seed: w.Seed}, w.Flow}
}

// newSamplesOf returns the counters for the samples of flows.
func newSamplesOf(flows []Worst) samplesOf {
	s := samplesOf{}
	for i := range flows {
		s[flows[i].id()] = map[signalOf]int64{}
	}
	return s
}

// sample takes a row of the table of signals.
func (s *Section) sample(row *runfolder.SignalRow) {
	counts, ok := s.samples[flowOfRun{reading.RunID{Variant: row.Variant, Seed: row.Seed}, row.FlowName}]
	if _, shown := s.r.Group(row.FlowName); !ok || !shown || !s.r.Measured(row.StartUS) {
		return
	}
	counts[signalOf{row.Type, row.Locator}] += row.Samples
	counts[signalOf{row.Type, ofAll}] += row.Samples
}

// explain says of the worst flows what limited them: the port that samples named, or the one
// with the deepest queue that they must cross.
func (s *Section) explain() {
	fabrics := map[string]*explainer{}
	for i := range s.Worst {
		w := &s.Worst[i]
		e := fabrics[w.Variant]
		if e == nil {
			e = newExplainer(s.r, w.Variant)
			fabrics[w.Variant] = e
		}
		if w.named(s.samples[w.id()], e.locators) {
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
	graph    *reading.Paths
	flows    map[string]runfolder.Flow
	ports    map[[2]int32]*reading.Port // by node and peer, of those that no other port joins
	links    map[string][2]int32        // node and peer, by name of the port
}

func newExplainer(r *reading.Reading, variant string) *explainer {
	m := r.Manifest
	ports, flows := m.PortsOf(variant), m.FlowsOf(variant)
	e := &explainer{variant: variant, locators: reading.PortsByLocator(reading.LocatorsOf(m, variant)), graph: reading.NewPaths(ports),
		flows: make(map[string]runfolder.Flow, len(flows)), ports: make(map[[2]int32]*reading.Port, len(r.Ports)), links: make(map[string][2]int32, len(ports))}
	for _, f := range flows {
		e.flows[f.Name] = f
	}
	for i := range r.Ports {
		if p := &r.Ports[i]; !p.Parallel {
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
	from, to := e.graph.Search(e.graph.Out, f.Src), e.graph.Search(e.graph.In, f.Dst)
	var on []string
	for _, name := range names {
		link, known := e.links[name]
		if known && from.Has(f.Dst) && from.Has(link[0]) && to.Has(link[1]) && from.Distance[link[0]]+1+to.Distance[link[1]] == from.Distance[f.Dst] {
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
	for _, hop := range e.graph.Common(f.Src, f.Dst) {
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
		w.Named, w.Signal = reading.PortsOf(ports, best.locator), best.signal
		w.NamedShare = float64(counts[best]) / float64(counts[signalOf{best.signal, ofAll}])
	}
	return found
}
