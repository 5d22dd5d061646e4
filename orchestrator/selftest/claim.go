package selftest

import (
	"fmt"
	"math"
	"strconv"
)

// Claim is one prediction with what was measured.
type Claim struct {
	What      string `json:"what"`
	Predicted string `json:"predicted"` // with unit and tolerance
	Formula   string `json:"formula"`   // that gives the prediction
	Source    string `json:"source"`    // of the formula and of its tolerance
	Measured  string `json:"measured"`
	OK        bool   `json:"ok"`
	// Of predictions of a number, in Unit: the bounds that Value must lie in, both included,
	// and Value, what was measured. A High of nil is no bound, a Value of nil one that the
	// run lacks.
	Unit  string   `json:"unit,omitempty"`
	Low   *float64 `json:"low,omitempty"`
	High  *float64 `json:"high,omitempty"`
	Value *float64 `json:"value,omitempty"`
}

// fault says in words what is wrong.
func (c *Claim) fault() string {
	return fmt.Sprintf("%s: predicted %s, measured %s", c.What, c.Predicted, c.Measured)
}

// basis is where a prediction comes from.
type basis struct{ formula, source string }

// near predicts want with an absolute tolerance.
func (m metrics) near(what, metric, unit string, want, tolerance float64, b basis) Claim {
	c := m.claim(what, metric, unit, b)
	c.Predicted = fmt.Sprintf("%s ± %s", text(want, ""), text(tolerance, unit))
	return c.within(want-tolerance, want+tolerance)
}

// exact is the tolerance, in us, of what is computed in whole picoseconds: what a float64 of
// microseconds rounds.
const exact = 1e-6

// exactly predicts a time in us, to the picosecond.
func (m metrics) exactly(what, metric string, want float64, b basis) Claim {
	c := m.claim(what, metric, "us", b)
	c.Predicted = strconv.FormatFloat(math.Round(want*1e6)/1e6, 'f', -1, 64) + " us, to the ps"
	if c.Value != nil {
		c.Measured = strconv.FormatFloat(math.Round(*c.Value*1e6)/1e6, 'f', -1, 64) + " us"
	}
	return c.within(want-exact, want+exact)
}

// between predicts a value from low to high, both included.
func (m metrics) between(what, metric, unit string, low, high float64, b basis) Claim {
	c := m.claim(what, metric, unit, b)
	c.Predicted = fmt.Sprintf("%s to %s", text(low, ""), text(high, unit))
	return c.within(low, high)
}

// none predicts zero.
func (m metrics) none(what, metric, unit string, b basis) Claim {
	c := m.claim(what, metric, unit, b)
	c.Predicted = "none"
	return c.within(0, 0)
}

// some predicts at least one.
func (m metrics) some(what, metric, unit string, b basis) Claim {
	c := m.claim(what, metric, unit, b)
	c.Predicted = "some"
	return c.within(1, math.Inf(1))
}

// claim returns a claim about a metric, without a prediction.
func (m metrics) claim(what, metric, unit string, b basis) Claim {
	c := Claim{What: what, Formula: b.formula, Source: b.source, Unit: unit, Measured: "nothing: the run lacks " + metric}
	if value, ok := m[metric]; ok {
		c.Value, c.Measured = &value, text(value, unit)
	}
	return c
}

// within predicts the bounds, both included. An infinite one is none.
func (c Claim) within(low, high float64) Claim {
	c.OK = c.Value != nil && *c.Value >= low && *c.Value <= high // not of NaN
	c.Low = &low
	if !math.IsInf(high, 1) {
		c.High = &high
	}
	return c
}

// word predicts a word.
func word(what, predicted, measured string, b basis) Claim {
	return Claim{What: what, Predicted: predicted, Measured: measured, OK: predicted == measured, Formula: b.formula, Source: b.source}
}

// text returns a value with its unit, with at most six significant digits.
func text(value float64, unit string) string {
	t := strconv.FormatFloat(value, 'g', 6, 64)
	if a := math.Abs(value); a >= 1e-4 && a < 1e15 {
		rounded, _ := strconv.ParseFloat(t, 64) // of digits just written
		t = strconv.FormatFloat(rounded, 'f', -1, 64)
	}
	if unit != "" {
		t += " " + unit
	}
	return t
}
