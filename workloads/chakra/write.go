package chakra

import (
	"bufio"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/trace"
)

// version is that of the files that Write makes: the one of the public examples.
const version = "0.0.4"

// exact is an attribute of ours: the duration in picoseconds of a node whose duration_micros is
// rounded.
const exact = "csiglab_duration_ps"

// WriteOptions of Write.
type WriteOptions struct {
	Seed     uint64 // of the programs
	MaxNodes int    // of all ranks; 0: trace.DefaultLimits.Nodes
}

// WriteFiles writes the programs of all ranks to files <prefix>.<rank>.et; see Write.
func WriteFiles(prefix string, s graph.Source, o WriteOptions) (*graph.Loss, error) {
	var last *own.Part
	loss, err := Write(s, o, func(rank int) (io.WriteCloser, error) {
		part, err := own.Create(fmt.Sprintf("%s.%d.et", prefix, rank), 0o644)
		last = part
		return wholeFile{part}, err
	})
	if err != nil && last != nil {
		last.Discard()
	}
	return loss, err
}

// wholeFile is a file that Close puts in its place.
type wholeFile struct{ *own.Part }

func (w wholeFile) Close() error { return w.Commit() }

// Write writes the program of each rank as a trace in protobuf to what create returns, and closes
// that when it is whole. Collectives are written as the messages that they consist of, and all steps as one
// trace; the stream numbers of messages become their tags. Durations are rounded to a
// microsecond, but Read finds them exactly. The loss report says what a trace cannot hold.
func Write(s graph.Source, o WriteOptions, create func(rank int) (io.WriteCloser, error)) (*graph.Loss, error) {
	w := &writer{source: s, o: o}
	if w.o.MaxNodes == 0 {
		w.o.MaxNodes = trace.DefaultLimits.Nodes
	}
	for rank := range s.Ranks() {
		out, err := create(rank)
		if err != nil {
			return nil, err
		}
		w.out = bufio.NewWriter(out)
		err = w.rank(rank)
		if flush := w.out.Flush(); err == nil {
			err = flush
		}
		if err == nil { // otherwise out is not whole
			err = out.Close()
		}
		if err != nil {
			return nil, fmt.Errorf("rank %d: %w", rank, err)
		}
	}
	return &w.loss, nil
}

// writer is the state of one Write.
type writer struct {
	source graph.Source
	o      WriteOptions
	loss   graph.Loss
	out    *bufio.Writer
	nodes  int
	data   []byte // of a message
	part   []byte // of a message within it
}

// left stands for an operation that is not written and depends on nothing.
const left = ^uint32(0)

// rank writes the program of a rank.
func (w *writer) rank(rank int) error {
	w.data = w.data[:0]
	w.text(metaVersion, version)
	if err := w.message(); err != nil {
		return err
	}
	is := []uint32{} // by operation: the node that stands for it
	var op graph.Op
	var deps []uint32
	for p, id := w.source.Program(rank, w.o.Seed), uint32(0); p.Next(&op); id++ {
		deps = deps[:0]
		for _, d := range op.Deps {
			if is[d] != left {
				deps = append(deps, is[d])
			}
		}
		if w.nodes++; w.nodes > w.o.MaxNodes {
			return fmt.Errorf("the programs have more than %d operations", w.o.MaxNodes)
		}
		place := fmt.Sprintf("rank %d, operation %d", rank, id)
		if op.NotBefore > 0 {
			w.loss.Add("times before which an operation does not begin", place)
		}
		w.loss.LeaveTime(&op, place)
		nothing := op.Kind != graph.Send && op.Kind != graph.Recv && op.Duration == 0
		if nothing && len(deps) < 2 {
			if is = append(is, left); len(deps) == 1 {
				is[id] = deps[0]
			}
			continue
		}
		is = append(is, id)
		if err := w.node(rank, id, &op, deps, place); err != nil {
			return err
		}
	}
	return nil
}

// node writes an operation.
func (w *writer) node(rank int, id uint32, op *graph.Op, deps []uint32, place string) error {
	w.data = w.data[:0]
	w.number(nodeID, uint64(id))
	w.text(nodeName, w.title(op))
	kind := typeComp
	switch {
	case op.Kind == graph.Send:
		kind = typeSend
	case op.Kind == graph.Recv:
		kind = typeRecv
	case op.Unit == unitMemory:
		kind = typeMemLoad
	case op.Unit > unitMemory:
		w.loss.Add("processors of a rank beyond an accelerator, a host and memory", place)
	}
	w.number(nodeType, uint64(kind))
	if len(deps) > 0 {
		w.part = w.part[:0]
		for _, d := range deps {
			w.part = protowire.AppendVarint(w.part, uint64(d))
		}
		w.data = protowire.AppendTag(w.data, nodeData, protowire.BytesType)
		w.data = protowire.AppendBytes(w.data, w.part)
	}
	compute := op.Kind == graph.Compute
	if compute {
		w.number(nodeDuration, uint64((op.Duration+units.Microsecond/2)/units.Microsecond))
	}
	w.attribute("is_cpu_op", attrBool, uint64(b2i(compute && op.Unit == unitHost)))
	switch kind {
	case typeSend, typeRecv:
		from, to := rank, int(op.Peer)
		if kind == typeRecv {
			from, to = to, from
		}
		w.attribute("comm_size", attrInt64, uint64(op.Bytes))
		w.attribute("comm_src", attrInt32, uint64(from))
		w.attribute("comm_dst", attrInt32, uint64(to))
		w.attribute("comm_tag", attrInt32, uint64(op.Channel))
	default:
		if op.Duration%units.Microsecond != 0 {
			w.attribute(exact, attrUint64, uint64(op.Duration))
			w.loss.Add("durations that are no whole microseconds, which other tools see rounded", place)
		}
	}
	return w.message()
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// title returns a name for an operation: what its tag says, and what it is.
func (w *writer) title(op *graph.Op) string {
	labels := w.source.Labels()
	switch t := op.Tag; {
	case t.Collective != graph.None:
		return labels.Collectives[t.Collective].Name + " " + op.Kind.String()
	case t.Phase != graph.None:
		return labels.Phases[t.Phase] + " " + op.Kind.String()
	}
	return op.Kind.String()
}

func (w *writer) number(field protowire.Number, v uint64) {
	w.data = protowire.AppendTag(w.data, field, protowire.VarintType)
	w.data = protowire.AppendVarint(w.data, v)
}

func (w *writer) text(field protowire.Number, text string) {
	w.data = protowire.AppendTag(w.data, field, protowire.BytesType)
	w.data = protowire.AppendString(w.data, text)
}

// attribute appends an attribute of the node, a varint of the given kind.
func (w *writer) attribute(name string, kind protowire.Number, v uint64) {
	w.part = protowire.AppendTag(w.part[:0], attrName, protowire.BytesType)
	w.part = protowire.AppendString(w.part, name)
	w.part = protowire.AppendTag(w.part, kind, protowire.VarintType)
	w.part = protowire.AppendVarint(w.part, v)
	w.data = protowire.AppendTag(w.data, nodeA, protowire.BytesType)
	w.data = protowire.AppendBytes(w.data, w.part)
}

// message writes w.data behind its length.
func (w *writer) message() error {
	w.part = protowire.AppendVarint(w.part[:0], uint64(len(w.data)))
	if _, err := w.out.Write(w.part); err != nil {
		return err
	}
	_, err := w.out.Write(w.data)
	return err
}
