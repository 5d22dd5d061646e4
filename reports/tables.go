package reports

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// verdictColumn is the column of published that holds the outcome.
const verdictColumn = 6

// published compares medians with published figures.
func published(m *runfolder.Manifest, s *runfolder.Summary) *Table {
	if len(m.Published) == 0 {
		return nil
	}
	t := &Table{Columns: []Column{{Name: "Variant"}, {Name: "Metric"}, {Name: "Median", Number: true}, {Name: "Over the seeds", Number: true},
		{Name: "Published", Number: true}, {Name: "Band", Number: true}, {Name: "Verdict"}, {Name: "Source"}}}
	for _, p := range m.Published {
		measured, ok := s.Variants[p.Variant].Metrics[p.Metric]
		median, band := "–", "–"
		if ok {
			median = number(measured)
		}
		outcome := Cell{Text: "compare by eye"}
		if p.Low != 0 || p.High != 0 {
			band = number(p.Low) + " … " + number(p.High)
			switch {
			case !ok:
				outcome = Cell{"✗ not measured", StateBad}
			case measured >= p.Low && measured <= p.High:
				outcome = Cell{"✓ reproduced", StateGood}
			default:
				outcome = Cell{"✗ outside", StateBad}
				if p.Note != "" {
					outcome.Text += ": " + p.Note
				}
			}
		}
		t.Rows = append(t.Rows, []Cell{{Text: p.Variant}, {Text: withUnit(p.Metric)}, {Text: median}, {Text: spread(s.Variants[p.Variant], p.Metric)},
			{Text: number(p.Value)}, {Text: band}, outcome, {Text: p.Source}})
	}
	return t
}

// spread returns "min … max (n)" of a metric over the runs.
func spread(v runfolder.VariantSummary, metric string) string {
	var values []float64
	for _, r := range v.Runs {
		if x, ok := r.Metrics[metric]; ok {
			values = append(values, x)
		}
	}
	return span(values)
}

func span(values []float64) string {
	switch len(values) {
	case 0:
		return "–"
	case 1:
		return "one seed"
	}
	low, high := number(slices.Min(values)), number(slices.Max(values))
	if low == high {
		return fmt.Sprintf("%s (%d)", low, len(values))
	}
	return fmt.Sprintf("%s … %s (%d)", low, high, len(values))
}

