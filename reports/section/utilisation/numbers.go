package utilisation

import (
	"maps"
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
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
	Ports []Port `json:"ports"`
	Tiers []Tier `json:"tiers"` // from the hosts up, then down again; those without a port are left out
}

// Port is how one port was used. Values are shares of the time in which the
// line was busy, line overhead included, from 0 to 1.
type Port struct {
	reading.Place
	reading.WindowShares
	// Coarse has the values of bins of CoarseUS from FromUS on, of whole bins only.
	Coarse reading.Values `json:"coarse"`
	// Mean, Low and High have one value for every BinUS, a whole number of windows, from
	// FromUS on: the mean of the windows in it, the least and the greatest. Low and High are
	// nil where BinUS is one window. A window without a record is 0.
	BinUS float64        `json:"binUs"`
	Mean  reading.Values `json:"mean"`
	Low   reading.Values `json:"low,omitempty"`
	High  reading.Values `json:"high,omitempty"`
	// Close has every window of an excerpt, from CloseFromUS on, in which the busiest window
	// is; nil where BinUS is one window.
	CloseFromUS float64        `json:"closeFromUs,omitempty"`
	Close       reading.Values `json:"close,omitempty"`
}

// Tier is how the ports of a tier and direction were used.
type Tier struct {
	Tier      string `json:"tier"`      // as runfolder.Port.Tier
	Direction string `json:"direction"` // as runfolder.Port.Direction
	Ports     int    `json:"ports"`
	reading.WindowShares
}

// reader collects the ports of a Utilisation.
type reader struct {
	of       *Utilisation
	interval float64
	longest  float64 // windows, of labs
	windows  int64
	ports    []*portCurve
}

