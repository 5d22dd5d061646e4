package containers

import (
	"fmt"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/containerlab"
	"github.com/csiglab/csiglab/topologies"
)

// control makes the control links, beside those of the topology file: a veth pair
// between two hosts' containers for each. They go with the containers.
func (r *run) control() error {
	wires, names := r.fabric.Wires()
	for id := len(r.fabric.Graph.Links); id < len(wires); id++ {
		if err := r.join(wires[id]); err != nil {
			return fmt.Errorf("control link %s: %w", names[id], err)
		}
	}
	return nil
}

// join makes a link between two containers, born in them so that nothing stays
// here if this process dies, and notes the interfaces.
func (r *run) join(ends [2]topologies.End) error {
	var spaces [2]netns.NsHandle
	for side, end := range ends {
		space, err := netns.GetFromPid(r.deployed.Nodes[end.Node].PID)
		if err != nil {
			return err
		}
		defer space.Close()
		spaces[side] = space
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = containerlab.Interface(ends[0].Port)
	attrs.MTU = emu.MaxFrame(r.fabric.MaxPayload) - wire.EthernetLen
	attrs.Namespace = netlink.NsFd(spaces[0])
	veth := &netlink.Veth{
		LinkAttrs: attrs, PeerName: containerlab.Interface(ends[1].Port), PeerNamespace: netlink.NsFd(spaces[1]),
	}
	if err := netlink.LinkAdd(veth); err != nil {
		return fmt.Errorf("create veth pair: %w", err)
	}
	for _, end := range ends {
		n := &r.deployed.Nodes[end.Node]
		err := within(n.PID, func(h *netlink.Handle) error {
			link, err := h.LinkByName(containerlab.Interface(end.Port))
			if err != nil {
				return err
			}
			for len(n.Interfaces) <= end.Port {
				n.Interfaces = append(n.Interfaces, 0)
			}
			n.Interfaces[end.Port] = link.Attrs().Index
			return h.LinkSetUp(link)
		})
		if err != nil {
			return fmt.Errorf("%s %s: %w", r.names[end.Node], containerlab.Interface(end.Port), err)
		}
	}
	return nil
}
