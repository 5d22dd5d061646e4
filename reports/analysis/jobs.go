package analysis

import (
	"cmp"
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Job is a training job in one variant. Statistics are medians over the seeds; paths and
// the picture are of the seed that charts show.
type Job struct {
	Variant     string  `json:"variant"`
	Seed        uint64  `json:"seed"`
	Name        string  `json:"name"`
	Ranks       int     `json:"ranks"`
	Steps       int     `json:"steps"`
	Done        float64 `json:"done"` // steps that all ranks have ended
	IterationUS *Stats  `json:"iterationUs,omitempty"`
	// Parts are what an iteration is made of, in the order of PartNames: together all of it.
	Parts          []JobPart       `json:"parts,omitempty"`
	StragglerRatio *Stats          `json:"stragglerRatio,omitempty"`
	Straggler      *int            `json:"stragglerRank,omitempty"` // the rank that computes longest in most steps
	MessageUS      *Stats          `json:"messageUs,omitempty"`
	Collectives    []JobCollective `json:"collectives"`
	// Paths are the critical paths of the steps of which operations.parquet has the sends and
	// receives; Pieces are those of the slowest alone.
	Paths  []CriticalPath `json:"paths"`
	NoPath string         `json:"noPath,omitempty"` // why there is none
	// Slowest is the index in Paths of the step that takes longest, -1 without paths.
	Slowest int          `json:"slowest"`
	Picture *StepPicture `json:"picture,omitempty"` // of this step
}

// JobPart is a part of the time of the ranks of a job (docs/metrics.md#jobs).
type JobPart struct {
	Name  string  `json:"name"`
	US    float64 `json:"us"`    // of an iteration, mean over ranks and iterations
	Share float64 `json:"share"` // of all iterations
}

// PartNames are the names of the parts of an iteration, as in the names of metrics.
var PartNames = []string{"compute", "bubble", "exposed", "skew_wait", "held", "idle"}

// Waiting returns the share of the iterations in which the ranks do not compute, and whether
// it is known.
func (j *Job) Waiting() (share float64, ok bool) {
	for i := range j.Parts {
		if j.Parts[i].Name != "compute" {
			share += j.Parts[i].Share
		}
	}
	return share, len(j.Parts) > 0
}

// Stats are the statistics of a metric of jobs.
type Stats struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

// JobCollective is a collective of a job.
type JobCollective struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	Algorithm string `json:"algorithm,omitempty"`
	Ranks     int    `json:"ranks"` // of a group
	Bytes     int64  `json:"bytes"`
	CCTUS     *Stats `json:"cctUs,omitempty"` // nil too if there are too many for the summary
	SkewUS    *Stats `json:"skewUs,omitempty"`
	AlgBWGbps *Stats `json:"algbwGbps,omitempty"`
	BusBWGbps *Stats `json:"busbwGbps,omitempty"`
	// SlowestIn is the slowest of its instances in the shown seed; nil if no operations of it
	// are kept.
	SlowestIn *CriticalPath `json:"slowest,omitempty"`
}

// CriticalPath is what one step, or one collective, waited for.
type CriticalPath struct {
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
	// How long the path is in each kind of piece.
	ComputeUS  float64     `json:"computeUs"`
	TransferUS float64     `json:"transferUs"` // local ones too
	IdleUS     float64     `json:"idleUs"`
	Lost       *Lost       `json:"lost,omitempty"` // where most time was lost; nil if none was
	Pieces     []PathPiece `json:"pieces,omitempty"`
	Cut        int         `json:"cut,omitempty"` // pieces that Pieces lacks because there are too many, from its middle

	pieces []PathPiece // all
}

// US returns how long the step or collective lasts.
func (p *CriticalPath) US() float64 { return p.ToUS - p.FromUS }

// Lost is where a critical path lost the most time against an idle fabric, and ranks that
// all compute as long as the median: one rank, or one port.
type Lost struct {
	Rank   int32   `json:"rank"` // -1: at a port
	Host   string  `json:"host,omitempty"`
	Port   string  `json:"port,omitempty"`
	NIC    bool    `json:"nic,omitempty"`  // no queue was seen: the messages waited for others at the NIC of Host
	Flow   string  `json:"flow,omitempty"` // of the transfer that waited there the longest
	Peer   int32   `json:"peer"`           // of this transfer; Sender too
	Sender int32   `json:"sender"`
	US     float64 `json:"us"`
	Share  float64 `json:"share"` // of the time of the step or collective
	// DelayUS is how long packets waited at the port, on average over the transfers of the path.
	DelayUS float64 `json:"delayUs,omitempty"`
}

