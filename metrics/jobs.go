package metrics

import (
	"math"

	"github.com/csiglab/csiglab/units"
)

// JobInfo describes a job for reports: what the numbers in its records and tags stand for.
// It is plain data.
type JobInfo struct {
	Job   int32      // number in the run, as in Operation
	Name  string     // lower-case letters, digits and "-"
	Ranks []int32    // host of each rank
	Start units.Time // of the job
	Steps int
	// PerStage is how many ranks a stage of the job's pipeline has: those from 0 on are the
	// first stage. 0: it has no pipeline, or nobody knows of its stages.
	PerStage int
	// TimeScale is what the job's times and bytes are multiplied by; 0: they are those of the
	// real job, or nobody knows.
	TimeScale float64
	// Latency is the part of a step, without congestion, that is latency, which TimeScale does
	// not shrink; 0: TimeScale is 0 or 1, or nobody knows.
	Latency units.Duration
	// FLOPs is the floating-point operations of the real model in a step, PeakFLOPS how many per
	// second all ranks have at their peak; 0: nobody knows.
	FLOPs, PeakFLOPS float64
	// Schedule is the slots at which the job's communication begins; the zero value: it has
	// none.
	Schedule Schedule
	// Records is how many Operations all ranks emit in one step, without spans; 0: not
	// known. It decides what is kept of a job without a choice of the user.
	Records int64
	Kept    Kept
	// Phases and Collectives are what tags number from 1.
	Phases      []string
	Collectives []CollectiveInfo
	// Shares are the other jobs that it shares links with, ascending.
	Shares []Share
}

// Share is what a job shares with another one: ports that both may send through, by the
// shortest paths of their connections without faults.
type Share struct {
	Job   int32 // the other one
	Ports int   // at least 1
	// Node and Port are the slowest of the ports, the first of these; Rate is its rate.
	Node, Port int32
	Rate       units.Rate
}

// Schedule is the times Offset + k Period of the run. A phase that is ready at most
// Correction before one of them waits for it.
type Schedule struct{ Period, Offset, Correction units.Duration }

// CollectiveInfo describes a collective of a job.
type CollectiveInfo struct {
	Name      string // within the job; lower-case letters, digits and "-"
	Kind      string // such as all_reduce
	Algorithm string // such as ring
	Ranks     int    // of a group
	// Bytes is the size of the buffer as nccl-tests count it: of all-gather and
	// reduce-scatter that of the whole array.
	Bytes units.Size
}

// Collective returns the collective of a tag, nil without.
func (j *JobInfo) Collective(t Tag) *CollectiveInfo {
	if t.Collective < 1 || int(t.Collective) > len(j.Collectives) {
		return nil
	}
	return &j.Collectives[t.Collective-1]
}

// Kept says which Operations of a job tables keep. The metrics of a run are computed from
// all of them. The zero value keeps none.
type Kept struct {
	First    int  // steps from the first one; the last step too if First is not 0
	Messages bool // sends and receives too, and not computes and spans alone
}

// Has reports whether an Operation of a job with so many steps is kept.
func (k Kept) Has(o *Operation, steps int) bool {
	switch {
	case k.First == 0:
		return false
	case !k.Messages && o.Kind <= OperationRecv:
		return false
	}
	step := int(o.Tag.Step)
	return step <= k.First || step == steps
}

// Instance is one step of a job, or one collective of a group of ranks, seen over all of
// its ranks. No machine emits it: it is computed from Operations, and is written like
// these when all ranks have left it.
type Instance struct {
	_         Table      `name:"instances" schema:"InstanceRow" doc:"The steps and collectives of jobs over all of their ranks, none left out. csiglab computes a row from the operations of all hosts. A row is there when all ranks have left the step or the collective."`
	Job       int32      `column:"job"`
	_         Column     `column:"job_name,dict" names:"Job.Name"`
	Tag       Tag        // of a step without collective
	_         Column     `column:"step" from:"Tag.Step" doc:"from 1; 0: none"`
	_         Column     `column:"collective,dict,optional" names:"Message.Collective" doc:"name; null: the row is a step"`
	_         Column     `column:"group,optional" from:"Tag.Group" if:"Tag.Collective" doc:"of ranks; null: the row is a step"`
	Repeat    int32      `column:"repeat" doc:"which of the same step, collective and group, from 0"`
	Ranks     int32      `column:"ranks" doc:"that took part"`
	Begin     units.Time `column:"begin_us" unit:"us" doc:"when the first rank entered it"`
	LastBegin units.Time `column:"last_begin_us" unit:"us" doc:"when the last rank entered it"`
	End       units.Time `column:"end_us" unit:"us" doc:"when the last rank left it"`
	Late      int32      `column:"late_rank" doc:"that entered it last"`
	_         Column     `column:"late_host_name,dict" names:"Host.Late"`
	Last      int32      `column:"last_rank" doc:"that left it last"`
	_         Column     `column:"last_host_name,dict" names:"Host.Last"`

	// Of steps; 0 of collectives.
	ComputeMean units.Duration `column:"compute_mean_us" unit:"us" doc:"of a step: time in which a rank computed, mean over the ranks"`
	ComputeMax  units.Duration `column:"compute_max_us" unit:"us" doc:"the same, most of a rank"`
	Slow        int32          `column:"slow_rank" doc:"the rank with most"`
	_           Column         `column:"slow_host_name,dict,optional" names:"Host.Slow" if:"!Tag.Collective" doc:"its host; null: the row is a collective"`
	ExposedMean units.Duration `column:"exposed_mean_us" unit:"us" doc:"of a step: the time in which a rank computes nothing while a message of it is under way or expected, mean over the ranks. Late ranks and the bubble of a pipeline count too, other than in the [metric](metrics.md#what-an-iteration-is-made-of) 'exposed_us'"`
	ExposedMax  units.Duration `column:"exposed_max_us" unit:"us" doc:"most of a rank"`
}

func (i *Instance) appendTo(b *Batch) { b.Instances = append(b.Instances, *i) }

// LatencyDecides is the share of latency in a step of a scaled job from which on the step says
// little of the real one. Ours.
const LatencyDecides = 0.1

// FullScale returns what a step of the real job takes, by one of a job with a TimeScale of scale,
// so much of which is latency.
func FullScale(step, latency units.Duration, scale float64) units.Duration {
	latency = min(latency, step)
	whole := float64(step-latency)/scale + float64(latency)
	return units.Duration(min(whole, math.MaxInt64/2))
}

// MFU returns the model flops utilisation: the operations of a step over those that the ranks
// could do in its time.
func MFU(flops, peak float64, step units.Duration) float64 { return flops / (peak * step.Seconds()) }
