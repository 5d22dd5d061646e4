package reading

import (
	"cmp"
	"math"
	"strings"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// HeavyShare is the utilisation from which a window of a port counts as heavily loaded:
// a quarter of the line is left.
const HeavyShare = 0.75

// WindowSums are what the first pass keeps of the utilisations of a port's windows in the
// measuring window.
type WindowSums struct {
	tier    *TierSums // nil: the run is not shown
	fault   Sides
	BusyUS  float64
	Peak    float64 // greatest utilisation of a window, and when it began, the first of equals
	PeakUS  float64
	Full    int64    // windows that are used to FullWindow or more
	packet  float64  // bytes of a full packet
	Windows [3]int64 // by side: both, before and after the fault; those with a record
	Heavy   [3]int64 // of these, those in which the port was a bottleneck
}

// Sides of windowSums and of other counts.
const (
	BothSides = iota
	BeforeFault
	AfterFault
)

// Sides are the times before and after a fault. The zero value has none.
type Sides struct {
	What          string
	AtUS, UntilUS float64 // of the fault; untilUS is +Inf if it lasts
	Known         bool
}

// Of returns the side of a telemetry window, bothSides if it is on neither.
func (s *Sides) Of(startUS, intervalUS float64) int {
	switch {
	case !s.Known:
		return BothSides
	case startUS+intervalUS <= s.AtUS:
		return BeforeFault
	case startUS >= s.AtUS && startUS+intervalUS <= s.UntilUS:
		return AfterFault
	}
	return BothSides
}

// faultSides returns the runs with a fault that began after their start, with the first
// one. Faults that begin at one time are one.
func faultSides(m *runfolder.Manifest) map[RunID]Sides {
	all := map[RunID]Sides{}
	for i := range m.Runs {
		var first Sides
		var what []string
		for _, f := range m.Runs[i].Faults {
			if !f.Happened || f.FromUS <= 0 || first.Known && f.FromUS > first.AtUS {
				continue
			}
			until := math.Inf(1)
			if f.UntilUS != nil {
				until = *f.UntilUS
			}
			if !first.Known || f.FromUS < first.AtUS {
				first, what = Sides{AtUS: f.FromUS, UntilUS: until, Known: true}, nil
			}
			first.UntilUS = min(first.UntilUS, until)
			what = append(what, f.What)
		}
		if first.Known {
			first.What = strings.Join(what, "; ")
			all[RunID{m.Runs[i].Variant, m.Runs[i].Seed}] = first
		}
	}
	return all
}

// TierKey identifies the ports of a tier and direction.
type TierKey struct{ Tier, Direction string }

// rank is the place of a tier and direction: from the hosts up, then down again.
func (k TierKey) rank() int {
	at := len(tierOrder)
	for i, tier := range tierOrder {
		if k.Tier == tier {
			at = i
		}
	}
	if k.Direction == "down" {
		return 2*len(tierOrder) + 1 - at
	}
	return at
}

var tierOrder = []string{"host", "tor", "agg", "core", "other"}

// CompareTiers orders tiers from the hosts up, then down again.
func CompareTiers(a, b TierKey) int {
	return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Tier, b.Tier), cmp.Compare(a.Direction, b.Direction))
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

// TierSums are the windows of all ports of a tier and direction.
type TierSums struct {
	ShareCounts
	BusyUS float64
}

// ShareCounts is the utilisations of windows.
type ShareCounts struct {
	counts [shareSteps + 1]int64
	seen   int64
	full   int64
	peak   float64
}

// shareSteps is into how many steps a distribution divides the utilisations up to 1.
const shareSteps = 200

// Add counts so many windows of one utilisation.
func (d *ShareCounts) Add(share float64, windows int64) {
	d.counts[int(share*shareSteps+0.5)] += windows
	d.seen += windows
	d.peak = max(d.peak, share)
	if share >= FullWindow {
		d.full += windows
	}
}

// Of returns the shares of so many windows: those that were not added were idle. The mean
// is the caller's.
func (d *ShareCounts) Of(windows int64) WindowShares {
	s := WindowShares{Peak: d.peak}
	windows = max(windows, d.seen)
	if windows == 0 {
		return s
	}
	s.FullShare = float64(d.full) / float64(windows)
	below := windows - d.seen
	for i, n := range d.counts {
		if below += n; float64(below) >= 0.99*float64(windows) {
			s.P99 = float64(i) / shareSteps
			break
		}
	}
	return s
}

// newWindowSums returns the sums of a port, whose first row this is.
func (t *Totals) newWindowSums(r RunID, row *runfolder.PortRow) WindowSums {
	s := WindowSums{packet: t.packet[r.Variant], fault: t.Faulty[r]}
	if t.Shown[r.Variant] != r.Seed {
		return s
	}
	tiers := t.Tiers[r]
	if tiers == nil {
		tiers = map[TierKey]*TierSums{}
		t.Tiers[r] = tiers
	}
	key := TierKey{row.Tier, row.Direction}
	if tiers[key] == nil {
		tiers[key] = &TierSums{}
	}
	s.tier = tiers[key]
	return s
}

// see adds a window that began in the measuring window. A longer one counts as so many of its
// mean.
func (s *WindowSums) see(row *runfolder.PortRow, intervalUS float64) {
	busy, windows := row.BusyUS(), row.Windows(intervalUS)
	share := ShareOf(busy, row.WindowUS)
	s.BusyUS += busy
	if share > s.Peak {
		s.Peak, s.PeakUS = share, row.StartUS
	}
	if share >= FullWindow {
		s.Full += windows
	}
	heavy := int64(0)
	// Without a queue the port merely carries what others let through.
	if share >= HeavyShare && float64(row.QueueByteNS) >= s.packet*row.WindowUS*1000 {
		heavy = windows
	}
	s.Windows[BothSides] += windows
	s.Heavy[BothSides] += heavy
	if side := s.fault.Of(row.StartUS, row.WindowUS); side != BothSides {
		s.Windows[side] += windows
		s.Heavy[side] += heavy
	}
	if s.tier != nil {
		s.tier.Add(share, windows)
		s.tier.BusyUS += busy
	}
}

// ShareOf returns the utilisation of a window. Where packets count in the window in which
// their transmission begins, it may have some bytes more than the line carries in it.
func ShareOf(busyUS, intervalUS float64) float64 {
	return min(1, max(0, busyUS/intervalUS))
}

// Span returns how long the measuring window of a run is up to the run's end, idle time
// after the last record included, in us.
func (t *Totals) Span(r RunID) float64 {
	to := t.Ends[r] // the last window ends after the run
	if stop, ok := t.Stops[r]; ok {
		to = stop
	}
	if until := t.manifest.Measure.ToUS; until > 0 {
		to = min(to, until)
	}
	return to - t.manifest.Measure.FromUS
}

// WindowsIn returns how many telemetry windows begin in the measuring window of a run.
func (t *Totals) WindowsIn(r RunID) int64 {
	interval, from := t.manifest.IntervalUS, t.manifest.Measure.FromUS
	span := t.Span(r)
	if !(span > 0) {
		return 0
	}
	const slack = 1e-9 // of float64
	return int64(math.Ceil((from+span)/interval-slack) - math.Ceil(from/interval-slack))
}