// SlowestJob returns the first job in the variant in which its steps take longest, nil
// without steps.
func (r *Result) SlowestJob() (slowest *Job) {
	for i := range r.Jobs {
		j := &r.Jobs[i]
		if j.Name == r.Jobs[0].Name && j.IterationUS != nil && (slowest == nil || j.IterationUS.Mean > slowest.IterationUS.Mean) {
			slowest = j
		}
	}
	return slowest
}

// Told is the variant that sentences on places and the picture of the fabric are of: the
// one with the longest steps, or else the first one.
func (r *Result) Told() string {
	if j := r.SlowestJob(); j != nil {
		return j.Variant
	}
	return r.Variants[0].Name
}

// leastLost is the share of a step from which time is lost.
const leastLost = 0.005

// maxPieces bounds the pieces of a path that results list.
const maxPieces = 1000

// readJobs analyses the jobs of the shown run of each variant. It blames their slow
// collectives, and the slow transfers of variants without jobs. Of the reader it returns,
// jobs, blames and steps.folds are results; the last are steps for signatures.
func readJobs(f *runfolder.Folder, t *totals, transfers []slowTransfer) (*jobReader, error) {
	m := &f.Manifest
	jobs := []Job{}
	of := map[run]map[int32]int{} // index of a run's job
	for i := range m.Variants {
		v := &m.Variants[i]
		r := run{v.Name, t.shown[v.Name]}
		for _, j := range m.JobsOf(v.Name) {
			if of[r] == nil {
				of[r] = map[int32]int{}
			}
			of[r][j.Job] = len(jobs)
			jobs = append(jobs, newJob(f, v.Name, r.seed, &j))
		}
	}
	w := &jobReader{folder: f, jobs: jobs, of: of, wanted: make([]wantedSteps, len(jobs)), steps: newStepReader(m, jobs), transfers: transfers, blames: []Blame{}}
	if len(jobs) == 0 && len(transfers) == 0 {
		return w, nil
	}
	for _, read := range []func() error{w.instances, w.collectives, w.operations, w.resolve} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	for i := range jobs {
		w.finish(&jobs[i])
	}
	return w, w.blame()
}

func newJob(f *runfolder.Folder, variant string, seed uint64, j *runfolder.Job) Job {
	medians := f.Summary.Variants[variant].Metrics
	stats := func(quantity, subject string) *Stats {
		var s Stats
		for _, one := range []struct {
			name string
			to   *float64
		}{{"mean", &s.Mean}, {"p50", &s.P50}, {"p99", &s.P99}, {"max", &s.Max}} {
			v, ok := medians[quantity+"."+one.name+"."+subject]
			if !ok {
				return nil
			}
			*one.to = v
		}
		return &s
	}
	one := Job{
		Variant: variant, Seed: seed, Name: j.Name, Ranks: len(j.Ranks), Steps: j.Steps, Done: medians["steps_done."+j.Name], Slowest: -1,
		IterationUS: stats("iteration_us", j.Name), Parts: partsOf(medians, j.Name),
		StragglerRatio: stats("straggler_ratio", j.Name), MessageUS: stats("message_us", j.Name), Collectives: []JobCollective{}, Paths: []CriticalPath{},
	}
	if rank, ok := medians["straggler_rank."+j.Name]; ok {
		number := int(math.Round(rank))
		one.Straggler = &number
	}
	switch {
	case j.FirstSteps == 0:
		one.NoPath = "telemetry.operations is none"
	case !j.Messages:
		one.NoPath = "a step has too many operations; telemetry.operations keeps them"
	}
	seen := map[string]bool{}
	for _, c := range j.Collectives {
		if seen[c.Name] {
			continue
		}
		seen[c.Name] = true
		subject := j.Name + "." + c.Name
		one.Collectives = append(one.Collectives, JobCollective{
			Name: c.Name, Kind: c.Kind, Algorithm: c.Algorithm, Ranks: c.Ranks, Bytes: c.Bytes,
			CCTUS: stats("cct_us", subject), SkewUS: stats("skew_us", subject), AlgBWGbps: stats("algbw_gbps", subject), BusBWGbps: stats("busbw_gbps", subject),
		})
	}
	return one
}

// partsOf returns the parts of the iterations of a job, nil if the metrics lack them.
func partsOf(medians map[string]float64, job string) (parts []JobPart) {
	for _, name := range PartNames {
		us, ok := medians[name+"_us.mean."+job]
		share, known := medians[name+"_share."+job]
		if !ok || !known {
			return nil
		}
		parts = append(parts, JobPart{name, us, share})
	}
	return parts
}

// wantedSteps is what the instances say of a job.
type wantedSteps struct {
	steps   map[int32]*CriticalPath
	slowest int32 // step that takes longest of those that are kept, 0: none
	// slow are the instances of collectives that may be blamed, and fastest is how long the
	// fastest instance of each collective took.
	slow    []*CriticalPath
	fastest map[string]float64
}

