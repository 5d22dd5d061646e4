// Package goal reads and writes schedules in the text form of GOAL, the Group Operation
// Assembly Language of LogGOPSim and ATLAHS:
//
//	num_ranks 2
//	rank 0 {
//	  l1: send 1024b to 1 tag 7 cpu 0 nic 0
//	  l2: calc 500 cpu 1
//	  l3: recv 8b from 1
//	  l2 requires l1     // l2 begins when l1 is complete
//	  l3 irequires l2    // l3 begins when l2 begins
//	}
//
// A calc takes nanoseconds on a processor of the rank. "//" and "/* */" are comments; a
// semicolon may stand for the end of a line. A receive may take a message from any rank
// ("from -1") or of any tag ("tag -1"). Sources: the grammar of
// src/LogGOPSim/txt2bin.re of spcl/LogGOPSim; Hoefler, Siebert, Lumsdaine, "Group
// Operation Assembly Language", ICPP 2009.
package goal

import (
	"io"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/lines"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
)

// Error names a place of a file and what is wrong with it.
type Error = lines.Error

// Limits; a value past them is a mistake rather than a schedule.
const (
	maxRanks = 1 << 20
	maxOps   = 1 << 21                   // of all ranks; read within 10 s and 1 GB
	maxDeps  = 1 << 23                   // of all ranks
	maxBytes = 1_000_000_000_000_000_000 // of all messages
	maxCalc  = 1_000_000_000_000_000     // ns, of all calcs of a rank: eleven days
)

// wild is any rank or any tag.
const wild = math.MaxUint32

// op is an operation as the file has it.
type op struct {
	graph.Op
	rank int32
	tag  uint32
	peer uint32 // rank, or wild
	at   lines.Pos
	// other is the operation of the message's other end, after matching; none before.
	other uint32
}

// none is no operation.
const none = math.MaxUint32

// edge is a dependency between operations of one rank.
type edge struct{ before, behind uint32 }

// reader is the state of one Read.
type reader struct {
	*lines.Reader
	loss *graph.Loss

	tokens  []lines.Word // of the line, without comments
	comment lines.Pos    // where an open /* began; Line 0: none

	ranks  int
	header lines.Pos         // of num_ranks; Line 0: none yet
	given  map[int]lines.Pos // rank -> its block
	rank   int               // of the open block, or -1
	labels map[string]uint32 // of the open block
	late   []late            // dependencies of the open block

	ops   []op
	edges []edge
	from  int               // the first of edges of the open block
	time  units.Duration    // of its calcs
	begun map[uint32]uint32 // operation -> the barrier that stands for its beginning
	bytes int64
}

// late is a dependency whose labels are resolved at the end of the block.
type late struct {
	behind, before lines.Word
	begins         bool // irequires
}

// Read reads a schedule. name stands for the file in errors, which are *Error. The source
// has one step and no collectives; it passes graph.Check, and its ranks do not wait for
// each other in a circle.
//
// The loss report names what a Source has not: NICs, receives from any rank or of any tag
// (which are matched in the order of the file), sizes of receives that differ from those of
// their sends, messages of no bytes (sent as one byte) and of a rank to itself (which take
// no time).
func Read(name string, in io.Reader) (graph.Source, *graph.Loss, error) {
	r := &reader{
		Reader: lines.NewReader(name, in), loss: &graph.Loss{}, given: map[int]lines.Pos{}, rank: -1,
		labels: map[string]uint32{}, begun: map[uint32]uint32{},
	}
	if err := r.read(); err != nil {
		return nil, nil, err
	}
	s, err := r.source()
	if err != nil {
		return nil, nil, err
	}
	return s, r.loss, nil
}

// read takes the file line by line.
func (r *reader) read() error {
	for {
		text, ok, err := r.Line()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		r.split(text, r.Last().Line)
		for rest := r.tokens; len(rest) > 0; {
			if rest, err = r.statement(rest); err != nil {
				return err
			}
		}
	}
	switch {
	case r.comment.Line > 0:
		return r.Errorf(r.comment, "the comment does not end")
	case r.header.Line == 0:
		return r.Errorf(r.Last(), "the file has no num_ranks")
	case r.rank >= 0:
		return r.Errorf(r.Last(), "the file ends inside rank %d, whose block begins in line %d", r.rank, r.given[r.rank].Line)
	case len(r.ops) == 0:
		return r.Errorf(r.Last(), "the schedule has no operations")
	}
	return nil
}

