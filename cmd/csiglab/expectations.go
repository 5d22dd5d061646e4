package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// shownOperands is how many operands are printed below an expectation that failed.
const shownOperands = 8

// writeExpectations prints a line for each expectation: the values of both sides of its
// comparisons and its outcome. Below one that failed are the values that it is made of.
func writeExpectations(w io.Writer, all []runfolder.Expectation) {
	for _, e := range all {
		text := e.Text
		if text == "" { // of an older version
			text = e.Expr
			if v, ok := e.Value.(float64); ok {
				text += " is " + number(v, true)
			}
		}
		state := "OK"
		if !e.OK {
			state = "FAILED"
		}
		if e.Reason != "" {
			state += ": " + e.Reason
		}
		fmt.Fprintln(w, text, state)
		if with := madeOf(&e, text); !e.OK && len(with) > 0 {
			fmt.Fprintln(w, "  with "+strings.Join(with, ", "))
		}
		for _, note := range e.Notes {
			fmt.Fprintln(w, "  note: "+note)
		}
	}
}

// madeOf returns the operands that the text of an expectation does not show.
func madeOf(e *runfolder.Expectation, text string) (list []string) {
	more := 0
	for _, o := range e.Operands {
		value := ""
		switch {
		case o.Value != nil:
			value = o.Expr + " = " + number(*o.Value, true)
		case o.Count > 0:
			value = plural(o.Count, "value") + " of " + o.Expr
		default:
			continue // the reason says why there is none
		}
		if strings.Contains(text, o.Expr+" = ") || strings.Contains(text, o.Expr+" (absent)") {
			continue
		}
		if len(list) == shownOperands {
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
