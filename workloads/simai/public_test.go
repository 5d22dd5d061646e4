package simai_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/simai"
)

// llama65b is AICB's L65B-M1-C05_Llama65B_megatron_tp2_pp8_mbs1.csv, with so many layers and micro
// batches instead of 80 and 8: what generate_megatron_workload.py of aliyun/aicb writes for 128
// ranks. As in the public file, each stage warms up as the first does, and the last one alone has the
// collectives of the embedding group.
func llama65b(layers, batches int) string {
	const stages, ranks, size = 8, 16, "33554432"
	var text strings.Builder
	row := func(kind, group, n, bytes, stage, src, additional string) {
		if group != "None" {
			group = "CommGroup." + group
		}
		fmt.Fprintf(&text, "CommType.%s,%s,%s,%s,%s,None,%s,%s,None,None,None,1\n", kind, group, n, bytes, stage, src, additional)
	}
	setup := func(kind, group, n, bytes string) { row(kind, group, n, bytes, "init.model_setup", "None", "") }
	end := func() { row("epoch_end", "None", "None", "0", "", "None", "") }
	message := func(kind, stage, additional string) { row(kind, "pp_group", "1", size, stage, "None", additional) }
	tensor := func(stage string, times int) {
		for range times {
			row("all_reduce", "tp_group", "2", size, stage, "None", "")
		}
	}
	forward := func() {
		row("broadcast", "tp_group", "2", "40", "forward_step", "0", "")
		row("broadcast", "tp_group", "2", "17408", "forward_step", "0", "")
		tensor("forward.MegatronEmbedding", 1)
		tensor("forward.MegatronRowLinear", 2*layers)
	}
	backward := func() {
		tensor("backward.MegatronColumnLinear", 2*layers)
		tensor("backward.MegatronEmbedding", 1)
	}
	for stage := range stages {
		first, last := stage == 0, stage == stages-1
		var names []string
		for rank := range ranks {
			names = append(names, fmt.Sprintf("rank%d", stage*ranks+rank))
		}
		fmt.Fprintf(&text, "[ pp_stage%d: [%s] ]\n%s", stage, strings.Join(names, ", "), heading)
		setup("all_reduce", "dp_group", "8", "8")
		for range 3 {
			setup("all_reduce", "dp_group", "8", "8")
			setup("all_reduce", "pp_group", "8", "8")
		}
		setup("all_gather", "dp_group", "8", "32")
		row("broadcast", "tp_group", "2", "24", "init.model_setup", "0", "")
		if last {
			setup("all_reduce", "embedding_group", "2", "262144000")
			setup("all_reduce", "embedding_group", "2", size)
		}
		setup("all_gather", "dp_group", "8", "64")
		end()
		warmup := min(stages-1, batches)
		for range warmup {
			if !first {
				message("irecv", "forward_step", "recv_prev")
			}
			forward()
			if !last {
				message("isend", "forward_step", "send_next")
			}
		}
		if !first && batches > warmup {
			message("irecv", "forward_step", "recv_prev")
		}
		for i := range batches - warmup {
			forward()
			if !last {
				message("irecv", "forward_step", "recv_next")
				message("isend", "forward_step", "send_next")
			}
			backward()
			if !first {
				message("isend", "backward_step", "send_prev")
				if i < batches-warmup-1 {
					message("irecv", "backward_step", "recv_prev")
				}
			}
		}
		for range warmup {
			if !last {
				message("irecv", "backward_step", "recv_next")
			}
			backward()
			if !first {
				message("isend", "backward_step", "send_prev")
			}
		}
		end()
	}
	return text.String()
}

// sends returns the bytes that a rank's program sends.
func sends(s graph.Source, rank int) (sum units.Size) {
	var op graph.Op
	for p := s.Program(rank, 1); p.Next(&op); {
		if op.Kind == graph.Send {
			sum += op.Bytes
		}
	}
	return sum
}

