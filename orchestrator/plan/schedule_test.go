package plan_test

import (
	"math"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/units"
)

// A schedule whose period is shorter than an iteration cannot be kept: a note says so. 100 kB
// in two halves at 10 Gb/s take 80 us, with two latencies of 1 us. Behind a bottleneck of
// 1 Gb/s they take 800 us and 4 % for headers.
func TestPeriodShorterThanAnIteration(t *testing.T) {
	const narrow = "topology: {dumbbell: {left: 2, right: 2, rate: 10Gbps, bottleneck_rate: 1Gbps, delay: 1us}}\n"
	for _, c := range []struct {
		period, more string
		takes        string // "": no note
	}{
		{"none", "", ""}, {"183us", "", ""}, {"181us", "", "181us is shorter than an iteration of train, which takes 182us without congestion"},
		{"950us", narrow, ""}, {"850us", narrow, "850us is shorter than an iteration of train, which takes 913us with its narrowest link for itself"},
	} {
		hosts := "[0, 1]"
		if c.more != "" {
			hosts = "[0, 2]"
		}
		text := c.more + "jobs: [{name: train, hosts: " + hosts + ", steps: 3, profile: {compute: 100us, bytes: 100kB}, schedule: {period: " + c.period + "}}]\n"
		want := ""
		if c.takes != "" {
			want = "jobs[0].schedule.period: " + c.takes + ": its phases come later for their slots each time, and wait for the next slot now and then"
		}
		got := ""
		for _, note := range compile(t, text).Notes {
			if strings.Contains(note, "schedule.period") {
				got += note
			}
		}
		if got != want {
			t.Errorf("period %s: note %q, want %q", c.period, got, want)
		}
	}
}

// The load of a job lasts as long as its slots, also if that is more time than there is.
func TestLoadLastsAsLongAsSlots(t *testing.T) {
	for _, c := range []struct {
		steps, period string
		want          units.Duration
	}{{"3", "1s", 2*units.Second + 182*units.Microsecond}, {"1000", "24h", math.MaxInt64 / 4}} {
		p := compile(t, "jobs: [{name: train, hosts: [0, 1], steps: "+c.steps+", profile: {compute: 100us, bytes: 100kB}, schedule: {period: "+c.period+"}}]\n")
		if got := p.Loads[0].Length; got < c.want-units.Microsecond || got > c.want+units.Microsecond {
			t.Errorf("%s steps each %s: the job takes %v, want %v", c.steps, c.period, got, c.want)
		}
	}
}
