package reports

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/reports/analysis"
)

// jobs lists the jobs of all variants: medians over the seeds.
func jobs(r *analysis.Result) table {
	t := table{Columns: []column{{Name: "Variant"}, {Name: "Job"}, {Name: "Ranks", Number: true}, {Name: "Steps", Number: true},
		{Name: "Iteration", Number: true}, {Name: "p50", Number: true}, {Name: "p99", Number: true}, {Name: "Compute", Number: true}, {Name: "Bubble", Number: true},
		{Name: "Exposed network", Number: true}, {Name: "Late ranks", Number: true}, {Name: "Straggler", Number: true}, {Name: "Message p99", Number: true}}}
	more := false
	for i := range r.Jobs {
		j := &r.Jobs[i]
		steps := number(j.Done)
		if j.Done < float64(j.Steps) {
			steps += " of " + number(float64(j.Steps))
		}
		straggler, shares := none, [4]string{none, none, none, none}
		if j.Parts != nil {
			for i := range shares {
				shares[i] = percent(j.Parts[i].Share)
			}
			for _, p := range j.Parts[len(shares):] {
				more = more || p.Share >= leastPart
			}
		}
		if s := j.StragglerRatio; s != nil {
			straggler = number(s.P50)
			if j.Straggler != nil && s.P50 > 1.005 {
				straggler += fmt.Sprintf(", rank %d", *j.Straggler)
			}
		}
		mean := func(s *analysis.Stats) float64 { return s.Mean }
		t.Rows = append(t.Rows, []cell{{Text: j.Variant}, {Text: j.Name}, {Text: number(float64(j.Ranks))}, {Text: steps},
			statistic(j.IterationUS, mean), statistic(j.IterationUS, func(s *analysis.Stats) float64 { return s.P50 }), statistic(j.IterationUS, func(s *analysis.Stats) float64 { return s.P99 }),
			{Text: shares[0]}, {Text: shares[1]}, {Text: shares[2]}, {Text: shares[3]}, {Text: straggler}, statistic(j.MessageUS, func(s *analysis.Stats) float64 { return s.P99 })})
	}
	t.Note = "Iteration: mean, from the start of a step to that of the next one. Ranks compute, wait for other stages of the pipeline (bubble), for messages that are under way (exposed network) or for late ranks: shares of the iterations. "
	if more {
		t.Note += "The rest is time in which a schedule holds ranks, or in which nothing is under way. "
	}
	t.Note += "Straggler: the most that a rank computes over the mean. Medians over the seeds."
	t.bound("jobs", "metrics.parquet")
	return t
}

// statistic prints a statistic of a time.
func statistic(s *analysis.Stats, of func(*analysis.Stats) float64) cell {
	if s == nil {
		return cell{Text: none}
	}
	return cell{Text: tenths(of(s), scalesOfDelays)}
}

// collectives lists the collectives of all jobs.
func collectives(r *analysis.Result) table {
	t := table{Columns: []column{{Name: "Variant"}, {Name: "Job"}, {Name: "Collective"}, {Name: "What"}, {Name: "Ranks", Number: true}, {Name: "Size", Number: true},
		{Name: "CCT p50", Number: true}, {Name: "p99", Number: true}, {Name: "algbw (Gb/s)", Number: true}, {Name: "busbw (Gb/s)", Number: true}, {Name: "Slowest instance"}}}
	rate := func(s *analysis.Stats) cell {
		if s == nil {
			return cell{Text: none}
		}
		return cell{Text: number(s.Mean)}
	}
	for i := range r.Jobs {
		j := &r.Jobs[i]
		for k := range j.Collectives {
			c := &j.Collectives[k]
			what, slowest := c.Kind, none
			if c.Algorithm != "" {
				what += ", " + c.Algorithm
			}
			if p := c.SlowestIn; p != nil {
				slowest = fmt.Sprintf("step %d, %s: %s", p.Step, tenths(p.US(), scalesOfDelays), lostText(p))
			}
			t.Rows = append(t.Rows, []cell{{Text: j.Variant}, {Text: j.Name}, {Text: c.Name}, {Text: what}, {Text: number(float64(c.Ranks))}, {Text: amount(float64(c.Bytes)/1000, scalesOfSizes)},
				statistic(c.CCTUS, func(s *analysis.Stats) float64 { return s.P50 }), statistic(c.CCTUS, func(s *analysis.Stats) float64 { return s.P99 }),
				rate(c.AlgBWGbps), rate(c.BusBWGbps), {Text: slowest}})
		}
	}
	t.Note = "CCT: from when the first rank of a group enters the collective to when the last one leaves it. algbw: size over CCT; busbw: times the factor of nccl-tests, to compare with the rate of a link; means."
	t.bound("collectives", "metrics.parquet")
	return t
}