// rows returns the bytes that rows of AICB's CSV have a rank send, from the text alone: rings for
// the collectives, and chains for broadcasts over two ranks, of which the first sends. size
// returns how many ranks a group has where the row does not say it. Of the embedding group the
// ranks of the two stages have the same rows.
func rows(t *testing.T, section string, inTP int, size func(group string) int) (sum int64) {
	t.Helper()
	for line := range strings.Lines(section) {
		w := strings.Split(strings.TrimSpace(line), ",")
		if !strings.HasPrefix(line, "CommType.") || w[0] == "CommType.epoch_end" {
			continue
		}
		if len(w) == 11 { // without comm_group_size
			w = append([]string{w[0], w[1], "None"}, w[2:]...)
		}
		bytes, err := strconv.ParseInt(w[3], 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		n := int64(size(w[1]))
		if w[2] != "None" {
			n, _ = strconv.ParseInt(w[2], 10, 64)
		}
		switch strings.TrimPrefix(w[0], "CommType.") {
		case "all_reduce":
			sum += bytes * 2 * (n - 1) / n
		case "all_gather", "reduce_scatter", "all_to_all":
			sum += bytes * (n - 1) / n
		case "broadcast":
			if inTP == 0 {
				sum += bytes
			}
		case "isend":
			sum += bytes
		case "irecv":
		default:
			t.Fatalf("%s: what is it?", line)
		}
	}
	return sum
}

// TestLlama65B: the public file of a pipeline, whose stages batch a receive with what they send, is
// read, and each rank sends what its rows say.
func TestLlama65B(t *testing.T) {
	text := llama65b(80, 8)
	if len(text) != 2226392 {
		t.Errorf("the text has %d bytes, the public file has 2226392", len(text))
	}
	s, loss, err := simai.ReadCSV("l65b.csv", strings.NewReader(text), simai.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := (simai.Layout{TP: 2, DP: 8, PP: 8, EP: 1}); s.Layout != want {
		t.Errorf("layout %+v, want %+v", s.Layout, want)
	}
	if got := loss.String(); !strings.HasPrefix(got, "2 collectives of the embedding group that the last stage alone has, which the first runs in the same place, the first at l65b.csv:") {
		t.Errorf("lost %q", got)
	}
	const embedding = 262144000 + 33554432 // of rings of two: each sends the whole once
	for i, section := range strings.Split(text, "[ pp_stage")[1:] {
		for _, rank := range []int{16 * i, 16*i + 1} {
			want := rows(t, section, rank%2, func(string) int { return 0 })
			if i == 0 {
				want += embedding
			}
			if got := sends(s, rank); got != units.Size(want) {
				t.Errorf("rank %d sends %d bytes, its rows have %d", rank, int64(got), want)
			}
		}
	}
	s, _, err = simai.ReadCSV("l65b.csv", strings.NewReader(llama65b(1, 9)), simai.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := graph.Check(s, 1); err != nil {
		t.Error(err)
	}
}

// TestBatch: an isend directly behind an irecv of the same stage begins with it. One with a row in
// between, or one to another stage, waits for what has been received.
func TestBatch(t *testing.T) {
	s, _, err := simai.ReadCSV("b.csv", checkout.Open(t, "fixtures/minimal/aicb-batched-irecv.csv"), simai.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := graph.Check(s, 1); err != nil {
		t.Error(err)
	}
	if got := []string{words(s, 0), words(s, 1)}; got[0] != "send:1 recv:1" || got[1] != "recv:0 send:0" {
		t.Errorf("programs %q", got)
	}
	if sends(s, 0) != 100 || sends(s, 1) != 100 {
		t.Errorf("%d and %d bytes, want 100 of each", int64(sends(s, 0)), int64(sends(s, 1)))
	}
	const prev, next, both = "irecv,pp_group,1,8,s,,,recv_prev\n", "irecv,pp_group,1,8,s,,,recv_next\n", "all_reduce,tp_group,2,8,s\n"
	const toPrev, toNext = "isend,pp_group,1,8,s,,,send_prev\n", "isend,pp_group,1,8,s,,,send_next\n"
	for _, c := range []struct{ first, middle, last, want string }{
		{toNext + next, prev + toNext + next + toPrev, prev + toPrev, "recv:0 send:4 recv:4 send:0"},                               // passed on
		{next + toNext, prev + toPrev + next + toNext, prev + toPrev, "send:0 recv:0 send:4 recv:4"},                               // two batches
		{next + toNext + next + toNext, prev + toPrev + both + prev + toPrev, both, "send:0 recv:0 all_reduce tp s send:0 recv:0"}, // of two messages
		{next + next + toNext + toNext, prev + toPrev + both + prev + toPrev, both, "send:0 recv:0 all_reduce tp s send:0 recv:0"},
		{toNext + both + next, prev + both + toPrev, both, "recv:0 all_reduce tp s send:0"}, // not a batch
	} {
		text := ""
		for i, rows := range []string{c.first, c.middle, c.last} {
			text += fmt.Sprintf("[rank%d, rank%d]\n%s%s", 2*i, 2*i+1, heading, rows)
			if !strings.Contains(rows, both) {
				text += both
			}
		}
		s, _, err := simai.ReadCSV("b.csv", strings.NewReader(text), simai.Options{})
		if err != nil {
			t.Errorf("%s%v", text, err)
			continue
		}
		if got := strings.TrimSuffix(words(s, 2), " all_reduce tp s"); got != c.want {
			t.Errorf("%s: %s, want %s", c.middle, got, c.want)
		}
		if err := graph.Check(s, 1); err != nil {
			t.Errorf("%s%v", text, err)
		}
	}
}

// moe is a workload of SimAI with experts: a header, the layers in front of the micro batches,
// those of each, and those behind. The layers are those of the public file.
func moe(header string, batches int, front, each, behind []string) string {
	var layers []string
	layers = append(layers, front...)
	for range batches {
		layers = append(layers, each...)
	}
	layers = append(layers, behind...)
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n%d\n", header, len(layers))
	for i, l := range layers {
		// name, times, and what is sent forward, of the input gradient and of the weights
		w := strings.Fields(l)
		fmt.Fprintf(&text, "%s\t-1\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t100", w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9])
		if i < len(layers)-1 {
			text.WriteString("\n")
		}
	}
	return text.String()
}

// repeat returns the lists of layers one after the other, the second so many times.
func repeat(first []string, times int, second []string, third ...string) []string {
	all := append([]string{}, first...)
	for range times {
		all = append(all, second...)
	}
	return append(all, third...)
}

var behind = []string{
	"cross_entropy1 0 ALLREDUCE 16384 0 NONE 0 0 NONE 0", "cross_entropy2 0 ALLREDUCE 16384 0 NONE 0 0 NONE 0", "cross_entropy3 0 ALLREDUCE 16384 0 NONE 0 0 NONE 0",
	"optimizer1 0 ALLREDUCE 4 0 NONE 0 0 NONE 0", "optimizer2 0 ALLREDUCE 4 0 NONE 0 0 NONE 0", "optimizer3 0 ALLREDUCE 4 0 NONE 0 0 NONE 0", "optimizer4 0 ALLREDUCE 4 0 NONE 0 0 NONE 0",
}

// deepseek is server/workspaces/default_7807720d-03f/DeepSeek-16B-tp2-pp2-dp2-ep4-g32-mpdeptip.txt of
// aliyun/SimAI.
func deepseek() string {
	attention := []string{
		"attention_linear_q_lora 0 NONE 0 0 NONE 0 0 NONE 0", "attention_q_column 0 ALLGATHER 16777216 0 REDUCESCATTER 0 0 NONE 0",
		"attention_linear_kv_lora 0 NONE 0 0 NONE 0 0 NONE 0", "attention_kv_column 0 ALLGATHER 16777216 0 REDUCESCATTER 0 0 NONE 0",
		"attention_o_row 0 REDUCESCATTER 16777216 0 ALLGATHER 16777216 0 NONE 0",
	}
	dense := []string{"mlp_column 660348 ALLGATHER 16777216 660348 REDUCESCATTER 0 660348 NONE 0", "mlp_row 660348 REDUCESCATTER 16777216 660348 ALLGATHER 16777216 660348 NONE 0"}
	experts := []string{
		"mlp_moelayer 1320697 ALLGATHER 1024 1320697 NONE 0 1 NONE 0", "mlp_moelayer 1 ALLTOALL_EP 25952256 1 ALLTOALL_EP 50331648 1 NONE 0",
		"mlp_moelayer 1 ALLGATHER 100663296 1 REDUCESCATTER 100663296 1 NONE 0", "mlp_moelayer 1 REDUCESCATTER 100663296 1 ALLGATHER 100663296 1 NONE 0",
		"mlp_moelayer 1 ALLTOALL_EP 50331648 1 ALLTOALL_EP 50331648 1 NONE 0",
	}
	layer := repeat(attention, 1, experts, dense...)
	return moe("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 4 pp: 2 vpp: 1 ga: 8 all_gpus: 32 checkpoints: 0 checkpoint_initiates: 0 pp_comm: 8388608.0", 8, []string{
		"grad_gather 1 NONE 0 1 NONE 0 1 ALLGATHER 1730164736", "grad_param_comm 1 NONE 0 1 NONE 0 1 REDUCESCATTER 3460329472",
		"grad_param_compute 1 NONE 0 11652560 NONE 0 1 NONE 0", "embedding_grads 1 NONE 0 1 ALLREDUCE 16777216 1 NONE 0",
		"moe_grad_norm1 1 NONE 0 1 NONE 0 1 ALLGATHER_DP_EP 3748659200", "moe_grad_norm2 1 NONE 0 1 NONE 0 1 REDUCESCATTER_DP_EP 7497318400",
	}, repeat(append([]string{"embedding_layer 33585541 ALLREDUCE 16777216 1 NONE 0 5826280 NONE 0"}, repeat(attention, 1, dense)...), 26, layer,
		"final_column 1606191 ALLGATHER 16777216 1606191 REDUCESCATTER 0 1606191 NONE 0"), behind)
}

// analytical is example/workload_analytical.txt of aliyun/SimAI, for 9,216 ranks.
func analytical() string {
	layer := []string{
		"attention_column 1750840 ALLGATHER 50331648 875420 REDUCESCATTER 0 875420 NONE 0", "attention_row 1750840 REDUCESCATTER 50331648 875420 ALLGATHER 50331648 875420 NONE 0",
		"mlp_moelayer 7956367 ALLGATHER 1572864 7956367 ALLGATHER 1572864 1 NONE 0", "mlp_moelayer 1 ALLTOALL 25165824 1 ALLTOALL 25165824 1 NONE 0",
		"mlp_moelayer 1 ALLTOALL_EP 100663296 1 ALLTOALL_EP 100663296 1 NONE 0", "mlp_moelayer 1 ALLGATHER 201326592 1 REDUCESCATTER 201326592 1 NONE 0",
		"mlp_moelayer 1 REDUCESCATTER 201326592 1 ALLGATHER 201326592 1 NONE 0", "mlp_moelayer 1 ALLTOALL_EP 100663296 1 ALLTOALL_EP 100663296 1 NONE 0",
		"mlp_moelayer 1 ALLTOALL 25165824 1 ALLTOALL 25165824 1 NONE 0",
	}
	text := moe("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 16 pp: 12 vpp: 8 ga: 24 all_gpus: 9216 checkpoints: 0 checkpoint_initiates: 0 pp_comm 251658240", 24, []string{
		"grad_gather 1 NONE 0 1 NONE 0 1 ALLGATHER 2807758848", "grad_param_comm 1 NONE 0 1 NONE 0 1 REDUCESCATTER 5615517696",
		"grad_param_compute 1 NONE 0 29700224 NONE 0 1 NONE 0", "embedding_grads 1 NONE 0 1 ALLREDUCE 50331648 1 NONE 0",
		"moe_grad_norm1 1 NONE 0 1 NONE 0 1 ALLGATHER_DP_EP 19327352832", "moe_grad_norm2 1 NONE 0 1 NONE 0 1 REDUCESCATTER_DP_EP 38654705664",
	}, repeat([]string{"embedding_layer 622731 ALLREDUCE 50331648 1 NONE 0 875420 NONE 0"}, 8, layer, "final_column 875420 ALLGATHER 50331648 875420 REDUCESCATTER 0 875420 NONE 0"), behind) + "\n"
	return strings.Replace(text, "\t875420\tNONE", "\t15091072\tNONE", 1) // of the first layer
}

// TestExperts: public files of SimAI are read, and each rank sends what the lines say: as rings do,
// and all-to-alls directly.
func TestExperts(t *testing.T) {
	for _, c := range []struct {
		name, text   string
		length       int
		layout       simai.Layout
		ppBytes, out int64 // of the messages of stages, and how many a stage sends each way
	}{
		{"deepseek", deepseek(), 189542, simai.Layout{TP: 2, DP: 8, PP: 2, EP: 4}, 8388608, 8},
		{"analytical", analytical(), 140399, simai.Layout{TP: 2, DP: 384, PP: 12, EP: 16}, 251658240, 192},
	} {
		if len(c.text) != c.length {
			t.Errorf("%s: the text has %d bytes, the public file has %d", c.name, len(c.text), c.length)
		}
		s, _, err := simai.Read(c.name, strings.NewReader(c.text), simai.Options{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if s.Layout != c.layout {
			t.Errorf("%s: layout %+v, want %+v", c.name, s.Layout, c.layout)
		}
		l := c.layout
		var want int64
		for line := range strings.Lines(c.text) {
			w := strings.Fields(line)
			if len(w) != 12 {
				continue
			}
			for _, at := range []int{3, 6, 9} {
				kind, suffix, _ := strings.Cut(w[at], "_")
				n := map[string]int{"": l.TP, "EP": l.EP, "DP_EP": l.DP / l.EP}[suffix]
				if at == 9 && suffix == "" {
					n = l.DP
				}
				bytes, err := strconv.ParseInt(w[at+1], 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				bytes *= int64(n - 1)
				if kind == "ALLREDUCE" {
					bytes *= 2
				}
				if kind != "NONE" && bytes%int64(n) != 0 {
					t.Fatalf("%s: pieces are not equal", line)
				}
				want += bytes / int64(n)
			}
		}
		last := s.Ranks() - 1
		for rank, messages := range map[int]int64{0: c.out, last: c.out, last / 2: 2 * c.out} {
			if l.PP == 2 {
				messages = c.out
			}
			if got := sends(s, rank); got != units.Size(want+messages*c.ppBytes) {
				t.Errorf("%s: rank %d sends %d bytes, the lines have %d", c.name, rank, int64(got), want+messages*c.ppBytes)
			}
		}
	}
}

// TestUnsized: AICB's microbenchmarks have no column comm_group_size, and its logs have None in it.
// Groups of data parallelism, and those that other rows say, are known then; what is not is refused.
func TestUnsized(t *testing.T) {
	const micro = "comm_type,comm_group,msg_size,stage,dst,src,additional,_elapsed_time,algbw,busbw,count\n" +
		"CommType.all_to_all,CommGroup.dp_group,4096,warmup,None,None,,None,None,None,1\n" +
		"CommType.epoch_end,None,0,,None,None,,None,None,None,1\n" +
		"CommType.all_to_all,CommGroup.dp_group,1073741824,test_step,None,None,,None,None,None,1\n"
	log := func(ep string) string {
		return heading + "CommType.all_reduce,CommGroup.dp_group,4,8,init.model_setup,None,None,,3380.222900390625,0.0,0.0,1\n" +
			"CommType.epoch_end,None,None,0,,None,None,,7950.41298866272,0.0,0.0,1\n" +
			"CommType.all_to_all,CommGroup.tp_group,2,8388608,forward.MoE,None,None,,327.4864501953125,0.03,0.03,1\n" +
			"CommType.all_to_all,CommGroup.ep_group," + ep + ",33554432,forward.MoE,None,None,,2406.90576171875,0.01,0.01,1\n" +
			"CommType.all_gather,CommGroup.tp_group,None,134217728,forward.MoE,None,None,,0.6010879874229431,223.29,195.38,1\n"
	}
	for _, c := range []struct {
		name, text string
		ranks      int
		want       simai.Layout
		size       map[string]int // what rows do not say
		refused    string
	}{
		{name: "micro.csv", text: micro, ranks: 8, want: simai.Layout{TP: 1, DP: 8, PP: 1, EP: 1}, size: map[string]int{"CommGroup.dp_group": 8}},
		{name: "micro.csv", text: micro, refused: "micro.csv:2:21: the file does not say how many ranks group dp has: column comm_group_size is missing or has None in all of its rows; say how many ranks there are (--ranks, or ranks of a job)"},
		{name: "log.csv", text: log("4"), want: simai.Layout{TP: 2, DP: 4, PP: 1, EP: 4}, size: map[string]int{"CommGroup.tp_group": 2}},
		{name: "log.csv", text: log("None"), refused: "log.csv:5:21: the file does not say how many ranks group ep has: column comm_group_size is missing or has None in all of its rows; write it there"},
		{name: "both.csv", text: micro + "CommType.all_reduce,CommGroup.tp_group,8,s,None,None,,None,None,None,1\n", ranks: 8, refused: "both.csv:5:21: the file says of neither group tp nor group dp how many ranks it has: column comm_group_size is missing or has None in all of its rows; write it there"},
	} {
		s, _, err := simai.ReadCSV(c.name, strings.NewReader(c.text), simai.Options{Ranks: c.ranks})
		if err != nil || c.refused != "" {
			if fmt.Sprint(err) != c.refused {
				t.Errorf("%s: got %v, want %s", c.name, err, c.refused)
			}
			continue
		}
		if s.Layout != c.want {
			t.Errorf("%s: layout %+v, want %+v", c.name, s.Layout, c.want)
		}
		for rank := range s.Ranks() {
			want := rows(t, c.text, rank%c.want.TP, func(group string) int { return c.size[group] })
			if got := sends(s, rank); got != units.Size(want) {
				t.Errorf("%s: rank %d sends %d bytes, its rows have %d", c.name, rank, int64(got), want)
			}
		}
		if err := graph.Check(s, 1); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
