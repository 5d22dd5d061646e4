package pipeline_test

import (
	"errors"
	"testing"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/jitter"
	"github.com/csiglab/csiglab/workloads/pipeline"
)

// Message sizes of the reference: GPT-3 175B 48 MiB, Llama 3 70B 128 MiB and 405B 256 MiB in
// bf16, an eighth each with tensor parallelism of 8; 32 MiB takes 671 us at 400 Gb/s.
func TestMessageSize(t *testing.T) {
	const mebibyte = 1 << 20
	for _, test := range []struct {
		sequence, hidden, tp int
		want                 units.Size
	}{
		{2048, 12288, 1, 48 * mebibyte}, {2048, 12288, 8, 6 * mebibyte},
		{8192, 8192, 1, 128 * mebibyte}, {8192, 8192, 8, 16 * mebibyte},
		{8192, 16384, 1, 256 * mebibyte}, {8192, 16384, 8, 32 * mebibyte},
		{1, 3, 2, 3},
	} {
		if got := pipeline.MessageSize(1, test.sequence, test.hidden, 2, test.tp); got != test.want {
			t.Errorf("sequence %d, hidden %d, tp %d: %d, want %d", test.sequence, test.hidden, test.tp, got, test.want)
		}
	}
	if got := (400 * units.Gbps).Serialisation(32 * mebibyte); got/units.Microsecond != 671 {
		t.Errorf("32 MiB at 400 Gb/s takes %v, want 671 us", got)
	}
}

// passes returns the passes of a stage as text: F, B and W with the number of the microbatch,
// and of the chunk if there are several.
func passes(s pipeline.Shape, stage int) string {
	text := ""
	for k := range s.Passes() {
		p := s.Pass(stage, k)
		text += string("FBW"[p.Work]) + string(rune('0'+p.Microbatch))
		if s.Chunks > 1 {
			text += string(rune('a' + p.Chunk))
		}
		text += " "
	}
	return text
}

// The schedules of the figures: GPipe (Huang et al., figure 2c), 1F1B and interleaved
// (Narayanan et al., figure 4), ZB-H1 (Qi et al., figure 3 above).
func TestPasses(t *testing.T) {
	for _, test := range []struct {
		shape pipeline.Shape
		stage int
		want  string
	}{
		{pipeline.Shape{Kind: pipeline.GPipe, Stages: 4, Microbatches: 4, Chunks: 1}, 2, "F0 F1 F2 F3 B3 B2 B1 B0 "},
		{pipeline.Shape{Kind: pipeline.OneFOneB, Stages: 4, Microbatches: 8, Chunks: 1}, 0, "F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7 "},
		{pipeline.Shape{Kind: pipeline.OneFOneB, Stages: 4, Microbatches: 8, Chunks: 1}, 3, "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7 "},
		{pipeline.Shape{Kind: pipeline.OneFOneB, Stages: 4, Microbatches: 2, Chunks: 1}, 0, "F0 F1 B0 B1 "},
		{pipeline.Shape{Kind: pipeline.Interleaved, Stages: 4, Microbatches: 8, Chunks: 2}, 3,
			"F0a F1a F2a F3a F0b B0b F1b B1b F2b B2b F3b B3b F4a B0a F5a B1a F6a B2a F7a B3a F4b B4b F5b B5b F6b B6b F7b B7b B4a B5a B6a B7a "},
		{pipeline.Shape{Kind: pipeline.ZeroBubble, Stages: 4, Microbatches: 6, Chunks: 1}, 0, "F0 F1 F2 F3 B0 W0 F4 B1 W1 F5 B2 W2 B3 W3 B4 W4 B5 W5 "},
		{pipeline.Shape{Kind: pipeline.ZeroBubble, Stages: 4, Microbatches: 6, Chunks: 1}, 3, "F0 B0 F1 B1 F2 B2 F3 B3 W0 F4 B4 W1 F5 B5 W2 W3 W4 W5 "},
	} {
		if got := passes(test.shape, test.stage); got != test.want {
			t.Errorf("%+v, stage %d:\n%s, want\n%s", test.shape, test.stage, got, test.want)
		}
	}
}

