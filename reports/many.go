package reports

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/reports/analysis"
)

// Commands that list what bounded tables leave out. Their quotation marks are those of a
// POSIX shell. TestQueries checks files and columns.
const (
	queryFCTs    = `duckdb -c "SELECT variant, seed, flow_name, sender_done_us - start_us AS fct_us, retransmitted, timeouts FROM 'phases.parquet' ORDER BY fct_us DESC NULLS FIRST"`
	queryWorst   = `duckdb -c "SELECT variant, seed, subject AS flow, value AS slowdown FROM 'metrics.parquet' WHERE metric = 'slowdown' ORDER BY value DESC"`
	queryPorts   = `duckdb -c "SELECT variant, seed, subject AS port, value AS mean_kb FROM 'metrics.parquet' WHERE metric = 'queue_kb.mean' ORDER BY value DESC"`
	queryMetrics = `duckdb -c "SELECT variant, seed, name, value FROM 'metrics.parquet' WHERE name LIKE 'fct_us.%'"`
	queryNamed   = `duckdb -c "SELECT variant, flow_name, type, port_name, locator, sum(samples) AS samples FROM 'signals.parquet' GROUP BY ALL ORDER BY samples DESC"`
)

// maxRows bounds the tables that grow with runs, programs and ports.
const maxRows = 200

// bound cuts a table off after maxRows rows, and says where the others are.
func (t *table) bound(rows, where string) {
	if n := len(t.Rows); n > maxRows {
		t.Rows = t.Rows[:maxRows]
		t.Note = strings.TrimSpace(fmt.Sprintf("%s The first %d of %s %s; %s has all.", t.Note, maxRows, number(float64(n)), rows, where))
	}
}

// leavesOut reports whether there are too many metrics of a kind for the summary.
func leavesOut(r *analysis.Result, kind string) bool {
	return r.Details != nil && slices.Contains(r.Details.Of, kind)
}

// distributions lists how completion times and slowdowns are distributed where there are
// many flows, and the completion times of collectives.
func distributions(r *analysis.Result) table {
	t := table{Note: "Of each seed, and of these the medians over the seeds. 99 % of the values are at most the value in column 99 %."}
	for _, c := range []string{"Quantity", "Variant"} {
		t.Columns = append(t.Columns, column{Name: c})
	}
	for _, c := range []string{"Count", "Mean", "50 %", "90 %", "99 %", "99.9 %", "Greatest"} {
		t.Columns = append(t.Columns, column{c, true})
	}
	row := func(name, variant, count string, d *analysis.Distribution, factor float64) {
		cells := []cell{{Text: name}, {Text: variant}, {Text: count}}
		for _, v := range []float64{d.Mean, d.P50, d.P90, d.P99, d.P999, d.Max} {
			cells = append(cells, cell{Text: number(v * factor)})
		}
		t.Rows = append(t.Rows, cells)
	}
	longest := 0.0
	for i := range r.Fairness {
		if d := r.Fairness[i].FCTUS; d != nil {
			longest = max(longest, d.Max)
		}
	}
	unit := scaleFor(longest, scalesOfDelays)
	for i := range r.Fairness {
		f := &r.Fairness[i]
		if len(r.Worst) > 0 && f.FCTUS != nil {
			completed, _ := completedOf(r, f.Variant)
			row("Completion time ("+unit.unit+")", f.Variant, completed, f.FCTUS, unit.factor)
			if f.Slowdown != nil {
				row("Slowdown", f.Variant, completed, f.Slowdown, 1)
			}
		}
		for k := range f.CCTUS {
			c := &f.CCTUS[k]
			unit := scaleFor(c.Max, scalesOfDelays)
			row(fmt.Sprintf("%s of %s (%s)", c.Collective, c.Job, unit.unit), f.Variant, number(c.Count), &c.Distribution, unit.factor)
		}
	}
	t.bound("distributions", "report --json")
	return t
}

