package selftest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/csiglab/csiglab/orchestrator/compare/statistics"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
)

const (
	sampled      = "fct_us.mean" // of the experiment small
	sampledSeeds = 40
	draws        = 300 // ways of pairing the runs at random
)

// judged returns a check of the statistics on runs that differ by nothing but their seed:
// each draw pairs them at random. same and slower are factors on the values of the candidate,
// of an equal one and of a slower one.
func judged(same, slower float64) func(context.Context, *bench) ([]Claim, error) {
	return func(ctx context.Context, b *bench) ([]Claim, error) {
		set, err := b.parse("small", fmt.Sprintf("seeds=1..%d", sampledSeeds))
		if err != nil {
			return nil, err
		}
		runs, err := b.run(ctx, set, campaign.Options{})
		if err != nil {
			return nil, err
		}
		var values []float64
		for _, r := range runs["run"] {
			value, ok := r.metrics[sampled]
			if !ok {
				return []Claim{r.some("runs with "+sampled, sampled, "", basis{"all", "docs/reference/metrics.md"})}, nil
			}
			values = append(values, value)
		}
		return count(values, same, slower).claims(), nil
	}
}

// counts are how many of draws had an outcome.
type counts struct {
	falseFails int // of equal candidates at a limit of 0
	covered    int // intervals that hold 0
	passed     int // of equal candidates at a limit of 5 %
	found      int // of slower candidates at a limit of 5 %
}

// level is the probability of a false fail, and of an interval that misses the truth.
const level = 0.05

// count pairs the values at random, draw by draw, and judges each draw.
func count(values []float64, same, slower float64) (n counts) {
	random := rand.New(rand.NewPCG(1, 2)) // fixed: equal values give equal counts
	for range draws {
		random.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
		pairs := func(factor float64) (list []statistics.Pair) {
			for i := 0; i+1 < len(values); i += 2 {
				list = append(list, statistics.Pair{Baseline: values[i], Candidate: factor * values[i+1]})
			}
			return list
		}
		strict := statistics.Plan{Confidence: 1 - level, FalseFail: level}
		lenient := statistics.Plan{Delta: 0.05, Confidence: 1 - level, FalseFail: level}
		j := statistics.Judge(pairs(same), strict)
		if j.Outcome == statistics.Worse {
			n.falseFails++
		}
		if j.Low <= 0 && j.High >= 0 {
			n.covered++
		}
		if statistics.Judge(pairs(same), lenient).Outcome == statistics.NoWorse {
			n.passed++
		}
		if statistics.Judge(pairs(slower), lenient).Outcome == statistics.Worse {
			n.found++
		}
	}
	return n
}

// claims predicts the counts. The error probabilities of the tests are exact whatever the
// noise is, and the draws are independent given the values, so that the counts are binomial.
func (n counts) claims() []Claim {
	const deviations = 4 // beyond which a count lies once in 30,000
	margin := deviations * math.Sqrt(draws*level*(1-level))
	exactLevel := basis{"5 % of 300, and 4 standard deviations of the binomial distribution", "Wilcoxon 1945: exact under exchange of the two sides (docs/reference/references.md, statistics)"}
	power := basis{"at least 95 % of 300", "the noise is below a third of the distance to the limit (docs/how-to/selftest.md)"}
	m := metrics{"falseFails": float64(n.falseFails), "covered": float64(n.covered), "passed": float64(n.passed), "found": float64(n.found)}
	return []Claim{
		m.between("false fails in 300 A/A comparisons", "falseFails", "", 0, math.Floor(draws*level+margin), exactLevel),
		m.between("intervals of these that hold 0", "covered", "", math.Ceil(draws*(1-level)-margin), draws, exactLevel),
		m.between("passes at a limit of 5 %", "passed", "", draws*0.95, draws, power),
		m.between("fails of a candidate 10 % slower", "found", "", draws*0.95, draws, power),
	}
}
