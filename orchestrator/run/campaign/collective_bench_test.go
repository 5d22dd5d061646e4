package campaign

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/experiment"
)

// fatTree128 is the fabric of BenchmarkAllReduce: 128 hosts, non-blocking.
const fatTree128 = `
topology: {k_ary: {k: 8, rate: 100Gbps, delay: 1us}}
`

// ringMatrix returns an htsim connection matrix with the transfers of ring all-reduces, in groups of
// ranks that follow each other: a flow for each step of each rank, started by a trigger when the
// rank has received that of the step before.
func ringMatrix(groups, ranks int, piece int) string {
	steps := 2 * (ranks - 1)
	var text, triggers strings.Builder
	number := func(rank, step int) int { return rank*steps + step + 1 }
	for g := range groups {
		for i := range ranks {
			rank, next, previous := g*ranks+i, g*ranks+(i+1)%ranks, g*ranks+(i+ranks-1)%ranks
			for step := range steps {
				start := "start 0"
				if step > 0 {
					start = fmt.Sprintf("trigger %d", number(previous, step-1))
				}
				fmt.Fprintf(&text, "%d->%d id %d %s size %d", rank, next, number(rank, step), start, piece)
				if step < steps-1 {
					fmt.Fprintf(&text, " recv_done_trigger %d", number(rank, step))
					fmt.Fprintf(&triggers, "trigger id %d oneshot\n", number(rank, step))
				}
				text.WriteByte('\n')
			}
		}
	}
	hosts := groups * ranks
	return fmt.Sprintf("Nodes %d\nConnections %d\nTriggers %d\n", hosts, hosts*steps, hosts*(steps-1)) + text.String() + triggers.String()
}

// allReduces returns an experiment of a job whose 128 ranks, in 8 groups, reduce 16 MB by rings in
// chunks of 1 MB, and one of a connection matrix with the same transfers.
func allReduces(t testing.TB) (job, matrix *experiment.Experiment) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ring.cm")
	if err := os.WriteFile(file, []byte(ringMatrix(8, 16, 1_000_000)), 0o644); err != nil {
		t.Fatal(err)
	}
	job = parseText(t, "schema: 1\nname: job\n"+fatTree128+"jobs: [{name: job, collective: {kind: all_reduce, algorithm: ring, size: 16MB, chunk: 1MB, groups: 8}}]\n").Variants[0].Experiment
	matrix = parseText(t, "schema: 1\nname: matrix\n"+fatTree128+"workload: {start_jitter: 0s, file: "+file+"}\n").Variants[0].Experiment
	return job, matrix
}

// BenchmarkAllReduce reports the CPU time of a ring all-reduce of 128 ranks in 8 groups as a job over
// that of a connection matrix with the same transfers, and the same of when they finish.
func BenchmarkAllReduce(b *testing.B) {
	job, matrix := allReduces(b)
	var finished [2]float64
	inTurn(b, "cpu-job/matrix", cpuSeconds,
		func() cost { c := costOf(b, job, false, 1); finished[0] = c.end; return c },
		func() cost { c := costOf(b, matrix, false, 1); finished[1] = c.end; return c })
	b.ReportMetric(finished[0]/finished[1], "finish-job/matrix")
}

// trainingStep is one step of a model with the shape of GPT-3 Medium (355 million parameters; Brown et
// al. 2020, table 2.1) on servers with 8 NICs: tensor parallelism in the servers, 8 stages of a
// pipeline, and the rest of the ranks for data parallelism.
func trainingStep(servers int) string {
	return fmt.Sprintf(`
schema: 1
name: training-%[2]d
topology: {rail: {servers: %[1]d, nics: 8, group: 16, spines: 16, rate: 400Gbps, delay: 1us}}
jobs:
  - name: gpt
    model:
      {layers: 24, hidden: 1024, ffn: 4096, heads: 16, sequence: 2048, vocabulary: 50257, tied: true,
       parallel: {tp: 8, pp: 8}, microbatches: 16, bucket: 25MB}
`, servers, 8*servers)
}

// BenchmarkTrainingStep reports what BenchmarkPermutation128 does, and CPU seconds, of one step of a
// training job of 256 ranks, and of 1024.
func BenchmarkTrainingStep(b *testing.B) {
	for _, servers := range []int{32, 128} {
		b.Run(fmt.Sprint(8*servers), func(b *testing.B) {
			e := parseText(b, trainingStep(servers)).Variants[0].Experiment
			var total tally
			for b.Loop() {
				total.run(b, e, 1)
			}
			total.report(b)
			b.ReportMetric(total.cpu/float64(total.runs), "cpu-s")
		})
	}
}
