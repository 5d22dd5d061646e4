package waits

import (
	"cmp"
	"slices"
	"sort"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
)

// Op is one operation of a step. Times are microseconds of model time.
type Op struct {
	Rank                    int32
	Kind                    metrics.OperationKind
	phase, collective       int16 // index in names, 0 is none
	op, after               int64 // after: -1 is none
	peer, flow, channel     int32
	group                   int32
	message, bytes          int64
	ReadyUS, StartUS, EndUS float64
}

// Step is the operations of one step of a job.
type Step struct {
	Job      *runfolder.Job
	Number   int32
	Ops      []Op
	hosts    []string // of the ranks
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

// NewStep returns a step of a job without operations. hosts are the names of the ranks' hosts.
func NewStep(j *runfolder.Job, hosts []string, number int32) *Step {
	return &Step{Job: j, Number: number, hosts: hosts, names: []string{""}, index: map[string]int16{"": 0}}
}

// Host returns the name of the host of a rank; "" of one that the job does not have.
func (s *Step) Host(rank int32) string {
	if rank < 0 || int(rank) >= len(s.hosts) {
		return ""
	}
	return s.hosts[rank]
}

// Phase returns the name of an operation's phase, "" without.
func (s *Step) Phase(o *Op) string { return s.names[o.phase] }

// Collective returns the name of the collective that an operation belongs to, "" without.
func (s *Step) Collective(o *Op) string { return s.names[o.collective] }

// operationKinds are the names in operations.parquet.
var operationKinds = map[string]metrics.OperationKind{
	metrics.OperationSend.String(): metrics.OperationSend, metrics.OperationRecv.String(): metrics.OperationRecv,
	metrics.OperationCompute.String(): metrics.OperationCompute, metrics.OperationSpan.String(): metrics.OperationSpan,
	metrics.OperationHold.String(): metrics.OperationHold,
}

func (s *Step) name(text string) int16 {
	i, ok := s.index[text]
	if !ok {
		i = int16(len(s.names))
		s.index[text], s.names = i, append(s.names, text)
	}
	return i
}

// Add adds an operation, of which it keeps nothing but texts.
func (s *Step) Add(r *runfolder.OperationRow) {
	o := Op{
		Rank: r.Rank, Kind: operationKinds[r.Kind], phase: s.name(r.Phase), collective: s.name(r.Collective), op: r.Op, after: reading.Optional(r.After),
		peer: reading.Optional(r.Peer), flow: reading.Optional(r.Flow), channel: reading.Optional(r.Channel), group: reading.Optional(r.Group), message: reading.Optional(r.Message), bytes: r.Bytes,
		ReadyUS: r.ReadyUS, StartUS: r.StartUS, EndUS: r.EndUS,
	}
	if o.Kind == metrics.OperationSpan && o.phase == 0 && o.collective == 0 {
		s.left++
	}
	s.Ops = append(s.Ops, o)
}

// compareMessage orders sends, and receives, by their messages.
func compareMessage(a, b *Op) int {
	return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.peer, b.peer), cmp.Compare(a.channel, b.channel), cmp.Compare(a.message, b.message))
}

// settle makes the indexes when all operations are there.
func (s *Step) settle() {
	s.compute = make([]float64, len(s.Job.Ranks))
	for i := range s.Ops {
		o := &s.Ops[i]
		s.byOp = append(s.byOp, int32(i))
		switch {
		case o.Kind == metrics.OperationSend:
			s.sends = append(s.sends, int32(i))
		case o.Kind == metrics.OperationRecv:
			s.recvs = append(s.recvs, int32(i))
		case o.Kind == metrics.OperationCompute && o.Rank >= 0 && int(o.Rank) < len(s.compute):
			s.compute[o.Rank] += o.EndUS - o.StartUS
		}
	}
	slices.SortFunc(s.byOp, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.Ops[a].Rank, s.Ops[b].Rank), cmp.Compare(s.Ops[a].op, s.Ops[b].op))
	})
	for _, i := range s.byOp {
		if s.Ops[i].Kind == metrics.OperationCompute {
			s.computes = append(s.computes, i)
		}
	}
	slices.SortStableFunc(s.computes, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.Ops[a].Rank, s.Ops[b].Rank), cmp.Compare(s.Ops[a].EndUS, s.Ops[b].EndUS))
	})
	for _, list := range [][]int32{s.sends, s.recvs} {
		slices.SortFunc(list, func(a, b int32) int { return compareMessage(&s.Ops[a], &s.Ops[b]) })
	}
	if len(s.compute) > 0 {
		s.median = runfolder.Median(s.compute)
	}
}

// find returns an operation of a rank by its number, nil if the step does not have it.
func (s *Step) find(rank int32, op int64) *Op {
	i := sort.Search(len(s.byOp), func(i int) bool {
		o := &s.Ops[s.byOp[i]]
		return o.Rank > rank || o.Rank == rank && o.op >= op
	})
	if i < len(s.byOp) {
		if o := &s.Ops[s.byOp[i]]; o.Rank == rank && o.op == op {
			return o
		}
	}
	return nil
}

// send returns the send of a message, nil if the step does not have it.
func (s *Step) send(from, to, channel int32, message int64) *Op {
	return s.message(s.sends, Op{Rank: from, peer: to, channel: channel, message: message})
}

