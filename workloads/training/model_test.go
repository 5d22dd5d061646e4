package training_test

import (
	"bytes"
	"encoding/gob"
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/jitter"
	"github.com/csiglab/csiglab/workloads/pipeline"
	"github.com/csiglab/csiglab/workloads/training"
)

// Parameters that follow from the published shapes are the published ones: 8.03, 70.6 and
// 405.9 billion for Llama 3 (Grattafiori et al. 2024, and the models' cards), 175 billion for
// GPT-3, 340 million for BERT-large, 46.7 billion for Mixtral, of which 12.9 are active.
func TestParameters(t *testing.T) {
	for _, test := range []struct {
		name                   string
		want, active, accuracy float64
	}{
		{"llama3-8b", 8.030261248e9, 8.030261248e9, 0},
		{"llama3-70b", 70.6e9, 70.6e9, 0.001},
		{"llama3-405b", 405.9e9, 405.9e9, 0.001},
		{"gpt3-175b", 175e9, 175e9, 0.005},
		{"bert-large", 340e6, 340e6, 0.025},
		{"mixtral-8x7b", 46.7e9, 12.9e9, 0.002},
	} {
		m, ok := training.FindPreset(test.name)
		if got := float64(m.Parameters()); !ok || math.Abs(got/test.want-1) > test.accuracy {
			t.Errorf("%s: %.5g parameters, want %.5g", test.name, got, test.want)
		}
		if got := float64(m.ActiveParameters()); math.Abs(got/test.active-1) > test.accuracy {
			t.Errorf("%s: %.5g active parameters, want %.5g", test.name, got, test.active)
		}
	}
}

// Gradients in fp32 as in the reference: 102, 508, 553 and 575 MB, and 1.36 GB; where the
// time on the link is given, what it takes at 38.84 Gb/s.
func TestProfiles(t *testing.T) {
	for name, want := range map[string]float64{"resnet50": 102e6, "wideresnet101-2": 508e6, "vgg16": 553e6, "vgg19": 575e6, "bert-large": 1.36e9, "bert-8": 440e6, "dlrm": 1.413e9, "vgg19-1400": 242.7e6} {
		p, ok := training.FindProfile(name)
		if got := float64(p.Bytes()); !ok || math.Abs(got/want-1) > 0.005 {
			t.Errorf("%s: %.4g bytes, want %.4g", name, got, want)
		}
		if got, want := p.Communicate().Seconds(), float64(p.Bytes())*8/float64(training.TestbedRate); math.Abs(got/want-1) > 1e-6 {
			t.Errorf("%s: communicates for %v s, its bytes take %v s", name, got, want)
		}
	}
	if _, ok := training.FindProfile("vgg"); ok {
		t.Error("there is a profile vgg")
	}
}

// Training takes 6 operations for each parameter and token, and 12 times layers, sequence
// and hidden for each token (Chowdhery et al., appendix B); the embedding multiplies nothing.
func TestFLOPs(t *testing.T) {
	m, _ := training.FindPreset("llama3-405b")
	const tokens = 16 << 20
	want := 6*float64(m.Parameters()-int64(m.Vocabulary*m.Hidden))*tokens + 12*126*8192*16384*float64(tokens)
	if got := m.FLOPs(tokens); math.Abs(got/want-1) > 1e-4 {
		t.Errorf("%.5g operations, want %.5g", got, want)
	}
}

