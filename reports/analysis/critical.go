package analysis

import (
	"cmp"
	"slices"
	"sort"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// PathKind is what a piece of a critical path is.
type PathKind string

// Kinds of pieces.
const (
	pathCompute  PathKind = "compute"
	pathTransfer PathKind = "transfer" // of a message over the fabric
	pathLocal    PathKind = "local"    // of a message within a server
	pathIdle     PathKind = "idle"     // nothing was under way: a start, a time to wait for, or a schedule that held the job back
)

// PathPiece is a piece of a critical path. Times are microseconds of model time.
type PathPiece struct {
	Kind       PathKind `json:"kind"`
	Rank       int32    `json:"rank"` // of a message its sender
	Host       string   `json:"host"`
	Peer       int32    `json:"peer"` // rank that a message goes to; -1: no message
	PeerHost   string   `json:"peerHost,omitempty"`
	Flow       string   `json:"flow,omitempty"` // that carries the message over the fabric
	Phase      string   `json:"phase,omitempty"`
	Collective string   `json:"collective,omitempty"`
	Bytes      int64    `json:"bytes,omitempty"`
	FromUS     float64  `json:"fromUs"`
	ToUS       float64  `json:"toUs"`
	// UnloadedUS is what a transfer takes on an idle fabric, and a compute of a rank that
	// computes as long as the median of the ranks does in this step.
	UnloadedUS float64 `json:"unloadedUs"`
	// Hop is the port at which a transfer waited the most: by its CSIG samples, or without
	// any the one with the deepest queue on the shortest paths of the flow; "" if no port
	// had a queue: it then waited at its NIC, for other messages.
	Hop string `json:"hop,omitempty"`
	// HopDelayUS is how long packets waited there: by the samples on average, or the time
	// that the deepest queue takes to drain; 0: not known.
	HopDelayUS float64 `json:"hopDelayUs,omitempty"`

	flow    int32
	sampled bool // Hop is by CSIG samples
	// hopShare is which part of what the transfer waited was at Hop, by its samples or by the
	// queues; 1 of a NIC without a queue.
	hopShare float64
	send     bool // it waits for the acknowledgement
	chained  bool // behind another message of the connection
}

// us returns how long the piece lasts.
func (p *PathPiece) us() float64 { return p.ToUS - p.FromUS }

// waitUS returns how much longer it lasts than unloaded, not negative.
func (p *PathPiece) waitUS() float64 {
	if p.Kind == pathIdle {
		return 0
	}
	return max(0, p.us()-p.UnloadedUS)
}

// stepOp is one operation of a step.
type stepOp struct {
	rank                    int32
	kind                    metrics.OperationKind
	phase, collective       int16 // index in names, 0 is none
	op, after               int64 // after: -1 is none
	peer, flow, channel     int32
	group                   int32
	message, bytes          int64
	readyUS, startUS, endUS float64
}

// stepOps is the operations of one step of a job.
type stepOps struct {
	job      *runfolder.Job
	hosts    func(rank int32) string
	step     int32
	ops      []stepOp
	names    []string // of phases and collectives
	index    map[string]int16
	left     int // ranks that have ended the step
	byOp     []int32
	computes []int32 // by rank, then by when they end, then as byOp
	sends    []int32
	recvs    []int32
	compute  []float64 // by rank
	median   float64   // of compute
}

func newStepOps(j *runfolder.Job, step int32, hosts func(int32) string) *stepOps {
	return &stepOps{job: j, step: step, hosts: hosts, names: []string{""}, index: map[string]int16{"": 0}}
}

// operationKinds are the names in operations.parquet.
var operationKinds = map[string]metrics.OperationKind{
	metrics.OperationSend.String(): metrics.OperationSend, metrics.OperationRecv.String(): metrics.OperationRecv,
	metrics.OperationCompute.String(): metrics.OperationCompute, metrics.OperationSpan.String(): metrics.OperationSpan,
	metrics.OperationHold.String(): metrics.OperationHold,
}

func (s *stepOps) name(text string) int16 {
	i, ok := s.index[text]
	if !ok {
		i = int16(len(s.names))
		s.index[text], s.names = i, append(s.names, text)
	}
	return i
}

// value returns what a pointer points to, -1 for nil.
func value[T int32 | int64](p *T) T {
	if p == nil {
		return -1
	}
	return *p
}

func (s *stepOps) add(r *runfolder.OperationRow) {
	o := stepOp{
		rank: r.Rank, kind: operationKinds[r.Kind], phase: s.name(r.Phase), collective: s.name(r.Collective), op: r.Op, after: value(r.After),
		peer: value(r.Peer), flow: value(r.Flow), channel: value(r.Channel), group: value(r.Group), message: value(r.Message), bytes: r.Bytes,
		readyUS: r.ReadyUS, startUS: r.StartUS, endUS: r.EndUS,
	}
	if o.kind == metrics.OperationSpan && o.phase == 0 && o.collective == 0 {
		s.left++
	}
	s.ops = append(s.ops, o)
}

// compareMessage orders sends, and receives, by their messages.
func compareMessage(a, b *stepOp) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.peer, b.peer), cmp.Compare(a.channel, b.channel), cmp.Compare(a.message, b.message))
}

