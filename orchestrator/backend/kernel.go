package backend

import (
	"errors"
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/kernel"
	"github.com/csiglab/csiglab/orchestrator/labs/application"
)

// startKernel puts a switch into the kernel of its network.
func (n *network) startKernel(node int) error {
	s := n.spaces[node]
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return err
	}
	k, err := kernel.New(kernel.Config{
		Switch: *n.run.Plan.Switch(node), Format: n.run.Plan.Format, Interfaces: s.interfaces,
		Start: now.Nano(), Dilation: int64(math.Round(n.run.Wall.Dilation)),
	})
	if err == nil {
		n.kernels = append(n.kernels, k)
		err = application.Within(s.file, k.Attach)
	}
	if errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("%w: wall.datapath: ebpf needs root of this machine (CAP_BPF), which neither a user namespace nor a container has: %w", ErrUnavailable, err)
	}
	return err // it has the name of the switch
}

// setWays gives hosts behind switches in the kernel the ways from all others. The kernel passes
// frames on at once, but for what queues: the host that a frame comes to holds it back.
func (r *Run) setWays(configs []emu.Config) {
	g := r.Plan.Graph
	adjacency := g.Adjacency()
	for host := range g.Hosts() {
		if f := r.Plan.ForeignNode(adjacency[host][0].Peer.Node); f == nil || !f.Kernel {
			continue
		}
		ways, reached := make([]emu.Way, len(g.Nodes)), make([]bool, len(g.Nodes))
		reached[host] = true
		for next := []int{host}; len(next) > 0; next = next[1:] { // the fewest hops first, as packets go
			here := next[0]
			for _, a := range adjacency[here] {
				if reached[a.Peer.Node] {
					continue
				}
				reached[a.Peer.Node] = true
				l, way := &g.Links[a.Link], ways[here]
				way.Delay, way.PerByte = way.Delay+l.Delay, way.PerByte+l.Rate.Serialisation(1)
				if s := r.Plan.Switch(a.Peer.Node); s != nil {
					way.Delay += s.Delay
					next = append(next, a.Peer.Node)
				}
				ways[a.Peer.Node] = way
			}
		}
		configs[host].Ports[0].Ways = ways[:g.Hosts()]
	}
}

// recordKernels records what switches in the kernel have done.
func (n *network) recordKernels(to metrics.Consumer) error {
	for _, k := range n.kernels {
		totals, err := k.Totals()
		if err != nil {
			return err
		}
		to.Consume(&metrics.Batch{Node: totals.Node, Totals: []metrics.NodeTotals{totals}})
	}
	return nil
}
