// Package waits finds what the steps of jobs, their collectives and slow transfers waited for:
// the critical path of a step, and the ports at which its messages queued. Sections of a report
// share one Reader. It is of the run of each variant that charts show, makes no text, and draws
// nothing.
package waits

import (
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
)

// Job is what a job of one variant waited for. Times are microseconds of model time.
type Job struct {
	Run  reading.RunID
	Info *runfolder.Job
	// Steps are the steps of which operations.parquet has the sends and receives, by number;
	// Slowest is the number of the one that takes longest, 0 if there is none.
	Steps   map[int32]*Path
	Slowest int32
	// Instances has the slowest instance of each collective in these steps, nil of a collective
	// without any.
	Instances map[string]*Path
	// Slow are the instances that may have lost much time, at most maxSlow, and Fastest is how
	// long the fastest instance of each collective took, in all steps.
	Slow    []*Path
	Fastest map[string]float64

	hosts []string // of ranks
	slow  map[string][]*Path
}

// Path is one step, or one instance of a collective, and its critical path.
type Path struct {
	Step       int32   `json:"step"`
	Collective string  `json:"collective,omitempty"` // "": the step
	Group      int32   `json:"group"`
	FromUS     float64 `json:"fromUs"`
	ToUS       float64 `json:"toUs"`
	LateRank   int32   `json:"lateRank"` // that began last
	LateHost   string  `json:"lateHost"`
	LateUS     float64 `json:"lateUs"`   // by how much after the first one
	LastRank   int32   `json:"lastRank"` // that ended last
	LastHost   string  `json:"lastHost"`

	// Whole is the critical path, in order of time; nil if its operations were not kept.
	Whole []Piece `json:"-"`
}

// US returns how long the step or collective lasts.
func (p *Path) US() float64 { return p.ToUS - p.FromUS }

// Reader reads the tables of jobs and transfers.
type Reader struct {
	Jobs []*Job // by variant, then job

	reading   *reading.Reading
	byNumber  map[reading.RunID]map[int32]*Job
	transfers map[reading.RunID]*transfers // of runs without jobs
	open      map[stepKey]*Step
	hops      map[reading.RunID]*hops
	baseRTTs  map[reading.RunID][]float64 // in us, by flow
	watchers  []func(*Job, *Step)
}

type stepKey struct {
	*Job
	step int32
}

// Of returns the reader that the sections of a reading share. It is called before the survey.
func Of(r *reading.Reading) *Reader {
	return reading.Share(r, func() *Reader { return newReader(r) })
}

func newReader(r *reading.Reading) *Reader {
	w := &Reader{reading: r, byNumber: map[reading.RunID]map[int32]*Job{}, transfers: map[reading.RunID]*transfers{}, open: map[stepKey]*Step{},
		hops: map[reading.RunID]*hops{}, baseRTTs: map[reading.RunID][]float64{}}
	m := r.Manifest
	for i := range m.Variants {
		run := r.ShownRun(m.Variants[i].Name)
		jobs := m.JobsOf(run.Variant)
		if len(jobs) == 0 {
			w.transfers[run] = newTransfers(r, run)
			continue
		}
		w.byNumber[run] = map[int32]*Job{}
		for k := range jobs {
			j := &Job{Run: run, Info: &jobs[k], Steps: map[int32]*Path{}, Instances: map[string]*Path{}, Fastest: map[string]float64{}, slow: map[string][]*Path{}}
			for _, c := range jobs[k].Collectives {
				j.Instances[c.Name] = nil
			}
			j.hosts = hostsOf(m, run.Variant, &jobs[k])
			w.byNumber[run][jobs[k].Job] = j
			w.Jobs = append(w.Jobs, j)
		}
	}
	return w
}

// hostsOf returns the names of the hosts of a job's ranks; "" of those that are no nodes.
func hostsOf(m *runfolder.Manifest, variant string, j *runfolder.Job) (hosts []string) {
	nodes := m.NodesOf(variant)
	for _, node := range j.Ranks {
		host := ""
		if node >= 0 && int(node) < len(nodes) {
			host = nodes[node].Name
		}
		hosts = append(hosts, host)
	}
	return hosts
}

// Watch asks for the operations of the slowest step of each job: see is called with them during
// pass 1 or after it, when Job has the critical path of the step. It does not keep the step.
func (w *Reader) Watch(see func(*Job, *Step)) { w.watchers = append(w.watchers, see) }

// Pass implements reading.Reader: of instances and transfers in pass 0, of operations in pass 1.
// Then it reads where transfers waited: in pass 1 for runs without jobs, in pass 2 for others.
func (w *Reader) Pass(n int, p *reading.Pass) error {
	switch n {
	case 0:
		for run, jobs := range w.byNumber {
			p.Instances(func(row *runfolder.InstanceRow) {
				if j := jobs[row.Job]; j != nil {
					j.instance(row)
				}
			}, run)
			w.rtts(run, p)
		}
		for run, t := range w.transfers {
			w.rtts(run, p)
			p.Phases(t.add, run)
		}
	case 1:
		for _, j := range w.Jobs {
			j.choose()
		}
		for run, jobs := range w.byNumber {
			p.Operations(func(row *runfolder.OperationRow) {
				if j := jobs[row.Job]; j != nil && row.Step != 0 {
					w.operation(j, row)
				}
			}, run)
		}
		for run, t := range w.transfers {
			h := newHops(w.reading, run, w.baseRTTs[run])
			for i := range t.slow {
				h.add(t.slow[i].Whole)
			}
			w.hops[run] = h
			h.ask(p)
		}
	case 2:
		for k := range w.open {
			w.end(k)
		}
		for _, j := range w.Jobs {
			h := w.hops[j.Run]
			if h == nil {
				h = newHops(w.reading, j.Run, w.baseRTTs[j.Run])
				w.hops[j.Run] = h
			}
			for _, list := range [][]*Path{values(j.Steps), values(j.Instances), j.Slow} {
				for _, path := range list {
					h.add(path.Whole)
				}
			}
		}
		for run := range w.byNumber {
			w.hops[run].ask(p)
		}
	}
	return nil
}

