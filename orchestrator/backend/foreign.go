package backend

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/labs/application"
	"github.com/csiglab/csiglab/orchestrator/labs/foreign"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
)

// Driven reports whether this part of the run drives a node: it is here, and not foreign.
func (r *Run) Driven(node int) bool { return r.Here(node) && r.Plan.ForeignNode(node) == nil }

// foreignNodes returns the foreign nodes as drivers know them.
func (r *Run) foreignNodes() (list []emu.Foreign) {
	for i := range r.Plan.Foreign {
		f := &r.Plan.Foreign[i]
		list = append(list, emu.Foreign{Node: f.Node, Routes: f.Routes()})
	}
	return list
}

// hostsWithInterface returns the hosts with programs that are no foreign nodes: they have csig0.
func (r *Run) hostsWithInterface() []int {
	return slices.DeleteFunc(r.Plan.ApplicationHosts(), func(h int) bool { return r.Plan.ForeignNode(h) != nil })
}

// settleForeign sets up the kernels of foreign nodes, as far as csiglab does it.
func (n *network) settleForeign() error {
	g := n.run.Plan.Graph
	adjacency := g.Adjacency()
	for i := range n.run.Plan.Foreign {
		f := &n.run.Plan.Foreign[i]
		if f.Kernel {
			if err := n.startKernel(f.Node); err != nil {
				return err
			}
			continue
		}
		s := n.spaces[f.Node]
		node := &foreign.Node{Handle: s.Handle, Network: s.file, Interfaces: s.interfaces}
		for port, a := range adjacency[f.Node] {
			if err := node.Address(port, portAddress(topologies.End{Node: f.Node, Port: port})); err != nil {
				return fmt.Errorf("foreign node %s: %w", s.name, err)
			}
			var next net.HardwareAddr
			if peer := n.run.Plan.ForeignNode(a.Peer.Node); peer != nil && peer.Routes() {
				mac := wire.MAC(a.Peer.Node, a.Peer.Port)
				next = mac[:]
			}
			node.Next = append(node.Next, next)
		}
		var err error
		switch {
		case g.Nodes[f.Node].Kind == topologies.Host:
			err = node.Host(f.Node, g.Hosts())
		case f.Forwards == experiment.ForwardsBridge:
			err = node.Bridge(f.Hosts, n.run.MTU())
		case f.Routes():
			err = node.Router(f.Hosts)
		}
		if err != nil {
			return fmt.Errorf("foreign node %s: %w", s.name, err)
		}
	}
	return nil
}

// foreignWatch finds foreign nodes whose process has ended, of a deployment whose foreign nodes
// have one.
type foreignWatch struct {
	names   []string
	handles []unix.PollFd
}

// watchForeign watches the foreign nodes of a deployment. The caller closes the result.
func watchForeign(d *Deployment, r *Run) (*foreignWatch, error) {
	w := new(foreignWatch)
	for i := range r.Plan.Foreign {
		place := &d.Nodes[r.Plan.Foreign[i].Node]
		if place.PID == 0 {
			continue
		}
		fd, err := unix.PidfdOpen(place.PID, 0)
		if err != nil {
			w.close()
			return nil, &NodeError{Name: place.Name, Reason: fmt.Sprintf("its container has ended (%v)", err)}
		}
		w.names, w.handles = append(w.names, place.Name), append(w.handles, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	return w, nil
}

// ended returns the error of a node whose process has ended, nil while all run.
func (w *foreignWatch) ended() error {
	if n, err := unix.Poll(w.handles, 0); n <= 0 || err != nil {
		return nil // asked again soon
	}
	for i, h := range w.handles {
		if h.Revents != 0 {
			return &NodeError{Name: w.names[i], Reason: "its container has ended"}
		}
	}
	return nil
}

func (w *foreignWatch) close() {
	for _, h := range w.handles {
		unix.Close(int(h.Fd)) //nolint:errcheck // it was opened here
	}
}

// startupWithin is how long a program of a foreign node's startup may take.
const startupWithin = time.Minute

// startForeign runs what foreign nodes want to be run before the start.
func startForeign(ctx context.Context, r *Run, local *localPrograms, c Control) error {
	for i := range r.Plan.Foreign {
		f := &r.Plan.Foreign[i]
		name := r.Plan.Graph.Nodes[f.Node].Name
		for _, args := range f.Startup {
			if err := runStartup(ctx, local, f, name, args, c); err != nil {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				return &NodeError{Name: name, Reason: fmt.Sprintf("startup %q: %v", strings.Join(args, " "), err)}
			}
		}
	}
	return nil
}

// runStartup runs a program of a foreign node's startup to its end.
func runStartup(ctx context.Context, local *localPrograms, f *plan.Foreign, name string, args []string, c Control) error {
	fd, err := unix.MemfdCreate("startup", unix.MFD_CLOEXEC)
	if err != nil {
		return err
	}
	output := os.NewFile(uintptr(fd), "startup")
	defer output.Close()
	p, err := local.Start(application.Program{Host: f.Node, Name: name, Args: args}, output)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		code, signal := p.Wait()
		switch {
		case signal != "":
			ended <- fmt.Errorf("was killed by %s", signal)
		case code != 0:
			ended <- fmt.Errorf("ended with code %d", code)
		default:
			ended <- nil
		}
	}()
	slow := time.NewTimer(sayStartupAfter)
	defer slow.Stop()
	limit := time.NewTimer(startupWithin)
	defer limit.Stop()
	for {
		select {
		case err := <-ended:
			if err == nil {
				return nil
			}
			return fmt.Errorf("%w%s", err, said(output))
		case <-ctx.Done():
			p.Stop()
			return context.Cause(ctx)
		case <-slow.C:
			c.SayWaiting("%q on %s", strings.Join(args, " "), name)
		case <-limit.C:
			p.Stop()
			return fmt.Errorf("has not ended after %v; what goes on has to run in the background%s", startupWithin, said(output))
		}
	}
}

// sayStartupAfter is how long a program of a startup may take before that is said.
const sayStartupAfter = 3 * time.Second

// said returns the last of what a program has written, for a message.
func said(output *os.File) string {
	const most = 400
	info, err := output.Stat()
	if err != nil || info.Size() == 0 {
		return ""
	}
	text := make([]byte, min(info.Size(), most))
	if _, err := output.ReadAt(text, info.Size()-int64(len(text))); err != nil {
		return ""
	}
	return ": " + strings.Join(strings.Fields(string(text)), " ")
}
