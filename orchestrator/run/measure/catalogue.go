package measure

import (
	"iter"
	"strings"
	"sync"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// Entry is a metric, or all metrics whose names have one form. What is known of a metric is
// in its entry alone: names, reports, docs/reference/metrics.md and csiglab list follow from it.
type Entry struct {
	// Form is the name, with <placeholders> for words that differ: queue_kb.<statistic>.<port>.
	// A placeholder ends where a word of the name ends.
	Form  string
	Words []*words // of the placeholders, in order; nil: as the group says

	Unit    string // where the name does not say it
	Better  meaning.Better
	Share   bool // between 0 and 1
	Machine bool // see meaning.Meaning
	Packets bool // it is about packets, which runs of fidelity flow do not have
	Doc     string

	Needs []*need
	// Lacking returns subjects without the metric, of a plan that has what Needs says.
	Lacking func(s *subjects) []lacking
	// Absent is why a run may lack a metric that its plan can have; "" if each has it.
	Absent string

	// Run or Flow computes the metric from a run, or from each flow of the group; nil where it
	// comes out of sums over records. Flow is not given the flow's name, the last word.
	Run  func(r *Run, set Set)
	Flow func(r *Run, f *metrics.Flow, set Set)
}

// Set takes a value of a metric, with the words of its placeholders.
type Set func(value float64, words ...string)

// Group is the metrics of one kind of thing, with a heading in docs/reference/metrics.md.
type Group struct {
	Title string // in docs/reference/metrics.md; "": the table of the group before goes on
	Of    string // of what kind of runs or things they are; "": of all
	Doc   string // before the table
	More  string // behind it
	Words []*words

	// Flows returns the flows whose metrics Entry.Flow computes, and Words has their names.
	Flows   func(r *Run) []metrics.Flow
	Entries []*Entry
}

// Catalogue is all metrics. It is changed before runs are measured, if at all.
var Catalogue = []*Group{
	&Runs, &completionMetrics, &Transfers, &flowMetrics, &groupMetrics, &fairnessMetrics, &ccMetrics, &signalMetrics, &tagMetrics, &truthMetrics, &formatMetrics,
	&portMetrics, &classMetrics, &jobMetrics, &iterationMetrics, &overlapMetrics, &predictedMetrics, &faultMetrics, &programMetrics, &foreignMetrics,
}

// need is something that a plan must have for some metrics.
type need struct {
	what  string
	has   func(p *plan.Plan) bool
	lacks string // "variant x has no such metric: …"
}

// lacking is a subject without a metric, and why, as need.lacks.
type lacking struct{ subject, why string }

// What runs may lack. The needs of a group of metrics are beside it.
var (
	needTransfers = &need{"transfers", func(p *plan.Plan) bool { return p.Transfers > 0 }, "it has no transfers"}
	needCSIG      = &need{"csig", func(p *plan.Plan) bool { return p.CSIG != nil }, "it has no CSIG"}
	needFaults    = &need{"faults", func(p *plan.Plan) bool { return len(p.Faults) > 0 }, "it has no faults"}
)

// lacks returns why no run of a plan has the metric; "" if runs can have it.
func (m *Entry) lacks(p *plan.Plan) string {
	if m.Packets && p.NoPackets() {
		return experiment.NoPackets
	}
	for _, n := range m.Needs {
		if !n.has(p) {
			return n.lacks
		}
	}
	return ""
}

// Meaning returns unit and direction of a metric by its name. A name that is none of the
// catalogue, such as that of a derived metric, has the unit that its end says.
func Meaning(name string) meaning.Meaning {
	m := entryOf(name)
	if m == nil {
		return meaning.Meaning{Unit: meaning.UnitOf(name)}
	}
	kind := m.kind()
	return meaning.Meaning{Unit: m.unitOf(name), Better: m.Better, Machine: m.Machine, Single: kind != ofRun && kind != ofCollective}
}

// FormOf returns the form of the catalogue's entry that a metric is of, such as fct_us.<statistic>; ""
// for none.
func FormOf(name string) string {
	if m := entryOf(name); m != nil {
		return m.Form
	}
	return ""
}

// unitOf returns the unit of a metric with a name of the entry's form, or of the form; "" for a
// bare number and for a share.
func (m *Entry) unitOf(name string) string {
	if m.Unit != "" {
		return m.Unit
	}
	return meaning.UnitOf(name)
}

// FormUnit returns the unit of the form: that of its metrics, or share.
func (m *Entry) FormUnit() string {
	if m.Share {
		return "share"
	}
	return m.unitOf(m.Form)
}

// Needed returns what a plan must have so that its runs can have the metric.
func (m *Entry) Needed() (what []string) {
	if m.Packets {
		what = append(what, "packets")
	}
	for _, n := range m.Needs {
		what = append(what, n.what)
	}
	return what
}

// Statistics returns the words of <statistic>; nil if the form has none.
func (m *Entry) Statistics() []string {
	i := 0
	for _, placeholder := range m.places() {
		if placeholder == "statistic" {
			return m.Words[i].every
		}
		i++
	}
	return nil
}

// WhyAbsent returns why a run lacks a metric that runs of its plan can have; "" if there is
// nothing to say.
func WhyAbsent(name string) string {
	if m := entryOf(name); m != nil {
		return m.Absent
	}
	return ""
}

// mostParts is more than the parts that names have.
const mostParts = 8

// entryOf returns the entry of a metric by its name; nil if there is none. Of several forms that
// fit, that with more parts is the one, and then that with fewer words which only a plan knows.
func entryOf(name string) (found *Entry) {
	most := 0
	for _, e := range headed()[name[:min(1, len(name))]] {
		if !strings.HasPrefix(name, e.head) {
			continue
		}
		parts := e.parts(e.group, func(of *words, prefix string) *part {
			if of.every == nil {
				return &part{any: true, prefix: prefix}
			}
			return Words(of.every...).after(prefix)
		})
		rank := mostParts * len(parts)
		for _, p := range parts {
			if !p.any {
				rank++
			}
		}
		if rank > most && has(parts, name) {
			found, most = e.Entry, rank
		}
	}
	return found
}

// headEntry is an entry with the text before its first placeholder.
type headEntry struct {
	*Entry
	group *Group
	head  string
}

// headed returns the entries of the catalogue whose form does not begin with a placeholder, in its
// order, by their first letter.
var headed = sync.OnceValue(func() map[string][]headEntry {
	all := map[string][]headEntry{}
	for _, g := range Catalogue {
		for _, m := range g.Entries {
			if head, _, _ := strings.Cut(m.Form, "<"); head != "" {
				all[head[:1]] = append(all[head[:1]], headEntry{m, g, head})
			}
		}
	}
	return all
})

// places yields the placeholders of the form, each with the text before it, and the text behind
// the last one.
func (m *Entry) places() iter.Seq2[string, string] {
	return func(yield func(text, placeholder string) bool) {
		for rest := m.Form; rest != ""; {
			text, behind, found := strings.Cut(rest, "<")
			placeholder := ""
			if found {
				placeholder, behind, _ = strings.Cut(behind, ">")
			}
			if !yield(text, placeholder) {
				return
			}
			rest = behind
		}
	}
}

// name writes the name of the metric with words for its placeholders, and returns what it is
// about. Words that say so are the subject, which metrics.parquet has apart from the metric.
func (m *Entry) name(v *metrics.Value, words []string) (of Kind) {
	v.Metric, v.Name, v.Subject = m.Form, m.Form, ""
	if len(words) == 0 {
		return ofRun
	}
	var name, metric [96]byte
	n, q := name[:0], metric[:0]
	for text, placeholder := range m.places() {
		n = append(n, text...)
		if placeholder == "" {
			q = append(q, text...)
			break
		}
		word := words[0]
		n, words = append(n, word...), words[1:]
		kind, isSubject := subjectKind(placeholder)
		switch {
		case !isSubject:
			q = append(append(q, text...), word...)
			continue
		case v.Subject == "":
			v.Subject = word
		default:
			v.Subject += "." + word
		}
		q = append(q, strings.TrimSuffix(text, ".")...)
		of |= kind
	}
	v.Metric, v.Name = string(q), string(n)
	return of
}

// kind returns what the metric is about.
func (m *Entry) kind() (of Kind) {
	for _, placeholder := range m.places() {
		kind, _ := subjectKind(placeholder)
		of |= kind
	}
	return of
}

// subjectKind returns what a metric is about whose form has the placeholder, if that is a subject.
func subjectKind(placeholder string) (of Kind, isSubject bool) {
	switch placeholder {
	case "flow":
		return ofFlow, true
	case "port", "switch":
		return ofPort, true
	case "collective":
		return ofCollective, true
	case "class", "group", "job", "fault":
		return ofRun, true
	}
	return ofRun, false
}