// split cuts a line into tokens: words, and the characters { } : ; by themselves.
func (r *reader) split(text string, line int) {
	r.tokens = r.tokens[:0]
	for i := 0; i < len(text); {
		if r.comment.Line > 0 {
			end := strings.Index(text[i:], "*/")
			if end < 0 {
				return
			}
			i += end + 2
			r.comment = lines.Pos{}
			continue
		}
		at := lines.Pos{Line: line, Column: i + 1}
		switch c := text[i]; {
		case c == ' ' || c == '\t':
			i++
		case strings.HasPrefix(text[i:], "//"):
			return
		case strings.HasPrefix(text[i:], "/*"):
			r.comment = at
			i += 2
		case strings.IndexByte("{}:;", c) >= 0:
			r.tokens = append(r.tokens, lines.Word{Pos: at, Text: text[i : i+1]})
			i++
		default:
			n := strings.IndexAny(text[i:], " \t{}:;/")
			if n < 0 {
				n = len(text) - i
			}
			n = max(n, 1)
			r.tokens = append(r.tokens, lines.Word{Pos: at, Text: text[i : i+n]})
			i += n
		}
	}
}

// statement takes what the tokens begin with and returns the others.
func (r *reader) statement(t []lines.Word) ([]lines.Word, error) {
	first := t[0]
	switch {
	case first.Text == ";":
		return t[1:], nil
	case first.Text == "num_ranks":
		if r.header.Line > 0 {
			return nil, r.Errorf(first.Pos, "num_ranks was set in line %d", r.header.Line)
		}
		v, rest, err := r.number("num_ranks", first, t[1:], 1, maxRanks)
		r.ranks, r.header = int(v), first.Pos
		return rest, err
	case r.header.Line == 0:
		return nil, r.Errorf(first.Pos, "unexpected %q; a schedule begins with num_ranks", first.Text)
	case first.Text == "rank":
		return r.begin(t)
	case r.rank < 0:
		return nil, r.Errorf(first.Pos, "unexpected %q outside of a rank; use rank <number> {", first.Text)
	case first.Text == "}":
		return t[1:], r.end()
	}
	n := slices.IndexFunc(t, func(w lines.Word) bool { return w.Text == ";" || w.Text == "}" })
	if n < 0 {
		n = len(t)
	}
	return t[n:], r.item(t[:n])
}

// number reads a number behind word.
func (r *reader) number(what string, word lines.Word, t []lines.Word, low, high int64) (int64, []lines.Word, error) {
	if len(t) == 0 {
		return 0, nil, r.Errorf(word.End(), "the line ends after %s, want a number", word.Text)
	}
	v, err := r.Int(what, t[0], low, high)
	if err != nil {
		return 0, nil, err
	}
	return v, t[1:], nil
}

// begin takes rank <number> {.
func (r *reader) begin(t []lines.Word) ([]lines.Word, error) {
	if r.rank >= 0 {
		return nil, r.Errorf(t[0].Pos, "rank inside rank %d, whose block begins in line %d", r.rank, r.given[r.rank].Line)
	}
	v, rest, err := r.number("rank", t[0], t[1:], 0, int64(r.ranks-1))
	if err != nil {
		return nil, err
	}
	if len(rest) == 0 || rest[0].Text != "{" {
		return nil, r.Errorf(t[1].End(), "want { after rank %d", v)
	}
	if earlier, ok := r.given[int(v)]; ok {
		return nil, r.Errorf(t[0].Pos, "rank %d was given in line %d", v, earlier.Line)
	}
	r.rank, r.given[int(v)] = int(v), t[0].Pos
	return rest[1:], nil
}

