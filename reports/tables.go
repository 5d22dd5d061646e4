package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/analysis"
)

// published shows the comparison with published figures.
func published(all []analysis.Comparison) table {
	t := table{Columns: []column{{Name: "Variant"}, {Name: "Metric"}, {Name: "Median", Number: true}, {Name: "Over the seeds", Number: true},
		{Name: "Published", Number: true}, {Name: "Band", Number: true}, {Name: "Verdict"}, {Name: "Source"}}}
	for _, c := range all {
		metric := c.Metric
		if c.Unit != "" {
			metric += " (" + c.Unit + ")"
		}
		t.Rows = append(t.Rows, []cell{{Text: c.Variant}, {Text: metric}, optional(c.Measured), {Text: spread(c.Seeds)},
			{Text: number(c.Published)}, {Text: number(c.Low) + " … " + number(c.High)}, outcome(&c), {Text: c.Source}})
	}
	return t
}

func outcome(c *analysis.Comparison) cell {
	switch {
	case c.Outcome == analysis.Reproduced:
		return cell{"✓ " + string(c.Outcome), stateGood}
	case c.Outcome == analysis.Outside && c.Note != "":
		return cell{"✗ " + string(c.Outcome) + ": " + c.Note, stateBad}
	}
	return cell{"✗ " + string(c.Outcome), stateBad}
}

// maxCompletions bounds the table of completion times.
const maxCompletions = 32

