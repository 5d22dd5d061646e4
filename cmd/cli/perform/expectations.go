package perform

import (
	"fmt"
	"io"
	"strings"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/metrics/runfolder"
	runsection "github.com/csiglab/csiglab/reports/section/runs"
)

// WriteExpectations prints a line for each expectation: the values of both sides of its
// comparisons and its outcome. Below one that failed are the values that it is made of.
func WriteExpectations(w io.Writer, all []runfolder.Expectation) {
	for _, e := range all {
		state := "OK"
		if !e.OK {
			state = "FAILED"
		}
		if e.Reason != "" {
			state += ": " + e.Reason
		}
		fmt.Fprintln(w, e.Text, state)
		if with := runsection.MadeOf(&e, func(v float64) string { return spelling.Number(v, true) }); !e.OK && len(with) > 0 {
			fmt.Fprintln(w, "  with "+strings.Join(with, ", "))
		}
		for _, note := range e.Notes {
			fmt.Fprintln(w, "  note: "+note)
		}
	}
}
