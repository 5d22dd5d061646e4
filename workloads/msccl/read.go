// Package msccl reads the algorithms of MSCCL and RCCL: XML files that list, for each
// thread block of each GPU, what it sends, receives, reduces and copies in one collective.
//
//	<algo name="pair" proto="Simple" nchannels="1" nchunksperloop="2" ngpus="2" coll="allgather" inplace="1">
//	  <gpu id="0" i_chunks="1" o_chunks="2" s_chunks="0">
//	    <tb id="0" send="1" recv="1" chan="0">
//	      <step s="0" type="s" srcbuf="o" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
//	      <step s="1" type="r" srcbuf="o" srcoff="1" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
//	    </tb>
//	  </gpu>
//	  …
//	</algo>
//
// The steps of a thread block run one after the other. A step with depid and deps waits for
// that step of another block of its GPU. A message goes from the block that sends to a peer
// on a channel to the block of the peer that receives there, in order. Offsets and cnt count
// chunks, of which the buffer of the collective has nchunksperloop. Sources:
// docs/reference/references.md#msccl-algorithms.
package msccl

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/csiglab/csiglab/internal/lines"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/graph"
)

// Error names a place of a file and what is wrong with it.
type Error = lines.Error

// Limits; a value past them is a mistake rather than an algorithm.
const (
	maxRanks  = 1 << 12
	maxSteps  = 1 << 20                   // of all thread blocks, each counted as a step too
	maxChunks = 1 << 20                   // of a buffer
	maxWork   = 1 << 25                   // chunks that all steps move, each times the words of a set of ranks
	maxBytes  = 1_000_000_000_000_000_000 // that all steps move
	maxOps    = 1 << 21                   // of all ranks in one run of the collective
)

// Options say what a file leaves open.
type Options struct {
	// Bytes is the size of the collective's buffer, as package collective counts it: a
	// multiple of the number of chunks.
	Bytes      units.Size
	Iterations int        // how often the collective runs; 0 is 1
	Cut        units.Size // the part of a chunk that each loop over the steps moves; 0: all of it
}

// action is what a type of step does, in this order.
type action struct {
	receive, reduce, store, send bool
	local                        bool // begins with data of the own GPU and sends nothing
}

var actions = map[string]action{
	"s": {send: true}, "r": {receive: true, store: true}, "rcs": {receive: true, store: true, send: true},
	"rrs": {receive: true, reduce: true, send: true}, "rrc": {receive: true, reduce: true, store: true},
	"rrcs": {receive: true, reduce: true, store: true, send: true},
	"cpy":  {store: true, local: true}, "re": {reduce: true, store: true, local: true}, "nop": {},
}

// types are the names of actions.
var types = []string{"s", "r", "rcs", "rrs", "rrc", "rrcs", "cpy", "re", "nop"}

// kinds are the values of coll, with the kind of collective that they are.
var kinds = map[string]string{
	"allreduce": collective.AllReduce.String(), "allgather": collective.AllGather.String(), "reduce_scatter": collective.ReduceScatter.String(),
	"alltoall": collective.AllToAll.String(), "broadcast": collective.Broadcast.String(), "reduce": collective.Reduce.String(), "custom": "custom",
}

// slot is a chunk of a GPU: a buffer (i, o or s) and an offset.
type slot struct {
	gpu    int32
	buffer byte
	off    int32
}

// step is a step of a thread block.
type step struct {
	action
	at       lines.Pos
	src, dst slot
	count    int32
	depBlock int32 // id of a thread block of the GPU, or -1
	depStep  int32
	hasDep   bool
	over     bool     // while the algorithm is followed
	waited   []*block // blocks that this step holds up
	done     uint32   // the operation that is complete when the step is, while programs are made
}

// block is a thread block.
type block struct {
	at         lines.Pos
	gpu, id    int32
	send, recv int32 // peers, or -1
	channel    uint16
	steps      []step
	ends       [2]*connection // that its steps send and receive on, or nil
	next       int            // the step that it is at
}

