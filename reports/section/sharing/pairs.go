package sharing

import (
	"cmp"
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
)

// Pair is how far the phases of two jobs of equal period are apart, by iteration of A: how
// much later B begins to communicate. The order of the jobs is the same in all variants; see
// addPairs.
type Pair struct {
	A        string  `json:"a"`
	B        string  `json:"b"`
	PeriodUS float64 `json:"periodUs"` // the median of A's iterations
	// Steps are those of A while both jobs communicate. DifferenceUS is taken modulo the period:
	// it jumps by a period where one job falls back by one against the other. It is NaN where B
	// does not begin to communicate before A's next iteration does, and just below 0 where B is
	// a little ahead.
	Steps        []float64      `json:"steps"`
	DifferenceUS reading.Values `json:"differenceUs"`
	// RecurrenceUS is what the recurrence of the variant's law makes of the first difference,
	// nil where there is none. Ratio is that of the weights by which it does, and 0 if weights
	// grow with progress.
	RecurrenceUS reading.Values `json:"recurrenceUs,omitempty"`
	Ratio        float64        `json:"ratio,omitempty"`
	// Phases are apart while the difference is from ApartUS to ApartToUS; both are 0 if it is
	// not known how long the jobs communicate alone, or if that is too long for the period.
	ApartUS   float64 `json:"apartUs,omitempty"`
	ApartToUS float64 `json:"apartToUs,omitempty"`
}

// equalPeriods is by how much the iterations of two jobs differ at most that have a phase
// difference.
const equalPeriods = 0.05

// measuredPair is a pair in both orders, before it is known which of them a report shows. one
// is the order of the names.
type measuredPair struct {
	group      *Group
	one, other *Pair
	a, b       *runfolder.Job // of one
}

// pair compares the phases of the jobs that share a link directly.
func (g *Group) pair(jobs []*runfolder.Job) (all []measuredPair) {
	for i := range jobs {
		for k := i + 1; k < len(jobs); k++ {
			if !slices.ContainsFunc(jobs[i].Shares, func(s runfolder.Share) bool { return s.Job == jobs[k].Job }) || !equalPeriod(&g.Jobs[i], &g.Jobs[k]) {
				continue
			}
			if len(all) == maxPairs {
				g.PairsLeftOut++
				continue
			}
			p := measuredPair{group: g, a: jobs[i], b: jobs[k], one: newPair(&g.Jobs[i], &g.Jobs[k], jobs[i], jobs[k]), other: newPair(&g.Jobs[k], &g.Jobs[i], jobs[k], jobs[i])}
			if p.one.A > p.one.B {
				p = p.swapped()
			}
			all = append(all, p)
		}
	}
	return all
}

func (p measuredPair) swapped() measuredPair {
	return measuredPair{p.group, p.other, p.one, p.b, p.a}
}

// addPairs gives each pair the same order in all variants: the one in which the difference
// jumps less often or, if that does not matter, in which B is the job that follows at last,
// by less than half a period.
func addPairs(all []measuredPair) {
	type order struct {
		wraps int // of one, less those of the other
		last  float64
	}
	orders := map[[2]string]order{}
	for i := range all {
		key := [2]string{all[i].one.A, all[i].one.B}
		o := orders[key]
		o.wraps += all[i].one.wraps() - all[i].other.wraps()
		o.last += all[i].one.last()
		orders[key] = o
	}
	for _, p := range all {
		if o := orders[[2]string{p.one.A, p.one.B}]; o.wraps > 0 || o.wraps == 0 && o.last < 0 {
			p = p.swapped()
		}
		if len(p.one.Steps) == 0 {
			p = p.swapped()
		}
		if len(p.one.Steps) > 0 {
			p.one.recur(p.a, p.b)
			p.group.Pairs = append(p.group.Pairs, *p.one)
		}
	}
}

func equalPeriod(a, b *Job) bool {
	return a.MedianUS > 0 && b.MedianUS > 0 && math.Abs(a.MedianUS/b.MedianUS-1) <= equalPeriods
}

// newPair compares the phases of two jobs of equal period, in this order; it has no steps
// if they never communicate at the same time of the run. of says what the plan knows of them.
func newPair(a, b *Job, ofA, ofB *runfolder.Job) *Pair {
	p := &Pair{A: a.Name, B: b.Name, PeriodUS: a.MedianUS}
	p.bounds(ofA.Prediction, ofB.Prediction)
	p.measure(starts(a), starts(b))
	return p
}