// settle makes the indexes when all operations are there.
func (s *stepOps) settle() {
	s.compute = make([]float64, len(s.job.Ranks))
	for i := range s.ops {
		o := &s.ops[i]
		s.byOp = append(s.byOp, int32(i))
		switch {
		case o.kind == metrics.OperationSend:
			s.sends = append(s.sends, int32(i))
		case o.kind == metrics.OperationRecv:
			s.recvs = append(s.recvs, int32(i))
		case o.kind == metrics.OperationCompute && o.rank >= 0 && int(o.rank) < len(s.compute):
			s.compute[o.rank] += o.endUS - o.startUS
		}
	}
	slices.SortFunc(s.byOp, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.ops[a].rank, s.ops[b].rank), cmp.Compare(s.ops[a].op, s.ops[b].op))
	})
	for _, i := range s.byOp {
		if s.ops[i].kind == metrics.OperationCompute {
			s.computes = append(s.computes, i)
		}
	}
	slices.SortStableFunc(s.computes, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.ops[a].rank, s.ops[b].rank), cmp.Compare(s.ops[a].endUS, s.ops[b].endUS))
	})
	for _, list := range [][]int32{s.sends, s.recvs} {
		slices.SortFunc(list, func(a, b int32) int { return compareMessage(&s.ops[a], &s.ops[b]) })
	}
	if len(s.compute) > 0 {
		s.median = runfolder.Median(s.compute)
	}
}

// find returns an operation of a rank by its number, nil if the step does not have it.
func (s *stepOps) find(rank int32, op int64) *stepOp {
	i := sort.Search(len(s.byOp), func(i int) bool {
		o := &s.ops[s.byOp[i]]
		return o.rank > rank || o.rank == rank && o.op >= op
	})
	if i < len(s.byOp) {
		if o := &s.ops[s.byOp[i]]; o.rank == rank && o.op == op {
			return o
		}
	}
	return nil
}

// send returns the send of a message, nil if the step does not have it.
func (s *stepOps) send(from, to, channel int32, message int64) *stepOp {
	return s.message(s.sends, stepOp{rank: from, peer: to, channel: channel, message: message})
}

// recv returns the receive of a message, nil if the step does not have it.
func (s *stepOps) recv(from, to, channel int32, message int64) *stepOp {
	return s.message(s.recvs, stepOp{rank: to, peer: from, channel: channel, message: message})
}

func (s *stepOps) message(list []int32, like stepOp) *stepOp {
	i, ok := slices.BinarySearchFunc(list, &like, func(i int32, want *stepOp) int { return compareMessage(&s.ops[i], want) })
	if !ok {
		return nil
	}
	return &s.ops[list[i]]
}

// before returns the compute of a rank that ends when another one of it starts, nil if none
// does.
func (s *stepOps) before(o *stepOp) *stepOp {
	i := sort.Search(len(s.computes), func(i int) bool {
		c := &s.ops[s.computes[i]]
		return c.rank > o.rank || c.rank == o.rank && c.endUS >= o.startUS
	})
	for ; i < len(s.computes); i++ {
		c := &s.ops[s.computes[i]]
		if c.rank != o.rank || c.endUS != o.startUS {
			break
		}
		if c != o && c.startUS < c.endUS {
			return c
		}
	}
	return nil
}

