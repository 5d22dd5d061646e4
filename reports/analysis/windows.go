package analysis

import (
	"cmp"
	"math"
	"strings"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// heavyShare is the utilisation from which a window of a port counts as heavily loaded:
// a quarter of the line is left.
const heavyShare = 0.75

// windowSums are what the first pass keeps of the utilisations of a port's windows in the
// measuring window.
type windowSums struct {
	tier    *tierSums // nil: the run is not shown
	fault   sides
	busyUS  float64
	peak    float64 // greatest utilisation of a window, and when it began, the first of equals
	peakUS  float64
	full    int64    // windows that are used to FullWindow or more
	packet  float64  // bytes of a full packet
	windows [3]int64 // by side: both, before and after the fault; those with a record
	heavy   [3]int64 // of these, those in which the port was a bottleneck
}

// Sides of windowSums and of other counts.
const (
	bothSides = iota
	beforeFault
	afterFault
)

// sides are the times before and after a fault. The zero value has none.
type sides struct {
	what          string
	atUS, untilUS float64 // of the fault; untilUS is +Inf if it lasts
	known         bool
}

// of returns the side of a telemetry window, bothSides if it is on neither.
func (s *sides) of(startUS, intervalUS float64) int {
	switch {
	case !s.known:
		return bothSides
	case startUS+intervalUS <= s.atUS:
		return beforeFault
	case startUS >= s.atUS && startUS+intervalUS <= s.untilUS:
		return afterFault
	}
	return bothSides
}

// faultSides returns the runs with a fault that began after their start, with the first
// one. Faults that begin at one time are one.
func faultSides(m *runfolder.Manifest) map[run]sides {
	all := map[run]sides{}
	for i := range m.Runs {
		var first sides
		var what []string
		for _, f := range m.Runs[i].Faults {
			if !f.Happened || f.FromUS <= 0 || first.known && f.FromUS > first.atUS {
				continue
			}
			until := math.Inf(1)
			if f.UntilUS != nil {
				until = *f.UntilUS
			}
			if !first.known || f.FromUS < first.atUS {
				first, what = sides{atUS: f.FromUS, untilUS: until, known: true}, nil
			}
			first.untilUS = min(first.untilUS, until)
			what = append(what, f.What)
		}
		if first.known {
			first.what = strings.Join(what, "; ")
			all[run{m.Runs[i].Variant, m.Runs[i].Seed}] = first
		}
	}
	return all
}

// tierKey identifies the ports of a tier and direction.
type tierKey struct{ tier, direction string }

// rank is the place of a tier and direction: from the hosts up, then down again.
func (k tierKey) rank() int {
	at := len(tierOrder)
	for i, tier := range tierOrder {
		if k.tier == tier {
			at = i
		}
	}
	if k.direction == "down" {
		return 2*len(tierOrder) + 1 - at
	}
	return at
}

var tierOrder = []string{"host", "tor", "agg", "core", "other"}

func compareTiers(a, b tierKey) int {
	return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.tier, b.tier), cmp.Compare(a.direction, b.direction))
}

// tierSums are the windows of all ports of a tier and direction.
type tierSums struct {
	distribution
	busyUS float64
}

// distribution is the utilisations of windows.
type distribution struct {
	counts [shareSteps + 1]int64
	seen   int64
	full   int64
	peak   float64
}

// shareSteps is into how many steps a distribution divides the utilisations up to 1.
const shareSteps = 200

func (d *distribution) add(share float64) {
	d.counts[int(share*shareSteps+0.5)]++
	d.seen++
	d.peak = max(d.peak, share)
	if share >= FullWindow {
		d.full++
	}
}

// of returns the shares of so many windows: those that were not added were idle. The mean
// is the caller's.
func (d *distribution) of(windows int64) WindowShares {
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
func (t *totals) newWindowSums(r run, row *runfolder.PortRow) windowSums {
	s := windowSums{packet: t.packet[r.variant], fault: t.faulty[r]}
	if t.shown[r.variant] != r.seed {
		return s
	}
	tiers := t.tiers[r]
	if tiers == nil {
		tiers = map[tierKey]*tierSums{}
		t.tiers[r] = tiers
	}
	key := tierKey{row.Tier, row.Direction}
	if tiers[key] == nil {
		tiers[key] = &tierSums{}
	}
	s.tier = tiers[key]
	return s
}

// see adds a window that began in the measuring window.
func (s *windowSums) see(row *runfolder.PortRow, intervalUS float64) {
	busy := row.BusyUS()
	share := shareOf(busy, intervalUS)
	s.busyUS += busy
	if share > s.peak {
		s.peak, s.peakUS = share, row.StartUS
	}
	if share >= FullWindow {
		s.full++
	}
	heavy := int64(0)
	// Without a queue the port merely carries what others let through.
	if share >= heavyShare && float64(row.QueueByteNS) >= s.packet*intervalUS*1000 {
		heavy = 1
	}
	s.windows[bothSides]++
	s.heavy[bothSides] += heavy
	if side := s.fault.of(row.StartUS, intervalUS); side != bothSides {
		s.windows[side]++
		s.heavy[side] += heavy
	}
	if s.tier != nil {
		s.tier.add(share)
		s.tier.busyUS += busy
	}
}

// shareOf returns the utilisation of a window. Where packets count in the window in which
// their transmission begins, it may have some bytes more than the line carries in it.
func shareOf(busyUS, intervalUS float64) float64 {
	return min(1, max(0, busyUS/intervalUS))
}

// span returns how long the measuring window of a run is up to the run's end, idle time
// after the last record included, in us.
func (t *totals) span(r run) float64 {
	to := t.ends[r] // the last window ends after the run
	if stop, ok := t.stops[r]; ok {
		to = stop
	}
	if until := t.manifest.Measure.ToUS; until > 0 {
		to = min(to, until)
	}
	return to - t.manifest.Measure.FromUS
}

// windowsIn returns how many telemetry windows begin in the measuring window of a run.
func (t *totals) windowsIn(r run) int64 {
	interval, from := t.manifest.IntervalUS, t.manifest.Measure.FromUS
	span := t.span(r)
	if !(span > 0) {
		return 0
	}
	const slack = 1e-9 // of float64
	return int64(math.Ceil((from+span)/interval-slack) - math.Ceil(from/interval-slack))
}
