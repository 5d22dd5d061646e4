package fit

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/circle"
)

// about reports whether a time is within a thousandth of another.
func about(got Microseconds, want units.Duration) bool {
	return math.Abs(float64(got)/float64(want)-1) < 0.001
}

// Jobs that do not fit take nothing away from those on another link.
func TestEachClusterIsDecidedByItself(t *testing.T) {
	links := []Link{{Name: "up", Jobs: []string{"a", "b"}}, {Name: "down", Jobs: []string{"c", "d"}}}
	r := answer(t, Options{Links: links}, "a=329ms:60ms", "b=165ms:40ms", "c=100ms:60ms", "d=100ms:60ms")
	if r.Compatible || !r.Clusters[0].Compatible || r.Clusters[1].Compatible {
		t.Errorf("compatible %v, by cluster %v and %v", r.Compatible, r.Clusters[0].Compatible, r.Clusters[1].Compatible)
	}
	for i, j := range r.Jobs {
		if (j.Slot != nil) != (i < 2) {
			t.Errorf("job %d: schedule %v", i, j.Slot)
		}
	}
	if a := r.Jobs[0]; a.Slot == nil || a.With != Microseconds(a.Slot.Period) {
		t.Errorf("a takes %v, not the period of its schedule, %v", a.With, a.Slot)
	}
	for _, want := range []string{"schedule of a and b, with 1.03 % of slack", "a and b fit: start b", "c and d do not fit on down"} {
		if !strings.Contains(r.Text(), want) {
			t.Errorf("no %q in\n%s", want, r.Text())
		}
	}
}

// b has no rate, and neither has up: b sends through up as fast as through down.
func TestLinksWithoutRate(t *testing.T) {
	links := []Link{{Name: "up", Jobs: []string{"a", "b"}}, {Name: "down", Capacity: 10 * units.Gbps, Jobs: []string{"b", "c"}}}
	r := answer(t, Options{Links: links}, "a=100ms:50ms", "b=100ms:50ms", "c=100ms:60ms@10Gbps")
	for i, j := range r.Jobs {
		if !about(j.Alone, 100*ms) || !about(j.Fair, 150*ms) {
			t.Errorf("job %d: alone %v and fair %v, want 100 and 150 ms", i, j.Alone, j.Fair)
		}
	}
	if r.Links[0].Gbps != 10 {
		t.Errorf("up has %v Gb/s", r.Links[0].Gbps)
	}
	// Without any rate there is none to say.
	if r = answer(t, Options{}, "a=100ms:50ms", "b=100ms:50ms"); r.Links[0].Gbps != 0 || !about(r.Jobs[0].Fair, 150*ms) || !strings.Contains(r.Text(), "any") {
		t.Errorf("%+v, fair %v", r.Links[0], r.Jobs[0].Fair)
	}
}

