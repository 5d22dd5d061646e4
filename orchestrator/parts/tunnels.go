package parts

import (
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/topologies"
)

// tunnelPort is the UDP port of the tunnels of all runs. It is not vxlan's own, 4789, which some
// networks of clusters use or drop.
const tunnelPort = 7703

// Bytes that a tunnel adds to the IP packet that a frame carries: the frame's Ethernet header,
// the headers of vxlan and UDP, and the outer IP header (RFC 7348 §5).
const (
	overheadIPv4 = wire.EthernetLen + 8 + 8 + 20
	overheadIPv6 = wire.EthernetLen + 8 + 8 + 40
)

// Tunnels are the links in real time between one part of a run and the others: each link that is
// cut is a pair of vxlan interfaces, one in each part, that carry its frames over the network
// between the machines. They shape nothing; the driver of the nodes (backend.Drive) does that as
// for any other link.
//
//	node ── pN (vxlan) ══ UDP between the machines ══ (vxlan) pM ── node
//
// A part makes its interfaces in the network namespace that reaches the other machines, and
// moves them into the namespace of the process that drives the part. A vxlan interface sends
// and receives in the namespace where it was made, wherever it is moved to. It is removed
// with the namespace that it has been moved to.
type Tunnels struct {
	handle  *netlink.Handle
	tunnels []backend.Tunnel
	left    []netlink.Link // those that have not been moved away
	notes   []string
}

// MakeTunnels makes the tunnels of part r.Part, in the network namespace of the calling thread. It
// needs CAP_NET_ADMIN there; an error wraps backend.ErrUnavailable if this machine cannot
// have them. The caller closes them.
func MakeTunnels(r *backend.Run) (*Tunnels, error) {
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("%w: tunnels: netlink: %w", backend.ErrUnavailable, err)
	}
	s := &Tunnels{handle: h}
	paths := map[int]path{} // by the other part
	for id, l := range r.Plan.Links {
		here, there := l.A, l.B
		if r.Here(there.Node) {
			here, there = there, here
		}
		if !r.Here(here.Node) || r.Here(there.Node) {
			continue
		}
		peer := r.Part.Of[there.Node]
		p, known := paths[peer]
		if !known {
			if p, err = s.findPath(r.Part, peer); err == nil {
				err = s.fit(r, peer, p)
			}
			paths[peer] = p
		}
		if err == nil {
			err = s.make(here, identifier(r.ID, id), p, r.MTU())
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("link %s: %w", l.Name, err), s.Close())
		}
	}
	return s, nil
}

// identifier returns the VNI of a link of a run. Those of one run differ.
func identifier(run string, link int) int {
	h := fnv.New32a()
	h.Write([]byte(run))
	return int((uint64(h.Sum32())+uint64(link))%(1<<24-1)) + 1
}

// path is the way to another machine.
type path struct {
	local, remote net.IP
	mtu           int // of IP packets
}

// room returns the longest IP packet that a tunnel carries in one packet.
func (p path) room() int {
	if p.remote.To4() == nil {
		return p.mtu - overheadIPv6
	}
	return p.mtu - overheadIPv4
}

func (s *Tunnels) findPath(part *backend.Part, peer int) (p path, err error) {
	for _, end := range []struct {
		part int
		ip   *net.IP
	}{{part.Index, &p.local}, {peer, &p.remote}} {
		address := part.Addresses[end.part]
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return p, fmt.Errorf("%s: %w", part.Names[end.part], err)
		}
		if *end.ip = net.ParseIP(host); *end.ip == nil || end.ip.IsUnspecified() {
			return p, fmt.Errorf("%s: address %q is not the IP address of a machine", part.Names[end.part], address)
		}
	}
	if (p.local.To4() == nil) != (p.remote.To4() == nil) {
		return p, fmt.Errorf("%s has address %s, %s has %s: a tunnel needs two of one version of IP", part.Names[part.Index], p.local, part.Names[peer], p.remote)
	}
	routes, err := s.handle.RouteGet(p.remote)
	if err != nil || len(routes) == 0 {
		return p, fmt.Errorf("%w: %s: no route to %s: %w", backend.ErrUnavailable, part.Names[peer], p.remote, err)
	}
	link, err := s.handle.LinkByIndex(routes[0].LinkIndex)
	if err != nil {
		return p, fmt.Errorf("%s: interface towards %s: %w", part.Names[peer], p.remote, err)
	}
	if p.mtu = link.Attrs().MTU; routes[0].MTU > 0 {
		p.mtu = min(p.mtu, routes[0].MTU)
	}
	return p, nil
}

