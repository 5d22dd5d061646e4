package containers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/nodes/emu/process"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/labs/application"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/topologies"
)

// launcher starts nodes and programs in a run's containers.
type launcher struct {
	run        *backend.Run
	engine     *containerlab.Engine
	deployed   *containerlab.Deployed
	rendezvous *rendezvous
	priority   priority
}

// deployment returns the containers for the driver. The caller closes the networks,
// also after an error.
func (l *launcher) deployment() (*backend.Deployment, error) {
	port := func(e topologies.End) string { return containerlab.Interface(l.run.Plan.Graph, e) }
	d := &backend.Deployment{Port: port, Folder: mounted, Sockets: filepath.Join(l.run.Folder, nodeFolder), Launcher: l}
	for i, n := range l.deployed.Nodes {
		name := l.run.Plan.Graph.Nodes[i].Name
		network, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", n.PID))
		if err != nil {
			return d, fmt.Errorf("node %s: %w", name, err)
		}
		d.Nodes = append(d.Nodes, backend.Place{Name: name, PID: n.PID, Network: network, Interfaces: n.Interfaces, Container: n.Name})
	}
	for i, host := range l.run.Plan.ApplicationHosts() {
		if i < len(l.deployed.Sidecars) {
			sidecar := l.deployed.Sidecars[i]
			network, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", sidecar.PID))
			if err != nil {
				return d, fmt.Errorf("container %s: %w", sidecar.Name, err)
			}
			d.Nodes[host].Sidecar, d.Nodes[host].Programs = sidecar.Name, network
		}
	}
	return d, nil
}

// closeNetworks closes the nodes' namespaces. A namespace that is held open outlives
// its container.
func closeNetworks(d *backend.Deployment) {
	for i, n := range d.Nodes {
		n.Network.Close()
		if n.Sidecar != "" {
			d.Nodes[i].Programs.Close()
		}
	}
}

// missing returns a function that returns the error of a node that has not connected.
func (l *launcher) missing(ctx context.Context) func(node int) error {
	return func(node int) error {
		return &backend.NodeError{
			Name: l.run.Plan.Graph.Nodes[node].Name, Reason: "has not called; it " + l.engine.Exit(ctx, l.deployed.Nodes[node]),
		}
	}
}

// Start implements backend.Launcher. It sends the specification to the node's
// process, which waits in its container.
func (l *launcher) Start(ctx context.Context, node int, spec *process.Spec, shared *os.File) (*backend.Process, error) {
	report, err := l.rendezvous.handOver(node, spec, shared)
	if err != nil {
		return nil, err
	}
	wait := func(reported bool) string {
		if reported {
			return ""
		}
		return l.engine.Exit(ctx, l.deployed.Nodes[node])
	}
	return &backend.Process{PID: l.deployed.Nodes[node].PID, Report: report, Wait: wait}, nil
}

// Raise implements backend.Launcher. A thread in a container may not take a real-time
// priority by itself. It may give it up, as under any runtime.
func (l *launcher) Raise(node, thread int) error {
	return l.priority.raise(l.deployed.Nodes[node].PID, thread)
}

// cpu returns the processor time that the nodes have used so far.
func (l *launcher) cpu() (sum time.Duration) {
	for _, n := range l.deployed.Nodes {
		sum += cpuOf(n.PID)
	}
	return sum
}

// Programs implements backend.Launcher: programs run in the sidecars of the hosts'
// containers, or on this machine's files where the run names no image.
func (l *launcher) Programs(ctx context.Context) application.Starter {
	if l.run.Plan.ApplicationImage == "" {
		return nil
	}
	return &sidecars{ctx, l}
}

// sidecars starts programs in the containers beside their hosts'. ctx is the run's.
type sidecars struct {
	ctx context.Context
	*launcher
}

// Start implements application.Starter.
func (s *sidecars) Start(p application.Program, output *os.File) (application.Process, error) {
	fd, err := unix.FcntlInt(output.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	out := os.NewFile(uintptr(fd), output.Name())
	env := []string{runs.EnvironmentRun + "=" + s.run.ID, runs.EnvironmentNode + "=" + p.Name}
	sidecar := s.deployed.Sidecars[slices.Index(s.run.Plan.ApplicationHosts(), p.Host)]
	command, err := s.engine.Start(s.ctx, sidecar, p.Args, env, out)
	if err != nil {
		out.Close()
		return nil, err
	}
	return &inSidecar{s.ctx, command, out}, nil
}

// Kill implements application.Starter.
func (s *sidecars) Kill() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), destroyTime)
	defer cancel()
	for _, sidecar := range s.deployed.Sidecars {
		s.engine.Kill(ctx, sidecar) //nolint:errcheck // the run's end removes the container
	}
}

// inSidecar is a program that runs in a sidecar.
type inSidecar struct {
	ctx     context.Context
	command *containerlab.Command
	out     *os.File
}

func (p *inSidecar) Wait() (code int, signal string) {
	defer p.out.Close()
	return p.command.Wait()
}

func (p *inSidecar) Stop() { p.command.Terminate(p.ctx) }
