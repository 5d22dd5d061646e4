package experiment

import (
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/astra"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/formats"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/simai"
	"github.com/csiglab/csiglab/workloads/trace"
)

// TraceJob is a job whose programs are in a file, or a folder, of another tool. In YAML
// also short: the name of the file.
type TraceJob struct {
	File   string `yaml:"file,required,short" is:"file or folder" doc:"file; or folder, archive, or what the names begin with, where a format has a file for each rank"`
	Format string `yaml:"format" is:"trace format" default:"auto" doc:"of the file, such as 'goal' or 'chakra'; auto: by name and content"`
	// Groups is the JSON file of a Chakra trace's communicator groups; "": none.
	Groups    string               `yaml:"groups" is:"file" doc:"JSON file of a Chakra trace's groups of ranks, as ASTRA-sim's '--comm-group-configuration'"`
	DataOnly  bool                 `yaml:"data_only" default:"false" doc:"nodes of a Chakra trace wait for 'data_deps' alone, as in ASTRA-sim, and not for 'ctrl_deps'"`
	TimeUnit  string               `yaml:"time_unit" is:"auto|ns|us|ms" default:"auto" doc:"of compute times where a format leaves it open: 'ns', 'us' or 'ms'; auto: the format's"`
	System    string               `yaml:"system" is:"file" doc:"system file of ASTRA-sim (JSON), which says algorithm and channels for each kind of collective"`
	Local     int                  `yaml:"local" is:"hosts or none" default:"none" doc:"of algorithm hierarchical, and of a system file for two dimensions: ranks of an inner group, which is the first dimension"`
	Algorithm collective.Algorithm `yaml:"algorithm" default:"auto" doc:"of the collectives that have it, the others have their default; see 'jobs[].collective.algorithm'"`
	Channels  int                  `yaml:"channels" is:"channels" default:"1" doc:"of collectives"`
	Chunk     units.Size           `yaml:"chunk" is:"some payload" default:"0B" doc:"of collectives; 0B: not cut"`
	Size      units.Size           `yaml:"size" is:"some payload" default:"0B" doc:"of the buffer of an algorithm of MSCCL, as 'jobs[].collective.size'; 0B: other formats say their sizes"`
	Scale     float64              `yaml:"scale" default:"1" doc:"multiplies times of compute and sizes of messages, so that a step is short enough to emulate"`

	// Limits bound what is read of the file; no key of an experiment.
	Limits trace.Limits
}

// LimitTraces bounds the traces that BuildJobs reads.
func (e *Experiment) LimitTraces(l trace.Limits) {
	for i := range e.Jobs {
		if t, ok := e.Jobs[i].Spec.(TraceJob); ok {
			t.Limits = l
			e.Jobs[i].Spec = t
		}
	}
}

// timeUnits are the values of TraceJob.TimeUnit.
var timeUnits = map[string]units.Duration{"ns": units.Nanosecond, "us": units.Microsecond, "ms": units.Millisecond}

// loadedTrace is a TraceJob whose file has been read.
type loadedTrace struct {
	TraceJob
	source graph.Source
}

// checkFormat refuses what is no format's name.
func checkFormat(text string) error {
	names := append([]string{algorithm.Auto}, formats.Names()...)
	if slices.Contains(names, text) {
		return nil
	}
	return fmt.Errorf("%w%s", unknown("format", text, names), spelling.Hint(spelling.Nearest(text, names)))
}

// Check implements JobSpec: the file is read when the job is built.
func (t TraceJob) Check(c *Check) {
	if !(t.Scale > 0 && t.Scale <= 1) {
		c.Fail("scale", "%v, want above 0 and at most 1", t.Scale)
	}
	if t.System != "" && (t.Algorithm != collective.Auto || t.Channels != 1) {
		c.Fail("system", "excludes algorithm and channels, which the file says")
	}
}

// Load implements JobLoader.
func (t TraceJob) Load(ranks, steps int) (JobSpec, []string, error) {
	o := formats.Options{Format: t.Format, Groups: t.Groups, DataOnly: t.DataOnly, Limits: t.Limits, Size: t.Size, Training: simai.Options{
		Ranks: ranks, Passes: steps, TimeUnit: timeUnits[t.TimeUnit],
	}}
	choices, notes, err := t.choices()
	if err != nil {
		return nil, nil, err
	}
	o.Training.Choices = choices
	if o.Format == algorithm.Auto {
		o.Format = ""
	}
	in, err := formats.Open(t.File, o)
	if err != nil {
		return nil, nil, inputError{err}
	}
	if in.Source == nil {
		return nil, nil, &PathError{"file", fmt.Errorf("%s has transfers between hosts and no ranks; it belongs into workload.file", t.File)}
	}
	if has := in.Source.Steps(); has != steps && steps > 1 {
		return nil, nil, &PathError{"file", fmt.Errorf("%s has %d steps, the job's key steps says %d; format %s is not repeated", t.File, has, steps, in.Format)}
	}
	notes = append(notes, in.Notes...)
	for _, lost := range in.Loss.Items() {
		notes = append(notes, fmt.Sprintf("not used of %s: %d %s, the first at %s", t.File, lost.Count, lost.What, lost.First))
	}
	source := in.Source
	if t.Scale != 1 {
		source = graph.NewScaled(source, t.Scale)
	}
	return loadedTrace{t, source}, notes, nil
}

// choices returns how collectives are done, and notes on the system file.
func (t TraceJob) choices() (c collective.Choices, notes []string, err error) {
	c = collective.Choices{Algorithms: collective.Everywhere(t.Algorithm), Channels: t.Channels, Chunk: t.Chunk, Local: t.Local}
	if t.System == "" {
		return c, nil, nil
	}
	r, err := openInput(t.System, maxSystemFile)
	if err != nil {
		return c, nil, err
	}
	defer r.Close() // opened for reading
	system, err := astra.Read(t.System, r, t.Local)
	if err != nil {
		return c, nil, inputError{err}
	}
	c.Algorithms, c.Channels, c.Peers = system.Algorithms, system.Channels, system.Peers
	return c, system.Notes, nil
}

// Ranks implements JobSpec.
func (TraceJob) Ranks(asked, _ int) (int, error) { return asked, nil }

// Build implements JobSpec.
func (TraceJob) Build(JobInput) (graph.Source, error) {
	panic("experiment: a trace that is not loaded")
}

// Ranks implements JobSpec.
func (t loadedTrace) Ranks(asked, _ int) (int, error) {
	ranks := t.source.Ranks()
	if asked != 0 && asked != ranks {
		return 0, &PathError{"file", fmt.Errorf("%d ranks, but the job's key ranks says %d", ranks, asked)}
	}
	return ranks, nil
}

// Build implements JobSpec.
func (t loadedTrace) Build(in JobInput) (graph.Source, error) {
	return placed(t.source, in.Servers), nil
}

// placed returns a source whose collectives know what the ranks run on.
func placed(source graph.Source, on collective.Servers) graph.Source {
	switch s := source.(type) {
	case *trace.Source:
		with := *s
		with.Servers = on
		return &with
	case *simai.Source:
		with := *s
		with.Choices.Servers = on
		return &with
	case *graph.Scaled:
		with := *s
		with.Of = placed(s.Of, on)
		return &with
	}
	return source
}

// Auto implements JobDeriver.
func (t TraceJob) Auto(key string, _ JobInput) string {
	switch key {
	case "time_unit":
		return "the format's"
	case "algorithm":
		return "of each collective its own"
	}
	return "by name and content"
}
