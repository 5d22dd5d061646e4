package circle

import (
	"errors"
	"testing"

	"github.com/csiglab/csiglab/units"
)

const ms = units.Millisecond

// one returns the profile of a job that computes first and then communicates, in
// milliseconds.
func one(period, burst float64, rate units.Rate) Profile {
	p, d := units.Duration(period*float64(ms)), units.Duration(burst*float64(ms))
	return Profile{Period: p, Bursts: []Burst{{At: p - d, Length: d, Rate: rate}}}
}

func TestValidateNamesTheField(t *testing.T) {
	bursts := func(all ...Burst) Profile { return Profile{Period: 100 * ms, Bursts: all} }
	for _, c := range []struct {
		profile Profile
		field   string // "": valid
	}{
		{one(255, 114, 50*units.Gbps), ""},
		{one(100, 100, 0), ""},
		{bursts(Burst{0, 10 * ms, 0}, Burst{10 * ms, 5 * ms, 0}), ""},
		{Profile{Bursts: []Burst{{0, 1, 0}}}, "period"},
		{Profile{Period: -1, Bursts: []Burst{{0, 1, 0}}}, "period"},
		{Profile{Period: MaxPeriod + 1, Bursts: []Burst{{0, 1, 0}}}, "period"},
		{bursts(), "bursts"},
		{bursts(make([]Burst, MaxBursts+1)...), "bursts"},
		{bursts(Burst{-1, 10, 0}), "bursts[0].at"},
		{bursts(Burst{0, 0, 0}), "bursts[0].length"},
		{bursts(Burst{0, -1, 0}), "bursts[0].length"},
		{bursts(Burst{0, 101 * ms, 0}), "bursts[0].length"},
		{bursts(Burst{60 * ms, 50 * ms, 0}), "bursts[0].length"},
		{bursts(Burst{0, 10 * ms, -1}), "bursts[0].rate"},
		{bursts(Burst{0, 10 * ms, 0}, Burst{9 * ms, 5 * ms, 0}), "bursts[1].at"},
		{bursts(Burst{50 * ms, 10 * ms, 0}, Burst{9 * ms, 5 * ms, 0}), "bursts[1].at"},
	} {
		var wrong *FieldError
		switch err := c.profile.Validate(); {
		case c.field == "" && err != nil:
			t.Errorf("%+v: %v", c.profile, err)
		case c.field != "" && (!errors.As(err, &wrong) || wrong.Field != c.field):
			t.Errorf("%+v: error %v, want one of %s", c.profile, err, c.field)
		}
	}
}

func TestComputeAndCommunicate(t *testing.T) {
	p := Profile{Period: 100 * ms, Bursts: []Burst{{20 * ms, 10 * ms, 0}, {60 * ms, 25 * ms, 0}}}
	if p.Communicate() != 35*ms || p.Compute() != 65*ms {
		t.Errorf("communicate %v and compute %v, want 35ms and 65ms", p.Communicate(), p.Compute())
	}
}
