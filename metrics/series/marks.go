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
	// mostSpans is up to how many operations phases are looked for. A phase lasts from the
	// beginning of its first computation or collective to the end of its last one.
	mostSpans = 2_000_000
)

// mark is a step of a job, or a phase of one, over all ranks.
type mark struct {
	job, phase string // phase "": the step
	step       string
	from, to   int64 // ps
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
		to, err := ps(row.EndUS)
		if err != nil {
			return err
		}
		k := key{one, row.JobName, row.Step, row.Phase}
		i, ok := at[k]
		if !ok {
			i = len(one.marks)
			at[k] = i
			one.marks = append(one.marks, mark{row.JobName, row.Phase, stepText(row.Step), from, to})
		}
		one.marks[i].from, one.marks[i].to = min(one.marks[i].from, from), max(one.marks[i].to, to)
		one.end = max(one.end, to)
	}
	return nil
}

// writeMarks writes the series of steps, phases and faults.
func (r *run) writeMarks() {
	slices.SortStableFunc(r.marks, func(a, b mark) int {
		return cmp.Or(boolean(a.phase != "")-boolean(b.phase != ""), cmp.Compare(a.from, b.from))
	})
	for _, m := range r.marks[:min(len(r.marks), mostMarks)] {
		r.lasts(m.from, m.to, exposition.JobActive, m.job, m.step, m.phase)
	}
	r.marks = nil
	for _, f := range r.manifest.Faults {
		if !f.Happened || !(f.FromUS >= 0 && f.FromUS <= most) {
			continue
		}
		from, to := int64(math.Round(f.FromUS*1e6)), r.end
		if f.UntilUS != nil && *f.UntilUS < float64(r.end)/1e6 {
			to = int64(math.Round(*f.UntilUS * 1e6))
		}
		r.lasts(from, to, exposition.RunFault, f.Name, f.Kind, strings.Join(f.Where, ", "))
	}
}

// lasts writes a series that is 1 from one moment to another, and at least a window long.
func (r *run) lasts(from, to int64, name string, labels ...string) {
	l := r.line(name, labels...)
	l.set(r.floor(from), 1)
	l.set(max(r.floor(from)+1, r.ceil(max(to, from+r.interval))), 1)
	l.suspend(l.at + 1)
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
