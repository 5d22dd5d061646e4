package regression

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/reports/junit"
	"github.com/csiglab/csiglab/reports/words"
)

// JUnit writes the verdict as JUnit XML: a test suite per experiment, a test case per
// metric. A failure is a metric that got worse, an error is what gave no valid result, and
// skipped is what is inconclusive. Times are wall clock seconds; an experiment's are shared
// by its metrics evenly.
func JUnit(w io.Writer, d *verdict.Document) error {
	v := newView(d)
	var doc junit.Document
	for i := range v.experiments {
		doc.Suites = append(doc.Suites, v.junitSuite(&v.experiments[i], i))
	}
	if reasons := v.ended(); reasons != nil {
		e := &experiment{Experiment: &verdict.Experiment{Reasons: reasons}, name: "comparison", outcome: verdict.Invalid}
		doc.Suites = append(doc.Suites, v.junitSuite(e, len(doc.Suites)))
	}
	return doc.Write(w)
}

func (v *view) junitSuite(e *experiment, id int) junit.Suite {
	class := strings.ReplaceAll(e.name, "/", ".")
	s := junit.Suite{Name: junit.Token(class), Package: junit.Token(v.Suite), ID: id, Time: junit.Seconds(e.Seconds), Hostname: junit.Token(v.Machine), Timestamp: v.Started.UTC().Format(junit.TimeFormat)}
	if v.Machine == "" {
		s.Hostname = "localhost"
	}
	if y := v.Started.UTC().Year(); y < 1 || y > 9999 {
		s.Timestamp = time.Time{}.Format(junit.TimeFormat)
	}
	property := func(name, value string) {
		if value != "" {
			s.Properties = append(s.Properties, junit.Property{Name: name, Value: value})
		}
	}
	property("suite", v.Suite)
	property("baseline", title(&v.Baseline))
	property("candidate", title(&v.Candidate))
	property("seeds", plain(e.Seeds))
	property("clock", e.Clock)
	property("change", string(e.change))
	property("differs", e.differing())
	property("csiglab", v.Version)
	property("reproduce", e.Reproduce)
	if len(s.Properties) == 0 {
		s.Properties = []junit.Property{{Name: "outcome", Value: string(e.outcome)}}
	}
	add := func(c junit.Case) {
		c.Class = junit.Token(class)
		s.Add(c)
	}
	each := e.Seconds / float64(max(len(e.metrics), 1))
	invalid := false // a metric says so
	for i := range e.metrics {
		m := &e.metrics[i]
		c := junit.Case{Name: junit.Token(m.Name), Time: junit.Seconds(each)}
		switch m.outcome {
		case verdict.Fail:
			c.Failure = &junit.Problem{Type: "regression", Message: v.message(m), Text: v.details(m)}
		case verdict.Inconclusive:
			c.Skipped = "inconclusive: " + v.message(m)
		case verdict.Invalid:
			invalid = true
			reason := m.Reason
			if reason == "" || len(e.Reasons) > 0 {
				reason = e.why()[0]
			}
			c.Error = &junit.Problem{Type: "invalid", Message: reason, Text: strings.Join(append(e.why(), reproduce(e)...), "\n")}
		}
		add(c)
	}
	if v.Strict && (e.change == verdict.Changed || e.change == verdict.Undecided) {
		message := "changed, which --strict refuses"
		if differs := e.differing(); differs != "" {
			message += ": " + differs
		}
		add(junit.Case{Name: "traces", Time: "0", Failure: &junit.Problem{Type: "changed", Message: message, Text: strings.Join(append([]string{message}, reproduce(e)...), "\n")}})
	}
	if e.outcome == verdict.Invalid && !invalid {
		add(junit.Case{Name: "runs", Time: "0", Error: &junit.Problem{Type: "invalid", Message: e.why()[0], Text: strings.Join(append(e.why(), reproduce(e)...), "\n")}})
	}
	return s
}

func reproduce(e *experiment) []string {
	if e.Reproduce == "" {
		return nil
	}
	return []string{"Reproduce: " + e.Reproduce}
}

// message is a metric's verdict in a line.
func (v *view) message(m *metric) string {
	text := m.Name + " " + m.change(m.worse)
	if m.between() != words.None {
		text += fmt.Sprintf(" [%s %s]", v.interval(), m.between())
	}
	text += " allowed " + m.allowed()
	if over := m.over(); over != "" {
		text += ", " + over
	}
	if m.outcome == verdict.Inconclusive {
		text += "; to decide it: " + m.deciding()
	} else if m.Reason != "" {
		text += ": " + m.Reason
	}
	return text
}

// details is a metric's verdict in lines.
func (v *view) details(m *metric) string {
	lines := []string{v.message(m), fmt.Sprintf("%s, %s, p %s", m.values(), spelling.Plural(len(m.Pairs), "pair"), m.probability())}
	return strings.Join(append(lines, reproduce(m.experiment)...), "\n")
}

// plain lists seeds.
func plain(seeds []uint64) string {
	const most = 100
	words := make([]string, 0, min(len(seeds), most+1))
	for i, s := range seeds {
		if i == most {
			words = append(words, fmt.Sprintf("and %d more", len(seeds)-i))
			break
		}
		words = append(words, fmt.Sprint(s))
	}
	return strings.Join(words, " ")
}