// end takes the end of a rank and resolves its dependencies.
func (r *reader) end() error {
	for _, d := range r.late {
		var id [2]uint32
		for i, label := range [2]lines.Word{d.behind, d.before} {
			found, ok := r.labels[label.Text]
			if !ok {
				return r.Errorf(label.Pos, "rank %d has no label %s", r.rank, label.Text)
			}
			id[i] = found
		}
		behind, before := id[0], id[1]
		if behind == before {
			return r.Errorf(d.behind.Pos, "%s depends on itself", d.behind.Text)
		}
		if d.begins {
			begun, err := r.beginning(before, d.before)
			if err != nil {
				return err
			}
			before = begun
		}
		if len(r.edges) == maxDeps {
			return r.Errorf(d.behind.Pos, "more than %d dependencies", maxDeps)
		}
		r.edges = append(r.edges, edge{before, behind})
	}
	// An operation with a barrier for its beginning begins when that is complete.
	for i := range r.edges[r.from:] {
		e := &r.edges[r.from+i]
		if b, ok := r.begun[e.behind]; ok && b != e.before {
			e.behind = b
		}
	}
	r.rank, r.late, r.from, r.time = -1, r.late[:0], len(r.edges), 0
	clear(r.labels)
	return nil
}

// beginning returns the barrier that stands for the beginning of an operation.
func (r *reader) beginning(id uint32, label lines.Word) (uint32, error) {
	if b, ok := r.begun[id]; ok {
		return b, nil
	}
	if r.ops[id].Kind == graph.Compute {
		r.loss.Add("operations that begin with a calc; they begin when it is ready, though its processor may be busy", r.Place(label.Pos))
	}
	if err := r.add(op{Op: graph.Op{Kind: graph.Barrier}, at: label.Pos}); err != nil {
		return 0, err
	}
	b := uint32(len(r.ops) - 1)
	r.begun[id] = b
	r.edges = append(r.edges, edge{b, id})
	return b, nil
}

// add appends an operation of the open rank.
func (r *reader) add(o op) error {
	if len(r.ops) == maxOps {
		return r.Errorf(o.at, "more than %d operations", maxOps)
	}
	o.rank, o.other = int32(r.rank), none
	o.Tag = graph.Tag{Phase: graph.None, Collective: graph.None, Group: graph.None}
	r.ops = append(r.ops, o)
	return nil
}

// item takes an operation or a dependency of the open rank.
func (r *reader) item(t []lines.Word) error {
	var label lines.Word
	if !slices.Contains(operations, t[0].Text) {
		label = t[0]
		if err := r.checkLabel(label); err != nil {
			return err
		}
		if len(t) == 1 {
			return r.Errorf(label.End(), "the line ends after %s, want a colon, requires or irequires", label.Text)
		}
		switch t[1].Text {
		case "requires", "irequires":
			return r.dependency(t)
		case ":":
		default:
			return r.Unknown("word", t[1], "requires", "irequires", ":")
		}
		if earlier, ok := r.labels[label.Text]; ok {
			return r.Errorf(label.Pos, "label %s was used in line %d", label.Text, r.ops[earlier].at.Line)
		}
		if t = t[2:]; len(t) == 0 {
			return r.Errorf(label.End(), "the line ends after the label %s, want send, recv or calc", label.Text)
		}
	}
	if err := r.operation(t); err != nil {
		return err
	}
	if label.Text != "" {
		r.labels[strings.Clone(label.Text)] = uint32(len(r.ops) - 1)
	}
	return nil
}

// operations are the words that begin one.
var operations = []string{"send", "recv", "calc"}

func (r *reader) checkLabel(w lines.Word) error {
	for i, c := range []byte(w.Text) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c != '_' && (c < '0' || c > '9')) {
			return r.Unknown("word", w, "send", "recv", "calc", "a label", "}")
		}
	}
	return nil
}

// dependency takes <label> requires <label>.
func (r *reader) dependency(t []lines.Word) error {
	switch {
	case len(t) == 2:
		return r.Errorf(t[1].End(), "the line ends after %s, want a label", t[1].Text)
	case len(t) > 3:
		return r.Errorf(t[3].Pos, "unexpected %q after the dependency", t[3].Text)
	case len(r.late) == maxDeps:
		return r.Errorf(t[0].Pos, "more than %d dependencies", maxDeps)
	}
	r.late = append(r.late, late{t[0], t[2], t[1].Text == "irequires"})
	return nil
}

