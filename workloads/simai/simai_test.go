package simai_test

import (
	"bufio"
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/simai"
)

// Fixtures of aliyun/aicb and aliyun/SimAI.
const (
	micro    = "fixtures/aliyun+aicb/workload/simAI/micro_test/all_reduce.txt"
	two      = "fixtures/aliyun+SimAI/example/microAllReduce.txt"
	physical = "fixtures/aliyun+aicb/workload/physical/model_workload/L7B-M1-C04_Llama7B_megatron_tp2_pp1_mbs1.csv"
	table    = "fixtures/aliyun+aicb/workload/Workload_spec_v1.1.csv"
)

func content(t *testing.T, name string) string {
	t.Helper()
	text, err := io.ReadAll(checkout.Open(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// played returns the bytes of the collectives that a rank runs in its program, by kind.
func played(s graph.Source, rank int) map[string]units.Size {
	sums := map[string]units.Size{}
	p := s.Program(rank, 1)
	var op graph.Op
	for p.Next(&op) {
		if op.Kind == graph.Begin && op.Tag.Collective != graph.None {
			c := s.Labels().Collectives[op.Tag.Collective]
			sums[c.Kind] += c.Bytes
		}
	}
	return sums
}

// columns adds the words at size up by the words at kind, line by line.
func columns(text, separator string, kind, size int) map[string]units.Size {
	sums := map[string]units.Size{}
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		words := strings.Split(lines.Text(), separator)
		if separator == "" {
			words = strings.Fields(lines.Text())
		}
		if len(words) != 12 {
			continue // no row or layer
		}
		if v, err := strconv.ParseInt(words[size], 10, 64); err == nil && v > 0 {
			sums[words[kind]] += units.Size(v)
		}
	}
	return sums
}

// The sums of bytes by kind are those of the file's columns.
func TestBytes(t *testing.T) {
	names := map[string]string{"ALLREDUCE": "all_reduce", "ALLGATHER": "all_gather", "REDUCESCATTER": "reduce_scatter", "ALLTOALL": "all_to_all"}
	check := func(s graph.Source, sums ...map[string]units.Size) {
		t.Helper()
		want := map[string]units.Size{}
		for _, sum := range sums {
			for kind, bytes := range sum {
				kind = strings.TrimPrefix(kind, "CommType.")
				if name, ok := names[kind]; ok {
					kind = name
				}
				want[kind] += bytes
			}
		}
		for _, rank := range []int{0, s.Ranks() - 1} {
			if diff := cmp.Diff(played(s, rank), want); diff != "" || len(want) == 0 {
				t.Errorf("rank %d: played -, columns +:\n%s", rank, diff)
			}
		}
	}
	text := content(t, micro)
	s, loss, err := simai.Read("micro.txt", strings.NewReader(text), simai.Options{Ranks: 4})
	if err != nil {
		t.Fatal(err)
	}
	if !loss.Empty() {
		t.Errorf("lost: %v", loss)
	}
	check(s, columns(text, "", 9, 10))

	text = content(t, two)
	if s, _, err = simai.Read("two.txt", strings.NewReader(text), simai.Options{}); err != nil {
		t.Fatal(err)
	}
	check(s, columns(text, "", 3, 4), columns(text, "", 6, 7), columns(text, "", 9, 10))

	text = content(t, physical)
	if s, loss, err = simai.ReadCSV("l7b.csv", strings.NewReader(text), simai.Options{}); err != nil {
		t.Fatal(err)
	}
	check(s, columns(text, ",", 0, 3))
	if want := (simai.Layout{TP: 2, DP: 64, PP: 1, EP: 1}); s.Layout != want {
		t.Errorf("layout %+v, want %+v", s.Layout, want)
	}
	if got := loss.String(); got != "1 collectives of no bytes, which send nothing, the first at l7b.csv:149:42" {
		t.Errorf("lost %q", got)
	}
}

// What is read can be played: every message has both its ends.
func TestPublicFilesCheck(t *testing.T) {
	for _, passes := range []int{1, 2} {
		s, _, err := simai.Read("m", checkout.Open(t, micro), simai.Options{Ranks: 8, Passes: passes})
		if err != nil {
			t.Fatal(err)
		}
		if err := graph.Check(s, 1); err != nil {
			t.Errorf("%s: %v", micro, err)
		}
	}
	_, _, err := simai.ReadCSV("spec.csv", checkout.Open(t, table), simai.Options{})
	if want := "spec.csv:1:1: this is AICB's table of models, not a workload; AICB makes workloads from it"; fmt.Sprint(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Ranks are numbered tensor parallel first, then data parallel, then by stage, as Megatron
// numbers them; experts are spread over neighbours of a data parallel group.
func TestLayout(t *testing.T) {
	l := simai.Layout{TP: 2, DP: 4, PP: 2, EP: 2}
	for _, c := range []struct {
		kind  simai.GroupKind
		rank  int
		ranks []int
		me    int
	}{
		{simai.TP, 5, []int{4, 5}, 1},
		{simai.DP, 5, []int{1, 3, 5, 7}, 2},
		{simai.EP, 5, []int{5, 7}, 0},
		{simai.DPEP, 5, []int{1, 5}, 1},
		{simai.PP, 5, []int{5, 13}, 0},
		{simai.Embedding, 13, []int{5, 13}, 1},
		{simai.DP, 13, []int{9, 11, 13, 15}, 2},
		{simai.World, 3, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, 3},
	} {
		ranks, me, _ := l.Group(c.kind, c.rank)
		if !reflect.DeepEqual(ranks, c.ranks) || me != c.me {
			t.Errorf("%v of rank %d: %v, index %d; want %v, %d", c.kind, c.rank, ranks, me, c.ranks, c.me)
		}
	}
	for kind := simai.TP; kind <= simai.World; kind++ {
		seen := map[int][]int{} // by number
		for rank := range l.Ranks() {
			ranks, me, number := l.Group(kind, rank)
			if ranks[me] != rank || seen[number] != nil && !reflect.DeepEqual(seen[number], ranks) {
				t.Errorf("%v: rank %d is in group %d: %v, which is also %v", kind, rank, number, ranks, seen[number])
			}
			seen[number] = ranks
		}
		if len(seen)*len(seen[0]) != l.Ranks() {
			t.Errorf("%v: groups %v do not cover %d ranks", kind, seen, l.Ranks())
		}
	}
	if ranks, _, _ := (simai.Layout{TP: 1, DP: 1, PP: 3, EP: 1}).Group(simai.Embedding, 1); ranks != nil {
		t.Errorf("the inner stage has the embedding group %v", ranks)
	}
}

// words returns the program of a rank as one word per operation of the chain and of
// collectives: computes by time, collectives by name.
func words(s graph.Source, rank int) string {
	var out []string
	p := s.Program(rank, 1)
	var op graph.Op
	for p.Next(&op) {
		switch {
		case op.Kind == graph.Begin && op.Tag.Collective != graph.None:
			out = append(out, s.Labels().Collectives[op.Tag.Collective].Name)
		case op.Kind == graph.Compute:
			out = append(out, op.Duration.String())
		case (op.Kind == graph.Send || op.Kind == graph.Recv) && op.Tag.Collective == graph.None:
			out = append(out, fmt.Sprintf("%v:%d", op.Kind, op.Peer))
		case op.Kind == graph.Barrier && op.Tag.Collective == graph.None:
			out = append(out, "wait")
		}
	}
	return strings.Join(out, " ")
}

// The order in which layers are played is that of Workload.cc of SimAI
// (iterate_hybrid_parallel_Transformer and the others).
func TestOrder(t *testing.T) {
	const layers = "2\na -1 1 ALLREDUCE 8 2 ALLGATHER 8 3 REDUCESCATTER 8 4\nb -1 5 NONE 0 6 NONE 0 7 ALLREDUCE 8 0\n"
	for _, c := range []struct{ header, want string }{
		{"HYBRID_TRANSFORMER model_parallel_NPU_group: 2 all_gpus: 4",
			"1ns a forward 5ns 6ns 7ns b weight gradient 2ns a input gradient 3ns a weight gradient 4ns " +
				"wait 1ns a forward wait 5ns 6ns 7ns b weight gradient 2ns a input gradient 3ns a weight gradient 4ns"},
		{"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 all_gpus: 4 checkpoints: 1 0 checkpoint_initiates: 1 1",
			"1ns a forward 5ns 1ns a forward 6ns 7ns b weight gradient 2ns a input gradient 3ns a weight gradient 4ns " +
				"wait 1ns a forward wait 5ns 1ns a forward 6ns 7ns b weight gradient 2ns a input gradient 3ns a weight gradient 4ns"},
		{"MODEL all_gpus: 2", "1ns a forward 5ns 6ns 7ns 2ns a input gradient 3ns 4ns 1ns a forward 5ns 6ns 7ns 2ns a input gradient 3ns 4ns"},
		{"DATA all_gpus: 2", "1ns 5ns 7ns b weight gradient 6ns 3ns a weight gradient 4ns wait 1ns wait 5ns 7ns b weight gradient 6ns 3ns a weight gradient 4ns"},
		{"MICRO all_gpus: 2", "a weight gradient b weight gradient a weight gradient b weight gradient"},
		{"DISTRIBUTED_INFERENCE all_gpus: 2", "1ns a forward 5ns 1ns a forward 5ns"},
	} {
		s, _, err := simai.Read("x.txt", strings.NewReader(c.header+"\n"+layers), simai.Options{Passes: 2})
		if err != nil {
			t.Errorf("%s: %v", c.header, err)
			continue
		}
		if err := graph.Check(s, 1); err != nil {
			t.Errorf("%s: %v", c.header, err)
		}
		if diff := cmp.Diff(words(s, 0), c.want); diff != "" {
			t.Errorf("%s: got -, want +:\n%s", c.header, diff)
		}
	}
}

// DLRM: the all-to-all of the embeddings is waited for at the last layer of the bottom, that
// of their gradients at the end, unless it is the enhanced form.
func TestDLRM(t *testing.T) {
	const layers = "3\ne -1 1 ALLTOALL 8 2 ALLTOALL 8 3 NONE 0 0\nb -1 4 NONE 0 5 NONE 0 6 NONE 0 0\nt -1 7 ALLREDUCE 8 8 NONE 0 9 ALLREDUCE 8 0\n"
	for header, want := range map[string]string{
		"HYBRID_DLRM 1 all_gpus: 2":                                  "",
		"HYBRID_DLRM DLRM_LAST_BOTTOM_LAYER: 1 all_gpus: 2":          "1ns e forward 4ns wait 7ns 9ns t weight gradient 8ns e input gradient 6ns 5ns 3ns wait",
		"HYBRID_DLRM_ENHANCED DLRM_LAST_BOTTOM_LAYER: 1 all_gpus: 2": "1ns e forward 4ns wait 7ns 9ns t weight gradient 8ns e input gradient 6ns 5ns 3ns",
	} {
		s, loss, err := simai.Read("x.txt", strings.NewReader(header+"\n"+layers), simai.Options{})
		if want == "" {
			if err == nil {
				t.Errorf("%s: no error", header)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := words(s, 0); got != want {
			t.Errorf("%s: %s, want %s", header, got, want)
		}
		if got := loss.Items(); len(got) != 1 || got[0].First != "x.txt:5:8" {
			t.Errorf("%s: lost %v", header, loss)
		}
	}
	if _, _, err := simai.Read("x.txt", strings.NewReader("HYBRID_DLRM 1\n"+layers), simai.Options{Ranks: 2}); err != nil {
		t.Error(err)
	}
}

// Stages send vpp*ga messages of pp_comm bytes forward, and as many backward ("2*vpp*GA" in
// SimAI's analytical model).
func TestPipelineBytes(t *testing.T) {
	const text = "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: 1 pp: 3 vpp: 1 ga: 4 all_gpus: 12 pp_comm: 1000\n" +
		"2\na -1 1 NONE 0 1 NONE 0 1 NONE 0 0\nb -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n"
	s, _, err := simai.Read("x.txt", strings.NewReader(text), simai.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := graph.Check(s, 1); err != nil {
		t.Fatal(err)
	}
	for rank, want := range map[int]string{
		0:  "1ns send:4 send:4 1ns send:4 send:4 recv:4 recv:4 1ns 1ns recv:4 recv:4 1ns 1ns",
		11: "recv:7 recv:7 1ns recv:7 recv:7 1ns 1ns 1ns send:7 send:7 1ns 1ns send:7 send:7",
	} {
		if got := words(s, rank); got != want {
			t.Errorf("rank %d: %s\nwant %s", rank, got, want)
		}
	}
}

// An expert-parallel collective runs over the ranks that share the experts.
func TestSuffixes(t *testing.T) {
	const text = "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: 2 pp: 1 vpp: 1 ga: 1 all_gpus: 8\n" +
		"1\na -1 0 ALLTOALL_EP 64 0 ALLTOALL_EP 64 0 REDUCESCATTER_DP_EP 64 0\n"
	s, _, err := simai.Read("x.txt", strings.NewReader(text), simai.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := graph.Check(s, 1); err != nil {
		t.Fatal(err)
	}
	peers := map[string]map[int32]bool{}
	p := s.Program(5, 1)
	var op graph.Op
	for p.Next(&op) {
		if op.Kind == graph.Send {
			name := s.Labels().Collectives[op.Tag.Collective].Name
			if peers[name] == nil {
				peers[name] = map[int32]bool{}
			}
			peers[name][op.Peer] = true
		}
	}
	want := map[string]map[int32]bool{"a forward": {7: true}, "a input gradient": {7: true}, "a weight gradient": {1: true}}
	if diff := cmp.Diff(peers, want); diff != "" {
		t.Errorf("peers of rank 5 (got -, want +):\n%s", diff)
	}
}

// Times are nanoseconds, as SimAI takes them, or what the option says.
func TestTimeUnit(t *testing.T) {
	const text = "MODEL all_gpus: 2\n1\na -1 7 NONE 0 0 NONE 0 0 NONE 0 0\n"
	for unit, want := range map[units.Duration]string{0: "7ns", units.Microsecond: "7us"} {
		s, _, err := simai.Read("x.txt", strings.NewReader(text), simai.Options{TimeUnit: unit})
		if err != nil {
			t.Fatal(err)
		}
		if got := words(s, 0); got != want {
			t.Errorf("unit %v: %s, want %s", unit, got, want)
		}
	}
}

// A Source goes to the processes of the nodes with package gob.
func TestGob(t *testing.T) {
	s, _, err := simai.Read("two", checkout.Open(t, two), simai.Options{Choices: collective.Choices{Algorithms: collective.Everywhere(collective.HalvingDoubling), Channels: 2}})
	if err != nil {
		t.Fatal(err)
	}
	var wire bytes.Buffer
	if err := gob.NewEncoder(&wire).Encode(s); err != nil {
		t.Fatal(err)
	}
	var got simai.Source
	if err := gob.NewDecoder(&wire).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if words(&got, 3) != words(s, 3) || got.Names.Collectives[0].Algorithm != "halving_doubling" {
		t.Errorf("decoded as %+v", got)
	}
}

func TestDiagnostics(t *testing.T) {
	const h = "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 all_gpus: 4"
	one := func(layer string) string { return h + "\n1\n" + layer + "\n" }
	for _, c := range []struct{ text, want string }{
		{"", "f.txt:1:1: the file is empty"},
		{"HYBRID", `f.txt:1:1: unknown policy "HYBRID"`},
		{h, "f.txt:1:59: the number of layers is missing"},
		{h + "\n1000000000\n", "f.txt:2:1: number of layers is 1000000000, want 1 to 262144"},
		{h + "\n1 2\n", `f.txt:2:3: unexpected "2" after the number of layers`},
		{h + "\n2\na -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n", "f.txt:2:1: the line says 2 layers, the file has 1"},
		{h + "\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 0\nb\n", "f.txt:4:1: line 2 says 1 layers, here is one more"},
		{"HYBRID_TRANSFORMER all_gpus: 4\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n", "f.txt:1:19: HYBRID_TRANSFORMER needs model_parallel_NPU_group:"},
		{"HYBRID_TRANSFORMER model_parallel_NPU_group: 2\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n", "f.txt:1:19: the file does not say how many ranks there are (all_gpus:); say it with the option ranks"},
		{"MICRO\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n", "f.txt:1:6: the file does not say how many ranks"},
		{"MICRO all_gpus: 1000000000\n", "f.txt:1:17: all_gpus is 1000000000, want 0 to 1048576"},
		{"MICRO all_gpus:\n", "f.txt:1:16: the line ends after all_gpus:, want its number"},
		{"MICRO checkpoints: 1", "f.txt:1:19: the line ends after checkpoints:, want its number"},
		{"MICRO all_gpu: 5\n", `f.txt:1:7: unknown word "all_gpu" (did you mean "all_gpus"?)`},
		{"MICRO ep: 1 ep: 1\n", "f.txt:1:13: ep is given twice"},
		{"HYBRID_TRANSFORMER model_parallel_NPU_group: 3 all_gpus: 4\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n", "f.txt:1:1: 4 ranks are no multiple of tensor parallelism 3 times pipeline parallelism 1"},
		{"HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: 4 all_gpus: 4\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n", "f.txt:1:52: expert parallelism 4 does not divide data parallelism 2"},
		{h + " checkpoints: 1 7\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n", "f.txt:1:75: HYBRID_TRANSFORMER has no checkpoints"},
		{"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 all_gpus: 4 checkpoint_initiates: 1 0\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n", "f.txt:1:97: layer 0 computes again from a checkpoint, and no layer up to it is one"},
		{one("a -1 1 NONE 0"), "f.txt:3:14: the line ends after the forward bytes, want the input gradient time"},
		{one("a -1 1 NONE 0 1 NONE 0 1 NONE 0 0 1"), `f.txt:3:35: unexpected "1" after the update time`},
		{one("a -2 1 NONE 0 1 NONE 0 1 NONE 0 0"), "f.txt:3:3: dependency is -2, want -1 to 262144"},
		{one("a -1 -1 NONE 0 1 NONE 0 1 NONE 0 0"), "f.txt:3:6: forward time is -1, want 0 to 1000000000000000"},
		{one("a -1 x NONE 0 1 NONE 0 1 NONE 0 0"), `f.txt:3:6: forward time "x" is not a whole number`},
		{one("a -1 1 ALLREDUSE 9 1 NONE 0 1 NONE 0 0"), `f.txt:3:8: unknown collective "ALLREDUSE" (did you mean "ALLREDUCE"?)`},
		{one("a -1 1 ALLREDUCE_PE 9 1 NONE 0 1 NONE 0 0"), `f.txt:3:18: unknown suffix "PE"`},
		{one("a -1 1 ALLREDUCE 2000000000000000000 1 NONE 0 1 NONE 0 0"), "f.txt:3:18: forward bytes is 2000000000000000000, want 0 to 1000000000000000000"},
		{one("a -1 1 ALLREDUCE 1000000000000000000 1 ALLREDUCE 1 1 NONE 0 0"), "f.txt:3:50: bytes 1: the collectives up to here carry more than 1000000000000000000"},
		{"MICRO all_gpus: 1048576\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 9 0\n", "f.txt:3:1: invalid transfer graph: all_reduce by ring of 1048576 ranks:"},
		{"HYBRID_TRANSFORMER model_parallel_NPU_group: 1 pp: 2 vpp: 1000 ga: 1000 pp_comm: 5 all_gpus: 2\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n", "f.txt:1:82: vpp times ga is 1000000, want at most 65536"},
		{h + strings.Repeat(" ", 1<<17), "f.txt:1:1: the line is longer than 65536 bytes"},
	} {
		_, _, err := simai.Read("f.txt", strings.NewReader(c.text), simai.Options{})
		var e *simai.Error
		if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

// FuzzRead holds that whatever is read can be played; every error has a place.
func FuzzRead(f *testing.F) {
	f.Add("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 2 vpp: 1 ga: 2 all_gpus: 8 checkpoints: 1 0 checkpoint_initiates: 1 1 pp_comm 9\n2\na -1 1 ALLREDUCE 8 2 ALLGATHER 8 3 REDUCESCATTER_DP_EP 8 4\nb -1 5 ALLTOALL_EP 8 6 NONE 0 7 ALLREDUCE 8 0\n")
	f.Add("HYBRID_DLRM DLRM_LAST_BOTTOM_LAYER: 1 all_gpus: 2\n2\ne -1 1 ALLTOALL 8 2 ALLTOALL 8 3 NONE 0 0\nb -1 4 NONE 0 5 NONE 0 6 ALLREDUCEALLTOALL 5 0\n")
	f.Add("MICRO all_gpus: 3\n1\na -1 1 NONE 0 1 NONE 0 1 BROADCAST 9 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, _, err := simai.Read("f.txt", strings.NewReader(text), simai.Options{Passes: 2})
		playable(t, s, err)
	})
}

func playable(t *testing.T, s *simai.Source, err error) {
	if err != nil {
		var e *simai.Error
		if !errors.As(err, &e) || e.Line < 1 || e.Column < 1 {
			t.Fatalf("error %v has no place", err)
		}
		return
	}
	if s.Ranks() > 64 || s.Channels > 4 {
		return
	}
	if err := graph.Check(s, 1); err != nil {
		t.Fatal(err)
	}
}
