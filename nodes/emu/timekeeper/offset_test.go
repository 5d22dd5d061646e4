package timekeeper

import (
	"math/rand/v2"
	"testing"
	"time"
)

// line is a network and the clock of the machine at its other end.
type line struct {
	random      *rand.Rand
	there, back func() time.Duration // the time that a packet takes
	offset      time.Duration        // of the other clock at time 0
	drift       float64              // how much faster it runs
	jump, by    time.Duration        // when it jumps, and how far
}

// ahead returns how far the other clock is ahead at a time of this one's.
func (l *line) ahead(at time.Duration) time.Duration {
	o := l.offset + time.Duration(l.drift*float64(at))
	if l.jump > 0 && at >= l.jump {
		o += l.by
	}
	return o
}

// measure takes samples, one after the other.
func (l *line) measure(from time.Duration, n int, every time.Duration) (samples []Sample, until time.Duration) {
	at := from
	for range n {
		s := Sample{Sent: at}
		arrives := at + l.there()
		s.Received = arrives + l.ahead(arrives)
		leaves := arrives + time.Duration(l.random.IntN(20_000))
		s.Answered = leaves + l.ahead(leaves)
		s.Returned = leaves + l.back()
		samples, at = append(samples, s), s.Returned+every
	}
	return samples, at
}

// The offset is within the error that the estimate says, whatever the network does, and the
// error is at most half of the least round trip and what the clocks drift meanwhile.
func TestEstimate(t *testing.T) {
	const seed = 7
	random := rand.New(rand.NewPCG(seed, 0))
	jitter := func(least, most time.Duration) func() time.Duration {
		return func() time.Duration {
			d := least + time.Duration(random.Int64N(int64(most-least)))
			if random.IntN(10) == 0 { // a queue
				d += time.Duration(random.Int64N(int64(50 * time.Millisecond)))
			}
			return d
		}
	}
	us := time.Microsecond
	for _, c := range []struct {
		name        string
		there, back func() time.Duration
		offset      time.Duration
		drift       float64
	}{
		{"like both ways", jitter(50*us, 200*us), jitter(50*us, 200*us), 3 * time.Hour, 0},
		{"slow there", jitter(2000*us, 2100*us), jitter(50*us, 100*us), -time.Hour, 0},
		{"slow back", jitter(10*us, 60*us), jitter(900*us, 20000*us), time.Millisecond, 0},
		{"fast clock", jitter(50*us, 200*us), jitter(50*us, 200*us), time.Second, 0.0009},
		{"slow clock", jitter(50*us, 90*us), jitter(70*us, 900*us), -time.Second, -0.0009},
	} {
		l := &line{random: random, there: c.there, back: c.back, offset: c.offset, drift: c.drift}
		for range 200 {
			samples, at := l.measure(time.Duration(random.Int64N(int64(time.Hour))), 64, 0)
			got, ok := Estimate(samples, at)
			if !ok {
				t.Fatalf("%s: no estimate", c.name)
			}
			if off := (got.Ahead - l.ahead(at)).Abs(); off > got.Error {
				t.Errorf("seed %d, %s: the estimate %v is off by %v, it says at most %v", seed, c.name, got.Ahead, off, got.Error)
			}
			least := samples[0].RoundTrip()
			for _, s := range samples {
				least = min(least, s.RoundTrip())
			}
			if most := least/2 + time.Duration(maxDrift*float64(at-samples[0].Sent)) + 1; got.Error > most {
				t.Errorf("seed %d, %s: error %v, want at most %v", seed, c.name, got.Error, most)
			}
		}
	}
}

// After a jump of the other clock, the samples from before count no more.
func TestEstimateAfterAJump(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	way := func() time.Duration { return 50 * time.Microsecond }
	l := &line{random: random, there: way, back: way, offset: time.Second, jump: 500 * time.Millisecond, by: 10 * time.Millisecond}
	samples, at := l.measure(0, 64, 10*time.Millisecond)
	got, _ := Estimate(samples, at)
	if off := (got.Ahead - l.ahead(at)).Abs(); off > got.Error || got.Error > time.Millisecond {
		t.Errorf("the estimate %+v is off by %v", got, off)
	}
}

func TestEstimateWithoutSamples(t *testing.T) {
	if got, ok := Estimate(nil, time.Second); ok {
		t.Errorf("got %+v", got)
	}
}
