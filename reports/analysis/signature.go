package analysis

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Bounds of a signature.
const (
	// SignatureRows is how many rows a signature has at most, and SignatureBins how many
	// bins of time.
	SignatureRows = 64
	SignatureBins = 400
	// SignatureSpans is how many collectives and phases it names at most.
	SignatureSpans = 16
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
	Steps  int    `json:"steps"`
	StepUS Spread `json:"stepUs"`
	Folded []int  `json:"folded"`
	// StepTimesUS are the lengths of the steps in their order.
	StepTimesUS Values `json:"stepTimesUs,omitempty"`
	// BinUS is the length of a bin, a whole number of telemetry windows. Time is counted
	// from the beginning of the step; of the run it is FromUS in model time.
	BinUS  float64        `json:"binUs"`
	FromUS float64        `json:"fromUs"`
	Bins   int            `json:"bins"`
	Rows   []SignatureRow `json:"rows"` // from the hosts up, then down again
	// AllPorts says that every port that sent has a row of its own. Otherwise the busiest of
	// each tier and direction have one, and a row stands for the others of them.
	AllPorts bool `json:"allPorts"`
	// Utilisation has a row for each of Rows with a value for each bin: the share of the time
	// in which the line was busy, mean over the steps and over the ports of the row.
	// Available has the least available bandwidth as a share of the port's rate over the
	// steps, windows and ports.
	Utilisation []Percents `json:"utilisation"`
	Available   []Percents `json:"available"`
	// Measured says that the available bandwidth of switch ports is what their CSIG meters
	// had, which look back over an interval of their own. Otherwise, and of hosts, it is what
	// windows left of the line. A window without a record leaves all of it.
	Measured bool            `json:"measured"`
	Spans    []SignatureSpan `json:"spans"`             // collectives and phases of the job, by their begin
	LeftOut  int             `json:"leftOut,omitempty"` // collectives and phases that Spans lacks: the shortest
}

// SignatureRow is a port, or those of a tier and direction that have no row of their own.
type SignatureRow struct {
	Name      string `json:"name"` // of the port; "" for several
	Tier      string `json:"tier"`
	Direction string `json:"direction"`
	Ports     int    `json:"ports"`
	Place     *Place `json:"place,omitempty"` // nil for several
}

// SignatureSpan is when a collective or a phase is under way in a step.
type SignatureSpan struct {
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
	Active Percents `json:"active"`
}

// Percents are shares in per cent, rounded. NoPercent stands for none.
type Percents []int8

// NoPercent is the value of Percents where there is none.
const NoPercent = -1

// signatureReader collects a signature in the second pass.
type signatureReader struct {
	of       Signature
	fold     *fold
	interval float64
	row      map[PortID]int32 // index in the rows
	busy     [][]float64      // µs, by row and bin
	left     [][]float64      // least share of the rate that was available, by row and bin
}

// newSignatures prepares the signatures of all variants: of their jobs of which a step was
// measured, or of the run.
func newSignatures(t *totals, folds []*fold) []*signatureReader {
	var all []*signatureReader
	for i := range t.manifest.Variants {
		v := &t.manifest.Variants[i]
		r := run{v.Name, t.shown[v.Name]}
		var own []*fold
		for _, f := range folds {
			if f.variant == v.Name && len(f.steps) > 0 {
				own = append(own, f)
			}
		}
		if from, span := t.manifest.Measure.FromUS, t.span(r); len(own) == 0 && span > 0 && span < longestUS {
			f := &fold{variant: v.Name, seed: r.seed}
			f.add(1, from, from+span)
			f.settle(t.manifest.IntervalUS)
			own = append(own, f)
		}
		for _, f := range own {
			if s := newSignature(t, r, v, f); s != nil {
				all = append(all, s)
			}
		}
	}
	return all
}

