package htsim

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
	"github.com/csiglab/csiglab/workloads/graph"
)

// event is that a flow is sent (2*flow) or received (2*flow+1).
type event uint32

// FromSource returns the messages of a source as transfers between as many hosts as it has
// ranks, one flow each, with triggers for what each message waits for: a oneshot for one
// message that was sent or received, a barrier for several. Compute times become starts, or
// delays after triggers.
//
// The loss report names what triggers cannot say. A flow hits one trigger when it is sent
// and one when it is received: where two messages wait for it together with different
// others, only the first of them waits for it. Computing does not queue for a processor.
//
// The error wraps graph.ErrInvalid if the source has more messages than a connection matrix
// may have, or none, or its ranks wait for each other in a circle.
func FromSource(name string, s graph.Source, seed uint64) (*workloads.Workload, *graph.Loss, error) {
	c := &converter{
		load: &workloads.Workload{Name: name, Hosts: max(2, s.Ranks())}, loss: &graph.Loss{},
		sends: map[streamKey][]uint32{},
	}
	if s.Ranks() > maxHosts {
		return nil, nil, fmt.Errorf("%w: %d ranks, a connection matrix has at most %d", graph.ErrInvalid, s.Ranks(), maxHosts)
	}
	if err := c.flows(s, seed); err != nil {
		return nil, nil, err
	}
	received := map[streamKey]int{}
	for rank := range s.Ranks() {
		if err := c.rank(s.Program(rank, seed), rank, received); err != nil {
			return nil, nil, err
		}
	}
	c.triggers()
	if stuck := c.load.Stuck(); stuck != workloads.None {
		t := c.load.Transfers[stuck]
		return nil, nil, fmt.Errorf("%w: the message %d->%d (flow %s) can never be sent: messages wait for each other in a circle", graph.ErrInvalid, t.Src, t.Dst, t.Label)
	}
	return c.load, c.loss, nil
}

type streamKey struct {
	from, to int32
	channel  uint16
}

// converter is the state of one FromSource.
type converter struct {
	load    *workloads.Workload
	loss    *graph.Loss
	sends   map[streamKey][]uint32 // flows
	streams []uint32               // by flow: its stream, by the first flow of it
	waits   [][]event              // by flow: what it waits for, ascending
}

// flows makes a transfer of each message.
func (c *converter) flows(s graph.Source, seed uint64) error {
	var op graph.Op
	for rank := range s.Ranks() {
		p := s.Program(rank, seed)
		for id := 0; p.Next(&op); id++ {
			if op.Kind != graph.Send {
				continue
			}
			if len(c.load.Transfers) == maxConnections {
				return fmt.Errorf("%w: more than %d messages, the most of a connection matrix", graph.ErrInvalid, maxConnections)
			}
			k := streamKey{int32(rank), op.Peer, op.Channel}
			c.sends[k] = append(c.sends[k], uint32(len(c.load.Transfers)))
			c.streams = append(c.streams, c.sends[k][0])
			c.load.Transfers = append(c.load.Transfers, workloads.Transfer{
				Label: strconv.Itoa(len(c.load.Transfers) + 1), Src: rank, Dst: int(op.Peer), Size: op.Bytes,
				After: workloads.None, SendDone: workloads.None, RecvDone: workloads.None,
			})
		}
	}
	if len(c.load.Transfers) == 0 {
		return fmt.Errorf("%w: no messages", graph.ErrInvalid)
	}
	c.waits = make([][]event, len(c.load.Transfers))
	return nil
}

// reached is what has to happen before an operation is complete, and how long it takes
// from there.
type reached struct {
	events []event
	delay  units.Duration
}

// maxEvents bounds what operations of a rank wait for, together.
const maxEvents = 1 << 24

// rank finds out what the sends of a rank wait for.
func (c *converter) rank(p graph.Program, rank int, received map[streamKey]int) error {
	var done []reached // by operation
	var op graph.Op
	total := 0
	sent := map[streamKey]int{}
	for id := 0; p.Next(&op); id++ {
		var now reached
		c.loss.LeaveTime(&op, fmt.Sprintf("rank %d, operation %d", rank, id))
		for _, d := range op.Deps {
			if int(d) >= id {
				return fmt.Errorf("%w: rank %d: operation %d depends on operation %d, which is not before it", graph.ErrInvalid, rank, id, d)
			}
			if len(op.Deps) == 1 {
				now = done[d]
				break
			}
			now.events = append(now.events, done[d].events...)
			now.delay = max(now.delay, done[d].delay)
		}
		if len(op.Deps) > 1 {
			now.events = c.latest(now.events)
		}
		if op.NotBefore > 0 {
			if len(now.events) == 0 {
				now.delay = max(now.delay, op.NotBefore)
			} else {
				c.loss.Add("times before which messages that wait for others are not sent", "")
			}
		}
		switch op.Kind {
		case graph.Compute:
			now.delay += op.Duration
		case graph.Send:
			k := streamKey{int32(rank), op.Peer, op.Channel}
			flow := c.sends[k][sent[k]]
			sent[k]++
			c.waits[flow], c.load.Transfers[flow].Start = now.events, now.delay
			now = reached{events: []event{event(2 * flow)}}
		case graph.Recv:
			k := streamKey{op.Peer, int32(rank), op.Channel}
			if received[k] == len(c.sends[k]) {
				return fmt.Errorf("%w: rank %d: operation %d (recv): rank %d sends nothing more on channel %d", graph.ErrInvalid, rank, id, op.Peer, op.Channel)
			}
			flow := c.sends[k][received[k]]
			received[k]++
			if now.delay > 0 {
				c.loss.Add("compute times beside a message that is waited for", "")
			}
			now = reached{events: c.latest(append(slices.Clone(now.events), event(2*flow+1)))}
		}
		if total += len(now.events); total > maxEvents {
			return fmt.Errorf("%w: rank %d: operations wait for more than %d others", graph.ErrInvalid, rank, maxEvents)
		}
		done = append(done, now)
	}
	return nil
}

