package training_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/pipeline"
	"github.com/csiglab/csiglab/workloads/training"
)

const microbatches = 12 // of small

// small is a model that most degrees of parallelism divide.
func small(p training.Parallel) training.Config {
	ranks := max(p.DP, 1)
	return training.Config{
		Model:    training.Model{Layers: 12, Hidden: 120, FFN: 240, Heads: 12, KVHeads: 6, Sequence: 180, Vocabulary: 100},
		Parallel: p, MicroBatch: 2, GlobalBatch: 2 * microbatches * ranks, Steps: 1,
		Compute: training.Compute{Forward: 100 * units.Microsecond, Optimizer: 10 * units.Microsecond},
	}
}

func source(t testing.TB, c training.Config) graph.Source {
	t.Helper()
	s, err := training.New(c)
	if err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	return s
}

// link is a fast network.
var link = graph.Link{Rate: 400 * units.Gbps, Latency: units.Microsecond}

// Every combination of small degrees, odd ones and 1 among them, has programs that fit
// together, keep the promise of their fences, and come to an end.
func TestEverySmallParallelism(t *testing.T) {
	degrees, small := [][]int{{1, 2, 3}, {1, 2, 3}, {1, 3, 4}, {1, 3}}, 6 // TP, PP, DP, CP; ranks of jobs that all variants are tried of
	if checkout.Long(t) || checkout.SlowRace(t) {
		degrees, small = [][]int{{1, 3}, {1, 2}, {1, 4}, {1, 3}}, 0
	}
	const variants = 6
	combinations, tried := 0, [variants]int{}
	for _, tp := range degrees[0] {
		for _, pp := range degrees[1] {
			for _, dp := range degrees[2] {
				for _, cp := range degrees[3] {
					ranks := tp * pp * dp * cp
					if ranks == 1 {
						continue
					}
					for variant := range variants {
						if ranks <= small || combinations%variants == variant {
							checkVariant(t, training.Parallel{TP: tp, PP: pp, DP: dp, CP: cp}, variant)
							tried[variant]++
						}
					}
					combinations++
				}
			}
		}
	}
	if slices.Min(tried[:]) < 2 {
		t.Errorf("jobs tried of each variant: %v", tried)
	}
}

func checkVariant(t *testing.T, p training.Parallel, variant int) {
	t.Helper()
	c := small(p)
	c.Steps, c.GlobalBatch, c.Granularity = 2, c.GlobalBatch/2, 4
	switch variant {
	case 1:
		c.Gradients.Bucket, c.Granularity = 500_000, 2
	case 2:
		c.Schedule, c.Chunks = pipeline.Interleaved, 2
		c.SequenceParallel = p.TP > 1
	case 3:
		c.Schedule = pipeline.ZeroBubble
		c.Gradients.Sharded, c.Gradients.Bucket, c.Granularity = p.DP*p.CP > 1, 1, 5
	case 4:
		c.Model.Experts, c.Model.TopK, c.Skew = 12, 2, 1.2
		c.Parallel.EP = p.DP
		c.Model.Tied, c.Gradients.Embedding = true, p.PP > 1
	case 5:
		c.Model.Experts, c.Model.TopK = 12, 3
		if p.DP%2 == 0 {
			c.Parallel.EP = 2 * p.CP
		}
		c.Schedule, c.Gradients.Sharded, c.Scale = pipeline.GPipe, p.DP*p.CP > 1, 0.01
	}
	s := source(t, c)
	_, err := graph.Ideal(s, 3, link)
	if err := errors.Join(graph.Check(s, 3), graph.CheckFences(s, 3), err); err != nil {
		t.Errorf("%+v, variant %d: %v", c.Parallel, variant, err)
	}
}

// sent returns what each rank sends in a step by the name of the collective.
func sent(t *testing.T, s graph.Source, seed uint64) []map[string]units.Size {
	t.Helper()
	var op graph.Op
	all := make([]map[string]units.Size, s.Ranks())
	for rank := range all {
		all[rank] = map[string]units.Size{}
		for program := s.Program(rank, seed); program.Next(&op); {
			if op.Kind == graph.Send && op.Tag.Step == 0 {
				all[rank][s.Labels().Collectives[op.Tag.Collective].Name] += op.Bytes
			}
		}
	}
	return all
}

// sum adds what a rank sends in all collectives whose names begin so.
func sum(of map[string]units.Size, prefix string) units.Size {
	n := units.Size(0)
	for name, bytes := range of {
		if name == prefix || strings.HasPrefix(name, prefix+"-") {
			n += bytes
		}
	}
	return n
}

