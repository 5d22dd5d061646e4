package fluid

import (
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/internal/fifo"
	"github.com/csiglab/csiglab/internal/heap"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Network is the machine. It implements node.Machine.
type Network struct {
	cfg   Config
	pool  *wire.Pool
	sink  metrics.Sink
	ready node.PortSet

	flows []flow // as Config.Flows
	ids   []uint32
	epoch int // of Config.Epochs
	out   []wire.Queue
	due   []dueNotice // a heap
	count uint64      // of due, so far

	rates
	lending
	account
}

// flow is the state of a Flow.
type flow struct {
	*Flow
	queue         fifo.Queue[message] // messages that have not left, the first of them on its way
	load          load                // of the first
	phase         progress
	weight        float64
	until         float64    // what is left when the weight changes; 0: it does not
	low           float64    // part of the weight, see Law
	packets       bool       // it sends packets, which a rate is set aside for
	pieces, total units.Size // of a message of which more is to come
	left          float64    // bytes on the line of the first message
	rate          float64    // bytes a picosecond; 0: it does not send
	since         units.Time // of left
	finish        units.Time // when the first message has left, units.Never without a rate
	at            int32      // in rates.finishing; -1: not there
	sent          int        // messages that have left
	payload       int64      // of these
	started       units.Time // when the first message was posted
	acked         units.Time // when the last one that has left is acknowledged
	received      units.Time // when it arrives
	number        int32      // in Config.Flows
	carried       carried    // since account.from
	window        carried    // in the window under way, before that
	listed        bool       // in account.listed
	measured      carried    // in the measuring window
	summed        float64    // payload in all
	ways          []Way      // of the epoch
	uses          []use      // of links that may limit it
	next          float64    // rate that settle finds; -1: not yet
	mark          uint32     // of settle
}

// dueNotice is a control message that leaves at a time.
type dueNotice struct {
	at            units.Time
	count         uint64
	link          int32
	trigger, code uint32
}

func earlier(a, b dueNotice) bool { return a.at < b.at || a.at == b.at && a.count < b.count }

// New returns the machine of cfg, which draws control messages from pool and emits its records
// into sink. An error names the part of the configuration that makes no sense.
func New(cfg Config, pool *wire.Pool, sink metrics.Sink) (*Network, error) {
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("fluid network: %w", err)
	}
	n := &Network{
		cfg: cfg, pool: pool, sink: sink, ready: node.NewPortSet(cfg.Links),
		flows: make([]flow, len(cfg.Flows)), ids: make([]uint32, len(cfg.Flows)), out: make([]wire.Queue, cfg.Links),
	}
	for i := range cfg.Flows {
		n.ids[i] = uint32(cfg.Flows[i].ID)
		n.flows[i] = flow{Flow: &cfg.Flows[i], number: int32(i), finish: units.Never, at: -1, started: units.Never, acked: units.Never, received: units.Never}
	}
	if !slices.IsSorted(n.ids) {
		return nil, fmt.Errorf("fluid network: flows are not in the order of their ids")
	}
	n.rates = newRates(n.flows)
	n.lending = newLending(&cfg)
	n.account = newAccount(&cfg)
	n.enter()
	return n, nil
}

// Ready implements node.Machine.
func (n *Network) Ready() node.PortSet { return n.ready }

// Profile implements node.Machine: the network knows nothing of CSIG.
func (n *Network) Profile() uint32 { return 0 }

// Delivered returns the payload bytes of messages that have left, for progress displays.
func (n *Network) Delivered() int64 { return n.carried }

// Receive takes a control message of a host: a message of a flow, or a piece of one.
func (n *Network) Receive(now units.Time, _ int, p *wire.Packet) {
	id, code := p.Flow(), p.PSN()
	n.pool.Put(p)
	i, ok := slices.BinarySearch(n.ids, id)
	if !ok {
		return
	}
	f, at := &n.flows[i], now.Add(-n.cfg.Delay)
	n.advance(at)
	if n.sending == 0 && n.epoch+1 < len(n.cfg.Epochs) && n.cfg.Epochs[n.epoch+1].From <= at {
		n.enter() // one that began while nothing was sent
	}
	if code&more != 0 && code&phase != 0 {
		n.sendPackets(int32(i), code&1 != 0)
		return
	}
	if code&phase != 0 {
		f.total = units.Size(code&^phase) * phaseUnit
		return
	}
	f.pieces += units.Size(code &^ more)
	if code&more != 0 {
		return
	}
	if f.started == units.Never {
		f.started = at
	}
	if f.Size > 0 {
		f.pieces = f.Size
	}
	f.queue.Push(message{f.pieces, max(f.total, f.pieces)})
	f.pieces, f.total = 0, 0
	if f.queue.Len() > 1 {
		return
	}
	f.since = at
	n.load(f)
	n.begin(int32(i))
}

// NextTimeout implements node.Machine.
func (n *Network) NextTimeout() units.Time {
	at := n.nextChange()
	if n.dirty() {
		at = n.time
	} else if len(n.finishing) > 0 {
		at = min(at, n.flows[n.finishing[0]].finish)
	}
	if at != units.Never {
		at = at.Add(n.cfg.Delay)
	}
	if len(n.due) > 0 {
		at = min(at, n.due[0].at)
	}
	return at
}

