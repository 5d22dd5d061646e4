package backend

import (
	"fmt"
	"os"
	"slices"

	"github.com/csiglab/csiglab/nodes/host/shim"
	"github.com/csiglab/csiglab/nodes/kernel"
	"github.com/csiglab/csiglab/orchestrator/labs/application"
	"github.com/csiglab/csiglab/orchestrator/labs/shape"
	"github.com/csiglab/csiglab/topologies"
)

// network is the nodes' namespaces, joined and ready to carry frames.
type network struct {
	run      *Run
	spaces   []*space   // by node; nil for those of other parts
	stubs    *stubs     // of cut links; nil: there are none
	programs []*os.File // namespaces of programs that the driver has made
	kernels  []*kernel.Switch
}

// buildNetwork makes the links that are missing in the deployment, attaches the
// interfaces of programs, and waits until all interfaces carry frames.
func buildNetwork(d *Deployment, r *Run) (_ *network, err error) {
	spaces, err := openSpaces(d)
	if err != nil {
		return nil, err
	}
	n := &network{run: r, spaces: spaces}
	if n.stubs, err = openStubs(r); err != nil {
		closeSpaces(spaces)
		return nil, err
	}
	attach := func() error { return n.attach(d) }
	defer func() {
		if err != nil {
			n.close()
		}
	}()
	for _, build := range []func() error{n.connect, attach, n.shape, n.settle, n.settleForeign} {
		if err := build(); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func (n *network) close() {
	for _, k := range n.kernels {
		k.Close() //nolint:errcheck // the namespace goes, and with it the program
	}
	closeSpaces(n.spaces)
	n.stubs.close()
	for _, file := range n.programs {
		file.Close()
	}
}

// connect makes the missing links.
func (n *network) connect() error {
	mtu, address := n.run.MTU(), interfaceAddress
	if n.run.Wall != nil { // users look at the interfaces
		address = portAddress
	}
	for _, l := range n.run.Plan.Links {
		a, b := n.spaces[l.A.Node], n.spaces[l.B.Node]
		if a == nil || b == nil || n.run.inMemory(l) || a.has(l.A.Port) {
			continue
		}
		if err := connect(l, n.spaces, mtu, address); err != nil {
			return err
		}
	}
	for i, c := range n.cuts() {
		if err := n.stubs.connect(i, n.spaces[c.near.Node], mtu, address); err != nil {
			return err
		}
	}
	return n.tunnels()
}

// cuts returns the cut links that have stubs.
func (n *network) cuts() []cut {
	if n.stubs == nil {
		return nil
	}
	return n.stubs.cuts
}

// attach gives the hosts that run programs the interface of the programs, whose
// other end is a port of the host's node. The interface is in a namespace of its own,
// where the deployment has none.
func (n *network) attach(d *Deployment) error {
	for _, host := range n.run.hostsWithInterface() {
		s, place := n.spaces[host], &d.Nodes[host]
		if s == nil {
			continue
		}
		if place.Programs == nil {
			file, err := application.NewNetwork()
			if err != nil {
				return fmt.Errorf("%w: node %s: %w", ErrUnavailable, s.name, err)
			}
			n.programs, place.Programs = append(n.programs, file), file
		}
		index, err := application.Attach(s.file, place.Programs, host, s.port(shim.Application), n.run.Plan.ApplicationMTU)
		if err != nil {
			return fmt.Errorf("node %s: %w", s.name, err)
		}
		s.set(shim.Application, index)
	}
	return nil
}

// shape sets up the shaper of every interface of the graph's links, in real time.
func (n *network) shape() error {
	r := n.run
	if r.Wall == nil {
		return nil
	}
	for id, l := range r.Plan.Graph.Links {
		if r.inMemory(r.Plan.Links[id]) {
			continue
		}
		link := shape.Limit{
			Rate: l.Rate, Dilation: r.Wall.Dilation, Frame: r.MaxFrame(), Packet: int(r.Plan.MaxPayload() + r.Plan.Format.Header + r.Plan.Format.Tunnelled()),
		}
		for _, end := range []topologies.End{l.A, l.B} {
			s, link := n.spaces[end.Node], link
			if s == nil {
				continue
			}
			if f := r.Plan.ForeignNode(end.Node); f != nil && f.Kernel {
				link.Exact = true
			}
			if err := s.shape(end.Port, link); err != nil {
				return fmt.Errorf("link %s: %s %s: %w", r.Plan.Links[id].Name, s.name, s.port(end.Port), err)
			}
		}
	}
	return nil
}

func (n *network) settle() error {
	for _, s := range n.spaces {
		if s == nil {
			continue
		}
		if err := s.settle(); err != nil {
			return fmt.Errorf("node %s: %w", s.name, err)
		}
	}
	if n.stubs == nil {
		return nil
	}
	if err := n.stubs.settle(); err != nil {
		return fmt.Errorf("stubs of cut links: %w", err)
	}
	return nil
}

// measure reads the kernel's counters into an outcome.
func (n *network) measure(out *Outcome) error {
	for node, s := range n.spaces {
		if s == nil {
			continue
		}
		programs := -1
		if slices.Contains(n.run.hostsWithInterface(), node) {
			programs = shim.Application
		}
		if err := s.count(node, programs, out); err != nil {
			return err
		}
		if n.run.Wall == nil {
			continue
		}
		shaped, err := s.shaped(node)
		if err != nil {
			return fmt.Errorf("node %s: %w", s.name, err)
		}
		out.Shaped = append(out.Shaped, shaped...)
	}
	return nil
}
