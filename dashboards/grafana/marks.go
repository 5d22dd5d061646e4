package grafana

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// mostUS is the longest time of a run that can be shown: with a stretch of 1000 it takes 31
// years.
const mostUS = 1e12

// mostRows is up to how many operations phases are looked for. A phase lasts from the
// beginning of its first computation or collective to the end of its last one.
const mostRows = 2_000_000

// span is a step or a phase of a job, over all of its ranks.
type spanKey struct {
	variant string
	seed    uint64
	job     string
	step    int32
	phase   string // "": the step
}

type spanUS struct{ from, to float64 }

// ReadRun reads when the steps and phases of a run folder were, at the times that csiglab
// serve gives them: model time since the start of the run, stretched. A run without
// training jobs has one mark, its measuring window. name is the value of the label run.
// left is how many marks there are beyond mostMarks: those of other seeds are left out
// before those of the first one, and phases before steps.
//
// The error wraps runfolder.ErrDamaged when a table cannot be read.
func ReadRun(f *runfolder.Folder, name string, stretch int) (run Run, left int, err error) {
	m := &f.Manifest
	if y := m.Started.Year(); y < 1970 || y > 9999 {
		return Run{}, 0, fmt.Errorf("%w: the run started in the year %d", runfolder.ErrDamaged, y)
	}
	spans := map[spanKey]spanUS{}
	end := m.Measure.ToUS
	add := func(k spanKey, from, to float64) error {
		if !(from >= 0 && to >= from && to <= mostUS) {
			return fmt.Errorf("%w: a step of job %.100q is from %v to %v us", runfolder.ErrDamaged, k.job, from, to)
		}
		s, ok := spans[k]
		if !ok {
			s.from = math.Inf(1)
		}
		spans[k] = spanUS{min(s.from, from), max(s.to, to)}
		end = max(end, to)
		return nil
	}
	for row, err := range f.Instances() {
		if err == nil && row.Collective == "" {
			err = add(spanKey{row.Variant, row.Seed, row.JobName, row.Step, ""}, row.BeginUS, row.EndUS)
		}
		if err != nil {
			return Run{}, 0, err
		}
	}
	if m.Tables["operations"] <= mostRows {
		for row, err := range f.Operations() {
			// Sends and receives lie in the spans of collectives.
			if err == nil && row.Phase != "" && (row.Kind == "span" || row.Kind == "compute") {
				err = add(spanKey{row.Variant, row.Seed, row.JobName, row.Step, row.Phase}, row.StartUS, row.EndUS)
			}
			if err != nil {
				return Run{}, 0, err
			}
		}
	}
	for row, err := range f.Phases() {
		if err != nil {
			return Run{}, 0, err
		}
		for _, at := range []*float64{row.SenderDoneUS, row.ReceiverDoneUS} {
			if at != nil && *at <= mostUS {
				end = max(end, *at)
			}
		}
	}
	if !(end >= 0 && end*float64(stretch) <= 1e3*mostUS) {
		return Run{}, 0, fmt.Errorf("%w: the run ends at %v us", runfolder.ErrDamaged, end)
	}
	// As metrics/series: whole milliseconds of the start, and from there on.
	zero := time.UnixMilli(m.Started.UnixMilli()).UTC()
	at := func(us float64) time.Time {
		return zero.Add(time.Duration(us * float64(stretch) * float64(time.Microsecond)))
	}
	run = Run{Name: name, From: zero, To: at(end)}
	first := map[string]uint64{} // seed by variant
	order := map[string]int{}
	for i := range m.Runs {
		if _, ok := first[m.Runs[i].Variant]; !ok {
			first[m.Runs[i].Variant] = m.Runs[i].Seed
			order[m.Runs[i].Variant] = i
		}
	}
	keys := make([]spanKey, 0, len(spans))
	for k := range spans {
		keys = append(keys, k)
	}
	other := func(k spanKey) int { return number(k.seed != first[k.variant]) }
	slices.SortFunc(keys, func(a, b spanKey) int {
		return cmp.Or(cmp.Compare(other(a), other(b)), cmp.Compare(number(a.phase != ""), number(b.phase != "")), cmp.Compare(order[a.variant], order[b.variant]),
			cmp.Compare(a.seed, b.seed), cmp.Compare(a.job, b.job), cmp.Compare(a.step, b.step), cmp.Compare(spans[a].from, spans[b].from), cmp.Compare(a.phase, b.phase))
	})
	for _, k := range keys {
		run.Marks = append(run.Marks, k.mark(at(spans[k].from), at(spans[k].to)))
	}
	if len(keys) == 0 && m.Measure.ToUS > m.Measure.FromUS {
		seeds := []string{}
		for _, seed := range first {
			if tag := fmt.Sprint("seed:", seed); !slices.Contains(seeds, tag) {
				seeds = append(seeds, tag)
			}
		}
		slices.Sort(seeds)
		run.Marks = []Mark{{From: at(m.Measure.FromUS), To: at(m.Measure.ToUS), Text: "measuring window", Tags: seeds}}
	}
	left = max(0, len(run.Marks)-mostMarks)
	run.Marks = run.Marks[:len(run.Marks)-left]
	return run, left, nil
}

// mark returns the mark of a step or a phase. Its text is in the language of Grafana's
// annotations, which is HTML without scripts: names are text in it.
func (k *spanKey) mark(from, to time.Time) Mark {
	text := fmt.Sprintf("%s: step %d", escape(k.job), k.step)
	if k.phase != "" {
		text += ", " + escape(k.phase)
	}
	if k.variant != "" {
		text = escape(k.variant) + ": " + text
	}
	return Mark{From: from, To: to, Text: text, Tags: []string{fmt.Sprint("seed:", k.seed)}}
}

// mostText is how much of a name a mark shows.
const mostText = 60

// escape writes a name such that Grafana shows it as it is.
func escape(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(name, "\ufffd"))
	if runes := []rune(name); len(runes) > mostText {
		name = string(runes[:mostText]) + "…"
	}
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;").Replace(name)
}

func number(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