// What all ranks compute in a step is what the model needs, whatever the parallelism and the
// schedule are; and a step without communication takes that time and the bubble.
func TestComputeTimes(t *testing.T) {
	for _, p := range []training.Parallel{{DP: 4}, {TP: 4, PP: 3, DP: 2}, {TP: 2, CP: 3}, {PP: 4}} {
		for _, kind := range []pipeline.Kind{pipeline.OneFOneB, pipeline.Interleaved, pipeline.ZeroBubble} {
			for _, experts := range []int{0, 12} {
				c := small(p)
				c.Schedule, c.Granularity = kind, 5
				c.Compute = training.Compute{FLOPS: 1e12, MFU: 0.5}
				if c.Model.Experts = experts; experts > 0 {
					c.Model.TopK, c.Parallel.EP, c.Skew = 2, p.DP, 1
				}
				s := source(t, c)
				sum := 0.0
				var op graph.Op
				for rank := range s.Ranks() {
					for program := s.Program(rank, 1); program.Next(&op); {
						sum += op.Duration.Seconds()
					}
				}
				want := c.Model.FLOPs(float64(c.GlobalBatch*c.Model.Sequence)) / (1e12 * 0.5)
				if math.Abs(sum/want-1) > 1e-6 {
					t.Errorf("%+v, %s, %d experts: the ranks compute for %.6f s, want %.6f", p, kind, experts, sum, want)
				}
			}
		}
	}
}

// The step of Llama 3 405B on 16,384 GPUs at 41 % of 989 Tflop/s, with 16 million tokens,
// takes 6 to 8 seconds of compute, bubbles not counted; stages have 7 or 8 layers.
func TestLlamaStep(t *testing.T) {
	m, _ := training.FindPreset("llama3-405b")
	c := training.Config{
		Model: m, Parallel: training.Parallel{TP: 8, PP: 16, DP: 128}, MicroBatch: 1, GlobalBatch: 2048, Steps: 1, Granularity: 8,
		Compute: training.Compute{FLOPS: 989e12, MFU: 0.41}, SequenceParallel: true, Gradients: training.Gradients{Bucket: 1 << 30},
	}
	s := source(t, c)
	if s.Ranks() != 16384 {
		t.Fatalf("%d ranks", s.Ranks())
	}
	for stage, layers := range map[int]int{0: 7, 1: 8, 14: 8, 15: 7} {
		compute, tensor := units.Duration(0), units.Size(0)
		var op graph.Op
		for program := s.Program(stage*8*128, 1); program.Next(&op); {
			compute += op.Duration
			if op.Kind == graph.Send && op.Tag.Collective >= 0 && s.Labels().Collectives[op.Tag.Collective].Ranks == 8 {
				tensor += op.Bytes
			}
		}
		if seconds := compute.Seconds(); seconds < 5.5 || seconds > 8.5 {
			t.Errorf("stage %d computes for %.2f s", stage, seconds)
		}
		// 16 microbatches, 4 collectives' worth of 256 MiB for each layer, 2(N-1)/N of it each.
		if want := units.Size(16*layers*4) * (256 << 20) * 14 / 8; tensor != want {
			t.Errorf("stage %d sends %d bytes within tensor parallelism, want %d: it has %d layers", stage, tensor, want, layers)
		}
	}
}

// Scale makes compute and messages shorter alike.
func TestScale(t *testing.T) {
	c := small(training.Parallel{TP: 2, PP: 2, DP: 2})
	l := graph.Link{Rate: units.Gbps}
	whole, err := graph.Ideal(source(t, c), 1, l)
	if err != nil {
		t.Fatal(err)
	}
	c.Scale = 0.1
	tenth, err := graph.Ideal(source(t, c), 1, l)
	if err != nil {
		t.Fatal(err)
	}
	if got := float64(tenth.End) / float64(whole.End); got < 0.0999 || got > 0.1001 {
		t.Errorf("a step of scale 0.1 takes %.5f of the whole", got)
	}
	if got := float64(tenth.Bytes) / float64(whole.Bytes); got < 0.0999 || got > 0.1001 {
		t.Errorf("a step of scale 0.1 has %.5f of the bytes", got)
	}
}

