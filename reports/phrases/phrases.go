// Package phrases words what several sections say of facts: ports, flows, variants, seeds.
package phrases

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// Port names a port by the nodes of its link, that of a host as its NIC, and by
// its number when other links join the same two nodes.
func Port(p *reading.Place) string {
	name := p.From + " → " + p.To
	if p.NIC {
		name = "the NIC of " + p.From
	}
	if p.Parallel {
		return fmt.Sprintf("%s (port %d)", name, p.Port)
	}
	return name
}

// tierNames are the names of tiers in drawings, in short.
var tierNames = map[string]string{"host": "hosts", "tor": "ToR", "agg": "agg", "core": "core", "other": "other"}

// Queue says how long the mean queue of a port is, as the rest of a sentence; "" if that is not
// known. rate as words.Depth has it.
func Queue(u *reading.Use, before string, rate int64) string {
	if u.NoQueue {
		return ""
	}
	return before + words.Depth(u.MeanQueueBytes, rate)
}

// Tier names the ports of a tier and direction in drawings, with an arrow.
func Tier(tier, direction string) string {
	name, ok := tierNames[tier]
	if !ok {
		name = words.Clipped(tier)
	}
	switch direction {
	case "up":
		name += " ↑"
	case "down":
		name += " ↓"
	}
	return strings.TrimSpace(name)
}

// Class names the ports of a tier that lead in a direction, in tables.
func Class(tier, direction string) string {
	if tier == "host" || direction == "" {
		return tier
	}
	return tier + ", " + direction
}

// Named names the port that wrote a tag, or the ports of which one did.
func Named(ports []string) string {
	switch len(ports) {
	case 0:
		return "none"
	case 1:
		return ports[0]
	}
	return fmt.Sprintf("one of %d ports: %s", len(ports), words.List(ports))
}

// Shared names the port of a line of a chart, or one of the ports that share its locator: one
// that limits the flows rather than another.
func Shared(f *reading.Facts, ports []string) string {
	if len(ports) == 1 {
		return ports[0]
	}
	example := ports[0]
	for i := range f.Limits {
		if p := &f.Limits[i]; slices.Contains(ports, p.From+"-"+p.To) {
			example = p.From + "-" + p.To
			break
		}
	}
	return fmt.Sprintf("one of %d ports that share a locator (%s, …)", len(ports), example)
}

// Group names a flow, or the rest of many.
func Group(g reading.Group) string {
	if g.Flow == "" {
		return "mean of the other " + words.Number(float64(g.Flows))
	}
	return g.Flow
}

// In says in which variant something is, " in NAME", if there are several.
func In(f *reading.Facts, variant string) string {
	if len(f.Variants) < 2 {
		return ""
	}
	return " in " + variant
}

// Seed names the seed of a variant that charts show, if there are several.
func Seed(f *reading.Facts, variant string) string {
	i := f.Variant(variant)
	if i < 0 || f.Variants[i].Seeds < 2 {
		return ""
	}
	return fmt.Sprintf("seed %d, of %d the nearest to the medians", f.Variants[i].Shown, f.Variants[i].Seeds)
}

// Spread prints a range over the seeds as "min … max (n)".
func Spread(s reading.Spread) string {
	switch s.Count {
	case 0:
		return words.None
	case 1:
		return "one seed"
	}
	low, high := words.Number(s.Min), words.Number(s.Max)
	if low == high {
		return fmt.Sprintf("%s (%d)", low, s.Count)
	}
	return fmt.Sprintf("%s … %s (%d)", low, high, s.Count)
}

// Scaled returns a spread in another unit.
func Scaled(s reading.Spread, unit words.Scale) reading.Spread {
	s.Min, s.Max = s.Min*unit.Factor, s.Max*unit.Factor
	return s
}

// Optional returns a cell with a number, or with none.
func Optional(v *float64) section.Cell {
	if v == nil {
		return section.Cell{Text: words.None}
	}
	return section.Cell{Text: words.Number(*v)}
}

