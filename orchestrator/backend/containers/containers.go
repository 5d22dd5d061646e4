// Package containers is the backend that runs plans with real frames in
// containers: each node has an unprivileged container on the Docker engine of this
// machine. Package containerlab makes the containers and the links of the graph.
// This package sends each node its specification, over a Unix socket in a folder
// that is mounted into every container; backend.Drive does the rest.
package containers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/nodes/emu/process"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Runtime is containers as a runtime.
var Runtime = backend.Runtime{Runtime: runtimes.Get(runtimes.Containerlab), Backend: Backend{}}

// Backend runs plans in containers. The zero value is ready to use.
type Backend struct{}

// Check implements backend.Backend: there must be an engine, the nodes' programs,
// and the image of the run's programs, if it names one.
func (Backend) Check(ctx context.Context, r *backend.Run) error {
	engine, err := open(ctx)
	if err != nil {
		return err
	}
	defer engine.Close()
	if image := r.Plan.ApplicationImage; image == "" {
		err = r.CheckPrograms()
	} else if err = engine.CheckImage(ctx, image); errors.Is(err, containerlab.ErrNoImage) {
		err = &imageError{err}
	}
	if err != nil {
		return err
	}
	for i := range r.Plan.Foreign {
		f := &r.Plan.Foreign[i]
		if err := engine.CheckImage(ctx, f.Image); errors.Is(err, containerlab.ErrNoImage) {
			return failure.At(fmt.Sprintf("nodes[%d].image", f.Item), err)
		} else if err != nil {
			return err
		}
	}
	_, err = backend.FindPrograms()
	return err
}

// imageError is the error of an image of programs.
type imageError struct{ error }

func (e *imageError) Is(target error) bool { return target == backend.ErrImage }
func (e *imageError) Unwrap() error        { return e.error }

func open(ctx context.Context) (*containerlab.Engine, error) {
	return openAt(ctx, containerlab.Address())
}

func openAt(ctx context.Context, address string) (*containerlab.Engine, error) {
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("%w: to join containers by links needs root", backend.ErrUnavailable)
	}
	engine, err := containerlab.OpenAt(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	return engine, nil
}

// Engine implements backend.EngineUser.
func (Backend) Engine() string { return containerlab.Address() }

// CheckFolder implements backend.FolderChecker. A container gets its folder by a text in
// which a colon separates the two paths.
func (Backend) CheckFolder(folder string) error {
	if strings.Contains(folder, ":") {
		return errors.New("a path with a colon cannot be mounted into containers")
	}
	return nil
}

// NodeFolder implements backend.Backend. It is the only folder of a run that its nodes
// see.
func (Backend) NodeFolder(runFolder string) string { return filepath.Join(runFolder, nodeFolder) }

// destroyTime bounds how long containers may take to go away.
const destroyTime = 2 * time.Minute

// Run implements backend.Backend. However it ends, it removes the containers. The
// topology file and the folder that it names stay in the run's folder: empty, or with the
// hosts file of programs.
func (Backend) Run(ctx context.Context, r *backend.Run, c backend.Control) (out *backend.Outcome, err error) {
	engine, err := open(ctx)
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	defer func() {
		if errors.Is(err, containerlab.ErrLost) {
			err = fmt.Errorf("%w: %w", err, backend.ErrRemains)
		}
	}()
	programs, err := backend.FindPrograms()
	if err != nil {
		return nil, err
	}
	// The nodes do not need the engine. It is watched before the run and after.
	before := sync.OnceFunc(engine.Watch(c.Waiting))
	defer before()
	images, err := engine.EnsureImages(ctx, containerlab.Binaries{Host: programs.Host, Switch: programs.Switch})
	if err != nil {
		return nil, err
	}
	rendezvous, err := openRendezvous(r.Folder)
	if err != nil {
		return nil, err
	}
	defer rendezvous.close()
	if r.Plan.ApplicationImage != "" {
		if err := rendezvous.writeHosts(r.ProgramNames()); err != nil {
			return nil, err
		}
	}
	var times times
	began := time.Now()
	deployed, err := engine.Deploy(ctx, lab(r, programs, images))
	if err != nil {
		return nil, cause(ctx, err)
	}
	times.deploy = time.Since(began)
	defer func() {
		began := time.Now()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), destroyTime)
		defer cancel()
		before()
		defer engine.Watch(c.Waiting)()
		rendezvous.disconnect()
		err = errors.Join(err, engine.Destroy(ctx, deployed))
		times.destroy = time.Since(began)
		if err == nil && c.Note != nil {
			c.Note(times.text(len(deployed.Nodes), out.Setup))
		}
	}()
	l := &launcher{run: r, engine: engine, deployed: deployed, rendezvous: rendezvous}
	d, err := l.deployment()
	defer closeNetworks(d)
	if err == nil {
		err = rendezvous.gather(ctx, callers(r), l.missing(ctx))
	}
	if err != nil {
		return nil, cause(ctx, err)
	}
	before()
	used := l.cpu()
	if out, err = backend.Drive(ctx, d, r, c); err != nil {
		return nil, cause(ctx, err)
	}
	out.CPU = l.cpu() - used
	return out, nil
}