// gpu is a rank.
type gpu struct {
	at     lines.Pos // Line 0: not in the file
	chunks map[byte]int32
	blocks map[int32]*block
	order  []place // steps in an order in which they can run
}

// place is a step of a block.
type place struct {
	*block
	step int
}

// reader is the state of one Read.
type reader struct {
	*lines.Reader
	xml  *xml.Decoder
	at   lines.Pos // of the element
	loss *graph.Loss
	o    Options

	name, coll  string
	algo        lines.Pos
	inPlace     bool
	chunks      int64 // of the buffer
	gpus        []gpu
	blocks      []*block // of all GPUs, in the order of the file
	steps, work int64
	memory      map[slot]*value
}

// Read reads an algorithm. name stands for the file in errors, which are *Error. The source
// passes graph.Check and does not get stuck. What the algorithm leaves at each rank is what
// its collective promises; of broadcast, reduce and custom, whose file does not say it, this
// is not known.
//
// The loss report names what a Source has not: local copies and reductions, which take no
// time, the flags of the protocols LL and LL128, and sizes for which the algorithm is not
// meant.
func Read(name string, in io.Reader, o Options) (*Source, *graph.Loss, error) {
	r := &reader{
		Reader: lines.NewReader(name, in), xml: xml.NewDecoder(in), loss: &graph.Loss{}, o: o,
		memory: map[slot]*value{},
	}
	if err := r.read(); err != nil {
		return nil, nil, err
	}
	if err := r.follow(); err != nil {
		return nil, nil, err
	}
	if err := r.judge(); err != nil {
		return nil, nil, err
	}
	s, err := r.source()
	if err != nil {
		return nil, nil, err
	}
	return s, r.loss, nil
}

// token returns the next beginning or end of an element, and sets r.at to its place.
func (r *reader) token() (xml.Token, error) {
	for {
		r.at.Line, r.at.Column = r.xml.InputPos()
		t, err := r.xml.Token()
		var syntax *xml.SyntaxError
		switch {
		case err == io.EOF:
			return nil, io.EOF
		case errors.As(err, &syntax):
			r.at.Line, r.at.Column = r.xml.InputPos()
			r.at.Column = max(1, r.at.Column) // 0 behind the end of a line
			return nil, r.Errorf(r.at, "no XML: %s", syntax.Msg)
		case err != nil:
			return nil, &Error{File: strings.TrimSuffix(r.Place(lines.Pos{}), ":0:0"), Line: r.at.Line, Column: r.at.Column, Msg: "cannot read the file: " + err.Error(), Cause: err}
		}
		switch t := t.(type) {
		case xml.StartElement, xml.EndElement:
			return t, nil
		case xml.CharData:
			if text := strings.TrimSpace(string(t)); text != "" {
				return nil, r.Errorf(r.at, "unexpected text between elements")
			}
		}
	}
}

// elements calls do for each element inside the one that has begun, up to its end. Each has
// this name; without a name there may be none.
func (r *reader) elements(name string, do func(a *attributes) error) error {
	for {
		t, err := r.token()
		if err == io.EOF {
			return r.Errorf(r.at, "the file ends inside an element")
		}
		if err != nil {
			return err
		}
		start, ok := t.(xml.StartElement)
		if !ok {
			return nil
		}
		if name == "" {
			return r.Errorf(r.at, "unexpected element %s", start.Name.Local)
		}
		if start.Name.Local != name {
			return r.Unknown("element", lines.Word{Pos: r.at, Text: start.Name.Local}, name)
		}
		if r.steps++; r.steps > maxSteps {
			return r.Errorf(r.at, "more than %d thread blocks and steps", maxSteps)
		}
		a := &attributes{r: r, at: r.at, of: start}
		if err := do(a); err != nil {
			return err
		}
	}
}

// attributes are those of an element. The first that is wrong is kept in err.
type attributes struct {
	r   *reader
	at  lines.Pos
	of  xml.StartElement
	err error
}

