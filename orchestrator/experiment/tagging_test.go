package experiment

import (
	"testing"

	"github.com/csiglab/csiglab/units"
)

func TestTagging(t *testing.T) {
	for _, test := range []struct {
		init  string
		every int
		probe units.Duration
		ok    bool
	}{
		{"", 1, 0, true},
		{"every", 1, 0, true},
		{"none", 0, 0, true},
		{"1/4", 4, 0, true},
		{"probe/20us", 0, 20 * units.Microsecond, true},
		{"1/0", 0, 0, false},
		{"probe/20", 0, 0, false},
		{"probe/0us", 0, 0, false},
		{"1/4 ", 0, 0, false},
	} {
		every, probe, err := (&CSIG{Init: test.init}).Tagging()
		if every != test.every || probe != test.probe || (err == nil) != test.ok {
			t.Errorf("%q: every %d, probe %v, %v", test.init, every, probe, err)
		}
	}
}