// Every stage runs each pass once; and what a stage holds at a time is bounded: 1F1B has at
// most p microbatches under way, and ZB-H1 no more, weights included.
func TestPassesAreComplete(t *testing.T) {
	for p := 1; p <= 6; p++ {
		for m := 1; m <= 9; m++ {
			for kind := pipeline.OneFOneB; kind <= pipeline.ZeroBubble; kind++ {
				for v := 1; v <= 3; v++ {
					shape := pipeline.Shape{Kind: kind, Stages: p, Microbatches: m, Chunks: v}
					if shape.Validate() != nil {
						continue
					}
					for stage := range p {
						checkStage(t, shape, stage)
					}
				}
			}
		}
	}
}

func checkStage(t *testing.T, s pipeline.Shape, stage int) {
	t.Helper()
	last := pipeline.Backward // frees what the microbatch holds
	if s.Kind == pipeline.ZeroBubble {
		last = pipeline.Weight
	}
	seen := map[pipeline.Pass]bool{}
	held, sends := 0, [3]int{}
	for k := range s.Passes() {
		pass := s.Pass(stage, k)
		if seen[pass] || pass.Microbatch < 0 || pass.Microbatch >= s.Microbatches || pass.Chunk < 0 || pass.Chunk >= s.Chunks {
			t.Fatalf("%+v, stage %d: pass %d is %+v, out of range or for the second time", s, stage, k, pass)
		}
		seen[pass] = true
		before := pass
		if before.Work--; pass.Work > pipeline.Forward && !seen[before] {
			t.Fatalf("%+v, stage %d: pass %d is %+v, before what it needs", s, stage, k, pass)
		}
		if _, ok := s.To(stage, pass); ok {
			sends[pass.Work]++
		}
		switch pass.Work {
		case pipeline.Forward:
			held++
		case last:
			held--
		}
		if (s.Kind == pipeline.OneFOneB || s.Kind == pipeline.ZeroBubble) && held > s.Stages {
			t.Fatalf("%+v, stage %d: %d microbatches are under way at pass %d, want at most %d", s, stage, held, k, s.Stages)
		}
	}
	for work := pipeline.Forward; work <= pipeline.Weight; work++ {
		if got := s.Sends(stage, work); got != sends[work] {
			t.Errorf("%+v, stage %d: Sends %d, its passes have %d", s, stage, got, sends[work])
		}
	}
}

func TestConfigRefuses(t *testing.T) {
	good := pipeline.Config{Stages: 2, Microbatches: 2, Forward: 1, Backward: 1, Message: 1, Steps: 2}
	if _, err := pipeline.New(good); err != nil {
		t.Fatal(err)
	}
	for field, change := range map[string]func(c *pipeline.Config){
		"schedule":               func(c *pipeline.Config) { c.Schedule = 9 },
		"stages":                 func(c *pipeline.Config) { c.Stages = 1 },
		"microbatches":           func(c *pipeline.Config) { c.Schedule, c.Microbatches = pipeline.Interleaved, 3 },
		"chunks":                 func(c *pipeline.Config) { c.Chunks = 2 },
		"forward":                func(c *pipeline.Config) { c.Forward = -1 },
		"backward":               func(c *pipeline.Config) { c.Backward = -1 },
		"weight":                 func(c *pipeline.Config) { c.Schedule = pipeline.ZeroBubble },
		"message":                func(c *pipeline.Config) { c.Message = 0 },
		"steps":                  func(c *pipeline.Config) { c.Steps = 0 },
		"jitter":                 func(c *pipeline.Config) { c.Jitter.Variation = -0.1 },
		"stragglers[0].rank":     func(c *pipeline.Config) { c.Jitter.Stragglers = []jitter.Straggler{{Rank: 2}} },
		"stragglers[0].slowdown": func(c *pipeline.Config) { c.Jitter.Stragglers = []jitter.Straggler{{Slowdown: -1}} },
		"pauses[0].rank":         func(c *pipeline.Config) { c.Jitter.Pauses = []jitter.Pause{{Rank: -1, Duration: 1}} },
		"pauses[0].step":         func(c *pipeline.Config) { c.Jitter.Pauses = []jitter.Pause{{Step: 2, Duration: 1}} },
		"pauses[0].duration":     func(c *pipeline.Config) { c.Jitter.Pauses = []jitter.Pause{{}} },
	} {
		c := good
		change(&c)
		_, err := pipeline.New(c)
		var fault *graph.FieldError
		if !errors.As(err, &fault) || fault.Field != field || !errors.Is(err, graph.ErrInvalid) {
			t.Errorf("error %v, want one of field %s", err, field)
		}
	}
}
