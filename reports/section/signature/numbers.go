package signature

import (
	"cmp"
	"maps"
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
)

// Bounds of a signature.
const (
	// MaxRows is how many rows a signature has at most, and MaxBins how many
	// bins of time.
	MaxRows = 64
	MaxBins = 400
	// MaxSpans is how many collectives and phases it names at most.
	MaxSpans = 16
)

// Signature is how the ports of a variant were used in the course of a step of a job: all
// measured steps laid over each other by the time since each began, without stretching
// any. Without jobs it is the run itself. It is of the seed that charts show.
type Signature struct {
	Variant string `json:"variant"`
	Seed    uint64 `json:"seed"`
	Job     string `json:"job,omitempty"` // "": the run
	// Steps is how many steps are laid over each other, 1 for the run. StepUS has their
	// lengths: bins after the shortest are means over fewer steps, and Folded says over how
	// many, by bin.
	Steps  int            `json:"steps"`
	StepUS reading.Spread `json:"stepUs"`
	Folded []int          `json:"folded"`
	// StepTimesUS are the lengths of the steps in their order.
	StepTimesUS reading.Values `json:"stepTimesUs,omitempty"`
	// BinUS is the length of a bin, a whole number of telemetry windows. Time is counted
	// from the beginning of the step; of the run it is FromUS in model time.
	BinUS  float64 `json:"binUs"`
	FromUS float64 `json:"fromUs"`
	Bins   int     `json:"bins"`
	Rows   []Row   `json:"rows"` // from the hosts up, then down again
	// AllPorts says that every port that sent has a row of its own. Otherwise the busiest of
	// each tier and direction have one, and a row stands for the others of them.
	AllPorts bool `json:"allPorts"`
	// Utilisation has a row for each of Rows with a value for each bin: the share of the time
	// in which the line was busy, mean over the steps and over the ports of the row.
	// Available has the least available bandwidth as a share of the port's rate over the
	// steps, windows and ports.
	Utilisation []reading.Percents `json:"utilisation"`
	Available   []reading.Percents `json:"available"`
	// Measured says that the available bandwidth of switch ports is what their CSIG meters
	// had, which look back over an interval of their own. Otherwise, and of hosts, it is what
	// windows left of the line. A window without a record leaves all of it.
	Measured bool   `json:"measured"`
	Spans    []Span `json:"spans"`             // collectives and phases of the job, by their begin
	LeftOut  int    `json:"leftOut,omitempty"` // collectives and phases that Spans lacks: the shortest
}

// Row is a port, or those of a tier and direction that have no row of their own.
type Row struct {
	Name      string         `json:"name"` // of the port; "" for several
	Tier      string         `json:"tier"`
	Direction string         `json:"direction"`
	Ports     int            `json:"ports"`
	Place     *reading.Place `json:"place,omitempty"`  // nil for several
	Slowed    bool           `json:"slowed,omitempty"` // a fault lowered the rate of its link
	BusyUS    float64        `json:"-"`                // of a port: how long its line was, in the shown runs of all variants
}

// Span is when a collective or a phase is under way in a step.
type Span struct {
	Name      string  `json:"name"`
	Phase     bool    `json:"phase,omitempty"`
	Ranks     int     `json:"ranks"`     // that take part in a step, over all groups
	Groups    int     `json:"groups"`    // of ranks that run the collective by themselves; of a phase the ranks
	Instances float64 `json:"instances"` // in a step of one group, mean
	// BeginUS is when the first instance of a step begins and EndUS when the last one ends,
	// since the beginning of the step: means over the steps.
	BeginUS float64 `json:"beginUs"`
	EndUS   float64 `json:"endUs"`
	// Active has a value for each bin: the share of it in which an instance was under way,
	// mean over the groups and steps.
	Active reading.Percents `json:"active"`
}

// reader collects a signature.
type reader struct {
	of   Signature
	fold *fold
	row  map[reading.PortID]int32 // index in the rows
	busy [][]float64              // µs, by row and bin
	left [][]float64              // least share of the rate that was available, by row and bin
}

// newReaders prepares the signatures of all variants: of their jobs of which a step was
// measured, or of the run.
func newReaders(g *reading.Reading, folds []*fold) []*reader {
	var all []*reader
	for i := range g.Manifest.Variants {
		v := &g.Manifest.Variants[i]
		r := g.ShownRun(v.Name)
		var own []*fold
		for _, f := range folds {
			if f.variant == v.Name && len(f.steps) > 0 {
				own = append(own, f)
			}
		}
		if from, span := g.Manifest.Measure.FromUS, g.Totals.Span(r); len(own) == 0 && span > 0 && span < reading.LongestUS {
			f := &fold{variant: v.Name, seed: r.Seed}
			f.add(1, from, from+span)
			f.settle(g.Manifest.IntervalUS)
			own = append(own, f)
		}
		for _, f := range own {
			if s := newReader(g, v, f); s != nil {
				all = append(all, s)
			}
		}
	}
	return all
}

// candidate is a port that may get a row of its own.
type candidate struct {
	reading.Place
	name   string
	busyUS float64
	slowed bool
}