// latest sorts events. Of the messages of a stream that are sent, or received, it keeps the
// last: they follow one another.
func (c *converter) latest(events []event) []event {
	if len(events) < 2 {
		return events
	}
	compare := func(a, b event) int {
		return cmp.Or(cmp.Compare(c.streams[a/2], c.streams[b/2]), cmp.Compare(a%2, b%2))
	}
	slices.SortFunc(events, func(a, b event) int { return cmp.Or(compare(a, b), cmp.Compare(a, b)) })
	kept := events[:0]
	for i, e := range events {
		if i+1 == len(events) || compare(e, events[i+1]) != 0 {
			kept = append(kept, e)
		}
	}
	slices.Sort(kept)
	return kept
}

// group is flows that wait for the same events.
type group struct {
	events []event
	flows  []int
}

// groups returns the flows that wait for something, by what they wait for: those that wait
// for the fewest events first.
func (c *converter) groups() []*group {
	var groups []*group
	known := map[string]*group{}
	var key []byte
	for flow, events := range c.waits {
		if len(events) == 0 {
			continue
		}
		key = key[:0]
		for _, e := range events {
			key = strconv.AppendUint(key, uint64(e), 36)
			key = append(key, ' ')
		}
		g := known[string(key)]
		if g == nil {
			g = &group{events: events}
			known[string(key)] = g
			groups = append(groups, g)
		}
		g.flows = append(g.flows, flow)
	}
	slices.SortStableFunc(groups, func(a, b *group) int { return cmp.Compare(len(a.events), len(b.events)) })
	return groups
}

// triggers turns what flows wait for into triggers.
func (c *converter) triggers() {
	var joined []int // flows that are started by a trigger of others
	for _, g := range c.groups() {
		own := 0
		for _, e := range g.events {
			if *c.hits(e) == workloads.None {
				own++
			}
		}
		if own == 0 {
			// All that the flows wait for starts others already: they start with these.
			trigger := *c.hits(g.events[len(g.events)-1])
			for _, flow := range g.flows {
				c.load.Transfers[flow].After = trigger
			}
			joined = append(joined, g.flows...)
			c.loss.AddN("messages that wait for more than they have to, because a flow hits one trigger", c.place(g.flows[0]), len(g.flows))
			continue
		}
		if own < len(g.events) {
			c.loss.AddN("messages that do not wait for everything, because a flow hits one trigger", c.place(g.flows[0]), len(g.flows))
		}
		trigger := len(c.load.Triggers)
		t := workloads.Trigger{Label: strconv.Itoa(trigger + 1), Kind: workloads.OneShot}
		if own > 1 {
			t.Kind, t.Count = workloads.Barrier, own
		}
		c.load.Triggers = append(c.load.Triggers, t)
		for _, e := range g.events {
			if hit := c.hits(e); *hit == workloads.None {
				*hit = trigger
			}
		}
		for _, flow := range g.flows {
			c.load.Transfers[flow].After = trigger
		}
	}
	if len(joined) == 0 || c.load.Stuck() == workloads.None {
		return
	}
	for _, flow := range joined {
		c.load.Transfers[flow].After = workloads.None
	}
	c.loss.AddN("messages that wait for nothing, because they would wait in a circle with those that wait for more than they have to", c.place(joined[0]), len(joined))
	c.sweep()
}

// sweep removes triggers that start nothing any more.
func (c *converter) sweep() {
	used := make([]bool, len(c.load.Triggers))
	for _, t := range c.load.Transfers {
		if t.After != workloads.None {
			used[t.After] = true
		}
	}
	to := make([]int, len(used))
	kept := c.load.Triggers[:0]
	for i, t := range c.load.Triggers {
		if to[i] = workloads.None; used[i] {
			to[i] = len(kept)
			t.Label = strconv.Itoa(len(kept) + 1)
			kept = append(kept, t)
		}
	}
	c.load.Triggers = kept
	for i := range c.load.Transfers {
		t := &c.load.Transfers[i]
		for _, use := range []*int{&t.After, &t.SendDone, &t.RecvDone} {
			if *use != workloads.None {
				*use = to[*use]
			}
		}
	}
}

// hits returns the trigger that an event hits.
func (c *converter) hits(e event) *int {
	t := &c.load.Transfers[e/2]
	if e%2 == 0 {
		return &t.SendDone
	}
	return &t.RecvDone
}

func (c *converter) place(flow int) string {
	t := &c.load.Transfers[flow]
	return fmt.Sprintf("flow %s (%d->%d)", t.Label, t.Src, t.Dst)
}
