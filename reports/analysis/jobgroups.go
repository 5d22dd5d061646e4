package analysis

import (
	"cmp"
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// JobGroup is jobs of one variant that share links with each other, directly or through
// others. Iterations and pairs are of the seed that charts show.
type JobGroup struct {
	Variant string `json:"variant"`
	Seed    uint64 `json:"seed"`
	Base    string `json:"base"` // the variant of which speed-ups are, the one named fair or else the first
	// Links are the ports that jobs share: of each two of them the slowest.
	Links []string    `json:"links"`
	Jobs  []SharedJob `json:"jobs"`
	Pairs []JobPair   `json:"pairs"`
}

// SharedJob is a job of a group.
type SharedJob struct {
	Name       string      `json:"name"`
	Iterations []Iteration `json:"iterations"` // that all ranks have ended, by step
	// TimesUS are quantiles of the times of the iterations of all seeds, from the least to the
	// greatest at equal steps; nil without any.
	TimesUS []float64 `json:"timesUs"`
	// MedianUS and MeanUS are of the iterations of a run, the median over the seeds; 0 without.
	MedianUS float64 `json:"medianUs"`
	MeanUS   float64 `json:"meanUs"`
	// SettledUS is iteration_settled_us, the median over the seeds; 0 without.
	SettledUS float64 `json:"settledUs"`
	// SpeedUps are by seed the medians of the base's iterations over these; Mean is the median
	// over the seeds of the same of means. nil and 0 for the base itself, or without common
	// seeds, or where the job has other work there.
	SpeedUps    []float64 `json:"speedUps,omitempty"`
	MeanSpeedUp float64   `json:"meanSpeedUp,omitempty"`

	OverlapFirst *float64    `json:"overlapFirst,omitempty"` // shares; medians over the seeds
	OverlapLast  *float64    `json:"overlapLast,omitempty"`
	Apart        *float64    `json:"apartIteration,omitempty"`
	Prediction   *Prediction `json:"prediction,omitempty"` // nil in folders without
}

// Prediction is what the plan predicts of a job's iterations; see runfolder.Prediction.
// FluidUS is the median over the seeds. 0 is not known.
type Prediction struct {
	AloneUS float64 `json:"aloneUs"`
	FairUS  float64 `json:"fairUs"`
	FluidUS float64 `json:"fluidUs"`
	Law     string  `json:"law"`
	Reason  string  `json:"reason,omitempty"` // why FairUS and FluidUS are 0
}

// Iteration is one step of a job. Times are microseconds of the run.
type Iteration struct {
	Step    int32       `json:"step"`
	BeginUS float64     `json:"beginUs"`
	EndUS   float64     `json:"endUs"`
	Phases  [][]float64 `json:"phases"` // from and to: in which a collective is under way
	Shared  [][]float64 `json:"shared"` // the parts of these in which a job that shares a link communicates too
	Overlap float64     `json:"overlap"`
}

// JobPair is how far the phases of two jobs of equal period are apart, by iteration of A: how
// much later B begins to communicate.
type JobPair struct {
	A            string    `json:"a"`
	B            string    `json:"b"`
	PeriodUS     float64   `json:"periodUs"` // the median of A's iterations
	Steps        []float64 `json:"steps"`
	DifferenceUS Values    `json:"differenceUs"`
	// RecurrenceUS is what the recurrence of the variant's law makes of the first difference,
	// nil where there is none; ApartUS is the difference from which on phases are apart.
	RecurrenceUS Values  `json:"recurrenceUs,omitempty"`
	ApartUS      float64 `json:"apartUs,omitempty"`
}

// quantiles is how many TimesUS has.
const quantiles = 101

// fairVariant is the name of the variant that speed-ups are against.
const fairVariant = "fair"

// equalPeriods is by how much the iterations of two jobs differ at most that have a phase
// difference.
const equalPeriods = 0.05

// jobSteps is what the instances of a run say of a job.
type jobSteps struct {
	times  []float64 // us, of all steps
	steps  map[int32]*Iteration
	phases map[int32][]span // by step; of the shown seed
}

// readJobGroups reads the iterations of jobs that share links.
func readJobGroups(f *runfolder.Folder, t *totals) ([]JobGroup, error) {
	m := &f.Manifest
	groups := []JobGroup{}
	if !sharesLinks(m) {
		return groups, nil
	}
	of := map[run]map[int32]*jobSteps{}
	for r, err := range f.Instances() {
		if err != nil {
			return nil, err
		}
		key := run{r.Variant, r.Seed}
		if of[key] == nil {
			of[key] = map[int32]*jobSteps{}
		}
		j := of[key][r.Job]
		if j == nil {
			j = &jobSteps{steps: map[int32]*Iteration{}, phases: map[int32][]span{}}
			of[key][r.Job] = j
		}
		j.add(&r, t.shown[r.Variant] == r.Seed)
	}
	base := m.Variants[0].Name
	for i := range m.Variants {
		if m.Variants[i].Name == fairVariant {
			base = fairVariant
		}
	}
	for i := range m.Variants {
		v := m.Variants[i].Name
		for _, jobs := range componentsOf(m.JobsOf(v)) {
			g := JobGroup{Variant: v, Seed: t.shown[v], Base: base, Links: []string{}, Pairs: []JobPair{}}
			g.fill(f, t, of, jobs)
			groups = append(groups, g)
		}
	}
	return groups, nil
}

func sharesLinks(m *runfolder.Manifest) bool {
	for i := range m.Variants {
		if slices.ContainsFunc(m.JobsOf(m.Variants[i].Name), func(j runfolder.Job) bool { return len(j.Shares) > 0 }) {
			return true
		}
	}
	return false
}

// componentsOf returns the jobs that share links, those together that do so directly or
// through others.
func componentsOf(jobs []runfolder.Job) (all [][]*runfolder.Job) {
	group := map[int32]int{} // of a job, from 1
	for i := range jobs {
		if len(jobs[i].Shares) == 0 || group[jobs[i].Job] > 0 {
			continue
		}
		var members []*runfolder.Job
		for next := []int32{jobs[i].Job}; len(next) > 0; next = next[1:] {
			at := slices.IndexFunc(jobs, func(j runfolder.Job) bool { return j.Job == next[0] })
			if at < 0 || group[next[0]] > 0 {
				continue
			}
			group[next[0]] = len(all) + 1
			members = append(members, &jobs[at])
			for _, s := range jobs[at].Shares {
				next = append(next, s.Job)
			}
		}
		slices.SortFunc(members, func(a, b *runfolder.Job) int { return cmp.Compare(a.Job, b.Job) })
		all = append(all, members)
	}
	return all
}

// add adds a row. Phases are kept of the shown seed alone.
func (j *jobSteps) add(r *runfolder.InstanceRow, shown bool) {
	switch {
	case r.Collective == "":
		j.times = append(j.times, r.EndUS-r.BeginUS)
		if shown {
			j.steps[r.Step] = &Iteration{Step: r.Step, BeginUS: r.BeginUS, EndUS: r.EndUS}
		}
	case shown:
		// Collectives of one step follow each other closely; joined they are few.
		list := append(j.phases[r.Step], span{r.BeginUS, r.EndUS})
		if len(list) > 64 && len(list)&(len(list)-1) == 0 {
			list = unite(list)
		}
		j.phases[r.Step] = list
	}
}

// fill computes what there is to say of a group.
func (g *JobGroup) fill(f *runfolder.Folder, t *totals, of map[run]map[int32]*jobSteps, jobs []*runfolder.Job) {
	m := &f.Manifest
	shown := of[run{g.Variant, g.Seed}]
	whole := map[int32][]span{} // when each job communicates
	for _, j := range jobs {
		if s := shown[j.Job]; s != nil {
			for step, list := range s.phases {
				s.phases[step] = unite(list)
				whole[j.Job] = append(whole[j.Job], s.phases[step]...)
			}
			whole[j.Job] = unite(whole[j.Job])
		}
	}
	ports := m.PortsOf(g.Variant)
	for _, j := range jobs {
		one := SharedJob{Name: j.Name, Iterations: []Iteration{}}
		var others []span
		for _, s := range j.Shares {
			others = append(others, whole[s.Job]...)
			at := slices.IndexFunc(ports, func(p runfolder.Port) bool { return p.Node == s.Node && p.Port == s.Port })
			if at >= 0 && !slices.Contains(g.Links, ports[at].Name) {
				g.Links = append(g.Links, ports[at].Name)
			}
		}
		if s := shown[j.Job]; s != nil {
			one.Iterations = s.iterations(unite(others))
		}
		one.statistics(f, t, of, g, j)
		g.Jobs = append(g.Jobs, one)
	}
	for i := range jobs {
		for k := i + 1; k < len(jobs); k++ {
			if slices.ContainsFunc(jobs[i].Shares, func(s runfolder.Share) bool { return s.Job == jobs[k].Job }) {
				if p := newJobPair(&g.Jobs[i], &g.Jobs[k]); p != nil {
					a, b := jobs[i], jobs[k]
					if p.A == b.Name {
						a, b = b, a
					}
					p.recur(a, b)
					g.Pairs = append(g.Pairs, *p)
				}
			}
		}
	}
}

// iterations returns the iterations in their order. others is when other jobs communicate.
func (j *jobSteps) iterations(others []span) (all []Iteration) {
	for step, i := range j.steps {
		phases := j.phases[step]
		shared := both(phases, others)
		i.Phases, i.Shared = pairsOf(phases), pairsOf(shared)
		if own := lasting(phases); own > 0 {
			i.Overlap = lasting(shared) / own
		}
		all = append(all, *i)
	}
	slices.SortFunc(all, func(a, b Iteration) int { return cmp.Compare(a.Step, b.Step) })
	return all
}

func pairsOf(list []span) [][]float64 {
	all := make([][]float64, len(list))
	for i, s := range list {
		all[i] = []float64{s.from, s.to}
	}
	return all
}

// statistics computes what is over all seeds.
func (j *SharedJob) statistics(f *runfolder.Folder, t *totals, of map[run]map[int32]*jobSteps, g *JobGroup, info *runfolder.Job) {
	number := int32(-1) // of the job in the base
	for _, b := range f.Manifest.JobsOf(g.Base) {
		if b.Name == info.Name && sameWork(b.Prediction, info.Prediction) {
			number = b.Job
		}
	}
	var all, medians, means, gains []float64
	for _, seed := range t.seeds[g.Variant] {
		own := of[run{g.Variant, seed}][info.Job]
		if own == nil || len(own.times) == 0 {
			continue
		}
		all = append(all, own.times...)
		middle, mean := middleOf(own.times), meanOf(own.times)
		medians, means = append(medians, middle), append(means, mean)
		if base := of[run{g.Base, seed}][number]; g.Variant != g.Base && base != nil && len(base.times) > 0 && middle > 0 && mean > 0 {
			j.SpeedUps, gains = append(j.SpeedUps, middleOf(base.times)/middle), append(gains, meanOf(base.times)/mean)
		}
	}
	if len(all) > 0 {
		slices.Sort(all)
		for k := range quantiles {
			j.TimesUS = append(j.TimesUS, all[(len(all)-1)*k/(quantiles-1)])
		}
		j.MedianUS, j.MeanUS = middleOf(medians), middleOf(means)
	}
	if len(gains) > 0 {
		j.MeanSpeedUp = middleOf(gains)
	}
	if p := info.Prediction; p != nil {
		j.Prediction = &Prediction{AloneUS: p.AloneUS, FairUS: p.FairUS, FluidUS: p.FluidUS, Law: p.Law, Reason: cmp.Or(p.Reason, p.FluidReason)}
	}
	known := f.Summary.Variants[g.Variant].Metrics
	j.SettledUS = known["iteration_settled_us."+info.Name]
	if v, ok := known["iteration_fluid_us."+info.Name]; ok && j.Prediction != nil {
		j.Prediction.FluidUS = v // of all seeds; the manifest has that of the first one
	}
	for name, to := range map[string]**float64{"overlap_share.first.": &j.OverlapFirst, "overlap_share.last.": &j.OverlapLast, "apart_iteration.": &j.Apart} {
		if v, ok := known[name+info.Name]; ok {
			*to = &v
		}
	}
}

// sameWork reports whether two jobs compute and communicate for equal times, as far as that
// is known.
func sameWork(a, b *runfolder.Prediction) bool {
	return a == nil || b == nil || near(a.ComputeUS, b.ComputeUS) && near(a.CommunicationUS, b.CommunicationUS)
}

// SpeedUp returns the median over the seeds of the speed-ups, 0 without any.
func (j *SharedJob) SpeedUp() float64 {
	if len(j.SpeedUps) == 0 {
		return 0
	}
	return middleOf(j.SpeedUps)
}

// middleOf returns the median of values, of which there is at least one.
func middleOf(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func meanOf(values []float64) (mean float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	return mean
}

// newJobPair compares the phases of two jobs; nil if their periods differ, or if one never
// communicates.
func newJobPair(a, b *SharedJob) *JobPair {
	if a.MedianUS <= 0 || b.MedianUS <= 0 || math.Abs(a.MedianUS/b.MedianUS-1) > equalPeriods {
		return nil
	}
	p := &JobPair{A: a.Name, B: b.Name, PeriodUS: a.MedianUS}
	if p.measure(starts(a), starts(b)); len(p.Steps) == 0 {
		return nil
	}
	if last := p.DifferenceUS[len(p.DifferenceUS)*3/4:]; middleOf(last) < 0 { // B is ahead
		p.A, p.B, p.PeriodUS = b.Name, a.Name, b.MedianUS
		p.measure(starts(b), starts(a))
	}
	return p
}

// start is when an iteration begins to communicate.
type start struct {
	step int32
	us   float64
}

func starts(j *SharedJob) (all []start) {
	for i := range j.Iterations {
		if it := &j.Iterations[i]; len(it.Phases) > 0 {
			all = append(all, start{it.Step, it.Phases[0][0]})
		}
	}
	return all
}

// measure finds the differences: to the begin of B that is the nearest at first, and later
// the one whose difference is the nearest to the one before.
func (p *JobPair) measure(a, b []start) {
	p.Steps, p.DifferenceUS = nil, nil
	if len(b) == 0 {
		return
	}
	last := 0.0
	for _, x := range a {
		at, _ := slices.BinarySearchFunc(b, x.us+last, func(y start, us float64) int { return cmp.Compare(y.us, us) })
		at = min(at, len(b)-1)
		if at > 0 && x.us+last-b[at-1].us < math.Abs(b[at].us-x.us-last) {
			at--
		}
		difference := b[at].us - x.us
		if math.Abs(difference-last) > 0.75*p.PeriodUS {
			break // the other one has ended
		}
		p.Steps, p.DifferenceUS = append(p.Steps, float64(x.step)), append(p.DifferenceUS, difference)
		last = difference
	}
}

// equalJobs is by how much two jobs differ at most to which a recurrence applies.
const equalJobs = 0.02

// recur computes the published recurrence of the phase difference D of two equal jobs that
// have a link for themselves: with weights I + S*sent/total D grows by
// S D (T-D) / (I T + S D) in an iteration, where T is the time that one of them needs to
// communicate alone (docs/references.md#mltcp). With constant weights, of which that of the
// job ahead is w times the other one's, what D lacks to T is divided by w.
func (p *JobPair) recur(a, b *runfolder.Job) {
	pa, pb := a.Prediction, b.Prediction
	if pa == nil || pb == nil || pa.CommunicationUS <= 0 || !sameWork(pa, pb) {
		return
	}
	p.ApartUS = pa.CommunicationUS
	if pa.Strict || !(pb.Weight > 0) || !(pa.Intercept > 0) || a.Schedule != nil || b.Schedule != nil ||
		pa.BesideUS+pb.BesideUS > 0 || len(a.Shares)+len(b.Shares) > 2 {
		return
	}
	whole, ratio := pa.CommunicationUS, pa.Weight/pb.Weight
	next := func(d float64) float64 {
		if pa.Slope > 0 {
			return d + pa.Slope*d*(whole-d)/(pa.Intercept*whole+pa.Slope*d)
		}
		return whole - (whole-d)/ratio
	}
	first := slices.IndexFunc(p.DifferenceUS, func(d float64) bool { return d > 0 })
	if first < 0 || ratio < 1 || pa.Slope > 0 && ratio != 1 || pa.Slope == 0 && ratio == 1 {
		return // also of equal weights, which keep the difference
	}
	d := p.DifferenceUS[first]
	for i := range p.DifferenceUS {
		switch {
		case i < first:
			p.RecurrenceUS = append(p.RecurrenceUS, math.NaN())
			continue
		case i > first && d < whole:
			d = next(d)
		}
		p.RecurrenceUS = append(p.RecurrenceUS, d)
	}
}

func near(x, y float64) bool { return math.Abs(x-y) <= equalJobs*y }
