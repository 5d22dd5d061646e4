package backend

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// tunnelType is the kernel's name for the interfaces of Part.Tunnels. It knows no carrier for
// them, so that such an interface never says that it is up.
const tunnelType = "vxlan"

// tunnels takes the interfaces of the links that are cut, in real time, from the driver's
// namespace to the nodes' ports.
func (n *network) tunnels() error {
	part := n.run.Part
	if part == nil || n.run.Wall == nil {
		return nil
	}
	runtime.LockOSThread() // in the driver's namespace
	defer runtime.UnlockOSThread()
	own, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("%w: netlink: %w", ErrUnavailable, err)
	}
	defer own.Close()
	for _, c := range n.run.cuts() {
		i := slices.IndexFunc(part.Tunnels, func(t Tunnel) bool { return t.End == c.near })
		if i < 0 {
			return fmt.Errorf("link %s: it is cut and has no tunnel", c.name)
		}
		if err := n.spaces[c.near.Node].take(own, part.Tunnels[i]); err != nil {
			return fmt.Errorf("link %s: tunnel %s: %w", c.name, part.Tunnels[i].Interface, err)
		}
	}
	return nil
}

// take makes a tunnel the interface of a port. It is in the namespace of own.
func (s *space) take(own *netlink.Handle, t Tunnel) error {
	link, err := own.LinkByName(t.Interface)
	if err != nil {
		return err
	}
	if err := own.LinkSetNsFd(link, int(s.file.Fd())); err != nil {
		return fmt.Errorf("move it to %s: %w", s.name, err)
	}
	if link, err = s.LinkByName(t.Interface); err != nil {
		return err
	}
	if err := s.LinkSetName(link, s.port(t.End.Port)); err != nil {
		return fmt.Errorf("name it %s: %w", s.port(t.End.Port), err)
	}
	return s.raise(t.End.Port)
}

// countTunnels counts the frames of the cut links, from the kernel's counters of the ports.
func (r *Run) countTunnels(out *Outcome) []CutLink {
	var list []CutLink
	names, of := r.Part.Names, r.Part.Of
	for _, c := range r.cuts() {
		near, far := names[of[c.near.Node]], names[of[c.far.Node]]
		for _, counted := range out.Counters {
			if counted.End != c.near {
				continue
			}
			list = append(list,
				CutLink{Link: c.name, From: near, To: far, Sender: c.near, Receiver: c.far, Entered: counted.TxPackets, Taken: counted.TxPackets},
				CutLink{Link: c.name, From: far, To: near, Sender: c.far, Receiver: c.near, Left: counted.RxPackets, Put: counted.RxPackets})
		}
	}
	return list
}