// last returns the span, or without spans the operation, that ends last of the step or of a
// collective of it; nil without any.
func (s *stepOps) last(collective string, group int32, from, to float64) *stepOp {
	var best *stepOp
	spans := false
	name := s.index[collective]
	for i := range s.ops {
		o := &s.ops[i]
		span := o.kind == metrics.OperationSpan
		switch {
		case o.endUS > to || o.readyUS < from:
			continue
		case collective != "" && (!span || o.collective != name || o.group != group):
			continue
		case collective == "" && span && (o.collective != 0 || o.phase != 0):
			continue
		case best == nil || span && !spans || span == spans && (o.endUS > best.endUS || o.endUS == best.endUS && o.rank < best.rank):
			best, spans = o, spans || span
		}
	}
	return best
}

// path walks from the end of a span back to a time, along what each operation waited for
// last, and returns the pieces in order of time.
func (s *stepOps) path(from *stepOp, begin float64) []PathPiece {
	var pieces []PathPiece
	at := from.endUS
	add := func(o *stepOp, kind PathKind, since float64) {
		p := PathPiece{Kind: kind, Rank: o.rank, Host: s.hosts(o.rank), Peer: -1, FromUS: max(since, begin), ToUS: at, Phase: s.names[o.phase], Collective: s.names[o.collective], flow: -1}
		if o.kind == metrics.OperationSend && kind != pathIdle {
			p.Peer, p.PeerHost, p.Bytes, p.flow = o.peer, s.hosts(o.peer), o.bytes, o.flow
		}
		if p.ToUS > p.FromUS {
			pieces = append(pieces, p)
		}
		at = min(at, since)
	}
	message := func(o *stepOp, waits bool) *stepOp {
		kind := pathTransfer
		if o.flow < 0 {
			kind = pathLocal
		}
		n := len(pieces)
		// The one before it on its stream had not arrived when it was ready: it had to wait
		// for that one to leave.
		previous, arrival := s.send(o.rank, o.peer, o.channel, o.message-1), s.recv(o.rank, o.peer, o.channel, o.message-1)
		if previous != nil && arrival != nil && arrival.endUS > o.readyUS && arrival.endUS < at && arrival.endUS > arrival.readyUS {
			add(o, kind, arrival.endUS)
		} else {
			previous = nil
			add(o, kind, o.readyUS)
		}
		if len(pieces) > n {
			pieces[n].send, pieces[n].chained = waits, previous != nil
		}
		return previous
	}
	o := from
	for range len(s.ops) + 1 {
		if o == nil || at <= begin {
			break
		}
		rank, after := o.rank, o.after
		switch o.kind {
		case metrics.OperationCompute:
			add(o, pathCompute, o.startUS)
			if o.startUS > o.readyUS {
				if c := s.before(o); c != nil {
					o = c
					continue
				}
				add(o, pathIdle, o.readyUS)
			}
		case metrics.OperationHold:
			add(o, pathIdle, o.readyUS)
		case metrics.OperationRecv:
			send := s.send(o.peer, o.rank, o.channel, o.message)
			if o.endUS > o.readyUS && send != nil && send.readyUS < at {
				for previous := send; previous != nil; {
					send = previous
					previous = message(send, false)
				}
				rank, after = send.rank, send.after
			}
		case metrics.OperationSend:
			send := o
			for previous := o; previous != nil; {
				send = previous
				previous = message(send, send == o)
			}
			rank, after = send.rank, send.after
		}
		next := s.find(rank, after)
		if next == nil || next.endUS > at {
			add(&stepOp{rank: rank}, pathIdle, begin)
			break
		}
		if next.endUS < at { // a time passed that no operation is of
			add(&stepOp{rank: rank}, pathIdle, next.endUS)
		}
		o = next
	}
	slices.Reverse(pieces)
	for i := range pieces {
		p := &pieces[i]
		p.UnloadedUS = p.us()
		if p.Kind != pathCompute || p.Rank < 0 || int(p.Rank) >= len(s.compute) {
			continue
		}
		if total := s.compute[p.Rank]; total > s.median && s.median > 0 {
			p.UnloadedUS *= s.median / total
		}
	}
	return pieces
}
