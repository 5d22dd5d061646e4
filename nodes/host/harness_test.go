package host_test

import (
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/host/player"
	"github.com/csiglab/csiglab/nodes/node/nodetest"
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
		Seed: 1, Measure: metrics.Span{To: units.Never}, Records: 100 * units.Microsecond,
	}
}

// sends adds a flow from c's host to the other, which starts at the given time.
func sends(c *host.Config, id int, size units.Size, at units.Time) {
	c.Sends = append(c.Sends, host.Flow{End: host.End{ID: id, Peer: wire.HostIP(1 - c.Node), Size: size}})
	c.Player.Starts = append(c.Player.Starts, player.Start{Transfer: id, At: at, After: workloads.None})
}

// receives adds a flow from the other host to c's.
func receives(c *host.Config, id int, size units.Size) {
	c.Receives = append(c.Receives, host.End{ID: id, Peer: wire.HostIP(1 - c.Node), Size: size})
}

func newHost(t *testing.T, c host.Config) (*host.Host, *wire.Pool) {
	t.Helper()
	return newHostWith(t, c, metrics.Discard)
}

func newHostWith(t *testing.T, c host.Config, sink metrics.Sink) (*host.Host, *wire.Pool) {
	t.Helper()
	pool := new(wire.Pool)
	h, err := host.New(&c, pool, sink)
	if err != nil {
		t.Fatal(err)
	}
	return h, pool
}

// data returns a data packet for host 0 as it arrives from host 1.
func data(pool *wire.Pool, flow, psn uint32, flags wire.Flags) *wire.Packet {
	p := nodetest.Data(pool, 1, 0, flow, psn, mtu)
	p.SetFlags(flags)
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

// pair is two hosts that are joined back to back.
type pair struct {
	*nodetest.Rig
	hosts [2]*host.Host
}

func newPair(t *testing.T, c [2]host.Config) *pair {
	t.Helper()
	p := &pair{Rig: nodetest.New(t)}
	p.Limit = units.Time(units.Second)
	for i := range c {
		p.hosts[i] = nodetest.Add(p.Rig, 1+c[i].Control, host.New, &c[i])
	}
	for port := range 1 + c[0].Control {
		p.Join(0, port, 1, port, linkDelay)
	}
	return p
}

// totals runs the hosts until nothing is due and returns what they measured.
func (p *pair) totals() (all [2]metrics.NodeTotals) {
	p.Run(units.Never)
	for i, n := range p.Nodes {
		all[i] = n.Totals(p.Now)
	}
	return all
}