// keyMetrics lists the metrics of the whole run, those whose name is not of one
// flow, with a column for every variant.
func keyMetrics(m *runfolder.Manifest, s *runfolder.Summary) Table {
	flows := flowNames(m)
	t := Table{Columns: []Column{{Name: "Metric"}, {Name: "Unit"}}, Note: "Medians over the seeds."}
	names := map[string]bool{}
	for _, v := range m.Variants {
		t.Columns = append(t.Columns, Column{v.Name, true})
		for name := range s.Variants[v.Name].Metrics {
			names[name] = true
		}
	}
	for _, name := range sortedKeys(names) {
		if slices.ContainsFunc(strings.Split(name, "."), func(part string) bool { return flows[part] }) {
			continue
		}
		row := []Cell{{Text: name}, {Text: unit(name)}}
		for _, v := range m.Variants {
			row = append(row, Cell{Text: metric(s.Variants[v.Name].Metrics, name)})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// allMetrics lists every metric with its median and its value in every run.
func allMetrics(m *runfolder.Manifest, s *runfolder.Summary) Table {
	t := Table{Columns: []Column{{Name: "Variant"}, {Name: "Metric"}, {Name: "Unit"}, {Name: "Median", Number: true}, {Name: "Over the seeds", Number: true}}}
	for _, v := range m.Variants {
		names := map[string]bool{}
		for _, r := range s.Variants[v.Name].Runs {
			for name := range r.Metrics {
				names[name] = true
			}
		}
		for _, name := range sortedKeys(names) {
			t.Rows = append(t.Rows, []Cell{{Text: v.Name}, {Text: name}, {Text: unit(name)},
				{Text: metric(s.Variants[v.Name].Metrics, name)}, {Text: spread(s.Variants[v.Name], name)}})
		}
	}
	return t
}

// maxCompletions bounds the table of completion times.
const maxCompletions = 32

// completion lists flow completion times: medians over the seeds and their
// range, the slowest flows of the first variant when there are many.
func (d *data) completion() Table {
	t := Table{Columns: []Column{{Name: "Flow"}, {Name: "Size (MB)", Number: true}}}
	type times struct {
		fct  []float64
		open int // runs that ended before it was done
	}
	byFlow := map[string]map[string]*times{} // variant, flow
	for i := range d.phases {
		p := &d.phases[i]
		if byFlow[p.Variant] == nil {
			byFlow[p.Variant] = map[string]*times{}
		}
		f := byFlow[p.Variant][p.FlowName]
		if f == nil {
			f = &times{}
			byFlow[p.Variant][p.FlowName] = f
		}
		if p.StartUS == nil || p.SenderDoneUS == nil {
			f.open++
			continue
		}
		f.fct = append(f.fct, *p.SenderDoneUS-*p.StartUS)
	}
	for _, v := range d.manifest.Variants {
		t.Columns = append(t.Columns, Column{v.Name + " (µs)", true}, Column{"over the seeds", true})
	}
	flows := slices.DeleteFunc(slices.Clone(d.flows), ofPrograms)
	if len(flows) == 0 {
		return Table{}
	}
	if len(flows) > maxCompletions {
		first := byFlow[d.manifest.Variants[0].Name]
		slowness := func(f runfolder.Flow) float64 {
			if x := first[f.Name]; x != nil && x.open == 0 {
				return runfolder.Median(x.fct)
			}
			return math.Inf(1)
		}
		slices.SortStableFunc(flows, func(a, b runfolder.Flow) int { return cmp.Compare(slowness(b), slowness(a)) })
		t.Note = fmt.Sprintf("The slowest %d of %d flows in %s. ", maxCompletions, len(flows), d.manifest.Variants[0].Name)
		flows = flows[:maxCompletions]
	}
	t.Note += "From the flow's start to the arrival of the ACK that completes it."
	for _, f := range flows {
		row := []Cell{{Text: f.Name}, {Text: number(float64(f.Size) / 1e6)}}
		for _, v := range d.manifest.Variants {
			x := byFlow[v.Name][f.Name]
			switch {
			case x == nil:
				row = append(row, Cell{Text: "–"}, Cell{Text: "–"})
			case x.open > 0:
				row = append(row, Cell{"not done", StateBad}, Cell{Text: fmt.Sprintf("in %d of %d seeds", x.open, x.open+len(x.fct))})
			default:
				row = append(row, Cell{Text: number(runfolder.Median(x.fct))}, Cell{Text: span(x.fct)})
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// programs lists what ran on hosts, and how it ended.
func programs(m *runfolder.Manifest) Table {
	t := Table{
		Columns: []Column{{Name: "Variant"}, {Name: "Seed", Number: true}, {Name: "Host"}, {Name: "Program"}, {Name: "From (ms)", Number: true}, {Name: "To (ms)", Number: true}, {Name: "End"}},
		Note:    "Model time. What they wrote is in the run folder, below programs/.",
	}
	at := func(us *float64) Cell {
		if us == nil {
			return Cell{Text: "–"}
		}
		return Cell{Text: number(*us / 1000)}
	}
	for _, r := range m.Runs {
		for _, p := range r.Programs {
			t.Rows = append(t.Rows, []Cell{{Text: r.Variant}, {Text: strconv.FormatUint(r.Seed, 10)}, {Text: p.Host}, {Text: strings.Join(p.Args, " ")},
				at(p.StartUS), at(p.EndUS), ending(p)})
		}
	}
	return t
}

// ending tells in words how a program ended.
func ending(p runfolder.Program) Cell {
	switch {
	case p.Failure != "":
		return Cell{"✗ " + p.Failure, StateBad}
	case p.StartUS == nil:
		return Cell{Text: "not started"}
	case p.Stopped:
		return Cell{Text: "ended with the run"}
	case p.Signal != "":
		return Cell{"✗ signal " + p.Signal, StateBad}
	case p.Code != 0:
		return Cell{fmt.Sprintf("✗ exit code %d", p.Code), StateBad}
	}
	return Cell{"✓ exit code 0", StateGood}
}

// leastNamed is the share of samples from which a port is listed.
const leastNamed = 0.01

// named lists the ports that tags of programs' packets named as the bottleneck, by
// flow and signal.
func (d *data) named() Table {
	const prefix = "bottleneck_share."
	t := Table{
		Columns: []Column{{Name: "Flow"}, {Name: "Signal"}, {Name: "Port"}},
		Note:    "Shares of the samples in the measuring window; medians over the seeds.",
	}
	names := map[string]bool{}
	for _, v := range d.manifest.Variants {
		t.Columns = append(t.Columns, Column{v.Name, true})
		for name, share := range d.summary.Variants[v.Name].Metrics {
			if strings.HasPrefix(name, prefix) && share >= leastNamed {
				names[name] = true
			}
		}
	}
	for _, name := range sortedKeys(names) {
		var row []Cell
		for _, part := range strings.SplitN(strings.TrimPrefix(name, prefix), ".", 3) {
			row = append(row, Cell{Text: part})
		}
		for _, v := range d.manifest.Variants {
			share, ok := d.summary.Variants[v.Name].Metrics[name]
			if !ok {
				row = append(row, Cell{Text: "–"})
				continue
			}
			row = append(row, Cell{Text: percent(share)})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// realTime tells how well the worst of the runs kept real time, or "".
func realTime(m *runfolder.Manifest) string {
	var worst *runfolder.Fidelity
	var lost, displaced, frames int64
	for _, r := range m.Runs {
		if f := r.Fidelity; f != nil {
			lost, displaced, frames = lost+f.Lost+f.Unread, displaced+f.Displaced, frames+f.Frames
			if worst == nil || f.LatenessShare > worst.LatenessShare {
				worst = f
			}
		}
	}
	if worst == nil {
		return ""
	}
	return fmt.Sprintf("to %s µs of wall time for 99 %% of events, %s %% of the smallest delay; of %d frames %d were lost and %d came too late",
		number(worst.LatenessP99US), number(100*worst.LatenessShare), frames, lost, displaced)
}

func how(m *runfolder.Manifest, s *runfolder.Summary) []Fact {
	clock := m.Clock
	if m.Dilation > 0 {
		clock += ", dilated " + number(m.Dilation) + " times"
	}
	var seeds []string
	seen := map[uint64]bool{}
	for _, r := range m.Runs {
		if !seen[r.Seed] {
			seen[r.Seed] = true
			seeds = append(seeds, strconv.FormatUint(r.Seed, 10))
		}
	}
	facts := []Fact{
		{"Command", strings.Join(m.Command, " ")},
		{"Version", "csiglab " + m.Version + ", " + m.GoVersion},
		{"Runtime and clock", m.Runtime + ", " + clock},
		{"Seeds", strings.Join(seeds, ", ")},
		{"Started", m.Started.UTC().Format(time.DateTime) + " UTC, took " + m.Finished.Sub(m.Started).Round(100*time.Millisecond).String()},
		{"Machine", fmt.Sprintf("%s, %d cores, %s", m.Machine.CPU, m.Machine.Cores, m.Machine.Kernel)},
		{"Measured from", measured(m)},
		{"Telemetry windows", number(m.IntervalUS) + " µs"},
	}
	if text := realTime(m); text != "" {
		facts = append(facts, Fact{"Kept real time", text})
	}
	for _, v := range m.Variants {
		text := fmt.Sprintf("CC %s, LB %s, CSIG %s, MTU %d B with %d B of headers", v.CC, v.LB, v.CSIG, v.MTU, v.Header)
		if v.TargetQDelayUS > 0 {
			text += ", target queueing delay " + number(v.TargetQDelayUS) + " µs"
		}
		if h := s.Variants[v.Name].TraceHash; h != "" {
			text += ", trace " + prefix(h)
		}
		facts = append(facts, Fact{"Variant " + v.Name, text})
	}
	return facts
}

func measured(m *runfolder.Manifest) string {
	if m.Measure.ToUS == 0 {
		return number(m.Measure.FromUS/1000) + " ms to the end"
	}
	return number(m.Measure.FromUS/1000) + " to " + number(m.Measure.ToUS/1000) + " ms"
}

func runs(m *runfolder.Manifest) Table {
	t := Table{Columns: []Column{{Name: "Variant"}, {Name: "Seed", Number: true}, {Name: "Data packets", Number: true}, {Name: "Wall (s)", Number: true},
		{Name: "CPU (s)", Number: true}, {Name: "Trace"}, {Name: "Checks"}}}
	for _, r := range m.Runs {
		checks := Cell{"✓ valid", StateGood}
		var bad, good []string
		for _, c := range r.Checks {
			if c.OK {
				good = append(good, c.Name)
				continue
			}
			bad = append(bad, strings.TrimSuffix(c.Name+": "+c.Detail, ": "))
		}
		switch bad = append(bad, r.Reasons...); {
		case len(bad) > 0:
			checks = Cell{"✗ " + strings.Join(bad, "; "), StateBad}
		case !r.Valid:
			checks = Cell{"✗ not valid", StateBad}
		case len(good) > 0:
			checks.Text = "✓ " + strings.Join(good, ", ")
		}
		t.Rows = append(t.Rows, []Cell{{Text: r.Variant}, {Text: strconv.FormatUint(r.Seed, 10)}, {Text: number(float64(r.DataPackets))},
			{Text: number(r.WallSeconds)}, {Text: number(r.CPUSeconds)}, {Text: prefix(r.TraceHash)}, checks})
	}
	return t
}

func prefix(hash string) string { return hash[:min(len(hash), 12)] }

func metric(metrics map[string]float64, name string) string {
	if v, ok := metrics[name]; ok {
		return number(v)
	}
	return "–"
}

// metricUnits are the units that the first part of a metric's name ends in.
var metricUnits = []struct{ suffix, unit string }{
	{"_us", "µs"}, {"_ns", "ns"}, {"_ms", "ms"}, {"_seconds", "s"}, {"_gbps", "Gb/s"}, {"_bytes", "B"}, {"_ppm", "ppm"}, {"_percent", "%"},
	{"_packets", "packets"}, {"packets", "packets"}, {"trims", "packets"}, {"drops", "packets"}, {"marks", "packets"},
	{"programs", "packets"}, {"tags", "tags"}, {"flows", "flows"},
}

// unit returns the unit of a metric, or "" when its name has none.
func unit(metric string) string {
	base, _, _ := strings.Cut(metric, ".")
	for _, u := range metricUnits {
		if strings.HasSuffix(base, u.suffix) {
			return u.unit
		}
	}
	return ""
}

func withUnit(metric string) string {
	if u := unit(metric); u != "" {
		return metric + " (" + u + ")"
	}
	return metric
}

// number prints v with four significant digits, or all digits of its whole part
// when it has more, grouped by three with narrow spaces.
func number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	decimals := 0
	if a := math.Abs(v); a > 0 && a < 1000 {
		decimals = 3 - int(math.Floor(math.Log10(a)))
	}
	text := strconv.FormatFloat(v, 'f', min(decimals, 12), 64)
	whole, fraction, _ := strings.Cut(text, ".")
	fraction = strings.TrimRight(fraction, "0")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "−", whole[1:]
	}
	if len(whole) > 4 {
		for i := len(whole) - 3; i > 0; i -= 3 {
			whole = whole[:i] + "\u202f" + whole[i:]
		}
	}
	if fraction != "" {
		whole += "." + fraction
	}
	return sign + whole
}

func flowNames(m *runfolder.Manifest) map[string]bool {
	names := map[string]bool{}
	for _, v := range m.Variants {
		for _, f := range m.FlowsOf(v.Name) {
			names[f.Name] = true
		}
	}
	return names
}

func sortedKeys(m map[string]bool) []string { return slices.Sorted(maps.Keys(m)) }
