package analysis

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// fold lays the steps of a job over each other.
type fold struct {
	variant string
	seed    uint64
	job     string // "": the run
	steps   []stepTime
	lanes   map[laneKey]*lane

	// After settle.
	index map[int32]int // of steps, by number
	spans Spread        // their lengths
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
	if toUS > fromUS && fromUS > -longestUS && toUS < longestUS { // neither is NaN
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
	f.spans = spreadOf(lengths)
	f.binUS = intervalUS * max(1, math.Ceil(f.spans.Max/intervalUS/SignatureBins-1e-9))
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
	if !ok || !(toUS >= fromUS && fromUS > -longestUS && toUS < longestUS) {
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
func (f *fold) result() ([]SignatureSpan, int) {
	all := []SignatureSpan{}
	for key, l := range f.lanes {
		steps, groups := float64(len(l.steps)), float64(len(l.groups))
		s := SignatureSpan{Name: key.name, Phase: key.phase, Ranks: l.ranks * len(l.groups), Groups: len(l.groups),
			Instances: rounded(float64(l.instances) / steps / groups), Active: make(Percents, f.bins)}
		for _, at := range l.steps {
			s.BeginUS += at[0] / steps
			s.EndUS += at[1] / steps
		}
		s.BeginUS, s.EndUS = rounded(s.BeginUS), rounded(s.EndUS)
		for i, busy := range l.busy {
			s.Active[i] = percent(busy / f.binUS / steps / groups)
		}
		all = append(all, s)
	}
	sum := func(s *SignatureSpan) (sum int) {
		for _, p := range s.Active {
			sum += int(p)
		}
		return sum
	}
	byName := func(a, b *SignatureSpan) int {
		if a.Phase != b.Phase {
			if a.Phase {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name, b.Name)
	}
	slices.SortFunc(all, func(a, b SignatureSpan) int { return cmp.Or(cmp.Compare(sum(&b), sum(&a)), byName(&a, &b)) })
	left := max(0, len(all)-SignatureSpans)
	all = all[:len(all)-left]
	slices.SortFunc(all, func(a, b SignatureSpan) int { return cmp.Or(cmp.Compare(a.BeginUS, b.BeginUS), byName(&a, &b)) })
	return all, left
}

// percent returns a share in per cent.
func percent(share float64) int8 { return int8(math.Round(100 * min(1, max(0, share)))) }

// stepReader collects the steps of jobs, and what goes on in them, from the tables of jobs.
type stepReader struct {
	folds    []*fold // of the jobs with the same index
	measure  runfolder.Window
	interval float64
}

func newStepReader(m *runfolder.Manifest, jobs []Job) *stepReader {
	s := &stepReader{measure: m.Measure, interval: m.IntervalUS, folds: make([]*fold, len(jobs))}
	for i := range jobs {
		s.folds[i] = &fold{variant: jobs[i].Variant, seed: jobs[i].Seed, job: jobs[i].Name}
	}
	return s
}

// step takes a step of a job. Steps that are not in the measuring window are left out.
func (s *stepReader) step(job int, r *runfolder.InstanceRow) {
	if r.BeginUS >= s.measure.FromUS && (s.measure.ToUS == 0 || r.EndUS <= s.measure.ToUS) {
		s.folds[job].add(r.Step, r.BeginUS, r.EndUS)
	}
}

// settle ends the list of steps of all jobs.
func (s *stepReader) settle() {
	for _, f := range s.folds {
		f.settle(s.interval)
	}
}

// collective takes an instance of a collective of a job, after settle.
func (s *stepReader) collective(job int, r *runfolder.InstanceRow) {
	s.folds[job].instance(laneKey{name: r.Collective}, r.Step, value(r.Group), int(r.Ranks), r.BeginUS, r.EndUS)
}

// operation takes an operation of a job, after settle: of phases the spans.
func (s *stepReader) operation(job int, r *runfolder.OperationRow) {
	if r.Kind == "span" && r.Phase != "" && r.Collective == "" {
		s.folds[job].instance(laneKey{r.Phase, true}, r.Step, r.Rank, 1, r.StartUS, r.EndUS)
	}
}
