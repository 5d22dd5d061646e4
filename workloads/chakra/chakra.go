// Package chakra reads and writes Chakra execution traces (MLCommons), the nodes of each rank of
// a training job with their dependencies, in protobuf and in both forms of JSON that Chakra's
// tools have; gzip may be around each. Sources: docs/reference/references.md#chakra-execution-traces.
//
// A rank's trace is a file <name>.<rank>.et (or .json): messages of et_def.proto, each behind
// its length, first GlobalMetadata, then Node. What becomes of a node:
//
//   - COMP: its duration on the accelerator, or on the host's processor if is_cpu_op is true.
//     Each of the two does one node at a time, as in ASTRA-sim.
//   - MEM_LOAD and MEM_STORE: their duration on a third unit, memory; without one they are lost.
//   - COMM_SEND and COMM_RECV: a message. Those of one (source, destination, comm_tag) match in
//     their order, or by size if the order of sizes differs (ASTRA-sim matches by size, too).
//   - COMM_COLL: a collective of the group pg_name, or of all ranks, expanded by Options. comm_size
//     is the size of each rank's input, as ASTRA-sim and Chakra's converter count it: of
//     all-gather and gather the piece that a rank gives, so that the whole array is that times
//     the ranks; of all others the whole buffer. REDUCE_SCATTER_BLOCK is a reduce-scatter. The
//     root is the attribute root, root_rank or comm_root, or the first rank of the group.
//   - METADATA: nothing, but that a node "## process_group:init ##" defines groups.
//
// The durations of communication nodes are not played: the network decides. The tensors of
// nodes, and attributes that have to do with neither time nor network, are ignored. Everything
// else is counted in the loss report. An attribute of Write, csiglab_duration_ps, has the exact
// duration where duration_micros is rounded.
package chakra

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/lines"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/trace"
	"github.com/csiglab/csiglab/workloads/tracefile"
)

// Options say how a trace is read. The zero value reads it as it is.
type Options struct {
	trace.Options // At is set here
	// Groups is the name of a JSON file of ASTRA-sim's option --comm-group-configuration, such as
	// {"0": [0, 1], "1": [2, 3]}; "" and "empty": none.
	Groups string
	Unit   units.Duration // of durations; 0: a microsecond
	// DataOnly leaves out the dependencies of ctrl_deps, as the feeder of ASTRA-sim does.
	DataOnly bool
}

// Endings are those of the names of trace files.
func Endings() []string { return []string{".et", ".json"} }

// Open reads the trace at a path: a folder, a prefix, or one of the files; see tracefile.Find.
func Open(path string, o Options) (graph.Source, *graph.Loss, error) {
	files, err := tracefile.Find(path, Endings()...)
	if err != nil {
		return nil, nil, err
	}
	return Read(files, o)
}

// Read reads the traces of ranks. A file of unknown rank is that of rank 0. Where there is one file
// and Ranks says how many ranks there are, all do what this one does. The loss report says
// what the source does not have. Errors name the file, and the byte of its unpacked content or
// the line and column of JSON.
func Read(files []tracefile.File, o Options) (graph.Source, *graph.Loss, error) {
	if o.Unit == 0 {
		o.Unit = units.Microsecond
	}
	o.Limits = o.Limits.OrDefault()
	r := &reader{o: o, names: map[int]string{}, ranks: o.Ranks}
	for _, f := range files {
		r.ranks = max(r.ranks, f.Rank+1, 1)
	}
	o.Replicate = len(files) == 1 && o.Ranks > 0
	o.At = func(rank int, pos int64) string { return tracefile.Place(r.names[rank], pos) }
	r.assembler = trace.NewAssembler(o.Options)
	if err := r.sidecar(); err != nil {
		return nil, nil, err
	}
	budget := tracefile.NewBudget(o.Limits.Bytes)
	for _, f := range files {
		if err := r.file(f, budget); err != nil {
			return nil, nil, err
		}
	}
	s, err := r.assembler.Finish()
	if err != nil {
		return nil, nil, err
	}
	return s, &r.assembler.Loss, nil
}

