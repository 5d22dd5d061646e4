package measure_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/jitter"
	"github.com/csiglab/csiglab/workloads/pipeline"
	"github.com/csiglab/csiglab/workloads/training"
)

// operations is a sink that keeps operations.
type operations struct{ metrics.Batch }

func (o *operations) Emit(r metrics.Record) {
	o.Operations = append(o.Operations, *r.(*metrics.Operation))
}

// ideal plays a source on links without congestion, and returns the metrics of its job and
// how long it took.
func ideal(t *testing.T, p *plan.Plan, source graph.Source, l graph.Link) (map[string]float64, units.Duration) {
	t.Helper()
	var all operations
	l.Sink = &all
	timeline, err := graph.Ideal(source, 1, l)
	if err != nil {
		t.Fatal(err)
	}
	records := measure.NewRecords(p, nil)
	for _, o := range all.Operations {
		o.Tag.Step++
		records.Consume(&metrics.Batch{Operations: []metrics.Operation{o}})
	}
	records.Consume(totals(p))
	return ofJobs(p, records), timeline.End.Sub(0)
}

// parts are the words for what an iteration is made of.
var parts = []string{"compute", "bubble", "exposed", "skew_wait", "held", "idle"}

// checkSums reports where the steps do not add up to the run, or the parts to the steps.
func checkSums(t *testing.T, name string, got map[string]float64, took units.Duration) {
	t.Helper()
	if all := got["iteration_us.mean.train"] * got["steps_done.train"]; math.Abs(all/took.Microseconds()-1) > 1e-12 {
		t.Errorf("%s: %v steps of %v us are %v us, but the job takes %v", name, got["steps_done.train"], got["iteration_us.mean.train"], all, took)
	}
	shares, times := 0.0, 0.0
	for _, part := range parts {
		if got[part+"_share.train"] < 0 {
			t.Errorf("%s: %s is negative", name, part)
		}
		shares, times = shares+got[part+"_share.train"], times+got[part+"_us.mean.train"]
	}
	if math.Abs(shares-1) > 1e-12 || math.Abs(times/got["iteration_us.mean.train"]-1) > 1e-12 {
		t.Errorf("%s: the parts are %v of the steps, and %v us of %v", name, shares, times, got["iteration_us.mean.train"])
	}
}

// With free messages a pipeline of p stages and m microbatches waits for its own stages in
// (p-1)/(m+p-1) of the time, with v chunks in (p-1)/(v m+p-1), and for nothing else.
func TestBubbleIsThatOfThePipeline(t *testing.T) {
	for _, c := range []struct {
		kind                         pipeline.Kind
		stages, microbatches, chunks int
	}{{pipeline.OneFOneB, 8, 56, 1}, {pipeline.OneFOneB, 4, 2, 1}, {pipeline.GPipe, 4, 8, 1}, {pipeline.Interleaved, 4, 8, 2}} {
		source, err := pipeline.New(pipeline.Config{
			Schedule: c.kind, Stages: c.stages, Microbatches: c.microbatches, Chunks: c.chunks, Steps: 3,
			Forward: 10 * units.Microsecond, Backward: 20 * units.Microsecond, Message: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("%v, %d stages, %d microbatches", c.kind, c.stages, c.microbatches)
		p := withJobs(t, metrics.JobInfo{Name: "train", Ranks: make([]int32, c.stages), Steps: 3, PerStage: 1})
		got, took := ideal(t, p, source, graph.Link{})
		checkSums(t, name, got, took)
		want := float64(c.stages-1) / float64(c.chunks*c.microbatches+c.stages-1)
		if bubble := got["bubble_share.train"]; math.Abs(bubble-want) > 1e-12 || math.Abs(got["compute_share.train"]+want-1) > 1e-12 {
			t.Errorf("%s: a bubble of %v, want %v; %v", name, bubble, want, got)
		}
	}
}

// Steps of a model overlap: stages go on to the next step while others reduce their
// gradients. They add up all the same. What ranks wait for the network is no bubble, nor is
// what they wait for a late rank of their own stage.
func TestIterationsAddUpWhereStepsOverlap(t *testing.T) {
	config := training.Config{
		Model:    training.Model{Layers: 8, Hidden: 256, FFN: 1024, Heads: 8, Sequence: 128, Vocabulary: 1000, Tied: true},
		Parallel: training.Parallel{PP: 4, DP: 4}, MicroBatch: 1, GlobalBatch: 32, Steps: 6,
		Compute:   training.Compute{Forward: 10 * units.Microsecond},
		Gradients: training.Gradients{Embedding: true},
	}
	for name, change := range map[string]func(c *training.Config){
		"even":      func(*training.Config) {},
		"jitter":    func(c *training.Config) { c.Jitter = jitter.Config{Variation: 0.1} },
		"straggler": func(c *training.Config) { c.Jitter.Stragglers = []jitter.Straggler{{Rank: 3, Slowdown: 1}} },
	} {
		c := config
		change(&c)
		source, err := training.New(c)
		if err != nil {
			t.Fatal(err)
		}
		info := metrics.JobInfo{Name: "train", Ranks: make([]int32, source.Ranks()), Steps: 6, PerStage: source.(*training.Source).PerStage()}
		if info.PerStage != 4 {
			t.Fatalf("%d ranks of a stage, want 4", info.PerStage)
		}
		p := withJobs(t, info)
		free, took := ideal(t, p, source, graph.Link{})
		checkSums(t, name+", free", free, took)
		slow, took := ideal(t, p, source, graph.Link{Rate: 100 * units.Gbps, Latency: 2 * units.Microsecond})
		checkSums(t, name+", slow", slow, took)
		even := name == "even"
		if bubble := free["bubble_share.train"]; even && math.Abs(bubble-3./11) > 1e-12 {
			t.Errorf("a bubble of %v, want 3/11", bubble)
		}
		if skew := free["skew_wait_share.train"]; even != (skew == 0) || name == "straggler" && skew < 0.1 {
			t.Errorf("%s: ranks wait %v of the time for late ranks of their stage", name, skew)
		}
		if free["exposed_share.train"] != 0 || slow["exposed_share.train"] < slow["bubble_share.train"] {
			t.Errorf("%s: ranks wait %v of the time for free messages, and %v for slow ones; the bubble is %v", name, free["exposed_share.train"], slow["exposed_share.train"], slow["bubble_share.train"])
		}
	}
}
