package phases_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

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
		if c.job.jitter > 0 && math.Abs(p.Period.Error/(0.03*141/math.Sqrt(99))-1) > 0.25 {
			t.Errorf("%s: the standard error of the period is %v, want about %v", c.name, p.Period.Error, 0.03*141/math.Sqrt(99))
		}
	}
}

// A long series is joined for its autocorrelation and keeps its edges.
func TestLongSeries(t *testing.T) {
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
