package experiment

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/jitter"
)

// Job is a training job: the value of one kind of job, and what all kinds share.
type Job struct {
	Name string  `yaml:"name,required" is:"job name" doc:"in results"`
	Spec JobSpec // nil: none is given, which only an unresolved experiment has

	Ranks        int      `yaml:"ranks" is:"2 to 1048576 or auto" default:"auto" doc:"number of ranks; auto: what the kind says, or one for each place on the job's hosts"`
	Hosts        []string `yaml:"hosts" is:"host range" doc:"hosts that the job may use, numbers and ranges: '[0..7, 12]'. Jobs may name the same hosts. Without, the job takes hosts that no other job has, in the order of the jobs"`
	RanksPerHost int      `yaml:"ranks_per_host" is:"1 to 64" default:"1" doc:"ranks that share a host and its NIC"`
	Placement    string   `yaml:"placement" is:"placement" default:"auto" doc:"how ranks take the hosts: 'packed', rack after rack; 'spread', each server in another rack than the one before; 'rail', the next rank on the next server, rail after rail; 'given', in the order of 'hosts'; auto: 'given' with 'hosts', otherwise 'packed'"`
	Order        string   `yaml:"order" is:"order" default:"given" doc:"order of the ranks in rings and trees of kind collective: 'given', by their numbers; 'topology', rack after rack; 'random'"`
	OrderSeed    uint64   `yaml:"order_seed" default:"1" doc:"of order 'random'; the run's seeds do not change it"`

	Protocol collective.Protocol `yaml:"protocol" default:"none" doc:"how ranks hand over what collectives bring, as NCCL's protocols: 'll' and 'll128' make messages 2 and 16/15 times as long, 'simple' does not, and [each takes its time](../how-to/fabrics.md#protocols); 'fastest', by size; 'none' takes no time"`

	Start      units.Duration `yaml:"start" is:"time" default:"0s" doc:"when the job starts"`
	Steps      int            `yaml:"steps" is:"steps" default:"1" doc:"training steps; of kind collective, iterations"`
	Jitter     float64        `yaml:"jitter" default:"0" doc:"coefficient of variation of compute times, which are lognormal then: 0.02 is 2 %"`
	Stragglers []Straggler    `yaml:"stragglers" doc:"ranks that are late; of each one of 'slow' and 'pause'"`
	Schedule   Schedule       `yaml:"schedule" doc:"slots for the job's communication, so that jobs that share links take turns"`
	Local      Local          `yaml:"local" doc:"what joins the ranks of one server"`
}

// Straggler is a rank that is slower than the others, in every step, or that pauses once.
type Straggler struct {
	Rank  int            `yaml:"rank,required" is:"host" doc:"the rank"`
	Slow  float64        `yaml:"slow" default:"0" doc:"what its compute takes longer in every step: 0.2 is 20 %"`
	Pause units.Duration `yaml:"pause" is:"time" default:"0s" doc:"how long it does nothing, once"`
	Step  int            `yaml:"step" is:"step" default:"0" doc:"the step at whose beginning it pauses"`
}

// Local is what joins the ranks of one server; see workloads.Local.
type Local struct {
	Rate  units.Rate     `yaml:"rate" is:"local rate or unlimited" default:"3.6Tbps" doc:"at which a rank sends to ranks of its server, which does not cross the fabric; 'unlimited'"`
	Delay units.Duration `yaml:"delay" is:"link delay or auto" default:"auto" doc:"of messages between ranks of a server; auto: the smallest link delay, which is the least where the ranks are hosts of a rail fabric"`
	NVLS  bool           `yaml:"nvls" default:"false" doc:"switches inside the servers reduce and copy, as NVLink SHARP does: algorithm hierarchical reduces and gathers there in one step, not by a ring"`
	PXN   bool           `yaml:"pxn" default:"false" doc:"a message to another rail goes inside the server first, to the rank on that rail, and stays on the rail then, as NCCL's PXN; otherwise it leaves by the NIC of its sender"`
}