// jobReader reads the tables of jobs.
type jobReader struct {
	folder *runfolder.Folder
	jobs   []Job
	of     map[run]map[int32]int
	wanted []wantedSteps
	steps  *stepReader
	// transfers are those that may be blamed, and routed the paths of connections and of
	// these.
	transfers []slowTransfer
	routed    map[hopKey]*route
	blames    []Blame
}

// job returns the index of the job of a row, -1 if it is not shown.
func (w *jobReader) job(variant string, seed uint64, number int32) int {
	if i, ok := w.of[run{variant, seed}][number]; ok {
		return i
	}
	return -1
}

func (w *jobReader) manifest(i int) *runfolder.Job {
	list := w.folder.Manifest.JobsOf(w.jobs[i].Variant)
	at := slices.IndexFunc(list, func(j runfolder.Job) bool { return j.Name == w.jobs[i].Name })
	return &list[at]
}

// instances finds the slowest step of each job, and the slowest instance of each of its
// collectives, of the steps that are kept.
func (w *jobReader) instances() error {
	slow := make([]slowInstances, len(w.jobs))
	for r, err := range w.folder.Instances() {
		if err != nil {
			return err
		}
		i := w.job(r.Variant, r.Seed, r.Job)
		if i < 0 {
			continue
		}
		if r.Collective == "" {
			w.steps.step(i, &r)
		} else {
			slow[i].fast(&r)
		}
		j := w.manifest(i)
		kept := j.Messages && j.FirstSteps > 0 && (int(r.Step) <= j.FirstSteps || int(r.Step) == j.Steps)
		if !kept {
			continue
		}
		p := &CriticalPath{
			Step: r.Step, Collective: r.Collective, Group: max(0, value(r.Group)), FromUS: r.BeginUS, ToUS: r.EndUS,
			LateRank: r.Late, LateHost: r.LateHost, LateUS: r.LastBeginUS - r.BeginUS, LastRank: r.Last, LastHost: r.LastHost,
		}
		want := &w.wanted[i]
		if r.Collective == "" {
			if want.steps == nil {
				want.steps = map[int32]*CriticalPath{}
			}
			want.steps[r.Step] = p
			if slow := want.steps[want.slowest]; slow == nil || p.US() > slow.US() || p.US() == slow.US() && p.Step < slow.Step {
				want.slowest = r.Step
			}
			continue
		}
		at := slices.IndexFunc(w.jobs[i].Collectives, func(c JobCollective) bool { return c.Name == r.Collective })
		if at < 0 {
			continue
		}
		c := &w.jobs[i].Collectives[at]
		if s := c.SlowestIn; s == nil || p.US() > s.US() || p.US() == s.US() && (p.Step < s.Step || p.Step == s.Step && p.FromUS < s.FromUS) {
			c.SlowestIn = p
		}
		slow[i].add(p)
	}
	for i := range slow {
		w.wanted[i].slow, w.wanted[i].fastest = slow[i].choose(), slow[i].fastest
	}
	return nil
}

// collectives finds when the collectives of jobs are under way, once their steps are known.
func (w *jobReader) collectives() error {
	w.steps.settle()
	for r, err := range w.folder.Instances() {
		if err != nil {
			return err
		}
		if i := w.job(r.Variant, r.Seed, r.Job); i >= 0 && r.Collective != "" {
			w.steps.collective(i, &r)
		}
	}
	return nil
}

// operations walks the critical paths, step after step: of a job it holds the operations
// of the steps that some rank has not ended, and one more.
func (w *jobReader) operations() error {
	type key struct {
		job  int
		step int32
	}
	open := map[key]*stepOps{}
	end := func(k key) {
		if s := open[k]; s != nil {
			w.step(k.job, s)
			delete(open, k)
		}
	}
	for r, err := range w.folder.Operations() {
		if err != nil {
			return err
		}
		i := w.job(r.Variant, r.Seed, r.Job)
		if i < 0 || r.Step == 0 {
			continue
		}
		w.steps.operation(i, &r)
		k := key{i, r.Step}
		s := open[k]
		if s == nil {
			j := w.manifest(i)
			nodes := w.folder.Manifest.NodesOf(w.jobs[i].Variant)
			s = newStepOps(j, r.Step, func(rank int32) string {
				if rank < 0 || int(rank) >= len(j.Ranks) || int(j.Ranks[rank]) >= len(nodes) {
					return ""
				}
				return nodes[j.Ranks[rank]].Name
			})
			open[k] = s
		}
		s.add(&r)
		// Sends of a step may be acknowledged when it has ended.
		if s.left == w.jobs[i].Ranks && r.Kind == "span" && r.Phase == "" && r.Collective == "" {
			end(key{i, r.Step - 1})
		}
	}
	keys := make([]key, 0, len(open))
	for k := range open {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b key) int { return cmp.Or(cmp.Compare(a.job, b.job), cmp.Compare(a.step, b.step)) })
	for _, k := range keys {
		end(k)
	}
	return nil
}

