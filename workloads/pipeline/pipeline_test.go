package pipeline_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/jitter"
	"github.com/csiglab/csiglab/workloads/pipeline"
)

// base is a pipeline whose backward pass takes twice as long as the forward pass.
func base(kind pipeline.Kind, p, m, v int) pipeline.Config {
	return pipeline.Config{
		Schedule: kind, Stages: p, Microbatches: m, Chunks: v, Steps: 1, Message: 1,
		Forward: 840 * units.Microsecond, Backward: 840 * units.Microsecond, Weight: 840 * units.Microsecond,
	}
}

// free is communication that takes no time.
var free = graph.Link{}

func play(t *testing.T, c pipeline.Config, l graph.Link) *graph.Timeline {
	t.Helper()
	s, err := pipeline.New(c)
	if err != nil {
		t.Fatal(err)
	}
	line, err := graph.Ideal(s, 1, l)
	if err != nil {
		t.Fatalf("%s, p %d, m %d, v %d: %v", c.Schedule, c.Stages, c.Microbatches, c.Chunks, err)
	}
	return line
}

// bubble returns the time in which a stage is idle, as a fraction of its compute time.
func bubble(t *testing.T, c pipeline.Config) float64 {
	t.Helper()
	work := float64(c.Microbatches) * float64(c.Forward+c.Backward+c.Weight)
	return float64(play(t, c, free).End)/work - 1
}

// Bubble over ideal time is (p-1)/m, and (p-1)/(v m) interleaved (Narayanan et al., SC 2021,
// sections 2.2.1 and 2.2.2). The first four vectors are those of the reference.
func TestBubble(t *testing.T) {
	for _, test := range []struct {
		kind    pipeline.Kind
		p, m, v int
		want    float64
	}{
		{pipeline.OneFOneB, 4, 8, 1, 0.375},
		{pipeline.OneFOneB, 8, 64, 1, 0.109375},
		{pipeline.OneFOneB, 16, 16, 1, 0.9375},
		{pipeline.Interleaved, 16, 128, 8, 15.0 / (8 * 128)}, // 0.0146
		{pipeline.GPipe, 4, 8, 1, 0.375},
		{pipeline.GPipe, 8, 64, 1, 0.109375},
		{pipeline.GPipe, 16, 16, 1, 0.9375},
		{pipeline.Interleaved, 4, 8, 1, 0.375},
		{pipeline.Interleaved, 4, 8, 2, 3.0 / 16},
		{pipeline.Interleaved, 4, 4, 2, 3.0 / 8},
		{pipeline.Interleaved, 2, 2, 7, 1.0 / 14},
		{pipeline.Interleaved, 8, 32, 3, 7.0 / 96},
		{pipeline.OneFOneB, 5, 3, 1, 4.0 / 3},
	} {
		if got := bubble(t, base(test.kind, test.p, test.m, test.v)); got < test.want*0.99 || got > test.want*1.01 {
			t.Errorf("%s, p %d, m %d, v %d: bubble %.5f, want %.5f", test.kind, test.p, test.m, test.v, got, test.want)
		}
	}
}

// With the times of forward, backward and weights equal, ZB-H1 has a third of the bubble of
// 1F1B: (p-1)/(3m) (Qi et al., ICLR 2024, section 2.1 and table 2: (p-1)(TF + TB - TW)).
func TestBubbleOfZeroBubble(t *testing.T) {
	for p := 2; p <= 12; p++ {
		for _, m := range []int{p, p + 1, 2 * p, 5 * p} {
			want := float64(p-1) / float64(3*m)
			if got := bubble(t, base(pipeline.ZeroBubble, p, m, 1)); got < want*0.99 || got > want*1.01 {
				t.Errorf("p %d, m %d: bubble %.5f, want %.5f", p, m, got, want)
			}
		}
	}
}