// bounds finds from which difference on and up to which one the phases are apart: B begins
// when A has ended, and ends before A begins anew.
func (p *Pair) bounds(a, b *runfolder.Prediction) {
	if a == nil || b == nil || !(a.CommunicationUS > 0) || !(b.CommunicationUS > 0) || a.CommunicationUS+b.CommunicationUS > p.PeriodUS {
		return
	}
	p.ApartUS, p.ApartToUS = a.CommunicationUS, p.PeriodUS-b.CommunicationUS
}

// start is when an iteration begins to communicate.
type start struct {
	step int32
	us   float64
}

func starts(j *Job) (all []start) {
	for i := range j.Iterations {
		if it := &j.Iterations[i]; len(it.Phases) > 0 {
			all = append(all, start{it.Step, it.Phases[0][0]})
		}
	}
	slices.SortStableFunc(all, func(x, y start) int { return cmp.Compare(x.us, y.us) })
	return all
}

// ahead is by how much B may be ahead of A and still count as just ahead of it: an eighth of
// the period, and at most half of what keeps the phases apart. So differences wrap where no
// pair of jobs settles.
func (p *Pair) ahead() float64 {
	if p.ApartUS > 0 {
		return min(p.PeriodUS/8, p.ApartUS/2)
	}
	return p.PeriodUS / 8
}

// measure finds the differences: of each phase of A to the first phase of B that begins after
// it, or just before it, and before the next phase of A does. It begins and ends where both
// jobs communicate.
func (p *Pair) measure(a, b []start) {
	next, early := 0, p.ahead()
	for i, x := range a {
		from, to := x.us-early, x.us+p.PeriodUS-early
		if i+1 < len(a) {
			to = a[i+1].us - early
		}
		for next < len(b) && b[next].us < from {
			next++
		}
		switch {
		case next < len(b) && b[next].us < to:
			p.Steps, p.DifferenceUS = append(p.Steps, float64(x.step)), append(p.DifferenceUS, b[next].us-x.us)
		case len(p.Steps) > 0 && next < len(b):
			p.Steps, p.DifferenceUS = append(p.Steps, float64(x.step)), append(p.DifferenceUS, math.NaN())
		}
	}
	for n := len(p.Steps); n > 0 && math.IsNaN(p.DifferenceUS[n-1]); n-- {
		p.Steps, p.DifferenceUS = p.Steps[:n-1], p.DifferenceUS[:n-1]
	}
}

// wraps returns how often the difference jumps by more than half a period.
func (p *Pair) wraps() (n int) {
	for i, d := range p.DifferenceUS {
		if i > 0 && math.Abs(d-p.DifferenceUS[i-1]) > p.PeriodUS/2 {
			n++
		}
	}
	return n
}

// last returns by how much B follows A at last, as a share of the period from -0.5 to 0.5: the
// median of the last quarter. It is 0 without differences.
func (p *Pair) last() float64 {
	var last []float64
	for _, d := range p.DifferenceUS[len(p.DifferenceUS)*3/4:] {
		if !math.IsNaN(d) {
			last = append(last, d/p.PeriodUS)
		}
	}
	if len(last) == 0 {
		return 0
	}
	share := runfolder.Median(last)
	return share - math.Round(share)
}

// equalJobs is by how much two jobs differ at most to which a recurrence applies.
const equalJobs = 0.02

// recur computes the published recurrence of the phase difference D of two equal jobs that
// have a link for themselves: with weights I + S*sent/total D grows by
// S D (T-D) / (I T + S D) in an iteration, where T is the time that one of them needs to
// communicate alone (docs/reference/references.md#mltcp). With constant weights, of which that of the
// job ahead is w times the other one's, what D lacks to T is divided by w.
func (p *Pair) recur(a, b *runfolder.Job) {
	pa, pb := a.Prediction, b.Prediction
	if pa == nil || pb == nil || !(pa.CommunicationUS > 0) || !sameWork(pa, pb) {
		return
	}
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
	if pa.Slope == 0 {
		p.Ratio = ratio
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
