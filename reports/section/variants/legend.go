package variants

import (
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// legend says what each variant is, for readers who have not seen the experiment: its algorithms,
// where CSIG has a say, and what its jobs and faults have that the first one's have not.
func (s *Section) legend() *section.Table {
	t := &section.Table{Label: "What the variants are", Columns: []section.Column{{Name: "Variant"}, {Name: "Congestion control"}, {Name: "Load balancing"}, {Name: "CSIG"}, {Name: "Otherwise"}}}
	base := &s.r.Manifest.Variants[0]
	for i := range s.r.Manifest.Variants {
		v := &s.r.Manifest.Variants[i]
		tags := "none"
		if v.CSIG != reading.NoCSIG {
			tags = v.CSIG + " tags"
			if signal := ccParameter(v, "csig"); signal != "" {
				tags += ", " + signal + " in congestion control"
			}
		}
		cells := []section.Cell{{Text: v.Name}, {Text: v.CC}, {Text: v.LB}, {Text: tags}, {Text: words.None}}
		if other := s.otherwise(base, v); len(other) > 0 {
			cells[4].Text = words.Capital(strings.Join(other, "; "))
		}
		t.Rows = append(t.Rows, section.Row{Cells: cells})
	}
	return t
}

// ccParameter returns a parameter of the congestion control of a variant's flows, "" if they do not
// all have it, or not the same.
func ccParameter(v *runfolder.Variant, name string) string {
	if v.Parameters == nil || len(v.Parameters.Flows) == 0 {
		return ""
	}
	value := v.Parameters.Flows[0].CCParameters[name]
	if slices.ContainsFunc(v.Parameters.Flows, func(f runfolder.FlowClass) bool { return f.CCParameters[name] != value }) {
		return ""
	}
	return value
}

// otherwise says what a variant has, beside its algorithms, that the first one has not.
func (s *Section) otherwise(base, v *runfolder.Variant) (list []string) {
	m := s.r.Manifest
	placed, started := false, false
	first := m.JobsOf(base.Name)
	for i, j := range m.JobsOf(v.Name) {
		if i < len(first) {
			placed = placed || !slices.Equal(j.Ranks, first[i].Ranks)
			started = started || j.StartUS != first[i].StartUS
		}
	}
	switch {
	case len(m.JobsOf(v.Name)) != len(first):
		list = append(list, "other jobs than "+base.Name)
	case placed:
		list = append(list, "ranks on other hosts than in "+base.Name)
	}
	if started {
		list = append(list, "jobs start at other times than in "+base.Name)
	}
	if v.AQM != base.AQM {
		list = append(list, "AQM "+v.AQM)
	}
	if v.Routing != base.Routing {
		list = append(list, "routing "+v.Routing)
	}
	if !slices.Equal(m.PortsOf(base.Name), m.PortsOf(v.Name)) {
		list = append(list, "another fabric than "+base.Name)
	}
	if !slices.Equal(m.FlowsOf(base.Name), m.FlowsOf(v.Name)) && !placed && len(first) == 0 {
		list = append(list, "other transfers than "+base.Name)
	}
	if s.otherFaults(base.Name, v.Name) {
		list = append(list, "other faults than "+base.Name)
	}
	return list
}

// otherFaults reports whether two variants have different faults.
func (s *Section) otherFaults(a, b string) bool {
	return faults(s.r.Manifest, a) != faults(s.r.Manifest, b)
}

// faults are the faults of the first run of a variant, as text.
func faults(m *runfolder.Manifest, variant string) string {
	i := slices.IndexFunc(m.Runs, func(r runfolder.Run) bool { return r.Variant == variant })
	if i < 0 {
		return ""
	}
	var list []string
	for _, f := range m.Runs[i].Faults {
		list = append(list, f.What)
	}
	return strings.Join(list, ", ")
}