// JobSpec is the value of a kind of job: what the keys below the kind's name say. Its type
// is registered with RegisterJob.
type JobSpec interface {
	// Check reports values that do not fit one another.
	Check(c *Check)
	// Ranks returns the number of ranks of the job. asked is what the job's key ranks says,
	// 0 for auto; room is how many ranks the job's hosts have place for, 0 where that is not
	// known. It returns 0 where the number depends on room and room is not known.
	Ranks(asked, room int) (int, error)
	// Build returns the programs of the ranks. An error in the value of a key is a *PathError
	// with the key's path below the kind's name.
	Build(in JobInput) (graph.Source, error)
}

// JobInput is what the programs of a job are built for.
type JobInput struct {
	Ranks   int // as JobSpec.Ranks has returned it, more than 0
	Steps   int
	Jitter  jitter.Config
	Held    bool               // Holds stand where the job's schedule applies
	Local   int                // ranks of a server
	Servers collective.Servers // of the ranks
	// Order is the ranks in the order in which they stand in rings, those that are near
	// each other in the fabric side by side if the job asks for it.
	Order []int
}

// JobLoader is a JobSpec that has to read a file before it knows its ranks.
type JobLoader interface {
	// Load returns the value with what is in the file, of which the job plays so many steps.
	// ranks is what the job's key ranks says, 0 for auto. Notes are what the user should know
	// of how the file was read.
	Load(ranks, steps int) (loaded JobSpec, notes []string, err error)
}

// JobDeriver is a JobSpec with keys that may be auto.
type JobDeriver interface {
	// Auto returns in words what the value auto of a key below the kind's name became.
	Auto(key string, in JobInput) string
}

// ParseHosts returns the hosts that the items of jobs[].hosts name: 3 is a host, 0..7 are
// eight. They keep the order of the items. More than most are an error.
func ParseHosts(items []string, most int) ([]int, error) {
	var hosts []int
	for _, item := range items {
		first, last, ok, err := ParseFlowNumbers(item)
		switch {
		case err != nil || !ok || last >= maxHosts:
			return nil, fmt.Errorf("%q is no host; want a number such as 3, or a range such as 0..7", item)
		case len(hosts)+last-first >= most:
			return nil, fmt.Errorf("the jobs name more than %d hosts in all", maxHosts)
		}
		for h := first; h <= last; h++ {
			hosts = append(hosts, h)
		}
	}
	return hosts, nil
}

// jobs checks the jobs, each by itself and all of them against the hosts that there are.
func (d *decoder) jobs(e *Experiment, hosts int) {
	names := map[string]int{}
	sound := true
	for i := range e.Jobs {
		j, path := &e.Jobs[i], fmt.Sprintf("jobs[%d]", i)
		if !d.sound(path) {
			sound = false
			continue
		}
		if other, ok := names[j.Name]; ok {
			d.failAt(path+".name", fmt.Sprintf("jobs[%d] has the name %q too", other, j.Name), "")
		}
		names[j.Name] = i
		if d.exactlyOne(path); j.Spec == nil {
			sound = false
			continue
		}
		before := len(d.errs)
		j.Spec.Check(&Check{decoder: d, experiment: e, path: join(path, kindOf(jobSection, reflect.TypeOf(j.Spec)).Name), hosts: hosts})
		if _, ok := j.Spec.(CollectiveJob); j.Order != orderGiven && !ok {
			d.failAt(path+".order", "is for kind collective; with other kinds placement says which rank is where", "")
		}
		if _, ok := j.Spec.(PipelineJob); ok && j.Protocol != collective.NoProtocol {
			d.failAt(path+".protocol", "is of collectives, of which a pipeline has none", "")
		}
		if j.Local.NVLS && !hierarchical(j.Spec) {
			d.failAt(path+".local.nvls", "is for algorithm hierarchical, which reduces inside servers", "")
		}
		switch j.Spec.(type) {
		case CollectiveJob, TraceJob:
			if j.Jitter != 0 || len(j.Stragglers) > 0 {
				d.failAt(path, "jitter and stragglers are of jobs that compute: model, pipeline and profile", "")
			}
		}
		d.schedule(j, path)
		if e.End != 0 && j.Start >= e.End && d.sound("end") {
			d.failAt(path+".start", fmt.Sprintf("starts at %v, not before the run's end %v", j.Start, e.End), "")
		}
		sound = sound && len(d.errs) == before
	}
	if !sound || len(e.Jobs) == 0 || !d.sound(topologySection) {
		return
	}
	placed, err := e.placeJobs(hosts, nil)
	var at *PathError
	if errors.As(err, &at) {
		d.failAt(at.Path, at.Err.Error(), "")
		return
	}
	for i := range e.Jobs {
		d.stragglers(&e.Jobs[i], fmt.Sprintf("jobs[%d]", i), len(placed[i]))
	}
}