// times are the durations of the phases of a deployment.
type times struct{ deploy, destroy time.Duration }

func (t times) text(containers int, setup time.Duration) string {
	return fmt.Sprintf("%d containers: deployed in %.2f s, ready in %.2f s, destroyed in %.2f s",
		containers, t.deploy.Seconds(), setup.Seconds(), t.destroy.Seconds())
}

// cause returns the cause of ctx's end, if it has ended, or err. That the engine is lost
// matters to an interrupted run too: its containers are left.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, containerlab.ErrLost) {
		return context.Cause(ctx)
	}
	return err
}

func names(g *topologies.Graph) []string {
	list := make([]string, len(g.Nodes))
	for i, n := range g.Nodes {
		list[i] = n.Name
	}
	return list
}

// callers returns the names of the nodes that call; "" for those that are none of csiglab's.
func callers(r *backend.Run) []string {
	list := names(r.Plan.Graph)
	for i := range r.Plan.Foreign {
		list[r.Plan.Foreign[i].Node] = ""
	}
	return list
}

// wallMemory is the memory limit of a container in real time: its garbage collector
// is off up to emu's limit of 512 MiB.
const wallMemory = 768 * units.MiB

// Limits of the container of a foreign node.
const (
	foreignMemory = 2048 * units.MiB
	foreignPIDs   = 4096
)

// lab returns the lab to deploy for a run.
func lab(r *backend.Run, programs backend.Programs, images containerlab.Images) containerlab.Lab {
	l := Lab(r.Name, r.Plan.Graph, r.MTU(), images)
	l.RunID, l.Owner, l.Folder = r.ID, runs.Self().String(), r.Folder
	for i := range l.Nodes {
		if f := r.Plan.ForeignNode(i); f != nil {
			l.Nodes[i] = containerlab.NodeSettings{Image: f.Image, Cmd: f.Command, Memory: foreignMemory, PIDs: foreignPIDs, Writable: true}
			continue
		}
		l.Nodes[i].Binds = []string{nodeFolder + ":" + mounted}
		if r.Wall != nil {
			l.Nodes[i].Memory = wallMemory
		}
	}
	if r.Plan.ApplicationImage != "" {
		for _, host := range r.Plan.ApplicationHosts() {
			l.Sidecars = append(l.Sidecars, containerlab.Sidecar{Node: host, Image: r.Plan.ApplicationImage, Init: programs.Host, Hosts: filepath.Join(nodeFolder, hostsName)})
		}
	}
	return l
}

// Lab returns a fabric as containers that are not driven: a node waits until csiglab
// listens at its socket. mtu is the MTU of every interface.
func Lab(name string, g *topologies.Graph, mtu int, images containerlab.Images) containerlab.Lab {
	l := containerlab.Lab{Name: name, Graph: g, MTU: mtu}
	for _, n := range g.Nodes {
		s := containerlab.NodeSettings{
			Image: images.Switch,
			Env:   map[string]string{process.EnvironmentSocket: mounted + "/" + socketName, process.EnvironmentNode: n.Name},
		}
		if n.Kind == topologies.Host {
			s.Image = images.Host
		}
		l.Nodes = append(l.Nodes, s)
	}
	return l
}

// cpuOf returns the processor time of a process, 0 when it is gone. The clock's
// number is that of clock_getcpuclockid(3).
func cpuOf(pid int) time.Duration {
	const ofProcess = 2
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|ofProcess), &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