// fairness lists how evenly transfers share their bottlenecks.
func fairness(r *analysis.Result) table {
	t := table{Columns: []column{{Name: "Shared port"}, {Name: "Variant"}, {Name: "Flows", Number: true}, {Name: "Jain's index", Number: true}, {Name: "over the seeds", Number: true},
		{Name: "Slowest (Gb/s)", Number: true}, {Name: "Fastest (Gb/s)", Number: true}, {Name: "Who is slowest"}},
		Note: "Rates of the flows that must cross a full port, or of all flows where no full port has two. Jain's index is 1 if all flows get the same, and 1 over their number if one gets everything. Medians over the seeds."}
	for i := range r.Fairness {
		for k := range r.Fairness[i].Shared {
			s := &r.Fairness[i].Shared[k]
			where := "all flows"
			if s.Place != nil {
				where = portName(s.Place)
			}
			t.Rows = append(t.Rows, []cell{{Text: where}, {Text: r.Fairness[i].Variant}, {Text: number(float64(s.Flows))}, {Text: number(s.Jain)}, {Text: spread(s.JainSeeds)},
				{Text: number(s.LeastGbps)}, {Text: number(s.MostGbps)}, {Text: s.Slowest}})
		}
	}
	t.bound("shared ports", "report --json")
	return t
}

// worstCollectives lists the instances of collectives that took longest beside the others of
// their name.
func worstCollectives(r *analysis.Result) table {
	t := table{Columns: []column{{Name: "Collective"}, {Name: "Variant"}, {Name: "Seed", Number: true}, {Name: "Job"}, {Name: "Step", Number: true}, {Name: "Group", Number: true},
		{Name: "Time", Number: true}, {Name: "Over the median", Number: true}, {Name: "Left last by"}},
		Note: fmt.Sprintf("The worst %d instances of each variant, of all seeds, by their time over the median of the instances of the same name in their run. instances.parquet has all.", analysis.MaxWorst)}
	for i := range r.Fairness {
		for k := range r.Fairness[i].Worst {
			w := &r.Fairness[i].Worst[k]
			t.Rows = append(t.Rows, []cell{{Text: w.Collective}, {Text: r.Fairness[i].Variant}, {Text: strconv.FormatUint(w.Seed, 10)}, {Text: w.Job}, {Text: number(float64(w.Step))},
				{Text: number(float64(w.Group))}, {Text: tenths(w.CCTUS, scalesOfDelays)}, {Text: number(w.Ratio) + "×"}, {Text: w.LastHost}})
		}
	}
	t.bound("instances", "instances.parquet")
	return t
}

// worstFlows lists the flows that fared the worst in each variant, and why.
func worstFlows(r *analysis.Result) table {
	size, unit := completionUnits(r.Completion)
	seeds := len(r.Setup.Seeds) > 1
	t := table{Columns: []column{{Name: "Flow"}}, Query: queryWorst}
	if len(r.Variants) > 1 {
		t.Columns = append(t.Columns, column{Name: "Variant"})
	}
	if seeds {
		t.Columns = append(t.Columns, column{"Seed", true})
	}
	t.Columns = append(t.Columns, column{"Size (" + size.unit + ")", true}, column{"Completion (" + unit.unit + ")", true}, column{"Slowdown", true},
		column{"Packets", true}, column{"Sent again", true}, column{"Timeouts", true}, column{"Trimmed", true}, column{Name: "Where"})
	for i := range r.Worst {
		w := &r.Worst[i]
		row := []cell{{Text: w.Flow}}
		if len(r.Variants) > 1 {
			row = append(row, cell{Text: w.Variant})
		}
		if seeds {
			row = append(row, cell{Text: strconv.FormatUint(w.Seed, 10)})
		}
		done := cell{"not done: " + percent(w.Share), stateBad}
		if w.FCTUS != nil {
			done = cell{Text: number(*w.FCTUS * unit.factor)}
		}
		row = append(row, cell{Text: number(float64(w.SizeBytes) / 1000 * size.factor)}, done, optional(w.Slowdown))
		for _, n := range []int64{w.Packets, w.Retransmitted, w.Timeouts, w.Trimmed} {
			row = append(row, cell{Text: number(float64(n))})
		}
		t.Rows = append(t.Rows, append(row, cell{Text: where(w)}))
	}
	flows := 0
	for _, p := range r.Progress {
		flows = max(flows, p.Flows)
	}
	t.Note = fmt.Sprintf("The worst %d of %s", min(analysis.MaxWorst, flows), plural(flows, "flow"))
	if len(r.Variants) > 1 {
		t.Note += " in each variant"
	}
	if len(r.Variants) > analysis.MaxWorstVariants {
		t.Note += fmt.Sprintf(", of the first %d of %d variants", analysis.MaxWorstVariants, len(r.Variants))
	}
	if seeds {
		t.Note += ", of all seeds"
	}
	t.Note += ": those that did not complete, with the share of their payload that arrived, then those with the greatest slowdown. phases.parquet has a row for each flow of each run, by column flow_name, with its times, packets and retransmissions; metrics.parquet has its slowdown, by column subject."
	return t
}