// nextChange returns when an epoch begins, as long as something is sent: one at which nothing
// happens does not make a run longer.
func (n *Network) nextChange() units.Time {
	if n.epoch+1 == len(n.cfg.Epochs) || n.sending == 0 {
		return units.Never
	}
	return n.cfg.Epochs[n.epoch+1].From
}

// HandleTimeout implements node.Machine.
func (n *Network) HandleTimeout(now units.Time) {
	n.advance(now.Add(-n.cfg.Delay))
	n.settle()
	for len(n.due) > 0 && n.due[0].at <= now {
		var d dueNotice
		d, n.due = heap.Pop(n.due, earlier)
		p := n.pool.Get()
		p.Build(wire.Addresses{}, wire.Control, 0, wire.NotECT, 0)
		p.SetMACs([6]byte{}, [6]byte{})
		p.SetControl(d.trigger, d.code)
		p.Size = n.cfg.Header
		n.out[d.link].Push(p)
		n.ready.Add(int(d.link))
	}
}

// Transmit implements node.Machine: notices leave at once.
func (n *Network) Transmit(now units.Time, port int) (*wire.Packet, units.Time, bool) {
	p := n.out[port].Pop()
	if n.out[port].Len() == 0 {
		n.ready.Remove(port)
	}
	return p, now, p != nil
}

// advance plays what happens up to a moment, and at it but for new rates of what begins then.
func (n *Network) advance(to units.Time) {
	for {
		at := n.nextChange()
		if len(n.finishing) > 0 {
			at = min(at, n.flows[n.finishing[0]].finish)
		}
		if n.dirty() && n.time < min(at, to) {
			n.settle()
			continue
		}
		if at > to {
			break
		}
		n.roll(at)
		n.time = at
		if at == n.nextChange() {
			n.enter()
		}
		for len(n.finishing) > 0 && n.flows[n.finishing[0]].finish <= at {
			n.finished(n.finishing[0])
		}
	}
	if to > n.time {
		n.roll(to)
		n.time = to
	}
}

// message is payload bytes, and those of the phase that they belong to.
type message struct{ size, phase units.Size }

// enter begins an epoch, the last of those that have begun.
func (n *Network) enter() {
	for n.epoch+1 < len(n.cfg.Epochs) && n.cfg.Epochs[n.epoch+1].From <= n.time {
		n.epoch++
	}
	n.sum(n.time)
	e := &n.cfg.Epochs[n.epoch]
	for i, r := range e.Rates {
		n.ports[i].rate = bytesPerPicosecond(r)
	}
	n.lay(&n.cfg, e)
	n.addUp()
}

// finished ends the first message of a flow, which has left at n.time, and begins the next one.
func (n *Network) finished(i int32) {
	f := &n.flows[i]
	n.move(f, n.time)
	if f.until > 0 { // the flow goes on with another weight
		f.left = f.until
		f.weigh()
		n.seeds = append(n.seeds, i)
		n.plan(i)
		return
	}
	m, _ := f.queue.Pop()
	size := m.size
	f.phase.left -= size
	f.sent++
	f.payload += int64(size)
	n.carried += int64(size)
	f.received = n.time.Add(n.cfg.latency(f.Flow, size))
	f.acked = f.received.Add(f.Reply)
	n.tell(f.received, f.Sink, Notice{uint32(f.ID), f.sent, true, f.Size > 0})
	n.tell(f.acked, f.Source, Notice{uint32(f.ID), f.sent, false, f.Size > 0})
	if f.queue.Len() == 0 {
		f.left = 0
		n.end(i)
		return
	}
	before := f.weight
	n.load(f)
	n.plan(i)
	if f.weight != before {
		n.seeds = append(n.seeds, i)
	}
}

// tell sends a notice that arrives at a moment.
func (n *Network) tell(at units.Time, link int, what Notice) {
	n.send(at, link, what.Flow, what.code())
}

// send sends a control message that arrives at a moment.
func (n *Network) send(at units.Time, link int, trigger, code uint32) {
	n.count++
	n.due = heap.Push(n.due, dueNotice{at.Add(-n.cfg.Delay), n.count, int32(link), trigger, code}, earlier)
}

// Close implements node.Machine.
func (n *Network) Close(end units.Time) {
	n.advance(end)
	n.close(end)
	t := metrics.NodeTotals{Node: int32(n.cfg.Node), Name: n.cfg.Name}
	for i := range n.flows {
		f := &n.flows[i]
		if f.Packets > 0 && f.started == units.Never {
			continue // its hosts know of it
		}
		s, r := metrics.SenderTotals{Flow: int32(f.ID), Start: f.started, Done: units.Never}, metrics.ReceiverTotals{Flow: int32(f.ID), Done: units.Never}
		s.PayloadBytes, r.PayloadBytes = f.payload, whole(f.summed)
		if f.queue.Len() > 0 {
			s.PayloadBytes += whole(float64(f.queue.At(0).size) - f.left*f.load.payload)
		}
		if f.sent > 0 && f.queue.Len() == 0 && f.received <= end {
			r.Done = f.received
		}
		if f.sent > 0 && f.queue.Len() == 0 && f.acked <= end {
			s.Done = f.acked
		}
		r.MeasuredWire, r.MeasuredPayload = int64(f.measured.wire), int64(f.measured.payload)
		t.Senders, t.Receivers = append(t.Senders, s), append(t.Receivers, r)
	}
	n.sink.Emit(&t)
}