// newSignature returns nil if no port sent anything.
func newSignature(t *totals, r run, v *runfolder.Variant, f *fold) *signatureReader {
	s := &signatureReader{fold: f, interval: t.manifest.IntervalUS, row: map[PortID]int32{}}
	s.of = Signature{Variant: v.Name, Seed: r.seed, Job: f.job, Steps: len(f.steps), StepUS: f.spans, BinUS: f.binUS, Bins: f.bins, AllPorts: true, Measured: true}
	if f.job == "" {
		s.of.FromUS = f.steps[0].fromUS
	}
	for i := range f.steps {
		if f.job != "" {
			s.of.StepTimesUS = append(s.of.StepTimesUS, f.steps[i].toUS-f.steps[i].fromUS)
		}
	}
	groups := map[tierKey][]Place{}
	ports := 0
	places := placesOf(t.manifest, v.Name)
	// In an overlay both sides have the same rows.
	busy := func(p *Place) float64 {
		us := t.elsewhere[v.Name][portName(p)]
		if sums := t.ports[r][p.PortID]; sums != nil {
			us += sums.busyUS
		}
		return us
	}
	for _, p := range places {
		if busy(&p) > 0 {
			key := tierKey{p.Tier, p.Direction}
			groups[key] = append(groups[key], p)
			ports++
		}
	}
	if ports == 0 {
		return nil
	}
	if len(groups) > SignatureRows/2 { // of a damaged manifest
		groups = map[tierKey][]Place{{}: slices.Concat(slices.Collect(maps.Values(groups))...)}
	}
	keys := slices.SortedFunc(maps.Keys(groups), compareTiers)
	own := rowsOf(keys, groups)
	for _, k := range keys {
		list := groups[k]
		if own[k] < len(list) {
			s.of.AllPorts = false
			busiest := slices.Clone(list)
			slices.SortStableFunc(busiest, func(a, b Place) int {
				return cmp.Compare(busy(&b), busy(&a))
			})
			for _, p := range busiest[own[k]:] {
				s.row[p.PortID] = -1
			}
		}
		for _, p := range list {
			if _, other := s.row[p.PortID]; !other {
				s.row[p.PortID] = int32(len(s.of.Rows))
				s.of.Rows = append(s.of.Rows, SignatureRow{Name: portName(&p), Tier: k.tier, Direction: k.direction, Ports: 1, Place: &p})
			}
		}
		if rest := len(list) - own[k]; rest > 0 {
			for _, p := range list {
				if s.row[p.PortID] < 0 {
					s.row[p.PortID] = int32(len(s.of.Rows))
				}
			}
			s.of.Rows = append(s.of.Rows, SignatureRow{Tier: k.tier, Direction: k.direction, Ports: rest})
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
func rowsOf(keys []tierKey, groups map[tierKey][]Place) map[tierKey]int {
	own, ports := map[tierKey]int{}, 0
	for _, k := range keys {
		ports += len(groups[k])
		own[k] = len(groups[k])
	}
	if ports <= SignatureRows {
		return own
	}
	clear(own)
	for free, more := SignatureRows-len(keys), true; free > 0 && more; {
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

// portName returns the name of a port, as runfolder.Port.Name.
func portName(p *Place) string {
	if p.Parallel {
		return p.From + ":" + strconv.Itoa(int(p.Port)) + "-" + p.To
	}
	return p.From + "-" + p.To
}

// port takes a row of the run.
func (s *signatureReader) port(row *runfolder.PortRow) {
	i, ok := s.row[PortID{row.Node, row.Port}]
	if !ok {
		return
	}
	busy := row.BusyUS()
	left, measured := leftOf(row, busy, s.interval)
	s.of.Measured = s.of.Measured && (measured || s.of.Rows[i].Tier == "host")
	s.fold.each(row.StartUS, row.StartUS+s.interval, func(bin int, part, whole float64) {
		s.busy[i][bin] += busy * part / s.interval
		// A window is in the bin that has most of it, or of which it has most.
		if part >= min(s.interval, whole)/2 {
			s.left[i][bin] = min(s.left[i][bin], left)
		}
	})
}

// leftOf returns the share of a port's rate that a window left, and whether the port's
// CSIG meter said so.
func leftOf(row *runfolder.PortRow, busyUS, intervalUS float64) (share float64, measured bool) {
	if row.ABWBPS != nil && row.RateBPS > 0 {
		return min(1, max(0, float64(*row.ABWBPS)/float64(row.RateBPS))), true
	}
	return 1 - shareOf(busyUS, intervalUS), false
}

// result returns the signature after the last row.
func (s *signatureReader) result() Signature {
	g := s.of
	cover, steps := s.fold.cover()
	g.Folded = steps
	for i := range g.Rows {
		used, left := make(Percents, g.Bins), make(Percents, g.Bins)
		for b := range g.Bins {
			used[b], left[b] = NoPercent, NoPercent
			if cover[b] > 0 {
				used[b] = percent(s.busy[i][b] / cover[b] / float64(g.Rows[i].Ports))
				left[b] = percent(s.left[i][b])
			}
		}
		g.Utilisation, g.Available = append(g.Utilisation, used), append(g.Available, left)
	}
	g.Spans, g.LeftOut = s.fold.result()
	return g
}
