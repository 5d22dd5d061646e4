package nccl

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/compare/results"
)

// The mean time of a collective, and its bandwidths in Gb/s, as metrics name them: JOB.COLLECTIVE
// follows.
const (
	timeMetric  = "cct_us.mean."
	algBWMetric = "algbw_gbps.mean."
	busBWMetric = "busbw_gbps.mean."
)

// WriteRun writes the collectives of all jobs of a run, those of each dimension of parallelism, as
// nccl-tests print theirs: a row for each variant and collective, medians over the seeds.
func WriteRun(w io.Writer, f *runfolder.Folder) error {
	t := newTable(w, "variant\tjob\tcollective\tkind\tranks\tsize (B)\tcount\ttype\t")
	rows := 0
	for _, v := range f.Manifest.Variants {
		var runs []map[string]float64
		for _, r := range f.Summary.Variants[v.Name].Runs {
			runs = append(runs, r.Metrics)
		}
		jobs := f.Manifest.JobsOf(v.Name)
		for i := range jobs {
			for _, c := range jobs[i].Collectives {
				name := jobs[i].Name + "." + c.Name
				if len(valuesOf(runs, timeMetric+name)) == 0 {
					continue
				}
				rows++
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%d\t%d\tfloat\t%s\n", v.Name, jobs[i].Name, c.Name, c.Kind, c.Ranks, c.Bytes, c.Bytes/elementBytes, measures(runs, name))
			}
		}
	}
	return ended(t, rows, f.Dir)
}

// WriteSweep writes the collectives of a sweep likewise, a row for each point, variant and
// collective.
func WriteSweep(w io.Writer, folder string, table *results.Table) error {
	type row struct {
		point   int
		variant string
	}
	var order []row
	runs, sets := map[row][]map[string]float64{}, map[row][]string{}
	names := map[string]bool{}
	for r, err := range table.Rows() {
		if err != nil {
			return err
		}
		at := row{r.Point, r.Variant}
		if runs[at] == nil {
			order = append(order, at)
			sets[at] = r.Set
		}
		runs[at] = append(runs[at], r.Metrics)
		for name := range r.Metrics {
			if rest, ok := strings.CutPrefix(name, timeMetric); ok {
				names[rest] = true
			}
		}
	}
	t := newTable(w, strings.Join(table.Paths, "\t")+"\tvariant\tcollective\t")
	rows := 0
	for _, at := range order {
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if len(valuesOf(runs[at], timeMetric+name)) > 0 {
				rows++
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", strings.Join(sets[at], "\t"), at.variant, name, measures(runs[at], name))
			}
		}
	}
	return ended(t, rows, folder)
}

func newTable(w io.Writer, head string) *tabwriter.Writer {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%stime (us)\talgbw (GB/s)\tbusbw (GB/s)\n", head)
	return t
}

func ended(t *tabwriter.Writer, rows int, folder string) error {
	if rows == 0 {
		return fmt.Errorf("%s has no times of collectives (%s<job>.<collective>)", folder, timeMetric)
	}
	return t.Flush()
}

// measures prints the medians of time and bandwidths of a collective.
func measures(runs []map[string]float64, name string) string {
	cells := []string{number(valuesOf(runs, timeMetric+name), 1)}
	for _, metric := range []string{algBWMetric, busBWMetric} {
		cells = append(cells, number(valuesOf(runs, metric+name), 8)) // bits of a byte
	}
	return strings.Join(cells, "\t")
}

// valuesOf returns the values of a metric of the runs that have it.
func valuesOf(runs []map[string]float64, metric string) (values []float64) {
	for _, m := range runs {
		if v, ok := m[metric]; ok {
			values = append(values, v)
		}
	}
	return values
}

// number prints a median over so many, with two decimals as nccl-tests do; "-" if there is none.
func number(values []float64, over float64) string {
	if len(values) == 0 {
		return "-"
	}
	return strconv.FormatFloat(runfolder.Median(values)/over, 'f', 2, 64)
}
