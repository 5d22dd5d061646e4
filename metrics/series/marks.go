package series

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics/exposition"
	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Limits of the series that mark times.
const (
	// mostMarks is how many steps and phases a run has series of, steps before phases.
	mostMarks = 1000
	// mostSpans is up to how many operations phases are looked for. A phase begins with its
	// first computation or collective.
	mostSpans = 2_000_000
	// mostMetrics is how many metrics of parts of a run have series, beside those of the whole
	// run: a job may have thousands of collectives.
	mostMetrics = 10_000
)

// mark is when the first rank of a job begins a step, or a phase of one.
type mark struct {
	job, phase string // phase "": the step
	step       string
	from       int64 // ps
}

// readMarks reads when the phases of jobs and the faults were. Steps are known already.
func (r *reader) readMarks() error {
	if n := r.f.Manifest.Tables["operations"]; n > 0 && n <= mostSpans {
		if err := r.readPhaseMarks(); err != nil {
			return err
		}
	}
	for _, one := range r.list {
		one.writeMarks()
	}
	return r.err
}

func (r *reader) readPhaseMarks() error {
	type key struct {
		run   *run
		job   string
		step  int32
		phase string
	}
	at := map[key]int{}
	for row, err := range r.f.Operations() {
		if err == nil {
			err = r.check()
		}
		if err != nil {
			return err
		}
		one := r.of(row.Variant, row.Seed)
		// Sends and receives lie in the spans of collectives.
		if one == nil || row.Phase == "" || row.Kind != "span" && row.Kind != "compute" {
			continue
		}
		from, err := ps(row.StartUS)
		if err != nil {
			return err
		}
		k := key{one, row.JobName, row.Step, row.Phase}
		i, ok := at[k]
		if !ok {
			i = len(one.marks)
			at[k] = i
			one.marks = append(one.marks, mark{row.JobName, row.Phase, stepText(row.Step), from})
		}
		one.marks[i].from = min(one.marks[i].from, from)
	}
	return nil
}

// writeMarks writes when steps, phases and faults began, and when faults ended: constants, as a
// time axis has marks wherever it begins.
func (r *run) writeMarks() {
	slices.SortStableFunc(r.marks, func(a, b mark) int {
		return cmp.Or(boolean(a.phase != "")-boolean(b.phase != ""), cmp.Compare(a.from, b.from))
	})
	at := func(ps int64, name string, labels ...string) {
		r.line(name, labels...).set(r.zero, float64(r.floor(ps))/1e3)
	}
	for _, m := range r.marks[:min(len(r.marks), mostMarks)] {
		at(m.from, exposition.JobBegin, m.job, m.step, m.phase)
	}
	r.marks = nil
	for _, f := range r.manifest.Faults {
		where := strings.Join(f.Where, ", ")
		for _, edge := range []struct {
			name string
			us   *float64
		}{{"begin", &f.FromUS}, {"end", f.UntilUS}} {
			if f.Happened && edge.us != nil && *edge.us >= 0 && *edge.us <= float64(r.end)/1e6 {
				at(int64(math.Round(*edge.us*1e6)), exposition.RunFault, f.Name, f.Kind, where, edge.name)
			}
		}
	}
}

// readMetrics reads the metrics of runs, classes of ports, jobs, collectives and groups of
// flows. Those of single flows and ports are left out: there may be very many.
func (r *reader) readMetrics() error {
	single := map[*run]map[string]bool{}
	for _, one := range r.list {
		names := map[string]bool{}
		for _, p := range r.f.Manifest.PortsOf(one.Variant) {
			names[p.Name] = true
		}
		for _, f := range r.f.Manifest.FlowsOfRun(one.Variant, one.Seed) {
			names[f.Name] = true
		}
		single[one] = names
	}
	others := map[*run]int{}
	for row, err := range r.f.Metrics() {
		if err == nil {
			err = r.check()
		}
		if err != nil {
			return err
		}
		one := r.of(row.Variant, row.Seed)
		if one == nil || ofSingle(&row, single[one]) {
			continue
		}
		if row.Subject != nil {
			if others[one]++; others[one] > mostMetrics {
				continue
			}
		}
		subject := ""
		if row.Subject != nil {
			subject = *row.Subject
		}
		var m meaning.Meaning
		if r.o.Meaning != nil {
			m = r.o.Meaning(row.Name)
		}
		one.line(exposition.RunMetric, row.Metric, subject, m.Unit, m.Better.String()).set(one.zero, row.Value)
	}
	return nil
}

// ofSingle reports whether a metric is of a flow or a port, or of both.
func ofSingle(row *runfolder.MetricRow, names map[string]bool) bool {
	if row.Subject == nil {
		return false
	}
	flow, _, _ := strings.Cut(*row.Subject, ".")
	return names[*row.Subject] || names[flow] || strings.HasPrefix(row.Metric, "bottleneck_share")
}

func boolean(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
