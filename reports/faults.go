package reports

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/reports/analysis"
)

// faults lists the faults of the runs.
func faults(all []analysis.Fault) table {
	t := table{
		Columns: []column{{Name: "Variant"}, {Name: "Seed", Number: true}, {Name: "Fault"}, {Name: "What"}, {Name: "Where"}, {Name: "From", Number: true}, {Name: "To", Number: true},
			{Name: "Lost on links", Number: true}, {Name: "Dropped in switches", Number: true}},
		Note: "Model time. Packets that the fault dropped: on links where they arrived, in switches what was queued.",
	}
	for i := range all {
		f := &all[i]
		row := []cell{{Text: f.Variant}, {Text: strconv.FormatUint(f.Seed, 10)}, {Text: f.Name}, {Text: f.What}, {Text: someOf(f.Where)}, {Text: span(f.FromUS)}, {Text: "end"},
			{Text: number(float64(f.Arriving))}, {Text: number(float64(f.Queued))}}
		switch {
		case !f.Happened:
			row[6] = cell{Text: "did not happen"}
		case f.UntilUS != nil:
			row[6] = cell{Text: span(*f.UntilUS)}
		}
		t.Rows = append(t.Rows, row)
	}
	t.bound("faults", "manifest.json, in faults of its runs,")
	return t
}

// someOf returns the first names of a list and how many more it has.
func someOf(names []string) string {
	const most = 8
	text := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// maxFaults is how many sentences Faults returns at most.
const maxFaults = 6

// Faults returns a sentence for each fault of the experiment: what it was, when, and how
// many packets it dropped, as a range over the runs of each variant.
func Faults(r *analysis.Result) []string {
	type of struct{ name, what, when string }
	var order []of
	byVariant := map[of]map[string][]*analysis.Fault{}
	for i := range r.Faults {
		f := &r.Faults[i]
		key := of{f.Name, f.What, faultTimes(f)}
		if byVariant[key] == nil {
			byVariant[key] = map[string][]*analysis.Fault{}
			order = append(order, key)
		}
		byVariant[key][f.Variant] = append(byVariant[key][f.Variant], f)
	}
	slices.SortStableFunc(order, func(a, b of) int { return faultIndex(r, a.name) - faultIndex(r, b.name) })
	var texts []string
	for _, key := range order {
		if len(texts) == maxFaults {
			texts = append(texts, fmt.Sprintf("The report lists %s.", plural(len(order)-maxFaults, "more fault")))
			break
		}
		texts = append(texts, fmt.Sprintf("Fault %s: %s %s%s.", key.name, key.what, key.when, faultDrops(r, byVariant[key])))
	}
	return texts
}

// faultIndex returns the place of the first fault of a name.
func faultIndex(r *analysis.Result, name string) int {
	return slices.IndexFunc(r.Faults, func(f analysis.Fault) bool { return f.Name == name })
}

// faultTimes says when a fault happened.
func faultTimes(f *analysis.Fault) string {
	from := "from " + span(f.FromUS)
	switch {
	case !f.Happened:
		return "was to begin at " + span(f.FromUS) + ", after the end of the run"
	case f.UntilUS != nil:
		return from + " to " + span(*f.UntilUS)
	case f.FromUS == 0:
		return "in the whole run"
	}
	return from + " on"
}

// faultDrops says what the same fault dropped in the runs of each variant.
func faultDrops(r *analysis.Result, runs map[string][]*analysis.Fault) string {
	var parts []string
	most := int64(0)
	for _, v := range r.Variants {
		list := runs[v.Name]
		if len(list) == 0 {
			continue
		}
		low, high := list[0].Dropped(), list[0].Dropped()
		for _, f := range list {
			low, high = min(low, f.Dropped()), max(high, f.Dropped())
		}
		most = max(most, high)
		text := number(float64(low))
		if high > low {
			text += " to " + number(float64(high))
		}
		if len(parts) == 0 {
			text += " packets"
		}
		if len(r.Variants) > 1 {
			text += " in " + v.Name
		}
		parts = append(parts, text)
	}
	if most == 0 {
		return ""
	}
	return "; it dropped " + list(parts)
}