// maxPaths is how many steps of a job are listed.
const maxPaths = 10

// criticalPaths lists what the slowest steps of each job waited for.
func criticalPaths(r *analysis.Result) table {
	t := table{Columns: []column{{Name: "Variant"}, {Name: "Job"}, {Name: "Step", Number: true}, {Name: "Time", Number: true}, {Name: "Compute", Number: true},
		{Name: "Transfers", Number: true}, {Name: "Nothing", Number: true}, {Name: "Lost"}}}
	cut := false
	for i := range r.Jobs {
		j := &r.Jobs[i]
		slowest := slices.SortedStableFunc(slices.Values(j.Paths), func(a, b analysis.CriticalPath) int { return cmp.Compare(b.US(), a.US()) })
		cut = cut || len(slowest) > maxPaths
		for _, p := range slowest[:min(maxPaths, len(slowest))] {
			t.Rows = append(t.Rows, []cell{{Text: j.Variant}, {Text: j.Name}, {Text: number(float64(p.Step))}, {Text: tenths(p.US(), scalesOfDelays)},
				{Text: tenths(p.ComputeUS, scalesOfDelays)}, {Text: tenths(p.TransferUS, scalesOfDelays)}, {Text: tenths(p.IdleUS, scalesOfDelays)}, {Text: lostText(&p)}})
		}
	}
	t.Note = "From the end of the step back along what each operation waited for last. Lost: beyond what transfers take on an idle fabric, and beyond what the median rank computes."
	if cut {
		t.Note += fmt.Sprintf(" The slowest %d steps of each job.", maxPaths)
	}
	t.bound("steps", "report --json")
	return t
}

// lostText says where a critical path lost time.
func lostText(p *analysis.CriticalPath) string {
	l := p.Lost
	if l == nil {
		return fmt.Sprintf("nothing at one place; %s of compute, %s of transfers", tenths(p.ComputeUS, scalesOfDelays), tenths(p.TransferUS, scalesOfDelays))
	}
	share := percent(l.Share)
	switch {
	case l.Rank >= 0:
		return fmt.Sprintf("%s (%s) at rank %d (%s), which computes longer than the median rank", tenths(l.US, scalesOfDelays), share, l.Rank, l.Host)
	case l.NIC:
		return fmt.Sprintf("%s (%s) at the NIC of %s, where messages wait for each other, %s", tenths(l.US, scalesOfDelays), share, l.Host, worstTransfer(l))
	}
	text := fmt.Sprintf("%s (%s) at %s, %s", tenths(l.US, scalesOfDelays), share, l.Port, worstTransfer(l))
	if l.DelayUS > 0 {
		text += fmt.Sprintf("; packets wait %s there", tenths(l.DelayUS, scalesOfDelays))
	}
	return text
}

// worstTransfer names the transfer that waited the longest.
func worstTransfer(l *analysis.Lost) string {
	if l.Flow == "" {
		return fmt.Sprintf("most by rank %d to %d", l.Sender, l.Peer)
	}
	return fmt.Sprintf("most by rank %d to %d (flow %s)", l.Sender, l.Peer, l.Flow)
}

// slowestSteps says where the slowest step of each job was lost.
func slowestSteps(r *analysis.Result) (texts []string) {
	for i := range r.Jobs {
		j := &r.Jobs[i]
		if j.Slowest < 0 {
			continue
		}
		p := &j.Paths[j.Slowest]
		of := ""
		if len(j.Paths) > 1 {
			of = fmt.Sprintf(", the slowest of %d,", len(j.Paths))
		}
		in := ""
		if len(r.Variants) > 1 {
			in = " in " + j.Variant
		}
		texts = append(texts, fmt.Sprintf("Step %d of %s%s%s takes %s. Lost: %s.", p.Step, j.Name, in, of, tenths(p.US(), scalesOfDelays), lostText(p)))
	}
	return texts
}
