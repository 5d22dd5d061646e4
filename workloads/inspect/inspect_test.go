package inspect_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/inspect"
	"github.com/csiglab/csiglab/workloads/simai"
)

// A ring all-reduce of S bytes sends 2(N-1)S/N of each rank and takes 2(N-1) steps of S/N.
func TestRing(t *testing.T) {
	s, err := collective.New(collective.Config{Call: collective.Call{Kind: collective.AllReduce, Bytes: 8000}, Ranks: 4, Iterations: 3})
	if err != nil {
		t.Fatal(err)
	}
	sum := inspect.Summarise(s, 1)
	if diff := cmp.Diff(sum.Kinds, []inspect.Kind{{Kind: "all_reduce", Messages: 3 * 4 * 6, Bytes: 3 * 4 * 6 * 2000}}); diff != "" {
		t.Errorf("kinds (got -, want +):\n%s", diff)
	}
	if c := sum.Collectives; len(c) != 1 || c[0].Runs != 3 || c[0].Buffer != 8000 {
		t.Errorf("collectives %+v", c)
	}
	p, err := inspect.Play(s, 1, graph.Link{Rate: 8 * units.Gbps, Latency: units.Microsecond}) // 2 kB take 2 us
	if err != nil {
		t.Fatal(err)
	}
	if want := 3 * 6 * 3 * units.Microsecond; units.Duration(p.End) != want || p.Messages != want || len(p.Path) != 18 {
		t.Errorf("ends at %v, critical messages %v in %d parts, want %v in 18", units.Duration(p.End), p.Messages, len(p.Path), want)
	}
}

// The critical path goes through the rank that computes longest.
func TestStraggler(t *testing.T) {
	tag := graph.Tag{Phase: graph.None, Collective: graph.None, Group: graph.None}
	of := map[int][]graph.Op{}
	for rank, d := range []units.Duration{1, 9, 2} {
		b := graph.Builder{Tag: tag}
		c := b.Compute(d*units.Microsecond, 0)
		b.Ops[0].Deps = nil
		for k := 1; k < 3; k++ {
			b.Send((rank+k)%3, 0, 1, c)
		}
		got := []uint32{b.Recv((rank+1)%3, 0, 1, c), b.Recv((rank+2)%3, 0, 1, c)}
		b.Compute(units.Microsecond, got...)
		of[rank] = b.Ops
	}
	p, err := inspect.Play(&graph.Static{Count: 1, All: 3, Of: of}, 1, graph.Link{})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Path) == 0 || p.Path[0].Rank != 1 || p.Path[0].What != "compute" || p.Compute != 10*units.Microsecond {
		t.Errorf("critical path %+v, computing %v; want 10us, from rank 1 on", p.Path, p.Compute)
	}
	var svg strings.Builder
	if err := p.Picture.SVG(&svg, "a < b"); err != nil {
		t.Fatal(err)
	}
	for rank := range 3 {
		if !strings.Contains(svg.String(), fmt.Sprintf(">rank %d<", rank)) || !strings.Contains(svg.String(), ">a &lt; b<") {
			t.Errorf("no rank %d in the picture", rank)
		}
	}
	// Rank 2 computes for 2 of 10 us at first: 240 of the 1200 columns. Messages take no time.
	if !strings.Contains(svg.String(), `<rect x="70" y="74" width="240" height="12" fill="#4477aa"`) {
		t.Errorf("no box of 2 us in\n%s", svg.String())
	}
}

