package selftest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/orchestrator/run/campaign"
)

const (
	sameTrace  = "the same trace"
	otherTrace = "another trace"
)

// traces compares the traces of two runs.
func traces(a, b ran) string {
	switch {
	case a.trace == "" || b.trace == "":
		return "a run has no trace"
	case a.trace == b.trace:
		return sameTrace
	}
	return otherTrace
}

// differences names the metrics that two runs do not share, a few of them.
func differences(a, b metrics) string {
	const most = 3
	var differ []string
	for _, name := range slices.Sorted(maps.Keys(union(a, b))) {
		x, inA := a[name]
		y, inB := b[name]
		if inA != inB || x != y {
			differ = append(differ, fmt.Sprintf("%s %s and %s", name, value(x, inA), value(y, inB)))
		}
	}
	switch {
	case len(a) == 0 || len(b) == 0:
		return "a run has no metrics"
	case len(differ) > most:
		return fmt.Sprintf("%s and %d more differ", strings.Join(differ[:most], ", "), len(differ)-most)
	case len(differ) > 0:
		return strings.Join(differ, ", ") + " differ"
	}
	return "the same"
}

func value(v float64, ok bool) string {
	if !ok {
		return "none"
	}
	return text(v, "")
}

func union(a, b metrics) metrics {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

var determinism = basis{"a run is a function of the experiment and the seed", "docs/architecture.md: order, randomness"}

// unmoved returns a check that some overrides of an experiment change nothing, and that
// others do, which control names: without these the check could not fail.
func unmoved(name string, irrelevant, relevant []string, control string) func(context.Context, *bench) ([]Claim, error) {
	return func(ctx context.Context, b *bench) ([]Claim, error) {
		var of [3]ran
		for i, set := range [][]string{nil, irrelevant, relevant} {
			e, err := b.parse(name, set...)
			if err != nil {
				return nil, err
			}
			runs, err := b.run(ctx, e, campaign.Options{})
			if err != nil {
				return nil, err
			}
			of[i] = runs["run"][0]
		}
		return []Claim{
			word("trace", sameTrace, traces(of[0], of[1]), determinism),
			word("all metrics", "the same", differences(of[0].metrics, of[1].metrics), determinism),
			word("trace after "+control, otherTrace, traces(of[0], of[2]), basis{"what matters does move it", "the experiment"}),
		}, nil
	}
}

// again returns a check that the runs with the first two seeds, which are the same, are equal,
// and that the one with the third is another.
func again(seeds [3]uint64) func(context.Context, *bench) ([]Claim, error) {
	return func(ctx context.Context, b *bench) ([]Claim, error) {
		var of [3]ran
		for i, seed := range seeds {
			e, err := b.parse("small", fmt.Sprintf("seeds=[%d]", seed))
			if err != nil {
				return nil, err
			}
			runs, err := b.run(ctx, e, campaign.Options{})
			if err != nil {
				return nil, err
			}
			of[i] = runs["run"][0]
		}
		return []Claim{
			word("trace with the same seed", sameTrace, traces(of[0], of[1]), determinism),
			word("all metrics with the same seed", "the same", differences(of[0].metrics, of[1].metrics), determinism),
			word("trace with another seed", otherTrace, traces(of[0], of[2]), determinism),
		}, nil
	}
}