// step walks the paths of one step.
func (w *jobReader) step(i int, s *stepOps) {
	want := &w.wanted[i]
	p := want.steps[s.step]
	s.settle()
	if p != nil {
		if last := s.last("", 0, p.FromUS, p.ToUS); last != nil {
			p.pieces = s.path(last, p.FromUS)
		}
	}
	for k := range w.jobs[i].Collectives {
		c := w.jobs[i].Collectives[k].SlowestIn
		if c == nil || c.Step != s.step {
			continue
		}
		if last := s.last(c.Collective, c.Group, c.FromUS, c.ToUS); last != nil {
			c.pieces = s.path(last, c.FromUS)
		}
	}
	for _, c := range want.slow {
		if c.Step != s.step {
			continue
		}
		if last := s.last(c.Collective, c.Group, c.FromUS, c.ToUS); last != nil {
			c.pieces = s.path(last, c.FromUS)
		}
	}
	if s.step == want.slowest && p != nil {
		w.jobs[i].Picture = newPicture(s, p)
	}
}

// finish puts the paths of a job into its result.
func (w *jobReader) finish(j *Job) {
	at := slices.IndexFunc(w.jobs, func(other Job) bool { return other.Variant == j.Variant && other.Name == j.Name })
	want := &w.wanted[at]
	for k := range j.Collectives {
		if c := j.Collectives[k].SlowestIn; c != nil {
			c.summarise()
			c.keep()
		}
	}
	steps := make([]int32, 0, len(want.steps))
	for step := range want.steps {
		steps = append(steps, step)
	}
	slices.Sort(steps)
	for _, step := range steps {
		p := want.steps[step]
		if len(p.pieces) == 0 {
			continue
		}
		p.summarise()
		if step == want.slowest {
			p.keep()
			j.Slowest = len(j.Paths)
		}
		j.Paths = append(j.Paths, *p)
	}
	if len(j.Paths) == 0 && j.NoPath == "" {
		j.NoPath = "the ranks did not end a step"
	}
	if j.Picture != nil && j.Slowest >= 0 {
		j.Picture.choose(&j.Paths[j.Slowest])
	}
}

// keep lists the pieces.
func (p *CriticalPath) keep() {
	p.Pieces = p.pieces
	if n := len(p.pieces); n > maxPieces {
		p.Cut = n - maxPieces
		p.Pieces = slices.Concat(p.pieces[:maxPieces/2], p.pieces[n-maxPieces/2:])
	}
}

// summarise computes sums over the pieces, and where time was lost.
func (p *CriticalPath) summarise() {
	type place struct {
		rank int32
		port string
	}
	lost := map[place]*Lost{}
	worst := map[place]float64{}
	delays := map[place]float64{} // weighted by length
	lengths := map[place]float64{}
	for i := range p.pieces {
		s := &p.pieces[i]
		var at place
		switch s.Kind {
		case pathCompute:
			p.ComputeUS += s.us()
			at = place{s.Rank, ""}
		case pathIdle:
			p.IdleUS += s.us()
			continue
		default:
			p.TransferUS += s.us()
			at = place{-1, s.Hop}
			if s.Hop == "" {
				at.port = "nic " + s.Host
			}
		}
		l := lost[at]
		if l == nil {
			l = &Lost{Rank: at.rank, Peer: -1, Sender: -1}
			lost[at] = l
			if s.Kind == pathCompute {
				l.Host = s.Host
			} else if l.Port = s.Hop; s.Hop == "" {
				l.NIC, l.Host = true, s.Host
			}
		}
		l.US += s.waitUS()
		if s.Kind != pathCompute {
			delays[at] += s.HopDelayUS * s.us()
			lengths[at] += s.us()
			if wait := s.waitUS(); wait > worst[at] || l.Flow == "" {
				worst[at], l.Flow, l.Sender, l.Peer = wait, s.Flow, s.Rank, s.Peer
			}
		}
	}
	for at, l := range lost {
		if lengths[at] > 0 {
			l.DelayUS = delays[at] / lengths[at]
		}
		l.Share = l.US / p.US()
		b := p.Lost
		if l.Share >= leastLost && (b == nil || cmp.Or(cmp.Compare(l.US, b.US), cmp.Compare(b.Rank, l.Rank), cmp.Compare(b.Port, l.Port), cmp.Compare(b.Host, l.Host)) > 0) {
			p.Lost = l
		}
	}
}
