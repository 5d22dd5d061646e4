package pytorch

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/trace"
	"github.com/csiglab/csiglab/workloads/tracefile"
)

// fixture returns the trace of rank 0 of two of Chakra's tests, read through its archive.
func fixture(t *testing.T) string {
	t.Helper()
	members, err := tracefile.Find(checkout.Shared(t, "fixtures/mlcommons+chakra/tests/data/1.0.2-chakra.0.0.4.tgz"), Endings()...)
	if err != nil || len(members) != 1 {
		t.Fatal(members, err)
	}
	in, err := members[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// files returns files in memory, by rank.
func files(data ...string) (list []tracefile.File) {
	for rank, content := range data {
		list = append(list, tracefile.File{Name: fmt.Sprintf("t%d.json", rank), Rank: rank, Open: func() (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(content)), nil
		}})
	}
	return list
}

func each(s graph.Source, rank int, do func(op *graph.Op)) {
	var op graph.Op
	for p := s.Program(rank, 0); p.Next(&op); {
		do(&op)
	}
}

// play returns the operations of a rank as text, but for marks of a step.
func play(s graph.Source, rank int) (ops []string) {
	each(s, rank, func(op *graph.Op) {
		what := ""
		switch op.Kind {
		case graph.Send, graph.Recv:
			what = fmt.Sprintf(" %d B %d on %d", op.Bytes, op.Peer, op.Channel)
		case graph.Compute:
			what = fmt.Sprintf(" %v on %d", op.Duration, op.Unit)
		case graph.Begin, graph.End:
			if op.Tag.Collective == graph.None {
				return
			}
			what = " " + s.Labels().Collectives[op.Tag.Collective].Name
		}
		ops = append(ops, fmt.Sprintf("%s%s %v", op.Kind, what, op.Deps))
	})
	return ops
}

// TestFixture accounts for everything in a real trace: each collective is played, each wait joins
// one, and each other operator has no time, which the loss report says.
func TestFixture(t *testing.T) {
	text := fixture(t)
	s, loss, err := Read([]tracefile.File{{Name: "x.4.json", Rank: 4, Open: files(text)[0].Open}}, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := graph.Check(s, 0); err != nil {
		t.Fatal(err)
	}
	// What the file has, found without the reader.
	var file struct {
		Nodes []struct {
			Name   string
			Inputs struct{ Values []any }
			Attrs  []struct{ Name string }
		}
	}
	if err := json.Unmarshal([]byte(text), &file); err != nil {
		t.Fatal(err)
	}
	collectives, waits, marked, others := 0, 0, 0, 0
	for _, n := range file.Nodes {
		switch {
		case n.Name == "record_param_comms" && n.Inputs.Values[3] == "wait":
			waits++
		case n.Name == "record_param_comms":
			collectives++
		case strings.HasPrefix(n.Name, "[pytorch|") || strings.HasPrefix(n.Name, "##") || strings.HasPrefix(n.Name, "nccl:"):
			marked++
		default:
			others++
		}
		for _, a := range n.Attrs {
			if a.Name == "ts" || strings.HasSuffix(a.Name, "dur") {
				t.Fatalf("the file has times: %s", a.Name)
			}
		}
	}
	if s.Ranks() != 2 || collectives != 10 || waits != 10 {
		t.Errorf("%d ranks, %d collectives and %d waits in the file", s.Ranks(), collectives, waits)
	}
	if got := len(s.Labels().Collectives); got != collectives {
		t.Errorf("%d collectives are played, the file has %d", got, collectives)
	}
	for rank := range 2 {
		begun, bytes := 0, units.Size(0)
		each(s, rank, func(op *graph.Op) {
			switch {
			case op.Kind == graph.Begin && op.Tag.Collective != graph.None:
				if c := s.Labels().Collectives[op.Tag.Collective]; c.Kind != "all_gather" || c.Bytes != 8 {
					t.Errorf("%+v, want an all-gather of 2 floats of 4 B", c)
				}
				begun++
			case op.Kind == graph.Send:
				bytes += op.Bytes
			case op.Kind == graph.Compute:
				t.Errorf("compute of %v in a trace without times", op.Duration)
			}
		})
		if begun != collectives || bytes != 40 {
			t.Errorf("rank %d runs %d collectives and sends %d B, want %d and 40", rank, begun, bytes, collectives)
		}
	}
	want := []graph.Lost{
		{What: "operators without times", Count: others, First: loss.Items()[0].First},
		{What: "ranks without a trace of their own, which do what the one with a trace does", Count: 1, First: "x.4.json: byte 0"},
	}
	if diff := cmp.Diff(want, loss.Items()); diff != "" || len(file.Nodes) != collectives+waits+marked+others {
		t.Errorf("lost (-want +got):\n%s", diff)
	}
	if !regexp.MustCompile(`^x\.4\.json:\d+:\d+$`).MatchString(loss.Items()[0].First) {
		t.Errorf("no place: %s", loss.Items()[0].First)
	}
}

// op returns a node with times in its members, as trace_link writes it.
func op(id, parent int, name, more string) string {
	return fmt.Sprintf(`{"id": %d, "name": %q, "ctrl_deps": %d, "inputs": {"values": [], "shapes": [], "types": []}, "outputs": {"values": [], "shapes": [], "types": []}%s}`, id, name, parent, more)
}

// comms returns a node of a communication of schema 1.1.0.
func comms(id int, name, inputs, attributes string) string {
	return fmt.Sprintf(`{"id": %d, "name": "record_param_comms", "ctrl_deps": 2, "inputs": {"values": %s, "shapes": [], "types": []}, "outputs": {"values": [], "shapes": [], "types": []},
 "attrs": [{"name": "collective_name", "type": "string", "value": %q}%s]}`, id, inputs, name, attributes)
}

// attrs returns attributes of numbers and texts.
func attrs(pairs ...any) (text string) {
	for i := 0; i < len(pairs); i += 2 {
		value, err := json.Marshal(pairs[i+1])
		if err != nil {
			panic(err)
		}
		text += fmt.Sprintf(`, {"name": %q, "type": "x", "value": %s}`, pairs[i], value)
	}
	return text
}

func file(nodes ...string) string {
	return `{"schema": "1.1.0-chakra.0.0.4", "pid": 1, "nodes": [` + strings.Join(nodes, ",\n") + `]}`
}

func read(t *testing.T, o trace.Options, data ...string) (graph.Source, *graph.Loss) {
	t.Helper()
	s, loss, err := Read(files(data...), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := graph.Check(s, 0); err != nil {
		t.Fatal(err)
	}
	return s, loss
}

// TestTimes: the sum of what is computed is the sum of the operators' own times, of the host and
// the accelerator, and the rest is in the loss report.
func TestTimes(t *testing.T) {
	all := attrs("dtype", "Float", "in_msg_nelems", 256, "out_msg_nelems", 256, "pg_size", 2, "global_rank_start", 0, "global_rank_stride", 1)
	text := file(
		op(1, 0, "[pytorch|profiler|execution_trace|process]", ""),
		op(3, 2, "forward", `, "ts": 100, "inclusive_dur": 10.5`),
		op(4, 3, "aten::mm", `, "ts": 102, "inclusive_dur": 4.25, "exclusive_dur": 4`),
		op(5, 4, "gemm", `, "ts": 110, "cat": "kernel", "stream": 7, "exclusive_dur": 20`),
		strings.Replace(comms(6, "allreduce", `[[], [0, false], ["0", "default"], 0, "allreduce", [], [], 0, 1, 2]`, all), `"ctrl_deps"`, `"ts": 115, "exclusive_dur": 3, "ctrl_deps"`, 1),
		op(7, 6, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", `, "ts": 130, "cat": "kernel", "stream": 9, "exclusive_dur": 1000`),
		strings.Replace(comms(8, "wait", `[[0, false], ["0", "default"], 0, "wait", [], [], 0, 1, 2]`, ""), `"ctrl_deps"`, `"ts": 120, "ctrl_deps"`, 1),
		op(9, 2, "aten::add", `, "ts": 125, "exclusive_dur": 2`),
		op(10, 9, "add", `, "ts": 160, "cat": "kernel", "stream": 7, "exclusive_dur": 5`),
		op(11, 2, "unknown", `, "ts": 170`),
	)
	s, loss := read(t, trace.Options{}, text)
	want := []string{
		"compute 6.25us on 1 [0]",   // forward without aten::mm
		"compute 4us on 1 [1]",      // aten::mm
		"compute 20us on 0 [2]",     // gemm, launched by it
		"begin all_reduce 0 [2 3]",  // behind the host and the accelerator
		"send 512 B 1 on 0 [4]",     // of 1024 B
		"recv 512 B 1 on 0 [4]",     //
		"send 512 B 1 on 0 [6]",     //
		"recv 512 B 1 on 0 [6]",     //
		"end all_reduce 0 [8 7]",    //
		"compute 2us on 1 [2]",      // aten::add: the host does not wait
		"compute 5us on 0 [3 9 10]", // add: its stream does
	}
	if diff := cmp.Diff(want, play(s, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := loss.Items()[0]; got.What != "operators without times" || got.Count != 1 || len(loss.Items()) != 2 {
		t.Errorf("lost:\n%s", loss)
	}
}

// TestGaps: in a trace with beginnings alone, an operator takes until the next one begins.
func TestGaps(t *testing.T) {
	s, loss := read(t, trace.Options{}, file(
		op(3, 2, "b", `, "ts": 1700000000000110.5`), op(2, 2, "a", `, "ts": 1700000000000100`),
		op(5, 2, "c", `, "attrs": [{"name": "ts", "value": "1700000000000130.5"}]`),
	))
	if diff := cmp.Diff([]string{"compute 10.5us on 1 [0]", "compute 20us on 1 [1]"}, play(s, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := loss.Items(); len(got) != 1 || got[0].Count != 1 { // the last
		t.Errorf("lost:\n%s", loss)
	}
}

// TestSizes: kinds and sizes by PyTorch's names, from attributes and from tensors.
func TestSizes(t *testing.T) {
	world := []any{"pg_size", 4, "global_rank_start", 0, "global_rank_stride", 1}
	for _, c := range []struct {
		name       string
		attributes []any
		inputs     string
		kind       string
		bytes      units.Size
		sent       units.Size // by rank 0
	}{
		{"allreduce", []any{"dtype", "BFloat16", "in_msg_nelems", 600, "out_msg_nelems", 600}, "[]", "all_reduce", 1200, 1800},
		{"allreduce_coalesced", []any{"dtype", "Half", "in_msg_nelems", 600, "out_msg_nelems", 600}, "[]", "all_reduce", 1200, 1800},
		{"_allgather_base", []any{"dtype", "Float", "in_msg_nelems", 100, "out_msg_nelems", 400}, "[]", "all_gather", 1600, 1200},
		{"_reduce_scatter_base", []any{"dtype", "Double", "in_msg_nelems", 400, "out_msg_nelems", 100}, "[]", "reduce_scatter", 3200, 2400},
		{"reduce_scatter_tensor_coalesced", []any{"dtype", "Byte", "out_msg_nelems", 100}, "[]", "reduce_scatter", 400, 300},
		{"broadcast", []any{"dtype", "Long", "in_msg_nelems", 10, "out_msg_nelems", 10}, `[[], [1, false], ["0", ""], 0, "broadcast", [], [], 0, 1, 4]`, "broadcast", 80, 80},
		{"_reduce_oop", []any{"dtype", "Float8_e4m3fn", "in_msg_nelems", 10}, `[[], [1, false], ["0", ""], 3, "reduce", [], [], 0, 1, 4]`, "reduce", 10, 10},
		{"all_to_all", []any{"dtype", "Float", "in_msg_nelems", 400, "out_msg_nelems", 400}, "[]", "all_to_all", 1600, 1200},
		{"alltoall_base", []any{"dtype", "Float", "in_msg_nelems", 1000, "out_msg_nelems", 400, "in_split_size", "[1, 2, 3, 4]"}, "[]", "all_to_all", 4000, 3600},
		{"gather", []any{"dtype", "Int", "in_msg_nelems", 10}, `[[], [1, false], ["0", ""], 1, "gather", [], [], 0, 1, 4]`, "gather", 160, 40},
		{"scatter", []any{"dtype", "Int", "out_msg_nelems", 10}, `[[], [1, false], ["0", ""], 0, "scatter", [], [], 0, 1, 4]`, "scatter", 160, 120},
		{"barrier", nil, "[]", "barrier", 0, 2},
		{"allreduce", nil, `[[[5, 6, 0, 30, 4, "cuda:0"], [7, 8, 0, 10, 2, "cuda:0"]], 1, 99, 0, "allreduce", [], [], 4]`, "all_reduce", 140, 210},
	} {
		s, loss := read(t, trace.Options{}, file(comms(3, c.name, c.inputs, attrs(append(c.attributes, world...)...))))
		labels := s.Labels().Collectives
		if len(labels) != 1 || labels[0].Kind != c.kind || labels[0].Bytes != c.bytes || labels[0].Ranks != 4 || s.Ranks() != 4 {
			t.Errorf("%s: %d ranks, %+v, lost %v", c.name, s.Ranks(), labels, loss)
		}
		var sent units.Size
		each(s, 0, func(op *graph.Op) {
			if op.Kind == graph.Send {
				sent += op.Bytes
			}
		})
		if sent != c.sent {
			t.Errorf("%s: rank 0 sends %d B, want %d", c.name, sent, c.sent)
		}
	}
}

// TestPointToPoint: ranks of sends and receives are places in the group.
func TestPointToPoint(t *testing.T) {
	group := attrs("dtype", "Float", "in_msg_nelems", 50, "out_msg_nelems", 50, "pg_name", "3")
	define := `{"id": 2, "name": "## process_group:init ##", "ctrl_deps": 1, "inputs": {"values": ["[{\"pg_name\": \"3\", \"ranks\": [0, 2]}]"], "shapes": [[]], "types": ["String"]}}`
	p2p := func(name string, place int) string {
		return comms(3, name, fmt.Sprintf(`[[], [1, true], ["3", ""], %d, %q, [], [], 0, 2, 2]`, place, name), group)
	}
	s, loss := read(t, trace.Options{}, file(define, p2p("send", 1)), file(), file(p2p("recv", 0), define))
	if diff := cmp.Diff([]string{"send 200 B 2 on 0 [0]"}, play(s, 0)); diff != "" || !loss.Empty() {
		t.Errorf("lost %v, (-want +got):\n%s", loss, diff)
	}
	if diff := cmp.Diff([]string{"recv 200 B 0 on 0 [0]"}, play(s, 2)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSchema101: a trace of schema 1.0.1 of one of 8 ranks, as DLRM's of facebookresearch/param are, says
// neither how many ranks there are nor which one it is of, but for the arguments of its
// communication. What is sent is that of the text, found without the reader.
func TestSchema101(t *testing.T) {
	node := func(id int, name, tensors, splits string) string {
		return fmt.Sprintf(`{"name": "record_param_comms", "id": %d, "rf_id": %d, "parent": 2, "fw_parent": 0, "seq_id": -1, "scope": 7, "tid": 1, "fw_tid": 0, "op_schema": "",
"inputs": [%s, %d, 94837, 3, %q, %s], "input_shapes": [[], [], [], [], [], [], []], "input_types": ["GenericList[Tensor(float)]", "Int", "Int", "Int", "String", "GenericList[]", "GenericList[]"],
"outputs": [%s], "output_shapes": [[]], "output_types": ["GenericList[Tensor(float)]"]}`, id, id, tensors, id, name, splits, tensors)
	}
	text := `{"schema": "1.0.1", "pid": 7, "time": "2022-07-01 00:00:00", "start_ts": 1, "nodes": [` + strings.Join([]string{
		node(3, "all_to_allv", `[[1, 2, 0, 13312, 4, "cuda:3"]]`, "[1664, 1664, 1664, 1664, 1664, 1664, 1664, 1664], [1664, 1664, 1664, 1664, 1664, 1664, 1664, 1664]"),
		node(4, "all_to_allv", `[[1, 2, 0, 36, 4, "cuda:3"]]`, "[1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 3, 4, 5, 6, 7, 8]"),
		node(5, "allreduce", `[[1, 2, 0, 4096, 4, "cuda:3"]]`, "[], []"),
	}, ",\n") + "]}"
	var plain struct {
		Nodes []struct{ Inputs []any }
	}
	if err := json.Unmarshal([]byte(text), &plain); err != nil {
		t.Fatal(err)
	}
	for _, ranks := range []int{0, 8} {
		s, loss := read(t, trace.Options{Ranks: ranks}, text)
		if s.Ranks() != 8 {
			t.Errorf("--ranks %d: %d ranks, lost %v", ranks, s.Ranks(), loss)
		}
		for rank := range s.Ranks() {
			var want, sent float64
			for _, n := range plain.Nodes {
				tensor := n.Inputs[0].([]any)[0].([]any)
				bytes := tensor[3].(float64) * tensor[4].(float64)
				if split := n.Inputs[5].([]any); len(split) > 0 {
					bytes -= split[rank].(float64) * tensor[4].(float64)
				} else {
					bytes *= 2 * 7. / 8
				}
				want += bytes
			}
			each(s, rank, func(op *graph.Op) {
				if op.Kind == graph.Send {
					sent += float64(op.Bytes)
				}
			})
			if sent != want {
				t.Errorf("--ranks %d: rank %d sends %v B, the text has %v", ranks, rank, sent, want)
			}
		}
		if !strings.Contains(loss.String(), "7 ranks without a trace of their own") {
			t.Errorf("lost %v", loss)
		}
	}
	alone := `{"schema": "1.0.1", "nodes": [` + node(5, "allreduce", `[[1, 2, 0, 4096, 4, "cuda:3"]]`, "[], []") + "]}"
	_, _, err := Read(files(alone), trace.Options{})
	if want := "t0.json:1:31: node 5 \"record_param_comms\": neither it nor any group of the trace says how many ranks there are (say it: --ranks, or ranks of a job)"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if s, _ := read(t, trace.Options{Ranks: 8}, alone); s.Ranks() != 8 {
		t.Errorf("%d ranks, want 8", s.Ranks())
	}
}

// TestWaits: without nodes wait, what follows a collective waits for it.
func TestWaits(t *testing.T) {
	reduce := func(id int) string {
		return comms(id, "allreduce", fmt.Sprintf(`[[], [%d, false], ["0", ""], 0, "allreduce", [], [], 0, 1, 1]`, id), attrs("dtype", "Float", "in_msg_nelems", 1, "pg_size", 1))
	}
	work := func(id int) string { return op(id, 2, "w", `, "exclusive_dur": 1`) }
	wait := func(id, seq int) string {
		return comms(id, "wait", fmt.Sprintf(`[[%d, false], ["0", ""], 0, "wait", [], [], 0, 1, 1]`, seq), "")
	}
	s, _ := read(t, trace.Options{}, file(work(3), reduce(4), work(5)))
	if diff := cmp.Diff([]string{"compute 1us on 1 [0]", "begin all_reduce 0 [1]", "end all_reduce 0 [2]", "compute 1us on 1 [1 3]"}, play(s, 0)); diff != "" {
		t.Errorf("without wait (-want +got):\n%s", diff)
	}
	s, loss := read(t, trace.Options{}, file(work(3), reduce(4), work(5), wait(6, 4), work(7), wait(8, 99)))
	if diff := cmp.Diff([]string{"compute 1us on 1 [0]", "begin all_reduce 0 [1]", "end all_reduce 0 [2]", "compute 1us on 1 [1]", "compute 1us on 1 [3 4]"}, play(s, 0)); diff != "" {
		t.Errorf("with wait (-want +got):\n%s", diff)
	}
	if got := loss.String(); !strings.Contains(got, "1 nodes wait whose collective is unknown") {
		t.Errorf("lost %q", got)
	}
}

// TestOneForAll: one trace stands for all ranks, each in groups of its own.
func TestOneForAll(t *testing.T) {
	tensor := attrs("dtype", "Float", "in_msg_nelems", 8, "out_msg_nelems", 8, "pg_name", "1", "pg_size", 2, "global_rank_start", 0, "global_rank_stride", 1)
	data := attrs("dtype", "Float", "in_msg_nelems", 8, "out_msg_nelems", 8, "pg_name", "2", "pg_size", 2, "global_rank_start", 0, "global_rank_stride", 2)
	s, loss := read(t, trace.Options{Ranks: 4}, file(comms(3, "allreduce", "[]", tensor), comms(4, "allreduce", "[]", data)))
	peers := map[int32]bool{}
	each(s, 3, func(op *graph.Op) {
		if op.Kind == graph.Send {
			peers[op.Peer] = true
		}
	})
	if !cmp.Equal(peers, map[int32]bool{2: true, 1: true}) || len(loss.Items()) != 1 || loss.Items()[0].Count != 3 {
		t.Errorf("rank 3 sends to %v, lost %v", peers, loss)
	}
}

var place = regexp.MustCompile(`t\d+\.json:\d+:\d+: `)

func TestHostile(t *testing.T) {
	huge := attrs("dtype", "Float", "in_msg_nelems", 1<<44, "pg_size", 2)
	for _, c := range []struct{ name, data, want string }{
		{"empty", "", "t0.json:1:1: the end, want an object"},
		{"no nodes", `{"schema": "x"}`, "the file has no nodes"},
		{"cut", `{"nodes": [{"id": 1, "na`, "t0.json:1:25: the file ends in an object"},
		{"deep", `{"nodes": [{"inputs": ` + strings.Repeat("[", 100_000), "exceeded max depth"},
		{"deep values", `{"nodes": [{"name": "record_param_comms", "inputs": {"values": ` + strings.Repeat("[", 100_000), "exceeded max depth"},
		{"negative id", `{"nodes": [{"id": -1}]}`, "t0.json:1:19: id is -1"},
		{"another format", `{"traceEvents": []}`, "t0.json:1:2: traceEvents: not an execution trace"},
		{"two values", `{"nodes": []} 5`, "a number follows the end"},
		{"same id", file(op(3, 2, "a", `, "exclusive_dur": 1`), op(3, 2, "b", `, "exclusive_dur": 1`)), "there is another node 3"},
		{"years", file(op(3, 2, "a", `, "exclusive_dur": 1e17`)), `node 3 "a": it takes more than`},
		{"no time", file(op(3, 2, "a", `, "exclusive_dur": 1e300`)), "exclusive_dur is no time"},
		{"exabytes", file(comms(3, "allreduce", "[]", attrs("dtype", "Float", "in_msg_nelems", 1<<46, "pg_size", 2))), "more than 70368744177664 bytes"},
		{"exabytes of a gather", file(comms(3, "allgather", "[]", huge)), "allgather of"},
		{"exabytes in a tensor", file(comms(3, "allreduce", `[[[5, 6, 0, 9223372036854775807, 9223372036854775807, "c"]], 1, 99, 0, "allreduce", [], [], 4]`, "")), "more than 70368744177664 bytes"},
		{"10^9 ranks", file(comms(3, "barrier", "[]", attrs("pg_size", 1_000_000_000, "global_rank_start", 0, "global_rank_stride", 1))), "65536"},
		{"split sizes", file(comms(3, "alltoall_base", "[]", attrs("dtype", "Float", "in_msg_nelems", 8, "pg_size", 2, "in_split_size", "[1, 2, 3]"))), "has 3 split sizes for 2 ranks"},
		{"split text", file(comms(3, "alltoall_base", "[]", attrs("in_split_size", "[1, x]"))), "the split sizes are no list"},
		{"groups", `{"nodes": [{"id": 1, "name": "## process_group:init ##", "inputs": {"values": ["[{\"pg_name\": []}]"]}}]}`, "t0.json:1:12: node 1: its groups"},
		{"too many nodes", file(op(3, 2, "a", ""), op(4, 2, "a", ""), op(5, 2, "a", "")), "t0.json:3:1: more than 2 nodes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := Read(files(c.data), trace.Options{Limits: trace.Limits{Nodes: limit(c.name), Bytes: 1 << 22}})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %s", err, c.want)
			}
			if !place.MatchString(err.Error()) && c.name != "10^9 ranks" {
				t.Errorf("no place in: %v", err)
			}
		})
	}
	if _, _, err := Read(nil, trace.Options{}); err == nil {
		t.Error("no file is no error")
	}
}

func TestIsTrace(t *testing.T) {
	for text, want := range map[string]bool{
		file(): true, `{"schema": "1.0.2-chakra.0.0.4", "pid": 5,`: true, `{"workload_graph": []}`: false, `{"traceEvents": [], "schemaVersion": 1}`: false, "Nodes 5": false,
	} {
		if got := IsTrace([]byte(text)); got != want {
			t.Errorf("%.40s: got %v, want %v", text, got, want)
		}
	}
}

// FuzzPyTorch reads damaged traces, as that of one rank and as one for four.
func FuzzPyTorch(f *testing.F) {
	all := attrs("dtype", "Float", "in_msg_nelems", 256, "out_msg_nelems", 256, "pg_size", 2, "global_rank_start", 0, "global_rank_stride", 1)
	f.Add(file(op(3, 2, "a", `, "ts": 5, "exclusive_dur": 2.5`), comms(4, "allreduce", "[]", all)))
	f.Add(file(comms(4, "alltoall_base", `[[], [1, false], ["0", ""], 1, "x", [1, 2], [2, 1], 0, 1, 2]`, all), comms(5, "wait", `[1, 2, 3, "wait", [], [], 1]`, "")))
	f.Add(`{"nodes": [{"id": 1, "name": "## process_group:init ##", "inputs": {"values": ["[{\"pg_name\": \"0\", \"ranks\": []}]"]}}, {"id": 7, "name": "k", "cat": "kernel", "dur": 7, "ctrl_deps": 1}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<16 {
			return
		}
		for _, o := range []trace.Options{{}, {Ranks: 4}} {
			o.Limits.Bytes, o.Limits.Nodes = 1<<20, 20_000
			s, loss, err := Read(files(text), o)
			if err != nil {
				if !place.MatchString(err.Error()) && !strings.Contains(err.Error(), "rank") {
					t.Fatalf("no place in: %v", err)
				}
				continue
			}
			if len(loss.Items()) > 200 {
				t.Errorf("a loss report of %d lines", len(loss.Items()))
			}
			if s.Ranks() > 64 {
				continue
			}
			if err := graph.Check(s, 0); err != nil {
				t.Fatal(err)
			}
			if err := graph.CheckFences(s, 0); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// limit returns how many nodes a test of TestHostile may have.
func limit(name string) int {
	if name == "too many nodes" {
		return 2
	}
	return 1000
}
