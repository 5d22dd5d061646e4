// Package foreign sets up the kernel in the network of a node that is none of csiglab's, so that
// it forwards frames between the hosts of a fabric, or is one of them. Nothing there is learned:
// a bridge and a router know the ways to all hosts, so that a fabric with several paths has no
// loop, and no frame waits for an answer to ARP.
//
// It does not know the plan or the run; the driver of real nodes calls it with namespaces that
// exist.
package foreign

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/labs/application"
)

// Node is a foreign node in its network.
type Node struct {
	*netlink.Handle          // in Network
	Network         *os.File // its network namespace
	Interfaces      []int    // by port: index in Network
	// Next is the MAC address at the other end of each port, by port, if that routes; nil: it
	// takes frames for the hosts behind it at the hosts' own addresses.
	Next []net.HardwareAddr
}

// Address gives a port its MAC address. Where a container engine or a tool has made the port, it
// may have another.
func (n *Node) Address(port int, mac net.HardwareAddr) error {
	link, err := n.LinkByIndex(n.Interfaces[port])
	if err == nil {
		err = n.LinkSetHardwareAddr(link, mac)
	}
	if err != nil {
		return fmt.Errorf("port %d: MAC address: %w", port, err)
	}
	return nil
}

// bridge is the name of the bridge that Bridge makes.
const bridge = "br0"

// Bridge makes a bridge of the ports. ways has, by host, the ports that lead to it, of which
// the first counts. A frame for an address that is no host's is dropped.
func (n *Node) Bridge(ways [][]int, mtu int) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = bridge, mtu
	snooping := false
	if err := n.LinkAdd(&netlink.Bridge{LinkAttrs: attrs, MulticastSnooping: &snooping}); err != nil {
		return fmt.Errorf("make %s: %w", bridge, err)
	}
	master, err := n.LinkByName(bridge)
	if err != nil {
		return err
	}
	for port, index := range n.Interfaces {
		if index == 0 {
			continue
		}
		link, err := n.LinkByIndex(index)
		if err != nil {
			return fmt.Errorf("port %d: %w", port, err)
		}
		for _, set := range []func() error{
			func() error { return n.LinkSetMaster(link, master) },
			func() error { return n.LinkSetLearning(link, false) },
			func() error { return n.LinkSetFlood(link, false) },
			func() error { return n.floodNone(index) },
		} {
			if err := set(); err != nil {
				return fmt.Errorf("port %s of %s: %w", link.Attrs().Name, bridge, err)
			}
		}
	}
	for host, ports := range ways {
		if len(ports) == 0 {
			continue
		}
		entry := &netlink.Neigh{
			LinkIndex: n.Interfaces[ports[0]], Family: unix.AF_BRIDGE, State: netlink.NUD_NOARP, Flags: netlink.NTF_MASTER, HardwareAddr: address(host),
		}
		if err := n.NeighAppend(entry); err != nil {
			return fmt.Errorf("way to host %d: %w", host, err)
		}
	}
	return n.LinkSetUp(master)
}

// floodNone keeps frames for groups and for all from being sent to a port of the bridge, which
// netlink.Handle cannot say.
func (n *Node) floodNone(index int) error {
	message := nl.NewIfInfomsg(unix.AF_BRIDGE)
	message.Index = int32(index)
	port := nl.NewRtAttr(unix.IFLA_PROTINFO|unix.NLA_F_NESTED, nil)
	port.AddRtAttr(nl.IFLA_BRPORT_MCAST_FLOOD, []byte{0})
	port.AddRtAttr(nl.IFLA_BRPORT_BCAST_FLOOD, []byte{0})
	return application.Within(n.Network, func() error {
		request := nl.NewNetlinkRequest(unix.RTM_SETLINK, unix.NLM_F_ACK)
		request.AddData(message)
		request.AddData(port)
		_, err := request.Execute(unix.NETLINK_ROUTE, 0)
		return err
	})
}

// Router makes the kernel forward IPv4 packets between the ports. ways has, by host, the ports
// that lead to it; packets for a host are spread over all of them by their flow.
func (n *Node) Router(ways [][]int) error {
	for _, setting := range []struct{ path, value string }{
		{"ip_forward", "1"},
		{"fib_multipath_hash_policy", "1"}, // by ports too
	} {
		if err := n.write("/proc/sys/net/ipv4/"+setting.path, setting.value); err != nil {
			return err
		}
	}
	for host, ports := range ways {
		if len(ports) == 0 {
			continue
		}
		route := &netlink.Route{Dst: &net.IPNet{IP: application.IPv4(host), Mask: net.CIDRMask(32, 32)}, Scope: netlink.SCOPE_LINK}
		for _, port := range ports {
			route.MultiPath = append(route.MultiPath, &netlink.NexthopInfo{LinkIndex: n.Interfaces[port]})
			if err := n.neighbour(host, port); err != nil {
				return err
			}
		}
		if err := n.RouteAdd(route); err != nil {
			return fmt.Errorf("route to host %d: %w", host, err)
		}
	}
	return nil
}

// Host makes the node a host of a fabric of so many: its only port has the host's addresses.
func (n *Node) Host(host, hosts int) error {
	link, err := n.LinkByIndex(n.Interfaces[0])
	if err != nil {
		return err
	}
	if err := application.Adopt(n.Network, link.Attrs().Name, host); err != nil {
		return err
	}
	for other := range hosts {
		if other == host {
			continue
		}
		if err := n.neighbour(other, 0); err != nil {
			return err
		}
	}
	return nil
}

// neighbour says at which MAC address a host is, behind a port.
func (n *Node) neighbour(host, port int) error {
	at := address(host)
	if next := n.Next[port]; next != nil {
		at = next
	}
	err := n.NeighSet(&netlink.Neigh{LinkIndex: n.Interfaces[port], Family: netlink.FAMILY_V4, State: netlink.NUD_PERMANENT, IP: application.IPv4(host), HardwareAddr: at})
	if err != nil {
		return fmt.Errorf("MAC address of host %d at port %d: %w", host, port, err)
	}
	return nil
}

// address returns the MAC address of a host.
func address(host int) net.HardwareAddr {
	mac := wire.MAC(host, 0)
	return mac[:]
}

// write writes a setting of the node's network. One that the kernel does not have is left out.
func (n *Node) write(path, value string) error {
	err := application.Within(n.Network, func() error { return os.WriteFile(path, []byte(value), 0) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