// hierarchical reports whether a job's collectives may be hierarchical.
func hierarchical(spec JobSpec) bool {
	is := func(a collective.Algorithm) bool { return a == collective.Hierarchical }
	switch s := spec.(type) {
	case CollectiveJob:
		return is(s.Algorithm)
	case ModelJob:
		return is(s.Algorithms.DP) || is(s.Algorithms.TP)
	case ProfileJob:
		return is(s.Algorithm)
	case TraceJob:
		return is(s.Algorithm) || s.System != ""
	}
	return false
}

// BuildJobs returns the jobs, each with the host of each rank. Notes are what the user
// should know of how files were read. The error is a *PathError, unless it is about a
// place in an input file.
func (e *Experiment) BuildJobs(g *topologies.Graph) (jobs []workloads.Job, notes []string, err error) {
	if len(e.Jobs) == 0 {
		return nil, nil, nil
	}
	loaded := *e
	loaded.Jobs = slices.Clone(e.Jobs)
	for i := range loaded.Jobs {
		j := &loaded.Jobs[i]
		if file, ok := j.Spec.(JobLoader); ok {
			spec, more, err := file.Load(j.Ranks, j.Steps)
			if err != nil {
				return nil, nil, e.inJob(i, err)
			}
			for _, note := range more {
				notes = append(notes, fmt.Sprintf("job %s: %s", j.Name, note))
			}
			j.Spec = spec
		}
	}
	f := newFabric(g)
	placed, err := loaded.placeJobs(g.Hosts(), f)
	if err != nil {
		return nil, nil, err
	}
	for i := range loaded.Jobs {
		j, ranks := &loaded.Jobs[i], placed[i]
		in := j.input(ranks, g, f)
		source, err := j.Spec.Build(in)
		if err != nil {
			return nil, nil, e.inJob(i, err)
		}
		jobs = append(jobs, workloads.Job{
			Name: j.Name, Source: source, Hosts: ranks, Start: j.Start, Schedule: j.slots(),
			Local: workloads.Local{Rate: j.Local.Rate, Delay: in.Servers.Inside.Latency, PXN: j.Local.PXN},
		})
	}
	return jobs, notes, nil
}

// input returns what the programs of the job are built for. hosts are those of the ranks.
func (j *Job) input(hosts []int, g *topologies.Graph, f *fabric) JobInput {
	return JobInput{
		Ranks: len(hosts), Steps: j.Steps, Jitter: j.variation(), Held: j.Schedule.Period != noSchedule, Local: j.RanksPerHost * f.nics, Order: j.order(hosts, f),
		Servers: collective.Servers{
			Places: j.places(hosts, f), Protocol: j.Protocol, Switched: j.Local.NVLS,
			Inside: collective.Link{Rate: j.Local.Rate, Latency: j.localDelay(g)}, Across: collective.Link{Rate: f.link.Rate, Latency: 2 * f.link.Delay},
		},
	}
}

// places returns where the ranks on hosts are, or nil if each has a server for itself.
func (j *Job) places(hosts []int, f *fabric) []collective.Place {
	if j.RanksPerHost*f.nics == 1 {
		return nil
	}
	places := make([]collective.Place, len(hosts))
	for rank, h := range hosts {
		places[rank] = collective.Place{Server: f.of[h].server, NIC: f.of[h].nic}
	}
	return places
}

// AutoJob returns in words what the value auto of a key of a job became. hosts are those of
// the job's ranks, as BuildJobs has placed them.
func (e *Experiment) AutoJob(i int, key string, g *topologies.Graph, hosts []int) string {
	j := &e.Jobs[i]
	switch key {
	case "ranks":
		return strconv.Itoa(len(hosts))
	case "local.delay":
		return j.localDelay(g).String()
	case "schedule.offset", "schedule.correction":
		return j.autoSchedule(key)
	case "placement":
		if len(j.Hosts) > 0 {
			return placeGiven
		}
		return placePacked
	}
	_, key, _ = strings.Cut(key, ".") // of the kind
	return j.Spec.(JobDeriver).Auto(key, j.input(hosts, g, newFabric(g)))
}