func (a *attributes) fail(format string, args ...any) {
	if a.err == nil {
		a.err = a.r.Errorf(a.at, "%s: %s", a.of.Name.Local, fmt.Sprintf(format, args...))
	}
}

func (a *attributes) find(name string) (string, bool) {
	for _, x := range a.of.Attr {
		if x.Name.Local == name {
			return x.Value, true
		}
	}
	return "", false
}

func (a *attributes) text(name string) string {
	v, ok := a.find(name)
	if !ok {
		a.fail("the attribute %s is missing", name)
	}
	return v
}

func (a *attributes) int(name string, low, high int64) int64 {
	text := a.text(name)
	if a.err != nil {
		return 0
	}
	v, err := a.r.Int(name, lines.Word{Pos: a.at, Text: text}, low, high)
	if err != nil {
		a.err = err
	}
	return v
}

// word returns the value of an attribute that is one of words.
func (a *attributes) word(name string, words ...string) string {
	text := a.text(name)
	for _, w := range words {
		if w == text {
			return text
		}
	}
	if a.err == nil {
		a.err = a.r.Unknown(name, lines.Word{Pos: a.at, Text: text}, words...)
	}
	return text
}

func (r *reader) read() error {
	t, err := r.token()
	if err == io.EOF {
		return r.Errorf(r.at, "the file has no element algo")
	}
	if err != nil {
		return err
	}
	start, ok := t.(xml.StartElement)
	if !ok || start.Name.Local != "algo" {
		return r.Unknown("element", lines.Word{Pos: r.at, Text: start.Name.Local}, "algo")
	}
	if err := r.readAlgo(&attributes{r: r, at: r.at, of: start}); err != nil {
		return err
	}
	if err := r.elements("gpu", r.readGPU); err != nil {
		return err
	}
	for id := range r.gpus {
		if r.gpus[id].at.Line == 0 {
			return r.Errorf(r.algo, "ngpus is %d, but the file has no gpu %d", len(r.gpus), id)
		}
	}
	if _, err = r.token(); err == io.EOF {
		return nil
	} else if err != nil {
		return err
	}
	return r.Errorf(r.at, "the file goes on after the algorithm")
}

func (r *reader) readAlgo(a *attributes) error {
	r.algo, r.name = a.at, a.text("name")
	r.coll = a.word("coll", "allreduce", "allgather", "reduce_scatter", "alltoall", "broadcast", "reduce", "custom")
	ranks := a.int("ngpus", 2, maxRanks)
	r.chunks = a.int("nchunksperloop", 1, maxChunks)
	r.inPlace = a.int("inplace", 0, 1) == 1
	proto := a.word("proto", "Simple", "LL", "LL128")
	if a.err != nil {
		return a.err
	}
	r.gpus = make([]gpu, ranks)
	if proto != "Simple" {
		r.loss.Add("protocols with flags in their messages (LL, LL128), which are sent without", r.Place(a.at))
	}
	for _, bound := range []string{"minBytes", "maxBytes"} {
		if _, ok := a.find(bound); ok {
			if v := a.int(bound, 0, math.MaxInt64); (int64(r.o.Bytes) < v) == (bound == "minBytes") && int64(r.o.Bytes) != v {
				r.loss.Add("bounds of size (minBytes, maxBytes) that the buffer does not keep", r.Place(a.at))
			}
		}
	}
	if a.err == nil && (r.o.Bytes < 1 || int64(r.o.Bytes)%r.chunks != 0) {
		least := max(1, int64(r.o.Bytes)/r.chunks) * r.chunks
		a.fail("a buffer of %d B does not divide into nchunksperloop, %d chunks; use a multiple such as %dB", int64(r.o.Bytes), r.chunks, least)
	}
	return a.err
}

