package metrics

import "github.com/csiglab/csiglab/units"

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
	Job    int32
	Tag    Tag   // of a step without collective
	Repeat int32 // which of the same tag, from 0
	Ranks  int32
	// Begin is when the first rank entered it, LastBegin when the last one did, which is
	// rank Late; End is when the last one left it, which is rank Last.
	Begin, LastBegin, End units.Time
	Late, Last            int32

	// Of steps. Compute is the time in which a rank computed, on whichever unit; Slow is
	// the rank with most of it. Exposed is the time in which a rank computed nothing while a
	// message of it was under way or expected.
	ComputeMean, ComputeMax units.Duration
	Slow                    int32
	ExposedMean, ExposedMax units.Duration
}

func (i *Instance) appendTo(b *Batch) { b.Instances = append(b.Instances, *i) }
