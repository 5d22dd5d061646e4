// Package jitter varies the compute times of a job: a random factor for each computation,
// ranks that are slower than the others, and pauses. Every number depends on the seed, the
// rank and the step alone.
package jitter

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
)

// Config says how compute times vary. The zero value leaves them as they are. It is plain
// data.
type Config struct {
	// Variation is the coefficient of variation of a compute time: its standard deviation
	// divided by its mean. Times are lognormal, and their mean is the time without jitter.
	// From 0, which is no jitter, to MaxVariation. Public measurements are rare; 0.01 to 0.05
	// is usual in simulations.
	Variation  float64
	Stragglers []Straggler
	Pauses     []Pause
}

// MaxVariation is the largest Config.Variation.
const MaxVariation = 10

// MaxSlowdown is the largest Straggler.Slowdown.
const MaxSlowdown = 1000

// Straggler is a rank that is slower than the others in every step.
type Straggler struct {
	Rank int
	// Slowdown is what is added to a compute time, as a fraction of it: 0.2 is 20 %. Not
	// negative.
	Slowdown float64
}

// Pause is a time in which a rank does nothing, once, before the first computation of a
// step.
type Pause struct {
	Rank, Step int
	Duration   units.Duration // positive
}

// Validate checks the configuration for a job of so many ranks and steps. Its errors are of
// type *graph.FieldError, with fields jitter, stragglers[i] and pauses[i].
func (c *Config) Validate(ranks, steps int) error {
	if !(c.Variation >= 0 && c.Variation <= MaxVariation) {
		return graph.Fault("jitter", "%v, want 0 to %d", c.Variation, MaxVariation)
	}
	for i, s := range c.Stragglers {
		switch at := fmt.Sprintf("stragglers[%d]", i); {
		case s.Rank < 0 || s.Rank >= ranks:
			return graph.Fault(at+".rank", "%d, want 0 to %d", s.Rank, ranks-1)
		case !(s.Slowdown >= 0 && s.Slowdown <= MaxSlowdown):
			return graph.Fault(at+".slowdown", "%v, want 0 to %d", s.Slowdown, MaxSlowdown)
		}
	}
	for i, p := range c.Pauses {
		switch at := fmt.Sprintf("pauses[%d]", i); {
		case p.Rank < 0 || p.Rank >= ranks:
			return graph.Fault(at+".rank", "%d, want 0 to %d", p.Rank, ranks-1)
		case p.Step < 0 || p.Step >= steps:
			return graph.Fault(at+".step", "%d, want 0 to %d", p.Step, steps-1)
		case p.Duration <= 0:
			return graph.Fault(at+".duration", "%v is not positive", p.Duration)
		}
	}
	return nil
}

// Clock gives one rank its compute times. It belongs to one goroutine.
type Clock struct {
	seed     uint64
	rank     int
	slow     float64 // 1 without straggler
	mu       float64 // of the factor's logarithm
	sigma    float64
	pauses   []Pause
	pause    units.Duration // not yet taken
	source   rand.PCG
	generate *rand.Rand
}

// NewClock returns the times of a rank. StartStep has to be called before Compute.
func (c *Config) NewClock(seed uint64, rank int) *Clock {
	// A lognormal factor of mean 1 and coefficient of variation v has
	// sigma^2 = ln(1 + v^2) and mu = -sigma^2/2.
	variance := math.Log1p(c.Variation * c.Variation)
	k := &Clock{seed: seed, rank: rank, slow: 1, mu: -variance / 2, sigma: math.Sqrt(variance)}
	k.generate = rand.New(&k.source)
	for _, s := range c.Stragglers {
		if s.Rank == rank {
			k.slow *= 1 + s.Slowdown
		}
	}
	for _, p := range c.Pauses {
		if p.Rank == rank {
			k.pauses = append(k.pauses, p)
		}
	}
	return k
}

// StartStep begins a step. Its random numbers do not depend on those of other steps.
func (k *Clock) StartStep(step int) {
	k.source.Seed(k.seed^0x6a697474, uint64(k.rank)<<32|uint64(step)) // "jitt": a stream of its own
	k.pause = 0
	for _, p := range k.pauses {
		if p.Step == step {
			k.pause += p.Duration
		}
	}
}

// parts is how finely a factor is rounded. Logarithm and exponential function are not equal
// to the last bit on all processors; the rounded factors are.
const parts = 1 << 20

// Compute returns how long a computation takes that takes d without jitter. The first one
// of a step of positive duration also takes the step's pauses.
func (k *Clock) Compute(d units.Duration) units.Duration {
	if d <= 0 {
		return d
	}
	factor := k.slow
	if k.sigma > 0 {
		factor *= math.Exp(float64(k.sigma*k.generate.NormFloat64()) + k.mu)
	}
	if whole := math.Round(factor * parts); whole != parts {
		d = units.Duration(math.Round(math.Min(float64(d)*(whole/parts), 1<<62)))
	}
	d += k.pause
	k.pause = 0
	return d
}