// operation takes send, recv or calc and what follows.
func (r *reader) operation(t []lines.Word) error {
	word, o := t[0], op{at: t[0].Pos}
	var err error
	switch word.Text {
	case "calc":
		var v int64
		if v, t, err = r.number("time", word, t[1:], 0, maxCalc); err != nil {
			return err
		}
		o.Kind, o.Duration = graph.Compute, units.Duration(v)*units.Nanosecond
		if r.time += o.Duration; r.time > maxCalc*units.Nanosecond {
			return r.Errorf(word.Pos, "the calcs of rank %d up to here take more than %d ns", r.rank, int64(maxCalc))
		}
	case "send":
		o.Kind = graph.Send
		t, err = r.message(&o, word, t[1:], "to")
	case "recv":
		o.Kind = graph.Recv
		t, err = r.message(&o, word, t[1:], "from")
	default:
		return r.Unknown("operation", word, operations...)
	}
	if err != nil {
		return err
	}
	if err := r.attributes(&o, t); err != nil {
		return err
	}
	return r.add(o)
}

// message takes <size>b to|from <rank>.
func (r *reader) message(o *op, word lines.Word, t []lines.Word, direction string) ([]lines.Word, error) {
	if len(t) == 0 {
		return nil, r.Errorf(word.End(), "the line ends after %s, want the size, such as 1024b", word.Text)
	}
	size, last := t[0], t[0]
	digits := strings.TrimSuffix(size.Text, "b")
	t = t[1:]
	if digits == size.Text { // the b may stand by itself
		if len(t) == 0 || t[0].Text != "b" {
			return nil, r.Errorf(size.Pos, "size %q: want bytes, such as 1024b", size.Text)
		}
		last, t = t[0], t[1:]
	}
	v, e := r.Int("size", lines.Word{Pos: size.Pos, Text: digits}, 0, maxBytes)
	if e != nil {
		return nil, e
	}
	if o.Kind == graph.Send {
		if v > maxBytes-r.bytes {
			return nil, r.Errorf(size.Pos, "size %s: the messages up to here carry more than %d bytes", size.Text, int64(maxBytes))
		}
		r.bytes += v
	}
	o.Bytes = units.Size(v)
	if len(t) == 0 || t[0].Text != direction {
		return nil, r.Errorf(last.End(), "want %s and a rank after the size of a %s", direction, word.Text)
	}
	if o.Kind == graph.Recv && len(t) > 1 && t[1].Text == "-1" {
		o.peer = wild
		r.loss.Add(anyReceive, r.Place(o.at))
		return t[2:], nil
	}
	peer, t, err := r.number("rank", t[0], t[1:], 0, int64(r.ranks-1))
	o.peer = uint32(peer)
	return t, err
}

// anyReceive is what the loss report calls receives that do not say what they receive.
const anyReceive = "receives from any rank or of any tag, matched in the order of the file"

// attributes takes tag, cpu and nic with their numbers.
func (r *reader) attributes(o *op, t []lines.Word) error {
	seen := ""
	for len(t) > 0 {
		key := t[0]
		keys := []string{"tag", "cpu", "nic"}
		if o.Kind == graph.Compute {
			keys = keys[1:]
		}
		if !slices.Contains(keys, key.Text) {
			return r.Unknown("word", key, keys...)
		}
		if strings.Contains(seen, key.Text) {
			return r.Errorf(key.Pos, "%s is given twice", key.Text)
		}
		seen += key.Text + " "
		if key.Text == "tag" && o.Kind == graph.Recv && len(t) > 1 && t[1].Text == "-1" {
			o.tag, t = wild, t[2:]
			if o.peer != wild {
				r.loss.Add(anyReceive, r.Place(o.at))
			}
			continue
		}
		high := int64(math.MaxUint8)
		if key.Text == "tag" {
			high = wild - 1
		}
		v, rest, err := r.number(key.Text, key, t[1:], 0, high)
		if err != nil {
			return err
		}
		t = rest
		switch key.Text {
		case "tag":
			o.tag = uint32(v)
		case "cpu":
			o.Unit = uint8(v)
		case "nic":
			if v != 0 {
				r.loss.Add("operations on another NIC than 0; a rank uses the NIC that it is placed on", r.Place(key.Pos))
			}
		}
	}
	if o.Kind != graph.Compute {
		o.Unit = 0 // GOAL charges the processor for the overhead of a message, which takes no time here
	}
	return nil
}

// Looks reports whether a file that begins with start looks like a schedule.
func Looks(start string) bool {
	var r reader
	for line := range strings.Lines(start) {
		if r.split(strings.TrimRight(line, "\r\n"), 1); len(r.tokens) > 0 {
			return r.tokens[0].Text == "num_ranks"
		}
	}
	return false
}
