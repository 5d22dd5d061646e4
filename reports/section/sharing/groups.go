package sharing

import (
	"cmp"
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/series"
)

// Group is jobs of one variant that share links with each other, directly or through
// others. Iterations and pairs are of the seed that charts show.
type Group struct {
	Variant string `json:"variant"`
	Seed    uint64 `json:"seed"`
	Base    string `json:"base"` // the variant of which speed-ups are, the one named fair or else the first
	// Links are the ports that jobs share: of each two of them the slowest.
	Links []string `json:"links"`
	Jobs  []Job    `json:"jobs"`
	// Pairs are at most maxPairs of the jobs that share a link directly and have equal periods,
	// in the order of the jobs. PairsLeftOut counts the others.
	Pairs        []Pair `json:"pairs"`
	PairsLeftOut int    `json:"pairsLeftOut,omitempty"`
}

// Job is a job of a group.
type Job struct {
	Name       string      `json:"name"`
	Links      []string    `json:"links"`      // the ports of the group's Links that this job shares
	Iterations []Iteration `json:"iterations"` // that all ranks have ended, by step
	// TimesUS is the distribution of the times of the Times iterations of all seeds: value i of
	// n is the time of the iteration of rank series.Rank(i, n, Times). nil without any.
	TimesUS []float64 `json:"timesUs"`
	Times   int       `json:"times"`
	// MedianUS and MeanUS are of the iterations of a run, the median over the seeds; 0 without.
	MedianUS float64 `json:"medianUs"`
	MeanUS   float64 `json:"meanUs"`
	// SettledUS is iteration_settled_us, the median over the seeds; 0 without.
	SettledUS float64 `json:"settledUs"`
	// SpeedUps are by seed the medians of the base's iterations over these; Mean is the median
	// over the seeds of the same of means. nil and 0 for the base itself, or without common
	// seeds, or where the job has other work there, or work that is not known. Predicted is
	// what the predictions of both variants make of it; 0 if one of them is not known.
	SpeedUps         []float64 `json:"speedUps,omitempty"`
	MeanSpeedUp      float64   `json:"meanSpeedUp,omitempty"`
	PredictedSpeedUp float64   `json:"predictedSpeedUp,omitempty"`

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
	Phases  [][]float64 `json:"phases"`  // from and to: in which a collective is under way
	Shared  [][]float64 `json:"shared"`  // the parts of these in which a job that shares a link communicates too
	Overlap float64     `json:"overlap"` // the share of Phases that Shared is
	// Alone: it does not communicate while a job that shares a link runs, so that Overlap says
	// nothing.
	Alone bool `json:"alone,omitempty"`
}

// maxTimes bounds the values of TimesUS.
const maxTimes = 101

// maxPairs bounds the pairs of a group: jobs that all share one link have a number of pairs
// that grows with its square, and each pair has a value for each iteration.
const maxPairs = 64

// fairVariant is the name of the variant that speed-ups are against.
const fairVariant = "fair"

// jobSteps is what the instances of a run say of a job.
type jobSteps struct {
	times  []float64 // us, of all steps from start to start, in their order; the last one is the time until end
	begin  float64   // of the last step so far
	end    float64   // of all
	steps  map[int32]*Iteration
	phases map[int32][]reading.Span // by step; of the shown seed
}

// sharesLinks reports whether jobs of some variant share links.
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
		if n := len(j.times); n > 0 {
			j.times[n-1] = max(0, r.BeginUS-j.begin)
		} else {
			j.begin, j.end = r.BeginUS, r.EndUS
		}
		j.begin, j.end = max(j.begin, r.BeginUS), max(j.end, r.EndUS)
		j.times = append(j.times, j.end-j.begin)
		if shown {
			j.steps[r.Step] = &Iteration{Step: r.Step, BeginUS: r.BeginUS, EndUS: r.EndUS}
		}
	case shown:
		// Collectives of one step follow each other closely; joined they are few.
		list := append(j.phases[r.Step], reading.Span{From: r.BeginUS, To: r.EndUS})
		if len(list) > 64 && len(list)&(len(list)-1) == 0 {
			list = reading.Unite(list)
		}
		j.phases[r.Step] = list
	}
}

