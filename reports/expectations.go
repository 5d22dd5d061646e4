package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// expectations lists the expectations with the values of both sides and, of those that
// failed, why, and what they are made of. Folders of older versions lack the sides: then
// the value stands beside the expression.
func expectations(all []runfolder.Expectation) table {
	t := table{Columns: []column{{Name: "Expectation"}}}
	older := slices.ContainsFunc(all, func(e runfolder.Expectation) bool { return e.Text == "" })
	if older {
		t.Columns = append(t.Columns, column{"Value", true})
	}
	t.Columns = append(t.Columns, column{Name: "Outcome"})
	for i := range all {
		e := &all[i]
		row := []cell{{Text: expectationText(e)}}
		if older {
			row = append(row, cell{Text: expectationValue(e.Value)})
		}
		outcome := cell{"✗ failed", stateBad}
		if e.OK {
			outcome = cell{"✓ holds", stateGood}
		}
		if text := because(e); text != "" {
			outcome.Text += ": " + text
		}
		t.Rows = append(t.Rows, append(row, outcome))
	}
	return t
}

func expectationText(e *runfolder.Expectation) string {
	if e.Text != "" {
		return e.Text
	}
	return e.Expr
}

func expectationValue(v any) string {
	switch v := v.(type) {
	case nil:
		return none
	case float64:
		return number(v)
	}
	return fmt.Sprint(v)
}

// because says why an expectation failed, the values that it is made of, and which
// metrics it leaves out.
func because(e *runfolder.Expectation) string {
	var parts []string
	if e.Reason != "" {
		parts = append(parts, e.Reason)
	}
	if with := MadeOf(e, number); !e.OK && len(with) > 0 {
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
				text := "✗ " + expectationText(e)
				if e.Text == "" && e.Value != nil {
					text += " is " + expectationValue(e.Value)
				}
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
	text, more := expectationText(e), 0
	for _, o := range e.Operands {
		value := ""
		switch {
		case o.Value != nil:
			value = o.Expr + " = " + number(*o.Value)
		case o.Count > 0:
			value = plural(o.Count, "value") + " of " + o.Expr
		default:
			continue // the reason says why there is none
		}
		if strings.Contains(text, o.Expr+" = ") || strings.Contains(text, o.Expr+" (absent)") {
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
