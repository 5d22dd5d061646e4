package reading

import (
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// RunID is one seed of one variant.
type RunID struct {
	Variant string
	Seed    uint64
}

// Totals are sums over whole tables, which the first pass makes.
type Totals struct {
	manifest *runfolder.Manifest
	Shown    map[string]uint64          // variant -> the seed that charts show
	heard    map[string]bool            // flows of which a receiver got anything
	Ends     map[RunID]float64          // when the last window of a run ends, in us
	Stops    map[RunID]float64          // model time at the end of a run, in us, where it is known
	Seeds    map[string][]uint64        // variant -> its seeds, ascending
	bytes    map[RunID]map[string]int64 // wire bytes of flows while measured
	lives    map[RunID]map[string]Span  // from the first window in which a flow got something to the last one, while measured
	Ports    map[RunID]map[PortID]*PortSums
	Tiers    map[RunID]map[TierKey]*TierSums // of the runs that charts show
	Faulty   map[RunID]Sides                 // runs with a fault that begins in them
	packet   map[string]float64              // variant -> Variant.MTU
}

// PortSums are the sums over the windows of a port: of those in the measuring
// window, drops and trims of all.
type PortSums struct {
	QueueByteNS float64
	QueueMax    int64
	Dropped     int64
	Trimmed     int64
	WindowSums
}

func newTotals(m *runfolder.Manifest, s *runfolder.Summary, of *FlowMetrics) *Totals {
	t := &Totals{manifest: m, Shown: chooseSeeds(m, s, of), heard: map[string]bool{}, Ends: map[RunID]float64{}, Stops: map[RunID]float64{}, Seeds: map[string][]uint64{},
		bytes: map[RunID]map[string]int64{}, lives: map[RunID]map[string]Span{}, Ports: map[RunID]map[PortID]*PortSums{},
		Tiers: map[RunID]map[TierKey]*TierSums{}, Faulty: faultSides(m), packet: map[string]float64{}}
	for _, v := range m.Variants {
		t.packet[v.Name] = float64(v.MTU)
	}
	for _, r := range m.Runs {
		t.Seeds[r.Variant] = append(t.Seeds[r.Variant], r.Seed)
	}
	for _, seeds := range t.Seeds {
		slices.Sort(seeds)
	}
	for variant, v := range s.Variants {
		for _, r := range v.Runs {
			if end, ok := r.Metrics["model_ms"]; ok {
				t.Stops[RunID{variant, r.Seed}] = end * 1000
			}
		}
	}
	return t
}

// port takes a window of a port.
func (t *Totals) port(row *runfolder.PortRow) {
	r := RunID{row.Variant, row.Seed}
	t.extend(r, row.StartUS+row.WindowUS)
	ports := t.Ports[r]
	if ports == nil {
		ports = map[PortID]*PortSums{}
		t.Ports[r] = ports
	}
	id := PortID{row.Node, row.Port}
	sums := ports[id]
	if sums == nil {
		sums = &PortSums{WindowSums: t.newWindowSums(r, row)}
		ports[id] = sums
	}
	sums.Dropped += row.Dropped
	sums.Trimmed += row.Trimmed
	if inWindow(t.manifest, row.StartUS) {
		sums.QueueByteNS += float64(row.QueueByteNS)
		sums.QueueMax = max(sums.QueueMax, row.QueueMax)
		sums.see(row, t.manifest.IntervalUS)
	}
}

// flow takes a window of a flow.
func (t *Totals) flow(row *runfolder.FlowRow) {
	r := RunID{row.Variant, row.Seed}
	t.extend(r, row.StartUS+row.WindowUS)
	t.heard[row.FlowName] = true
	flows := t.bytes[r]
	if flows == nil {
		flows = map[string]int64{}
		t.bytes[r], t.lives[r] = flows, map[string]Span{}
	}
	if inWindow(t.manifest, row.StartUS) {
		flows[row.FlowName] += row.WireBytes
		l, known := t.lives[r][row.FlowName]
		if !known {
			l.From = row.StartUS
		}
		t.lives[r][row.FlowName] = Span{min(l.From, row.StartUS), max(l.To, row.StartUS+row.WindowUS)}
	}
}

func (t *Totals) extend(r RunID, endUS float64) { t.Ends[r] = max(t.Ends[r], endUS) }

// longest returns when the last window of all runs ends, in us.
func (t *Totals) longest() float64 {
	longest := 0.0
	for _, end := range t.Ends {
		longest = max(longest, end)
	}
	return longest
}

// inWindow reports whether a telemetry window starts in the measuring window.
func inWindow(m *runfolder.Manifest, startUS float64) bool {
	return startUS >= m.Measure.FromUS && (m.Measure.ToUS == 0 || startUS < m.Measure.ToUS)
}

// Measured returns the length of a run's measuring window in us, which ends with the run at
// the latest. It is 0 or less when the run ends before the window.
func (t *Totals) Measured(r RunID) float64 {
	to := t.Ends[r]
	if stop, ok := t.Stops[r]; ok {
		to = min(to, stop) // the last window ends after the run
		if t.manifest.Measure.ToUS > 0 {
			to = stop // nothing may be under way at the end
		}
	}
	if end := t.manifest.Measure.ToUS; end > 0 {
		to = min(to, end)
	}
	return to - t.manifest.Measure.FromUS
}

// together reports whether the flows send through all of the measuring window in the runs of
// a variant, or nearly so: rates over the time of each flow are then rates over one time.
func (t *Totals) together(variant string, flows []string) bool {
	for _, seed := range t.Seeds[variant] {
		r := RunID{variant, seed}
		span := t.Measured(r)
		slack := max(2*t.manifest.IntervalUS, span/20)
		if t.manifest.Measure.ToUS == 0 && span < 10*t.manifest.IntervalUS {
			return false // windows do not say so
		}
		for _, f := range flows {
			l, ok := t.lives[r][f]
			if ok && (l.From > t.manifest.Measure.FromUS+slack || l.To < t.manifest.Measure.FromUS+span-slack) {
				return false
			}
		}
	}
	return true
}

// Rates holds, by run and flow, the Gb/s on the wire while measured. A run without a
// window of any flow has no entry.
type Rates map[RunID]map[string]float64

// Rates returns the rates of all runs.
func (t *Totals) rates(of *FlowMetrics) Rates {
	all := Rates{}
	for r, flows := range t.bytes {
		span := t.Measured(r)
		all[r] = map[string]float64{}
		for _, f := range t.manifest.FlowsOfRun(r.Variant, r.Seed) {
			if span > 0 {
				all[r][f.Name] = float64(flows[f.Name]) * 8 / 1000 / span
			}
		}
	}
	// The metric holds the rate over the flow's own time. Over the run's time, flows of one
	// size that end within it would all be equal.
	for r, rates := range all {
		for name := range rates {
			if rate, ok := of.Rates[r][name]; ok {
				rates[name] = rate
			}
		}
	}
	return all
}

// Medians returns, by variant and flow, the medians over the seeds. A variant
// without rates has no entry.
func (r Rates) Medians() map[string]map[string]float64 {
	values := map[string]map[string][]float64{}
	for run, flows := range r {
		if values[run.Variant] == nil {
			values[run.Variant] = map[string][]float64{}
		}
		for name, rate := range flows {
			values[run.Variant][name] = append(values[run.Variant][name], rate)
		}
	}
	medians := map[string]map[string]float64{}
	for variant, flows := range values {
		medians[variant] = map[string]float64{}
		for name, all := range flows {
			medians[variant][name] = runfolder.Median(all)
		}
	}
	return medians
}
