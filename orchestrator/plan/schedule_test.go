package plan_test

import (
	"slices"
	"testing"
)

// A schedule whose period is shorter than an iteration cannot be kept: a note says so. 100 kB
// in two halves at 10 Gb/s take 80 us, with two latencies of 1 us.
func TestPeriodShorterThanAnIteration(t *testing.T) {
	for _, c := range []struct {
		period string
		note   bool
	}{{"none", false}, {"183us", false}, {"181us", true}} {
		p := compile(t, "jobs: [{name: train, hosts: [0, 1], steps: 3, profile: {compute: 100us, bytes: 100kB}, schedule: {period: "+c.period+"}}]\n")
		want := "jobs[0].schedule.period: 181us is shorter than an iteration of train, which takes 182us without congestion: its phases come later for their slots each time, and wait for the next slot now and then"
		if slices.Contains(p.Notes, want) != c.note {
			t.Errorf("period %s: notes %q", c.period, p.Notes)
		}
	}
}
