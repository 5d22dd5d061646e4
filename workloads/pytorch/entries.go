package pytorch

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/trace"
)

// Units of compute: the accelerator and the host's processor each do one thing at a time.
const (
	unitAccelerator = iota
	unitHost
)

// node is an operator of a trace.
type node struct {
	id, parent uint64
	name       string
	pos        int64
	begin      float64 // ts, in microseconds; NaN: unknown
	exclusive  float64 // durations, in microseconds; NaN: unknown
	inclusive  float64
	stream     int64
	kernel     bool // on the accelerator
	comm       *comm
}

// marks are names of nodes that are no operators.
var marks = []string{"[pytorch|profiler|", "## process_group:init", "nccl:", "__ROOT_"}

// mark reports whether a node is no operator.
func (n *node) mark() bool {
	return slices.ContainsFunc(marks, func(prefix string) bool { return strings.HasPrefix(n.name, prefix) })
}

// network reports whether a node is the communication of a collective that another node describes.
func (n *node) network() bool { return n.comm != nil || n.kernel && strings.Contains(n.name, "nccl") }

// walk is the state of one pass over the nodes of a rank.
type walk struct {
	*rank
	entries []trace.Entry
	host    []uint64           // what the next operator of the host depends on
	streams map[int64][]uint64 // what the next kernel of a stream depends on
	order   []int64            // of streams
	entry   map[uint64]uint64  // by node: what a kernel that it launches depends on
	started []started          // collectives that nothing has waited for
	kernels bool
}

// started is a collective that runs.
type started struct {
	seq   int64
	group groupKey
	entry uint64
}

// maxStarted bounds the collectives that a wait is looked for in.
const maxStarted = 1 << 12

// entries returns what of the nodes is played. It uses the nodes up.
func (t *rank) entries() ([]trace.Entry, error) {
	t.byGroup = map[groupKey]int{}
	own := t.times()
	t.sort()
	w := &walk{rank: t, streams: map[int64][]uint64{}, entry: map[uint64]uint64{}}
	waits := false
	for i := range t.nodes {
		n := &t.nodes[i]
		w.kernels = w.kernels || n.kernel && !n.network()
		if n.comm != nil {
			what, _ := n.comm.kind()
			waits = waits || what == isWait
		}
	}
	for i := range t.nodes {
		n := &t.nodes[i]
		if n.comm == nil {
			if err := w.compute(n, own[n.id]); err != nil {
				return nil, err
			}
			continue
		}
		switch what, _ := n.comm.kind(); what {
		case isNothing:
		case isWait:
			w.wait(n)
		default:
			e := trace.Entry{ID: n.id, Name: n.name + " " + clip(n.comm.name), Pos: n.pos, Deps: w.now()}
			plays, err := t.communicate(n, &e)
			if err != nil {
				return nil, err
			}
			if !plays {
				continue
			}
			w.entries = append(w.entries, e)
			if waits {
				if w.started = append(w.started, started{n.comm.seq, t.key(n.comm), e.ID}); len(w.started) > maxStarted {
					w.started = w.started[1:]
				}
				continue
			}
			w.block(e.ID)
		}
	}
	return w.entries, nil
}

// now returns what a communication that begins now depends on: the operator of the host before
// it, and the last kernel of each stream.
func (w *walk) now() []uint64 {
	deps := slices.Clone(w.host)
	for _, s := range w.order {
		deps = append(deps, w.streams[s]...)
	}
	return deps
}

// block makes what follows depend on a communication: kernels if the trace has any, otherwise
// operators of the host.
func (w *walk) block(id uint64) {
	if !w.kernels {
		w.host = append(w.host, id)
		return
	}
	if len(w.order) == 0 {
		w.order = append(w.order, 0)
	}
	for _, s := range w.order {
		w.streams[s] = append(w.streams[s], id)
	}
}

// wait makes what follows depend on the collective that a node waits for.
func (w *walk) wait(n *node) {
	key := w.key(n.comm)
	last := none
	for i, s := range w.started {
		if s.seq == n.comm.seq && (last == none || s.group == key || w.started[last].group != key) {
			last = i
		}
	}
	if last == none {
		w.lost("nodes wait whose collective is unknown", n)
		return
	}
	w.block(w.started[last].entry)
	w.started = slices.Delete(w.started, last, last+1)
}

