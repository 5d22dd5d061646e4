package reports

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/analysis"
)

// Findings returns sentences that say what limits the flows and who suffers, the
// most important one first.
func Findings(r *analysis.Result) []string {
	var all []string
	for _, text := range []string{limits(r), crossings(&r.Findings), sharing(r)} {
		if text != "" {
			all = append(all, text)
		}
	}
	all = append(all, slowestSteps(r)...)
	for i := range r.Findings.Differences {
		all = append(all, difference(r, &r.Findings.Differences[i])...)
	}
	if text := losses(r); text != "" {
		all = append(all, text)
	}
	return all
}

// losses says where packets were dropped and trimmed.
func losses(r *analysis.Result) string {
	var parts []string
	for i := range r.Findings.Losses {
		l := &r.Findings.Losses[i]
		for _, of := range []struct {
			verb  string
			count func(analysis.LossIn) float64
		}{{"drops", func(v analysis.LossIn) float64 { return v.Dropped }}, {"trims", func(v analysis.LossIn) float64 { return v.Trimmed }}} {
			var counts []float64
			for _, v := range l.Variants {
				counts = append(counts, of.count(v))
			}
			if slices.Max(counts) > 0 {
				parts = append(parts, fmt.Sprintf("%s %s %s", portName(&l.Place), of.verb, inVariants(l.Variants, counts)))
			}
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "Packets dropped or trimmed: " + strings.Join(parts, "; ") + "."
}

// inVariants prints the counts of variants.
func inVariants(variants []analysis.LossIn, counts []float64) string {
	if slices.Min(counts) == slices.Max(counts) {
		if len(counts) == 1 {
			return number(counts[0])
		}
		return number(counts[0]) + " in each variant"
	}
	var texts []string
	for i, v := range variants {
		texts = append(texts, number(counts[i])+" in "+v.Variant)
	}
	return list(texts)
}

// notes returns the notes as sentences. A note that is not of every variant begins
// with the names of its variants, one of runs with their seeds too.
func notes(r *analysis.Result) []string {
	var all []string
	for _, n := range r.Notes {
		text := n.Text + "."
		switch {
		case len(n.Seeds) > 0:
			word, seeds := seedNames(n.Seeds)
			text = fmt.Sprintf("Variant %s, %s %s: %s", n.Variants[0], word, list(seeds), text)
		case len(n.Variants) == 1 && len(r.Variants) > 1:
			text = fmt.Sprintf("Variant %s: %s", n.Variants[0], text)
		case len(n.Variants) < len(r.Variants):
			text = fmt.Sprintf("Variants %s: %s", list(n.Variants), text)
		}
		all = append(all, text)
	}
	return all
}

// limits says which ports limit the flows.
func limits(r *analysis.Result) string {
	ports := r.Findings.Ports
	var names []string
	for i := range ports {
		names = append(names, busy(&ports[i]))
	}
	switch {
	case len(ports) == 0:
		return ""
	case !ports[0].Full:
		return capital(bursts(r, "port")) + "."
	case len(ports) == 1:
		return "The bottleneck is " + names[0] + "."
	}
	return "The bottlenecks are " + strings.Join(names, " and ") + "."
}

// bursts says of the first of the ports of findings, none of which is full on average, how it
// is used: many a port is full for a while and idle for another.
func bursts(r *analysis.Result, what string) string {
	p := &r.Findings.Ports[0]
	in := func(u *analysis.Use) string {
		if len(r.Variants) > 1 {
			return " in variant " + u.Variant
		}
		return ""
	}
	window := span(r.Setup.IntervalUS)
	if u := p.Fullest(); u != nil {
		return fmt.Sprintf("no %s is full all the time, but in bursts: %s is full in %s of the windows of %s, and used to %s on average%s", what, portName(&p.Place), shareOfFull(u.FullShare), window, percent(u.Utilisation), in(u))
	}
	u := p.Busiest()
	peak := fmt.Sprintf(" and to %s in its busiest window of %s%s", percent(u.Peak), window, in(&u))
	switch {
	case u.Peak < u.Utilisation*0.99: // the run ends within a window
		peak = fmt.Sprintf("%s; windows of %s are too long for this run to show bursts", in(&u), window)
	case percent(u.Peak) == percent(u.Utilisation):
		peak = fmt.Sprintf(" and in each window of %s%s", window, in(&u))
	}
	return fmt.Sprintf("no %s is full while measured: the busiest, %s, is used to %s on average%s", what, portName(&p.Place), percent(u.Utilisation), peak)
}

// shareOfFull prints a share that is not 0.
func shareOfFull(share float64) string {
	if share < 0.0005 {
		return "less than 0.1 %"
	}
	return percent(share)
}

// busy names a port and says how busy it was.
func busy(p *analysis.Port) string {
	low, high := math.Inf(1), 0.0
	var queues []string
	for _, u := range p.Use {
		low, high = min(low, u.Utilisation), max(high, u.Utilisation)
		queues = append(queues, depth(u.MeanQueueBytes, 0)+" in "+u.Variant)
	}
	share := percent(high)
	if percent(low) != share {
		share = percent(low) + " to " + share
	}
	return fmt.Sprintf("%s (%s busy; mean queue %s)", portName(&p.Place), share, strings.Join(queues, ", "))
}

// portName names a port by the nodes of its link, that of a host as its NIC, and by
// its number when other links join the same two nodes.
func portName(p *analysis.Place) string {
	name := p.From + " → " + p.To
	if p.NIC {
		name = "the NIC of " + p.From
	}
	if p.Parallel {
		return fmt.Sprintf("%s (port %d)", name, p.Port)
	}
	return name
}

// crossings says which flows must cross the ports.
func crossings(f *analysis.Findings) string {
	c := f.Crossings
	if c == nil {
		return ""
	}
	var parts []string
	also := ""
	switch len(c.All) {
	case 0:
	case 1:
		parts, also = append(parts, "Flow "+c.All[0]+" crosses both"), "also "
	default:
		parts, also = append(parts, "Flows "+list(c.All)+" cross both"), "also "
	}
	var limits []string
	for i, flows := range c.Some {
		if len(flows) > 0 {
			limits = append(limits, portName(&f.Ports[i].Place)+" "+also+"limits "+list(flows))
		}
	}
	if len(limits) > 0 {
		parts = append(parts, strings.Join(limits, ", "))
	}
	return capital(strings.Join(parts, "; ")) + "."
}

// sharing says how the slowest flow fares beside the others.
func sharing(r *analysis.Result) string {
	s := r.Findings.Sharing
	if s == nil {
		return ""
	}
	var parts []string
	for _, rates := range s.Rates {
		slow, others := rates.SlowestGbps, rates.OthersGbps
		unit := scaleFor(max(slow, others), scalesOfRates)
		text := fmt.Sprintf("%s against %s %s in %s", number(math.Round(slow*unit.factor*10)/10), number(math.Round(others*unit.factor*10)/10), unit.unit, rates.Variant)
		if slow > 0 {
			text += fmt.Sprintf(" (1\u00a0:\u00a0%s)", number(math.Round(others/slow*100)/100))
		}
		parts = append(parts, text)
	}
	who := fmt.Sprintf("Flow %s suffers: against the mean of the other %d it gets ", s.Slowest, s.Flows-1)
	switch {
	case s.Even:
		who = fmt.Sprintf("The flows share evenly in %s; the slowest, %s, against the mean of the others gets ", r.Variants[0].Name, s.Slowest)
	case s.Flows == 2:
		who = fmt.Sprintf("Flow %s suffers: against the other it gets ", s.Slowest)
	}
	return who + strings.Join(parts, ", ") + "." + ownTimes(s, " Each rate is over the time of its flow; the flows do not all send at the same time.")
}

// ownTimes returns a text if the rates of flows are over different times.
func ownTimes(s *analysis.Sharing, text string) string {
	if s.OwnTimes {
		return text
	}
	return ""
}

// seedNames returns seed or seeds, and the names of seeds.
func seedNames(seeds []uint64) (word string, names []string) {
	for _, seed := range seeds {
		names = append(names, fmt.Sprint(seed))
	}
	if len(seeds) == 1 {
		return "seed", names
	}
	return "seeds", names
}

// list joins names, the first few of many.
func list(names []string) string {
	const most = 6
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	if len(names) > 1 {
		return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
	}
	return names[0]
}
