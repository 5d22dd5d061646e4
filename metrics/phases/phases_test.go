package phases_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/phases"
)

// job is a program that computes and sends, again and again.
type job struct {
	compute, send []float64 // in turn
	rate          []float64 // of the sends
	jitter        float64   // relative standard deviation of computing
	iterations    int
}

// series returns the mean rate of each window, and the mean period from burst to burst.
func (j *job) series(random *rand.Rand) (rates []float64, period float64) {
	at, first, last := 0.0, 0.0, 0.0
	for i := range j.iterations {
		for k := range j.compute {
			at += j.compute[k] * (1 + j.jitter*random.NormFloat64())
			if k == 0 && i == 0 {
				first = at
			}
			if k == 0 {
				last = at
			}
			for end := at + j.send[k]; at < end; {
				w := int(at)
				for len(rates) <= w {
					rates = append(rates, 0.002) // ACKs
				}
				next := min(end, float64(w+1))
				rates[w] += (next - at) * j.rate[k]
				at = next
				if float64(w+1) <= at {
					at = max(at, float64(w+1))
				}
			}
		}
	}
	return rates, (last - first) / float64(j.iterations-1)
}

// The figures of a synthetic series are found, within what their errors say.
func TestFind(t *testing.T) {
	for _, c := range []struct {
		name string
		job  job
	}{
		{"VGG16", job{compute: []float64{141}, send: []float64{114}, rate: []float64{1}, iterations: 40}},
		{"edges inside windows", job{compute: []float64{50.37}, send: []float64{47.21}, rate: []float64{0.9}, iterations: 30}},
		{"three periods", job{compute: []float64{30}, send: []float64{10}, rate: []float64{1}, iterations: 3}},
		{"short bursts", job{compute: []float64{90}, send: []float64{5}, rate: []float64{1}, iterations: 20}},
		{"long bursts", job{compute: []float64{20}, send: []float64{90}, rate: []float64{1}, iterations: 20}},
		{"jitter", job{compute: []float64{141}, send: []float64{114}, rate: []float64{1}, jitter: 0.03, iterations: 100}},
		{"two bursts", job{compute: []float64{60, 20}, send: []float64{30, 15}, rate: []float64{1, 0.7}, iterations: 25}},
		{"two bursts, the longer pause inside", job{compute: []float64{20, 70}, send: []float64{30, 15}, rate: []float64{1, 0.7}, iterations: 25}},
		{"short bursts and jitter", job{compute: []float64{90}, send: []float64{5}, rate: []float64{1}, jitter: 0.02, iterations: 40}},
		{"shorter bursts and jitter", job{compute: []float64{96.3}, send: []float64{3.9}, rate: []float64{1}, jitter: 0.03, iterations: 50}},
		{"long bursts and jitter", job{compute: []float64{20}, send: []float64{90}, rate: []float64{1}, jitter: 0.1, iterations: 60}},
		{"a short pause", job{compute: []float64{100, 1}, send: []float64{30, 40}, rate: []float64{1, 1}, iterations: 25}},
	} {
		rates, period := c.job.series(rand.New(rand.NewPCG(1, 2)))
		p, err := phases.Find(rates)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		want := c.job
		if c.name == "a short pause" { // it is one burst of both
			want.compute, want.send, want.rate = []float64{100}, []float64{71}, []float64{70. / 71}
		}
		if math.Abs(p.Period.Mean-period) > 0.3/float64(c.job.iterations-1) || math.Abs(p.Lag-period) > max(1, 0.03*period) {
			t.Errorf("%s: period %+v, by autocorrelation %v; want %v", c.name, p.Period, p.Lag, period)
		}
		if len(p.Bursts) != len(want.send) || len(p.Begins) != c.job.iterations || p.Alike != c.job.iterations {
			t.Errorf("%s: %d bursts, %d iterations, %d alike", c.name, len(p.Bursts), len(p.Begins), p.Alike)
			continue
		}
		at := 0.0
		for k, b := range p.Bursts {
			at += want.compute[k]
			if math.Abs(b.At.Mean-at) > max(0.3, 4*b.At.Error) || math.Abs(b.Length.Mean-want.send[k]) > 0.3 || math.Abs(b.Rate.Mean-want.rate[k]) > 0.01 {
				t.Errorf("%s: burst %d is %+v; want %v from %v on at %v", c.name, k, b, want.send[k], at, want.rate[k])
			}
			at += want.send[k]
		}
		if end := p.Bursts[len(p.Bursts)-1]; math.Abs(end.At.Mean+end.Length.Mean-p.Period.Mean) > 1e-9*period {
			t.Errorf("%s: the last burst ends at %v of %v", c.name, end.At.Mean+end.Length.Mean, p.Period.Mean)
		}
		if c.job.jitter > 0 && math.Abs(p.Period.Error/spread(&c.job)-1) > 0.3 {
			t.Errorf("%s: the standard error of the period is %v, want about %v", c.name, p.Period.Error, spread(&c.job))
		}
	}
}

// spread returns the standard error of the mean period of a job.
func spread(j *job) float64 {
	return j.jitter * j.compute[0] / math.Sqrt(float64(j.iterations-1))
}