// compute adds an operator that takes some time, or that a kernel may depend on.
func (w *walk) compute(n *node, own units.Duration) error {
	switch {
	case n.network() || n.mark():
		return nil
	case own == 0:
		w.entry[n.id] = none64
		if from, ok := w.entry[n.parent]; ok {
			w.entry[n.id] = from
		}
		if len(w.host) > 0 && !n.kernel {
			w.entry[n.id] = w.host[len(w.host)-1]
		}
		return nil
	case own > trace.MaxDuration:
		return w.errorf(n, "it takes more than %v", trace.MaxDuration)
	}
	e := trace.Entry{ID: n.id, Name: n.name, Pos: n.pos, Kind: trace.Compute, Unit: unitHost, Duration: own}
	if n.kernel {
		e.Unit = unitAccelerator
		before, ok := w.streams[n.stream]
		if !ok && !slices.Contains(w.order, n.stream) {
			w.order = append(w.order, n.stream)
		}
		e.Deps = slices.Clone(before)
		if launched, ok := w.entry[n.parent]; ok && launched != none64 {
			e.Deps = append(e.Deps, launched)
		}
		w.streams[n.stream] = []uint64{n.id}
	} else {
		e.Deps = w.host
		if strings.Contains(n.name, "Synchronize") {
			e.Deps = w.now()
		}
		w.host = []uint64{n.id}
		w.entry[n.id] = n.id
	}
	w.entries = append(w.entries, e)
	return nil
}

// none64 is the absence of an id.
const none64 = math.MaxUint64

// times returns the time of each operator that has one, without its children's. What has none
// is lost.
func (t *rank) times() map[uint64]units.Duration {
	own := map[uint64]units.Duration{}
	children := map[uint64]float64{} // the inclusive durations of the children on the host
	durations := false
	for i := range t.nodes {
		n := &t.nodes[i]
		durations = durations || n.timed()
		if !n.kernel && !math.IsNaN(n.inclusive) {
			children[n.parent] += n.inclusive
		}
	}
	if !durations {
		t.gaps(own)
	}
	for i := range t.nodes {
		n := &t.nodes[i]
		_, gap := own[n.id]
		switch {
		case n.network() || n.mark() || gap:
		case !math.IsNaN(n.exclusive):
			own[n.id] = duration(n.exclusive)
		case n.timed() && n.kernel:
			own[n.id] = duration(n.inclusive)
		case n.timed():
			own[n.id] = duration(n.inclusive - children[n.id])
		default:
			t.lost("operators without times", n)
		}
	}
	return own
}

// timed reports whether a node has a duration.
func (n *node) timed() bool { return !math.IsNaN(n.exclusive) || !math.IsNaN(n.inclusive) }

// gaps takes the time to the next operator for that of each, in a trace with beginnings alone.
func (t *rank) gaps(own map[uint64]units.Duration) {
	order := make([]int, 0, len(t.nodes))
	for i := range t.nodes {
		if !math.IsNaN(t.nodes[i].begin) {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(t.nodes[a].begin, t.nodes[b].begin), cmp.Compare(t.nodes[a].id, t.nodes[b].id))
	})
	for k, i := range order {
		if n := &t.nodes[i]; k+1 < len(order) && !n.network() && !n.mark() {
			own[n.id] = duration(t.nodes[order[k+1]].begin - n.begin)
		}
	}
}

// duration returns microseconds as a duration, 0 if they are negative.
func duration(micros float64) units.Duration {
	ps := math.Round(micros * float64(units.Microsecond))
	switch {
	case !(ps > 0):
		return 0
	case ps > float64(trace.MaxDuration):
		return trace.MaxDuration + 1
	}
	return units.Duration(ps)
}

// sort brings the nodes into the order in which they began: that of their times if all that are
// played have one, otherwise that of their ids.
func (t *rank) sort() {
	timed := true
	for i := range t.nodes {
		n := &t.nodes[i]
		timed = timed && (!math.IsNaN(n.begin) || n.comm == nil && !n.timed())
	}
	slices.SortStableFunc(t.nodes, func(a, b node) int {
		if timed {
			// Nodes without a beginning are not played.
			if c := cmp.Compare(a.begin, b.begin); c != 0 {
				return c
			}
		}
		return cmp.Compare(a.id, b.id)
	})
}