// fit compares the run's frames with what fits into one packet on the way to a part. The
// kernel sends a longer frame as fragments of IP, which the machine of the peer puts
// together: a frame then costs as many packets, and is lost with any of them.
func (s *Tunnels) fit(r *backend.Run, peer int, p path) error {
	if r.MTU() <= p.room() {
		return nil
	}
	text := fmt.Sprintf("the longest frames have %d bytes, and the network to %s carries packets of %d bytes, %d of which are the tunnel's headers",
		r.MTU()+wire.EthernetLen, r.Part.Names[peer], p.mtu, p.mtu-p.room())
	if most := int(r.Plan.MaxPayload()+r.Plan.Format.Header) - (r.MTU() - p.room()); most > int(r.Plan.Format.Header) {
		text += fmt.Sprintf("; frames of links.mtu %dB fit", most)
	}
	if p.remote.To4() == nil {
		return fmt.Errorf("%w: %s; over IPv6 the kernel does not fragment a tunnel's packets", backend.ErrUnavailable, text)
	}
	fragments := (r.MTU() + p.mtu - p.room() - 20 + fragment(p.mtu) - 1) / fragment(p.mtu)
	s.notes = append(s.notes, fmt.Sprintf("%s; the kernel sends such a frame in %d fragments, which costs as many packets", text, fragments))
	return nil
}

// fragment returns how many bytes a fragment carries behind its IPv4 header: a multiple of 8
// (RFC 791 §3.2).
func fragment(mtu int) int { return (mtu - 20) &^ 7 }

// make makes the tunnel of one end of a link.
func (s *Tunnels) make(end topologies.End, id int, p path, mtu int) error {
	attrs := netlink.NewLinkAttrs()
	mac := wire.MAC(end.Node, end.Port)
	attrs.Name, attrs.MTU, attrs.HardwareAddr = fmt.Sprintf("csig%06x", id), mtu, mac[:]
	vxlan := &netlink.Vxlan{LinkAttrs: attrs, VxlanId: id, SrcAddr: p.local, Group: p.remote, Port: tunnelPort}
	err := s.handle.LinkAdd(vxlan)
	switch {
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w: create vxlan interface: %w; tunnels need the capability NET_ADMIN", backend.ErrUnavailable, err)
	case errors.Is(err, unix.EOPNOTSUPP):
		return fmt.Errorf("%w: create vxlan interface: %w; the kernel has no module vxlan", backend.ErrUnavailable, err)
	case err != nil:
		return fmt.Errorf("create vxlan interface: %w", err)
	}
	made, err := s.handle.LinkByName(attrs.Name)
	if err != nil {
		return fmt.Errorf("vxlan interface %s: %w", attrs.Name, err)
	}
	s.left = append(s.left, made)
	s.tunnels = append(s.tunnels, backend.Tunnel{End: end, Interface: attrs.Name, MTU: mtu})
	return nil
}

// List returns the tunnels, for backend.Part.
func (s *Tunnels) List() []backend.Tunnel { return slices.Clone(s.tunnels) }

// Notes returns remarks for the user: what the network between the machines costs.
func (s *Tunnels) Notes() []string { return slices.Clone(s.notes) }

// Move moves the tunnels into the network namespace of a process. It needs CAP_NET_ADMIN
// there as well.
func (s *Tunnels) Move(pid int) error {
	for len(s.left) > 0 {
		if err := s.handle.LinkSetNsPid(s.left[0], pid); err != nil {
			return fmt.Errorf("move tunnel %s to the network namespace of process %d: %w", s.left[0].Attrs().Name, pid, err)
		}
		s.left = s.left[1:]
	}
	return nil
}

// Close removes the tunnels that have not been moved.
func (s *Tunnels) Close() (err error) {
	for _, link := range s.left {
		if e := s.handle.LinkDel(link); e != nil {
			err = errors.Join(err, fmt.Errorf("%w: tunnel %s: %w", backend.ErrRemains, link.Attrs().Name, e))
		}
	}
	s.left = nil
	s.handle.Close()
	return err
}