// Random programs, most of them with bursts that are short against their jitter: no period is
// a multiple or a fraction of the true one, and two errors to either side hold the true
// values in about 95 of 100 cases.
func TestErrorsAreHonest(t *testing.T) {
	checkout.SkipSlowRace(t)
	for _, jitter := range []float64{0, 0.01, 0.03, 0.05, 0.1} {
		random := rand.New(rand.NewPCG(7, uint64(jitter*1000)))
		found, wrong, period, burst := 0, 0, 0, 0
		for range 300 {
			compute, send := 10+random.Float64()*random.Float64()*300, 0.4+random.Float64()*random.Float64()*100
			j := job{compute: []float64{compute}, send: []float64{send}, rate: []float64{1}, jitter: jitter, iterations: 3 + random.IntN(60)}
			rates, measured := j.series(random)
			p, err := phases.Find(rates)
			if errors.Is(err, phases.ErrAperiodic) && jitter > 0 {
				continue // bursts that are shorter than their times vary
			} else if err != nil {
				t.Fatalf("%+v: %v", j, err)
			}
			found++
			if math.Abs(p.Period.Mean-measured) > max(1, 0.05*measured) || len(p.Bursts) != 1 {
				wrong++
			}
			if math.Abs(p.Period.Mean-compute-send) <= 2*p.Period.Error {
				period++
			}
			if b := p.Bursts[0]; math.Abs(b.At.Mean-compute) <= 2*b.At.Error && math.Abs(b.Length.Mean-send) <= 2*b.Length.Error {
				burst++
			}
		}
		if found < 200 || wrong > found/100 || period < found*90/100 || burst < found*90/100 {
			t.Errorf("jitter %v: of %d found, %d wrong; within the errors: %d periods, %d bursts", jitter, found, wrong, period, burst)
		}
	}
}

// A burst that fills no window has no known rate. Its length is known to a window.
func TestShortBursts(t *testing.T) {
	for _, send := range []float64{0.3, 0.5, 1, 1.5, 2.2} {
		j := job{compute: []float64{33.7}, send: []float64{send}, rate: []float64{1}, iterations: 30}
		rates, _ := j.series(rand.New(rand.NewPCG(1, 2)))
		p, err := phases.Find(rates)
		if err != nil || len(p.Bursts) != 1 {
			t.Errorf("%v windows: %+v, %v", send, p, err)
			continue
		}
		b := p.Bursts[0]
		if math.Abs(b.Length.Mean-send) > 2*b.Length.Error || 2*b.Length.Error > 1 || math.Abs(b.Length.Mean*b.Rate.Mean-send) > 0.1*send || !math.IsNaN(b.Rate.Error) ||
			math.Abs(p.Period.Mean-33.7-send) > 2*p.Period.Error {
			t.Errorf("%v windows: %+v of period %+v", send, b, p.Period)
		}
	}
}

// One sample says nothing about its error.
func TestErrorOfOneSample(t *testing.T) {
	// The first of two whole iterations has a second burst, so that only the other one counts.
	rates := make([]float64, 220)
	for _, at := range []int{0, 30, 100, 200} {
		copy(rates[at:], []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1})
	}
	p, err := phases.Find(rates)
	if err != nil || p.Alike != 2 || len(p.Bursts) != 1 || !math.IsNaN(p.Bursts[0].Length.Error) || !math.IsNaN(p.Bursts[0].At.Error) || !(p.Period.Error > 0) {
		t.Errorf("%+v, %v; want one burst with unknown errors", p, err)
	}
}

// A job sends only in a part of the series, and a trickle before it and behind it.
func TestFindsWhereItRuns(t *testing.T) {
	j := job{compute: []float64{51.3}, send: []float64{21.4}, rate: []float64{1}, jitter: 0.02, iterations: 10}
	rates, period := j.series(rand.New(rand.NewPCG(1, 2)))
	trickle := slices.Repeat([]float64{0.01, 0}, 2000)
	p, err := phases.Find(slices.Concat(trickle, rates, trickle))
	if err != nil || math.Abs(p.Period.Mean-period) > 0.1 || len(p.Begins) != 10 || p.Correlation < 0.8 {
		t.Errorf("%+v, %v; want a period of %v", p, err, period)
	}
}

// A long series is joined for its autocorrelation and keeps its edges.
func TestLongSeries(t *testing.T) {
	checkout.SkipSlowRace(t)
	j := job{compute: []float64{30000.4}, send: []float64{20000.3}, rate: []float64{1}, iterations: 45}
	rates, period := j.series(rand.New(rand.NewPCG(1, 2)))
	if len(rates) < phases.MaxWindows {
		t.Fatalf("%d windows are not many", len(rates))
	}
	p, err := phases.Find(rates)
	if err != nil || math.Abs(p.Period.Mean-period) > 0.01 || math.Abs(p.Bursts[0].Length.Mean-20000.3) > 0.3 {
		t.Errorf("%+v, %v; want a period of %v", p, err, period)
	}
}

func TestNoPattern(t *testing.T) {
	two := job{compute: []float64{30}, send: []float64{20}, rate: []float64{1}, iterations: 2}
	short, _ := two.series(rand.New(rand.NewPCG(1, 2)))
	random := rand.New(rand.NewPCG(3, 4))
	var wild []float64
	for len(wild) < 20000 {
		on, off := 5+random.ExpFloat64()*200, 5+random.ExpFloat64()*200
		wild = append(wild, make([]float64, int(off))...)
		for range int(on) {
			wild = append(wild, 1)
		}
	}
	always := make([]float64, 100)
	for i := range always {
		always[i] = 1
	}
	for _, c := range []struct {
		name  string
		rates []float64
		want  error
	}{
		{"nothing", make([]float64, 100), phases.ErrIdle}, {"no windows", nil, phases.ErrIdle},
		{"two periods", short, phases.ErrShort}, {"always on", always, phases.ErrShort}, {"random", wild, phases.ErrAperiodic},
	} {
		if p, err := phases.Find(c.rates); !errors.Is(err, c.want) {
			t.Errorf("%s: %+v, %v; want %v", c.name, p, err, c.want)
		}
	}
}
