package containerlab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/docker/docker/api/types/container"
	"github.com/google/shlex"
	"github.com/srl-labs/containerlab/nodes"
	clab "github.com/srl-labs/containerlab/runtime"
	"github.com/srl-labs/containerlab/runtime/docker"
	"github.com/srl-labs/containerlab/types"
	"github.com/vishvananda/netlink"
)

// deployment is containerlab's Docker runtime with its own way to make and start a
// container: it applies settings that a topology cannot express, and writes nothing
// on the host (containerlab links every namespace under /run/netns). It serves one
// deployment.
type deployment struct {
	*docker.DockerRuntime
	engine   *Engine
	ctx      context.Context // of the deployment
	end      context.CancelCauseFunc
	settings map[string]*NodeSettings
	sidecars map[string]string // sidecar's name -> name of its node
	sysctls  map[string]string
	slow     func() // says once that a request takes long

	mu      sync.Mutex
	started map[string]*started // by the node's name
	ready   chan string         // names, as they enter started
}

// started is a container that runs and its network namespace, held open.
type started struct {
	id  string
	pid int
	net *os.File
}

func newDeployment(ctx context.Context, e *Engine, lab *Lab) *deployment {
	library.Lock()
	newDocker := clab.ContainerRuntimes[docker.RuntimeName]
	library.Unlock()
	d := &deployment{
		DockerRuntime: newDocker().(*docker.DockerRuntime), engine: e,
		settings: make(map[string]*NodeSettings), started: make(map[string]*started),
		ready: make(chan string, len(lab.Graph.Nodes)), sidecars: make(map[string]string),
	}
	d.ctx, d.end = context.WithCancelCause(ctx)
	d.slow = sync.OnceFunc(func() { e.waiting("the docker engine to make or start a container, for %v so far", sayAfter) })
	d.Client = e.docker
	for i, n := range lab.Graph.Nodes {
		d.settings[n.Name] = &lab.Nodes[i]
	}
	for _, sidecar := range lab.Sidecars {
		s := sidecar.settings()
		d.settings[lab.sidecarName(sidecar)], d.sidecars[lab.sidecarName(sidecar)] = &s, lab.Graph.Nodes[sidecar.Node].Name
	}
	// With IPv6 the kernel would send router solicitations and MLD reports.
	if _, err := os.Stat("/proc/sys/net/ipv6"); err == nil {
		d.sysctls = map[string]string{"net.ipv6.conf.all.disable_ipv6": "1", "net.ipv6.conf.default.disable_ipv6": "1"}
	}
	return d
}

// Init does not open a connection of its own.
func (d *deployment) Init(options ...clab.RuntimeOption) error {
	for _, o := range options {
		o(d)
	}
	return nil
}

// WithMgmtNet does not look for a management network: there is none.
func (d *deployment) WithMgmtNet(*types.MgmtNet) {}

// requestTime bounds a request to make or start something, of an engine that answers. It is
// longer than Watch takes to give up an engine that does not.
const requestTime = 35 * time.Second

// request returns a context for a request, and an error if the deployment has ended.
// A request under way is not cancelled when the deployment ends: the engine could
// still make the container later.
func (d *deployment) request() (context.Context, context.CancelFunc, error) {
	if err := d.ctx.Err(); err != nil {
		return nil, nil, err
	}
	ctx, cancel := d.engine.bound(context.WithoutCancel(d.ctx), requestTime)
	word := time.AfterFunc(sayAfter, d.slow)
	return ctx, func() { word.Stop(); cancel() }, nil
}

// failed cancels the deployment at the first error of a node.
func (d *deployment) failed(node string, err error) error {
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = stoppedError(fmt.Sprintf("the docker engine answers, but has not made or started a container in %v: it, or its containerd, has to be started again", requestTime))
		}
		err = d.engine.explain(err)
		d.end(fmt.Errorf("node %s: %w", node, err))
	}
	return err
}

// CreateContainer makes the container of a node.
func (d *deployment) CreateContainer(_ context.Context, n *types.NodeConfig) (string, error) {
	id, err := d.create(n)
	return id, d.failed(n.ShortName, err)
}

