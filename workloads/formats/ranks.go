package formats

import (
	"fmt"
	"math"

	"github.com/csiglab/csiglab/workloads"
	"github.com/csiglab/csiglab/workloads/graph"
)

// Ranks returns the transfers of a workload as programs, with a rank for each host: a
// message on a stream of its own for each transfer. A trigger becomes dependencies; where
// what hits it happens at another host than the one that sends next, a message of one byte
// tells it. The loss report counts those messages, and names triggers that count hits in
// the order of their times, which programs cannot: they wait for the first of the file.
//
// The workload must pass Validate. The error is that two hosts have more transfers than
// there are streams.
func Ranks(load *workloads.Workload) (graph.Source, *graph.Loss, error) {
	r := &ranks{
		load: load, loss: &graph.Loss{}, programs: make(map[int]*graph.Builder), streams: map[[2]int]int{},
		sent: make([]uint32, len(load.Transfers)), received: make([]uint32, len(load.Transfers)),
		waiting: make([][]int, len(load.Triggers)), hits: make([][]hit, len(load.Triggers)),
	}
	for id, t := range load.Transfers {
		if t.After != workloads.None {
			r.waiting[t.After] = append(r.waiting[t.After], id)
		}
	}
	for id, t := range load.Transfers {
		if t.After == workloads.None {
			r.queue = append(r.queue, start{id: id})
		}
	}
	for len(r.queue) > 0 && r.err == nil {
		next := r.queue[0]
		r.queue = r.queue[1:]
		r.transfer(next)
	}
	if r.err != nil {
		return nil, nil, r.err
	}
	s := &graph.Static{Count: 1, Of: map[int][]graph.Op{}, All: load.Hosts}
	for host, b := range r.programs {
		s.Of[host] = b.Ops
	}
	return s, r.loss, nil
}

// ranks is the state of one Ranks.
type ranks struct {
	load           *workloads.Workload
	loss           *graph.Loss
	programs       map[int]*graph.Builder
	streams        map[[2]int]int // between two hosts
	sent, received []uint32       // operations, by transfer
	waiting        [][]int        // transfers, by trigger
	hits           [][]hit        // so far, by trigger
	queue          []start
	err            error
}

// hit is an operation that hits a trigger.
type hit struct {
	host int
	op   uint32
}

// start is a transfer that starts when some operations are complete.
type start struct {
	id    int
	after []hit
}

func (r *ranks) program(host int) *graph.Builder {
	b := r.programs[host]
	if b == nil {
		b = &graph.Builder{Tag: graph.Tag{Phase: graph.None, Collective: graph.None, Group: graph.None}}
		r.programs[host] = b
	}
	return b
}

// stream returns the next stream from one host to another.
func (r *ranks) stream(from, to int) uint16 {
	n := r.streams[[2]int{from, to}]
	r.streams[[2]int{from, to}]++
	if n > math.MaxUint16 {
		r.err = fmt.Errorf("%w: more than %d transfers from host %d to host %d", graph.ErrInvalid, math.MaxUint16+1, from, to)
	}
	return uint16(n)
}

// transfer appends a transfer to the programs of its hosts.
func (r *ranks) transfer(s start) {
	t := &r.load.Transfers[s.id]
	var deps []uint32
	for _, h := range s.after {
		if h.host == t.Src {
			deps = append(deps, h.op)
			continue
		}
		channel := r.stream(h.host, t.Src)
		r.program(h.host).Send(t.Src, channel, 1, h.op)
		deps = append(deps, r.program(t.Src).Recv(h.host, channel, 1))
		r.loss.Add("triggers that another host hits, told by a message of one byte", fmt.Sprintf("transfer %d (%d->%d)", s.id+1, t.Src, t.Dst))
	}
	channel, from := r.stream(t.Src, t.Dst), r.program(t.Src)
	op := graph.Op{Kind: graph.Send, Peer: int32(t.Dst), Channel: channel, Bytes: t.Size}
	if t.After == workloads.None {
		op.NotBefore = t.Start
	} else if t.Start > 0 {
		deps = []uint32{from.Add(graph.Op{Kind: graph.Compute, Unit: uint8(1 + s.id%250), Duration: t.Start}, deps...)}
	}
	r.sent[s.id] = from.Add(op, deps...)
	r.received[s.id] = r.program(t.Dst).Recv(t.Src, channel, t.Size)
	r.hit(t.SendDone, hit{t.Src, r.sent[s.id]})
	r.hit(t.RecvDone, hit{t.Dst, r.received[s.id]})
}

// hit starts what a trigger starts.
func (r *ranks) hit(id int, h hit) {
	if id == workloads.None {
		return
	}
	t := &r.load.Triggers[id]
	r.hits[id] = append(r.hits[id], h)
	n, ready := len(r.hits[id]), r.waiting[id]
	inexact := false
	switch {
	case t.Kind == workloads.MultiShot:
		inexact = true
		ready = ready[:min(1, len(ready))]
	case t.Kind == workloads.Barrier && n != t.Count, t.Kind == workloads.OneShot && n > 1:
		inexact = n > max(1, t.Count)
		ready = nil
	}
	if inexact {
		r.loss.Add("hits of triggers whose order depends on time, taken in the order of the file", "trigger "+t.Label)
	}
	after := r.hits[id]
	if t.Kind == workloads.MultiShot {
		after = []hit{h}
	}
	for _, next := range ready {
		r.queue = append(r.queue, start{next, after})
	}
	r.waiting[id] = r.waiting[id][len(ready):]
}