// localDelay returns the delay of messages between ranks of a server.
func (j *Job) localDelay(g *topologies.Graph) units.Duration {
	if j.Local.Delay != 0 {
		return j.Local.Delay
	}
	least := g.Links[0].Delay
	for _, l := range g.Links {
		least = min(least, l.Delay)
	}
	return least
}

// variation returns how the job's compute times vary.
func (j *Job) variation() jitter.Config {
	c := jitter.Config{Variation: j.Jitter}
	for _, s := range j.Stragglers {
		if s.Slow > 0 {
			c.Stragglers = append(c.Stragglers, jitter.Straggler{Rank: s.Rank, Slowdown: s.Slow})
		}
		if s.Pause > 0 {
			c.Pauses = append(c.Pauses, jitter.Pause{Rank: s.Rank, Step: s.Step, Duration: s.Pause})
		}
	}
	return c
}

// stragglers checks the stragglers of a job, whose number of ranks may be 0: not known.
func (d *decoder) stragglers(j *Job, path string, ranks int) {
	if j.Jitter < 0 || j.Jitter > jitter.MaxVariation {
		d.failAt(path+".jitter", fmt.Sprintf("%v, want 0 to %d; 0.02 is 2 %%", j.Jitter, jitter.MaxVariation), "")
	}
	for i, s := range j.Stragglers {
		at := fmt.Sprintf("%s.stragglers[%d]", path, i)
		switch {
		case (s.Slow == 0) == (s.Pause == 0):
			d.failAt(at, "want one of the keys slow and pause", "")
		case s.Slow < 0 || s.Slow > jitter.MaxSlowdown:
			d.failAt(at+".slow", fmt.Sprintf("%v, want more than 0 and at most %d; 0.2 is 20 %% slower", s.Slow, jitter.MaxSlowdown), "")
		case s.Pause == 0 && s.Step != 0:
			d.failAt(at+".step", "is for pause; a slow rank is slow in every step", "")
		case s.Step >= j.Steps:
			d.failAt(at+".step", fmt.Sprintf("the job has no step %d; steps go from 0 to %d", s.Step, j.Steps-1), "")
		}
		if ranks > 0 && s.Rank >= ranks {
			d.failAt(at+".rank", fmt.Sprintf("the job has no rank %d; ranks go from 0 to %d", s.Rank, ranks-1), "")
		}
	}
}

// inJob returns an error of the value of a job's kind as an error in that value. A
// *PathError of the kind has a path below the kind's name.
func (e *Experiment) inJob(i int, err error) error {
	spec := e.Jobs[i].Spec
	if loaded, ok := spec.(loadedTrace); ok {
		spec = loaded.TraceJob
	}
	path := fmt.Sprintf("jobs[%d].%s", i, kindOf(jobSection, reflect.TypeOf(spec)).Name)
	var at *PathError
	if errors.As(err, &at) {
		return &PathError{below(path, at.Path), at.Err}
	}
	if text, ok := strings.CutPrefix(err.Error(), graph.ErrInvalid.Error()+": "); ok {
		err = errors.New(text)
	}
	return inValue(path, err)
}

// Fault reports an error of a generator's configuration. keys has the keys of the kind by
// the names of the configuration's fields; fields without an entry have the key's name.
func (c *Check) Fault(err error, keys map[string]string) {
	var at *PathError
	if errors.As(inKeys(err, keys), &at) {
		c.Fail(at.Path, "%s", at.Err)
	} else if err != nil {
		c.Fail("", "%s", err)
	}
}

// inKeys returns an error of a generator's configuration as a *PathError with the key of
// the kind; see Check.Fault. Other errors stay as they are.
func inKeys(err error, keys map[string]string) error {
	var fault *graph.FieldError
	if !errors.As(err, &fault) {
		return err
	}
	path, ok := keys[fault.Field]
	if !ok {
		path = fault.Field
	}
	return &PathError{path, errors.New(fault.Problem)}
}
