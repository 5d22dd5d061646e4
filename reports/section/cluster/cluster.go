// Package cluster is the section on jobs that share a fabric: what all of them together gain
// by a variant, who pays for it, and how far each is from the time that it takes alone.
package cluster

import (
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
)

// Section is the section. It has something to say where the jobs run one after another in one
// variant, and at the same time in others.
type Section struct {
	// Alone is the variant in which the jobs run one after another, "" without one. Base is
	// the first of the others, with which they are compared.
	Alone    string    `json:"alone"`
	Base     string    `json:"base"`
	Variants []Variant `json:"variants"` // all but Alone

	r     *reading.Reading
	spans map[key]span
	sums  map[string][]float64 // by variant: Variant.Sum of each seed
}

// Variant is what the jobs do together in one variant, over the seeds that all variants have.
type Variant struct {
	Variant string `json:"variant"`
	CSIG    bool   `json:"csig"`
	// Sum is the time that a step of each job takes, summed over the jobs, in microseconds;
	// Change is its change from Base, paired by seed, as a share; Jain is Jain's index over the
	// slowdowns, 1 if all jobs lose the same share.
	Sum    reading.Median `json:"sumUs"`
	Change reading.Median `json:"change"`
	Jain   reading.Median `json:"jain"`
	Jobs   []Job          `json:"jobs"`
}

// Job is a job in a variant: the time of its steps over that of Alone, and its change from Base.
type Job struct {
	Name     string         `json:"name"`
	StepUS   reading.Median `json:"stepUs"`
	Slowdown reading.Median `json:"slowdown"`
	Change   reading.Median `json:"change"`
}

// key is a job in a run.
type key struct {
	reading.RunID
	job string
}

// span is a time, in microseconds.
type span struct{ from, to float64 }

// New makes the section.
func New(r *reading.Reading) section.Section {
	return &Section{r: r, spans: map[key]span{}, sums: map[string][]float64{}}
}

// Pass implements reading.Reader.
func (s *Section) Pass(n int, p *reading.Pass) error {
	if n == 0 && len(s.r.Manifest.Variants) > 1 {
		p.Instances(s.add)
	}
	return nil
}

// add takes a step of a job.
func (s *Section) add(row *runfolder.InstanceRow) {
	if row.Collective != "" {
		return
	}
	k := key{reading.RunID{Variant: row.Variant, Seed: row.Seed}, row.JobName}
	of, ok := s.spans[k]
	if !ok {
		of = span{row.BeginUS, row.EndUS}
	}
	s.spans[k] = span{min(of.from, row.BeginUS), max(of.to, row.EndUS)}
}

// Settle implements section.Section.
func (s *Section) Settle() error {
	defer func() { s.spans = nil }()
	jobs := s.jobs()
	if len(jobs) < 2 {
		return nil
	}
	var alone, shared []string
	for _, v := range s.r.Manifest.Variants {
		if s.oneByOne(v.Name, jobs) {
			alone = append(alone, v.Name)
			continue
		}
		shared = append(shared, v.Name)
	}
	if len(alone) != 1 || len(shared) == 0 {
		return nil
	}
	seeds := s.seeds(jobs)
	if len(seeds) == 0 {
		return nil
	}
	s.Alone, s.Base = alone[0], shared[0]
	for _, name := range shared {
		s.Variants = append(s.Variants, s.variant(name, jobs, seeds))
	}
	return nil
}

// jobs returns the names of the jobs, nil if the variants have others.
func (s *Section) jobs() (names []string) {
	for i := range s.r.Manifest.Variants {
		var of []string
		for _, j := range s.r.Manifest.JobsOf(s.r.Manifest.Variants[i].Name) {
			of = append(of, j.Name)
		}
		if i > 0 && !slices.Equal(of, names) {
			return nil
		}
		names = of
	}
	return names
}

// oneByOne reports whether no two jobs of a variant run at the same time, under any seed.
func (s *Section) oneByOne(variant string, jobs []string) bool {
	runs := s.r.RunsOf(variant)
	for _, run := range runs {
		var spans []span
		for _, j := range jobs {
			of, ok := s.spans[key{run, j}]
			if !ok || slices.ContainsFunc(spans, func(o span) bool { return of.from < o.to && o.from < of.to }) {
				return false
			}
			spans = append(spans, of)
		}
	}
	return len(runs) > 0
}

// step returns the mean time of the steps of a job in a run; ok is false if it ended none.
func (s *Section) step(variant string, seed uint64, job string) (us float64, ok bool) {
	us, ok = s.r.Summary.Metric(variant, seed, "iteration_us.mean."+job)
	return us, ok && us > 0
}

// seeds returns the seeds under which all jobs have steps in all variants.
func (s *Section) seeds(jobs []string) []uint64 {
	return slices.DeleteFunc(slices.Clone(s.r.Totals.Seeds[s.r.Manifest.Variants[0].Name]), func(seed uint64) bool {
		for _, v := range s.r.Manifest.Variants {
			for _, j := range jobs {
				if _, ok := s.step(v.Name, seed, j); !ok {
					return true
				}
			}
		}
		return false
	})
}

// variant compares a variant with Base and with Alone.
func (s *Section) variant(name string, jobs []string, seeds []uint64) Variant {
	var sums, changes, jains []float64
	steps, slowdowns, changed := make([][]float64, len(jobs)), make([][]float64, len(jobs)), make([][]float64, len(jobs))
	for _, seed := range seeds {
		var sum, before, total, squares float64
		for i, j := range jobs {
			us, _ := s.step(name, seed, j)
			base, _ := s.step(s.Base, seed, j)
			alone, _ := s.step(s.Alone, seed, j)
			slowdown := us / alone
			sum, before, total, squares = sum+us, before+base, total+slowdown, squares+slowdown*slowdown
			steps[i], slowdowns[i], changed[i] = append(steps[i], us), append(slowdowns[i], slowdown), append(changed[i], us/base-1)
		}
		sums, changes, jains = append(sums, sum), append(changes, sum/before-1), append(jains, total*total/float64(len(jobs))/squares)
	}
	s.sums[name] = sums
	v := Variant{Variant: name, CSIG: s.r.Variants[s.r.Variant(name)].CSIG != reading.NoCSIG, Sum: reading.MedianOf(sums), Change: reading.MedianOf(changes), Jain: reading.MedianOf(jains)}
	for i, j := range jobs {
		v.Jobs = append(v.Jobs, Job{j, reading.MedianOf(steps[i]), reading.MedianOf(slowdowns[i]), reading.MedianOf(changed[i])})
	}
	return v
}

// Numbers implements section.Section.
func (s *Section) Numbers() map[string]any {
	if s.Alone == "" {
		return nil
	}
	return map[string]any{"cluster": s}
}