// Bytes sent per rank and step, by kind. For each layer and microbatch, tensor parallelism
// does two all-reduces forwards and two backwards of the activations (Shoeybi et al. 2019,
// section 3), each 2(N-1)/N of the buffer; context parallelism sends the own keys and values
// N-1 times, and twice that backwards. Gradients are reduced once over all ranks of data and
// context parallelism.
func TestBytes(t *testing.T) {
	for _, p := range []training.Parallel{
		{TP: 2, PP: 3, DP: 2, CP: 3}, {TP: 4, PP: 2, DP: 3}, {PP: 4, DP: 5}, {TP: 3, CP: 5}, {TP: 1, PP: 1, DP: 4, CP: 1}, {PP: 6},
	} {
		for _, change := range []func(c *training.Config){
			func(*training.Config) {},
			func(c *training.Config) { c.Granularity, c.Gradients.Bucket = 3, 100_000 },
			func(c *training.Config) { c.SequenceParallel, c.Gradients.Sharded = p.TP > 1, p.DP*p.CP > 1 },
			func(c *training.Config) { c.Schedule, c.Chunks = pipeline.Interleaved, 2 },
		} {
			c := small(p)
			change(&c)
			checkBytes(t, c)
		}
	}
}

func checkBytes(t *testing.T, c training.Config) {
	t.Helper()
	p := training.Parallel{TP: max(c.Parallel.TP, 1), PP: max(c.Parallel.PP, 1), DP: max(c.Parallel.DP, 1), CP: max(c.Parallel.CP, 1)}
	tp, cp, dp, chunks := units.Size(p.TP), units.Size(p.CP), units.Size(p.DP*p.CP), max(c.Chunks, 1)
	const sequence, hidden, kv, bf16, fp32, m = 180, 120, 60, 2, 4, microbatches
	layers := units.Size(12 / p.PP)
	tokens := 2 * sequence / cp
	weights := 2*hidden*hidden + 2*hidden*kv + 2*hidden*240 + 2*hidden
	for rank, got := range sent(t, source(t, c), 1) {
		stage := rank / (p.TP * p.CP * p.DP)
		want := map[string]units.Size{
			// 4 all-reduces of the activations for each layer: 2(N-1)/N of tokens*hidden numbers.
			"tp": m * layers * 4 * 2 * (tp - 1) * (tokens * hidden * bf16) / tp,
			"cp": m * layers * 3 * (cp - 1) * (2 * tokens * kv * bf16 / tp),
		}
		stageWeights := layers * units.Size(weights) / tp
		if stage == 0 {
			stageWeights += 100 * hidden / tp
		}
		if stage == p.PP-1 {
			stageWeights += (100*hidden + hidden) / tp
		}
		want["dp"] = 2 * (dp - 1) * stageWeights * fp32 / dp
		if c.Gradients.Sharded {
			want["dp"] /= 2
			want["parameters"] = (dp - 1) * stageWeights * bf16 / dp
		}
		forward, backward := units.Size(chunks), units.Size(chunks)
		if stage == p.PP-1 {
			forward--
		}
		if stage == 0 {
			backward--
		}
		message := tokens * hidden * bf16 / tp
		if p.PP > 1 {
			want["pp"] = m * (forward + backward) * message
		}
		for _, kind := range []string{"tp", "cp", "dp", "pp", "parameters"} {
			// A buffer that does not divide evenly gives ranks pieces that differ by a byte in
			// each collective.
			off := units.Size(0)
			if kind == "dp" || kind == "parameters" {
				off = 64
			}
			if is := sum(got, kind); is < want[kind]-off || is > want[kind]+off {
				t.Errorf("%+v, chunks %d, rank %d: it sends %d bytes of %s, want %d", c.Parallel, chunks, rank, is, kind, want[kind])
			}
		}
	}
}