func (r *reader) readGPU(a *attributes) error {
	id := a.int("id", 0, int64(len(r.gpus)-1))
	if a.err != nil {
		return a.err
	}
	g := &r.gpus[id]
	if g.at.Line > 0 {
		return r.Errorf(a.at, "gpu %d was given in line %d", id, g.at.Line)
	}
	*g = gpu{at: a.at, chunks: map[byte]int32{}, blocks: map[int32]*block{}}
	for _, b := range []byte("ios") {
		n := a.int(string(b)+"_chunks", 0, maxChunks*maxRanks)
		g.chunks[b] = int32(min(n, math.MaxInt32))
		part := b == 'i' && r.coll == "allgather" || b == 'o' && r.coll == "reduce_scatter"
		if part {
			n *= int64(len(r.gpus))
		}
		if b != 's' && n > 0 && n != r.chunks {
			a.fail("%c_chunks %d does not fit nchunksperloop %d of coll %s", b, g.chunks[b], r.chunks, r.coll)
		}
	}
	if a.err != nil {
		return a.err
	}
	return r.elements("tb", func(a *attributes) error { return r.readBlock(int32(id), a) })
}

func (r *reader) readBlock(id int32, a *attributes) error {
	g, last := &r.gpus[id], int64(len(r.gpus)-1)
	b := &block{
		at: a.at, gpu: id, id: int32(a.int("id", 0, maxSteps)), send: int32(a.int("send", -1, last)),
		recv: int32(a.int("recv", -1, last)), channel: uint16(a.int("chan", 0, math.MaxUint16)),
	}
	if b.send == id || b.recv == id {
		a.fail("gpu %d is a peer of itself", id)
	}
	if a.err != nil {
		return a.err
	}
	if earlier, ok := g.blocks[b.id]; ok {
		return r.Errorf(a.at, "tb %d was given in line %d", b.id, earlier.at.Line)
	}
	g.blocks[b.id] = b
	r.blocks = append(r.blocks, b)
	return r.elements("step", func(a *attributes) error { return r.readStep(b, a) })
}

func (r *reader) readStep(b *block, a *attributes) error {
	a.int("s", int64(len(b.steps)), int64(len(b.steps))) // steps stand in their order
	kind := a.word("type", types...)
	s := step{action: actions[kind], at: a.at, depBlock: int32(a.int("depid", -1, maxSteps)), depStep: int32(a.int("deps", -1, maxSteps)), hasDep: a.int("hasdep", 0, 1) == 1}
	if a.err == nil && kind != "nop" {
		s.count = int32(a.int("cnt", 1, maxChunks))
		r.work += int64(s.count) * int64(1+len(r.gpus)/64)
		at := func(what string, used bool) slot {
			buffer, off := a.word(what+"buf", "i", "o", "s"), a.int(what+"off", -1, math.MaxInt32)
			if a.err != nil || !used {
				return slot{}
			}
			if has := r.gpus[b.gpu].chunks[buffer[0]]; off < 0 || off+int64(s.count) > int64(has) {
				a.fail("%soff %d with cnt %d is outside of buffer %s, which has %d chunks", what, off, s.count, buffer, has)
			}
			return slot{b.gpu, buffer[0], int32(off)}
		}
		s.src, s.dst = at("src", !s.receive || s.reduce), at("dst", s.store)
		if s.send && b.send < 0 || s.receive && b.recv < 0 {
			a.fail("type %s in a tb without the peer that it needs (send, recv)", kind)
		}
		if r.work > maxWork {
			a.fail("the steps up to here move too many chunks")
		}
	}
	if a.err != nil {
		return a.err
	}
	if s.local {
		r.loss.Add("local copies and reductions, which take no time", r.Place(a.at))
	}
	b.steps = append(b.steps, s)
	return r.elements("", nil)
}

// Looks reports whether a file that begins with start looks like an algorithm.
func Looks(start string) bool {
	r := reader{Reader: lines.NewReader("", nil), xml: xml.NewDecoder(strings.NewReader(start))}
	t, err := r.token()
	element, ok := t.(xml.StartElement)
	return err == nil && ok && element.Name.Local == "algo"
}