// MeasuredFrom says what span rates are measured in.
func MeasuredFrom(f *reading.Facts) string {
	w := f.Setup.Measure
	if w.ToUS == 0 {
		return words.Span(w.FromUS) + " to the end"
	}
	unit := words.ScaleFor(w.ToUS, words.Delays)
	return words.Number(w.FromUS*unit.Factor) + " to " + words.Number(w.ToUS*unit.Factor) + "\u00a0" + unit.Unit
}

// PerPoint says how long a point of charts over time is, and what their shade is.
func PerPoint(f *reading.Facts) string {
	text := "in windows of " + words.Span(f.PointUS)
	if w := f.Setup.Measure; w.FromUS > 0 || w.ToUS > 0 {
		text += "; the shaded span is where rates are measured"
	}
	return text
}

// MaxOfAKind is how many pictures of a kind a report has. A caption says how many it lacks.
const MaxOfAKind = 4

// LeftOut says how many pictures of a kind a report lacks.
func LeftOut(total, shown int) string {
	if total <= shown {
		return ""
	}
	return fmt.Sprintf(" %d more are in the JSON form of this report.", total-shown)
}

// MaxRows bounds the tables that grow with runs, programs and ports.
const MaxRows = 200

// Bound cuts a table off after MaxRows rows, and says where the others are.
func Bound(t *section.Table, rows, where string) {
	if n := len(t.Rows); n > MaxRows {
		t.Rows = t.Rows[:MaxRows]
		t.Note = strings.TrimSpace(fmt.Sprintf("%s The first %d of %s %s; %s has all.", t.Note, MaxRows, words.Number(float64(n)), rows, where))
	}
}

// LeavesOut reports whether there are too many metrics of a kind, such as flows, for the
// summary.
func LeavesOut(f *reading.Facts, kind string) bool {
	return f.Details != nil && slices.Contains(f.Details.Of, kind)
}

// CompletionUnits returns the units of the sizes and times of flows, which fit the
// greatest.
func CompletionUnits(all []reading.Completion) (size, time words.Scale) {
	var largest, longest float64
	for _, c := range all {
		largest = max(largest, float64(c.SizeBytes)/1000)
		for _, v := range c.Variants {
			longest = max(longest, v.Seeds.Max)
		}
	}
	return words.ScaleFor(largest, words.Sizes), words.ScaleFor(longest, words.Delays)
}

// Metric returns a metric's name, and of a statistic of completion times over how
// many of how many flows it is: in the variants, or in all when none is named.
func Metric(f *reading.Facts, metric string, variants ...string) string {
	if !statisticOfFCTs(metric) {
		return metric
	}
	if len(variants) == 0 {
		for _, v := range f.Variants {
			variants = append(variants, v.Name)
		}
	}
	least, most, all := math.MaxInt, 0, true
	fewest, flows := math.MaxInt, 0
	for _, p := range f.Progress {
		if slices.Contains(variants, p.Variant) {
			least, most = min(least, p.Completed), max(most, p.Completed)
			fewest, flows = min(fewest, p.Flows), max(flows, p.Flows)
			all = all && p.Open() == 0
		}
	}
	switch {
	case flows == 0:
		return metric
	case all && flows == 1:
		return metric + " (of the one flow)"
	case all:
		return fmt.Sprintf("%s (of all %s flows)", metric, counts(fewest, flows))
	}
	return fmt.Sprintf("%s (of %s of %s flows)", metric, counts(least, most), counts(fewest, flows))
}

// Completed returns how many of how many flows of a variant completed, as text.
func Completed(f *reading.Facts, variant string) (completed, flows string) {
	low, high, all := math.MaxInt, 0, 0
	for _, p := range f.Progress {
		if p.Variant == variant {
			low, high, all = min(low, p.Completed), max(high, p.Completed), p.Flows
		}
	}
	return counts(low, high), words.Number(float64(all))
}

