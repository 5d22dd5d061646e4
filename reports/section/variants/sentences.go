package variants

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/words"
)

// quantityName names a quantity within a sentence.
func (s *Section) quantityName(q *Quantity) string {
	switch q.Name {
	case "fct_us.mean":
		return "mean FCT"
	case "fct_us.p99":
		return "p99 FCT"
	case SlowestRate:
		return "the rate of the slowest flow"
	case BottleneckQueue:
		return "the mean queue of " + phrases.Port(&s.r.Limits[0].Place)
	case "packets.retransmitted":
		return "retransmissions"
	}
	return q.Name
}

// Texts prints the figures of both sides in one unit, and the unit; that of packets is "".
func (q *Quantity) Texts() (base, value, unit string) {
	a, b, u := q.Base.Median, q.Value.Median, words.Scale{Unit: q.Unit, Factor: 1}
	switch q.Unit {
	case "µs":
		u = words.ScaleFor(max(a, b), words.Delays)
	case "Gb/s":
		u = words.ScaleFor(max(a, b), words.BitRates)
	case "B":
		u = words.ScaleFor(max(a, b)/1000, words.Sizes)
		u.Factor /= 1000
	case "packets":
		u.Unit = ""
	}
	return words.Three(a * u.Factor), words.Three(b * u.Factor), u.Unit
}

// change prints the change, "" if there is none, or it cannot be told as the base is next to nothing.
func (q *Quantity) change() string {
	if base, _, _ := q.Texts(); base == "0" || q.Base.Median == 0 || q.Change == 0 {
		return ""
	}
	return words.Change(q.Change)
}

// arrow prints a quantity as "mean FCT (24 → 26.5 ms, +11 %)".
func (s *Section) arrow(q *Quantity) string {
	base, value, unit := q.Texts()
	text := fmt.Sprintf("%s (%s → %s", s.quantityName(q), base, value)
	if unit != "" {
		text += "\u00a0" + unit
	}
	if change := q.change(); change != "" {
		text += ", " + change
	}
	return text + ")"
}

// named joins the names of quantities.
func (s *Section) quantityNames(all []Quantity) string {
	var names []string
	for i := range all {
		names = append(names, s.quantityName(&all[i]))
	}
	return words.List(names)
}

// difference says what a variant changes against the first one, and why where the
// figures show it.
func (s *Section) difference(d *Difference) []string {
	base := s.r.Variants[0].Name
	who := fmt.Sprintf("Variant %s against %s", d.Variant, base)
	if d.CSIG {
		who = fmt.Sprintf("CSIG (%s against %s)", d.Variant, base)
	}
	if d.Same() {
		return []string{s.sameness(d)}
	}
	var parts []string
	for _, effect := range []Effect{Better, Worse} {
		var texts []string
		all := d.With(effect)
		for i := range all {
			texts = append(texts, s.arrow(&all[i]))
		}
		if len(texts) > 0 {
			parts = append(parts, string(effect)+": "+words.List(texts))
		}
	}
	if same := d.With(Same); len(same) > 0 {
		parts = append(parts, "no difference: "+s.quantityNames(same))
	}
	texts := []string{who + ". " + words.Capital(strings.Join(parts, "; ")) + "." + s.cautions(d)}
	if text := s.why(d); text != "" {
		texts = append(texts, text)
	}
	if text := s.counted(d); text != "" {
		texts = append(texts, text)
	}
	return texts
}

// sameness says that a variant makes no difference, what is compared, and by how much
// it differs.
func (s *Section) sameness(d *Difference) string {
	name := "Variant " + d.Variant
	if d.CSIG {
		name = "CSIG"
	}
	var texts []string
	for i := range d.Quantities {
		texts = append(texts, s.arrow(&d.Quantities[i]))
	}
	noise := "less than their seeds do, or by less than 1\u00a0%"
	if seeds(d) == 1 {
		noise = "less than 1\u00a0%, and counts by no more than chance"
	}
	return fmt.Sprintf("%s made no difference here. From %s to %s, figures differ by %s: %s.%s", name, s.r.Variants[0].Name, d.Variant, noise, words.List(texts), s.cautions(d))
}

// cautions says what limits the meaning of a comparison.
func (s *Section) cautions(d *Difference) string {
	text := ""
	if d.OtherFlows {
		text += fmt.Sprintf(" The variants %s and %s have different flows, and figures over all flows differ for that reason too.", s.r.Variants[0].Name, d.Variant)
	}
	if d.OtherFaults {
		text += " They have different faults, and what these cost is in the figures."
	}
	if d.OtherCompleted {
		text += " Mean and p99 FCT are not compared, because not every run completed the same flows."
	}
	return text + oneSeed(d)
}

// seeds returns the least number of seeds of a side.
func seeds(d *Difference) int {
	least := math.MaxInt
	for _, q := range d.Quantities {
		least = min(least, q.Base.Seeds.Count, q.Value.Seeds.Count)
	}
	return least
}

// oneSeed warns that with one seed nothing is known of what seeds change.
func oneSeed(d *Difference) string {
	if seeds(d) > 1 {
		return ""
	}
	return " One seed does not say how much seeds differ."
}

