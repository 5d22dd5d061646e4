// Package regression renders the verdict of csiglab regress (package orchestrator/compare/verdict) as
// Markdown for a pull request, as an offline HTML page, as JUnit XML and as text for a
// terminal. All of them begin with what got worse, by how much, how sure that is, and the
// command that shows it again. It computes no statistics.
package regression

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/reports/words"
)

// view is a document as all forms show it.
type view struct {
	*verdict.Document
	experiments []experiment
	outcome     verdict.Outcome // of all; never better than that of a part
	total       int             // metrics

	counts       verdict.Counts
	changed      []*experiment // the traces or values differ, and no metric got worse
	failed, open []*metric     // worst first
	better       []*metric     // best first: improved by Delta or more, and beyond doubt
	invalid      []*experiment
}

// experiment is a part of a document.
type experiment struct {
	*verdict.Experiment
	name    string
	outcome verdict.Outcome
	change  verdict.Change
	metrics []metric
}

// order returns the indices of experiments: what has changed comes first, and of equal
// changes what the suite has first.
func order(list []verdict.Experiment) []int {
	first := []verdict.Change{verdict.NoResult, verdict.Worse, verdict.Undecided, verdict.Changed, verdict.NotWorse, verdict.Identical}
	at := make([]int, len(list))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(a, b int) int {
		return cmp.Compare(slices.Index(first, verdict.ChangeOf(&list[a])), slices.Index(first, verdict.ChangeOf(&list[b])))
	})
	return at
}

// metric is the verdict on one metric. Its numbers are worsenings: positive ones are worse,
// whatever is better (with Same: in the direction in which it moved), in the form of Metric.Effect. They are NaN or infinite where unknown.
type metric struct {
	*verdict.Metric
	experiment       *experiment
	outcome          verdict.Outcome
	worse, low, high float64
	falls            bool // to fall is to get worse
}

// newView returns the view of a document, whose texts may be anything.
func newView(d *verdict.Document) *view {
	v := &view{Document: words.Plain(d)}
	v.experiments = make([]experiment, len(v.Experiments))
	v.outcome = known(v.Outcome)
	for place, i := range order(v.Experiments) {
		e := &v.experiments[place]
		e.Experiment = &v.Experiments[i]
		if utf8.RuneCountInString(d.Experiments[i].Reproduce) > words.MostCharacters {
			cut := v.Experiments[i] // Plain has cut the command, which would be another one
			cut.Reproduce = tooLong
			e.Experiment = &cut
		}
		e.name = nameOf(e.Experiment, i)
		e.outcome, e.change = known(e.Experiment.Outcome), verdict.ChangeOf(e.Experiment)
		e.metrics = make([]metric, len(e.Metrics))
		for k := range e.metrics {
			m := &e.metrics[k]
			*m = newMetric(e, &e.Metrics[k], k)
			e.outcome = verdict.Of(e.outcome, m.outcome)
			switch {
			case m.outcome == verdict.Fail:
				v.failed = append(v.failed, m)
			case m.outcome == verdict.Inconclusive:
				v.open = append(v.open, m)
			case m.outcome == verdict.Pass && m.high < 0 && m.worse <= -m.Delta:
				v.better = append(v.better, m)
			}
		}
		if e.outcome == verdict.Invalid {
			v.invalid = append(v.invalid, e)
			e.change = verdict.NoResult
		}
		if v.counts.Add(e.change); e.change == verdict.Changed {
			v.changed = append(v.changed, e)
		}
		v.total += len(e.metrics)
		v.outcome = verdict.Of(v.outcome, e.outcome)
	}
	worstFirst := func(a, b *metric) int { return cmp.Compare(b.severity(), a.severity()) }
	slices.SortStableFunc(v.failed, worstFirst)
	slices.SortStableFunc(v.open, worstFirst)
	slices.SortStableFunc(v.better, func(a, b *metric) int { return -worstFirst(a, b) })
	return v
}

// tooLong stands for a command that would be cut.
const tooLong = "# the command is too long for this place; verdict.json has it"

// known returns the outcome, or Invalid if it is none.
func known(o verdict.Outcome) verdict.Outcome {
	switch o {
	case verdict.Pass, verdict.Fail, verdict.Inconclusive:
		return o
	}
	return verdict.Invalid
}

