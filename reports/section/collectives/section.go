// Package collectives is the section on the completion times of collectives (CCT): how they are
// distributed, and which instances took long beside the others of their name.
package collectives

import (
	"cmp"
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
)

// Section is the section.
type Section struct {
	Variants []Variant // of all variants, those without jobs too

	reading *reading.Reading
	times   map[key][]float64
	longest map[key][]Worst
}

// Variant is the collectives of one variant. In the JSON form it is part of the variant's
// fairness.
type Variant struct {
	Variant string  `json:"variant"`
	CCTUS   []CCT   `json:"cctUs"` // of each collective of each job
	Worst   []Worst `json:"worst"` // instances of collectives of all seeds that took the longest for their kind, at most maxWorst
}

// CCT is the distribution of the completion times of one collective of a job, over
// its steps and groups.
type CCT struct {
	Job        string `json:"job"`
	Collective string `json:"collective"`
	reading.Distribution
}

// Worst is an instance of a collective that took long: Ratio times the median of the
// instances of its name in its run, leastRatio or more.
type Worst struct {
	Seed       uint64  `json:"seed"`
	Job        string  `json:"job"`
	Step       int32   `json:"step"`
	Collective string  `json:"collective"`
	Group      int32   `json:"group"`
	CCTUS      float64 `json:"cctUs"`
	Ratio      float64 `json:"ratio"`
	LastHost   string  `json:"lastHost"` // the host that left it last
}

const (
	maxWorst   = reading.MaxWorst
	leastRatio = 1.05
)

// key identifies the instances of a collective in a run.
type key struct {
	reading.RunID
	job, collective string
}

// New makes the section.
func New(r *reading.Reading) section.Section {
	return &Section{reading: r, times: map[key][]float64{}, longest: map[key][]Worst{}}
}

// Pass implements reading.Reader.
func (s *Section) Pass(n int, p *reading.Pass) error {
	if n == 0 {
		p.Instances(s.add)
	}
	return nil
}

// add takes an instance.
func (s *Section) add(row *runfolder.InstanceRow) {
	if row.Collective == "" {
		return
	}
	k, us := key{reading.RunID{Variant: row.Variant, Seed: row.Seed}, row.JobName, row.Collective}, row.EndUS-row.BeginUS
	s.times[k] = append(s.times[k], us)
	list := s.longest[k]
	if len(list) == maxWorst && list[maxWorst-1].CCTUS >= us {
		return
	}
	one := Worst{Seed: row.Seed, Job: row.JobName, Step: row.Step, Collective: row.Collective, Group: max(0, reading.Optional(row.Group)), CCTUS: us, LastHost: row.LastHost}
	s.longest[k] = reading.First(append(list, one), maxWorst, func(a, b *Worst) int { return cmp.Compare(b.CCTUS, a.CCTUS) })
}

// Settle implements section.Section.
func (s *Section) Settle() error {
	for k := range s.times {
		slices.Sort(s.times[k])
	}
	for i := range s.reading.Manifest.Variants {
		s.Variants = append(s.Variants, s.of(s.reading.Manifest.Variants[i].Name))
	}
	s.times, s.longest = nil, nil
	return nil
}

// of returns the collectives of a variant.
func (s *Section) of(variant string) Variant {
	v := Variant{Variant: variant, CCTUS: []CCT{}, Worst: []Worst{}}
	var worst []Worst
	for _, j := range s.reading.Manifest.JobsOf(variant) {
		seen := map[string]bool{}
		for _, of := range j.Collectives {
			if seen[of.Name] {
				continue
			}
			seen[of.Name] = true
			var times [][]float64
			for _, run := range s.reading.RunsOf(variant) {
				k := key{run, j.Name, of.Name}
				times = append(times, s.times[k])
				if len(s.times[k]) == 0 {
					continue
				}
				median := runfolder.Median(s.times[k])
				for _, w := range s.longest[k] {
					if w.Ratio = 1; median > 0 {
						w.Ratio = w.CCTUS / median
					}
					worst = append(worst, w)
				}
			}
			if d := reading.DistributionOf(times); d != nil {
				v.CCTUS = append(v.CCTUS, CCT{j.Name, of.Name, *d})
			}
		}
	}
	worst = slices.DeleteFunc(worst, func(w Worst) bool { return w.Ratio < leastRatio })
	v.Worst = append(v.Worst, reading.First(worst, maxWorst, func(a, b *Worst) int {
		return cmp.Or(cmp.Compare(b.Ratio, a.Ratio), cmp.Compare(b.CCTUS, a.CCTUS))
	})...)
	return v
}

// Numbers implements section.Section.
func (s *Section) Numbers() map[string]any { return map[string]any{"fairness": s.Variants} }

// Parts implements section.Section.
func (s *Section) Parts() []section.Part { return nil }
