package traffic

import (
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
	"github.com/csiglab/csiglab/workloads/graph"
)

// Persistent is a generator whose messages may also follow each other on connections that
// last, so that the state of congestion control does.
type Persistent interface {
	Item
	// AddJob appends the generator to a workload as a job with a rank for each of its hosts.
	// Its error is as that of Add.
	AddJob(w *workloads.Workload, name string) error
}

// job is the programs of the hosts of a generator.
type job struct {
	source graph.Static
	rank   map[int]int // of a host
	hosts  []int
}

// newJob returns a job with a rank for each of the hosts, and one collective, which every
// message or call is an instance of.
func newJob(kind string, hosts ...[]int) *job {
	j := &job{rank: map[int]int{}, hosts: slices.Compact(slices.Sorted(slices.Values(slices.Concat(hosts...))))}
	for i, h := range j.hosts {
		j.rank[h] = i
	}
	j.source = graph.Static{
		Names: graph.Labels{Collectives: []graph.Collective{{Name: kind, Kind: "send_recv", Algorithm: "direct", Ranks: 2}}},
		Count: 1, Of: map[int][]graph.Op{}, All: len(j.hosts),
	}
	return j
}

// maxOps is the most operations of a job, which are all in memory.
const maxOps = 8 * workloads.MaxTransfers

// add appends operations of a host, which depend on each other in turn: the first on
// after, the operation of an id, unless that is negative. It returns the id of the last.
func (j *job) add(host, after int, ops ...graph.Op) int {
	rank := j.rank[host]
	list := j.source.Of[rank]
	for _, op := range ops {
		if after >= 0 {
			op.Deps = []uint32{uint32(after)}
		}
		after = len(list)
		list = append(list, op)
	}
	j.source.Of[rank] = list
	return after
}

// peer returns the rank of a host as an operation has it.
func (j *job) peer(host int) int32 { return int32(j.rank[host]) }

// of returns the tag of an instance of the job's collective.
func of(instance int) graph.Tag {
	return graph.Tag{Phase: graph.None, Collective: 0, Group: int32(instance)}
}

// finish appends the job to a workload.
func (j *job) finish(w *workloads.Workload, name string) error {
	ops := 0
	for _, list := range j.source.Of {
		ops += len(list)
	}
	if ops > maxOps {
		return fmt.Errorf("%w: %d operations, the most are %d", workloads.ErrInvalid, ops, maxOps)
	}
	w.Jobs = append(w.Jobs, workloads.Job{Name: name, Source: &j.source, Hosts: j.hosts})
	return nil
}

// AddJob implements Persistent: each client has a connection to each server and back for
// each of its outstanding calls. A call is an instance of the collective rpc: the client's
// span is its latency.
func (r *RPC) AddJob(w *workloads.Workload, name string) error {
	if err := r.check(); err != nil {
		return err
	}
	j := newJob("rpc", r.Clients, r.Servers)
	instance := 0
	err := r.each(func(c *call) error {
		tag := of(instance)
		instance++
		channel := uint16(c.place)
		before := c.after
		begin := graph.Op{Kind: graph.Begin, NotBefore: c.start, Tag: tag}
		send := graph.Op{Kind: graph.Send, Peer: j.peer(c.server), Channel: channel, Bytes: c.request, Tag: tag}
		end := graph.Op{Kind: graph.End, Tag: tag}
		if r.Think > 0 && before >= 0 {
			before = j.add(c.client, before, graph.Op{Kind: graph.Compute, Unit: uint8(c.place), Duration: r.Think, Tag: graph.Tag{Phase: graph.None, Collective: graph.None, Group: graph.None}})
		}
		if c.response == 0 {
			c.done = j.add(c.client, before, begin, send, end)
			j.add(c.server, -1, graph.Op{Kind: graph.Recv, Peer: j.peer(c.client), Channel: channel, Bytes: c.request, Tag: tag})
			return nil
		}
		c.done = j.add(c.client, before, begin, send, graph.Op{Kind: graph.Recv, Peer: j.peer(c.server), Channel: channel, Bytes: c.response, Tag: tag}, end)
		served := j.add(c.server, -1, graph.Op{Kind: graph.Recv, Peer: j.peer(c.client), Channel: channel, Bytes: c.request, Tag: tag})
		if r.Service > 0 {
			served = j.add(c.server, served, graph.Op{Kind: graph.Compute, Unit: uint8(j.rank[c.client]), Duration: r.Service, Tag: tag})
		}
		j.add(c.server, served, graph.Op{Kind: graph.Send, Peer: j.peer(c.client), Channel: channel, Bytes: c.response, Tag: tag})
		return nil
	})
	if err != nil {
		return err
	}
	return j.finish(w, name)
}

// AddJob implements Persistent: each pair has a connection, and each burst is an instance
// of the collective burst.
func (b *Bursts) AddJob(w *workloads.Workload, name string) error {
	if b.On > 0 {
		return fmt.Errorf("%w: bursts: a burst that stops after a time cannot share its connection with the next", workloads.ErrInvalid)
	}
	j := newJob("burst", b.From, b.To)
	instance := 0
	err := b.rounds(func(src, dst int, start units.Duration) error {
		tag := of(instance)
		instance++
		j.add(src, -1,
			graph.Op{Kind: graph.Begin, NotBefore: start, Tag: tag},
			graph.Op{Kind: graph.Send, Peer: j.peer(dst), Bytes: b.Size, Tag: tag},
			graph.Op{Kind: graph.End, Tag: tag})
		j.add(dst, -1, graph.Op{Kind: graph.Recv, Peer: j.peer(src), Bytes: b.Size, Tag: tag})
		return nil
	})
	if err != nil {
		return err
	}
	return j.finish(w, name)
}
