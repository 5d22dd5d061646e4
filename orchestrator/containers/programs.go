package containers

import (
	"context"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/nodes/host/shim"
	"github.com/csiglab/csiglab/orchestrator/application"
	"github.com/csiglab/csiglab/orchestrator/containerlab"
	"github.com/csiglab/csiglab/orchestrator/runs"
)

// attach gives the hosts of f.Applications the interface of their programs, whose
// other end is a port of the host's node.
func (r *run) attach() error {
	return r.inSpaces(func(spaces map[int]*os.File) error {
		for _, host := range r.fabric.Applications {
			index, err := application.Attach(spaces[host], host, containerlab.Interface(shim.NIC), containerlab.Interface(shim.Application), r.fabric.ApplicationMTU)
			if err != nil {
				return fmt.Errorf("node %s: %w", r.names[host], err)
			}
			n := &r.deployed.Nodes[host]
			n.Interfaces = append(n.Interfaces, index)
		}
		return nil
	})
}

// inSpaces calls do with the network namespaces of the hosts of f.Applications, by
// host.
func (r *run) inSpaces(do func(map[int]*os.File) error) error {
	spaces := map[int]*os.File{}
	defer func() {
		for _, s := range spaces {
			s.Close() // one that is held outlives its container
		}
	}()
	for _, host := range r.fabric.Applications {
		space, err := os.Open(network(r.deployed.Nodes[host].PID))
		if err != nil {
			return fmt.Errorf("node %s: %w", r.names[host], err)
		}
		spaces[host] = space
	}
	return do(spaces)
}

// programs returns the programs of the run; nil without. Stop must be called in
// the end. ctx is the run's.
func (r *run) programs(ctx context.Context) (*application.Set, error) {
	f := r.fabric
	if len(f.Programs) == 0 {
		return nil, nil
	}
	starter, err := r.starter(ctx)
	if err != nil {
		return nil, err
	}
	set := application.NewSet(f.Programs, *f.Wall, f.End, starter)
	set.Hold(f.Hold)
	return set, nil
}

// starter returns what starts the programs: in the containers beside the hosts',
// or here.
func (r *run) starter(ctx context.Context) (starter application.Starter, err error) {
	if r.fabric.ApplicationImage != "" {
		return &beside{ctx, r}, nil
	}
	err = r.inSpaces(func(spaces map[int]*os.File) error {
		if starter, err = application.NewLocal(spaces, runs.EnvironmentRun+"="+r.id); err != nil {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		return nil
	})
	return starter, err
}

// beside starts programs in the containers beside their hosts'.
type beside struct {
	ctx context.Context
	run *run
}

// Start implements application.Starter.
func (b *beside) Start(p application.Program, output *os.File) (application.Process, error) {
	fd, err := unix.FcntlInt(output.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	out := os.NewFile(uintptr(fd), output.Name())
	env := []string{runs.EnvironmentRun + "=" + b.run.id, runs.EnvironmentNode + "=" + p.Name}
	side := b.run.deployed.Sides[slices.Index(b.run.fabric.Applications, p.Host)]
	command, err := b.run.engine.Start(b.ctx, side, p.Args, env, out)
	if err != nil {
		out.Close()
		return nil, err
	}
	return &inContainer{b.ctx, command, out}, nil
}

// Kill implements application.Starter.
func (b *beside) Kill() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), destroyTime)
	defer cancel()
	for _, side := range b.run.deployed.Sides {
		b.run.engine.Kill(ctx, side) //nolint:errcheck // the run's end removes the container
	}
}

type inContainer struct {
	ctx     context.Context
	command *containerlab.Command
	out     *os.File
}

func (p *inContainer) Wait() (code int, signal string) {
	defer p.out.Close()
	return p.command.Wait()
}

func (p *inContainer) Stop() { p.command.Terminate(p.ctx) }
