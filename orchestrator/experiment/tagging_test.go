package experiment

import (
	"testing"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/units"
)

func TestTagging(t *testing.T) {
	for _, test := range []struct {
		init  string
		want  csig.Sampling
		probe units.Duration
		ok    bool
	}{
		{"", csig.All, 0, true},
		{"every", csig.All, 0, true},
		{"none", csig.Sampling{}, 0, true},
		{"1/4", csig.Sampling{Every: 4}, 0, true},
		{"stride/4", csig.Sampling{Every: 4, Stride: true}, 0, true},
		{"1/20us", csig.Sampling{Every: 1, Spacing: 20 * units.Microsecond}, 0, true},
		{"probe/20us", csig.Sampling{}, 20 * units.Microsecond, true},
		{"1/0", csig.Sampling{}, 0, false},
		{"probe/20", csig.Sampling{}, 0, false},
		{"probe/0us", csig.Sampling{}, 0, false},
		{"1/4 ", csig.Sampling{}, 0, false},
	} {
		got, probe, err := (&CSIG{Init: test.init}).Tagging()
		if got != test.want || probe != test.probe || (err == nil) != test.ok {
			t.Errorf("%q: %+v, probe %v, %v", test.init, got, probe, err)
		}
	}
}
