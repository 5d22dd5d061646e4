package chakra

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/trace"
)

// Types of node, of et_def.proto.
const (
	typeInvalid = iota
	typeMetadata
	typeMemLoad
	typeMemStore
	typeComp
	typeSend
	typeRecv
	typeColl
)

// typeNames are the names of the types in protobuf's JSON.
var typeNames = []string{"INVALID_NODE", "METADATA_NODE", "MEM_LOAD_NODE", "MEM_STORE_NODE", "COMP_NODE", "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE"}

// kinds are the kinds of collective by comm_type, an enum of et_def.proto.
var kinds = []collective.Kind{
	collective.AllReduce, collective.Reduce, collective.AllGather, collective.Gather, collective.Scatter,
	collective.Broadcast, collective.AllToAll, collective.ReduceScatter, collective.ReduceScatter, collective.Barrier,
}

// Units of compute: the accelerator, the host's processor and memory each do one node at a
// time.
const (
	unitAccelerator = iota
	unitHost
	unitMemory
)

// node is a node of a file, of either form.
type node struct {
	id            uint64
	name          string // its beginning
	defines       bool   // groups; the name says so
	kind          int64
	control, data []uint64
	duration      uint64
	inputs        string
	pos           int64
	// The attributes that matter; those of which the file says nothing are absent.
	commType, commSize, src, dst, tag, root, onHost, ops, exact attribute
	group                                                       string // pg_name
	// others are the names of attributes that nothing here uses.
	others []string
}

// reset makes n a node at a place, without anything else. It keeps the room of lists.
func (n *node) reset(pos int64) {
	*n = node{pos: pos, control: n.control[:0], data: n.data[:0], others: n.others[:0]}
}

// keptName is how many bytes of a name are kept: more than errors show.
const keptName = 64

// called takes the name of a node.
func (n *node) called(name []byte, in interner) {
	n.defines = bytes.Contains(name, []byte(initName))
	n.name = in.text(name[:min(len(name), keptName)])
}

// attribute is a whole number, or absent.
type attribute struct {
	set   bool
	value int64
}

// or returns the value, or another one if it is absent.
func (a attribute) or(other int64) int64 {
	if a.set {
		return a.value
	}
	return other
}

// value is the value of an attribute, whatever its type in the file.
type value struct {
	kind  valueKind
	whole int64
	text  string
	some  bool // a list of truth values has one that is false
}

type valueKind uint8

const (
	missing valueKind = iota // protobuf leaves out what is 0
	whole
	text
	fraction
	tooLarge
	list
)

func integer(v int64) value { return value{kind: whole, whole: v} }

// real returns the value of a floating-point number, which may be whole.
func real(v float64) value {
	switch {
	case v != math.Trunc(v): // or no number
		return value{kind: fraction}
	case v < -(1<<63) || v >= 1<<63:
		return value{kind: tooLarge}
	}
	return integer(int64(v))
}

// ignored are attributes that say nothing about when the network is used.
var ignored = []string{
	"doc", "fw_parent", "fw_tid", "in_dtype", "kernel_backend", "kernel_file", "op_schema", "out_dtype", "rf_id", "scope", "seq_id", "stream", "tensor_size", "tid",
	"pg_desc", "finish_ts", "start_ts", "ts", "cat", "ph", "exclusive_dur", "inclusive_dur",
}

