package experiment

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/internal/lazy"
)

// flowNumbers is the form of flow numbers in trace.flows. The name of a flow is never of
// this form, because it has a dash, as in 0-8 or "h0-h3 app".
var flowNumbers = lazy.Regexp(`^([0-9]+)(?:\.\.([0-9]+))?$`)

// ParseFlowNumbers reads a number of a flow, 3, or a range of them, 0..9, both ends
// included. ok is false for another text, which is a name or a pattern of names.
func ParseFlowNumbers(text string) (first, last int, ok bool, err error) {
	m := flowNumbers().FindStringSubmatch(text)
	if m == nil {
		return 0, 0, false, nil
	}
	first, err = strconv.Atoi(m[1])
	if last = first; err == nil && m[2] != "" {
		last, err = strconv.Atoi(m[2])
	}
	switch {
	case err != nil:
		return 0, 0, true, fmt.Errorf("%q is too large for the number of a flow", text)
	case last < first:
		return 0, 0, true, fmt.Errorf("%q is no range of flow numbers; write %d..%d", text, last, first)
	}
	return first, last, true, nil
}

// checkFlowPattern refuses an item of trace.flows that no flow can have.
func checkFlowPattern(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("want the name of a flow, such as 0-8, a pattern, or numbers such as 0..9")
	}
	if _, _, ok, err := ParseFlowNumbers(text); ok {
		return err
	}
	if _, err := path.Match(text, ""); err != nil {
		return fmt.Errorf("%q: %w", text, err)
	}
	return nil
}

// trace checks the flows that are traced. Whether flows of the given names exist shows
// when the plan is made.
func (d *decoder) trace(e *Experiment) {
	if t := e.Trace; t != nil && !d.given("trace.flows") && len(t.Events) > 0 {
		d.failAt("trace", `the key "flows" is missing`, "")
	}
}