// portCurve collects the windows of one port.
type portCurve struct {
	place    reading.Place
	fromUS   float64
	toUS     float64
	interval float64
	dist     reading.ShareCounts
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
// bins of a second.
const (
	maxCurve  = 800
	maxClose  = 400
	maxCoarse = 3600
)

// newReaders prepares the utilisations of all variants, from what the survey
// found.
func newReaders(g *reading.Reading) []*reader {
	m, t := g.Manifest, g.Totals
	var all []*reader
	var first *reading.Place
	for i := range m.Variants {
		v := &m.Variants[i]
		r := g.ShownRun(v.Name)
		span := t.Span(r)
		if t.Ports[r] == nil || !(span > 0 && span < reading.LongestUS) {
			continue
		}
		from := m.Measure.FromUS
		u := &Utilisation{Variant: v.Name, Seed: r.Seed, FromUS: from, ToUS: from + span, FineUS: m.IntervalUS, CoarseUS: max(coarseUS, m.LongestWindowUS()), Ports: []Port{}, Tiers: []Tier{}}
		if span < longRun {
			u.CoarseUS, u.RunMean = span, true
		}
		w := &reader{of: u, interval: m.IntervalUS, longest: m.LongestWindowUS(), windows: t.WindowsIn(r)}
		places := reading.PlacesOf(m, v.Name)
		telling := telling(t.Ports[r], places)
		if first == nil {
			first = telling
		}
		for _, p := range places {
			if first != nil && p.From == first.From && p.To == first.To && p.Port == first.Port {
				w.add(p, t.Ports[r][p.PortID])
			}
		}
		if telling != nil && (len(w.ports) == 0 || w.ports[0].place.PortID != telling.PortID) {
			w.add(*telling, t.Ports[r][telling.PortID])
		}
		u.Tiers = tiersOf(t, r, places, span)
		all = append(all, w)
	}
	return all
}

// telling returns the most telling port of a run; nil if none sent anything.
func telling(ports map[reading.PortID]*reading.PortSums, places []reading.Place) *reading.Place {
	var best *reading.Place
	var bestSums *reading.PortSums
	for _, nic := range []bool{false, true} {
		peak := 0.0
		for i := range places {
			if s := ports[places[i].PortID]; s != nil && places[i].NIC == nic {
				peak = max(peak, s.Peak)
			}
		}
		for i := range places {
			s := ports[places[i].PortID]
			if s == nil || places[i].NIC != nic || s.BusyUS == 0 || s.Peak < peak-0.01 {
				continue
			}
			if best == nil || s.QueueByteNS > bestSums.QueueByteNS || s.QueueByteNS == bestSums.QueueByteNS && s.BusyUS > bestSums.BusyUS {
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
func tiersOf(t *reading.Totals, r reading.RunID, places []reading.Place, span float64) []Tier {
	ports := map[reading.TierKey]int{}
	for i := range places {
		ports[reading.TierKey{Tier: places[i].Tier, Direction: places[i].Direction}]++
	}
	keys := slices.SortedFunc(maps.Keys(ports), reading.CompareTiers)
	all := []Tier{}
	for _, k := range keys {
		one := Tier{Tier: k.Tier, Direction: k.Direction, Ports: ports[k]}
		if s := t.Tiers[r][k]; s != nil {
			one.WindowShares = s.Of(t.WindowsIn(r) * int64(ports[k]))
			one.MeanShare = s.BusyUS / span / float64(ports[k])
		}
		all = append(all, one)
	}
	return all
}

// add adds a port; sums is nil if it sent nothing.
func (w *reader) add(p reading.Place, sums *reading.PortSums) {
	u := w.of
	span := u.ToUS - u.FromUS
	c := &portCurve{place: p, fromUS: u.FromUS, toUS: u.ToUS, interval: w.interval, coarseUS: u.CoarseUS, coarse: make([]float64, min(maxCoarse, int(span/u.CoarseUS+1e-9)))}
	c.binUS = w.longest * max(1, math.Ceil(float64(w.windows)*w.interval/w.longest/maxCurve))
	c.bins = make([]curveBin, int(math.Ceil(span/c.binUS-1e-9)))
	if c.binUS > w.interval {
		c.closeUS = u.FromUS
		if sums != nil {
			c.closeUS = max(u.FromUS, min(sums.PeakUS-maxClose/2*w.interval, u.ToUS-maxClose*w.interval))
		}
		// A window begins there.
		c.closeUS = math.Ceil(c.closeUS/w.interval-1e-9) * w.interval
		c.close = make([]float64, min(maxClose, w.windows))
	}
	w.ports = append(w.ports, c)
}

// port takes a row of the run.
func (w *reader) port(row *runfolder.PortRow) {
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
	share, length := reading.ShareOf(busy, row.WindowUS), row.Windows(c.interval)
	c.dist.Add(share, length)
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
		b.windows += int(length)
	}
	first := int(math.Floor(max(-1e9, row.StartUS-c.closeUS)/c.interval + slack))
	for i := max(0, first); i < first+int(length) && i < len(c.close); i++ {
		c.close[i] = share
	}
}

// result returns the utilisation after the last row.
func (w *reader) result() Utilisation {
	u := *w.of
	for _, c := range w.ports {
		p := Port{Place: c.place, WindowShares: c.dist.Of(w.windows), BinUS: c.binUS, Coarse: make(reading.Values, len(c.coarse)), Mean: make(reading.Values, len(c.bins))}
		p.MeanShare = c.busyUS / (u.ToUS - u.FromUS)
		for i, busy := range c.coarse {
			p.Coarse[i] = min(1, busy/c.coarseUS)
		}
		several := c.binUS > c.interval
		if several {
			p.Low, p.High = make(reading.Values, len(c.bins)), make(reading.Values, len(c.bins))
			p.CloseFromUS, p.Close = c.closeUS, c.close
		}
		per := int(math.Round(c.binUS / c.interval))
		for i, b := range c.bins {
			windows := min(per, int(math.Ceil((u.ToUS-u.FromUS-float64(i)*c.binUS)/c.interval-1e-6))) // of the last bin
			p.Mean[i] = reading.Rounded(min(1, b.busyUS/(float64(max(1, windows))*c.interval)))
			if several {
				if b.windows < windows {
					b.low = 0
				}
				p.Low[i], p.High[i] = reading.Rounded(b.low), reading.Rounded(b.high)
			}
		}
		for i := range p.Close {
			p.Close[i] = reading.Rounded(p.Close[i])
		}
		u.Ports = append(u.Ports, p)
	}
	return u
}
