package signature

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/csiglab/csiglab/reports/reading"
)

// fold lays the steps of a job over each other.
type fold struct {
	variant string
	seed    uint64
	job     string // "": the run
	steps   []stepTime
	lanes   map[laneKey]*lane

	// After settle.
	index map[int32]int  // of steps, by number
	spans reading.Spread // their lengths
	binUS float64
	bins  int
}

// stepTime is when a step was under way: until the next one begins, or its end.
type stepTime struct {
	step   int32
	fromUS float64
	toUS   float64
}

// laneKey names what a lane shows.
type laneKey struct {
	name  string
	phase bool
}

// lane collects the instances of one collective, or phase.
type lane struct {
	ranks     int            // of a group
	groups    map[int32]bool // that run it
	instances int
	busy      []float64 // µs, by bin
	steps     map[int32]*[2]float64
}

// add adds a step.
func (f *fold) add(step int32, fromUS, toUS float64) {
	if toUS > fromUS && fromUS > -reading.LongestUS && toUS < reading.LongestUS { // neither is NaN
		f.steps = append(f.steps, stepTime{step, fromUS, toUS})
	}
}

// settle ends the list of steps.
func (f *fold) settle(intervalUS float64) {
	slices.SortFunc(f.steps, func(a, b stepTime) int {
		return cmp.Or(cmp.Compare(a.fromUS, b.fromUS), cmp.Compare(a.step, b.step))
	})
	f.index = make(map[int32]int, len(f.steps))
	f.lanes = map[laneKey]*lane{}
	var lengths []float64
	for i := range f.steps {
		s := &f.steps[i]
		f.index[s.step] = i
		if i+1 < len(f.steps) {
			s.toUS = min(s.toUS, f.steps[i+1].fromUS)
		}
		lengths = append(lengths, s.toUS-s.fromUS)
	}
	f.spans = reading.SpreadOf(lengths)
	f.binUS = intervalUS * max(1, math.Ceil(f.spans.Max/intervalUS/MaxBins-1e-9))
	f.bins = int(math.Ceil(f.spans.Max/f.binUS - 1e-9))
}

// cover returns how much of a bin all steps have, in µs, and how many steps have some.
func (f *fold) cover() (us []float64, steps []int) {
	us, steps = make([]float64, f.bins), make([]int, f.bins)
	for i := range f.steps {
		length := f.steps[i].toUS - f.steps[i].fromUS
		for b := 0; b < f.bins && float64(b)*f.binUS < length-1e-9; b++ {
			us[b] += min(f.binUS, length-float64(b)*f.binUS)
			steps[b]++
		}
	}
	return us, steps
}

// each calls do for each bin of each step that a window overlaps, with how long.
func (f *fold) each(fromUS, toUS float64, do func(bin int, partUS, binUS float64)) {
	k := sort.Search(len(f.steps), func(i int) bool { return f.steps[i].toUS > fromUS })
	for ; k < len(f.steps) && f.steps[k].fromUS < toUS; k++ {
		s := &f.steps[k]
		length := s.toUS - s.fromUS
		from, to := max(fromUS, s.fromUS)-s.fromUS, min(toUS, s.toUS)-s.fromUS
		f.split(from, to, func(bin int, part float64) {
			do(bin, part, min(f.binUS, length-float64(bin)*f.binUS))
		})
	}
}

// split calls do for each bin that a time since the beginning of a step overlaps.
func (f *fold) split(from, to float64, do func(bin int, part float64)) {
	for b := int(max(0, from) / f.binUS); b < f.bins && float64(b)*f.binUS < to; b++ {
		if part := min(to, float64(b+1)*f.binUS) - max(from, float64(b)*f.binUS); part > 0 {
			do(b, part)
		}
	}
}

// instance adds an instance of a collective, or a rank's part of a phase, in a step.
func (f *fold) instance(key laneKey, step, group int32, ranks int, fromUS, toUS float64) {
	i, ok := f.index[step]
	if !ok || !(toUS >= fromUS && fromUS > -reading.LongestUS && toUS < reading.LongestUS) {
		return
	}
	l := f.lanes[key]
	if l == nil {
		l = &lane{ranks: ranks, groups: map[int32]bool{}, busy: make([]float64, f.bins), steps: map[int32]*[2]float64{}}
		f.lanes[key] = l
	}
	from, to := fromUS-f.steps[i].fromUS, toUS-f.steps[i].fromUS
	l.groups[group] = true
	l.instances++
	if s := l.steps[step]; s == nil {
		l.steps[step] = &[2]float64{from, to}
	} else {
		s[0], s[1] = min(s[0], from), max(s[1], to)
	}
	f.split(from, to, func(bin int, part float64) { l.busy[bin] += part })
}

// result returns the spans that are under way the longest, by their begin, and how many
// others there are.
func (f *fold) result() ([]Span, int) {
	all := []Span{}
	for key, l := range f.lanes {
		steps, groups := float64(len(l.steps)), float64(len(l.groups))
		s := Span{Name: key.name, Phase: key.phase, Ranks: l.ranks * len(l.groups), Groups: len(l.groups),
			Instances: reading.Rounded(float64(l.instances) / steps / groups), Active: make(reading.Percents, f.bins)}
		for _, at := range l.steps {
			s.BeginUS += at[0] / steps
			s.EndUS += at[1] / steps
		}
		s.BeginUS, s.EndUS = reading.Rounded(s.BeginUS), reading.Rounded(s.EndUS)
		for i, busy := range l.busy {
			s.Active[i] = reading.Percent(busy / f.binUS / steps / groups)
		}
		all = append(all, s)
	}
	sum := func(s *Span) (sum int) {
		for _, p := range s.Active {
			sum += int(p)
		}
		return sum
	}
	byName := func(a, b *Span) int {
		if a.Phase != b.Phase {
			if a.Phase {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name, b.Name)
	}
	slices.SortFunc(all, func(a, b Span) int { return cmp.Or(cmp.Compare(sum(&b), sum(&a)), byName(&a, &b)) })
	left := max(0, len(all)-MaxSpans)
	all = all[:len(all)-left]
	slices.SortFunc(all, func(a, b Span) int { return cmp.Or(cmp.Compare(a.BeginUS, b.BeginUS), byName(&a, &b)) })
	return all, left
}
