package analysis

import (
	"maps"
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Utilisation says how a variant used its ports, seen in telemetry windows and seen at
// the scale of switch telemetry, once in a second. It is of the seed that charts show, and
// of the measuring window.
type Utilisation struct {
	Variant string  `json:"variant"`
	Seed    uint64  `json:"seed"`
	FromUS  float64 `json:"fromUs"`
	ToUS    float64 `json:"toUs"`
	FineUS  float64 `json:"fineUs"` // length of a telemetry window
	// CoarseUS is the length of a coarse bin: a second where the run is measured for two
	// seconds or longer. Otherwise it is the whole of that time, and RunMean is set:
	// telemetry that reports once in a second shows no more than the mean over the run.
	CoarseUS float64 `json:"coarseUs"`
	RunMean  bool    `json:"runMean,omitempty"`
	// Ports are the most telling port of the first variant, if this variant has it, and the
	// most telling port of this variant if it is another one. The most telling port is, of
	// the switch ports whose busiest window is within a point of the greatest, the one with
	// the most bytes in its queue on average, of equals the one that sent most. Without
	// traffic at switches it is a NIC.
	Ports []PortUtilisation `json:"ports"`
	Tiers []TierUtilisation `json:"tiers"` // from the hosts up, then down again; those without a port are left out
}

// PortUtilisation is how one port was used. Values are shares of the time in which the
// line was busy, line overhead included, from 0 to 1.
type PortUtilisation struct {
	Place
	WindowShares
	// Coarse has the values of bins of CoarseUS from FromUS on, of whole bins only.
	Coarse Values `json:"coarse"`
	// Mean, Low and High have one value for every BinUS, a whole number of windows, from
	// FromUS on: the mean of the windows in it, the least and the greatest. Low and High are
	// nil where BinUS is one window. A window without a record is 0.
	BinUS float64 `json:"binUs"`
	Mean  Values  `json:"mean"`
	Low   Values  `json:"low,omitempty"`
	High  Values  `json:"high,omitempty"`
	// Close has every window of an excerpt, from CloseFromUS on, in which the busiest window
	// is; nil where BinUS is one window.
	CloseFromUS float64 `json:"closeFromUs,omitempty"`
	Close       Values  `json:"close,omitempty"`
}

// TierUtilisation is how the ports of a tier and direction were used.
type TierUtilisation struct {
	Tier      string `json:"tier"`      // as runfolder.Port.Tier
	Direction string `json:"direction"` // as runfolder.Port.Direction
	Ports     int    `json:"ports"`
	WindowShares
}

// WindowShares are the utilisations of telemetry windows, from 0 to 1: of all windows of
// the measuring window, at all ports that they are about. A window without a record is 0.
type WindowShares struct {
	MeanShare float64 `json:"meanShare"`
	P99       float64 `json:"p99"` // exact to 0.005
	Peak      float64 `json:"peak"`
	// FullShare is the share of windows that are used to FullWindow or more.
	FullShare float64 `json:"fullShare"`
}

// FullWindow is the utilisation from which a window counts as one at line rate.
const FullWindow = 0.95

// utilisationReader collects the ports of a Utilisation in the second pass.
type utilisationReader struct {
	of       *Utilisation
	interval float64
	windows  int64
	ports    []*portCurve
}

// portCurve collects the windows of one port.
type portCurve struct {
	place    Place
	fromUS   float64
	toUS     float64
	interval float64
	dist     distribution
	busyUS   float64
	coarse   []float64 // µs
	coarseUS float64
	binUS    float64
	bins     []curveBin
	closeUS  float64
	close    []float64
}

// curveBin are the windows of one value of a curve.
type curveBin struct {
	busyUS    float64
	low, high float64
	windows   int
}

// coarseUS is the length of a bin of switch telemetry, and longRun the length of a run from
// which it has some.
const (
	coarseUS = 1e6
	longRun  = 2 * coarseUS
)

// maxCurve bounds the values of a curve, maxClose those of an excerpt, maxCoarse those of
// bins of a second. longestUS bounds the length of a run that is analysed by windows: a
// damaged table may have any time.
const (
	maxCurve  = 800
	maxClose  = 400
	maxCoarse = 3600
	longestUS = 1e14
)

// newUtilisations prepares the utilisations of all variants, from what the first pass
// found.
func newUtilisations(t *totals) []*utilisationReader {
	m := t.manifest
	var all []*utilisationReader
	var first *Place
	for i := range m.Variants {
		v := &m.Variants[i]
		r := run{v.Name, t.shown[v.Name]}
		span := t.span(r)
		if t.ports[r] == nil || !(span > 0 && span < longestUS) {
			continue
		}
		from := m.Measure.FromUS
		u := &Utilisation{Variant: v.Name, Seed: r.seed, FromUS: from, ToUS: from + span, FineUS: m.IntervalUS, CoarseUS: coarseUS, Ports: []PortUtilisation{}, Tiers: []TierUtilisation{}}
		if span < longRun {
			u.CoarseUS, u.RunMean = span, true
		}
		w := &utilisationReader{of: u, interval: m.IntervalUS, windows: t.windowsIn(r)}
		places := placesOf(m, v.Name)
		telling := t.telling(r, places)
		if first == nil {
			first = telling
		}
		for _, p := range places {
			if first != nil && p.From == first.From && p.To == first.To && p.Port == first.Port {
				w.add(p, t.ports[r][p.PortID])
			}
		}
		if telling != nil && (len(w.ports) == 0 || w.ports[0].place.PortID != telling.PortID) {
			w.add(*telling, t.ports[r][telling.PortID])
		}
		u.Tiers = t.tiersOf(r, places, span)
		all = append(all, w)
	}
	return all
}

// telling returns the most telling port of a run; nil if none sent anything.
func (t *totals) telling(r run, places []Place) *Place {
	var best *Place
	var bestSums *portSums
	for _, nic := range []bool{false, true} {
		peak := 0.0
		for i := range places {
			if s := t.ports[r][places[i].PortID]; s != nil && places[i].NIC == nic {
				peak = max(peak, s.peak)
			}
		}
		for i := range places {
			s := t.ports[r][places[i].PortID]
			if s == nil || places[i].NIC != nic || s.txPackets == 0 && s.txBytes == 0 || s.peak < peak-0.01 {
				continue
			}
			if best == nil || s.queueByteNS > bestSums.queueByteNS || s.queueByteNS == bestSums.queueByteNS && s.busyUS > bestSums.busyUS {
				best, bestSums = &places[i], s
			}
		}
		if best != nil {
			break
		}
	}
	return best
}

// tiersOf returns the utilisations by tier of a shown run.
func (t *totals) tiersOf(r run, places []Place, span float64) []TierUtilisation {
	ports := map[tierKey]int{}
	for i := range places {
		ports[tierKey{places[i].Tier, places[i].Direction}]++
	}
	keys := slices.SortedFunc(maps.Keys(ports), compareTiers)
	all := []TierUtilisation{}
	for _, k := range keys {
		one := TierUtilisation{Tier: k.tier, Direction: k.direction, Ports: ports[k]}
		if s := t.tiers[r][k]; s != nil {
			one.WindowShares = s.of(t.windowsIn(r) * int64(ports[k]))
			one.MeanShare = s.busyUS / span / float64(ports[k])
		}
		all = append(all, one)
	}
	return all
}

// add adds a port; sums is nil if it sent nothing.
func (w *utilisationReader) add(p Place, sums *portSums) {
	u := w.of
	span := u.ToUS - u.FromUS
	c := &portCurve{place: p, fromUS: u.FromUS, toUS: u.ToUS, interval: w.interval, coarseUS: u.CoarseUS, coarse: make([]float64, min(maxCoarse, int(span/u.CoarseUS+1e-9)))}
	c.binUS = w.interval * max(1, math.Ceil(float64(w.windows)/maxCurve))
	c.bins = make([]curveBin, int(math.Ceil(span/c.binUS-1e-9)))
	if c.binUS > w.interval {
		c.closeUS = u.FromUS
		if sums != nil {
			c.closeUS = max(u.FromUS, min(sums.peakUS-maxClose/2*w.interval, u.ToUS-maxClose*w.interval))
		}
		// A window begins there.
		c.closeUS = math.Ceil(c.closeUS/w.interval-1e-9) * w.interval
		c.close = make([]float64, min(maxClose, w.windows))
	}
	w.ports = append(w.ports, c)
}

// port takes a row of the run.
func (w *utilisationReader) port(row *runfolder.PortRow) {
	for _, c := range w.ports {
		if c.place.Node == row.Node && c.place.Port == row.Port {
			c.add(row)
		}
	}
}

func (c *portCurve) add(row *runfolder.PortRow) {
	at := row.StartUS - c.fromUS
	if !(at >= 0 && row.StartUS < c.toUS) { // it may be NaN
		return
	}
	busy := row.BusyUS()
	share := shareOf(busy, c.interval)
	c.dist.add(share)
	c.busyUS += busy
	const slack = 1e-6 // of float64, in windows
	if i := int(at/c.coarseUS + slack); i < len(c.coarse) {
		c.coarse[i] += busy
	}
	if i := int(at/c.binUS + slack); i < len(c.bins) {
		b := &c.bins[i]
		if b.windows == 0 {
			b.low = share
		}
		b.busyUS += busy
		b.low, b.high = min(b.low, share), max(b.high, share)
		b.windows++
	}
	if i := int(math.Floor((row.StartUS-c.closeUS)/c.interval + slack)); i >= 0 && i < len(c.close) {
		c.close[i] = share
	}
}

// result returns the utilisation after the last row.
func (w *utilisationReader) result() Utilisation {
	u := *w.of
	for _, c := range w.ports {
		p := PortUtilisation{Place: c.place, WindowShares: c.dist.of(w.windows), BinUS: c.binUS, Coarse: make(Values, len(c.coarse)), Mean: make(Values, len(c.bins))}
		p.MeanShare = c.busyUS / (u.ToUS - u.FromUS)
		for i, busy := range c.coarse {
			p.Coarse[i] = min(1, busy/c.coarseUS)
		}
		several := c.binUS > c.interval
		if several {
			p.Low, p.High = make(Values, len(c.bins)), make(Values, len(c.bins))
			p.CloseFromUS, p.Close = c.closeUS, c.close
		}
		per := int(math.Round(c.binUS / c.interval))
		for i, b := range c.bins {
			windows := min(per, int(math.Ceil((u.ToUS-u.FromUS-float64(i)*c.binUS)/c.interval-1e-6))) // of the last bin
			p.Mean[i] = rounded(min(1, b.busyUS/(float64(max(1, windows))*c.interval)))
			if several {
				if b.windows < windows {
					b.low = 0
				}
				p.Low[i], p.High[i] = rounded(b.low), rounded(b.high)
			}
		}
		for i := range p.Close {
			p.Close[i] = rounded(p.Close[i])
		}
		u.Ports = append(u.Ports, p)
	}
	return u
}

// rounded returns a value with five digits: more cannot be seen, and take room in files.
func rounded(v float64) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	scale := math.Pow(10, 4-math.Floor(math.Log10(math.Abs(v))))
	if math.IsInf(scale, 0) {
		return v
	}
	return math.Round(v*scale) / scale
}