// set takes an attribute. The error is a *wireError at an offset.
func (n *node) set(name string, v value, at int64) error {
	var to *attribute
	switch name {
	case "comm_type":
		to = &n.commType
	case "comm_size":
		to = &n.commSize
	case "comm_src":
		to = &n.src
	case "comm_dst":
		to = &n.dst
	case "comm_tag":
		to = &n.tag
	case "root", "root_rank", "comm_root":
		to = &n.root
	case "is_cpu_op":
		to = &n.onHost
	case "num_ops":
		to = &n.ops
	case exact:
		to = &n.exact
	case "pg_name":
		switch v.kind {
		case text, missing:
			n.group = v.text
		case whole:
			n.group = strconv.FormatInt(v.whole, 10)
		default:
			return &wireError{int(at), "pg_name is no text"}
		}
		return nil
	case "involved_dim", "involved_dims":
		if v.some {
			n.others = append(n.others, "involved_dim that leave out a dimension (all of the group take part)")
		}
		return nil
	case "comm_priority":
		if v.whole != 0 {
			n.others = append(n.others, "comm_priority that are not 0")
		}
		return nil
	default:
		if _, known := slices.BinarySearch(sortedIgnored, name); !known && len(n.others) < maxOthers {
			n.others = append(n.others, strings.ToValidUTF8(cut(name), "?"))
		}
		return nil
	}
	switch v.kind {
	case whole, missing:
		*to = attribute{true, v.whole}
		return nil
	case text:
		number, err := strconv.ParseInt(strings.TrimSpace(v.text), 10, 64)
		if err == nil {
			*to = attribute{true, number}
			return nil
		}
	}
	return &wireError{int(at), name + " is no whole number of 64 bits"}
}

// maxOthers bounds the unknown attributes of a node that the loss report names.
const maxOthers = 16

var sortedIgnored = slices.Sorted(slices.Values(ignored))

// cut returns the beginning of a long name.
func cut(name string) string { return name[:min(len(name), 60)] }

// entry returns what a node does. It adds to the loss report what of it is not played.
func (r *reader) entry(n *node) (trace.Entry, error) {
	if at := slices.Index(n.control, n.id); r.o.DataOnly {
		n.control = n.control[:0]
	} else if at >= 0 {
		r.lost("control dependencies of nodes on themselves", n)
		n.control = slices.DeleteFunc(n.control, func(id uint64) bool { return id == n.id })
	}
	e := trace.Entry{ID: n.id, Name: n.name, Pos: n.pos, Deps: r.keep(n.data, n.control)}
	for _, name := range n.others {
		r.lost("attributes "+name+", which csiglab has no use for", n)
	}
	switch n.kind {
	case typeInvalid:
		r.lost("nodes of type INVALID_NODE, which do nothing", n)
	case typeMetadata:
	case typeMemLoad, typeMemStore:
		e.Kind, e.Unit = trace.Compute, unitMemory
		if n.duration == 0 {
			r.lost("nodes of type "+typeNames[n.kind]+" without duration", n)
		}
	case typeComp:
		e.Kind, e.Unit = trace.Compute, unitAccelerator
		if n.onHost.or(0) != 0 {
			e.Unit = unitHost
		}
		if n.duration == 0 && n.ops.or(0) > 0 {
			r.lost("nodes of type COMP_NODE with num_ops and without duration", n)
		}
	case typeSend, typeRecv:
		return e, r.message(n, &e)
	case typeColl:
		if n.group != "" {
			r.grouped = append(r.grouped, grouped{len(r.entries), n.commType, n.commSize, n.root, n.group})
			return e, nil
		}
		return e, r.collective(n, &e)
	default:
		r.lost(fmt.Sprintf("nodes of unknown type %d", n.kind), n)
	}
	if e.Kind == trace.Compute {
		if n.duration > uint64(trace.MaxDuration/r.o.Unit) {
			return e, r.errorf(n, "it takes %d times %v, want at most %v", n.duration, r.o.Unit, trace.MaxDuration)
		}
		e.Duration = units.Duration(n.duration) * r.o.Unit
		if n.exact.set {
			// As Write has rounded it, and nobody has changed it since.
			written := units.Duration(min(n.duration, uint64(trace.MaxDuration/units.Microsecond))) * units.Microsecond
			if rounded := written - units.Duration(n.exact.value); n.exact.value < 0 || rounded < -units.Microsecond/2 || rounded > units.Microsecond/2 {
				return e, r.errorf(n, "%s is %d, and duration_micros %d", exact, n.exact.value, n.duration)
			}
			e.Duration = units.Duration(n.exact.value)
		}
	}
	return e, nil
}