// nameOf returns the name of the i-th experiment as a suite has it.
func nameOf(e *verdict.Experiment, i int) string {
	name := e.Name
	if name == "" {
		name = fmt.Sprintf("experiment %d", i+1)
	}
	if e.Variant != "" {
		name += "/" + e.Variant
	}
	return words.Shortened(name, longest)
}

// longest is the most runes of a name.
const longest = 200

func newMetric(e *experiment, m *verdict.Metric, i int) metric {
	if name := words.Shortened(m.Name, longest); m.Name == "" || name != m.Name {
		named := *m
		if named.Name = name; name == "" {
			named.Name = fmt.Sprintf("metric %d", i+1)
		}
		m = &named
	}
	n := metric{Metric: m, experiment: e, outcome: known(m.Outcome), worse: math.NaN(), low: math.Inf(-1), high: math.Inf(1)}
	low, high := m.Low, m.High
	sign := 1.0
	if n.falls = m.Better == verdict.Higher || m.Better == verdict.Same && m.Effect != nil && *m.Effect < 0; n.falls {
		low, high, sign = m.High, m.Low, -1
	}
	if m.Effect != nil {
		n.worse = sign * *m.Effect
	}
	if low != nil {
		n.low = sign * *low
	}
	if high != nil {
		n.high = sign * *high
	}
	return n
}

// severity is the worsening in limits: above 1 is beyond the limit. Of what fails without
// one, such as a metric that the candidate lacks, it is infinite.
func (m *metric) severity() float64 {
	if m.outcome == verdict.Fail && math.IsNaN(m.worse) {
		return math.Inf(1)
	}
	return m.inLimits(m.worse)
}

// inLimits returns a worsening as a multiple of the limit.
func (m *metric) inLimits(worse float64) float64 {
	switch {
	case math.IsNaN(worse):
		return math.Inf(-1)
	case worse == 0:
		return 0
	case m.Delta > 0:
		return worse / m.Delta
	}
	return math.Copysign(math.Inf(1), worse)
}

// identical reports whether all experiments have the same traces on both sides.
func (v *view) identical() bool {
	for i := range v.experiments {
		if !v.experiments[i].Identical {
			return false
		}
	}
	return len(v.experiments) > 0
}

// headline says what came out in a few words, and counts the experiments by their change.
func (v *view) headline() string {
	n := &v.counts
	if len(v.experiments) == 0 {
		return v.said()
	}
	text := fmt.Sprintf("%s (%s: %d identical, %d changed but not worse, %d worse", v.said(), map[bool]string{true: "experiment", false: "experiments"}[len(v.experiments) == 1], n.Identical, n.Changed, n.Worse)
	for _, more := range []struct {
		n    int
		what string
	}{{n.Undecided, "changed and undecided"}, {n.NotWorse, "under clock wall not worse"}, {n.NoResult, "without a result"}} {
		if more.n > 0 {
			text += fmt.Sprintf(", %d %s", more.n, more.what)
		}
	}
	return text + ")"
}

// said says what came out, without the counts.
func (v *view) said() string {
	switch v.outcome {
	case verdict.Invalid:
		text := fmt.Sprintf("%d of %s gave no valid result", len(v.invalid), spelling.Plural(len(v.experiments), "experiment"))
		switch {
		case len(v.experiments) == 1 && len(v.invalid) == 1:
			text = "the experiment gave no valid result"
		case len(v.invalid) == 0:
			text = "the comparison did not end"
		}
		if n := len(v.failed); n > 0 {
			text += fmt.Sprintf(", and %s got worse", spelling.Plural(n, "metric"))
		}
		return text
	case verdict.Fail:
		if n := v.counts.Changed + v.counts.Undecided; v.Strict && len(v.failed) == 0 {
			return fmt.Sprintf("%d of %s changed, which --strict refuses; none of %s got worse", n, spelling.Plural(len(v.experiments), "experiment"), spelling.Plural(v.total, "metric"))
		}
		return v.worsened()
	case verdict.Inconclusive:
		return fmt.Sprintf("%d of %s undecided", len(v.open), spelling.Plural(v.total, "metric"))
	}
	switch {
	case v.total == 0:
		return "nothing was compared"
	case v.identical():
		text := fmt.Sprintf("no run changed, the traces of both sides are identical in %s", all(len(v.experiments), "experiment"))
		switch x := v.Execution; {
		case x != nil && x.Changed > 0 && len(x.NotRun) == x.Changed:
			text = fmt.Sprintf("no run executed what the candidate changes (%s), so that nothing is known of it", spelling.Plural(x.Changed, "function"))
		case x != nil && len(x.NotRun) > 0:
			text += fmt.Sprintf(", and no run executed %d of %s that the candidate changes", len(x.NotRun), spelling.Plural(x.Changed, "function"))
		}
		return text
	}
	text := fmt.Sprintf("none of %s got worse", spelling.Plural(v.total, "metric"))
	if n := len(v.better); n > 0 {
		text += fmt.Sprintf(", and %d better", n)
	}
	return text
}

