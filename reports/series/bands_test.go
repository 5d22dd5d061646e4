package series

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/csiglab/csiglab/reports/reading"
)

// Values of seeds that begin and end at different points.
func TestBand(t *testing.T) {
	nan := math.NaN()
	var l Line
	l.join([]Line{{First: 2, Values: reading.Values{1, 2, 3}}, {First: 3, Values: reading.Values{4, nan, 6}}})
	if d := cmp.Diff(l, Line{First: 2, Values: reading.Values{1, 3, 3, 6}, Low: reading.Values{1, 2, 3, 6}, High: reading.Values{1, 4, 3, 6}}, cmpopts.EquateNaNs()); d != "" {
		t.Errorf("two seeds (-got +want):\n%s", d)
	}
	l = Line{}
	l.join([]Line{{First: 2, Values: reading.Values{1, nan}}})
	if d := cmp.Diff(l, Line{First: 2, Values: reading.Values{1, nan}}, cmpopts.EquateNaNs()); d != "" {
		t.Errorf("one seed (-got +want):\n%s", d)
	}
}