// The vector of the reference: 4096 tokens, each to 8 experts, of 7168 numbers in bf16 are
// 470 MB for each rank and direction, of which (EP-1)/EP leave it.
func TestExpertBytes(t *testing.T) {
	c := training.Config{
		Model:    training.Model{Layers: 1, Hidden: 7168, FFN: 2048, Heads: 56, Sequence: 4096, Experts: 256, TopK: 8, Gated: true},
		Parallel: training.Parallel{DP: 8, EP: 8}, MicroBatch: 1, GlobalBatch: 8, Steps: 1,
		Compute: training.Compute{FLOPS: 989e12, MFU: 0.4},
	}
	s := source(t, c)
	const buffer = 469_762_048
	for _, label := range s.Labels().Collectives[:2] {
		if label.Bytes != buffer || !strings.HasPrefix(label.Name, "ep-") {
			t.Errorf("label %+v, want one of ep and %d bytes", label, buffer)
		}
	}
	for rank, got := range sent(t, s, 1) {
		for _, kind := range []string{"ep-dispatch", "ep-combine"} {
			if want := units.Size(2 * buffer * 7 / 8); got[kind] != want { // forwards and backwards
				t.Errorf("rank %d: %s sends %d bytes, want %d", rank, kind, got[kind], want)
			}
		}
	}

	// Skewed, everything that leaves still arrives, and some experts get more than others.
	c.Skew = 1
	s = source(t, c)
	skewed := sent(t, s, 1)
	least, most, dispatched, combined := units.Size(1<<62), units.Size(0), units.Size(0), units.Size(0)
	for _, got := range skewed {
		least, most = min(least, got["ep-combine"]), max(most, got["ep-combine"])
		dispatched += got["ep-dispatch"]
		combined += got["ep-combine"]
	}
	if dispatched != combined || float64(most) < 1.3*float64(least) {
		t.Errorf("%d bytes dispatched, %d combined; the ranks return between %d and %d", dispatched, combined, least, most)
	}
	if again := sent(t, s, 1); fmt.Sprint(again) != fmt.Sprint(skewed) {
		t.Error("the same seed has other experts")
	}
	if other := sent(t, s, 2); fmt.Sprint(other) == fmt.Sprint(skewed) {
		t.Error("another seed has the same popular experts")
	}
	if err := errors.Join(graph.Check(s, 1), graph.Check(s, 2)); err != nil {
		t.Error(err)
	}
}

// The embedding's gradients are reduced between first and last stage alone.
func TestEmbeddingBytes(t *testing.T) {
	c := small(training.Parallel{TP: 2, PP: 3})
	c.Model.Tied, c.Gradients.Embedding = true, true
	for rank, got := range sent(t, source(t, c), 1) {
		want := units.Size(100 * 120 / 2 * 4) // 2(N-1)/N = 1 of the rank's half
		if stage := rank / 2; stage == 1 {
			want = 0
		}
		if got["embedding"] != want {
			t.Errorf("rank %d sends %d bytes of the embedding, want %d", rank, got["embedding"], want)
		}
	}
}

// The same seed gives the same programs. Another one gives other compute times and changes
// nothing else.
func TestSeed(t *testing.T) {
	c := small(training.Parallel{TP: 2, PP: 2, DP: 2})
	c.Steps, c.Jitter.Variation = 3, 0.05
	s := source(t, c)
	for rank := range s.Ranks() {
		a, b, other := s.Program(rank, 1), s.Program(rank, 1), s.Program(rank, 2)
		var x, y, z graph.Op
		differ, computes := 0, 0
		for a.Next(&x) {
			if !b.Next(&y) || !reflect.DeepEqual(x, y) {
				t.Fatalf("rank %d: %+v, then %+v of the same seed", rank, x, y)
			}
			if !other.Next(&z) {
				t.Fatalf("rank %d: the program of another seed is shorter", rank)
			}
			if x.Kind == graph.Compute {
				computes++
				if x.Duration != z.Duration {
					differ++
				}
				z.Duration = x.Duration
			}
			if !reflect.DeepEqual(x, z) {
				t.Fatalf("rank %d: %+v, of another seed %+v", rank, x, z)
			}
		}
		if other.Next(&z) || differ < computes*9/10 {
			t.Errorf("rank %d: %d of %d compute times differ between seeds", rank, differ, computes)
		}
	}
}

// plain returns the name of a tag's collective up to its first digit.
func plain(s graph.Source, tag graph.Tag) string {
	name, _, _ := strings.Cut(strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return '0'
		}
		return r
	}, s.Labels().Collectives[tag.Collective].Name), "0")
	return strings.TrimSuffix(name, "-")
}