// A profile's iteration takes compute and communication, one after the other or beside each
// other: 2(N-1)/N of the gradients at the link's rate.
func TestProfileTimes(t *testing.T) {
	preset, _ := training.FindProfile("vgg19")
	rate := 50 * units.Gbps
	for _, test := range []struct {
		ranks   int
		pairs   bool
		overlap float64
	}{{2, false, 0}, {4, false, 0}, {4, false, 1}, {4, false, 0.25}, {2, true, 0}, {6, true, 0.5}} {
		c := training.Profile{Ranks: test.ranks, Compute: preset.Compute, Bytes: preset.Bytes(), Overlap: test.overlap, Pairs: test.pairs, Steps: 3}
		s, err := training.NewProfile(c)
		if err != nil {
			t.Fatal(err)
		}
		line, err := graph.Ideal(s, 1, graph.Link{Rate: rate})
		if err := errors.Join(err, graph.Check(s, 1), graph.CheckFences(s, 1)); err != nil {
			t.Fatalf("%+v: %v", test, err)
		}
		n := units.Size(test.ranks)
		bytes := preset.Bytes() * 2 * (n - 1) / n
		if test.pairs {
			bytes = preset.Bytes()
		}
		beside := preset.Compute.Seconds() * test.overlap
		want := preset.Compute.Seconds() - beside + math.Max(beside, rate.Serialisation(bytes).Seconds())
		if got := units.Duration(line.End).Seconds() / 3; math.Abs(got/want-1) > 1e-6 {
			t.Errorf("%+v: an iteration takes %.6f s, want %.6f", test, got, want)
		}
	}
}

