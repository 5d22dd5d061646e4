package reading

import (
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Note is a remark that a reader of the results should know. It is of the
// configuration of variants, or of runs.
type Note struct {
	Text     string   `json:"text"`
	Variants []string `json:"variants"`        // that it is of, in the experiment's order
	Seeds    []uint64 `json:"seeds,omitempty"` // of the runs of its variant, ascending; empty: it is of the configuration
}

// notes lists the notes of the variants, each text once, and then those of the runs,
// each text once for every variant.
func notes(m *runfolder.Manifest) []Note {
	all := []Note{}
	for _, v := range m.Variants {
		for _, text := range v.Notes {
			i := slices.IndexFunc(all, func(n Note) bool { return n.Text == text })
			if i < 0 {
				i = len(all)
				all = append(all, Note{Text: text})
			}
			if !slices.Contains(all[i].Variants, v.Name) {
				all[i].Variants = append(all[i].Variants, v.Name)
			}
		}
	}
	configuration := len(all)
	for _, r := range m.Runs {
		for _, text := range r.Notes {
			of := all[configuration:]
			i := slices.IndexFunc(of, func(n Note) bool { return n.Text == text && n.Variants[0] == r.Variant })
			if i < 0 {
				all = append(all, Note{Text: text, Variants: []string{r.Variant}, Seeds: []uint64{r.Seed}})
				continue
			}
			of[i].Seeds = append(of[i].Seeds, r.Seed)
		}
	}
	return all
}
