// Package collectives is the section on the completion times of collectives (CCT): how they are
// distributed, and which instances took long beside the others of their name.
package collectives

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
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
	muchLonger = 2 // times the median: an instance that is worth a look
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
func (s *Section) Parts() (parts []section.Part) {
	times, worst := phrases.DistributionTable(), s.worst()
	for i := range s.Variants {
		for k := range s.Variants[i].CCTUS {
			c := &s.Variants[i].CCTUS[k]
			unit := words.ScaleFor(c.Max, words.Delays)
			phrases.AddDistribution(times, fmt.Sprintf("%s of %s (%s)", c.Collective, c.Job, unit.Unit), s.Variants[i].Variant, words.Number(c.Count), &c.Distribution, unit.Factor)
		}
	}
	phrases.Bound(times, "distributions", "report --json")
	if len(times.Rows) > 0 {
		parts = append(parts, section.Part{ID: "cct", Title: "Distributions of the completion times of collectives", Says: "Quantiles of each collective, over its steps, groups and seeds.", Blocks: []section.Block{times}})
	}
	if len(worst.Rows) == 0 {
		return parts
	}
	var most *Worst
	in := ""
	for i := range s.Variants {
		if list := s.Variants[i].Worst; len(list) > 0 && (most == nil || list[0].Ratio > most.Ratio) {
			most, in = &list[0], phrases.In(&s.reading.Facts, s.Variants[i].Variant)
		}
	}
	level := section.Quiet
	if most.Ratio >= muchLonger {
		level = section.Plain
	}
	return append(parts, section.Part{ID: "worst-collectives", Title: "Worst collectives", Level: level, Blocks: []section.Block{worst},
		Says: fmt.Sprintf("%s of %s in step %d took %s%s, %s times the median.", most.Collective, most.Job, most.Step, words.Tenths(most.CCTUS, words.Delays), in, words.Three(most.Ratio))})
}

// worst lists the instances of collectives that took longest beside the others of their name.
func (s *Section) worst() *section.Table {
	t := &section.Table{Label: "Worst collectives", Columns: phrases.Columns("Collective", "Variant", "#Seed", "Job", "#Step", "#Group", "#Time", "#Over the median", "Left last by"),
		Note: fmt.Sprintf("The worst %d instances of each variant, of all seeds, by their time over the median of the instances of the same name in their run. instances.parquet has all.", maxWorst)}
	for i := range s.Variants {
		for k := range s.Variants[i].Worst {
			w := &s.Variants[i].Worst[k]
			t.Rows = append(t.Rows, section.Row{Variant: s.Variants[i].Variant, Cells: phrases.Cells(w.Collective, s.Variants[i].Variant, strconv.FormatUint(w.Seed, 10), w.Job, words.Number(float64(w.Step)),
				words.Number(float64(w.Group)), words.Tenths(w.CCTUS, words.Delays), words.Number(w.Ratio)+"×", w.LastHost)})
		}
	}
	phrases.ToldFirst(&s.reading.Facts, t)
	phrases.Same(t, "Job", "Step")
	phrases.Bound(t, "instances", "instances.parquet")
	return t
}
