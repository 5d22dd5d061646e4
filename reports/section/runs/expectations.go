package runs

import (
	"fmt"
	"strings"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// expectations lists the expectations with the values of both sides and, of those that
// failed, why, and what they are made of; and those that an incomplete folder cannot answer.
func (s *Section) expectations() *section.Table {
	t := &section.Table{Label: "Expectations", Columns: phrases.Columns("Expectation", "Outcome")}
	v := &s.r.Verdict
	for i := range v.Expectations {
		e := &v.Expectations[i]
		outcome := section.Cell{Text: "✗ failed", State: section.Bad}
		if e.OK {
			outcome = section.Cell{Text: "✓ holds", State: section.Good}
		}
		if text := because(e); text != "" {
			outcome.Text += ": " + text
		}
		t.Rows = append(t.Rows, section.Row{Cells: []section.Cell{{Text: e.Text}, outcome}})
	}
	if v.Incomplete != nil {
		for _, text := range v.Incomplete.NotEvaluated {
			t.Rows = append(t.Rows, section.Row{Cells: phrases.Cells(text, "not evaluated")})
		}
	}
	return t
}

// because says why an expectation failed, the values that it is made of, and which
// metrics it leaves out.
func because(e *runfolder.Expectation) string {
	var parts []string
	if e.Reason != "" {
		parts = append(parts, e.Reason)
	}
	if with := MadeOf(e, words.Number); !e.OK && len(with) > 0 {
		parts = append(parts, "with "+strings.Join(with, ", "))
	}
	for _, note := range e.Notes {
		parts = append(parts, "note: "+note)
	}
	return strings.Join(parts, "; ")
}

// failedExpectations returns the texts of the expectations that failed, the first few
// of many.
func failedExpectations(all []runfolder.Expectation) []string {
	const most = 3
	var texts []string
	failed := 0
	for i := range all {
		if e := &all[i]; !e.OK {
			if failed++; failed <= most {
				text := "✗ " + e.Text
				if e.Reason != "" {
					text += ": " + e.Reason
				}
				texts = append(texts, text)
			}
		}
	}
	if failed > most {
		texts = append(texts, fmt.Sprintf("and %d more", failed-most))
	}
	return texts
}

// maxOperands bounds the values of an expectation that are listed.
const maxOperands = 8

// MadeOf lists the operands that the text of an expectation does not show, with their
// values.
func MadeOf(e *runfolder.Expectation, number func(float64) string) (list []string) {
	more := 0
	for _, o := range e.Operands {
		value := ""
		switch {
		case o.Value != nil:
			value = o.Expr + " = " + number(*o.Value)
		case o.Count > 0:
			value = words.Plural(o.Count, "value") + " of " + o.Expr
		default:
			continue // the reason says why there is none
		}
		if strings.Contains(e.Text, o.Expr+" = ") || strings.Contains(e.Text, o.Expr+" (absent)") {
			continue
		}
		if len(list) == maxOperands {
			more++
			continue
		}
		if o.Seed != nil {
			value += fmt.Sprintf(" in seed %d", *o.Seed)
		}
		list = append(list, value)
	}
	if more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return list
}
