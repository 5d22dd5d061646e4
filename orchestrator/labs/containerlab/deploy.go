package containerlab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/charmbracelet/log"
	"github.com/docker/docker/api/types/container"
	"github.com/srl-labs/containerlab/core"
	"github.com/srl-labs/containerlab/links"
	clab "github.com/srl-labs/containerlab/runtime"

	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/topologies"
)

// cleanupTime bounds the removal of the containers after a deployment was interrupted, and
// stoppedTime that by an engine which has just not carried out a request: with requestTime it
// is less than a minute.
const (
	cleanupTime = time.Minute
	stoppedTime = 20 * time.Second
)

// workersPerCPU is how many containers are made at a time, per processor: making
// one waits for the disk about half of the time.
const workersPerCPU = 2

// Deploy writes the topology file <name>.clab.yml into lab.Folder and makes the
// lab: every container runs and every link is up when it returns. Containers
// start before their links exist. When it fails or ctx ends, it removes everything
// that it made except for the topology file.
func (e *Engine) Deploy(ctx context.Context, lab Lab) (deployed *Deployed, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("deploy lab %s: %w", lab.name(), err)
		}
	}()
	if lab.RunID == "" {
		return nil, fmt.Errorf("%w: no run id", ErrInvalid)
	}
	if err := lab.write(); err != nil {
		return nil, err
	}
	if taken, err := e.containers(ctx, lab.RunID); err != nil {
		return nil, err
	} else if len(taken) > 0 {
		return nil, fmt.Errorf("run id %s has %d containers already", lab.RunID, len(taken))
	}
	defer func() {
		if err != nil {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
			defer cancel()
			limit := e.removeTime
			if errors.Is(err, ErrLost) {
				limit = min(limit, stoppedTime)
			}
			err = errors.Join(err, e.remove(ctx, lab.RunID, limit))
		}
	}()
	d := newDeployment(ctx, e, &lab)
	defer d.close()
	if err := d.deploy(&lab); err != nil {
		// The library's errors about the other nodes follow from the cause.
		return nil, cmp.Or(context.Cause(d.ctx), err)
	}
	return e.describe(ctx, d, &lab)
}

// write writes the topology file.
func (lab *Lab) write() error {
	if err := lab.validate(); err != nil {
		return err
	}
	text, err := lab.render(nil)
	if err != nil {
		return err
	}
	return own.WriteFile(lab.path(), text, 0o600)
}

// runtimeName is the name of our runtime in containerlab.
const runtimeName = "csiglab"

// library guards containerlab's table of runtimes and its logger, which belong to
// the process.
var library sync.Mutex

// load reads the topology file into containerlab's model.
func (d *deployment) load(lab *Lab) (*core.CLab, error) {
	library.Lock()
	defer library.Unlock()
	log.SetOutput(io.Discard) // it logs the errors to stderr that it also returns
	clab.Register(runtimeName, func() clab.ContainerRuntime { return d })
	defer delete(clab.ContainerRuntimes, runtimeName)
	c, err := core.NewContainerLab(
		core.WithTimeout(cleanupTime),
		core.WithRuntime(runtimeName, &clab.RuntimeConfig{Timeout: cleanupTime}),
		core.WithTopoPath(lab.path(), nil),
	)
	if err != nil {
		return nil, fmt.Errorf("read the topology: %w", err)
	}
	for name, n := range c.Nodes {
		c.Nodes[name] = &node{n, d}
	}
	if err := c.ResolveLinks(); err != nil {
		return nil, fmt.Errorf("resolve links: %w", err)
	}
	return c, nil
}

func (d *deployment) deploy(lab *Lab) error {
	c, err := d.load(lab)
	if err != nil {
		return err
	}
	names := make([]string, len(lab.Graph.Nodes))
	for i, n := range lab.Graph.Nodes {
		names[i] = n.Name
	}
	for _, s := range lab.Sidecars {
		names = append(names, lab.sidecarName(s))
	}
	// To make links is mostly waiting for the kernel; to make containers is limited by the processors.
	wired := make(chan error, 1)
	go func() {
		err := d.wire(c, lab.Graph)
		if err != nil {
			d.end(err)
		}
		wired <- err
	}()
	workers := uint(workersPerCPU * runtime.NumCPU())
	if err = c.DeployNodes(d.ctx, names, workers); err != nil {
		d.end(err)
	}
	return errors.Join(err, <-wired)
}

// wire makes each link once the containers at its ends run.
func (d *deployment) wire(c *core.CLab, g *topologies.Graph) error {
	ids := make(map[string]int, len(g.Nodes))
	for i, n := range g.Nodes {
		ids[n.Name] = i
	}
	adjacency, up := g.Adjacency(), make([]bool, len(g.Nodes))
	// Both ends of a pair are created in the namespace of the thread that makes it.
	// As all pairs are made in one namespace, each end gets an index of its own, which
	// it keeps when it is moved.
	return withinNew(func() error {
		for range g.Nodes {
			var id int
			select {
			case name := <-d.ready:
				id = ids[name]
			case <-d.ctx.Done():
				return d.ctx.Err()
			}
			up[id] = true
			for _, to := range adjacency[id] {
				if !up[to.Peer.Node] {
					continue
				}
				if err := c.DeployLinks(d.ctx, []links.Link{c.Links[to.Link]}); err != nil {
					return fmt.Errorf("link %s: %w", g.LinkName(to.Link), err)
				}
			}
		}
		return nil
	})
}

// describe checks that the lab is complete and returns it.
func (e *Engine) describe(ctx context.Context, d *deployment, lab *Lab) (*Deployed, error) {
	lives := &Deployed{RunID: lab.RunID, Topology: lab.path(), Nodes: make([]Container, len(lab.Graph.Nodes))}
	for i, ports := range lab.Graph.Adjacency() {
		name := lab.Graph.Nodes[i].Name
		s := d.started[name]
		indices, err := interfaces(s.net, lab.Graph, i, len(ports), lab.MTU)
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", name, err)
		}
		lives.Nodes[i] = Container{Name: lab.container(name), ID: s.id, PID: s.pid, Interfaces: indices}
	}
	for _, s := range lab.Sidecars {
		name := lab.sidecarName(s)
		lives.Sidecars = append(lives.Sidecars, Container{Name: lab.container(name), ID: d.started[name].id, PID: d.started[name].pid})
	}
	containers, err := e.containers(ctx, lab.RunID)
	if err != nil {
		return nil, err
	}
	for _, c := range containers {
		if c.State != container.StateRunning {
			return nil, e.exited(ctx, c.ID)
		}
	}
	return lives, ctx.Err()
}