// where says what limited a flow, as far as it is known.
func where(w *analysis.Worst) string {
	switch {
	case len(w.Named) > 0:
		return fmt.Sprintf("CSIG names %s (%s of its %s samples)", ports(w.Named), percent(w.NamedShare), w.Signal)
	case w.Crosses != nil:
		return fmt.Sprintf("crosses %s (%s busy, mean queue %s)", portName(w.Crosses), percent(w.Use.Utilisation), depth(w.Use.MeanQueueBytes, 0))
	}
	return none
}

// portClasses sums up the ports of a large fabric by tier and direction.
func portClasses(of *analysis.ManyPorts) table {
	if of == nil {
		return table{}
	}
	size := scalesOfSizes[2]
	for i := range of.Classes {
		if s := scaleFor(of.Classes[i].PeakQueueBytes/1000, scalesOfSizes); s.factor < size.factor {
			size = s
		}
	}
	queue := func(bytes float64) cell { return cell{Text: number(bytes / 1000 * size.factor)} }
	t := table{Columns: []column{{Name: "Ports of"}, {Name: "Variant"}, {Name: "Ports", Number: true}, {Name: "Busy, mean", Number: true}, {Name: "Busy, most", Number: true},
		{Name: "Queue, mean (" + size.unit + ")", Number: true}, {Name: "Deepest mean (" + size.unit + ")", Number: true}, {Name: "Peak (" + size.unit + ")", Number: true}, {Name: "Dropped", Number: true}, {Name: "Trimmed", Number: true}},
		Note: "By tier and direction, in the measuring window; drops and trims in the whole run. Medians over the seeds."}
	for _, c := range of.Classes {
		t.Rows = append(t.Rows, []cell{{Text: className(c.Tier, c.Direction)}, {Text: c.Variant}, {Text: number(float64(c.Ports))}, {Text: percent(c.MeanUtilisation)}, {Text: percent(c.MaxUtilisation)},
			queue(c.MeanQueueBytes), queue(c.DeepestBytes), queue(c.PeakQueueBytes), {Text: number(c.Dropped)}, {Text: number(c.Trimmed)}})
	}
	return t
}

// className names the ports of a tier that lead in a direction.
func className(tier, direction string) string {
	if tier == "host" || direction == "" {
		return tier
	}
	return tier + ", " + direction
}

// worstPorts lists the ports of a large fabric with the deepest queues.
func worstPorts(of *analysis.ManyPorts) table {
	if of == nil {
		return table{}
	}
	t := table{Columns: []column{{Name: "Port"}, {Name: "Variant"}, {Name: "Tier"}, {Name: "Busy", Number: true}, {Name: "Mean queue", Number: true}, {Name: "Peak", Number: true}, {Name: "Dropped", Number: true}, {Name: "Trimmed", Number: true}},
		Query: queryPorts}
	for i := range of.Worst {
		w := &of.Worst[i]
		t.Rows = append(t.Rows, []cell{{Text: portName(&w.Place)}, {Text: w.Use.Variant}, {Text: className(w.Tier, w.Direction)}, {Text: percent(w.Utilisation)},
			{Text: depth(w.MeanQueueBytes, 0)}, {Text: depth(w.PeakQueueBytes, 0)}, {Text: number(w.Lost.Dropped)}, {Text: number(w.Lost.Trimmed)}})
	}
	t.Note = fmt.Sprintf("The %d of %s with the deepest mean queues, in each variant. ports.parquet has the windows of each port, by column port_name; metrics.parquet has its metrics, by column subject.", min(analysis.MaxWorst, of.Ports), plural(of.Ports, "port"))
	return t
}