// message completes the entry of a send or receive.
func (r *reader) message(n *node, e *trace.Entry) error {
	kind, own, peer, ownName, peerName := trace.Send, n.src, n.dst, "comm_src", "comm_dst"
	if n.kind == typeRecv {
		kind, own, peer, ownName, peerName = trace.Recv, n.dst, n.src, "comm_dst", "comm_src"
	}
	if own.or(int64(r.rank)) != int64(r.rank) {
		return r.errorf(n, "%s is %d in the trace of rank %d", ownName, own.value, r.rank)
	}
	if !peer.set {
		r.lost(fmt.Sprintf("nodes of type %s without %s", typeNames[n.kind], peerName), n)
		return nil
	}
	if peer.value < 0 || peer.value > math.MaxInt32 {
		return r.errorf(n, "%s is %d, which is no rank", peerName, peer.value)
	}
	e.Kind, e.Peer, e.Tag = kind, int(peer.value), n.tag.or(0)
	if n.commSize.or(0) == 0 {
		r.lost("messages of 0 B, which are sent as 1 B", n)
		n.commSize.value = 1
	}
	if n.commSize.value < 0 || n.commSize.value > int64(trace.MaxBytes) {
		return r.errorf(n, "comm_size is %d, want 0 to %d", n.commSize.value, int64(trace.MaxBytes))
	}
	e.Bytes = units.Size(n.commSize.value)
	return nil
}

// collective completes the entry of a collective.
func (r *reader) collective(n *node, e *trace.Entry) error {
	if !n.commType.set {
		r.lost("nodes of type COMM_COLL_NODE without comm_type", n)
		return nil
	}
	if n.commType.value < 0 || n.commType.value >= int64(len(kinds)) {
		r.lost(fmt.Sprintf("collectives of unknown comm_type %d", n.commType.value), n)
		return nil
	}
	group, err := r.group(n)
	if err != nil {
		return err
	}
	part := trace.Part{Kind: kinds[n.commType.value], Group: group}
	size := n.commSize.or(0)
	if size < 0 || size > int64(trace.MaxBytes) {
		return r.errorf(n, "comm_size is %d, want 0 to %d", size, int64(trace.MaxBytes))
	}
	if size == 0 && part.Kind != collective.Barrier {
		r.lost("collectives of 0 B, which send nothing", n)
		return nil
	}
	part.Bytes = units.Size(size)
	members := r.assembler.Members(group)
	ranks := len(members)
	if members == nil {
		ranks = r.ranks
	}
	if ranks == 1 {
		r.lost("collectives of a single rank, which send nothing (--ranks, or ranks of a job, says how many ranks there are)", n)
	}
	if part.Kind == collective.AllGather || part.Kind == collective.Gather {
		// comm_size is what each rank gives; see the package comment.
		part.Bytes *= units.Size(ranks)
	}
	if n.root.set {
		if n.root.value >= 0 && n.root.value < math.MaxInt32 {
			part.Root = r.assembler.Index(group, int(n.root.value))
		}
		if n.root.value < 0 || part.Root < 0 || part.Root >= ranks {
			return r.errorf(n, "root %d is not in the group", n.root.value)
		}
	}
	e.Kind, e.Call = trace.Collective, &part
	return nil
}

// group returns the group of a collective.
func (r *reader) group(n *node) (int, error) {
	if n.group == "" {
		return trace.All, nil
	}
	if g, ok := r.embedded[n.group]; ok {
		return g, nil
	}
	if g, ok := r.groups[n.group]; ok {
		return g, nil
	}
	if len(r.embedded)+len(r.groups) == 0 {
		r.lost("collectives with a pg_name, of a trace without groups (all ranks take part)", n)
		return trace.All, nil
	}
	return 0, r.errorf(n, "there is no group %q", cut(n.group))
}
