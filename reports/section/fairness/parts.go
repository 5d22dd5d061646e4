package fairness

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// unfair is Jain's index below which sharing stands out.
const unfair = 0.9

// Parts implements section.Section.
func (s *Section) Parts() []section.Part {
	t := s.table()
	if len(t.Rows) == 0 {
		return nil
	}
	p := section.Part{ID: "fairness", Title: "Fairness", Blocks: []section.Block{t}}
	var worst *SharedPort
	variant := ""
	for i := range s.Fairness {
		for k := range s.Fairness[i].Shared {
			if one := &s.Fairness[i].Shared[k]; worst == nil || one.Jain < worst.Jain {
				worst, variant = one, s.Fairness[i].Variant
			}
		}
	}
	where := ""
	if worst.Place != nil {
		where = " at " + phrases.Port(worst.Place)
	}
	switch {
	case slices.ContainsFunc(s.r.Manifest.Runs, func(r runfolder.Run) bool { return r.Flows != nil }):
		p.Says = "Not comparable: each seed has other flows."
	case worst.Jain >= unfair:
		p.Says = fmt.Sprintf("Flows share evenly: Jain's index is at least %s.", words.Three(worst.Jain))
	default:
		if p.Level = section.Telling; s.r.Sharing != nil && !s.r.Sharing.Even {
			p.Level = section.Quiet // the rates of flows say so
		}
		p.Says = fmt.Sprintf("Least even are %d flows%s%s: Jain's index is %s, and flow %s gets %s while the fastest gets %s.", worst.Flows, where, phrases.In(&s.r.Facts, variant), words.Three(worst.Jain),
			worst.Slowest, words.Amount(worst.LeastGbps, words.BitRates), words.Amount(worst.MostGbps, words.BitRates))
	}
	return []section.Part{p}
}

// table lists how evenly transfers share their bottlenecks.
func (s *Section) table() *section.Table {
	t := &section.Table{Label: "Fairness", Columns: phrases.Columns("Shared port", "Variant", "#Flows", "#Jain's index", "#over the seeds", "#Slowest (Gb/s)", "#Fastest (Gb/s)", "Who is slowest"),
		Note: "Rates of the flows that must cross a full port, or of all flows where no full port has two. Jain's index is 1 if all flows get the same, and 1 over their number if one gets everything. Medians over the seeds."}
	for i := range s.Fairness {
		variant := s.Fairness[i].Variant
		for k := range s.Fairness[i].Shared {
			one := &s.Fairness[i].Shared[k]
			where := "all flows"
			if one.Place != nil {
				where = phrases.Port(one.Place)
			}
			t.Rows = append(t.Rows, section.Row{Variant: variant, Cells: phrases.Cells(where, variant, words.Number(float64(one.Flows)), words.Number(one.Jain), phrases.Spread(one.JainSeeds),
				words.Number(one.LeastGbps), words.Number(one.MostGbps), one.Slowest)})
		}
	}
	phrases.Bound(t, "shared ports", "report --json")
	return t
}

// Findings implements section.Finder: what limits the flows, which flows cross it, and how the
// slowest one fares beside the others.
func (s *Section) Findings() []string {
	return slices.DeleteFunc([]string{s.limits(), s.crossings(), s.sharing()}, func(text string) bool { return text == "" })
}

// limits says which ports limit the flows.
func (s *Section) limits() string {
	ports := s.r.Limits
	var names []string
	for i := range ports {
		names = append(names, busy(&ports[i]))
	}
	switch {
	case len(ports) == 0:
		return ""
	case !ports[0].Full:
		return words.Capital(s.bursts("port")) + "."
	case len(ports) == 1:
		return "The bottleneck is " + names[0] + "."
	}
	return "The bottlenecks are " + strings.Join(names, " and ") + "."
}

