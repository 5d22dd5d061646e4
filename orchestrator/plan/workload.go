package plan

import (
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// workload is what hosts send under a seed: transfers, and behind them the connections of jobs.
type workload struct {
	*workloads.Workload
	own  int          // how many of Transfers are no connections
	jobs []jobTraffic // as Workload.Jobs
}

// newWorkload returns the workload of a seed. Notes are what the user should know of how files
// were read.
func newWorkload(e *experiment.Experiment, f *fabric, seed uint64) (w workload, notes []string, err error) {
	own, notes, err := e.Workload.Build(f.graph.Hosts(), e.Links, seed)
	if err != nil {
		return w, nil, failure.Configuration(err)
	}
	jobs, more, err := e.BuildJobs(f.graph)
	if err != nil {
		return w, nil, failure.Configuration(err)
	}
	own.AddJobs(jobs)
	if len(own.Transfers) == 0 && len(own.Jobs) == 0 && e.Applications == nil && len(e.Generators) == 0 {
		if err := own.Validate(); err != nil {
			return w, nil, failure.At("workload", err)
		}
	}
	w, err = connect(own, f, e.Links, seed)
	return w, slices.Concat(notes, more), err
}

// connect adds the connections of jobs to a workload that has none: one for each stream of
// messages between two servers. It counts what they carry.
func connect(own *workloads.Workload, f *fabric, links experiment.Links, seed uint64) (workload, error) {
	with := *own
	with.Transfers = slices.Clip(own.Transfers)
	all := make([]jobTraffic, len(own.Jobs))
	left := int64(mostStepOperations)
	for i := range own.Jobs {
		job := &own.Jobs[i]
		inJob := func(err error) (workload, error) {
			return workload{}, failure.At("jobs", fmt.Errorf("job %s: %w", job.Name, err))
		}
		if len(job.Hosts) != job.Source.Ranks() {
			return inJob(fmt.Errorf("%w: %d hosts for %d ranks", workloads.ErrInvalid, len(job.Hosts), job.Source.Ranks()))
		}
		for rank, h := range job.Hosts {
			if h < 0 || h >= own.Hosts {
				return inJob(fmt.Errorf("%w: rank %d is at host %d; hosts go from 0 to %d", workloads.ErrInvalid, rank, h, own.Hosts-1))
			}
		}
		counted, read, err := countTraffic(job.Source, jobSeed(seed, i), links, left, maxTransfers-int64(len(with.Transfers)))
		if err != nil {
			return inJob(err)
		}
		left -= read
		leaves := f.leaving(job)
		for k := range counted.streams {
			s := &counted.streams[k]
			src, dst := job.Hosts[s.From], job.Hosts[s.To]
			s.transfer = within
			if f.graph.Server(src) == f.graph.Server(dst) {
				continue
			}
			s.transfer = len(with.Transfers)
			src = leaves(src, dst)
			with.Transfers = append(with.Transfers, workloads.Transfer{
				Job: i, Src: src, Dst: dst, Size: s.bytes, Messages: int(s.messages), Start: job.Start,
				After: workloads.None, SendDone: workloads.None, RecvDone: workloads.None,
			})
		}
		all[i] = *counted
	}
	return workload{&with, len(own.Transfers), all}, nil
}

// leaving returns by which host a job's messages leave the server of src for that of dst.
func (f *fabric) leaving(job *workloads.Job) func(src, dst int) int {
	if !job.Local.PXN {
		return func(src, _ int) int { return src }
	}
	nics, on := max(1, f.graph.NICs), make(map[int]bool, len(job.Hosts))
	for _, h := range job.Hosts {
		on[h] = true
	}
	return func(src, dst int) int {
		if h := src - src%nics + dst%nics; on[h] {
			return h
		}
		return src
	}
}

// workloadOf returns the workload of a seed.
func (s *Shape) workloadOf(seed uint64) (workload, error) {
	e := s.experiment
	seeded := e.Workload.Seeded()
	if len(s.first.Jobs) == 0 && !seeded || seed == e.Seeds[0] {
		return s.first, nil
	}
	if seeded {
		w, _, err := newWorkload(e, &s.fabric, seed)
		return w, err
	}
	own := *s.first.Workload
	own.Transfers = own.Transfers[:s.first.own]
	return connect(&own, &s.fabric, e.Links, seed)
}

// busy reports of each of some hosts whether it sends or receives transfers.
func (w *workload) busy(hosts int) []bool {
	busy := make([]bool, hosts)
	for _, t := range w.Transfers {
		busy[t.Src], busy[t.Dst] = true, true
	}
	return busy
}

// calls returns the RPCs.
func (w *workload) calls() (calls []Call) {
	for i, t := range w.Transfers {
		if t.Response {
			calls = append(calls, Call{Request: int32(i - 1), Response: int32(i)})
		}
	}
	return calls
}

// jobSeed returns the seed of a job, by its number: that of the run for the first one. Jobs
// with one seed would have the same jitter, rank for rank and step for step, and would never
// drift apart.
func jobSeed(seed uint64, number int) uint64 { return seed ^ uint64(number)<<40 }

// jitter returns how much the start of a transfer is moved.
func jitter(seed uint64, transfer int, limit units.Duration) units.Duration {
	if limit <= 0 {
		return 0
	}
	return units.Duration(node.Random(seed, node.NoNode, node.RandomJitter, transfer).Int64N(int64(limit)))
}