// newReader returns nil if no port sent anything.
func newReader(g *reading.Reading, v *runfolder.Variant, f *fold) *reader {
	s := &reader{fold: f, row: map[reading.PortID]int32{}}
	s.of = Signature{Variant: v.Name, Seed: f.seed, Job: f.job, Steps: len(f.steps), StepUS: f.spans, BinUS: f.binUS, Bins: f.bins, AllPorts: true, Measured: true}
	if f.job == "" {
		s.of.FromUS = f.steps[0].fromUS
	}
	for i := range f.steps {
		if f.job != "" {
			s.of.StepTimesUS = append(s.of.StepTimesUS, f.steps[i].toUS-f.steps[i].fromUS)
		}
	}
	groups := map[reading.TierKey][]candidate{}
	ports := 0
	// Variants of the same fabric, and both folders of a comparison, have the same rows.
	slowed, all := reading.Slowed(g.Manifest, g.ShownRun(v.Name)), map[string]float64{}
	for i := range g.Manifest.Variants {
		other := g.Manifest.Variants[i].Name
		sent := g.Totals.Ports[g.ShownRun(other)]
		for _, p := range reading.PlacesOf(g.Manifest, other) {
			if sums := sent[p.PortID]; sums != nil {
				all[p.Name()] += sums.BusyUS
			}
		}
	}
	for _, p := range reading.PlacesOf(g.Manifest, v.Name) {
		name := p.Name()
		if busy := g.Elsewhere[v.Name][name] + all[name]; busy > 0 {
			key := reading.TierKey{Tier: p.Tier, Direction: p.Direction}
			groups[key] = append(groups[key], candidate{Place: p, name: name, busyUS: busy, slowed: slowed[name]})
			ports++
		}
	}
	if ports == 0 {
		return nil
	}
	if len(groups) > MaxRows/2 { // of a damaged manifest
		groups = map[reading.TierKey][]candidate{{}: slices.Concat(slices.Collect(maps.Values(groups))...)}
	}
	keys := slices.SortedFunc(maps.Keys(groups), reading.CompareTiers)
	own := rowsOf(keys, groups)
	for _, k := range keys {
		list := groups[k]
		if own[k] < len(list) {
			s.of.AllPorts = false
			busiest := make([]*candidate, len(list))
			for i := range list {
				busiest[i] = &list[i]
			}
			slices.SortStableFunc(busiest, func(a, b *candidate) int {
				if a.slowed != b.slowed {
					if a.slowed {
						return -1
					}
					return 1
				}
				return cmp.Compare(b.busyUS, a.busyUS)
			})
			for _, p := range busiest[own[k]:] {
				s.row[p.PortID] = -1
			}
		}
		for _, p := range list {
			if _, other := s.row[p.PortID]; !other {
				s.row[p.PortID] = int32(len(s.of.Rows))
				s.of.Rows = append(s.of.Rows, Row{Name: p.name, Tier: k.Tier, Direction: k.Direction, Ports: 1, Place: &p.Place, Slowed: p.slowed, BusyUS: reading.Rounded(p.busyUS)})
			}
		}
		if rest := len(list) - own[k]; rest > 0 {
			for _, p := range list {
				if s.row[p.PortID] < 0 {
					s.row[p.PortID] = int32(len(s.of.Rows))
				}
			}
			s.of.Rows = append(s.of.Rows, Row{Tier: k.Tier, Direction: k.Direction, Ports: rest})
		}
	}
	for range s.of.Rows {
		left := make([]float64, f.bins)
		for i := range left {
			left[i] = 1
		}
		s.busy, s.left = append(s.busy, make([]float64, f.bins)), append(s.left, left)
	}
	return s
}

// rowsOf says how many ports of each tier and direction have a row of their own. Where not
// all ports can, they are spread evenly, and each tier keeps a row for its other ports.
func rowsOf(keys []reading.TierKey, groups map[reading.TierKey][]candidate) map[reading.TierKey]int {
	own, ports := map[reading.TierKey]int{}, 0
	for _, k := range keys {
		ports += len(groups[k])
		own[k] = len(groups[k])
	}
	if ports <= MaxRows {
		return own
	}
	clear(own)
	for free, more := MaxRows-len(keys), true; free > 0 && more; {
		more = false
		for _, k := range keys {
			if free > 0 && own[k] < len(groups[k]) {
				own[k]++
				free--
				more = true
			}
		}
	}
	for _, k := range keys {
		if own[k] == len(groups[k])-1 {
			own[k]++ // in the row of the others
		}
	}
	return own
}

// port takes a row of the run.
func (s *reader) port(row *runfolder.PortRow) {
	i, ok := s.row[reading.PortID{Node: row.Node, Port: row.Port}]
	if !ok {
		return
	}
	busy := row.BusyUS()
	left, measured := reading.Left(row, busy)
	s.of.Measured = s.of.Measured && (measured || s.of.Rows[i].Tier == "host")
	s.fold.each(row.StartUS, row.StartUS+row.WindowUS, func(bin int, part, whole float64) {
		s.busy[i][bin] += busy * part / row.WindowUS
		// A window is in the bin that has most of it, or of which it has most.
		if part >= min(row.WindowUS, whole)/2 {
			s.left[i][bin] = min(s.left[i][bin], left)
		}
	})
}

// result returns the signature after the last row.
func (s *reader) result() Signature {
	g := s.of
	cover, steps := s.fold.cover()
	g.Folded = steps
	for i := range g.Rows {
		used, left := make(reading.Percents, g.Bins), make(reading.Percents, g.Bins)
		for b := range g.Bins {
			used[b], left[b] = reading.NoPercent, reading.NoPercent
			if cover[b] > 0 {
				used[b] = reading.Percent(s.busy[i][b] / cover[b] / float64(g.Rows[i].Ports))
				left[b] = reading.Percent(s.left[i][b])
			}
		}
		g.Utilisation, g.Available = append(g.Utilisation, used), append(g.Available, left)
	}
	g.Spans, g.LeftOut = s.fold.result()
	return g
}