// A profile is held between compute and communication; compute beside the communication is
// not. The other kinds are held where a step begins.
func TestHeldWhereTheCommunicationBegins(t *testing.T) {
	profile, err := training.NewProfile(training.Profile{Ranks: 2, Compute: 10 * units.Millisecond, Overlap: 0.25, Bytes: 1000, Steps: 2, Held: true})
	if err != nil {
		t.Fatal(err)
	}
	model, _ := training.FindPreset("gpt-tiny")
	step, err := training.New(training.Config{
		Model: model, Parallel: training.Parallel{TP: 1, PP: 1, DP: 2, EP: 1, CP: 1}, MicroBatch: 1, GlobalBatch: 2, Precision: 2,
		Compute: training.Compute{Forward: units.Millisecond, Backward: units.Millisecond}, Gradients: training.Gradients{Bytes: 4}, Steps: 2, Held: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	stages, err := pipeline.New(pipeline.Config{Schedule: pipeline.OneFOneB, Stages: 2, Microbatches: 2, Chunks: 1, Forward: units.Millisecond, Backward: units.Millisecond, Message: 1000, Steps: 2, Held: true})
	if err != nil {
		t.Fatal(err)
	}
	period := 1000 * units.Millisecond
	for _, c := range []struct {
		name   string
		source graph.Source
		ready  units.Duration // of the first hold, since the job's start
	}{{"profile", profile, 7500 * units.Microsecond}, {"model", step, 0}, {"pipeline", stages, 0}} {
		if err := graph.CheckFences(c.source, 1); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		for rank := range 2 {
			var records metrics.Batch
			e := graph.NewEngine(graph.Config{Source: c.source, Ranks: []int{rank}, Sink: &records, Schedule: graph.Schedule{Period: period, Offset: period / 2, Correction: period}})
			for e.Next() <= units.Time(period/4) {
				e.Advance(e.Next())
			}
			if posts := e.Posts(); len(posts) > 0 {
				t.Errorf("%s: rank %d sends before its slot", c.name, rank)
			}
			for e.Next() <= units.Time(period/2) {
				e.Advance(e.Next())
			}
			var held []metrics.Operation
			for _, o := range records.Operations {
				if o.Kind == metrics.OperationHold {
					held = append(held, o)
				}
			}
			if len(held) != 1 || held[0].Ready != units.Time(c.ready) || held[0].End != units.Time(period/2) || held[0].Tag.Step != 1 {
				t.Errorf("%s: rank %d is held %+v, want from %v to %v", c.name, rank, held, c.ready, period/2)
			}
			if beside := slices.ContainsFunc(records.Operations, func(o metrics.Operation) bool {
				return o.Kind == metrics.OperationCompute && o.Start == units.Time(c.ready) && o.End.Sub(o.Start) == 2500*units.Microsecond
			}); beside != (c.name == "profile") {
				t.Errorf("%s: rank %d: compute beside the communication waits for the slot, or there is some that should not be", c.name, rank)
			}
		}
	}
}

func TestConfigRefuses(t *testing.T) {
	good := small(training.Parallel{TP: 2, PP: 2, DP: 2})
	source(t, good)
	for _, test := range []struct {
		field  string
		change func(c *training.Config)
	}{
		{"model.layers", func(c *training.Config) { c.Model.Layers = 0 }},
		{"model.layers", func(c *training.Config) { c.Model.Layers = 1 }},
		{"model.hidden", func(c *training.Config) { c.Model.Hidden = 1 << 40 }},
		{"model.ffn", func(c *training.Config) { c.Model.FFN = 0 }},
		{"model.heads", func(c *training.Config) { c.Model.Heads = 7 }},
		{"model.kv_heads", func(c *training.Config) { c.Model.KVHeads = 5 }},
		{"model.sequence", func(c *training.Config) { c.Model.Sequence = -1 }},
		{"model.vocabulary", func(c *training.Config) { c.Model.Vocabulary = -1 }},
		{"model.tied", func(c *training.Config) { c.Model.Tied, c.Model.Vocabulary = true, 0 }},
		{"model.experts", func(c *training.Config) { c.Model.Experts, c.Model.TopK = 1, 1 }},
		{"model.top_k", func(c *training.Config) { c.Model.TopK = 1 }},
		{"model.top_k", func(c *training.Config) { c.Model.Experts = 4 }},
		{"parallel", func(c *training.Config) { c.Parallel = training.Parallel{} }},
		{"parallel", func(c *training.Config) { c.Parallel.DP, c.Parallel.TP = 1<<16, 12 }},
		{"parallel.tp", func(c *training.Config) { c.Parallel.TP = 5 }},
		{"parallel.tp", func(c *training.Config) { c.Parallel.TP = -1 }},
		{"parallel.pp", func(c *training.Config) { c.Parallel.PP = 1 << 20 }},
		{"parallel.dp", func(c *training.Config) { c.Parallel.DP = 1_000_000_000 }},
		{"parallel.cp", func(c *training.Config) { c.Parallel.CP = 7 }},
		{"parallel.ep", func(c *training.Config) { c.Parallel.EP = 2 }},
		{"parallel.ep", func(c *training.Config) { c.Parallel.EP = 3 }},
		{"parallel.ep", func(c *training.Config) { c.Model.Experts, c.Model.TopK, c.Parallel.EP = 4, 1, 4 }},
		{"parallel.ep", func(c *training.Config) { c.Model.Experts, c.Model.TopK, c.Parallel.EP = 3, 1, 2 }},
		{"micro_batch", func(c *training.Config) { c.MicroBatch = 0 }},
		{"global_batch", func(c *training.Config) { c.GlobalBatch++ }},
		{"global_batch", func(c *training.Config) { c.Schedule, c.Chunks, c.GlobalBatch = pipeline.Interleaved, 2, 12 }},
		{"schedule", func(c *training.Config) { c.Schedule = 77 }},
		{"chunks", func(c *training.Config) { c.Chunks = 2 }},
		{"compute.flops", func(c *training.Config) { c.Compute = training.Compute{} }},
		{"compute.flops", func(c *training.Config) { c.Compute = training.Compute{FLOPS: math.Inf(1), MFU: 1} }},
		{"compute.mfu", func(c *training.Config) { c.Compute = training.Compute{FLOPS: 1e12} }},
		{"compute.mfu", func(c *training.Config) { c.Compute = training.Compute{FLOPS: 1e12, MFU: math.NaN()} }},
		{"compute.forward", func(c *training.Config) { c.Compute.Forward = -1 }},
		{"compute.forward", func(c *training.Config) { c.Compute.FLOPS = 1 }},
		{"compute.backward", func(c *training.Config) { c.Compute.Backward = -1 }},
		{"compute.optimizer", func(c *training.Config) { c.Compute.Optimizer = -1 }},
		{"compute", func(c *training.Config) { c.Compute = training.Compute{FLOPS: 1, MFU: 1e-9} }},
		{"precision", func(c *training.Config) { c.Precision = 16 }},
		{"gradients.bytes", func(c *training.Config) { c.Gradients.Bytes = -1 }},
		{"gradients.bucket", func(c *training.Config) { c.Gradients.Bucket = -1 }},
		{"gradients.sharded", func(c *training.Config) { c.Parallel.DP, c.Gradients.Sharded = 1, true }},
		{"gradients.embedding", func(c *training.Config) { c.Gradients.Embedding = true }},
		{"sequence_parallel", func(c *training.Config) { c.Parallel.TP, c.SequenceParallel = 1, true }},
		{"skew", func(c *training.Config) { c.Skew = 1 }},
		{"skew", func(c *training.Config) { c.Skew = math.NaN() }},
		{"collectives.tp", func(c *training.Config) { c.Collectives.TP = collective.Dissemination }},
		{"collectives.dp", func(c *training.Config) {
			c.Parallel.DP, c.Model.Layers, c.GlobalBatch, c.Collectives.DP = 3, 12, 36, collective.HalvingDoubling
		}},
		{"collectives.ep", func(c *training.Config) { c.Collectives.EP = collective.Hierarchical }},
		{"collectives.channels", func(c *training.Config) { c.Collectives.Channels = 1 << 20 }},
		{"collectives.chunk", func(c *training.Config) { c.Collectives.Chunk = -1 }},
		{"collectives.chunk", func(c *training.Config) { c.Collectives.Chunk = 1 }},
		{"parallel.ep", func(c *training.Config) {
			c.Model.Experts, c.Model.TopK, c.Parallel.DP, c.Parallel.EP, c.GlobalBatch = 512, 1, 512, 512, 1024
		}},
		{"collectives.local", func(c *training.Config) { c.Collectives.Local = -1 }},
		{"granularity", func(c *training.Config) { c.Granularity = -1 }},
		{"scale", func(c *training.Config) { c.Scale = 2 }},
		{"steps", func(c *training.Config) { c.Steps = 0 }},
		{"steps", func(c *training.Config) { c.Steps = 1 << 20 }},
		{"jitter", func(c *training.Config) { c.Jitter.Variation = math.NaN() }},
		{"stragglers[0].rank", func(c *training.Config) { c.Jitter.Stragglers = []jitter.Straggler{{Rank: 8}} }},
	} {
		c := good
		test.change(&c)
		_, err := training.New(c)
		var fault *graph.FieldError
		if !errors.As(err, &fault) || fault.Field != test.field || !errors.Is(err, graph.ErrInvalid) {
			t.Errorf("error %v, want one of field %s", err, test.field)
		}
	}
}

func TestProfileRefuses(t *testing.T) {
	good := training.Profile{Ranks: 4, Compute: 1, Bytes: 1, Steps: 1}
	for _, test := range []struct {
		field  string
		change func(c *training.Profile)
	}{
		{"ranks", func(c *training.Profile) { c.Ranks = 1 }},
		{"ranks", func(c *training.Profile) { c.Ranks, c.Pairs = 3, true }},
		{"compute", func(c *training.Profile) { c.Compute = -1 }},
		{"bytes", func(c *training.Profile) { c.Bytes = 0 }},
		{"overlap", func(c *training.Profile) { c.Overlap = 1.5 }},
		{"pairs", func(c *training.Profile) { c.Pairs, c.Channels = true, 2 }},
		{"algorithm", func(c *training.Profile) { c.Algorithm = collective.Binomial }},
		{"channels", func(c *training.Profile) { c.Channels = -1 }},
		{"chunk", func(c *training.Profile) { c.Chunk = -1 }},
		{"scale", func(c *training.Profile) { c.Scale = -1 }},
		{"bytes_scale", func(c *training.Profile) { c.BytesScale = 1.5 }},
		{"steps", func(c *training.Profile) { c.Steps = 0 }},
		{"steps", func(c *training.Profile) { c.Steps, c.Ranks = 1<<20, 1<<16 }},
		{"pauses[0].step", func(c *training.Profile) { c.Jitter.Pauses = []jitter.Pause{{Step: 5, Duration: 1}} }},
	} {
		c := good
		test.change(&c)
		_, err := training.NewProfile(c)
		var fault *graph.FieldError
		if !errors.As(err, &fault) || fault.Field != test.field {
			t.Errorf("error %v, want one of field %s", err, test.field)
		}
	}
}

// A source that has gone through gob, to the process of a node, has the same programs.
func TestGob(t *testing.T) {
	c := small(training.Parallel{TP: 2, PP: 2, DP: 2, EP: 2})
	c.Model.Experts, c.Model.TopK, c.Skew, c.Jitter.Variation = 4, 2, 1, 0.02
	first := source(t, c).(*training.Source)
	var wire bytes.Buffer
	second := new(training.Source)
	if err := errors.Join(gob.NewEncoder(&wire).Encode(first), gob.NewDecoder(&wire).Decode(second)); err != nil {
		t.Fatal(err)
	}
	for rank := range first.Ranks() {
		a, b := first.Program(rank, 1), second.Program(rank, 1)
		var x, y graph.Op
		for a.Next(&x) {
			if !b.Next(&y) || !reflect.DeepEqual(x, y) {
				t.Fatalf("rank %d: %+v became %+v", rank, x, y)
			}
		}
		if b.Next(&y) {
			t.Fatalf("rank %d: the program became longer", rank)
		}
	}
	if !reflect.DeepEqual(first.Labels(), second.Labels()) {
		t.Errorf("labels %+v became %+v", first.Labels(), second.Labels())
	}
}

// BenchmarkExpand expands one step of a GPT-3 job of 1024 ranks.
func BenchmarkExpand(b *testing.B) {
	m, _ := training.FindPreset("gpt3-175b")
	s := source(b, training.Config{
		Model: m, Parallel: training.Parallel{TP: 8, PP: 8, DP: 16}, MicroBatch: 1, GlobalBatch: 256, Steps: 1, Granularity: 12,
		Compute: training.Compute{FLOPS: 312e12, MFU: 0.45}, Gradients: training.Gradients{Bucket: 1 << 30},
	})
	b.ReportAllocs()
	for b.Loop() {
		operations := 0
		var op graph.Op
		for rank := range s.Ranks() {
			for program := s.Program(rank, 1); program.Next(&op); {
				operations++
			}
		}
		b.ReportMetric(float64(operations), "operations/op")
	}
}

// The operations of a source are those of the real model in one step, whatever its scale and its
// steps are, and the peak is that of all ranks.
func TestSourceFLOPs(t *testing.T) {
	m, _ := training.FindPreset("llama3-70b")
	c := training.Config{
		Model: m, Parallel: training.Parallel{TP: 8, DP: 2}, MicroBatch: 1, GlobalBatch: 4, Compute: training.Compute{FLOPS: 1e15, MFU: 0.5}, Scale: 0.01, Steps: 3,
	}
	for _, want := range [][2]float64{{m.FLOPs(4 * 8192), 16e15}, {0, 0}} {
		source, err := training.New(c)
		if err != nil {
			t.Fatal(err)
		}
		if step, peak := source.(*training.Source).FLOPs(); step != want[0] || peak != want[1] {
			t.Errorf("%+v: got %g operations and a peak of %g, want %g", c.Compute, step, peak, want)
		}
		if once := source.(*training.Source).Once(); once.Steps() != 1 || source.Steps() != 3 {
			t.Errorf("once: %d steps of %d", once.Steps(), source.Steps())
		}
		c.Compute = training.Compute{Forward: units.Millisecond} // which says nothing of operations
	}
}