// fill computes what there is to say of a group, and returns its pairs for addPairs.
func (s *Section) fill(g *Group, jobs []*runfolder.Job) []measuredPair {
	m, of := s.reading.Manifest, s.steps
	shown := of[reading.RunID{Variant: g.Variant, Seed: g.Seed}]
	whole := map[int32][]reading.Span{} // when each job communicates
	runs := map[int32]reading.Span{}    // from its first iteration to its last one
	for _, j := range jobs {
		if s := shown[j.Job]; s != nil {
			runs[j.Job] = s.lasts()
			for step, list := range s.phases {
				s.phases[step] = reading.Unite(list)
				whole[j.Job] = append(whole[j.Job], s.phases[step]...)
			}
			whole[j.Job] = reading.Unite(whole[j.Job])
		}
	}
	ports := m.PortsOf(g.Variant)
	for _, j := range jobs {
		one := Job{Name: j.Name, Links: []string{}, Iterations: []Iteration{}}
		var others, present []reading.Span
		for _, s := range j.Shares {
			others = append(others, whole[s.Job]...)
			if r, ok := runs[s.Job]; ok {
				present = append(present, r)
			}
			at := slices.IndexFunc(ports, func(p runfolder.Port) bool { return p.Node == s.Node && p.Port == s.Port })
			if at < 0 {
				continue
			}
			if name := ports[at].Name; !slices.Contains(one.Links, name) {
				one.Links = append(one.Links, name)
			}
		}
		if s := shown[j.Job]; s != nil {
			one.Iterations = s.iterations(reading.Unite(others), reading.Unite(present))
		}
		for _, name := range one.Links {
			if !slices.Contains(g.Links, name) {
				g.Links = append(g.Links, name)
			}
		}
		s.statistics(&one, g, j)
		g.Jobs = append(g.Jobs, one)
	}
	return g.pair(jobs)
}

// lasts returns the time from the begin of the first iteration to the end of the last one.
func (j *jobSteps) lasts() reading.Span {
	all := reading.Span{From: math.Inf(1), To: math.Inf(-1)}
	for _, i := range j.steps {
		all = reading.Span{From: min(all.From, i.BeginUS), To: max(all.To, i.EndUS)}
	}
	return all
}

// iterations returns the iterations in their order. others is when the jobs that share a link
// communicate, present is when they run.
func (j *jobSteps) iterations(others, present []reading.Span) (all []Iteration) {
	for step, i := range j.steps {
		phases := j.phases[step]
		shared := reading.Both(phases, others)
		i.Phases, i.Shared = pairsOf(phases), pairsOf(shared)
		if own := reading.Lasting(phases); own > 0 {
			i.Overlap = reading.Lasting(shared) / own
			i.Alone = i.Overlap == 0 && reading.Lasting(reading.Both(phases, present)) == 0
		}
		all = append(all, *i)
	}
	slices.SortFunc(all, func(a, b Iteration) int { return cmp.Compare(a.Step, b.Step) })
	return all
}

func pairsOf(list []reading.Span) [][]float64 {
	all := make([][]float64, len(list))
	for i, s := range list {
		all[i] = []float64{s.From, s.To}
	}
	return all
}