// bursts says of the first of the ports that limit the flows, none of which is full on
// average, how it is used: many a port is full for a while and idle for another. what is what
// ports are called.
func (s *Section) bursts(what string) string {
	p := &s.r.Limits[0]
	in := func(u *reading.Use) string {
		if len(s.r.Variants) > 1 {
			return " in variant " + u.Variant
		}
		return ""
	}
	window := words.Span(s.r.Setup.IntervalUS)
	if u := p.Fullest(); u != nil && u.FullShare > reading.FullShare-0.1 && u.Utilisation < 0.5 && s.slowed(p) {
		return fmt.Sprintf("the %s %s, slowed by the fault, is full in %s of the windows of %s%s", what, phrases.Port(&p.Place), shareOfFull(u.FullShare), window, in(u))
	} else if u != nil {
		return fmt.Sprintf("no %s is full all the time, but in bursts: %s is full in %s of the windows of %s, and used to %s on average%s",
			what, phrases.Port(&p.Place), shareOfFull(u.FullShare), window, words.Percent(u.Utilisation), in(u))
	}
	u := p.Busiest()
	peak := fmt.Sprintf(" and to %s in its busiest window of %s%s", words.Percent(u.Peak), window, in(&u))
	switch {
	case u.Peak < u.Utilisation*0.99: // the run ends within a window
		peak = fmt.Sprintf("%s; windows of %s are too long for this run to show bursts", in(&u), window)
	case words.Percent(u.Peak) == words.Percent(u.Utilisation):
		peak = fmt.Sprintf(" and in each window of %s%s", window, in(&u))
	}
	return fmt.Sprintf("no %s is full while measured: the busiest, %s, is used to %s on average%s", what, phrases.Port(&p.Place), words.Percent(u.Utilisation), peak)
}

// slowed reports whether a fault slowed the link of a port.
func (s *Section) slowed(p *reading.Port) bool {
	return slices.ContainsFunc(s.r.Faults, func(f reading.Fault) bool {
		return f.Happened && f.Kind == "rate" && (slices.Contains(f.Where, p.From+"-"+p.To) || slices.Contains(f.Where, p.To+"-"+p.From))
	})
}

// shareOfFull prints a share that is not 0.
func shareOfFull(share float64) string {
	if share < 0.0005 {
		return "less than 0.1 %"
	}
	return words.Percent(share)
}

// busy names a port and says how busy it was.
func busy(p *reading.Port) string {
	low, high := math.Inf(1), 0.0
	var queues []string
	for _, u := range p.Use {
		low, high = min(low, u.Utilisation), max(high, u.Utilisation)
		if !u.NoQueue {
			queues = append(queues, words.Depth(u.MeanQueueBytes, 0)+" in "+u.Variant)
		}
	}
	share := words.Percent(high)
	if words.Percent(low) != share {
		share = words.Percent(low) + " to " + share
	}
	if len(queues) == 0 {
		return fmt.Sprintf("%s (%s busy)", phrases.Port(&p.Place), share)
	}
	return fmt.Sprintf("%s (%s busy; mean queue %s)", phrases.Port(&p.Place), share, strings.Join(queues, ", "))
}

// crossings says which flows must cross the ports.
func (s *Section) crossings() string {
	c := s.r.Crossings
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
		parts, also = append(parts, "Flows "+words.List(c.All)+" cross both"), "also "
	}
	var limits []string
	for i, flows := range c.Some {
		if len(flows) > 0 {
			limits = append(limits, phrases.Port(&s.r.Limits[i].Place)+" "+also+"limits "+words.List(flows))
		}
	}
	if len(limits) > 0 {
		parts = append(parts, strings.Join(limits, ", "))
	}
	return words.Capital(strings.Join(parts, "; ")) + "."
}

// tenths prints a rate, rounded to a tenth.
func tenths(v float64) string { return words.Number(math.Round(v*10) / 10) }

// sharing says how the slowest flow fares beside the others.
func (s *Section) sharing() string {
	of := s.r.Sharing
	if of == nil {
		return ""
	}
	var parts []string
	for _, rates := range of.Rates {
		slow, others := rates.SlowestGbps, rates.OthersGbps
		unit := words.ScaleFor(max(slow, others), words.BitRates)
		text := fmt.Sprintf("%s against %s %s in %s", tenths(slow*unit.Factor), tenths(others*unit.Factor), unit.Unit, rates.Variant)
		if slow > 0 {
			text += fmt.Sprintf(" (1\u00a0:\u00a0%s)", words.Number(math.Round(others/slow*100)/100))
		}
		parts = append(parts, text)
	}
	who := fmt.Sprintf("Flow %s suffers: against the mean of the other %d it gets ", of.Slowest, of.Flows-1)
	switch {
	case of.Even:
		who = fmt.Sprintf("The flows share evenly in %s; the slowest, %s, against the mean of the others gets ", s.r.Variants[0].Name, of.Slowest)
	case of.Flows == 2:
		who = fmt.Sprintf("Flow %s suffers: against the other it gets ", of.Slowest)
	}
	text := who + strings.Join(parts, ", ") + "."
	if of.OwnTimes {
		text += " Each rate is over the time of its flow; the flows do not all send at the same time."
	}
	return text
}