// recv returns the receive of a message, nil if the step does not have it.
func (s *Step) recv(from, to, channel int32, message int64) *Op {
	return s.message(s.recvs, Op{Rank: to, peer: from, channel: channel, message: message})
}

func (s *Step) message(list []int32, like Op) *Op {
	i, ok := slices.BinarySearchFunc(list, &like, func(i int32, want *Op) int { return compareMessage(&s.Ops[i], want) })
	if !ok {
		return nil
	}
	return &s.Ops[list[i]]
}

// before returns the compute of a rank that ends when another one of it starts, nil if none
// does.
func (s *Step) before(o *Op) *Op {
	i := sort.Search(len(s.computes), func(i int) bool {
		c := &s.Ops[s.computes[i]]
		return c.Rank > o.Rank || c.Rank == o.Rank && c.EndUS >= o.StartUS
	})
	for ; i < len(s.computes); i++ {
		c := &s.Ops[s.computes[i]]
		if c.Rank != o.Rank || c.EndUS != o.StartUS {
			break
		}
		if c != o && c.StartUS < c.EndUS {
			return c
		}
	}
	return nil
}

// last returns the span, or without spans the operation, that ends last of the step or of a
// collective of it; nil without any.
func (s *Step) last(collective string, group int32, from, to float64) *Op {
	var best *Op
	spans := false
	name := s.index[collective]
	for i := range s.Ops {
		o := &s.Ops[i]
		span := o.Kind == metrics.OperationSpan
		switch {
		case o.EndUS > to || o.ReadyUS < from:
			continue
		case collective != "" && (!span || o.collective != name || o.group != group):
			continue
		case collective == "" && span && (o.collective != 0 || o.phase != 0):
			continue
		case best == nil || span && !spans || span == spans && (o.EndUS > best.EndUS || o.EndUS == best.EndUS && o.Rank < best.Rank):
			best, spans = o, spans || span
		}
	}
	return best
}

// path walks from the end of a span back to a time, along what each operation waited for
// last, and returns the pieces in order of time.
func (s *Step) path(from *Op, begin float64) []Piece {
	var pieces []Piece
	at := from.EndUS
	add := func(o *Op, kind Kind, since float64) {
		p := Piece{Kind: kind, Rank: o.Rank, Host: s.Host(o.Rank), Peer: -1, FromUS: max(since, begin), ToUS: at, Phase: s.Phase(o), Collective: s.Collective(o), FlowNumber: -1}
		if o.Kind == metrics.OperationSend && kind != KindIdle {
			p.Peer, p.PeerHost, p.Bytes, p.FlowNumber = o.peer, s.Host(o.peer), o.bytes, o.flow
		}
		if p.ToUS > p.FromUS {
			pieces = append(pieces, p)
		}
		at = min(at, since)
	}
	message := func(o *Op, waits bool) *Op {
		kind := KindTransfer
		if o.flow < 0 {
			kind = KindLocal
		}
		n := len(pieces)
		// The one before it on its stream had not arrived when it was ready: it had to wait
		// for that one to leave.
		previous, arrival := s.send(o.Rank, o.peer, o.channel, o.message-1), s.recv(o.Rank, o.peer, o.channel, o.message-1)
		if previous != nil && arrival != nil && arrival.EndUS > o.ReadyUS && arrival.EndUS < at && arrival.EndUS > arrival.ReadyUS {
			add(o, kind, arrival.EndUS)
		} else {
			previous = nil
			add(o, kind, o.ReadyUS)
		}
		if len(pieces) > n {
			pieces[n].send, pieces[n].chained = waits, previous != nil
		}
		return previous
	}
	o := from
	for range len(s.Ops) + 1 {
		if o == nil || at <= begin {
			break
		}
		rank, after := o.Rank, o.after
		switch o.Kind {
		case metrics.OperationCompute:
			add(o, KindCompute, o.StartUS)
			if o.StartUS > o.ReadyUS {
				if c := s.before(o); c != nil {
					o = c
					continue
				}
				add(o, KindIdle, o.ReadyUS)
			}
		case metrics.OperationHold:
			add(o, KindIdle, o.ReadyUS)
		case metrics.OperationRecv:
			send := s.send(o.peer, o.Rank, o.channel, o.message)
			if o.EndUS > o.ReadyUS && send != nil && send.ReadyUS < at {
				for previous := send; previous != nil; {
					send = previous
					previous = message(send, false)
				}
				rank, after = send.Rank, send.after
			}
		case metrics.OperationSend:
			send := o
			for previous := o; previous != nil; {
				send = previous
				previous = message(send, send == o)
			}
			rank, after = send.Rank, send.after
		}
		next := s.find(rank, after)
		if next == nil || next.EndUS > at {
			add(&Op{Rank: rank}, KindIdle, begin)
			break
		}
		if next.EndUS < at { // a time passed that no operation is of
			add(&Op{Rank: rank}, KindIdle, next.EndUS)
		}
		o = next
	}
	slices.Reverse(pieces)
	for i := range pieces {
		p := &pieces[i]
		p.UnloadedUS = p.US()
		if p.Kind != KindCompute || p.Rank < 0 || int(p.Rank) >= len(s.compute) {
			continue
		}
		if total := s.compute[p.Rank]; total > s.median && s.median > 0 {
			p.UnloadedUS *= s.median / total
		}
	}
	return pieces
}
