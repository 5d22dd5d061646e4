package reports

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/analysis"
)

// quantityName names a quantity within a sentence.
func quantityName(r *analysis.Result, q *analysis.Quantity) string {
	switch q.Name {
	case "fct_us.mean":
		return "mean FCT"
	case "fct_us.p99":
		return "p99 FCT"
	case analysis.SlowestRate:
		return "the rate of the slowest flow"
	case analysis.BottleneckQueue:
		return "the mean queue of " + portName(&r.Findings.Ports[0].Place)
	case "packets.retransmitted":
		return "retransmissions"
	}
	return q.Name
}

// quantityValues prints the figures of both sides in one unit, and the unit.
func quantityValues(q *analysis.Quantity) (base, value, unit string) {
	a, b, s := q.Base.Median, q.Value.Median, scale{q.Unit, 1}
	switch q.Unit {
	case "µs":
		s = scaleFor(max(a, b), scalesOfDelays)
	case "Gb/s":
		s = scaleFor(max(a, b), scalesOfRates)
	case "B":
		s = scaleFor(max(a, b)/1000, scalesOfSizes)
		s.factor /= 1000
	case "packets":
		s.unit = ""
	}
	return three(a * s.factor), three(b * s.factor), s.unit
}

// three prints a number with three significant digits, or all digits of its whole part.
func three(v float64) string {
	digits := 2.0
	if a := math.Abs(v); a >= 1 {
		digits = max(0, 2-math.Floor(math.Log10(a)))
	}
	power := math.Pow(10, digits)
	return number(math.Round(v*power) / power)
}

// change prints a relative change with its sign.
func change(share float64) string {
	text := share2(share)
	switch {
	case share < 0:
		return "−" + text
	case share > 0:
		return "+" + text
	}
	return text
}

// share2 prints the size of a share in percent, with two significant digits or all of
// its whole part.
func share2(share float64) string {
	v := math.Abs(100 * share)
	if v >= 9.95 {
		return number(math.Round(v)) + "\u00a0%"
	}
	return number(math.Round(v*10)/10) + "\u00a0%"
}

// arrow prints a quantity as "mean FCT (24 → 26.5 ms, +11 %)".
func arrow(r *analysis.Result, q *analysis.Quantity) string {
	base, value, unit := quantityValues(q)
	text := fmt.Sprintf("%s (%s → %s", quantityName(r, q), base, value)
	if unit != "" {
		text += "\u00a0" + unit
	}
	if q.Base.Median != 0 && q.Change != 0 {
		text += ", " + change(q.Change)
	}
	return text + ")"
}

// named joins the names of quantities.
func quantityNames(r *analysis.Result, all []analysis.Quantity) string {
	var names []string
	for i := range all {
		names = append(names, quantityName(r, &all[i]))
	}
	return list(names)
}

// difference says what a variant changes against the first one, and why where the
// figures show it.
func difference(r *analysis.Result, d *analysis.Difference) []string {
	base := r.Variants[0].Name
	who := fmt.Sprintf("Variant %s against %s", d.Variant, base)
	if d.CSIG {
		who = fmt.Sprintf("CSIG (%s against %s)", d.Variant, base)
	}
	if d.Same() {
		return []string{sameness(r, d)}
	}
	var parts []string
	for _, effect := range []analysis.Effect{analysis.Better, analysis.Worse} {
		var texts []string
		all := d.With(effect)
		for i := range all {
			texts = append(texts, arrow(r, &all[i]))
		}
		if len(texts) > 0 {
			parts = append(parts, string(effect)+": "+list(texts))
		}
	}
	if same := d.With(analysis.Same); len(same) > 0 {
		parts = append(parts, "no difference: "+quantityNames(r, same))
	}
	texts := []string{who + ". " + capital(strings.Join(parts, "; ")) + "." + cautions(r, d)}
	if text := why(r, d); text != "" {
		texts = append(texts, text)
	}
	if text := counted(r, d); text != "" {
		texts = append(texts, text)
	}
	return texts
}

// sameness says that a variant makes no difference, what is compared, and by how much
// it differs.
func sameness(r *analysis.Result, d *analysis.Difference) string {
	name := "Variant " + d.Variant
	if d.CSIG {
		name = "CSIG"
	}
	var texts []string
	for i := range d.Quantities {
		texts = append(texts, arrow(r, &d.Quantities[i]))
	}
	noise := "less than their seeds do, or by less than 1\u00a0%"
	if seeds(d) == 1 {
		noise = "less than 1\u00a0%, and counts by no more than chance"
	}
	return fmt.Sprintf("%s made no difference here. From %s to %s, figures differ by %s: %s.%s", name, r.Variants[0].Name, d.Variant, noise, list(texts), cautions(r, d))
}

