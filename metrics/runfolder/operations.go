package runfolder

import (
	"fmt"
	"iter"

	"github.com/csiglab/csiglab/metrics"
)

// OperationRow is a row of operations.parquet: a metrics.Operation. What it does not have
// is nil or "", which is null in the file.
type OperationRow struct {
	Variant    string  `parquet:"variant,dict"`
	Seed       uint64  `parquet:"seed"`
	Job        int32   `parquet:"job"`
	JobName    string  `parquet:"job_name,dict"`
	Rank       int32   `parquet:"rank"`
	HostName   string  `parquet:"host_name,dict"` // of the rank
	Op         int64   `parquet:"op"`
	Kind       string  `parquet:"kind,dict"` // send, recv, compute or span
	Step       int32   `parquet:"step"`      // from 1; 0: none
	Phase      string  `parquet:"phase,dict,optional"`
	Collective string  `parquet:"collective,dict,optional"`
	Group      *int32  `parquet:"group,optional"`
	Peer       *int32  `parquet:"peer,optional"` // rank
	Flow       *int32  `parquet:"flow,optional"` // nil: within a server, or no message
	FlowName   string  `parquet:"flow_name,dict,optional"`
	Channel    *int32  `parquet:"channel,optional"` // stream of messages between the two ranks
	Message    *int64  `parquet:"message,optional"` // on its stream, from 0
	Bytes      int64   `parquet:"bytes"`
	ReadyUS    float64 `parquet:"ready_us"`
	StartUS    float64 `parquet:"start_us"`
	EndUS      float64 `parquet:"end_us"`
	After      *int64  `parquet:"after,optional"` // operation of the rank that made it ready; nil: none did
}

// InstanceRow is a row of instances.parquet: a metrics.Instance.
type InstanceRow struct {
	Variant     string  `parquet:"variant,dict"`
	Seed        uint64  `parquet:"seed"`
	Job         int32   `parquet:"job"`
	JobName     string  `parquet:"job_name,dict"`
	Step        int32   `parquet:"step"`
	Collective  string  `parquet:"collective,dict,optional"` // "": the step
	Group       *int32  `parquet:"group,optional"`
	Repeat      int32   `parquet:"repeat"`
	Ranks       int32   `parquet:"ranks"`
	BeginUS     float64 `parquet:"begin_us"`
	LastBeginUS float64 `parquet:"last_begin_us"`
	EndUS       float64 `parquet:"end_us"`
	Late        int32   `parquet:"late_rank"`
	LateHost    string  `parquet:"late_host_name,dict"`
	Last        int32   `parquet:"last_rank"`
	LastHost    string  `parquet:"last_host_name,dict"`
	// Of steps; 0 of collectives.
	ComputeMeanUS float64 `parquet:"compute_mean_us"`
	ComputeMaxUS  float64 `parquet:"compute_max_us"`
	Slow          int32   `parquet:"slow_rank"`
	SlowHost      string  `parquet:"slow_host_name,dict,optional"`
	ExposedMeanUS float64 `parquet:"exposed_mean_us"`
	ExposedMaxUS  float64 `parquet:"exposed_max_us"`
}

// phase returns the name of the phase of a tag, "" without.
func (j *Job) phase(t metrics.Tag) string {
	if t.Phase < 1 || int(t.Phase) > len(j.Phases) {
		return ""
	}
	return j.Phases[t.Phase-1]
}

// collective returns the name of the collective of a tag, "" without.
func (j *Job) collective(t metrics.Tag) string {
	if t.Collective < 1 || int(t.Collective) > len(j.Collectives) {
		return ""
	}
	return j.Collectives[t.Collective-1].Name
}

// job returns a job that a node has recorded; of one that the manifest does not have, an
// empty one.
func (n *names) job(node, job int32) *Job {
	j, ok := n.jobs[job]
	if !ok {
		n.missing(fmt.Errorf("node %s: job %d is not in the manifest", n.nodeText(node), job))
		return &Job{}
	}
	return j
}

// rank returns the name of the host of a rank.
func (n *names) rank(j *Job, rank int32) string {
	if rank < 0 || int(rank) >= len(j.Ranks) {
		n.missing(fmt.Errorf("job %s: rank %d is not in the manifest", j.Name, rank))
		return ""
	}
	return n.node(j.Ranks[rank])
}

// Operations reads the operations of jobs that were kept; see Ports.
func (f *Folder) Operations() iter.Seq2[OperationRow, error] {
	return readTable[OperationRow](f, tableOperations)
}

// Instances reads the steps and collectives of jobs; see Ports.
func (f *Folder) Instances() iter.Seq2[InstanceRow, error] {
	return readTable[InstanceRow](f, tableInstances)
}
