package backend

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/nodes/netio"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/labs/application"
	"github.com/csiglab/csiglab/orchestrator/labs/shape"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
)

// space is the network namespace of one node, with a netlink socket in it.
type space struct {
	*netlink.Handle
	name       string
	file       *os.File
	interfaces []int // by port, 0 for none
	port       func(int) string
}

// openSpaces opens the network namespaces of a deployment's nodes; those of nodes in
// other parts of the run are nil. The caller closes them.
func openSpaces(d *Deployment) ([]*space, error) {
	spaces := make([]*space, 0, len(d.Nodes))
	for i, n := range d.Nodes {
		if n.Network == nil { // it is in another part
			spaces = append(spaces, nil)
			continue
		}
		h, err := netlink.NewHandleAt(netns.NsHandle(n.Network.Fd()), unix.NETLINK_ROUTE)
		if err != nil {
			closeSpaces(spaces)
			return nil, fmt.Errorf("%w: node %s: netlink: %w", ErrUnavailable, n.Name, err)
		}
		spaces = append(spaces, &space{Handle: h, name: n.Name, file: n.Network, interfaces: slices.Clone(n.Interfaces), port: func(port int) string { return d.Port(topologies.End{Node: i, Port: port}) }})
	}
	return spaces, nil
}

func closeSpaces(spaces []*space) {
	for _, s := range spaces {
		if s != nil {
			s.Close()
		}
	}
}

// has reports whether a port has an interface.
func (s *space) has(port int) bool { return port < len(s.interfaces) && s.interfaces[port] != 0 }

// set records the index of a port's interface.
func (s *space) set(port, index int) {
	for len(s.interfaces) <= port {
		s.interfaces = append(s.interfaces, 0)
	}
	s.interfaces[port] = index
}

// connect makes a link between two nodes: a veth pair whose ends are created in
// the nodes' namespaces, so that nothing stays in this one if this process dies.
func connect(l plan.Link, spaces []*space, mtu int, address func(topologies.End) []byte) error {
	a, b := spaces[l.A.Node], spaces[l.B.Node]
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = a.port(l.A.Port), mtu
	attrs.HardwareAddr = address(l.A)
	attrs.Namespace = netlink.NsFd(a.file.Fd())
	veth := &netlink.Veth{
		LinkAttrs: attrs, PeerName: b.port(l.B.Port), PeerHardwareAddr: address(l.B),
		PeerNamespace: netlink.NsFd(b.file.Fd()),
	}
	if err := netlink.LinkAdd(veth); err != nil {
		return fmt.Errorf("link %s: create veth pair: %w", l.Name, err)
	}
	for _, end := range []topologies.End{l.A, l.B} {
		s := spaces[end.Node]
		if err := s.raise(end.Port); err != nil {
			return fmt.Errorf("link %s: %s %s: %w", l.Name, s.name, s.port(end.Port), err)
		}
	}
	return nil
}

// portAddress is the address of a port, to which frames are sent.
func portAddress(e topologies.End) []byte {
	mac := wire.MAC(e.Node, e.Port)
	return mac[:]
}

// interfaceAddress is an address that no frame is sent to. The kernel then leaves the
// frames to the node, and does not look for a route for each of them.
func interfaceAddress(e topologies.End) []byte {
	mac := portAddress(e)
	mac[0] |= 0x04 // 06 is locally administered as 02 is
	return mac
}

// raise sets a port's interface up, without an IPv6 address, and records its index. Where
// /proc/sys cannot be written, the namespace has IPv6: without an address it sends nothing.
func (s *space) raise(port int) error {
	link, err := s.LinkByName(s.port(port))
	if err != nil {
		return err
	}
	s.set(port, link.Attrs().Index)
	if err := s.LinkSetIP6AddrGenMode(link, addressesNone); err != nil && !errors.Is(err, unix.EAFNOSUPPORT) {
		return fmt.Errorf("turn its IPv6 addresses off: %w", err)
	}
	return s.LinkSetUp(link)
}

// addressesNone is IN6_ADDR_GEN_MODE_NONE (linux/if_link.h).
const addressesNone = 1

// settleTime is how long an interface may take to carry frames.
const settleTime = 3 * time.Second

// settle waits until the interfaces carry frames. The kernel attaches their queues
// a little after they come up, and drops frames that are sent before.
func (s *space) settle() error {
	deadline := time.Now().Add(settleTime)
	for port, index := range s.interfaces {
		for index != 0 {
			link, err := s.LinkByIndex(index)
			if err != nil {
				return err
			}
			state := link.Attrs().OperState
			if state == netlink.OperUp || state == netlink.OperUnknown && link.Type() == tunnelType {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("interface %s does not come up within %v", s.port(port), settleTime)
			}
			time.Sleep(time.Millisecond)
		}
	}
	return nil
}

// shape sets up the shaper of a port's interface.
func (s *space) shape(port int, link shape.Limit) error {
	return shape.Set(s.Handle, s.interfaces[port], link)
}

// shaped returns the statistics of the shapers of the node's interfaces.
func (s *space) shaped(node int) ([]shape.Shaped, error) {
	return shape.Read(s.Handle, node, s.interfaces)
}

// count adds the counters of the node's interfaces to an outcome. programs is the port
// of the host's programs, -1 without one: a program may have removed its interface.
func (s *space) count(node, programs int, out *Outcome) error {
	for port, index := range s.interfaces {
		if index == 0 {
			continue
		}
		link, err := s.LinkByIndex(index)
		if errors.As(err, new(netlink.LinkNotFoundError)) && port == programs {
			continue
		}
		if err != nil {
			return fmt.Errorf("node %s: counters: %w", s.name, err)
		}
		stats := link.Attrs().Statistics
		c := Counters{int64(stats.TxPackets), int64(stats.RxPackets), int64(stats.TxDropped + stats.RxDropped)}
		out.Counters = append(out.Counters, InterfaceCounters{topologies.End{Node: node, Port: port}, c})
		out.Interfaces.TxPackets += c.TxPackets
		out.Interfaces.RxPackets += c.RxPackets
		out.Interfaces.Dropped += c.Dropped
	}
	return nil
}

// conn opens the ports whose interfaces have the given indices, with as many slots in
// lockstep, or in real time if slots is 0.
func (s *space) conn(indices []int, maxFrame, slots int) (c *netio.Packet, err error) {
	err = application.Within(s.file, func() (err error) {
		if slots > 0 {
			c, err = netio.OpenUnshaped(indices, maxFrame, slots)
		} else {
			c, err = netio.OpenPacket(indices, maxFrame)
		}
		return err
	})
	return c, err
}