// IsTrace reports whether a file that begins like head, unpacked, looks like a trace in protobuf
// or one of the forms of JSON. It wants some 1000 bytes, or the whole file.
func IsTrace(head []byte) bool {
	if text := strings.TrimLeft(string(head), " \t\r\n"); isText(head) && strings.HasPrefix(text, "{") {
		first := strings.TrimLeft(text[1:], " \t\r\n")
		for _, key := range []string{`"workload_graph"`, `"version"`, `"attr"`, "}"} {
			if strings.HasPrefix(first, key) {
				return key != `"attr"` && key != "}" || strings.Contains(text, `"type"`)
			}
		}
		return false
	}
	m := &messages{in: bufio.NewReader(strings.NewReader(string(head)))}
	data, _, err := m.next()
	if err == nil {
		return decodeMetadata(data) == nil
	}
	// The metadata is longer than head: its first field is the version or an attribute.
	return len(m.data) > 0 && m.at == int64(len(head)) && (m.data[0] == metaVersion<<3|2 || m.data[0] == metaAttr<<3|2)
}

// reader is the state of one Read.
type reader struct {
	o         Options
	assembler *trace.Assembler
	names     map[int]string // of files, by rank
	ranks     int
	nodes     int
	groups    map[string]int // of the sidecar
	// Of the rank that is being read:
	rank     int
	name     string
	size     int64          // of a file of messages, packed or not; 0: not known
	embedded map[string]int // groups
	entries  []trace.Entry
	grouped  []grouped
	ids      []uint64 // room for the dependencies of further entries
}

// grouped is what is left to do of a collective with a pg_name when all nodes of a file, and
// so its groups, are known.
type grouped struct {
	entry                    int
	commType, commSize, root attribute
	group                    string
}

func (r *reader) lost(what string, n *node) {
	r.assembler.Loss.Add(what, tracefile.Place(r.name, n.pos))
}

func (r *reader) errorf(n *node, format string, args ...any) error {
	return fmt.Errorf("%s: node %d %q: "+format, append([]any{tracefile.Place(r.name, n.pos), n.id, cut(n.name)}, args...)...)
}

// file reads the trace of a rank.
func (r *reader) file(f tracefile.File, budget *tracefile.Budget) error {
	r.rank, r.name = max(f.Rank, 0), f.Name
	r.names[r.rank] = f.Name
	in, err := f.Open()
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	defer in.Close() // opened for reading
	unpacked, err := tracefile.Unpack(in, budget)
	if err != nil {
		return fmt.Errorf("%s: byte 0: %w", f.Name, err)
	}
	buffered := bufio.NewReaderSize(unpacked, 64<<10)
	r.embedded, r.entries, r.grouped, r.size = map[string]int{}, nil, nil, 0
	head, err := buffered.Peek(4096)
	switch {
	case len(head) == 0 && errors.Is(err, io.EOF):
		return fmt.Errorf("%s: byte 0: the file is empty", f.Name)
	case len(head) == 0:
		return fmt.Errorf("%s: byte 0: %w", f.Name, err)
	case isText(head):
		err = r.json(buffered)
	default:
		if file, ok := in.(interface{ Stat() (fs.FileInfo, error) }); ok {
			if info, err := file.Stat(); err == nil {
				r.size = info.Size()
			}
		}
		err = r.protobuf(buffered)
	}
	if err != nil {
		return err
	}
	for i := range r.grouped {
		g := &r.grouped[i]
		e := &r.entries[g.entry]
		n := node{id: e.ID, name: e.Name, pos: e.Pos, commType: g.commType, commSize: g.commSize, root: g.root, group: g.group}
		if err := r.collective(&n, e); err != nil {
			return err
		}
	}
	entries := r.entries
	r.entries, r.grouped = nil, nil
	if err := r.assembler.Rank(r.rank, entries); err != nil {
		var at *lines.Error
		if errors.As(err, &at) {
			return at
		}
		return err
	}
	return nil
}