func TestAdviceCountsRates(t *testing.T) {
	text := answer(t, Options{Capacity: 50 * units.Gbps}, "a=100ms:70ms@25Gbps", "b=100ms:70ms@25Gbps", "c=100ms:70ms@25Gbps").Text()
	for _, want := range []string{"Any two of them fit.", "over the time they send 105.00 % of what the link carries"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if text = answer(t, Options{}, "a=100ms:70ms", "b=100ms:70ms", "c=100ms:70ms").Text(); !strings.Contains(text, "No two of them fit.") {
		t.Errorf("%s", text)
	}
}

// Weights of constant timers do not settle for three jobs, and starts that are worse than
// fair sharing are none to use.
func TestAdviceIsGood(t *testing.T) {
	checkout.SkipSlowRace(t)
	if text := answer(t, Options{}, "a=300ms:100ms", "b=300ms:100ms", "c=300ms:100ms").Text(); strings.Contains(text, "timers") || !strings.Contains(text, "adaptive R_AI, mltcp and csig-share") {
		t.Errorf("three jobs:\n%s", text)
	}
	if text := answer(t, Options{}, "vgg16", "vgg16").Text(); !strings.Contains(text, "unequal timers") || strings.Contains(text, "Do not") {
		t.Errorf("two jobs:\n%s", text)
	}
	r := answer(t, Options{}, "cluster-rotation#a", "bert-8-g3", "vgg19-1400-g3", "wideresnet-800-g3")
	worse := false
	for _, j := range r.Jobs {
		worse = worse || j.With > j.Fair+j.Fair/200
	}
	if !worse || !strings.Contains(r.Text(), "Do not use these starts") {
		t.Errorf("worse %v:\n%s", worse, r.Text())
	}
	if advice := answer(t, Options{}, "vgg16").Advice; advice == nil || len(advice) > 0 {
		t.Errorf("advice for one job: %v, want an empty list", advice)
	}
}

// Periods of a ratio of more than MaxIterations of the fluid model leave the answer.
func TestPeriodsFarApart(t *testing.T) {
	r := answer(t, Options{}, "a=1s:1ms", "b=1ms:10us")
	if r.Compatible || !about(r.Jobs[0].Fair, units.Second) || !about(r.Jobs[1].Fair, ms) {
		t.Errorf("ratio 1,000: %+v", r.Jobs)
	}
	r = answer(t, Options{}, "a=20s:1ms", "b=1ms:100us")
	if r.Jobs[0].Fair != 0 || !strings.Contains(r.Text(), "Iterations of a and b are not predicted: together they make 20001 while the slowest job makes one, more than 6250.") {
		t.Errorf("ratio 20,000:\n%s", r.Text())
	}
}

// In a loop each link's own gap is larger than what the jobs can have together.
func TestGapsOfALoop(t *testing.T) {
	links := []Link{{Name: "up", Jobs: []string{"a", "b"}}, {Name: "down", Jobs: []string{"b", "c"}}, {Name: "across", Jobs: []string{"a", "c"}}}
	r := answer(t, Options{Links: links}, "a=100ms:30ms", "b=100ms:30ms", "c=200ms:30ms")
	own, all := units.Duration(r.Links[0].Gap), units.Duration(r.Clusters[0].Gap)
	if !(all > 0 && all < own) || strings.Count(r.Text(), fmt.Sprintf("yes, by %v", r.Clusters[0].Gap)) != 3 {
		t.Errorf("gaps %v of the link alone and %v of all:\n%s", own, all, r.Text())
	}
}

// Offsets are printed such that they are valid.
func TestPrintedOffsetsAreValid(t *testing.T) {
	r := answer(t, Options{}, "a=100.0034ms:50.0017ms", "b=100.0034ms:50.0017ms")
	if !strings.Contains(r.Text(), "start b 50.0017ms after a") || r.starts()[1] != "50.0017ms" {
		t.Errorf("starts %v:\n%s", r.starts(), r.Text())
	}
	for _, c := range []struct {
		r    circle.Range
		want string
	}{
		{circle.Range{From: 114000603 * units.Nanosecond, To: 141 * ms}, "114.1ms to 141ms"},
		{circle.Range{From: 100001 * us, To: 100003 * us}, "100.001ms to 100.003ms"},
		{circle.Range{From: 7 * ms, To: 7 * ms}, "7ms"},
	} {
		if got := spans([]circle.Range{c.r}); got != c.want {
			t.Errorf("%v to %v: %s, want %s", c.r.From, c.r.To, got, c.want)
		}
	}
}

// Slack is before the first burst. With several bursts, jobs that fit may meet if only the
// periods grow; offsets are looked for anew then.
func TestSchedulesOfSeveralBursts(t *testing.T) {
	for _, args := range [][]string{
		{"a=100ms:20ms+30ms,20ms+30ms", "b=100ms:20ms+20ms,30ms+20ms"},
		{"a=100ms:0ms+10ms,80ms+10ms", "b=100ms:0ms+40ms,0ms+39ms"},
		{"a=1000ms:0ms+10ms,400ms+10ms", "b=500ms:0ms+390ms", "c=1000ms:0ms+5ms,500ms+5ms"},
	} {
		r := answer(t, Options{}, args...)
		for i, j := range r.Jobs {
			if !r.Compatible || j.Slot == nil && r.Clusters[0].NoSchedule == "" {
				t.Fatalf("%v: compatible %v, schedule %v", args, r.Compatible, j.Slot)
			}
			if j.Slot != nil && j.With != Microseconds(j.Slot.Period) {
				t.Errorf("%v: job %d takes %v with the schedule %v", args, i, j.With, j.Slot)
			}
		}
	}
}

// A measured profile says how far its bursts may be off. An answer that this turns says so.
func TestAnswersWithinUncertainty(t *testing.T) {
	file := func(length, off int) string {
		name := filepath.Join(t.TempDir(), "x.json")
		text := fmt.Sprintf(`{"schema": 1, "jobs": [{"name": "a", "periodUs": 100, "bursts": [{"atUs": %d, "lengthUs": %d}], "uncertainty": {"burstsUs": %d}}]}`, 100-length, length, off)
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for _, c := range []struct {
		length, off int
		want        string
	}{
		{48, 3, "They fit only just: not if bursts are longer by as much as the measured profiles may be off (a 3us and a-2 3us)."},
		{52, 3, "a and a-2 would fit if bursts were shorter by as much as the measured profiles may be off (a 3us and a-2 3us)."},
		{48, 1, ""},
		{52, 1, ""},
	} {
		name := file(c.length, c.off)
		text := answer(t, Options{}, name, name).Text()
		if got := strings.Contains(text, "may be off"); got != (c.want != "") || !strings.Contains(text, c.want) {
			t.Errorf("bursts of %d us, %d us off: want %q in\n%s", c.length, c.off, c.want, text)
		}
	}
	p := circle.Profile{Period: 100, Bursts: []circle.Burst{{At: 5, Length: 30}, {At: 38, Length: 60}}}
	for _, by := range []units.Duration{-100, -10, 3, 10, 100} {
		q := circle.Profile{Period: p.Period, Bursts: longer(&p, by)}
		if err := q.Validate(); err != nil {
			t.Errorf("by %d: %v: %v", by, q.Bursts, err)
		}
	}
}

// "50 jobs on 20 links in under 10 s" (issue 17, must show 1), with all that jobs fit adds
// to the solver.
func TestFiftyJobsOnTwentyLinks(t *testing.T) {
	checkout.SkipSlowRace(t)
	var args []string
	o := Options{}
	for i := range 50 {
		args = append(args, fmt.Sprintf("j%d=%dms:%dms@50Gbps", i, []int{100, 150, 200, 300, 120, 240, 600}[i*i%7], 5+i%13))
	}
	for k := range 20 {
		l := Link{Name: fmt.Sprint("l", k)}
		for i := range 3 {
			l.Jobs = append(l.Jobs, fmt.Sprint("j", 2*k+i)) // shares one job with the next link
		}
		o.Links = append(o.Links, l)
	}
	for i := 41; i < 50; i++ {
		o.Links[i%20].Jobs = append(o.Links[i%20].Jobs, fmt.Sprint("j", i))
	}
	begin := time.Now()
	r := answer(t, o, args...)
	text := r.Text()
	if _, err := json.Marshal(r); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("50 jobs on 20 links take %v", took)
	}
	if len(r.Clusters) != 1 || r.Jobs[0].Fair == 0 {
		t.Errorf("%d clusters\n%s", len(r.Clusters), text)
	}
}
