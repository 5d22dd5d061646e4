package analysis

import (
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// run is one seed of one variant.
type run struct {
	variant string
	seed    uint64
}

// totals are sums over whole tables, which the first pass makes.
type totals struct {
	manifest *runfolder.Manifest
	shown    map[string]uint64        // variant -> the seed that charts show
	heard    map[string]bool          // flows of which a receiver got anything
	ends     map[run]float64          // when the last window of a run ends, in us
	stops    map[run]float64          // model time at the end of a run, in us, where it is known
	seeds    map[string][]uint64      // variant -> its seeds, ascending
	bytes    map[run]map[string]int64 // wire bytes of flows while measured
	lives    map[run]map[string]span  // from the first window in which a flow got something to the last one, while measured
	ports    map[run]map[PortID]*portSums
	tiers    map[run]map[tierKey]*tierSums // of the runs that charts show
	faulty   map[run]sides                 // runs with a fault that begins in them
	packet   map[string]float64            // variant -> Variant.MTU
	// elsewhere is, in an overlay, how long the ports of the other side were busy, in µs: by
	// variant and name of the port.
	elsewhere map[string]map[string]float64
}

// portSums are the sums over the windows of a port: of those in the measuring
// window, drops and trims of all.
type portSums struct {
	txBytes     int64
	txPackets   int64
	queueByteNS float64
	queueMax    int64
	dropped     int64
	trimmed     int64
	windowSums
}

func newTotals(m *runfolder.Manifest, s *runfolder.Summary, of *flowMetrics) *totals {
	t := &totals{manifest: m, shown: chooseSeeds(m, s, of), heard: map[string]bool{}, ends: map[run]float64{}, stops: map[run]float64{}, seeds: map[string][]uint64{},
		bytes: map[run]map[string]int64{}, lives: map[run]map[string]span{}, ports: map[run]map[PortID]*portSums{},
		tiers: map[run]map[tierKey]*tierSums{}, faulty: faultSides(m), packet: map[string]float64{}}
	for _, v := range m.Variants {
		t.packet[v.Name] = float64(v.MTU)
	}
	for _, r := range m.Runs {
		t.seeds[r.Variant] = append(t.seeds[r.Variant], r.Seed)
	}
	for _, seeds := range t.seeds {
		slices.Sort(seeds)
	}
	for variant, v := range s.Variants {
		for _, r := range v.Runs {
			if end, ok := r.Metrics["model_ms"]; ok {
				t.stops[run{variant, r.Seed}] = end * 1000
			}
		}
	}
	return t
}

func (t *totals) read(f *runfolder.Folder) error {
	for row, err := range f.Ports() {
		if err != nil {
			return err
		}
		r := run{row.Variant, row.Seed}
		t.extend(r, row.StartUS)
		ports := t.ports[r]
		if ports == nil {
			ports = map[PortID]*portSums{}
			t.ports[r] = ports
		}
		id := PortID{row.Node, row.Port}
		sums := ports[id]
		if sums == nil {
			sums = &portSums{windowSums: t.newWindowSums(r, &row)}
			ports[id] = sums
		}
		sums.dropped += row.Dropped
		sums.trimmed += row.Trimmed
		if inWindow(t.manifest, row.StartUS) {
			sums.txBytes += row.TxBytes
			sums.txPackets += row.TxPackets
			sums.queueByteNS += float64(row.QueueByteNS)
			sums.queueMax = max(sums.queueMax, row.QueueMax)
			sums.see(&row, t.manifest.IntervalUS)
		}
	}
	for row, err := range f.Flows() {
		if err != nil {
			return err
		}
		r := run{row.Variant, row.Seed}
		t.extend(r, row.StartUS)
		t.heard[row.FlowName] = true
		flows := t.bytes[r]
		if flows == nil {
			flows = map[string]int64{}
			t.bytes[r], t.lives[r] = flows, map[string]span{}
		}
		if inWindow(t.manifest, row.StartUS) {
			flows[row.FlowName] += row.WireBytes
			l, known := t.lives[r][row.FlowName]
			if !known {
				l.from = row.StartUS
			}
			t.lives[r][row.FlowName] = span{min(l.from, row.StartUS), max(l.to, row.StartUS+t.manifest.IntervalUS)}
		}
	}
	return nil
}

func (t *totals) extend(r run, startUS float64) {
	t.ends[r] = max(t.ends[r], startUS+t.manifest.IntervalUS)
}

// longest returns when the last window of all runs ends, in us.
func (t *totals) longest() float64 {
	longest := 0.0
	for _, end := range t.ends {
		longest = max(longest, end)
	}
	return longest
}

// inWindow reports whether a telemetry window starts in the measuring window.
func inWindow(m *runfolder.Manifest, startUS float64) bool {
	return startUS >= m.Measure.FromUS && (m.Measure.ToUS == 0 || startUS < m.Measure.ToUS)
}

// measured returns the length of a run's measuring window in us, which ends with the run at
// the latest. It is 0 or less when the run ends before the window.
func (t *totals) measured(r run) float64 {
	to := t.ends[r]
	if stop, ok := t.stops[r]; ok {
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
func (t *totals) together(variant string, flows []string) bool {
	for _, seed := range t.seeds[variant] {
		r := run{variant, seed}
		span := t.measured(r)
		slack := max(2*t.manifest.IntervalUS, span/20)
		if t.manifest.Measure.ToUS == 0 && span < 10*t.manifest.IntervalUS {
			return false // windows do not say so
		}
		for _, f := range flows {
			l, ok := t.lives[r][f]
			if ok && (l.from > t.manifest.Measure.FromUS+slack || l.to < t.manifest.Measure.FromUS+span-slack) {
				return false
			}
		}
	}
	return true
}

// rates holds, by run and flow, the Gb/s on the wire while measured. A run without a
// window of any flow has no entry.
type rates map[run]map[string]float64

// rates returns the rates of all runs.
func (t *totals) rates(of *flowMetrics) rates {
	all := rates{}
	for r, flows := range t.bytes {
		span := t.measured(r)
		all[r] = map[string]float64{}
		for _, f := range t.manifest.FlowsOfRun(r.variant, r.seed) {
			if span > 0 {
				all[r][f.Name] = float64(flows[f.Name]) * 8 / 1000 / span
			}
		}
	}
	// The metric holds the rate over the flow's own time. Over the run's time, flows of one
	// size that end within it would all be equal.
	for r, rates := range all {
		for name := range rates {
			if rate, ok := of.rates[r][name]; ok {
				rates[name] = rate
			}
		}
	}
	return all
}

// medians returns, by variant and flow, the medians over the seeds. A variant
// without rates has no entry.
func (r rates) medians() map[string]map[string]float64 {
	values := map[string]map[string][]float64{}
	for run, flows := range r {
		if values[run.variant] == nil {
			values[run.variant] = map[string][]float64{}
		}
		for name, rate := range flows {
			values[run.variant][name] = append(values[run.variant][name], rate)
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
