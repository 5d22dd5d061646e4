package backend

import (
	"errors"
	"fmt"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/nodes/emu/gateway"
	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/nodes/netio"
	"github.com/csiglab/csiglab/topologies"
)

// cut is a link between a node of this part and one of another.
type cut struct {
	link      int // in Plan.Links
	name      string
	near, far topologies.End // of this part, of the other
	out, in   int            // the link's directions, as emu.Fabric counts them
}

// cuts returns the links that are cut between this part and others, in the order of
// Plan.Links.
func (r *Run) cuts() []cut {
	var list []cut
	for id, l := range r.Plan.Links {
		switch a, b := r.Here(l.A.Node), r.Here(l.B.Node); {
		case a && !b:
			list = append(list, cut{link: id, name: l.Name, near: l.A, far: l.B, out: 2 * id, in: 2*id + 1})
		case b && !a:
			list = append(list, cut{link: id, name: l.Name, near: l.B, far: l.A, out: 2*id + 1, in: 2 * id})
		}
	}
	return list
}

// checkPart returns an error if a run in parts cannot be driven.
func (r *Run) checkPart() error {
	switch p := r.Part; {
	case p == nil:
		return nil
	case len(p.Of) != len(r.Plan.Graph.Nodes):
		return fmt.Errorf("a part of a run of %d nodes, which has %d", len(p.Of), len(r.Plan.Graph.Nodes))
	case p.Index < 0 || p.Index >= len(p.Names):
		return fmt.Errorf("part %d of %d", p.Index, len(p.Names))
	case r.Wall == nil && r.Processes != ProcessPerNode && r.Processes != "":
		return errors.New("a run in several parts under lockstep needs a process for each node")
	}
	for node, part := range r.Part.Of {
		if part < 0 || part >= len(r.Part.Names) {
			return fmt.Errorf("node %s is in part %d of %d", r.Plan.Graph.Nodes[node].Name, part, len(r.Part.Names))
		}
	}
	return nil
}

// partition returns the partition of the fabric, nil for a run that is not cut.
func (r *Run) partition() *lockstep.Partition {
	if r.Part == nil {
		return nil
	}
	return &lockstep.Partition{Part: r.Part.Index, Of: r.Part.Of}
}

// stubName names the stub of a cut link in the driver's own network namespace.
func stubName(link int) string { return fmt.Sprintf("cut%d", link) }

// stubs are the ends of cut links that the gateway has, in the driver's own namespace.
type stubs struct {
	*space
	cuts []cut // port i of the space is the stub of cuts[i]
}

// openStubs returns the stubs of a run, before they are made, nil for a run without.
func openStubs(r *Run) (*stubs, error) {
	cuts := r.cuts()
	if len(cuts) == 0 || r.Wall != nil {
		return nil, nil
	}
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("%w: netlink: %w", ErrUnavailable, err)
	}
	file, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		h.Close()
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return &stubs{
		space: &space{Handle: h, name: "the gateway", file: file, port: func(i int) string { return stubName(cuts[i].link) }},
		cuts:  cuts,
	}, nil
}

// close frees what the stubs hold; s may be nil. The interfaces go with their namespaces.
func (s *stubs) close() {
	if s != nil {
		s.Close()
		s.file.Close()
	}
}

// connect makes the stub of cuts[i] and the interface of the node's port.
func (s *stubs) connect(i int, node *space, mtu int, address func(topologies.End) []byte) error {
	c := s.cuts[i]
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = node.port(c.near.Port), mtu
	attrs.HardwareAddr = address(c.near)
	attrs.Namespace = netlink.NsFd(node.file.Fd())
	veth := &netlink.Veth{
		LinkAttrs: attrs, PeerName: s.port(i), PeerHardwareAddr: address(c.far), PeerNamespace: netlink.NsFd(s.file.Fd()),
	}
	if err := netlink.LinkAdd(veth); err != nil {
		return fmt.Errorf("link %s: create veth pair of its stub: %w", c.name, err)
	}
	if err := node.raise(c.near.Port); err != nil {
		return fmt.Errorf("link %s: %s %s: %w", c.name, node.name, node.port(c.near.Port), err)
	}
	if err := s.raise(i); err != nil {
		return fmt.Errorf("link %s: its stub %s: %w", c.name, s.port(i), err)
	}
	return nil
}

// gatewayStubs describes the stubs to the gateway.
func (s *stubs) gatewayStubs(r *Run) []gateway.Stub {
	if s == nil {
		return nil
	}
	list := make([]gateway.Stub, len(s.cuts))
	for i, c := range s.cuts {
		nodes := r.Plan.Graph.Nodes
		list[i] = gateway.Stub{
			Link: c.name, Near: nodes[c.near.Node].Name, Far: nodes[c.far.Node].Name, Out: c.out, In: c.in, Peer: r.Part.Of[c.far.Node],
		}
	}
	return list
}

// open opens the stubs for the gateway, with room for the frames that may be on all of
// them at once. The calling thread is in their namespace.
func (s *stubs) open(r *Run, links []lockstep.Channel) (netio.Conn, error) {
	if s == nil {
		return netio.NewMemory(0), nil
	}
	return netio.OpenUnshaped(s.interfaces, r.MaxFrame(), gateway.Slots(links, s.gatewayStubs(r)))
}

// count counts the frames of the cut links: those that the kernel has counted at the stubs,
// and those of the gateway. s may be nil.
func (s *stubs) count(r *Run, result gateway.Result) (*Cut, error) {
	counted := &Cut{Parts: r.Part.Names, Exchanges: result.Exchanges, Bytes: result.Bytes}
	if s == nil {
		return counted, nil
	}
	names, of := r.Part.Names, r.Part.Of
	for i, c := range s.cuts {
		stub, err := s.LinkByIndex(s.interfaces[i])
		if err != nil {
			return nil, fmt.Errorf("link %s: counters of its stub: %w", c.name, err)
		}
		kernel, carried := stub.Attrs().Statistics, result.Stubs[i]
		near, far := names[of[c.near.Node]], names[of[c.far.Node]]
		counted.Links = append(counted.Links,
			CutLink{Link: c.name, From: near, To: far, Sender: c.near, Receiver: c.far, Entered: int64(kernel.RxPackets), Taken: carried.Out},
			CutLink{Link: c.name, From: far, To: near, Sender: c.far, Receiver: c.near, Left: int64(kernel.TxPackets), Put: carried.In})
	}
	return counted, nil
}
