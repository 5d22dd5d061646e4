package regression

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/reports/words"
)

// Elements of JUnit XML. Attributes and elements are those that both the schema of Jenkins
// (dtkit's junit-4.xsd) and that of Ant's output (windyroad's JUnit.xsd) know: the root has
// no attributes, test cases have no file and no output, and the reason of a skipped one is
// its text, which is what GitLab reads too.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Package    string          `xml:"package,attr"`
		ID         int             `xml:"id,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr,omitempty"`
		Time       string          `xml:"time,attr"`
		Timestamp  string          `xml:"timestamp,attr"`
		Hostname   string          `xml:"hostname,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
		Out        string          `xml:"system-out"`
		Err        string          `xml:"system-err"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Skipped string        `xml:"skipped,omitempty"`
		Error   *junitProblem `xml:"error"`
		Failure *junitProblem `xml:"failure"`
	}
	junitProblem struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes the verdict as JUnit XML: a test suite per experiment, a test case per
// metric. A failure is a metric that got worse, an error is what gave no valid result, and
// skipped is what is inconclusive. Times are wall clock seconds; an experiment's are shared
// by its metrics evenly.
func JUnit(w io.Writer, d *verdict.Document) error {
	v := newView(d)
	var doc junitSuites
	for i := range v.experiments {
		doc.Suites = append(doc.Suites, v.junitSuite(&v.experiments[i], i))
	}
	if reasons := v.ended(); reasons != nil {
		e := &experiment{Experiment: &verdict.Experiment{Reasons: reasons}, name: "comparison", outcome: verdict.Invalid}
		doc.Suites = append(doc.Suites, v.junitSuite(e, len(doc.Suites)))
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", " ")
	if err := encoder.Encode(doc); err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	return nil
}

func (v *view) junitSuite(e *experiment, id int) junitSuite {
	class := strings.ReplaceAll(e.name, "/", ".")
	s := junitSuite{Name: token(class), Package: token(v.Suite), ID: id, Time: seconds(e.Seconds), Hostname: token(v.Machine), Timestamp: v.Started.UTC().Format("2006-01-02T15:04:05")}
	if v.Machine == "" {
		s.Hostname = "localhost"
	}
	if y := v.Started.UTC().Year(); y < 1 || y > 9999 {
		s.Timestamp = time.Time{}.Format("2006-01-02T15:04:05")
	}
	property := func(name, value string) {
		if value != "" {
			s.Properties = append(s.Properties, junitProperty{name, value})
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
		s.Properties = []junitProperty{{"outcome", string(e.outcome)}}
	}
	add := func(c junitCase) {
		c.Class = token(class)
		s.Cases = append(s.Cases, c)
		s.Tests++
		switch {
		case c.Error != nil:
			s.Errors++
		case c.Failure != nil:
			s.Failures++
		case c.Skipped != "":
			s.Skipped++
		}
	}
	each := e.Seconds / float64(max(len(e.metrics), 1))
	invalid := false // a metric says so
	for i := range e.metrics {
		m := &e.metrics[i]
		c := junitCase{Name: token(m.Name), Time: seconds(each)}
		switch m.outcome {
		case verdict.Fail:
			c.Failure = &junitProblem{"regression", v.message(m), v.details(m)}
		case verdict.Inconclusive:
			c.Skipped = "inconclusive: " + v.message(m)
		case verdict.Invalid:
			invalid = true
			reason := m.Reason
			if reason == "" || len(e.Reasons) > 0 {
				reason = e.why()[0]
			}
			c.Error = &junitProblem{"invalid", reason, strings.Join(append(e.why(), reproduce(e)...), "\n")}
		}
		add(c)
	}
	if v.Strict && (e.change == verdict.Changed || e.change == verdict.Undecided) {
		message := "changed, which --strict refuses"
		if differs := e.differing(); differs != "" {
			message += ": " + differs
		}
		add(junitCase{Name: "traces", Time: "0", Failure: &junitProblem{"changed", message, strings.Join(append([]string{message}, reproduce(e)...), "\n")}})
	}
	if e.outcome == verdict.Invalid && !invalid {
		add(junitCase{Name: "runs", Time: "0", Error: &junitProblem{"invalid", e.why()[0], strings.Join(append(e.why(), reproduce(e)...), "\n")}})
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

// seconds prints a time as XML's decimal, which has no exponent.
func seconds(s float64) string {
	if !(s >= 0 && s < 1e12) {
		s = 0
	}
	return fmt.Sprintf("%.3f", s)
}

// token returns a text that is not empty once its spaces are joined.
func token(text string) string {
	if text = strings.Join(strings.Fields(words.PlainText(text)), " "); text != "" {
		return text
	}
	return "unnamed"
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