// isText reports whether a file that begins like head is JSON. The length of a first message may be
// a character of JSON, too, and its first field a new line. What follows differs: in JSON the
// first key with its colon, or a bracket.
func isText(head []byte) bool {
	const space = " \t\r\n"
	text := bytes.TrimLeft(head, space)
	switch {
	case len(text) == 0:
		return len(head) > 0
	case !strings.Contains(`{["`, string(text[0])):
		return false
	case len(head) < 2 || head[1] != metaVersion<<3|2 && head[1] != metaAttr<<3|2:
		return true
	}
	inner := bytes.TrimLeft(text[1:], space)
	if key, ok := bytes.CutPrefix(inner, []byte(`"`)); ok {
		_, value, closed := bytes.Cut(key, []byte(`"`))
		return closed && bytes.HasPrefix(bytes.TrimLeft(value, space), []byte(":"))
	}
	return len(inner) == 0 || strings.Contains("{}]", string(inner[0]))
}

// take counts a node.
func (r *reader) take() error {
	if r.nodes++; r.nodes > r.o.Limits.Nodes {
		return errors.New(r.o.Limits.TooManyNodes())
	}
	return nil
}

// add adds a node, of which it keeps nothing but its texts: the caller may read the next one into n.
func (r *reader) add(n *node) error {
	if n.defines {
		if err := r.embeddedGroups(n); err != nil {
			return err
		}
	}
	e, err := r.entry(n)
	if err != nil {
		return err
	}
	if len(r.entries) == cap(r.entries) {
		r.entries = slices.Grow(r.entries, r.more(n))
	}
	r.entries = append(r.entries, e)
	return nil
}

// more returns for how many further nodes there is to be room, with one of which the last is
// known: where the size of the file is known, for those that are in it if the rest is as the
// part before. Copying a long list costs more than reading the nodes.
func (r *reader) more(n *node) int {
	have := len(r.entries)
	if have < 1024 || r.size == 0 {
		return max(64, have/2) // append would grow it by a quarter
	}
	const most = 7 // times what there is: a file may begin with many small nodes
	rest := int(1.02 * float64(have) * float64(r.size-n.pos) / float64(n.pos))
	return min(max(rest, have/2), most*have, max(1, r.o.Limits.Nodes-r.nodes+1))
}

// keep returns a copy of two lists of ids, one after the other.
func (r *reader) keep(first, second []uint64) []uint64 {
	total := len(first) + len(second)
	if total == 0 {
		return nil
	}
	if cap(r.ids)-len(r.ids) < total {
		r.ids = make([]uint64, 0, max(total, 4096))
	}
	from := len(r.ids)
	r.ids = append(append(r.ids, first...), second...)
	return r.ids[from:len(r.ids):len(r.ids)]
}

// protobuf reads the nodes of a file of messages.
func (r *reader) protobuf(in *bufio.Reader) error {
	m := &messages{in: in}
	place := func(at int64, err error) error { return fmt.Errorf("%s: %w", tracefile.Place(r.name, at), err) }
	data, at, err := m.next()
	if errors.Is(err, io.EOF) {
		return place(0, errors.New("the file is empty"))
	}
	if err == nil {
		if err = decodeMetadata(data); err != nil {
			at += int64(err.(*wireError).at)
		}
	}
	if err != nil {
		return place(at, err)
	}
	var n node
	texts := interner{}
	for {
		data, at, err := m.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = r.take()
		}
		if err != nil {
			return place(at, err)
		}
		n.reset(at)
		if err := decodeNode(data, &n, texts); err != nil {
			var wire *wireError
			if errors.As(err, &wire) {
				at += int64(wire.at)
			}
			return place(at, err)
		}
		if err := r.add(&n); err != nil {
			return err
		}
	}
}