// worsened says how many metrics got worse, and how many moved that should be the same.
func (v *view) worsened() string {
	moved := 0
	for _, m := range v.failed {
		if m.Better == verdict.Same && m.Effect != nil {
			moved++
		}
	}
	total := spelling.Plural(v.total, "metric")
	switch worse := len(v.failed) - moved; {
	case moved == 0:
		return fmt.Sprintf("%d of %s got worse", worse, total)
	case worse == 0:
		return fmt.Sprintf("%d of %s moved without a reason", moved, total)
	default:
		return fmt.Sprintf("%d of %s got worse, and %d moved without a reason", worse, total, moved)
	}
}

// lead says in a sentence what got worse the most, or "" if nothing did. code shows a name.
func (v *view) lead(code func(string) string) (text, more string) {
	if len(v.failed) == 0 {
		return "", ""
	}
	m := v.failed[0]
	text = fmt.Sprintf("%s of %s is %s", code(m.Name), code(m.experiment.name), m.direction())
	switch {
	case m.between() != words.None:
		more = fmt.Sprintf(" (%s: %s; allowed: %s)", v.interval(), m.between(), m.allowed())
		if m.Reason != "" {
			more += ": " + m.Reason
		}
		more += "."
	case m.Reason != "":
		more = ": " + m.Reason + "."
	default:
		more = "."
	}
	return text, more
}

// differing says what differs between the sides of an experiment.
func (e *experiment) differing() string {
	switch {
	case e.change == verdict.NotWorse:
		return "runs differ by themselves under clock wall"
	case e.Identical && e.change == verdict.Identical:
		return "identical traces"
	case e.Identical:
		return "identical traces, other values"
	case e.Differ > 0:
		return fmt.Sprintf("the traces of %d of %s differ", e.Differ, spelling.Plural(len(e.Seeds), "seed"))
	}
	return ""
}

// moved returns the metric whose value has moved the most, in limits; nil: none has.
func (e *experiment) moved() (most *metric) {
	for i := range e.metrics {
		m := &e.metrics[i]
		if far := math.Abs(m.inLimits(m.worse)); m.Effect != nil && *m.Effect != 0 && (most == nil || far > math.Abs(most.inLimits(most.worse))) {
			most = m
		}
	}
	return most
}

// movement says which metric of an experiment has moved the most, and by how much.
func (e *experiment) movement() (name, change, allowed string) {
	m := e.moved()
	if m == nil {
		return "no metric of the suite moved", "", ""
	}
	return m.Name, m.change(m.worse), m.allowed()
}

// untold reports whether no metric of the experiment has a number of its own.
func (e *experiment) untold() bool {
	for i := range e.metrics {
		if m := &e.metrics[i]; m.outcome != verdict.Invalid || m.Baseline != nil || m.Candidate != nil || m.Effect != nil {
			return false
		}
	}
	return true
}

// all says "the one experiment" or "all 6 experiments".
func all(n int, what string) string {
	if n == 1 {
		return "the one " + what
	}
	return "all " + spelling.Plural(n, what)
}

// word is an outcome for people.
func word(o verdict.Outcome) string {
	return map[verdict.Outcome]string{verdict.Pass: "Pass", verdict.Fail: "Fail", verdict.Inconclusive: "Inconclusive", verdict.Invalid: "Invalid"}[o]
}

// ended says why there is no valid result where that is no matter of an experiment.
func (v *view) ended() []string {
	if v.outcome != verdict.Invalid || len(v.invalid) > 0 {
		return nil
	}
	if len(v.Notes) > 0 {
		return v.Notes
	}
	return []string{"no reason is recorded"}
}

