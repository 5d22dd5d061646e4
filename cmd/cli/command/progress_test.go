package command

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// What is quick prints nothing, and what takes long a line each ten seconds, and one at its end.
func TestLines(t *testing.T) {
	lines := func(length time.Duration) (at []time.Duration) {
		synctest.Test(t, func(*testing.T) {
			began := time.Now()
			l := NewLines()
			for now := time.Duration(0); now < length; now += 500 * time.Millisecond {
				time.Sleep(500 * time.Millisecond)
				if l.Due(time.Since(began) >= length) {
					at = append(at, time.Since(began))
				}
			}
		})
		return at
	}
	for length, want := range map[time.Duration][]time.Duration{
		500 * time.Millisecond: nil, time.Second: nil, 5 * time.Second: {time.Second, 5 * time.Second},
		25 * time.Second: {time.Second, 11 * time.Second, 21 * time.Second, 25 * time.Second},
	} {
		if got := lines(length); !slices.Equal(got, want) {
			t.Errorf("%v: lines at %v, want %v", length, got, want)
		}
	}
}
