package host_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/host/player"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

const (
	mtu       units.Size = 4150
	header    units.Size = 64
	mss                  = mtu - header
	perPacket            = 332 * units.Nanosecond
	linkDelay            = units.Microsecond
	rto                  = 50 * units.Microsecond
)

// config is that of host i of two that are joined back to back, with a control
// port to the other.
func config(i int) host.Config {
	return host.Config{
		Node: i, Name: []string{"h0", "h1"}[i],
		IP: wire.HostIP(i), MAC: wire.MAC(i, 0), NextHopMAC: wire.MAC(1-i, 0),
		Rate: 100 * units.Gbps, Control: 1,
		MTU: mtu, Sizes: wire.Sizes{Header: header}, RTO: rto, AckEvery: 16384,
		CC:   algorithm.Choice{Name: "nscc"},
		LB:   algorithm.Choice{Name: "mixed"},
		Path: congestion.Path{LinkRate: 100 * units.Gbps, NetworkRTT: 2*linkDelay + perPacket + 5_120, MTU: mtu, Header: header, Trim: true},
		Seed: 1, Measure: transport.Span{To: units.Never}, Records: 100 * units.Microsecond,
	}
}

// sends adds a flow from c's host to the other, which starts at the given time.
func sends(c *host.Config, id int, size units.Size, at units.Time) {
	c.Sends = append(c.Sends, host.Flow{ID: id, Peer: wire.HostIP(1 - c.Node), Size: size})
	c.Player.Starts = append(c.Player.Starts, player.Start{Transfer: id, At: at, After: workloads.None})
}

// receives adds a flow from the other host to c's.
func receives(c *host.Config, id int, size units.Size) {
	c.Receives = append(c.Receives, host.Flow{ID: id, Peer: wire.HostIP(1 - c.Node), Size: size})
}

func newHost(t *testing.T, c host.Config) (*host.Host, *wire.Pool) {
	t.Helper()
	return newHostWith(t, c, metrics.Discard)
}

func newHostWith(t *testing.T, c host.Config, sink metrics.Sink) (*host.Host, *wire.Pool) {
	t.Helper()
	pool := new(wire.Pool)
	h, err := host.New(c, pool, sink)
	if err != nil {
		t.Fatal(err)
	}
	return h, pool
}

// data returns a data packet for host 0 as it arrives from host 1.
func data(pool *wire.Pool, flow, psn uint32, flags wire.Flags) *wire.Packet {
	p := pool.Get()
	p.Build(wire.Addresses{Source: wire.HostIP(1), Destination: wire.HostIP(0), SourcePort: wire.EntropyBase}, wire.Data, flags, wire.ECT0, int(mss))
	p.SetData(flow, psn, 1)
	p.Size = mtu
	return p
}

// transmit returns what the NIC sends next, driving it as a busy port.
func transmit(t *testing.T, h *host.Host, pool *wire.Pool, now *units.Time) (kind wire.Kind, flow uint32, ok bool) {
	t.Helper()
	if !h.Ready().Has(host.NIC) {
		return 0, 0, false
	}
	p, departs, ok := h.Transmit(*now, host.NIC)
	if !ok {
		if h.Ready().Has(host.NIC) {
			t.Fatal("a NIC with nothing to send is still ready")
		}
		return 0, 0, false
	}
	if want := now.Add((100 * units.Gbps).Serialisation(p.Size)); departs != want {
		t.Fatalf("%v at %v departs at %v, want %v", p, *now, departs, want)
	}
	*now = departs
	kind, flow = p.Kind(), p.Flow()
	pool.Put(p)
	return kind, flow, true
}

// pair drives two hosts joined back to back in model time.
type pair struct {
	t       *testing.T
	hosts   [2]*host.Host
	records [2]metrics.Batch
	pools   [2]*wire.Pool
	freeAt  [2][2]units.Time // by host and port
	flying  []arrival
	now     units.Time
	sent    []event                                   // every packet, in order
	disturb func(now units.Time, h *host.Host)        // called before each step
	fault   func(now units.Time, p *wire.Packet) bool // tells whether a packet is lost
}

type arrival struct {
	at   units.Time
	host int
	port int
	p    *wire.Packet
}

// event is a packet that left.
type event struct {
	At     units.Time
	Host   int
	Port   int
	Size   units.Size
	Header string
}

func newPair(t *testing.T, c [2]host.Config) *pair {
	t.Helper()
	p := &pair{t: t}
	for i := range c {
		p.hosts[i], p.pools[i] = newHostWith(t, c[i], &p.records[i])
	}
	return p
}

// run steps until nothing is due.
func (p *pair) run() {
	for {
		p.drain()
		next := units.Never
		for i, h := range p.hosts {
			next = min(next, h.NextTimeout())
			for port := range p.freeAt[i] {
				if h.Ready().Has(port) {
					next = min(next, p.freeAt[i][port])
				}
			}
		}
		if len(p.flying) > 0 {
			next = min(next, p.flying[0].at)
		}
		if next == units.Never {
			return
		}
		if next < p.now || next > units.Time(units.Second) {
			p.t.Fatalf("next event at %v, now is %v", next, p.now)
		}
		p.now = next
		for _, h := range p.hosts {
			if p.disturb != nil {
				p.disturb(p.now, h)
			}
		}
		for len(p.flying) > 0 && p.flying[0].at == p.now {
			a := p.flying[0]
			p.flying = p.flying[1:]
			p.hosts[a.host].Receive(p.now, a.port, a.p)
			p.drain()
		}
		for i, h := range p.hosts {
			if h.NextTimeout() <= p.now {
				p.hosts[i].HandleTimeout(p.now)
				p.drain()
			}
		}
	}
}

// drain takes what ready and free ports have to send.
func (p *pair) drain() {
	for i, h := range p.hosts {
		for port := h.Ready().Next(0); port >= 0; port = h.Ready().Next(port + 1) {
			for p.freeAt[i][port] <= p.now {
				packet, departs, ok := h.Transmit(p.now, port)
				if !ok {
					break
				}
				p.freeAt[i][port] = departs
				p.sent = append(p.sent, event{p.now, i, port, packet.Size, string(packet.Header())})
				p.launch(i, port, departs, packet)
			}
		}
		for port := range p.freeAt[i] {
			if p.freeAt[i][port] <= p.now && !h.Ready().Has(port) {
				if packet, _, ok := h.Transmit(p.now, port); ok {
					p.t.Fatalf("host %d: port %d is not ready but has %v", i, port, packet)
				}
			}
		}
	}
}

// launch moves a packet into the other host's pool and puts it on its way.
func (p *pair) launch(from, port int, departs units.Time, packet *wire.Packet) {
	moved := p.pools[1-from].Get()
	*moved = *packet
	p.pools[from].Put(packet)
	if p.fault != nil && p.fault(p.now, moved) {
		p.pools[1-from].Put(moved)
		return
	}
	at := departs.Add(linkDelay)
	i, _ := slices.BinarySearchFunc(p.flying, at+1, func(a arrival, at units.Time) int { return cmp.Compare(a.at, at) })
	p.flying = slices.Insert(p.flying, i, arrival{at, 1 - from, port, moved})
}
