package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/campaign"
	"github.com/csiglab/csiglab/orchestrator/experiment"
)

// keyMetrics are shown for every experiment, after its derived ones, in this
// order and where a variant has them.
var keyMetrics = []string{"fct_us.mean", "fct_us.p99", "fct_us.max", "target_qdelay_us", "trims", "drops", "packets.retransmitted"}

// writeVerdict prints what a run came to: the variants' medians, the comparison
// with published figures, the expectations, what limits the flows and who
// suffers, and where the report is.
func writeVerdict(w io.Writer, set *experiment.Set, result *campaign.Result, findings []string, report string) {
	s := result.Summary
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s, median of %s", s.Name, plural(len(set.Base.Seeds), "seed"))
	for _, v := range set.Variants {
		fmt.Fprintf(t, "\t%s", v.Name)
	}
	fmt.Fprintln(t)
	for _, name := range shownMetrics(set) {
		row, found := name, false
		for _, v := range set.Variants {
			value, ok := s.Variants[v.Name].Metrics[name]
			found = found || ok
			row += "\t" + number(value, ok)
		}
		if found {
			fmt.Fprintln(t, row)
		}
	}
	t.Flush() // cannot fail: text in memory

	writePublished(w, set.Base.Published, s)
	if len(s.Expectations) > 0 {
		fmt.Fprintln(w)
		t = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, e := range s.Expectations {
			state := "OK"
			if !e.OK {
				state = "FAILED"
			}
			value := ""
			if v, ok := e.Value.(float64); ok {
				value = "is " + number(v, true)
			}
			fmt.Fprintf(t, "%s\t%s\t%s\n", state, e.Expr, value)
		}
		t.Flush() // cannot fail: text in memory
	}
	fmt.Fprintln(w)
	if s.Valid && len(findings) > 0 {
		for _, text := range findings {
			fmt.Fprintln(w, text)
		}
		fmt.Fprintln(w)
	}
	if !s.Valid {
		fmt.Fprintln(w, "INVALID: do not use these figures.")
		for _, reason := range s.Reasons {
			fmt.Fprintln(w, "  "+reason)
		}
	}
	fmt.Fprintln(w, "run    ", result.Folder)
	fmt.Fprintln(w, "report ", report)
}

func shownMetrics(set *experiment.Set) []string {
	var names []string
	for _, m := range set.Base.Derived {
		names = append(names, m.Name)
	}
	return append(names, keyMetrics...)
}

func writePublished(w io.Writer, published []experiment.Published, s *runfolder.Summary) {
	if len(published) == 0 {
		return
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "published\tfigure\there\tband\t")
	var notes []string
	for _, p := range published {
		value, ok := s.Variants[p.Variant].Metrics[p.Metric]
		verdict := "reproduced"
		switch {
		case !ok:
			verdict = "not measured"
		case value < p.Low || value > p.High:
			verdict = "outside the band"
			if p.Note != "" {
				notes = append(notes, p.Variant+" "+p.Metric+": "+p.Note)
			}
		}
		fmt.Fprintf(t, "%s %s\t%s\t%s\t%s to %s\t%s\n", p.Variant, p.Metric,
			number(p.Value, true), number(value, ok), number(p.Low, true), number(p.High, true), verdict)
	}
	t.Flush() // cannot fail: text in memory
	for _, note := range notes {
		fmt.Fprintln(w, note)
	}
}

// number prints a value with four digits, or all digits before the point.
func number(v float64, ok bool) string {
	switch {
	case !ok:
		return "-"
	case v == math.Trunc(v) || math.Abs(v) >= 10000:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "s") || strings.HasSuffix(noun, "ch") {
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