// No schedule gets stuck, and its programs keep their promises, whatever the numbers are.
// Forward and backward passes of all relations have the same bubble.
func TestEverySmallPipeline(t *testing.T) {
	most := 7
	if checkout.Long(t) || checkout.SlowRace(t) {
		most = 4
	}
	played := 0
	for p := 2; p <= most; p++ {
		for m := 1; m <= 2*most; m++ {
			for v := 1; v <= 3; v++ {
				for kind := pipeline.OneFOneB; kind <= pipeline.ZeroBubble; kind++ {
					c := base(kind, p, m, v)
					c.Steps = 2
					c.Backward *= units.Duration(1 + (p+m)%3)
					s, err := pipeline.New(c)
					if err != nil {
						continue
					}
					played++
					name := fmt.Sprintf("%s, p %d, m %d, v %d", kind, p, m, v)
					if err := errors.Join(graph.Check(s, 1), graph.CheckFences(s, 1)); err != nil {
						t.Errorf("%s: %v", name, err)
					}
					line := play(t, c, free)
					if kind != pipeline.ZeroBubble {
						step := float64(m) * float64(c.Forward+c.Backward+c.Weight) * (1 + float64(p-1)/float64(m*v))
						if got := float64(line.End) / 2; got > step*1.01 || got < step*0.99 {
							t.Errorf("%s: a step takes %.3f of its time with a bubble of (p-1)/(v m)", name, got/step)
						}
					}
					if want := units.Size(2 * 2 * (p*v - 1) * m); line.Bytes != want {
						t.Errorf("%s: %d bytes, want %d: one there and one back over each boundary in each of two steps", name, line.Bytes, want)
					}
				}
			}
		}
	}
	if played < 90 {
		t.Errorf("%d pipelines played, want most of the grid", played)
	}
}

// One microbatch goes through all stages and back: the time is that of its passes and
// messages.
func TestOneMicrobatch(t *testing.T) {
	c := base(pipeline.OneFOneB, 5, 1, 1)
	c.Message = 1_000_000
	l := graph.Link{Rate: 100 * units.Gbps, Latency: 3 * units.Microsecond}
	want := units.Time(5*(c.Forward+c.Backward+c.Weight) + 8*(80+3)*units.Microsecond)
	if got := play(t, c, l).End; got != want {
		t.Errorf("it ends at %v, want %v: five stages, eight messages of 80 us and 3 us of latency", got, want)
	}
}

// A player holds a few operations of each rank, however long the job is: what lies behind a
// pass is not expanded before the pass is complete.
func TestLiveOperations(t *testing.T) {
	c := base(pipeline.Interleaved, 8, 64, 4)
	c.Steps = 20
	line := play(t, c, graph.Link{Rate: 100 * units.Gbps, Latency: units.Microsecond})
	if most := 5 * c.Stages; line.Live > most {
		t.Errorf("%d operations are live at a time, want at most %d for %d stages (of %d in all)", line.Live, most, c.Stages, line.Operations)
	}
}

// A straggler of 20 % in one stage makes the pipeline as slow as this stage; its seed
// changes times and nothing else.
func TestStragglerAndSeed(t *testing.T) {
	c := base(pipeline.OneFOneB, 4, 64, 1)
	even := play(t, c, free).End
	c.Jitter.Stragglers = []jitter.Straggler{{Rank: 2, Slowdown: 0.2}}
	slow := play(t, c, free).End
	if got := float64(slow) / float64(even); got < 1.15 || got > 1.2 {
		t.Errorf("a straggler of 20 %% makes the step %.3f times as long, want 1.15 to 1.2", got)
	}
	c.Jitter.Variation = 0.05
	s, err := pipeline.New(c)
	if err != nil {
		t.Fatal(err)
	}
	var ends []units.Time
	for _, seed := range []uint64{1, 1, 2} {
		line, err := graph.Ideal(s, seed, free)
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, line.End)
	}
	if ends[0] != ends[1] || ends[0] == ends[2] {
		t.Errorf("seeds 1, 1 and 2 end at %v, want the same and another", ends)
	}
}

func ExampleMessageSize() {
	fmt.Println(pipeline.MessageSize(1, 8192, 16384, 2, 8))
	// Output: 33.554432MB
}