// why says why an experiment is not valid.
func (e *experiment) why() []string {
	reasons := slices.Clone(e.Reasons)
	for i := range e.metrics {
		if m := &e.metrics[i]; len(e.Reasons) == 0 && m.outcome == verdict.Invalid && m.Reason != "" && !slices.Contains(reasons, m.Reason) {
			reasons = append(reasons, m.Name+": "+m.Reason)
		}
	}
	if len(reasons) == 0 {
		return []string{"no reason is recorded"}
	}
	return together(reasons)
}

// ofSeed is a reason that names one seed.
var ofSeed = regexp.MustCompile(`^(.*\bseed) ([0-9]+)(:.*)$`)

// together joins reasons that differ in the seed alone, in the place of the first.
func together(reasons []string) []string {
	const most = 6 // seeds that are named
	var all []string
	place, seeds := map[[2]string]int{}, map[int][]string{}
	for _, reason := range reasons {
		m := ofSeed.FindStringSubmatch(reason)
		if m == nil {
			all = append(all, reason)
			continue
		}
		key := [2]string{m[1], m[3]}
		at, known := place[key]
		if !known {
			at, place[key] = len(all), len(all)
			all = append(all, reason)
		}
		if slices.Contains(seeds[at], m[2]) { // repeated under clock wall
			continue
		}
		if seeds[at] = append(seeds[at], m[2]); len(seeds[at]) > 1 {
			list, more := seeds[at], ""
			if n := len(list) - most; n > 0 {
				list, more = list[:most], fmt.Sprintf(" and %d more", n)
			}
			all[at] = key[0] + "s " + strings.Join(list, ", ") + more + key[1]
		}
	}
	return all
}

// title is a side in a line.
func title(s *verdict.Side) string {
	if len(s.Set) == 0 {
		return s.Label
	}
	return s.Label + " with " + strings.Join(s.Set, ", ")
}

// setup says what was compared, as names and values.
func (v *view) setup() []fact {
	side := func(name string, s *verdict.Side) []fact {
		f := fact{name, s.Label, ""}
		if s.Build != "" && s.Build != "unknown" {
			f.More = ", built as " + s.Build
		}
		facts := []fact{f}
		for _, set := range s.Set {
			facts = append(facts, fact{name + " with", set, ""})
		}
		return facts
	}
	facts := append(side("Candidate", &v.Candidate), side("Baseline", &v.Baseline)...)
	facts = append(facts, fact{"Suite", v.Suite, fmt.Sprintf(": %s, %s, %s", spelling.Plural(len(v.experiments), "experiment"), spelling.Plural(v.total, "metric"), v.seeds())})
	took := duration(v.Seconds)
	if math.Round(v.Building) >= 1 {
		took += " (" + duration(v.Building) + " of it building programs)"
	}
	if v.Machine != "" {
		took += " on " + v.Machine
	}
	if !v.Started.IsZero() {
		took += ", begun " + v.Started.UTC().Format("2006-01-02 15:04 UTC")
	}
	return append(facts, fact{"Compared", "", "in " + took + " by csiglab " + v.Version})
}

// fact is a name, a value that is code, and more that is text.
type fact struct{ Name, Code, More string }

// seeds says how many seeds the experiments have.
func (v *view) seeds() string {
	least, most := math.MaxInt, 0
	for i := range v.experiments {
		n := len(v.experiments[i].Seeds)
		least, most = min(least, n), max(most, n)
	}
	if least >= most {
		return spelling.Plural(most, "seed")
	}
	return fmt.Sprintf("%d to %d seeds", least, most)
}

// design says what pass and fail mean.
func (v *view) design() string {
	return fmt.Sprintf("Pass: with %s confidence no worse than allowed. Fail: worse than allowed; of suites in which nothing got worse than that, at most %s fail. p: how likely values like these are if the candidate were just as bad as allowed, corrected for all metrics and looks. Change: the median over pairs of runs with the same seed, and not the quotient of the two medians, which may be of different seeds.",
		share(v.Design.Confidence), share(v.Design.FalseFail))
}

// interval names the intervals.
func (v *view) interval() string { return share(v.Design.Confidence) + " interval" }
