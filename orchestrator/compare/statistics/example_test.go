package statistics_test

import (
	"fmt"

	"github.com/csiglab/csiglab/orchestrator/compare/statistics"
)

// Completion times in µs of eight seeds. Up to 5 % more would be no matter.
func ExampleJudge() {
	pairs := []statistics.Pair{
		{Baseline: 200, Candidate: 223}, {Baseline: 210, Candidate: 229}, {Baseline: 195, Candidate: 216}, {Baseline: 240, Candidate: 262},
		{Baseline: 205, Candidate: 227}, {Baseline: 199, Candidate: 218}, {Baseline: 222, Candidate: 247}, {Baseline: 208, Candidate: 229},
	}
	j := statistics.Judge(pairs, statistics.Plan{Delta: 0.05})
	fmt.Printf("%.1f %% slower, %.1f to %.1f, p = %.3f\n", 100*j.Effect, 100*j.Low, 100*j.High, j.P)
	fmt.Println("worse:", j.Outcome == statistics.Worse)

	j = statistics.Judge(pairs[:5], statistics.Plan{Delta: 0.05})
	fmt.Println("undecided:", j.Outcome == statistics.Undecided, j.Reason)
	// Output:
	// 10.2 % slower, 9.3 to 11.1, p = 0.004
	// worse: true
	// undecided: true 5 pairs cannot decide, whatever the values are: 6 or more can
}