// values returns the values of a map that are not nil.
func values[K comparable](m map[K]*Path) (all []*Path) {
	for _, p := range m {
		if p != nil {
			all = append(all, p)
		}
	}
	return all
}

// rtts asks for the base RTTs of the flows of a run.
func (w *Reader) rtts(run reading.RunID, p *reading.Pass) {
	of := make([]float64, len(w.reading.Manifest.FlowsOfRun(run.Variant, run.Seed)))
	w.baseRTTs[run] = of
	p.Phases(func(row *runfolder.PhaseRow) {
		if row.Flow >= 0 && int(row.Flow) < len(of) {
			of[row.Flow] = row.BaseRTTUS
		}
	}, run)
}

// Settle sets where the transfers of a run waited, once: what they take unloaded, and Hop. It
// is called when the tables have been read: of a run without jobs from pass 2 on, of others from
// pass 3 on.
func (w *Reader) Settle(run reading.RunID) {
	if h := w.hops[run]; h != nil {
		h.settle()
	}
}

// Transfers returns the transfers of a run without jobs that may have lost much time, the worst
// ones first. nil if it has jobs.
func (w *Reader) Transfers(run reading.RunID) []Transfer {
	if t := w.transfers[run]; t != nil {
		return t.slow
	}
	return nil
}

// Route returns the shortest paths of a flow of a run, of which pieces are; nil if they are not
// known.
func (w *Reader) Route(run reading.RunID, flow int32) *Route {
	if h := w.hops[run]; h != nil {
		return h.routes[flow]
	}
	return nil
}

// instance takes a step or an instance of a collective.
func (j *Job) instance(row *runfolder.InstanceRow) {
	p := Path{
		Step: row.Step, Collective: row.Collective, Group: max(0, reading.Optional(row.Group)), FromUS: row.BeginUS, ToUS: row.EndUS,
		LateRank: row.Late, LateHost: row.LateHost, LateUS: row.LastBeginUS - row.BeginUS, LastRank: row.Last, LastHost: row.LastHost,
	}
	if best, ok := j.Fastest[p.Collective]; p.Collective != "" && (!ok || p.US() < best) {
		j.Fastest[p.Collective] = p.US()
	}
	kept := j.Info.Messages && j.Info.FirstSteps > 0 && (int(row.Step) <= j.Info.FirstSteps || int(row.Step) == j.Info.Steps)
	if !kept {
		return
	}
	if p.Collective == "" {
		own := p
		j.Steps[p.Step] = &own
		if slow := j.Steps[j.Slowest]; slow == nil || p.US() > slow.US() || p.US() == slow.US() && p.Step < slow.Step {
			j.Slowest = p.Step
		}
		return
	}
	slowest, listed := j.Instances[p.Collective]
	if !listed {
		return
	}
	if s := slowest; s == nil || p.US() > s.US() || p.US() == s.US() && (p.Step < s.Step || p.Step == s.Step && p.FromUS < s.FromUS) {
		own := p
		j.Instances[p.Collective] = &own
	}
	j.addSlow(&p)
}

// operation takes an operation. Of a job it holds the operations of the steps that some rank
// has not ended, and of one more.
func (w *Reader) operation(j *Job, row *runfolder.OperationRow) {
	k := stepKey{j, row.Step}
	s := w.open[k]
	if s == nil {
		s = NewStep(j.Info, j.hosts, row.Step)
		w.open[k] = s
	}
	s.Add(row)
	// Sends of a step may be acknowledged when it has ended.
	if s.left == len(j.Info.Ranks) && s.Ops[len(s.Ops)-1].ends() {
		w.end(stepKey{j, row.Step - 1})
	}
}

// ends reports whether the operation is the end of a step.
func (o *Op) ends() bool {
	return o.Kind == metrics.OperationSpan && o.phase == 0 && o.collective == 0
}

// end walks the critical paths of a step, and forgets its operations.
func (w *Reader) end(k stepKey) {
	s := w.open[k]
	if s == nil {
		return
	}
	delete(w.open, k)
	s.settle()
	walk := func(p *Path) {
		if p == nil || p.Step != s.Number {
			return
		}
		if last := s.last(p.Collective, p.Group, p.FromUS, p.ToUS); last != nil {
			p.Whole = s.path(last, p.FromUS)
		}
	}
	walk(k.Steps[s.Number])
	for _, p := range k.Instances {
		walk(p)
	}
	for _, p := range k.Slow {
		walk(p)
	}
	if s.Number == k.Slowest {
		for _, see := range w.watchers {
			see(k.Job, s)
		}
	}
}
