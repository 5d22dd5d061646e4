package sharing

import (
	"math"
	"testing"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
)

// equalPair is two equal jobs on a link, and the phase differences of a run that begins at 1.
func equalPair(slope, intercept, weight float64) (a, b *runfolder.Job, p *Pair) {
	job := func(w float64) *runfolder.Job {
		return &runfolder.Job{Shares: []runfolder.Share{{Ports: 1}}, Prediction: &runfolder.Prediction{ComputeUS: 200, CommunicationUS: 100, Slope: slope, Intercept: intercept, Weight: w}}
	}
	return job(weight), job(1), &Pair{DifferenceUS: reading.Values{1, 2, 3, 4, 5, 6, 7, 8}}
}

// "aT=100, D0=1, S=1.75, I=0.25: 1, 7.477, 39.264, 83.797, 97.64, 99.699, 99.962, 99.995" for
// MLTCP; with weights 2 : 1 "distance halves each time".
func TestRecurrence(t *testing.T) {
	for _, c := range []struct {
		slope, intercept, weight float64
		want                     []float64
	}{
		{1.75, 0.25, 1, []float64{1, 7.477, 39.264, 83.797, 97.64, 99.699, 99.962, 99.995}},
		{0, 1, 2, []float64{1, 50.5, 75.25, 87.625, 93.8125, 96.90625, 98.453125, 99.2265625}},
		{0, 1, 1, nil}, {0, 1, 0.5, nil},
	} {
		a, b, p := equalPair(c.slope, c.intercept, c.weight)
		p.recur(a, b)
		if len(p.RecurrenceUS) != len(c.want) {
			t.Fatalf("%+v: %v", c, p.RecurrenceUS)
		}
		for i, want := range c.want {
			if math.Abs(p.RecurrenceUS[i]-want) > 6e-4*want {
				t.Errorf("%+v: iteration %d: %v, want %v", c, i, p.RecurrenceUS[i], want)
			}
		}
	}
	a, b, p := equalPair(1.75, 0.25, 1)
	b.Prediction.CommunicationUS = 110
	if p.recur(a, b); p.RecurrenceUS != nil {
		t.Errorf("unequal jobs have the recurrence %v", p.RecurrenceUS)
	}
}

// The difference follows the phases through half a period, and ends when one job does.
func TestPhaseDifference(t *testing.T) {
	none := &runfolder.Job{}
	p := pairOf(beginning("a", 0, 100, 200, 300, 400, 500, 600), beginning("b", 10, 130, 248, 355, 460), none, none)
	if p == nil || p.A != "a" || len(p.Steps) != 5 {
		t.Fatalf("%+v", p)
	}
	for i, want := range []float64{10, 30, 48, 55, 60} {
		if p.DifferenceUS[i] != want {
			t.Errorf("iteration %d: %v, want %v", i+1, p.DifferenceUS[i], want)
		}
	}
	if p := pairOf(beginning("a", 10, 130, 250), beginning("b", 0, 100, 200), none, none); p == nil || p.A != "b" || p.DifferenceUS[2] != 50 {
		t.Errorf("the job ahead is not first: %+v", p)
	}
	if slow := (&Job{MedianUS: 106}); equalPeriod(beginning("a", 0), slow) {
		t.Error("periods that differ by 6 % are equal")
	}
}
