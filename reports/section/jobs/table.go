package jobs

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// tenths prints a time in microseconds.
func tenths(us float64) string { return words.Tenths(us, words.Delays) }

// statistic prints a statistic of a time.
func statistic(s *Stats, of func(*Stats) float64) string {
	if s == nil {
		return words.None
	}
	return tenths(of(s))
}

// Statistics of a metric.
func mean(s *Stats) float64 { return s.Mean }
func p50(s *Stats) float64  { return s.P50 }
func p99(s *Stats) float64  { return s.P99 }

// table lists the jobs of all variants: medians over the seeds.
func (s *Section) table() *section.Table {
	t := &section.Table{Label: "Jobs", Columns: phrases.Columns("Variant", "Job", "#Ranks", "#Steps", "#Iteration", "#p50", "#p99", "#Compute", "#Bubble", "#Exposed network", "#Late ranks", "#Straggler", "#Message p99")}
	more := false
	for i := range s.Jobs {
		j := &s.Jobs[i]
		steps := words.Number(j.Done)
		if j.Done < float64(j.Steps) {
			steps += " of " + words.Number(float64(j.Steps))
		}
		straggler, shares := words.None, [4]string{words.None, words.None, words.None, words.None}
		if j.Parts != nil {
			for i := range shares {
				shares[i] = words.Percent(j.Parts[i].Share)
			}
			for _, p := range j.Parts[len(shares):] {
				more = more || p.Share >= leastPart
			}
		}
		if ratio := j.StragglerRatio; ratio != nil {
			straggler = words.Number(ratio.P50)
			if j.Straggler != nil && ratio.P50 > 1.005 {
				straggler += fmt.Sprintf(", rank %d", *j.Straggler)
			}
		}
		t.Rows = append(t.Rows, section.Row{Variant: j.Variant, Cells: phrases.Cells(j.Variant, j.Name, words.Number(float64(j.Ranks)), steps,
			statistic(j.IterationUS, mean), statistic(j.IterationUS, p50), statistic(j.IterationUS, p99),
			shares[0], shares[1], shares[2], shares[3], straggler, statistic(j.MessageUS, p99))})
	}
	t.Note = "Iteration: mean, from the start of a step to that of the next one. Ranks compute, wait for other stages of the pipeline (bubble), for messages that are under way (exposed network) or for late ranks: shares of the iterations. "
	if more {
		t.Note += "The rest is time in which a schedule holds ranks, or in which nothing is under way. "
	}
	t.Note += "Straggler: the most that a rank computes over the mean. Medians over the seeds."
	phrases.Same(t, "Job", "Ranks", "Steps")
	phrases.Bound(t, "jobs", "metrics.parquet")
	return t
}

// collectives lists the collectives of all jobs.
func (s *Section) collectives() *section.Table {
	t := &section.Table{Label: "Collectives", Columns: phrases.Columns("Collective", "Variant", "Job", "What", "#Ranks", "#Size", "#CCT p50", "#p99", "#algbw (Gb/s)", "#busbw (Gb/s)", "Slowest instance")}
	rate := func(s *Stats) string {
		if s == nil {
			return words.None
		}
		return words.Number(s.Mean)
	}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		for k := range j.Collectives {
			c := &j.Collectives[k]
			what, slowest := c.Kind, words.None
			if c.Algorithm != "" {
				what += ", " + c.Algorithm
			}
			if p := c.SlowestIn; p != nil {
				slowest = fmt.Sprintf("step %d, %s: %s", p.Step, tenths(p.US()), p.mostly())
			}
			t.Rows = append(t.Rows, section.Row{Variant: j.Variant, Cells: phrases.Cells(c.Name, j.Variant, j.Name, what, words.Number(float64(c.Ranks)), words.Amount(float64(c.Bytes)/1000, words.Sizes),
				statistic(c.CCTUS, p50), statistic(c.CCTUS, p99), rate(c.AlgBWGbps), rate(c.BusBWGbps), slowest)})
		}
	}
	t.Note = "CCT: from when the first rank of a group enters the collective to when the last one leaves it. algbw: size over CCT; busbw: times the factor of nccl-tests, to compare with the rate of a link; means. Slowest instance: in the seed that charts show, and where it lost most."
	phrases.ToldFirst(&s.facts.Facts, t)
	phrases.Same(t, "Job")
	phrases.Bound(t, "collectives", "metrics.parquet")
	return t
}

// maxPaths is how many steps of a job are listed.
const maxPaths = 10

// paths lists what the slowest steps of each job waited for.
func (s *Section) paths() *section.Table {
	t := &section.Table{Label: "Critical paths", Columns: phrases.Columns("Variant", "Job", "#Step", "#Time", "#Compute", "#Transfers", "#Nothing", "Lost")}
	cut := false
	for i := range s.Jobs {
		j := &s.Jobs[i]
		slowest := slices.SortedStableFunc(slices.Values(j.Paths), func(a, b Path) int { return cmp.Compare(b.US(), a.US()) })
		cut = cut || len(slowest) > maxPaths
		for _, p := range slowest[:min(maxPaths, len(slowest))] {
			t.Rows = append(t.Rows, section.Row{Variant: j.Variant, Cells: phrases.Cells(j.Variant, j.Name, words.Number(float64(p.Step)), tenths(p.US()), tenths(p.ComputeUS), tenths(p.TransferUS), tenths(p.IdleUS), p.lost())})
		}
	}
	t.Note = "From the end of the step back along what each operation waited for last. Lost: beyond what transfers take on an idle fabric, and beyond what the median rank computes."
	if cut {
		t.Note += fmt.Sprintf(" The slowest %d steps of each job.", maxPaths)
	}
	phrases.ToldFirst(&s.facts.Facts, t)
	phrases.Same(t, "Job", "Step")
	phrases.Bound(t, "steps", "report --json")
	return t
}

// lost says where a critical path lost time.
func (p *Path) lost() string {
	l := p.Lost
	if l == nil {
		return fmt.Sprintf("nothing at one place; %s of compute, %s of transfers", tenths(p.ComputeUS), tenths(p.TransferUS))
	}
	text := fmt.Sprintf("%s (%s) ", words.Short(l.US), words.Percent(l.Share))
	switch {
	case l.Rank >= 0:
		return text + fmt.Sprintf("at rank %d (%s), which computes longer than the median rank", l.Rank, l.Host)
	case l.NIC:
		return text + fmt.Sprintf("at the NIC of %s, where messages wait for each other, %s", l.Host, l.most())
	}
	where := "in the queue at "
	if l.ByLoad {
		where = "at the busiest port, "
	}
	text += where + phrases.Arrow(l.Port) + ", " + l.most()
	if l.DelayUS > 0 {
		text += fmt.Sprintf("; each packet waits %s", tenths(l.DelayUS))
	}
	return text
}

// most names the transfer that waited the longest.
func (l *Lost) most() string {
	text := fmt.Sprintf("most from %s to %s", l.from, l.to)
	if l.from == l.to || l.to == "" {
		text = fmt.Sprintf("most from rank %d to %d", l.Sender, l.Peer)
	}
	if l.Flow != "" {
		text += " (flow " + l.Flow + ")"
	}
	return text
}

// mostly says in short where a critical path lost time.
func (p *Path) mostly() string {
	l := p.Lost
	if l == nil {
		return "nothing lost at one place"
	}
	at := phrases.Arrow(l.Port)
	switch {
	case l.Rank >= 0:
		at = fmt.Sprintf("rank %d", l.Rank)
	case l.NIC:
		at = "the NIC of " + l.Host
	}
	return words.Percent(l.Share) + " at " + at
}
