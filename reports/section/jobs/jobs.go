// Package jobs is the section on training jobs: how long their steps take and what the ranks
// do in this time, their collectives, and the critical paths of steps, with a picture of the
// slowest one.
package jobs

import (
	"maps"
	"math"
	"slices"

	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/waits"
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
	Full        *Full   `json:"fullScale,omitempty"`
	// Parts are what an iteration is made of, in the order of partNames: together all of it.
	Parts          []Part       `json:"parts,omitempty"`
	StragglerRatio *Stats       `json:"stragglerRatio,omitempty"`
	Straggler      *int         `json:"stragglerRank,omitempty"` // the rank that computes longest in most steps
	MessageUS      *Stats       `json:"messageUs,omitempty"`
	Collectives    []Collective `json:"collectives"`
	// Paths are the critical paths of the steps of which operations.parquet has the sends and
	// receives; Pieces are those of the slowest alone.
	Paths  []Path `json:"paths"`
	NoPath string `json:"noPath,omitempty"` // why there is none
	// Slowest is the index in Paths of the step that takes longest, -1 without paths.
	Slowest int      `json:"slowest"`
	Picture *Picture `json:"picture,omitempty"` // of this step
}

// Part is a part of the time of the ranks of a job (docs/reference/metrics.md#jobs).
type Part struct {
	Name  string  `json:"name"`
	US    float64 `json:"us"`    // of an iteration, mean over ranks and iterations
	Share float64 `json:"share"` // of all iterations
}

// partNames are the names of the parts of an iteration, as in the names of metrics.
var partNames = []string{"compute", "bubble", "exposed", "skew_wait", "held", "idle"}

// waiting returns the share of the iterations in which the ranks do not compute.
func (j *Job) waiting() (share float64) {
	for i := range j.Parts {
		if j.Parts[i].Name != "compute" {
			share += j.Parts[i].Share
		}
	}
	return share
}

// Stats are the statistics of a metric of jobs.
type Stats struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

// Collective is a collective of a job.
type Collective struct {
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
	SlowestIn *Path `json:"slowest,omitempty"`
}

// newJob returns a job with what its metrics say.
func newJob(r *reading.Reading, of *waits.Job) Job {
	medians, info := r.Summary.Variants[of.Run.Variant].Metrics, of.Info
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
	j := Job{
		Variant: of.Run.Variant, Seed: of.Run.Seed, Name: info.Name, Ranks: len(info.Ranks), Steps: info.Steps, Done: medians["steps_done."+info.Name], Slowest: -1,
		IterationUS: stats("iteration_us", info.Name), Parts: partsOf(medians, info.Name), Full: newFull(medians, info),
		StragglerRatio: stats("straggler_ratio", info.Name), MessageUS: stats("message_us", info.Name), Collectives: []Collective{}, Paths: []Path{},
	}
	if rank, ok := medians["straggler_rank."+info.Name]; ok {
		number := int(math.Round(rank))
		j.Straggler = &number
	}
	switch {
	case info.FirstSteps == 0:
		j.NoPath = "telemetry.operations is none"
	case !info.Messages:
		j.NoPath = "a step has too many operations; telemetry.operations keeps them"
	}
	seen := map[string]bool{}
	for _, c := range info.Collectives {
		if seen[c.Name] {
			continue
		}
		seen[c.Name] = true
		subject := info.Name + "." + c.Name
		one := Collective{
			Name: c.Name, Kind: c.Kind, Algorithm: c.Algorithm, Ranks: c.Ranks, Bytes: c.Bytes,
			CCTUS: stats("cct_us", subject), SkewUS: stats("skew_us", subject), AlgBWGbps: stats("algbw_gbps", subject), BusBWGbps: stats("busbw_gbps", subject),
		}
		if p := of.Instances[c.Name]; p != nil {
			one.SlowestIn = newPath(p)
			one.SlowestIn.keep()
		}
		j.Collectives = append(j.Collectives, one)
	}
	j.addPaths(of)
	return j
}

// addPaths adds the critical paths of steps.
func (j *Job) addPaths(of *waits.Job) {
	for _, step := range slices.Sorted(maps.Keys(of.Steps)) {
		if len(of.Steps[step].Whole) == 0 {
			continue
		}
		p := newPath(of.Steps[step])
		if step == of.Slowest {
			p.keep()
			j.Slowest = len(j.Paths)
		}
		j.Paths = append(j.Paths, *p)
	}
	if len(j.Paths) == 0 && j.NoPath == "" {
		j.NoPath = "the ranks did not end a step"
	}
}

// partsOf returns the parts of the iterations of a job, nil if the metrics lack them.
func partsOf(medians map[string]float64, job string) (parts []Part) {
	for _, name := range partNames {
		us, ok := medians[name+"_us.mean."+job]
		share, known := medians[name+"_share."+job]
		if !ok || !known {
			return nil
		}
		parts = append(parts, Part{name, us, share})
	}
	return parts
}