// StartContainer starts the container of a node and opens its network namespace.
func (d *deployment) StartContainer(_ context.Context, id string, n clab.Node) (any, error) {
	s, err := d.start(id)
	if err == nil {
		d.mu.Lock()
		d.started[n.Config().ShortName] = s
		d.mu.Unlock()
		if d.sidecars[n.Config().ShortName] == "" {
			d.ready <- n.Config().ShortName // does not block: the buffer holds all nodes
		}
	}
	return nil, d.failed(n.Config().ShortName, err)
}

func (d *deployment) create(n *types.NodeConfig) (string, error) {
	ctx, cancel, err := d.request()
	if err != nil {
		return "", err
	}
	defer cancel()
	cmd, err := shlex.Split(n.Cmd)
	if err != nil {
		return "", fmt.Errorf("command %q: %w", n.Cmd, err)
	}
	env := make([]string, 0, len(n.Env))
	for name, value := range n.Env { // the order of variables means nothing
		env = append(env, name+"="+value)
	}
	s := d.settings[n.ShortName]
	pids := s.pids()
	// Not even the network "none" of the engine: it is one more thing to allocate, and in Docker 20.10
	// containers that leave a network at once may stop the engine for good (moby/moby#46661).
	config := &container.Config{Image: n.Image, Cmd: cmd, Env: env, Labels: n.Labels, Hostname: n.ShortName, NetworkDisabled: true}
	host := &container.HostConfig{
		NetworkMode: container.NetworkMode(n.NetworkMode), Privileged: n.Privileged,
		CapDrop: []string{"ALL"}, CapAdd: n.CapAdd, SecurityOpt: n.SecurityOpts,
		ReadonlyRootfs: !s.Writable, Binds: n.Binds, Sysctls: d.sysctls,
		RestartPolicy: container.RestartPolicy{Name: container.RestartPolicyDisabled},
		Resources:     container.Resources{Memory: int64(s.memory()), MemorySwap: int64(s.memory()), PidsLimit: &pids},
		LogConfig:     container.LogConfig{Type: "json-file", Config: map[string]string{"max-size": "1m"}},
	}
	if beside := d.sidecars[n.ShortName]; beside != "" {
		config.Hostname = beside
		config.Entrypoint = []string{n.Entrypoint}
		host.Tmpfs = map[string]string{"/tmp": ""} // programs may want to write somewhere
	}
	created, err := d.Client.ContainerCreate(ctx, config, host, nil, nil, n.LongName)
	return created.ID, err
}

func (d *deployment) start(id string) (*started, error) {
	ctx, cancel, err := d.request()
	if err != nil {
		return nil, err
	}
	defer cancel()
	if err := d.Client.ContainerStart(ctx, id, container.StartOptions{}); err != nil {
		return nil, err
	}
	info, err := d.Client.ContainerInspect(ctx, id)
	if err != nil {
		return nil, err
	}
	if info.State.Pid == 0 {
		return nil, d.engine.exited(ctx, id)
	}
	net, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", info.State.Pid))
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", d.engine.exited(ctx, id), err)
	}
	return &started{id, info.State.Pid, net}, nil
}

// close closes the namespaces. A namespace that is held open outlives its container.
func (d *deployment) close() {
	d.end(nil)
	for _, s := range d.started {
		s.net.Close()
	}
}

// node is containerlab's node, except that links are attached through the
// namespace that the runtime holds. Containerlab would ask the engine twice for
// each end and leave the namespace open until the next garbage collection.
type node struct {
	nodes.Node
	deployment *deployment
}

func (n *node) AddLinkToContainer(_ context.Context, link netlink.Link, setup func(ns.NetNS) error) error {
	if err := n.deployment.ctx.Err(); err != nil {
		return err
	}
	n.deployment.mu.Lock()
	s := n.deployment.started[n.GetShortName()]
	n.deployment.mu.Unlock()
	if err := netlink.LinkSetNsFd(link, int(s.net.Fd())); err != nil {
		return fmt.Errorf("move an interface to node %s: %w", n.GetShortName(), err)
	}
	return within(s.net, func() error { return setup(nil) })
}

// UpdateConfigWithRuntimeInfo does nothing: the information that it would request is
// known, or belongs to the management network.
func (n *node) UpdateConfigWithRuntimeInfo(context.Context) error { return nil }