// counts prints a count, or the range of one.
func counts(low, high int) string {
	if low == high {
		return words.Number(float64(high))
	}
	return words.Number(float64(low)) + " to " + words.Number(float64(high))
}

// statisticOfFCTs reports whether a metric is a statistic over the flows that
// completed, such as fct_us.p99.
func statisticOfFCTs(metric string) bool {
	base, statistic, _ := strings.Cut(metric, ".")
	if base != "fct_us" && base != "fct_rx_us" && base != "slowdown" {
		return false
	}
	switch statistic {
	case "min", "mean", "max":
		return true
	}
	digits, ok := strings.CutPrefix(statistic, "p")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// DistributionTable returns an empty table of distributions; AddDistribution adds its rows.
func DistributionTable() *section.Table {
	t := &section.Table{Label: "Distributions", Columns: []section.Column{{Name: "Quantity"}, {Name: "Variant"}},
		Note: "Of each seed, and of these the medians over the seeds. 99 % of the values are at most the value in column 99 %."}
	for _, name := range []string{"Count", "Mean", "50 %", "90 %", "99 %", "99.9 %", "Greatest"} {
		t.Columns = append(t.Columns, section.Column{Name: name, Number: true})
	}
	return t
}

// AddDistribution adds a distribution, whose values it multiplies by a factor.
func AddDistribution(t *section.Table, quantity, variant, count string, d *reading.Distribution, factor float64) {
	row := section.Row{Variant: variant, Cells: Cells(quantity, variant, count)}
	for _, v := range []float64{d.Mean, d.P50, d.P90, d.P99, d.P999, d.Max} {
		row.Cells = append(row.Cells, section.Cell{Text: words.Number(v * factor)})
	}
	t.Rows = append(t.Rows, row)
}

// Cells returns cells of texts that are neither good nor bad.
func Cells(texts ...string) []section.Cell {
	cells := make([]section.Cell, len(texts))
	for i, text := range texts {
		cells[i].Text = text
	}
	return cells
}

// Columns returns columns by their names. Those of numbers begin with "#".
func Columns(names ...string) []section.Column {
	columns := make([]section.Column, len(names))
	for i, name := range names {
		columns[i].Name, columns[i].Number = strings.CutPrefix(name, "#")
	}
	return columns
}

// SlowestOf says that the flow of a chart is the slowest of several.
func SlowestOf(f *reading.Facts) string {
	switch {
	case f.Sharing == nil:
		return ""
	case len(f.Variants) == 1:
		return ", the slowest"
	}
	return ", the slowest in " + f.Variants[0].Name
}

// FaultsOf returns what faults happened to a variant, each once.
func FaultsOf(f *reading.Facts, variant string) (whats []string) {
	for i := range f.Faults {
		if of := &f.Faults[i]; of.Happened && of.Variant == variant && !slices.Contains(whats, of.What) {
			whats = append(whats, of.What)
		}
	}
	return whats
}

// UnderFaults returns the beginning of a sentence when faults happen in all variants, or "".
func UnderFaults(f *reading.Facts) string {
	var whats []string
	for i := range f.Variants {
		of := FaultsOf(f, f.Variants[i].Name)
		if len(of) == 0 {
			return ""
		}
		for _, what := range of {
			if !slices.Contains(whats, what) {
				whats = append(whats, what)
			}
		}
	}
	if len(whats) > 1 {
		return "under faults, "
	}
	since := ""
	first := slices.IndexFunc(f.Faults, func(f reading.Fault) bool { return f.Happened })
	if of := &f.Faults[first]; of.FromUS > 0 && of.UntilUS == nil {
		since = " since " + words.Span(of.FromUS)
	}
	if len(f.Variants) > 1 { // nobody may take what a variant does for the fault's effect
		since += " in all variants"
	}
	return "with " + whats[0] + since + ", "
}
