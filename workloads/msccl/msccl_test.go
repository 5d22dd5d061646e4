package msccl_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/msccl"
)

// algo is an algorithm that a test writes.
type algo struct {
	text strings.Builder
	step int
}

func newAlgo(coll string, ranks, chunks, inPlace int) *algo {
	a := &algo{}
	fmt.Fprintf(&a.text, "<!-- a test -->\n<algo name=\"test\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\"%d\" ngpus=\"%d\" coll=\"%s\" inplace=\"%d\">", chunks, ranks, coll, inPlace)
	return a
}

func (a *algo) gpu(id, i, o, s int, blocks func()) {
	fmt.Fprintf(&a.text, "\n<gpu id=\"%d\" i_chunks=\"%d\" o_chunks=\"%d\" s_chunks=\"%d\">", id, i, o, s)
	blocks()
	a.text.WriteString("\n</gpu>")
}

func (a *algo) tb(id, send, recv, channel int, steps func()) {
	fmt.Fprintf(&a.text, "\n<tb id=\"%d\" send=\"%d\" recv=\"%d\" chan=\"%d\">", id, send, recv, channel)
	a.step = 0
	steps()
	a.text.WriteString("\n</tb>")
}

// do appends a step; on is the thread block and step that it depends on, if any.
func (a *algo) do(kind string, src string, srcOff int, dst string, dstOff, count int, on ...int) {
	block, step := -1, -1
	if len(on) > 0 {
		block, step = on[0], on[1]
	}
	fmt.Fprintf(&a.text, "\n<step s=\"%d\" type=\"%s\" srcbuf=\"%s\" srcoff=\"%d\" dstbuf=\"%s\" dstoff=\"%d\" cnt=\"%d\" depid=\"%d\" deps=\"%d\" hasdep=\"1\"/>", a.step, kind, src, srcOff, dst, dstOff, count, block, step)
	a.step++
}

func (a *algo) String() string { return a.text.String() + "\n</algo>\n" }

// ring is an all-reduce in place, with so many channels.
func ring(n, channels int) string {
	a := newAlgo("allreduce", n, n*channels, 1)
	for r := range n {
		a.gpu(r, n*channels, 0, 0, func() {
			for c := range channels {
				a.tb(c, (r+1)%n, (r+n-1)%n, c, func() {
					on := func(kind string, k int) {
						chunk := c*n + (r-k+2*n)%n
						a.do(kind, "i", chunk, "i", chunk, 1)
					}
					on("s", 0)
					for k := 1; k < n-1; k++ {
						on("rrs", k)
					}
					on("rrcs", n-1)
					for k := n; k < 2*n-2; k++ {
						on("rcs", k)
					}
					on("r", 2*n-2)
				})
			}
		})
	}
	return a.String()
}

// allPairs is an all-reduce in place: each rank reduces its chunk, and sends it to all.
func allPairs(n int) string {
	a := newAlgo("allreduce", n, n, 1)
	for r := range n {
		a.gpu(r, n, 0, n, func() {
			for k := 1; k < n; k++ {
				to, from := (r+k)%n, (r+n-k)%n
				a.tb(2*k, to, -1, 0, func() {
					a.do("s", "i", to, "s", r, 1)
					a.do("s", "i", r, "i", r, 1, 1, n-2)
				})
				a.tb(2*k+1, -1, from, 0, func() {
					a.do("r", "i", r, "s", from, 1)
					a.do("r", "i", from, "i", from, 1, 2*((n-k)%n), 0)
				})
			}
			a.tb(1, -1, -1, 0, func() {
				for k := 1; k < n; k++ {
					a.do("re", "s", (r+n-k)%n, "i", r, 1, 2*k+1, 0)
				}
			})
		})
	}
	return a.String()
}

// hierarchical is an all-gather of 4 ranks that exchanges chunks in pairs, then pairs of
// chunks between the pairs.
func hierarchical() string {
	a := newAlgo("allgather", 4, 4, 0)
	for r := range 4 {
		a.gpu(r, 1, 4, 0, func() {
			near, far, pair := r^1, r^2, r&2
			a.tb(0, near, near, 0, func() {
				a.do("cpy", "i", 0, "o", r, 1)
				a.do("s", "i", 0, "o", r, 1)
				a.do("r", "i", 0, "o", near, 1)
			})
			a.tb(1, far, far, 1, func() {
				a.do("nop", "i", -1, "o", -1, 0, 0, 0)
				a.do("s", "o", pair, "o", pair, 2, 0, 2)
				a.do("r", "o", pair^2, "o", pair^2, 2)
			})
		})
	}
	return a.String()
}

