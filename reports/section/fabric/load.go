package fabric

import (
	"math"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
)

// Bounds of a Load.
const (
	// maxBins is how many bins of time it has at most.
	maxBins = 200
	// maxCells bounds its lines times bins, and maxLoads the variants that have one.
	maxCells = 24_000
	maxLoads = 4
)

// Load is how the lines of Fabric were used over time in one variant: of the seed
// that charts show, from the beginning of the run to its end. Lines and values are those
// of Fabric.Lines, in their order.
type Load struct {
	Variant string   `json:"variant"`
	Seed    uint64   `json:"seed"`
	BinUS   float64  `json:"binUs"` // a whole number of telemetry windows
	Bins    int      `json:"bins"`
	Lines   []InTime `json:"lines"`
	// Measured says that what was available is what the ports' CSIG meters had. Otherwise it
	// is what windows left of the line. HasNamed says that CSIG samples named ports.
	Measured bool `json:"measured"`
	HasNamed bool `json:"hasNamed"`
}

// InTime is a line over time: a value for each bin.
type InTime struct {
	// Busy is the utilisation of the busiest port of the line, in either direction.
	Busy reading.Percents `json:"busy"`
	// Left is the least available bandwidth of the windows and ports, as a share of the
	// port's rate; reading.NoPercent where no packet went.
	Left reading.Percents `json:"left"`
	// Named is the share of the CSIG samples in the bin that name a port of the line, and no
	// other port; nil without such samples in the run.
	Named reading.Percents `json:"named,omitempty"`
}

// loadReader collects a Load.
type loadReader struct {
	of      Load
	endUS   float64                      // of the run
	line    map[reading.PortID]int       // of Fabric.Lines
	busy    map[reading.PortID][]float64 // microseconds, by bin
	left    [][]float64                  // by line and bin
	named   [][]int64                    // by line and bin
	samples []int64                      // by bin
}

// newLoadReaders returns a reader for each of the first variants whose ports are those
// of the fabric that is drawn.
func newLoadReaders(g *reading.Reading, f *Fabric, lines lineOf) (readers []*loadReader) {
	if f == nil || len(f.Lines) == 0 {
		return nil
	}
	m, t := g.Manifest, g.Totals
	for i := range m.Variants {
		v := &m.Variants[i]
		seed, shown := t.Shown[v.Name]
		end := t.Ends[g.ShownRun(v.Name)]
		if !shown || !(end > 0) || math.IsInf(end, 0) || len(readers) == maxLoads {
			continue
		}
		r := &loadReader{endUS: end, line: map[reading.PortID]int{}, busy: map[reading.PortID][]float64{}}
		for _, p := range m.PortsOf(v.Name) {
			if line, ok := lines[[2]int32{p.Node, p.Peer}]; ok {
				r.line[reading.PortID{Node: p.Node, Port: p.Port}] = line
			}
		}
		if len(r.line) == 0 {
			continue
		}
		bins := min(maxBins, max(20, maxCells/len(f.Lines)))
		window := m.LongestWindowUS()
		windows := max(1, math.Ceil(end/window-1e-6))
		r.of = Load{Variant: v.Name, Seed: seed, BinUS: window * math.Ceil(windows/float64(bins)), Measured: true}
		r.of.Bins = int(math.Ceil(windows * window / r.of.BinUS))
		r.samples = make([]int64, r.of.Bins)
		for range f.Lines {
			left := make([]float64, r.of.Bins)
			for k := range left {
				left[k] = math.Inf(1)
			}
			r.left, r.named = append(r.left, left), append(r.named, make([]int64, r.of.Bins))
		}
		readers = append(readers, r)
	}
	return readers
}

// bin returns the bin of a window, and false if the run has none there.
func (r *loadReader) bin(startUS float64) (int, bool) {
	if !(startUS >= 0 && startUS < float64(r.of.Bins)*r.of.BinUS) { // it may be NaN
		return 0, false
	}
	return min(int(startUS/r.of.BinUS+1e-6), r.of.Bins-1), true
}

func (r *loadReader) port(row *runfolder.PortRow) {
	id := reading.PortID{Node: row.Node, Port: row.Port}
	line, known := r.line[id]
	bin, in := r.bin(row.StartUS)
	if !known || !in {
		return
	}
	busy := row.BusyUS()
	if r.busy[id] == nil {
		r.busy[id] = make([]float64, r.of.Bins)
	}
	r.busy[id][bin] += busy
	left, measured := reading.Left(row, busy)
	r.of.Measured = r.of.Measured && (measured || row.Tier == "host")
	r.left[line][bin] = min(r.left[line][bin], left)
}

func (r *loadReader) signal(row *runfolder.SignalRow) {
	bin, in := r.bin(row.StartUS)
	if !in || row.Samples < 0 {
		return
	}
	r.samples[bin] += row.Samples
	if row.Node == nil || row.Port == nil {
		return
	}
	if line, ok := r.line[reading.PortID{Node: *row.Node, Port: *row.Port}]; ok {
		r.named[line][bin] += row.Samples
		r.of.HasNamed = true
	}
}

// result returns the load after the last row.
func (r *loadReader) result() Load {
	for range r.left {
		r.of.Lines = append(r.of.Lines, InTime{Busy: make(reading.Percents, r.of.Bins), Left: make(reading.Percents, r.of.Bins)})
	}
	for id, busy := range r.busy {
		to := r.of.Lines[r.line[id]].Busy
		for bin, us := range busy {
			length := r.of.BinUS
			if bin == r.of.Bins-1 { // it ends with the run
				length = min(length, r.endUS-float64(bin)*r.of.BinUS)
			}
			to[bin] = max(to[bin], reading.Percent(reading.ShareOf(us, length)))
		}
	}
	for i := range r.of.Lines {
		l := &r.of.Lines[i]
		for bin, left := range r.left[i] {
			l.Left[bin] = reading.NoPercent
			if !math.IsInf(left, 1) {
				l.Left[bin] = reading.Percent(left)
			}
		}
		if !r.of.HasNamed {
			continue
		}
		l.Named = make(reading.Percents, r.of.Bins)
		for bin, n := range r.named[i] {
			l.Named[bin] = reading.NoPercent
			if r.samples[bin] > 0 {
				l.Named[bin] = reading.Percent(float64(n) / float64(r.samples[bin]))
			}
		}
	}
	return r.of
}