// Ranks are numbered in the order tp-cp-ep-dp-pp. The vectors are groups of Megatron-LM's
// RankGenerator for TP 2, CP 2, DP 2, PP 2 and EP 2: tp [4 5], cp [5 7], dp-cp [1 3 5 7], ep
// [5 7], ranks with the same experts [1 5], pp [5 13].
func TestGroups(t *testing.T) {
	c := small(training.Parallel{TP: 2, CP: 2, DP: 2, PP: 2, EP: 2})
	c.Model.Experts, c.Model.TopK, c.Model.Tied, c.Gradients.Embedding = 4, 1, true, true
	s := source(t, c)
	peers := map[string][]int{}
	var op graph.Op
	for program := s.Program(5, 1); program.Next(&op); { // tp 1, cp 0, dp 1, pp 0
		if op.Kind == graph.Send {
			name := plain(s, op.Tag)
			if !slices.Contains(peers[name], int(op.Peer)) {
				peers[name] = append(peers[name], int(op.Peer))
			}
		}
	}
	for name, want := range map[string]int{"tp": 4, "cp": 7, "ep-dispatch": 7, "dp": 7, "dp-experts": 1, "pp-forward": 13, "embedding": 13} {
		if !slices.Equal(peers[name], []int{want}) {
			t.Errorf("rank 5 sends to %v in %s, want %d", peers[name], name, want)
		}
	}
}

// Groups of a kind have numbers from 0 without gaps, in the order of their first ranks, and
// every group's ranks agree on it.
func TestGroupNumbers(t *testing.T) {
	c := small(training.Parallel{TP: 2, CP: 3, DP: 4, PP: 2, EP: 6})
	c.Model.Experts, c.Model.TopK = 6, 1
	c.Steps = 1
	s := source(t, c)
	first := map[string]map[int32]int{}
	var op graph.Op
	for rank := range s.Ranks() {
		for program := s.Program(rank, 1); program.Next(&op); {
			if op.Kind != graph.Begin || op.Tag.Collective == graph.None {
				continue
			}
			name := plain(s, op.Tag)
			if first[name] == nil {
				first[name] = map[int32]int{}
			}
			if _, ok := first[name][op.Tag.Group]; !ok {
				if int(op.Tag.Group) != len(first[name]) && op.Tag.Phase == 0 {
					t.Errorf("rank %d: group %d of %s is the first with a new number, want %d", rank, op.Tag.Group, name, len(first[name]))
				}
				first[name][op.Tag.Group] = rank
			}
		}
	}
	for name, want := range map[string]int{"tp": 24, "cp": 16, "ep-dispatch": 8, "ep-combine": 8, "dp": 4, "dp-experts": 24} {
		if len(first[name]) != want {
			t.Errorf("%d groups of %s, want %d", len(first[name]), name, want)
		}
	}
}

// A stage's gradients travel while its backward passes go on: buckets make the step shorter.
func TestBucketsOverlap(t *testing.T) {
	c := small(training.Parallel{DP: 4})
	end := func(bucket units.Size) units.Time {
		c.Gradients.Bucket = bucket
		line, err := graph.Ideal(source(t, c), 1, graph.Link{Rate: 100 * units.Gbps})
		if err != nil {
			t.Fatal(err)
		}
		return line.End
	}
	compute := units.Time(12*3*100*microbatches*units.Microsecond + c.Compute.Optimizer)
	whole, overlapped := end(0), end(1)
	// All gradients at the end: 2(N-1)/N of them at 100 Gb/s.
	bytes := units.Size(4 * (12*(2*120*120+2*120*60+2*120*240+240) + 2*100*120 + 120))
	reduce := (100 * units.Gbps).Serialisation(bytes * 6 / 4)
	if got, want := whole, compute.Add(reduce); got < want || got > want.Add(reduce/100) {
		t.Errorf("without buckets the step takes %v, want %v", got, want)
	}
	if exposed := overlapped.Sub(compute); exposed > reduce/4 {
		t.Errorf("with a bucket for each layer %v of %v are exposed, want less than a quarter", exposed, reduce)
	}
}

// A player holds little: passes that lie ahead are not expanded.
func TestLiveOperations(t *testing.T) {
	c := small(training.Parallel{TP: 3, PP: 2, DP: 4})
	c.Steps, c.Granularity = 20, 2
	s := source(t, c)
	line, err := graph.Ideal(s, 1, link)
	if err != nil {
		t.Fatal(err)
	}
	// Of each rank: a ring of 3 (8 sends and receives and 2 marks), two messages between
	// stages, a computation, and behind the last pass a ring of 4 in one bucket.
	if most := s.Ranks() * 35; line.Live > most || line.Operations < 20*line.Live {
		t.Errorf("%d of %d operations are live at a time, want at most %d", line.Live, line.Operations, most)
	}
}
