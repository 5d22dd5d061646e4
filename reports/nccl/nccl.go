// Package nccl reads the results of collectives from a run folder, in the form of nccl-tests, so
// that programs which read those files read these too.
package nccl

import (
	"fmt"
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Results is the results of collectives in the form of nccl-tests' JSON files, version 3 (its
// src/util.cu). Times are microseconds of model time, bandwidths 1e9 bytes per second.
// Booleans and roots are text there, and so they are here.
type Results struct {
	Version      int       `json:"version"`
	Started      string    `json:"start_time"`
	Args         []string  `json:"args"`
	Env          []string  `json:"env"`
	NCCLVersion  int       `json:"nccl_version"` // 0: no NCCL
	Config       Config    `json:"config"`
	Results      []Result  `json:"results"`
	OutOfBounds  Bounds    `json:"out_of_bounds"`
	AverageBusBW Bandwidth `json:"average_bus_bandwidth"`
	Errors       []string  `json:"errors"`
	Ended        string    `json:"end_time"`
}

// version is the version of the form.
const version = 3

// Config is the options of nccl-tests, and the ranks.
type Config struct {
	Threads      int      `json:"nthreads"` // of a process, one rank each
	GPUs         int      `json:"ngpus"`    // of a thread
	Minimum      int64    `json:"minimum_bytes"`
	Maximum      int64    `json:"maximum_bytes"`
	StepBytes    int64    `json:"step_bytes"`
	Warmup       int      `json:"warmup_iters"`
	Iterations   int      `json:"iterations"`
	Aggregated   int      `json:"aggregated_iterations"`
	Validation   int      `json:"validation"`
	Graph        int      `json:"graph"`
	Blocking     string   `json:"blocking_collectives"`
	PerIteration string   `json:"per_iter_timing"`
	Skip         int      `json:"per_iter_skip"`
	ParallelInit string   `json:"parallel_init"`
	Devices      []Device `json:"devices"`
}

// Device is a rank.
type Device struct {
	Rank   int    `json:"rank"`
	Group  int    `json:"group"`
	PID    int    `json:"pid"`
	Host   string `json:"hostname"`
	Device int    `json:"device"` // on its host
	Hex    string `json:"device_hex"`
	Info   string `json:"device_info"`
}

// Result is one collective of one size: a job of kind collective in one seed.
type Result struct {
	Size         int64   `json:"size"`
	Count        int64   `json:"count"` // elements of Type
	Type         string  `json:"type"`
	Op           string  `json:"redop"`
	Root         string  `json:"root"`
	OutOfPlace   *Time   `json:"out_of_place"`
	PerIteration *Period `json:"out_of_place_per_iter"`
	InPlace      *Time   `json:"in_place"` // nil: not run
	Iterations   int     `json:"actual_iterations"`
	Name         string  `json:"experiment_name"`
}

// Time is the mean time of a collective.
type Time struct {
	US     float64  `json:"time"`
	AlgBW  float64  `json:"alg_bw"`
	BusBW  float64  `json:"bus_bw"`
	Wrongs *float64 `json:"nwrong"` // nil: not checked
}

// Period is the times of the iterations.
type Period struct {
	Skipped int       `json:"skipped_iterations"`
	Min     float64   `json:"min_us"`
	Max     float64   `json:"max_us"`
	Mean    float64   `json:"avg_us"`
	P50     float64   `json:"p50_us"`
	P95     float64   `json:"p95_us"`
	P99     float64   `json:"p99_us"`
	SD      float64   `json:"stdev_us"`
	CV      float64   `json:"cv_pct"`
	Times   []float64 `json:"times_us"`
}

// Bounds counts wrong results: none, as there is no data to be wrong.
type Bounds struct {
	Count int    `json:"count"`
	OK    string `json:"okay"`
}

// Bandwidth is the mean bus bandwidth of the results.
type Bandwidth struct {
	Bandwidth float64 `json:"bandwidth"`
	OK        string  `json:"okay"`
}

// elementBytes is the size of an element: the default type of nccl-tests, float.
const elementBytes = 4

// warmup is the name of the collective of iterations before those that count.
const warmup = "warmup"

// measured returns the collective of a job that is one collective again and again, with
// warm-up or without; nil of other jobs.
func measured(j *runfolder.Job) (c *runfolder.Collective) {
	if len(j.Phases) > 0 {
		return nil
	}
	for i := range j.Collectives {
		if j.Collectives[i].Name == warmup {
			continue
		}
		if c != nil {
			return nil
		}
		c = &j.Collectives[i]
	}
	return c
}

// Read returns the results of the jobs of a variant that are one collective again and
// again, of all its seeds. It returns an error if the variant has none.
func Read(f *runfolder.Folder, variant string) (*Results, error) {
	m := &f.Manifest
	const form = "2006-01-02 15:04:05"
	n := &Results{
		Version: version, Started: m.Started.Format(form), Ended: m.Finished.Format(form), Args: m.Command, Env: []string{}, Errors: []string{}, Results: []Result{},
		Config:      Config{Threads: 1, GPUs: 1, Blocking: "false", PerIteration: "true", ParallelInit: "false", Aggregated: 1, Devices: []Device{}},
		OutOfBounds: Bounds{OK: "true"}, AverageBusBW: Bandwidth{OK: "unchecked"},
	}
	jobs := slices.DeleteFunc(slices.Clone(m.JobsOf(variant)), func(j runfolder.Job) bool { return measured(&j) == nil })
	if len(jobs) == 0 || !slices.ContainsFunc(m.Variants, func(v runfolder.Variant) bool { return v.Name == variant }) {
		return nil, fmt.Errorf("variant %s has no job of kind collective", variant)
	}
	type key struct {
		job  int32
		seed uint64
	}
	times := map[key][]float64{} // by iteration; the longest of its groups
	for r, err := range f.Instances() {
		if err != nil {
			return nil, err
		}
		if r.Variant != variant || r.Collective == "" || r.Step < 1 {
			continue
		}
		if r.Collective == warmup { // of the first steps
			n.Config.Warmup = max(n.Config.Warmup, int(r.Step))
			continue
		}
		list := times[key{r.Job, r.Seed}]
		for len(list) < int(r.Step) {
			list = append(list, 0)
		}
		list[r.Step-1] = max(list[r.Step-1], r.EndUS-r.BeginUS)
		times[key{r.Job, r.Seed}] = list
	}
	var sum float64
	for i := range jobs {
		j := &jobs[i]
		c := measured(j)
		n.Config.Maximum = max(n.Config.Maximum, c.Bytes)
		if n.Config.Minimum == 0 || c.Bytes < n.Config.Minimum {
			n.Config.Minimum = c.Bytes
		}
		if len(j.Ranks) > len(n.Config.Devices) {
			n.Config.Devices = devices(j, m.NodesOf(variant))
		}
		for _, run := range m.Runs {
			list := slices.DeleteFunc(times[key{j.Job, run.Seed}], func(us float64) bool { return us == 0 })
			if run.Variant != variant || len(list) == 0 {
				continue
			}
			n.Config.Iterations = max(n.Config.Iterations, len(list))
			r := resultOf(c, list)
			r.Name = fmt.Sprintf("%s, variant %s, seed %d, job %s", m.Name, variant, run.Seed, j.Name)
			sum += r.OutOfPlace.BusBW
			n.Results = append(n.Results, r)
		}
	}
	if len(n.Results) > 0 {
		n.AverageBusBW.Bandwidth = sum / float64(len(n.Results))
	}
	return n, nil
}

// devices lists the ranks of a job.
func devices(j *runfolder.Job, nodes []runfolder.Node) (list []Device) {
	on := map[int32]int{}
	for rank, host := range j.Ranks {
		d := Device{Rank: rank, Device: on[host], Hex: fmt.Sprintf("0000:%02x:00", on[host]), Info: "emulated"}
		if size := measured(j).Ranks; size > 0 {
			d.Group = rank / size
		}
		if int(host) < len(nodes) {
			d.Host = nodes[host].Name
		}
		on[host]++
		list = append(list, d)
	}
	return list
}

// resultOf returns the result of a collective whose iterations took these times.
func resultOf(c *runfolder.Collective, times []float64) Result {
	p := &Period{Times: times}
	sorted := slices.Sorted(slices.Values(times))
	n := len(sorted)
	for _, us := range sorted {
		p.Mean += us / float64(n)
	}
	for _, us := range sorted {
		p.SD += (us - p.Mean) * (us - p.Mean) / float64(n)
	}
	at := func(percent int) float64 { return sorted[min(n-1, (n*percent+99)/100-1)] } // as nccl-tests do
	p.SD, p.Min, p.Max = math.Sqrt(p.SD), sorted[0], sorted[n-1]
	p.P50, p.P95, p.P99 = sorted[n/2], at(95), at(99)
	p.CV = p.SD / p.Mean * 100
	alg := float64(c.Bytes) / p.Mean / 1e3 // bytes/us = 1e6 bytes/s
	op, root := "none", -1
	switch c.Kind {
	case "all_reduce", "reduce", "reduce_scatter":
		op = "sum"
	}
	switch c.Kind {
	case "broadcast", "reduce", "gather", "scatter":
		root = 0
	}
	return Result{
		Size: c.Bytes, Count: c.Bytes / elementBytes, Type: "float", Op: op, Root: fmt.Sprintf("%6d", root), Iterations: n,
		OutOfPlace: &Time{US: p.Mean, AlgBW: alg, BusBW: alg * c.BusFactor}, PerIteration: p,
	}
}