// cautions says what limits the meaning of a comparison.
func cautions(r *analysis.Result, d *analysis.Difference) string {
	text := ""
	if d.OtherFlows {
		text += fmt.Sprintf(" The variants %s and %s have different flows, and figures over all flows differ for that reason too.", r.Variants[0].Name, d.Variant)
	}
	if d.OtherCompleted {
		text += " Mean and p99 FCT are not compared, because not every run completed the same flows."
	}
	return text + oneSeed(d)
}

// seeds returns the least number of seeds of a side.
func seeds(d *analysis.Difference) int {
	least := math.MaxInt
	for _, q := range d.Quantities {
		least = min(least, q.Base.Seeds.Count, q.Value.Seeds.Count)
	}
	return least
}

// oneSeed warns that with one seed nothing is known of what seeds change.
func oneSeed(d *analysis.Difference) string {
	if seeds(d) > 1 {
		return ""
	}
	return " One seed does not say how much seeds differ."
}

func capital(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// why says what in the figures goes with a difference: which flows gain and lose,
// where they cross the bottlenecks, and which queue changed. It is "" when the figures
// show nothing.
func why(r *analysis.Result, d *analysis.Difference) string {
	var parts []string
	if text := traded(r, d); text != "" {
		parts = append(parts, text)
	}
	if text := queueChange(r, d.Queue); text != "" {
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return ""
	}
	for i := range parts[1:] {
		parts[i+1] = capital(parts[i+1])
	}
	return "Why: " + strings.Join(parts, ". ") + "."
}

// maxTold bounds the flows that a sentence names one by one.
const maxTold = 4

// traded says which flows gain what others lose.
func traded(r *analysis.Result, d *analysis.Difference) string {
	f := &d.Flows
	if len(f.Gained)+len(f.Lost) == 0 || len(f.Gained) > maxTold || len(f.Lost) > maxTold {
		return ""
	}
	var parts []string
	if len(f.Gained) > 0 {
		parts = append(parts, moves(r, f.Gained, "gains", "gain")+completes(f, f.Gained))
	}
	if len(f.Lost) > 0 {
		parts = append(parts, moves(r, f.Lost, "loses", "lose")+completes(f, f.Lost))
	}
	return strings.Join(parts, "; ")
}

// moves says by how much the rates of flows change.
func moves(r *analysis.Result, flows []analysis.FlowChange, one, several string) string {
	names, least, most := namesOf(flows), math.Inf(1), 0.0
	for _, f := range flows {
		least, most = min(least, math.Abs(f.Value-f.Base)), max(most, math.Abs(f.Value-f.Base))
	}
	unit := scaleFor(most, scalesOfRates)
	rate := three(most * unit.factor)
	if low := three(least * unit.factor); low != rate {
		rate = low + " to " + rate
	}
	if len(flows) == 1 {
		return fmt.Sprintf("flow %s%s %s %s\u00a0%s", names[0], crossing(r, names), one, rate, unit.unit)
	}
	return fmt.Sprintf("flows %s%s %s %s\u00a0%s each", list(names), crossing(r, names), several, rate, unit.unit)
}

func namesOf(flows []analysis.FlowChange) []string {
	var names []string
	for _, f := range flows {
		names = append(names, f.Flow)
	}
	return names
}

// crossing says how many of the bottlenecks flows cross, if it is known and the same
// for all of them.
func crossing(r *analysis.Result, flows []string) string {
	c := r.Findings.Crossings
	if c == nil || len(c.Some) < 2 {
		return ""
	}
	verb := "cross"
	if len(flows) == 1 {
		verb = "crosses"
	}
	all := func(among []string) bool {
		return !slices.ContainsFunc(flows, func(f string) bool { return !slices.Contains(among, f) })
	}
	switch {
	case all(c.All):
		return ", which " + verb + " both bottlenecks,"
	case all(slices.Concat(c.Some...)):
		if len(flows) == 1 {
			return ", which crosses one,"
		}
		return ", which cross one each,"
	}
	return ""
}

// completes says how much later or sooner flows complete.
func completes(all *analysis.Changes, flows []analysis.FlowChange) string {
	verb := " and complete"
	if len(flows) == 1 {
		verb += "s"
	}
	for _, side := range []struct {
		flows []analysis.FlowChange
		word  string
	}{{all.Later, "later"}, {all.Sooner, "sooner"}} {
		var shares []float64
		for _, f := range flows {
			i := slices.IndexFunc(side.flows, func(o analysis.FlowChange) bool { return o.Flow == f.Flow })
			if i >= 0 {
				shares = append(shares, math.Abs(side.flows[i].Value/side.flows[i].Base-1))
			}
		}
		if len(shares) == len(flows) {
			return fmt.Sprintf("%s %s %s", verb, between(shares), side.word)
		}
	}
	if !slices.ContainsFunc(flows, func(f analysis.FlowChange) bool { return !slices.Contains(all.Even, f.Flow) }) {
		return verb + " at about the same time"
	}
	return ""
}

// between prints the range of shares.
func between(shares []float64) string {
	low, high := share2(slices.Min(shares)), share2(slices.Max(shares))
	if low == high {
		return low
	}
	return strings.TrimSuffix(low, "\u00a0%") + " to " + high
}

// counted says how many of many flows complete sooner and later.
func counted(r *analysis.Result, d *analysis.Difference) string {
	sooner, later := d.Flows.Sooner, d.Flows.Later
	if len(sooner)+len(later) == 0 || d.Flows.Common <= analysis.MaxGroups {
		return ""
	}
	side := func(flows []analysis.FlowChange, word string) string {
		if len(flows) == 0 {
			return "none " + word
		}
		var shares []float64
		for _, c := range flows {
			shares = append(shares, math.Abs(c.Value/c.Base-1))
		}
		return fmt.Sprintf("%d %s (by %s in the median)", len(flows), word, share2(runfolder.Median(shares)))
	}
	return fmt.Sprintf("Of %d flows, %s completes %s and %s than %s, by more than their seeds differ.", d.Flows.Common, d.Variant, side(sooner, "sooner"), side(later, "later"), r.Variants[0].Name)
}

// queueChange says which queue changed the most, and whether it comes nearer to what
// CC steers to.
func queueChange(r *analysis.Result, q *analysis.QueueChange) string {
	if q == nil {
		return ""
	}
	verb := "grows"
	if q.Bytes < q.BaseBytes {
		verb = "shrinks"
	}
	text := fmt.Sprintf("the mean queue of %s %s the most, from %s to %s", portName(&q.Place), verb, depth(q.BaseBytes, q.RateBPS), depth(q.Bytes, q.RateBPS))
	delay := func(bytes float64) float64 { return bytes * 8e6 / float64(q.RateBPS) }
	if t := q.TargetUS; t > 0 && math.Abs(delay(q.Bytes)-t) < 0.15*t && math.Abs(delay(q.BaseBytes)-t) >= 0.15*t {
		text += fmt.Sprintf(": it comes to the %s of queueing delay that CC steers to", tenths(t, scalesOfDelays))
	}
	return text
}

// compared lists the quantities with a column for every variant.
func compared(r *analysis.Result) table {
	t := table{Columns: []column{{Name: "Quantity"}, {Name: r.Variants[0].Name, Number: true}},
		Note: "Medians over the seeds. A quantity is better or worse where the ranges over the seeds do not overlap and the medians differ by more than 1 %; counts must also differ by more than the noise of counting."}
	var names []string
	for i := range r.Findings.Differences {
		d := &r.Findings.Differences[i]
		t.Columns = append(t.Columns, column{d.Variant, true})
		for _, q := range d.Quantities {
			if !slices.Contains(names, q.Name) {
				names = append(names, q.Name)
			}
		}
	}
	for _, name := range names {
		row := []cell{{}, {Text: none}}
		for i := range r.Findings.Differences {
			at := slices.IndexFunc(r.Findings.Differences[i].Quantities, func(q analysis.Quantity) bool { return q.Name == name })
			if at < 0 {
				row = append(row, cell{Text: none})
				continue
			}
			q := &r.Findings.Differences[i].Quantities[at]
			base, value, unit := quantityValues(q)
			unit = strings.TrimRight("\u00a0"+unit, "\u00a0")
			row[0].Text, row[1].Text = capital(strings.TrimPrefix(quantityName(r, q), "the ")), base+unit
			c := cell{Text: value + unit}
			if q.Base.Median != 0 && q.Change != 0 {
				c.Text += ", " + change(q.Change)
			}
			switch q.Outcome {
			case analysis.Better:
				c.Text, c.State = c.Text+" ✓ better", stateGood
			case analysis.Worse:
				c.Text, c.State = c.Text+" ✗ worse", stateBad
			}
			row = append(row, c)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
