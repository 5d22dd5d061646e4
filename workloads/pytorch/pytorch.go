// Package pytorch reads execution traces of PyTorch, JSON of its execution trace observer with
// a schema such as 1.1.0-chakra.0.0.4, with or without the times that Chakra's trace_link adds.
// Sources: docs/reference/references.md#pytorch-execution-traces.
//
// A trace lists the operators of one rank, with their parents. What is played of them:
//
//   - Nodes record_param_comms: the collective, send or receive that they name. Kinds, sizes,
//     splits and groups are those of the attributes (collective_name, dtype, in_msg_nelems …) or,
//     in older schemas, of the inputs. A collective begins when the operators before it have
//     ended, and the accelerator's kernels before it. What follows the node "wait" of a collective
//     waits for it; in a trace without such nodes everything behind a collective does.
//   - Operators with times: those of the host run one after the other, in the order of their
//     times or, without these, of their ids. Each takes its exclusive_dur, or what its
//     inclusive_dur has beyond its children's. In a trace with ts alone it is the gap to the
//     next operator. Kernels of the accelerator (with cat) take their time in the order of their
//     stream, after the operator that launches them.
//   - Nodes "## process_group:init ##" define groups.
//
// The times of communication nodes and of NCCL's kernels are not played: the network decides.
// Everything else is counted in the loss report.
package pytorch

import (
	"fmt"
	"strings"

	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/trace"
	"github.com/csiglab/csiglab/workloads/tracefile"
)

// Endings are those of the names of trace files.
func Endings() []string { return []string{".json"} }

// Open reads the trace at a path: a folder, a prefix, or one of the files; see tracefile.Find.
func Open(path string, o trace.Options) (graph.Source, *graph.Loss, error) {
	files, err := tracefile.Find(path, Endings()...)
	if err != nil {
		return nil, nil, err
	}
	return Read(files, o)
}

// Read reads the traces of ranks. The rank of a file on its own is the one that the trace says,
// whatever its name. Of o, Ranks 0 stands for those that there are files of, or that groups name;
// with one file all ranks do what this one does, each in groups of its own. The loss report says what the source does not have. Errors name the file,
// line and column.
func Read(files []tracefile.File, o trace.Options) (graph.Source, *graph.Loss, error) {
	o.Limits = o.Limits.OrDefault()
	if len(files) == 0 {
		return nil, nil, fmt.Errorf("there is no trace of any rank")
	}
	r := &reader{o: o, names: map[int]string{}}
	budget := tracefile.NewBudget(o.Limits.Bytes)
	var all []*rank
	for _, f := range files {
		t, err := r.file(f, budget)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, t)
	}
	ranks := max(o.Ranks, len(files))
	for _, t := range all {
		if len(files) == 1 {
			t.number = t.own()
			if n := t.firstCollective(); n != nil && o.Ranks == 0 && t.world() == 0 {
				return nil, nil, t.errorf(n, "neither it nor any group of the trace says how many ranks there are (say it: --ranks, or ranks of a job)")
			}
		}
		ranks = max(ranks, t.number+1, t.world())
		r.names[t.number] = t.name
	}
	o.Ranks, o.Replicate = ranks, len(files) == 1
	o.At = func(rank int, pos int64) string { return tracefile.Place(r.names[rank], pos) }
	r.assembler = trace.NewAssembler(o)
	for i, t := range all {
		t.assembler, t.ranks = r.assembler, ranks
		for _, pos := range t.cutOff {
			r.assembler.Loss.Add("definitions of groups that are cut off", tracefile.Place(t.name, pos))
		}
		entries, err := t.entries()
		if err != nil {
			return nil, nil, err
		}
		all[i] = nil // its memory is free
		if err := r.assembler.Rank(t.number, entries); err != nil {
			return nil, nil, err
		}
	}
	s, err := r.assembler.Finish()
	if err != nil {
		return nil, nil, err
	}
	return s, &r.assembler.Loss, nil
}

// IsTrace reports whether a file that begins like head looks like such a trace.
func IsTrace(head []byte) bool {
	text := strings.TrimLeft(string(head), " \t\r\n")
	return strings.HasPrefix(text, "{") && (strings.Contains(text, `"schema"`) || strings.Contains(text, `"nodes"`)) &&
		!strings.Contains(text, `"workload_graph"`) && !strings.Contains(text, `"traceEvents"`)
}

// reader is the state of one Read.
type reader struct {
	o         trace.Options
	assembler *trace.Assembler
	names     map[int]string // of files, by rank
	nodes     int            // read so far
}

// rank is the trace of a rank.
type rank struct {
	name      string // of the file
	number    int
	ranks     int // of the job
	nodes     []node
	groups    []Group
	cutOff    []int64          // where definitions of groups are that are cut off
	byGroup   map[groupKey]int // numbers of groups of the assembler
	assembler *trace.Assembler
}

func (t *rank) lost(what string, n *node) {
	t.assembler.Loss.Add(what, tracefile.Place(t.name, n.pos))
}

func (t *rank) errorf(n *node, format string, args ...any) error {
	return fmt.Errorf("%s: node %d %q: "+format, append([]any{tracefile.Place(t.name, n.pos), n.id, n.name}, args...)...)
}
