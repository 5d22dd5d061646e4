// Package containerlab deploys a fabric as containers: an unprivileged container per
// node, a veth pair per link. It writes the fabric as a containerlab topology,
// realises it through containerlab's library and cleans up by the run's id. It
// starts the programs of the images and does not know what they do; the backend in
// package containers drives it.
//
// Containerlab's own Deploy is not used: it reads /proc/modules, which not every
// kernel has, makes certificates, and edits /etc/hosts and the SSH client's
// configuration. Its steps (parse, resolve links, deploy nodes, deploy links) do
// none of that.
package containerlab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/client"

	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Labels of every container of a lab.
const (
	labelRun   = "csiglab.run"   // Lab.RunID
	labelLab   = "csiglab.lab"   // Lab.Name
	labelDelay = "csiglab.delay" // of a switch's node: topologies.Node.Delay; topology.clab reads it
	labelOwner = "csiglab.owner" // Lab.Owner
	labelRole  = "csiglab.role"  // of an exported node, where it has no group: host or switch
	labelTier  = "csiglab.tier"  // likewise: tor, agg or core
)

// Limits of a container whose settings give none. An idle switch takes 8 MB, half of it its
// receive ring, and a Go program a handful of threads.
const (
	defaultMemory = 256 * units.MiB
	defaultPIDs   = 256
)

// ErrInvalid is wrapped by the errors of a Lab that cannot be written.
var ErrInvalid = errors.New("invalid lab")

// Lab is a fabric to deploy.
type Lab struct {
	Name     string // of the experiment, [a-z0-9-]+
	RunID    string // [a-z0-9-]+; no two labs at a time may share it
	Owner    string // who made the lab, for who finds its containers; not read here
	Folder   string // takes the topology file; paths in Binds may be relative to it
	Graph    *topologies.Graph
	Nodes    []NodeSettings // in the order of Graph.Nodes
	Sidecars []Sidecar
	MTU      int // of every interface: the length of the longest frame without its Ethernet header
}

// NodeSettings are the settings of a node's container.
type NodeSettings struct {
	Image  string
	Cmd    []string          // arguments after the image's entry point
	Env    map[string]string // besides what containerlab adds (CLAB_…)
	Binds  []string          // source:target or source:target:ro
	Labels map[string]string // besides labelRun and labelLab
	Memory units.Size        // whole MiB; 0 means defaultMemory
	PIDs   int               // 0 means defaultPIDs
	// Writable says that programs of the container may write to its root. That of csiglab's own
	// programs is read-only.
	Writable bool
}

// Deployed is a lab that runs.
type Deployed struct {
	RunID    string
	Topology string      // path of the topology file
	Nodes    []Container // in the order of Graph.Nodes
	Sidecars []Container // in the order of Lab.Sidecars, without Interfaces
}

// Container is the container of a node or a sidecar.
type Container struct {
	Name       string // of the container
	ID         string // of the container
	PID        int    // of its first process, in the machine's PID namespace
	Interfaces []int  // per port, the interface's index in the container's namespace
}

// Interface returns the name of a port's interface in its container: that of the graph, or
// eth1 for port 0, as containerlab keeps eth0 for management.
func Interface(g *topologies.Graph, e topologies.End) string {
	return g.Interface(e, func(port int) string { return fmt.Sprintf("eth%d", port+1) })
}

// Engine is a connection to the Docker engine of this machine. Its methods may be
// called from several goroutines.
type Engine struct {
	docker     *client.Client
	askTime    time.Duration // bounds the answer to a request for information
	removeTime time.Duration // bounds the removal of a run's containers

	mu   sync.Mutex
	lost context.Context // of Watch; ended when the engine is given up
	say  func(string)    // of Watch
}

// Bounds of an Engine's requests. An engine may hang for good, as some do while they
// remove containers (moby/moby#46661); to remove a container takes about a second.
const (
	askTime    = 30 * time.Second
	removeTime = time.Minute
)

// Address returns the address of the engine that Open connects to.
func Address() string { return cmp.Or(os.Getenv(client.EnvOverrideHost), client.DefaultDockerHost) }

// Open connects to the engine that DOCKER_HOST names, by default
// unix:///var/run/docker.sock. The engine must share this machine's network
// namespaces, so anything but a Unix socket is refused.
func Open(ctx context.Context) (*Engine, error) { return OpenAt(ctx, Address()) }

// OpenAt is Open of the engine at an address.
func OpenAt(ctx context.Context, address string) (*Engine, error) {
	docker, err := client.NewClientWithOpts(client.FromEnv, client.WithHost(address), client.WithAPIVersionNegotiation())
	if err != nil {
		return nil, fmt.Errorf("open the docker engine: %w", err)
	}
	if host := docker.DaemonHost(); !strings.HasPrefix(host, "unix://") {
		docker.Close()
		return nil, fmt.Errorf("open the docker engine: DOCKER_HOST %q is not a Unix socket of this machine", host)
	}
	e := &Engine{docker: docker, askTime: askTime, removeTime: removeTime, lost: context.Background()}
	if err := e.ping(ctx); err != nil {
		docker.Close()
		return nil, fmt.Errorf("open the docker engine: %w", err)
	}
	return e, nil
}

func (e *Engine) ping(ctx context.Context) error {
	ctx, cancel := e.ask(ctx)
	defer cancel()
	_, err := e.docker.Ping(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("it does not answer at %s", e.docker.DaemonHost())
	}
	return err
}

// ask returns the context of a request for information to the engine.
func (e *Engine) ask(ctx context.Context) (context.Context, context.CancelFunc) {
	return e.bound(ctx, e.askTime)
}

// bound returns a context that ends with ctx, after a time, or when Watch gives the
// engine up.
func (e *Engine) bound(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	e.mu.Lock()
	lost := e.lost
	e.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, limit)
	stop := context.AfterFunc(lost, cancel)
	return ctx, func() { stop(); cancel() }
}

// ErrLost is wrapped when the engine ends, is restarted or hangs for good while it is
// needed.
var ErrLost = errors.New("the docker engine does not answer any more")

// stoppedError is an ErrLost of an engine that answers, but does not carry out a
// request.
type stoppedError string

func (e stoppedError) Error() string      { return string(e) }
func (stoppedError) Is(target error) bool { return target == ErrLost }

// explain replaces the client's error if the engine is gone, for which the client
// prints an encoded URL, or has not answered in time.
func (e *Engine) explain(err error) error {
	e.mu.Lock()
	given := e.lost.Err() != nil
	e.mu.Unlock()
	if errors.Is(err, context.DeadlineExceeded) || given && errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w: %s", ErrLost, e.docker.DaemonHost())
	}
	if !client.IsErrConnectionFailed(err) {
		return err
	}
	var request *url.Error
	if errors.As(err, &request) {
		return fmt.Errorf("%w: %s: %w", ErrLost, e.docker.DaemonHost(), request.Err)
	}
	return fmt.Errorf("%w: nobody is at %s", ErrLost, e.docker.DaemonHost())
}

// Close closes the connection. Labs keep running.
func (e *Engine) Close() error { return e.docker.Close() }
