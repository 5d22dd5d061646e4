package analysis

import "github.com/csiglab/csiglab/metrics/runfolder"

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
func (c *compared) steps() []StepChange {
	all := []StepChange{}
	list := c.manifest.Variants
	for i := range list[1:] {
		v := &list[i+1]
		all = append(all, c.stepsAgainst(&list[0], v)...)
		if v.CSIG == noCSIG || c.csigAlone(&list[0], v) {
			continue
		}
		for k := range list[1:] {
			if base := &list[k+1]; c.csigAlone(base, v) {
				all = append(all, c.stepsAgainst(base, v)...)
				break
			}
		}
	}
	return all
}

// csigAlone reports whether v has CSIG, base has not, and they are alike otherwise.
func (c *compared) csigAlone(base, v *runfolder.Variant) bool {
	return base.CSIG == noCSIG && v.CSIG != noCSIG && c.alike(base, v)
}

func (c *compared) stepsAgainst(base, v *runfolder.Variant) (all []StepChange) {
	for _, j := range c.manifest.JobsOf(v.Name) {
		name := "iteration_us.mean." + j.Name
		if a, b := c.metric(base.Name, name), c.metric(v.Name, name); len(a) > 0 && len(b) > 0 {
			all = append(all, StepChange{Job: j.Name, Variant: v.Name, Base: base.Name, CSIG: c.csigAlone(base, v), Quantity: quantity(name, "µs", false, a, b)})
		}
	}
	return all
}
