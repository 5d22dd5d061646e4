package perform

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/reports"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/reading"
	faultsection "github.com/csiglab/csiglab/reports/section/faults"
	runsection "github.com/csiglab/csiglab/reports/section/runs"
	"github.com/csiglab/csiglab/reports/words"
)

// writeVerdict prints the numbers of a run in short: unfinished flows, the variants' medians, the
// comparison with published figures, the expectations, the findings, and the names of
// the run's folder and its report. The set names the derived metrics.
func writeVerdict(w io.Writer, set *experiment.Set, r *reports.Report, folder, report string) {
	for _, text := range runsection.Unfinished(&r.Facts) {
		fmt.Fprintln(w, "UNFINISHED: "+text)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s, median of %s", r.Name, spelling.Plural(len(r.Setup.Seeds), "seed"))
	for _, v := range r.Variants {
		fmt.Fprintf(t, "\t%s", v.Name)
	}
	fmt.Fprintln(t)
	for _, name := range shownMetrics(set) {
		row, found := phrases.Metric(&r.Facts, name), false
		for i := range r.Variants {
			value, ok := r.Variants[i].Median(name)
			found = found || ok
			row += "\t" + spelling.Number(value, ok)
		}
		if found {
			fmt.Fprintln(t, row)
		}
	}
	t.Flush() // cannot fail: text in memory

	writePublished(w, r.Verdict.Published)
	if len(r.Verdict.Expectations) > 0 {
		fmt.Fprintln(w)
		WriteExpectations(w, r.Verdict.Expectations)
	}
	fmt.Fprintln(w)
	writePrograms(w, &r.Facts)
	if told := faultsection.Sentences(&r.Facts); len(told) > 0 {
		for _, text := range told {
			fmt.Fprintln(w, text)
		}
		fmt.Fprintln(w)
	}
	// The answer is that of the page's first screen; details stand there.
	if story := r.Story(); r.Verdict.Valid && len(story) > 0 {
		for _, text := range story {
			fmt.Fprintln(w, text)
		}
		fmt.Fprintln(w)
	}
	if !r.Verdict.Valid {
		fmt.Fprintln(w, "INVALID: do not use these figures.")
		for _, reason := range r.Verdict.Reasons {
			fmt.Fprintln(w, "  "+reason)
		}
	}
	fmt.Fprintln(w, "run    ", folder)
	fmt.Fprintln(w, "report ", report)
}

// maxShownPairs is the most pairs of hosts whose programs are shown.
const maxShownPairs = 8

// writePrograms prints what the programs of a lab, or of another single run, got through from
// host to host, in the time from the first packet to the last. If a pair had long pauses, there are
// also the time and the rate without them.
func writePrograms(w io.Writer, f *reading.Facts) {
	if len(f.Runs) != 1 || len(f.Achieved) == 0 {
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	took := "in"
	if f.Setup.Dilation > 1 {
		took = "in model time"
	}
	shown := f.Achieved[:min(len(f.Achieved), maxShownPairs)]
	head := "programs\treceived\t" + took + "\trate"
	if slices.ContainsFunc(shown, func(pair reading.Achieved) bool { return pair.PausedUS > 0 }) {
		head += "\twithout pauses > 1 s\trate"
	}
	fmt.Fprintln(t, head)
	for _, pair := range shown {
		row := fmt.Sprintf("%s -> %s\t%s", pair.Source, pair.Destination, words.Tenths(float64(pair.Bytes)/1000, words.Sizes))
		in := func(us float64) {
			row += "\t" + words.Tenths(us, words.Delays) + "\t" + words.Tenths(8e-3*float64(pair.Bytes)/us, words.BitRates)
		}
		if in(pair.SpanUS); pair.PausedUS > 0 {
			in(pair.SpanUS - pair.PausedUS)
		}
		fmt.Fprintln(t, row)
	}
	t.Flush() // cannot fail: text in memory
	if more := len(f.Achieved) - maxShownPairs; more > 0 {
		fmt.Fprintf(w, "and %s\n", words.Plural(more, "other pair"))
	}
	fmt.Fprintln(w)
}

// jobMetrics are shown of each job, trafficMetrics of each item of workload.traffic, where a
// variant has them.
var (
	jobMetrics     = []string{"iteration_us.mean.", "full_iteration_us.", "latency_share.", "mfu.", "compute_us.mean.", "bubble_us.mean.", "exposed_us.mean.", "skew_wait_us.mean."}
	trafficMetrics = []string{"rpc_us.p50.", "message_us.p50.", "fct_us.p50."}
)

// maxShownJobs is the most jobs and items of traffic whose metrics are shown.
const maxShownJobs = 8

func shownMetrics(set *experiment.Set) []string {
	var names []string
	for _, m := range set.Base.Derived {
		names = append(names, m.Name)
	}
	of := func(name string, metrics []string) {
		for _, metric := range metrics {
			names = append(names, metric+name)
		}
	}
	for i := range min(len(set.Base.Jobs), maxShownJobs) {
		j := &set.Base.Jobs[i]
		of(j.Name, jobMetrics)
		if c, ok := j.Spec.(experiment.CollectiveJob); ok {
			names = append(names, "busbw_gbps.p50."+j.Name+"."+c.Kind.String())
		}
	}
	if items, ok := set.Base.Workload.Spec.(experiment.Traffic); ok {
		for i := range min(len(items), maxShownJobs) {
			of(items[i].Name, trafficMetrics)
		}
	}
	return append(names, measure.KeyMetrics()...)
}

func writePublished(w io.Writer, published []reading.Comparison) {
	if len(published) == 0 {
		return
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "published\tfigure\there\tband\t")
	var notes []string
	for _, c := range published {
		outcome := string(c.Outcome)
		if c.Outcome == reading.Outside {
			outcome += " the band"
			if c.Note != "" {
				notes = append(notes, c.Variant+" "+c.Metric+": "+c.Note)
			}
		}
		measured := spelling.Number(0, false)
		if c.Measured != nil {
			measured = spelling.Number(*c.Measured, true)
		}
		fmt.Fprintf(t, "%s %s\t%s\t%s\t%s to %s\t%s\n", c.Variant, c.Metric,
			spelling.Number(c.Published, true), measured, spelling.Number(c.Low, true), spelling.Number(c.High, true), outcome)
	}
	t.Flush() // cannot fail: text in memory
	for _, note := range notes {
		fmt.Fprintln(w, note)
	}
}
