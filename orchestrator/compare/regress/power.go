package regress

import (
	"context"

	"github.com/csiglab/csiglab/orchestrator/compare/statistics"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
)

// power adds to a verdict the smallest worsening of each metric that the suite finds in nine of ten
// cases, with all its seeds. It ends early with the context.
func (c *Campaign) power(ctx context.Context, d *verdict.Document) error {
	for i, one := range c.cells {
		metrics := d.Experiments[i].Metrics
		for k := range one.rules {
			if k >= len(metrics) || metrics[k].By != byStatistics || metrics[k].Name != one.rules[k].Metric {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			pairs := make([]statistics.Pair, len(metrics[k].Pairs))
			for n, p := range metrics[k].Pairs {
				pairs[n] = statistics.Pair{Baseline: p.Baseline, Candidate: p.Candidate}
			}
			metrics[k].Found = statistics.Finite(statistics.Found(pairs, c.plan(one, &one.rules[k]), one.looks[len(one.looks)-1]))
		}
	}
	return nil
}
