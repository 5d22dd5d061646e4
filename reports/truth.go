package reports

import (
	"github.com/csiglab/csiglab/reports/analysis"
)

// truthTitle is the title of the table of signal truth.
const truthTitle = "Signal truth"

// TruthTitle returns the title of the table of signal truth.
func (*page) TruthTitle() string { return truthTitle }

// truth shows how far samples are from the exact values of the hops: the histogram of their
// errors for each signal, format and rate.
func truth(r *analysis.Result) table {
	t := table{Columns: []column{{Name: "Variant"}, {Name: "Signal"}, {Name: "Format"}, {Name: "Port", Number: true}, {Name: "Samples", Number: true}, {Name: "Median error", Number: true}, {Name: "p99", Number: true}, {Name: "When read", Number: true}}}
	before := 0.0
	for _, end := range analysis.TruthBins {
		name := "to " + percent(end)
		if before > 0 {
			name = percent(before) + " " + name
		}
		t.Columns = append(t.Columns, column{Name: name, Number: true})
		before = end
	}
	t.Columns = append(t.Columns, column{Name: "more", Number: true}, column{Name: "Outside", Number: true}, column{Name: "Missed", Number: true})
	for i := range r.Truth {
		of := &r.Truth[i]
		stale := none
		if of.Stale != nil {
			stale = truthValue(of.Signal, *of.Stale)
		}
		row := []cell{{Text: of.Variant}, {Text: of.Signal}, {Text: of.Format}, {Text: rateText(of.RateBPS)}, {Text: number(float64(of.Samples))},
			{Text: truthValue(of.Signal, of.Median)}, {Text: truthValue(of.Signal, of.P99)}, {Text: stale}}
		for _, n := range of.Bins {
			row = append(row, cell{Text: percent(float64(n) / float64(of.Samples))})
		}
		t.Rows = append(t.Rows, append(row, cell{Text: percent(of.Outside)}, cell{Text: percent(of.Missed)}))
	}
	t.Note = "Samples beside the worst of the exact values of the hops, each when the packet left it; of all seeds, by the link of the worst hop. The columns in between are the histogram of errors: of abw as a share of the link's rate, " +
		"of delay of the truth, of abw-c and nqd in points. When read: the median error against the values at the time when the sample was read. Outside: the truth is not in the interval that the code stands for. Missed: the sample names another port than the worst hop."
	t.bound("rows", "truth.parquet")
	return t
}

// truthValue prints an error in the unit of a signal.
func truthValue(signal string, v float64) string {
	switch signal {
	case "abw":
		return number(v*8/1e9) + " Gb/s"
	case "delay":
		return number(v/1000) + " µs"
	}
	return number(v/1e4) + " %"
}