// statistics computes what is over all seeds.
func (s *Section) statistics(j *Job, g *Group, info *runfolder.Job) {
	m, of := s.reading.Manifest, s.steps
	number := int32(-1) // of the job in the base
	for _, b := range m.JobsOf(g.Base) {
		if b.Name == info.Name && sameJob(&b, info) {
			number = b.Job
			if slow, fast := predicted(s.reading.Summary, g.Base, &b), predicted(s.reading.Summary, g.Variant, info); g.Variant != g.Base && slow > 0 && fast > 0 {
				j.PredictedSpeedUp = slow / fast
			}
		}
	}
	var all, medians, means, gains []float64
	for _, seed := range s.reading.Totals.Seeds[g.Variant] {
		own := of[reading.RunID{Variant: g.Variant, Seed: seed}][info.Job]
		if own == nil || len(own.times) == 0 {
			continue
		}
		all = append(all, own.times...)
		middle, mean := runfolder.Median(own.times), meanOf(own.times)
		medians, means = append(medians, middle), append(means, mean)
		if base := of[reading.RunID{Variant: g.Base, Seed: seed}][number]; g.Variant != g.Base && base != nil && len(base.times) > 0 && middle > 0 && mean > 0 {
			j.SpeedUps, gains = append(j.SpeedUps, runfolder.Median(base.times)/middle), append(gains, meanOf(base.times)/mean)
		}
	}
	if len(all) > 0 {
		slices.Sort(all)
		j.Times = len(all)
		n := min(len(all), maxTimes)
		for k := range n {
			j.TimesUS = append(j.TimesUS, all[series.Rank(k, n, len(all))-1])
		}
		j.MedianUS, j.MeanUS = runfolder.Median(medians), runfolder.Median(means)
	}
	if len(gains) > 0 {
		j.MeanSpeedUp = runfolder.Median(gains)
	}
	if p := info.Prediction; p != nil {
		j.Prediction = &Prediction{AloneUS: p.AloneUS, FairUS: p.FairUS, FluidUS: predicted(s.reading.Summary, g.Variant, info), Law: p.Law, Reason: cmp.Or(p.Reason, p.FluidReason)}
	}
	known := s.reading.Summary.Variants[g.Variant].Metrics
	j.SettledUS = known["iteration_settled_us."+info.Name]
	for name, to := range map[string]**float64{"overlap_share.first.": &j.OverlapFirst, "overlap_share.last.": &j.OverlapLast, "apart_iteration.": &j.Apart} {
		if v, ok := known[name+info.Name]; ok {
			*to = &v
		}
	}
}

// predicted returns what the fluid model predicts of a job's iterations, the median over the
// seeds: the manifest has that of the first one. It is 0 if that is not known.
func predicted(s *runfolder.Summary, variant string, j *runfolder.Job) float64 {
	if j.Prediction == nil {
		return 0
	}
	if v, ok := s.Variants[variant].Metrics["iteration_fluid_us."+j.Name]; ok {
		return v
	}
	return j.Prediction.FluidUS
}

// sameJob reports whether a job has equal work in two variants: it computes and communicates
// for equal times alone. Where the plan does not know these times, as of kind collective, its
// collectives have to be equal; a job whose work is not known at all has none that is equal.
func sameJob(a, b *runfolder.Job) bool {
	if knownWork(a.Prediction) && knownWork(b.Prediction) {
		return sameWork(a.Prediction, b.Prediction)
	}
	return !knownWork(a.Prediction) && !knownWork(b.Prediction) && len(a.Ranks) == len(b.Ranks) && len(a.Collectives) > 0 && slices.Equal(a.Collectives, b.Collectives)
}

func knownWork(p *runfolder.Prediction) bool { return p != nil && p.AloneUS > 0 }

// sameWork reports whether two jobs compute and communicate for equal times.
func sameWork(a, b *runfolder.Prediction) bool {
	return near(a.ComputeUS, b.ComputeUS) && near(a.CommunicationUS, b.CommunicationUS)
}

// speedUp returns the median over the seeds of the speed-ups, 0 without any.
func (j *Job) speedUp() float64 {
	if len(j.SpeedUps) == 0 {
		return 0
	}
	return runfolder.Median(j.SpeedUps)
}

func meanOf(values []float64) (mean float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	return mean
}