func read(t *testing.T, text string, o msccl.Options) (*msccl.Source, *graph.Loss) {
	t.Helper()
	s, loss, err := msccl.Read("x.xml", strings.NewReader(text), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := graph.Check(s, 1); err != nil {
		t.Fatal(err)
	}
	return s, loss
}

// sent returns the bytes that each rank sends.
func sent(s graph.Source) []units.Size {
	bytes := make([]units.Size, s.Ranks())
	var op graph.Op
	for r := range bytes {
		for p := s.Program(r, 1); p.Next(&op); {
			if op.Kind == graph.Send {
				bytes[r] += op.Bytes
			}
		}
	}
	return bytes
}

// The algorithms that csiglab has too send as many bytes and take as long as csiglab's.
func TestAgainstCollectives(t *testing.T) {
	for _, c := range []struct {
		name, text string
		cut        units.Size
		call       collective.Call
	}{
		{"ring", ring(4, 1), 0, collective.Call{Kind: collective.AllReduce, Algorithm: collective.Ring}},
		{"ring of 7", ring(7, 1), 0, collective.Call{Kind: collective.AllReduce, Algorithm: collective.Ring}},
		{"two channels", ring(4, 2), 0, collective.Call{Kind: collective.AllReduce, Algorithm: collective.Ring, Channels: 2}},
		{"all pairs", allPairs(4), 0, collective.Call{Kind: collective.AllReduce, Algorithm: collective.Direct}},
		{"hierarchical", hierarchical(), 0, collective.Call{Kind: collective.AllGather, Algorithm: collective.HalvingDoubling}},
	} {
		const bytes = 56_000_000
		s, _ := read(t, c.text, msccl.Options{Bytes: bytes, Iterations: 3, Cut: c.cut})
		c.call.Bytes = bytes
		own, err := collective.New(collective.Config{Call: c.call, Ranks: s.Ranks(), Iterations: 3})
		if err != nil {
			t.Fatal(err)
		}
		got, want := sent(s), sent(own)
		for r := range want {
			if got[r] != want[r] || want[r] == 0 {
				t.Errorf("%s: rank %d sends %v, csiglab's %v", c.name, r, got[r], want[r])
			}
		}
		link := graph.Link{Rate: 100 * units.Gbps, Latency: 3 * units.Microsecond}
		mine, err := graph.Ideal(s, 1, link)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := graph.Ideal(own, 1, link)
		if err != nil {
			t.Fatal(err)
		}
		if mine.End != theirs.End || mine.End == 0 {
			t.Errorf("%s: takes %v, csiglab's %v", c.name, units.Duration(mine.End), units.Duration(theirs.End))
		}
		info := s.Labels().Collectives[0]
		if what := own.Labels().Collectives[0]; info.Kind != what.Kind || info.Bytes != what.Bytes || info.Ranks != what.Ranks || info.Algorithm != "test" {
			t.Errorf("%s: labels %+v", c.name, info)
		}
	}
}

// Each loop over the steps moves a part of each chunk.
func TestCut(t *testing.T) {
	whole, _ := read(t, ring(4, 1), msccl.Options{Bytes: 4000})
	cut, _ := read(t, ring(4, 1), msccl.Options{Bytes: 4000, Cut: 300})
	if a, b := sent(whole)[0], sent(cut)[0]; a != b || a != 6000 {
		t.Errorf("sends %v and %v, want 6000B", a, b)
	}
	end, err := graph.Ideal(cut, 1, graph.Link{Rate: units.Gbps})
	if err != nil || end.Messages != 4*6*4 {
		t.Errorf("%+v, %v; want 96 messages", end, err)
	}
}

func TestLoss(t *testing.T) {
	text := strings.Replace(hierarchical(), `proto="Simple"`, `proto="LL128" minBytes="10" maxBytes="20"`, 1)
	_, loss := read(t, text, msccl.Options{Bytes: 40})
	want := `1 protocols with flags in their messages (LL, LL128), which are sent without, the first at x.xml:2:1
1 bounds of size (minBytes, maxBytes) that the buffer does not keep, the first at x.xml:2:1
4 local copies and reductions, which take no time, the first at x.xml:5:1`
	if loss.String() != want {
		t.Errorf("got\n%s\nwant\n%s", loss, want)
	}
}

func TestWrong(t *testing.T) {
	good, pairs := ring(3, 1), allPairs(3)
	replaced := func(text, old, by string) string {
		t.Helper()
		if !strings.Contains(text, old) {
			t.Fatalf("%q is not in %s", old, text)
		}
		return strings.Replace(text, old, by, 1)
	}
	for _, c := range []struct {
		text, want string
	}{
		{"", "x.xml:1:1: the file has no element algo"},
		{"<algo", "x.xml:1:6: no XML: unexpected EOF"},
		{"<alog/>", `x.xml:1:1: unknown element "alog" (did you mean "algo"?)`},
		{"<algo name=\"a\"/>", "x.xml:1:1: algo: the attribute coll is missing"},
		{good + "<x/>", "x.xml:31:1: the file goes on after the algorithm"},
		{replaced(good, `coll="allreduce"`, `coll="allreduced"`), `x.xml:2:1: unknown coll "allreduced" (did you mean "allreduce"?)`},
		{replaced(good, `ngpus="3"`, `ngpus="4"`), "x.xml:2:1: ngpus is 4, but the file has no gpu 3"},
		{replaced(good, `ngpus="3"`, `ngpus="9999999"`), "x.xml:2:1: ngpus is 9999999, want 2 to 4096"},
		{replaced(good, `nchunksperloop="3"`, `nchunksperloop="5"`), "x.xml:2:1: algo: a buffer of 12 B does not divide into nchunksperloop, 5 chunks; use a multiple such as 10B"},
		{replaced(good, `i_chunks="3"`, `i_chunks="2"`), "x.xml:3:1: gpu: i_chunks 2 does not fit nchunksperloop 3 of coll allreduce"},
		{replaced(good, `<gpu id="1"`, `<gpu id="0"`), "x.xml:12:1: gpu 0 was given in line 3"},
		{replaced(good, `send="1"`, `send="3"`), "x.xml:4:1: send is 3, want -1 to 2"},
		{replaced(good, `send="1"`, `send="0"`), "x.xml:4:1: tb: gpu 0 is a peer of itself"},
		{replaced(good, `send="1"`, `send="-1"`), "x.xml:5:1: step: type s in a tb without the peer that it needs (send, recv)"},
		{replaced(good, `type="rrs"`, `type="rsr"`), `x.xml:6:1: unknown type "rsr"`},
		{replaced(good, `srcoff="0"`, `srcoff="3"`), "x.xml:5:1: step: srcoff 3 with cnt 1 is outside of buffer i, which has 3 chunks"},
		{replaced(good, `srcbuf="i"`, `srcbuf="q"`), `x.xml:5:1: unknown srcbuf "q"`},
		{replaced(good, ` s="1"`, ` s="2"`), "x.xml:6:1: s is 2, want 1 to 1"},
		{replaced(good, `depid="-1"`, `depid="7"`), "x.xml:5:1: gpu 0 has no step -1 of tb 7, which the step depends on"},
		{replaced(good, `chan="0"`, `chan="1"`), "x.xml:5:1: gpu 0 sends to gpu 1 on channel 1 what is not received"},
		{replaced(good, `type="rcs"`, `type="r"`), "x.xml:18:1: gpu 1 receives from gpu 0 on channel 0 what is not sent"},
		{replaced(good, `dstoff="0" cnt="1"`, `dstoff="0" cnt="2"`), "x.xml:15:1: gpu 1 receives 1 chunks of the 2 that gpu 0 sends in line 5"},
		{replaced(good, `depid="-1" deps="-1"`, `depid="0" deps="1"`), "x.xml:5:1: gpu 0, tb 0: step 0 can never begin: it waits in a circle, for the step in line 6"},
		{replaced(pairs, `hasdep="1"`, `hasdep="0"`), ""},
		{strings.ReplaceAll(pairs, `hasdep="1"`, `hasdep="0"`), "x.xml:6:1: the step waits for ever: from step 1 on no step of tb 1 has hasdep 1"},
		{replaced(good, `type="rrcs"`, `type="rcs"`), "x.xml:3:1: the algorithm does not do an allreduce: rank 0 lacks rank 0's share of chunk 1"},
		{replaced(good, `type="rrs"`, `type="rcs"`), "x.xml:3:1: the algorithm does not do an allreduce: rank 0 lacks rank 0's share of chunk 2"},
		{replaced(good, `type="r" srcbuf="i" srcoff="2" dstbuf="i" dstoff="2"`, `type="r" srcbuf="i" srcoff="2" dstbuf="i" dstoff="1"`), "x.xml:3:1: the algorithm does not do an allreduce: rank 0 has something else in chunk 1 of its output"},
		{replaced(pairs, `type="re" srcbuf="s" srcoff="2"`, `type="re" srcbuf="s" srcoff="1"`), "x.xml:3:1: the algorithm does not do an allreduce: rank 0 adds chunk 0 of a rank twice, or to another chunk"},
		{replaced(pairs, `type="re" srcbuf="s" srcoff="2"`, `type="re" srcbuf="s" srcoff="0"`), "x.xml:3:1: the algorithm does not do an allreduce: rank 0 lacks chunk 0 of its output"},
	} {
		_, _, err := msccl.Read("x.xml", strings.NewReader(c.text), msccl.Options{Bytes: 12})
		var e *msccl.Error
		if c.want == "" {
			if err != nil {
				t.Error(err)
			}
		} else if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
	_, _, err := msccl.Read("x.xml", strings.NewReader(good), msccl.Options{Bytes: 3 << 40, Cut: 1})
	if want := "x.xml:2:1: 1099511627776 loops, which move 1B of each chunk of"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s…", err, want)
	}
}

// FuzzRead holds that whatever is read can be played; every error has a place.
func FuzzRead(f *testing.F) {
	f.Add(ring(3, 2))
	f.Add(allPairs(3))
	f.Add(hierarchical())
	f.Fuzz(func(t *testing.T, text string) {
		s, _, err := msccl.Read("x.xml", strings.NewReader(text), msccl.Options{Bytes: 12, Cut: 3, Iterations: 2})
		if err != nil {
			var e *msccl.Error
			if !errors.As(err, &e) || e.Line < 1 || e.Column < 1 {
				t.Fatalf("error %v has no place", err)
			}
			return
		}
		if err := graph.Check(s, 1); err != nil {
			t.Fatal(err)
		}
		if _, err := graph.Ideal(s, 1, graph.Link{Rate: units.Gbps}); err != nil {
			t.Fatal(err)
		}
	})
}