// TestBounds: 127 ranks that send to one at the same time take as long as its NIC receives, which
// the links without congestion do not show.
func TestBounds(t *testing.T) {
	of := map[int][]graph.Op{}
	var sink graph.Builder
	sink.Tag = graph.Tag{Phase: graph.None, Collective: graph.None, Group: graph.None}
	for rank := 1; rank < 128; rank++ {
		b := graph.Builder{Tag: sink.Tag}
		b.Send(0, 0, 2_000_000)
		of[rank] = b.Ops
		sink.Recv(rank, 0, 2_000_000)
	}
	of[0] = sink.Ops
	s := &graph.Static{Count: 1, All: 128, Of: of}
	link := graph.Link{Rate: 100 * units.Gbps, Latency: units.Microsecond}
	p, err := inspect.Play(s, 1, link)
	if err != nil {
		t.Fatal(err)
	}
	want := []inspect.Bound{
		{What: "receivers", Time: 20_321 * units.Microsecond, Rank: 0, Bytes: 254_000_000}, // 254 MB at 12.5 GB/s
		{What: "senders", Time: 161 * units.Microsecond, Rank: 1, Bytes: 2_000_000},
		{What: "dependencies", Time: 161 * units.Microsecond, Rank: -1},
	}
	if diff := cmp.Diff(want, inspect.Summarise(s, 1).Bounds(link, p)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := inspect.Summarise(s, 1).Bounds(graph.Link{}, nil); len(got) != 0 {
		t.Errorf("without a rate: %v", got)
	}
}

// source is a source that has no parts.
type source struct{ graph.Source }

// TestParts: what is counted by parts is what the programs hold; what cannot be counted has no
// figures.
func TestParts(t *testing.T) {
	read := func(s *simai.Source, _ *graph.Loss, err error) *simai.Source {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const text = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 3 vpp: 1 ga: 2 all_gpus: 24 checkpoints: 1 0 checkpoint_initiates: 1 1 pp_comm: 9\n" +
		"3\na -1 1 ALLREDUCE 8 2 ALLGATHER 9 3 REDUCESCATTER_DP_EP 10 4\nb -1 5 ALLTOALL_EP 11 6 NONE 0 7 ALLREDUCE 13 0\nb -1 5 ALLTOALL_EP 11 6 NONE 0 7 ALLREDUCE 13 0\n"
	const staged = "[rank0 ~ rank3]\ncomm_type,comm_group,comm_group_size,msg_size,stage,dst,src,additional,_elapsed_time\n" +
		"broadcast,tp_group,2,9,s,None,1\nall_reduce,embedding_group,2,10,s\nbarrier,all,12,0,s\nisend,pp_group,1,7,s,None,None,send_next\ncomputation,None,None,0,s,None,None,,3\n" +
		"[rank4 ~ rank7]\ncomm_type,comm_group,comm_group_size,msg_size,stage,dst,src,additional\nbarrier,all,12,0,s\nirecv,pp_group,1,7,s,None,None,recv_prev\nall_gather,dp_group,2,5,s\n" +
		"[rank8 ~ rank11]\ncomm_type,comm_group,comm_group_size,msg_size,stage\nall_reduce,embedding_group,2,10,s\nbarrier,all,12,0,s\n"
	for _, s := range []*simai.Source{
		read(simai.Read("s.txt", strings.NewReader(text), simai.Options{Passes: 2})),
		read(simai.ReadCSV("s.csv", strings.NewReader(staged), simai.Options{Passes: 2, TimeUnit: units.Microsecond})),
	} {
		want := inspect.WithLimits(source{s}, 1, 1<<30, 1<<30)
		got := inspect.WithLimits(s, 1, 10, 1<<30)
		if !got.Partial || got.Uncounted || got.Operations != 0 || len(got.Dimensions) < 4 {
			t.Errorf("by parts: %+v", got)
		}
		var sum units.Size
		for _, d := range got.Dimensions {
			sum += d.Bytes
		}
		if sum != want.Bytes || want.Bytes == 0 {
			t.Errorf("the dimensions send %v, all ranks %v", sum, want.Bytes)
		}
		if more := inspect.WithLimits(source{s}, 1, 10, 1<<30); !more.Partial || more.Messages != want.Messages || more.Operations != want.Operations {
			t.Errorf("counted, not to be played: %+v", more)
		}
		got.Partial, got.Operations, got.Dimensions = want.Partial, want.Operations, nil
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(inspect.Summary{})); diff != "" {
			t.Errorf("by parts (-programs +parts):\n%s", diff)
		}
		for _, none := range []*inspect.Summary{inspect.WithLimits(source{s}, 1, 10, 20), inspect.WithLimits(s, 1, 10, 20)} {
			if !none.Partial || !none.Uncounted || none.Messages+none.Operations+len(none.Kinds)+len(none.Sent)+len(none.Dimensions)+none.Collectives[0].Runs != 0 || none.Bytes != 0 || none.Compute != 0 {
				t.Errorf("too many to count: %+v", none)
			}
			if b := none.Bounds(graph.Link{Rate: units.Gbps}, nil); len(b) != 0 {
				t.Errorf("bounds of what is not counted: %v", b)
			}
		}
	}
}

// TestOrder: what a rank does one after the other takes at least the sum, which is less than its
// dependencies take.
func TestOrder(t *testing.T) {
	s, _, err := simai.Read("s.txt", strings.NewReader("HYBRID_TRANSFORMER model_parallel_NPU_group: 2 all_gpus: 2\n1\na -1 2000 ALLREDUCE 2000000 0 NONE 0 1000 NONE 0 0\n"), simai.Options{})
	if err != nil {
		t.Fatal(err)
	}
	link := graph.Link{Rate: 8 * units.Gbps, Latency: units.Microsecond} // a byte takes a nanosecond
	p, err := inspect.Play(s, 1, link)
	if err != nil {
		t.Fatal(err)
	}
	want := []inspect.Bound{
		{What: "dependencies", Time: 2005 * units.Microsecond, Rank: -1}, // two pieces with a latency each
		{What: "order", Time: 2003 * units.Microsecond, Bytes: 2_000_000},
		{What: "senders", Time: 2001 * units.Microsecond, Bytes: 2_000_000},
		{What: "receivers", Time: 2001 * units.Microsecond, Bytes: 2_000_000},
		{What: "computing", Time: 3 * units.Microsecond},
	}
	if diff := cmp.Diff(want, inspect.Summarise(s, 1).Bounds(link, p)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
