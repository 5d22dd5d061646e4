package variants

import (
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
)

// StepChange compares the mean time of a job's steps in two variants.
type StepChange struct {
	Job     string `json:"job"`
	Variant string `json:"variant"`
	Base    string `json:"base"` // the variant that it is compared with
	// CSIG: Variant has CSIG and Base has not; otherwise they are alike, as in Difference.
	CSIG bool `json:"csig"`
	// Quantity has the times in microseconds. Outcome is Better if steps are shorter.
	Quantity
}

// steps compares the steps of jobs, by variant and job.
func (s *Section) steps() []StepChange {
	all := []StepChange{}
	list := s.r.Manifest.Variants
	for i := range list[1:] {
		v := &list[i+1]
		all = append(all, s.stepsAgainst(&list[0], v)...)
		if v.CSIG == reading.NoCSIG || s.csigAlone(&list[0], v) {
			continue
		}
		for k := range list[1:] {
			if base := &list[k+1]; s.csigAlone(base, v) {
				all = append(all, s.stepsAgainst(base, v)...)
				break
			}
		}
	}
	return all
}

// csigAlone reports whether v has CSIG, base has not, and they are alike otherwise.
func (s *Section) csigAlone(base, v *runfolder.Variant) bool {
	return base.CSIG == reading.NoCSIG && v.CSIG != reading.NoCSIG && s.alike(base, v)
}

func (s *Section) stepsAgainst(base, v *runfolder.Variant) (all []StepChange) {
	for _, j := range s.r.Manifest.JobsOf(v.Name) {
		name := "iteration_us.mean." + j.Name
		if a, b := s.metric(base.Name, name), s.metric(v.Name, name); len(a) > 0 && len(b) > 0 {
			all = append(all, StepChange{Job: j.Name, Variant: v.Name, Base: base.Name, CSIG: s.csigAlone(base, v), Quantity: quantity(name, "µs", false, a, b)})
		}
	}
	return all
}
