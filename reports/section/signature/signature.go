// Package signature is how busy ports are in the course of a step of a job, or of the run: a
// row for each port, with its cells over time.
package signature

import (
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
)

// Section is the signatures of a run folder.
type Section struct {
	r *reading.Reading

	Signatures []Signature // by variant, then job

	folds   []*fold                         // of the jobs of the shown runs
	of      map[reading.RunID]map[int32]int // index in folds, by number of the job
	runs    []reading.RunID                 // shown runs with jobs
	readers []*reader
}

// New implements section.New.
func New(r *reading.Reading) section.Section {
	return &Section{r: r, of: map[reading.RunID]map[int32]int{}, Signatures: []Signature{}}
}

// Pass implements reading.Reader.
func (s *Section) Pass(n int, p *reading.Pass) error {
	switch n {
	case 0:
		s.listJobs()
		if len(s.runs) > 0 {
			p.Instances(s.step, s.runs...)
		}
	case 1:
		for _, f := range s.folds {
			f.settle(s.r.Manifest.IntervalUS)
		}
		s.readers = newReaders(s.r, s.folds)
		for _, one := range s.readers {
			p.Ports(one.port, s.r.ShownRun(one.of.Variant))
		}
		if len(s.runs) > 0 {
			p.Instances(s.collective, s.runs...)
			p.Operations(s.operation, s.runs...)
		}
	}
	return nil
}

// listJobs makes a fold for each job of the shown runs.
func (s *Section) listJobs() {
	m := s.r.Manifest
	for i := range m.Variants {
		r := s.r.ShownRun(m.Variants[i].Name)
		for _, j := range m.JobsOf(r.Variant) {
			if s.of[r] == nil {
				s.of[r] = map[int32]int{}
				s.runs = append(s.runs, r)
			}
			s.of[r][j.Job] = len(s.folds)
			s.folds = append(s.folds, &fold{variant: r.Variant, seed: r.Seed, job: j.Name})
		}
	}
}

// fold returns the fold of a row's job, nil if there is none.
func (s *Section) fold(variant string, seed uint64, job int32) *fold {
	if i, ok := s.of[reading.RunID{Variant: variant, Seed: seed}][job]; ok {
		return s.folds[i]
	}
	return nil
}

// step takes the steps of jobs. Those that are not in the measuring window are left out.
func (s *Section) step(r *runfolder.InstanceRow) {
	w := s.r.Manifest.Measure
	if f := s.fold(r.Variant, r.Seed, r.Job); f != nil && r.Collective == "" && r.BeginUS >= w.FromUS && (w.ToUS == 0 || r.EndUS <= w.ToUS) {
		f.add(r.Step, r.BeginUS, r.EndUS)
	}
}

// collective takes the instances of collectives.
func (s *Section) collective(r *runfolder.InstanceRow) {
	if f := s.fold(r.Variant, r.Seed, r.Job); f != nil && r.Collective != "" {
		f.instance(laneKey{name: r.Collective}, r.Step, reading.Optional(r.Group), int(r.Ranks), r.BeginUS, r.EndUS)
	}
}

// operation takes the operations of jobs: of phases the spans.
func (s *Section) operation(r *runfolder.OperationRow) {
	if r.Step == 0 || r.Kind != "span" || r.Phase == "" || r.Collective != "" {
		return
	}
	if f := s.fold(r.Variant, r.Seed, r.Job); f != nil {
		f.instance(laneKey{r.Phase, true}, r.Step, r.Rank, 1, r.StartUS, r.EndUS)
	}
}

// Settle implements section.Section.
func (s *Section) Settle() error {
	for _, one := range s.readers {
		s.Signatures = append(s.Signatures, one.result())
	}
	s.readers, s.folds = nil, nil
	return nil
}

// Numbers implements section.Section.
func (s *Section) Numbers() map[string]any { return map[string]any{"signatures": s.Signatures} }