// why says what in the figures goes with a difference: which flows gain and lose,
// where they cross the bottlenecks, and which queue changed. It is "" when the figures
// show nothing.
func (s *Section) why(d *Difference) string {
	var parts []string
	if text := s.traded(d); text != "" {
		parts = append(parts, text)
	}
	if text := s.queueChange(d.Queue); text != "" {
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return ""
	}
	for i := range parts[1:] {
		parts[i+1] = words.Capital(parts[i+1])
	}
	return "Why: " + strings.Join(parts, ". ") + "."
}

// maxTold bounds the flows that a sentence names one by one.
const maxTold = 4

// traded says which flows gain what others lose.
func (s *Section) traded(d *Difference) string {
	f := &d.Flows
	if len(f.Gained)+len(f.Lost) == 0 || len(f.Gained) > maxTold || len(f.Lost) > maxTold {
		return ""
	}
	var parts []string
	if len(f.Gained) > 0 {
		parts = append(parts, s.moves(f.Gained, "gains", "gain")+completes(f, f.Gained))
	}
	if len(f.Lost) > 0 {
		parts = append(parts, s.moves(f.Lost, "loses", "lose")+completes(f, f.Lost))
	}
	return strings.Join(parts, "; ")
}

// moves says by how much the rates of flows change.
func (s *Section) moves(flows []FlowChange, one, several string) string {
	names, least, most := namesOf(flows), math.Inf(1), 0.0
	for _, f := range flows {
		least, most = min(least, math.Abs(f.Value-f.Base)), max(most, math.Abs(f.Value-f.Base))
	}
	unit := words.ScaleFor(most, words.BitRates)
	rate := words.Three(most * unit.Factor)
	if low := words.Three(least * unit.Factor); low != rate {
		rate = low + " to " + rate
	}
	if len(flows) == 1 {
		return fmt.Sprintf("flow %s%s %s %s\u00a0%s", names[0], s.crossing(names), one, rate, unit.Unit)
	}
	return fmt.Sprintf("flows %s%s %s %s\u00a0%s each", words.List(names), s.crossing(names), several, rate, unit.Unit)
}

func namesOf(flows []FlowChange) []string {
	var names []string
	for _, f := range flows {
		names = append(names, f.Flow)
	}
	return names
}

// crossing says how many of the bottlenecks flows cross, if it is known and the same
// for all of them.
func (s *Section) crossing(flows []string) string {
	c := s.r.Crossings
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
func completes(all *Changes, flows []FlowChange) string {
	verb := " and complete"
	if len(flows) == 1 {
		verb += "s"
	}
	for _, side := range []struct {
		flows []FlowChange
		word  string
	}{{all.Later, "later"}, {all.Sooner, "sooner"}} {
		var shares []float64
		for _, f := range flows {
			i := slices.IndexFunc(side.flows, func(o FlowChange) bool { return o.Flow == f.Flow })
			if i >= 0 {
				shares = append(shares, math.Abs(side.flows[i].Value/side.flows[i].Base-1))
			}
		}
		if len(shares) == len(flows) {
			return fmt.Sprintf("%s %s %s", verb, between(shares), side.word)
		}
	}
	if !slices.ContainsFunc(flows, func(f FlowChange) bool { return !slices.Contains(all.Even, f.Flow) }) {
		return verb + " at about the same time"
	}
	return ""
}

// between prints the range of shares.
func between(shares []float64) string {
	low, high := words.Share2(slices.Min(shares)), words.Share2(slices.Max(shares))
	if low == high {
		return low
	}
	return strings.TrimSuffix(low, "\u00a0%") + " to " + high
}

// counted says how many of many flows complete sooner and later.
func (s *Section) counted(d *Difference) string {
	sooner, later := d.Flows.Sooner, d.Flows.Later
	if len(sooner)+len(later) == 0 || d.Flows.Common <= reading.MaxGroups {
		return ""
	}
	side := func(flows []FlowChange, word string) string {
		if len(flows) == 0 {
			return "none " + word
		}
		var shares []float64
		for _, c := range flows {
			shares = append(shares, math.Abs(c.Value/c.Base-1))
		}
		return fmt.Sprintf("%d %s (by %s in the median)", len(flows), word, words.Share2(runfolder.Median(shares)))
	}
	return fmt.Sprintf("Of %d flows, %s completes %s and %s than %s, by more than their seeds differ.", d.Flows.Common, d.Variant, side(sooner, "sooner"), side(later, "later"), s.r.Variants[0].Name)
}

// queueChange says which queue changed the most, and whether it comes nearer to what
// CC steers to.
func (s *Section) queueChange(q *QueueChange) string {
	if q == nil {
		return ""
	}
	verb := "grows"
	if q.Bytes < q.BaseBytes {
		verb = "shrinks"
	}
	text := fmt.Sprintf("the mean queue of %s %s the most, from %s to %s", phrases.Port(&q.Place), verb, words.Depth(q.BaseBytes, q.RateBPS), words.Depth(q.Bytes, q.RateBPS))
	delay := func(bytes float64) float64 { return bytes * 8e6 / float64(q.RateBPS) }
	if t := q.TargetUS; t > 0 && math.Abs(delay(q.Bytes)-t) < 0.15*t && math.Abs(delay(q.BaseBytes)-t) >= 0.15*t {
		text += fmt.Sprintf(": it comes to the %s of queueing delay that CC steers to", words.Tenths(t, words.Delays))
	}
	return text
}

// Findings implements section.Finder.
func (s *Section) Findings() (all []string) {
	for i := range s.Differences {
		all = append(all, s.difference(&s.Differences[i])...)
	}
	return all
}