// completion lists flow completion times: medians over the seeds and their
// range. Of many flows it lists the slowest ones of the first variant.
func completion(r *analysis.Result) table {
	size, unit := completionUnits(r.Completion)
	t := table{Columns: []column{{Name: "Flow"}, {Name: "Size (" + size.unit + ")", Number: true}}}
	for _, v := range r.Variants {
		t.Columns = append(t.Columns, column{v.Name + " (" + unit.unit + ")", true}, column{"over the seeds", true})
	}
	flows := r.Completion
	if leavesOut(r, "flows") { // the worst of them are listed
		return table{}
	}
	if len(flows) > maxCompletions {
		slowness := func(c analysis.Completion) float64 {
			if median := c.Variants[0].MedianUS; median != nil {
				return *median
			}
			return math.Inf(1)
		}
		flows = slices.SortedStableFunc(slices.Values(flows), func(a, b analysis.Completion) int { return cmp.Compare(slowness(b), slowness(a)) })
		t.Note = fmt.Sprintf("The slowest %d of %d flows in %s. ", maxCompletions, len(flows), r.Variants[0].Name)
		t.Query = queryFCTs
		flows = flows[:maxCompletions]
	}
	t.Note += "From the flow's start to the arrival of the ACK that completes it."
	for _, c := range flows {
		row := []cell{{Text: c.Flow}, {Text: number(float64(c.SizeBytes) / 1000 * size.factor)}}
		for _, v := range c.Variants {
			switch {
			case v.Open > 0:
				row = append(row, cell{"not done", stateBad}, cell{Text: fmt.Sprintf("in %d of %d seeds", v.Open, v.Open+v.Seeds.Count)})
			default:
				median := cell{Text: none}
				if v.MedianUS != nil {
					median.Text = number(*v.MedianUS * unit.factor)
				}
				row = append(row, median, cell{Text: spread(unit.in(v.Seeds))})
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// completionUnits returns the units of the sizes and times of flows, which fit the
// greatest.
func completionUnits(all []analysis.Completion) (size, time scale) {
	var largest, longest float64
	for _, c := range all {
		largest = max(largest, float64(c.SizeBytes)/1000)
		for _, v := range c.Variants {
			longest = max(longest, v.Seeds.Max)
		}
	}
	return scaleFor(largest, scalesOfSizes), scaleFor(longest, scalesOfDelays)
}

// programs lists what ran on hosts, and how it ended.
func programs(all []analysis.Program) table {
	var last float64
	for _, p := range all {
		for _, us := range []*float64{p.StartUS, p.EndUS} {
			if us != nil {
				last = max(last, *us)
			}
		}
	}
	unit := scaleFor(last, scalesOfDelays)
	t := table{
		Columns: []column{{Name: "Variant"}, {Name: "Seed", Number: true}, {Name: "Host"}, {Name: "Program"}, {Name: "From (" + unit.unit + ")", Number: true}, {Name: "To (" + unit.unit + ")", Number: true}, {Name: "End"}},
		Note:    "Model time. What they wrote is in the run folder, below programs/.",
	}
	at := func(us *float64) cell {
		if us == nil {
			return optional(nil)
		}
		return cell{Text: number(*us * unit.factor)}
	}
	for _, p := range all {
		t.Rows = append(t.Rows, []cell{{Text: p.Variant}, {Text: strconv.FormatUint(p.Seed, 10)}, {Text: p.Host}, {Text: strings.Join(p.Args, " ")},
			at(p.StartUS), at(p.EndUS), ending(&p)})
	}
	t.bound("programs", "manifest.json, in programs of its runs,")
	return t
}

// ending says how a program ended.
func ending(p *analysis.Program) cell {
	switch p.Ending {
	case analysis.Failed:
		return cell{"✗ " + p.Failure, stateBad}
	case analysis.NotStarted:
		return cell{Text: "not started"}
	case analysis.Stopped:
		return cell{Text: "ended with the run"}
	case analysis.Killed:
		return cell{"✗ signal " + p.Signal, stateBad}
	}
	if !p.Good() {
		return cell{fmt.Sprintf("✗ exit code %d", p.Code), stateBad}
	}
	return cell{"✓ exit code 0", stateGood}
}

// named lists the ports that CSIG samples named as the bottleneck.
func named(r *analysis.Result) table {
	t := table{
		Columns: []column{{Name: "Flow"}, {Name: "Signal"}, {Name: "Port"}},
		Note:    "Shares of the samples in the measuring window, and their number; medians over the seeds. Ports with less than 1 % are left out.",
	}
	sampled := make([]bool, len(r.Variants)) // with a sample of some flow
	for _, n := range r.Named {
		for i, share := range n.Shares {
			sampled[i] = sampled[i] || share != nil
		}
	}
	for i, v := range r.Variants {
		if sampled[i] {
			t.Columns = append(t.Columns, column{v.Name, true})
		}
	}
	for _, n := range r.Named {
		row := []cell{{Text: groupName(n.Group)}, {Text: n.Signal}, {Text: ports(n.Ports)}}
		for i, share := range n.Shares {
			switch {
			case !sampled[i]:
			case share == nil:
				row = append(row, cell{Text: none})
			case share.Samples == 0:
				row = append(row, cell{Text: percent(0)})
			default:
				row = append(row, cell{Text: fmt.Sprintf("%s (%s)", percent(share.Share), number(math.Round(share.Samples)))})
			}
		}
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) > maxRows {
		t.Query = queryNamed
	}
	t.bound("rows", "signals.parquet, by columns flow_name, type, locator and port_name,")
	return t
}

// ports names the port that wrote a tag, or the ports of which one did.
func ports(names []string) string {
	switch len(names) {
	case 0:
		return "none"
	case 1:
		return names[0]
	}
	return fmt.Sprintf("one of %d ports: %s", len(names), list(names))
}

// shortPorts names the port of a line of a chart, or one of the ports that share it: a
// bottleneck rather than another.
func shortPorts(r *analysis.Result, names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	example := names[0]
	for i := range r.Findings.Ports {
		if p := &r.Findings.Ports[i]; slices.Contains(names, p.From+"-"+p.To) {
			example = p.From + "-" + p.To
			break
		}
	}
	return fmt.Sprintf("%s (locator of %d ports)", example, len(names))
}

// maxLocators bounds the table of shared locators.
const maxLocators = 64

// locators lists the locators that several switch ports share.
func locators(all []analysis.SharedLocators) table {
	t := table{Columns: []column{{Name: "Variant"}, {Name: "Locator", Number: true}, {Name: "Ports", Number: true}, {Name: "Switch ports"}}}
	var notes []string
	rows := 0
	for _, s := range all {
		variants := list(s.Variants)
		for _, l := range s.Locators {
			if rows++; rows <= maxLocators {
				t.Rows = append(t.Rows, []cell{{Text: variants}, {Text: fmt.Sprint(l.Locator % metrics.SecondFormat)}, {Text: fmt.Sprint(len(l.Ports))}, {Text: list(l.Ports)}})
			}
		}
		kind := "locators"
		if s.Format != "" {
			kind = s.Format + " locators"
		}
		note := fmt.Sprintf("%s: %d switch ports have %d %s; %d of the ports share theirs with others, and a tag does not say which of them wrote the signal", variants, s.Ports, s.Distinct, kind, s.Sharing)
		if s.Remedy != "" {
			note += ". Each port has a locator of its own with " + s.Remedy
		}
		notes = append(notes, note+".")
	}
	if rows > maxLocators {
		notes = append(notes, fmt.Sprintf("The first %d of %d shared locators are shown; the manifest has them all.", maxLocators, rows))
	}
	t.Note = strings.Join(notes, " ")
	return t
}

// how lists how the experiment was run.
func how(r *analysis.Result) []fact {
	s := &r.Setup
	clock := s.Clock
	if s.Dilation > 0 {
		clock += ", dilated " + number(s.Dilation) + " times"
	}
	seeds := make([]string, len(s.Seeds))
	for i, seed := range s.Seeds {
		seeds[i] = strconv.FormatUint(seed, 10)
	}
	facts := []fact{
		{"Command", strings.Join(s.Command, " ")},
		{"Version", "csiglab " + s.Version + ", " + s.GoVersion},
		{"Runtime and clock", s.Runtime + ", " + clock},
		{"Seeds", strings.Join(seeds, ", ")},
		{"Started", s.Started.UTC().Format(time.DateTime) + " UTC, took " + s.Finished.Sub(s.Started).Round(100*time.Millisecond).String()},
		{"Machine", fmt.Sprintf("%s, %d cores, %s", s.Machine.CPU, s.Machine.Cores, s.Machine.Kernel)},
		{"Measured from", measured(s.Measure)},
		{"Telemetry windows", span(s.IntervalUS)},
	}
	for _, m := range s.Modules {
		source := m.Version
		if source == "" {
			source = "of a folder"
		}
		facts = append(facts, fact{"Module", fmt.Sprintf("%s %s, %s, has registered %s", m.Path, source, m.Sum, strings.Join(m.Registers, ", "))})
	}
	if f := r.Fidelity; f != nil {
		facts = append(facts, fact{"Kept real time", fmt.Sprintf("to %s of wall time for 99 %% of events, %s %% of the smallest delay; of %d frames %d were lost and %d came too late",
			span(f.LatenessP99US), number(100*f.LatenessShare), f.Frames, f.Lost, f.Displaced)})
	}
	if r.DroppedRecords > 0 {
		facts = append(facts, fact{"Dropped records", number(float64(r.DroppedRecords)) + ": charts and findings lack as many telemetry windows"})
	}
	for _, v := range r.Variants {
		text := fmt.Sprintf("CC %s, LB %s, AQM %s, CSIG %s, MTU %d B with %d B of headers", v.CC, v.LB, v.AQM, v.CSIG, v.MTU, v.Header)
		if v.Routing != "" && v.Routing != "ecmp" {
			text += ", routing " + v.Routing
		}
		for _, c := range v.Constants {
			unit := scaleFor(c.Value, scalesOf(c.Unit))
			text += strings.TrimRight(", "+c.Label+" "+number(c.Value*unit.factor)+" "+unit.unit, " ")
		}
		if v.TraceHash != "" {
			text += ", trace " + prefix(v.TraceHash)
		}
		facts = append(facts, fact{"Variant " + v.Name, text})
	}
	return facts
}

// measured says what span rates are measured in.
func measured(w runfolder.Window) string {
	if w.ToUS == 0 {
		return span(w.FromUS) + " to the end"
	}
	unit := scaleFor(w.ToUS, scalesOfDelays)
	return number(w.FromUS*unit.factor) + " to " + number(w.ToUS*unit.factor) + "\u00a0" + unit.unit
}

func runs(all []analysis.Run) table {
	t := table{Columns: []column{{Name: "Variant"}, {Name: "Seed", Number: true}, {Name: "Data packets", Number: true}, {Name: "Wall (s)", Number: true},
		{Name: "CPU (s)", Number: true}, {Name: "Trace"}, {Name: "Checks"}}}
	if len(all) > maxRows { // those that are not valid first
		all = slices.SortedStableFunc(slices.Values(all), func(a, b analysis.Run) int { return cmp.Compare(validity(&a), validity(&b)) })
	}
	for _, r := range all {
		t.Rows = append(t.Rows, []cell{{Text: r.Variant}, {Text: strconv.FormatUint(r.Seed, 10)}, {Text: number(float64(r.DataPackets))},
			{Text: number(r.WallSeconds)}, {Text: number(r.CPUSeconds)}, {Text: cmp.Or(prefix(r.TraceHash), "none")}, checks(&r)})
	}
	t.bound("runs", "manifest.json, in runs,")
	return t
}

// validity orders runs: those that are not valid first.
func validity(r *analysis.Run) int {
	if r.Valid {
		return 1
	}
	return 0
}

// checks names the checks of a run that failed, or else those that passed.
func checks(r *analysis.Run) cell {
	var bad, good []string
	for _, c := range r.Failed {
		bad = append(bad, strings.TrimSuffix(c.Name+": "+c.Detail, ": "))
	}
	bad = append(bad, r.Reasons...)
	for _, c := range r.Passed {
		good = append(good, c.Name)
	}
	switch {
	case len(bad) > 0:
		return cell{"✗ " + strings.Join(bad, "; "), stateBad}
	case !r.Valid:
		return cell{"✗ not valid", stateBad}
	case len(good) > 0:
		return cell{"✓ " + strings.Join(good, ", "), stateGood}
	}
	return cell{"✓ valid", stateGood}
}
