// Package junit writes results as JUnit XML. It judges nothing.
package junit

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/csiglab/csiglab/reports/words"
)

// Elements of JUnit XML. Attributes and elements are those that both the schema of Jenkins
// (dtkit's junit-4.xsd) and that of Ant's output (windyroad's JUnit.xsd) know: the root has
// no attributes, test cases have no file and no output, and the reason of a skipped one is
// its text, which is what GitLab reads too.
type (
	// Document is the root.
	Document struct {
		XMLName xml.Name `xml:"testsuites"`
		Suites  []Suite  `xml:"testsuite"`
	}
	// Suite is a test suite. Add sets its counts.
	Suite struct {
		Name       string     `xml:"name,attr"`
		Package    string     `xml:"package,attr"`
		ID         int        `xml:"id,attr"`
		Tests      int        `xml:"tests,attr"`
		Failures   int        `xml:"failures,attr"`
		Errors     int        `xml:"errors,attr"`
		Skipped    int        `xml:"skipped,attr,omitempty"`
		Time       string     `xml:"time,attr"`
		Timestamp  string     `xml:"timestamp,attr"`
		Hostname   string     `xml:"hostname,attr"`
		Properties []Property `xml:"properties>property"`
		Cases      []Case     `xml:"testcase"`
		Out        string     `xml:"system-out"`
		Err        string     `xml:"system-err"`
	}
	// Property is a property of a suite.
	Property struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	// Case is a test case: it passed unless one of the last three is set.
	Case struct {
		Class   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		Time    string   `xml:"time,attr"`
		Skipped string   `xml:"skipped,omitempty"`
		Error   *Problem `xml:"error"`
		Failure *Problem `xml:"failure"`
	}
	// Problem is why a case failed or is an error.
	Problem struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// TimeFormat is the layout of Suite.Timestamp, in UTC.
const TimeFormat = "2006-01-02T15:04:05"

// Add adds a case to the suite and its counts.
func (s *Suite) Add(c Case) {
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

// Write writes a document.
func (d *Document) Write(w io.Writer) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", " ")
	if err := encoder.Encode(d); err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	return nil
}

// Seconds prints a time as XML's decimal, which has no exponent.
func Seconds(s float64) string {
	if !(s >= 0 && s < 1e12) {
		s = 0
	}
	return fmt.Sprintf("%.3f", s)
}

// Token returns a text that is not empty once its spaces are joined.
func Token(text string) string {
	if text = strings.Join(strings.Fields(words.PlainText(text)), " "); text != "" {
		return text
	}
	return "unnamed"
}
