// Package containers is the backend that runs a fabric with real frames in
// containers: one without privileges per node, on the Docker engine of this
// machine, and between them the lockstep clock or, dilated, the wall clock.
// Package containerlab makes the containers and the links of the graph; this one
// adds the control links, tells the nodes what to do, over Unix sockets in a folder
// that is mounted into each, and collects what they measured.
package containers

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/nodes/emu/lockstep/shared"
	"github.com/csiglab/csiglab/nodes/emu/process"
	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/nodes/machine"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/application"
	"github.com/csiglab/csiglab/orchestrator/containerlab"
	"github.com/csiglab/csiglab/orchestrator/runs"
	"github.com/csiglab/csiglab/orchestrator/shape"
	"github.com/csiglab/csiglab/orchestrator/watch"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Fabric is a run: what to deploy and how to run it.
type Fabric struct {
	emu.Fabric // Run is filled in by Run; the folder of Live and Spools, if any, is Meeting

	Wall       *wall.Clock    // real time; nil: lockstep
	Name       string         // of the experiment
	Folder     string         // of the run, absolute; takes the topology file
	Machines   []machine.Spec // as Graph.Nodes
	MaxPayload units.Size     // of a packet
	Binaries   containerlab.Binaries

	// Patience, Hold and Ready are those of watch.Paced, of a run in real time; Ready
	// is told the run's id.
	Patience time.Duration
	Hold     <-chan struct{}
	Ready    func(id string)
	// Records takes the records of the nodes, batch by batch, from several goroutines.
	Records func(*metrics.Batch)

	ApplicationMTU units.Size // of the programs' interface on the hosts of Applications
	Programs       []application.Program
	// ApplicationImage is that of a container beside each of these hosts', in which
	// its programs run; "": they run on this machine's files. See Check.
	ApplicationImage string
}

// Outcome is what a run left.
type Outcome struct {
	watch.Outcome
	Shaped               []shape.Shaped // of a run in real time: its links' shapers, by node and port
	TxPackets, RxPackets int64          // that the containers' interfaces counted
	CPU                  time.Duration  // of the nodes
	Images               time.Duration  // until the images were there
	Deploy               time.Duration  // from then until every link was up
	Setup                time.Duration  // from then until the first node went
	Wall                 time.Duration  // from then until the last result
	Destroy              time.Duration
	Programs             []application.Ended // as Fabric.Programs
}

// ErrUnavailable is wrapped when this machine or user cannot run containers.
var ErrUnavailable = errors.New("containers are not available")

// Check returns what would keep any fabric from running on this machine, or one
// whose programs need an image ("" for none): the error wraps ErrUnavailable or
// containerlab.ErrNoImage.
func Check(ctx context.Context, image string) error {
	engine, err := open(ctx)
	if err != nil {
		return err
	}
	defer engine.Close()
	if image == "" {
		return nil
	}
	return engine.CheckImage(ctx, image)
}

func open(ctx context.Context) (*containerlab.Engine, error) {
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("%w: to join containers by links needs root", ErrUnavailable)
	}
	engine, err := containerlab.Open(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return engine, nil
}

// destroyTime bounds how long a lab may take to go away.
const destroyTime = 2 * time.Minute

// Run deploys a fabric, runs it to its end and destroys it. progress, which may
// be nil, is told now and then the model time that all nodes have passed. A
// *emu.LinkError names the link that lost a frame, a *watch.NodeError the node
// that died or hangs; an error of the machine wraps ErrUnavailable. However it
// ends, nothing of the lab is left but the topology file and an empty folder in
// f.Folder. When ctx ends, the error is its cause.
func Run(ctx context.Context, f Fabric, progress func(units.Time)) (out *Outcome, err error) {
	engine, err := open(ctx)
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	began := time.Now()
	images, err := engine.EnsureImages(ctx, f.Binaries)
	if err != nil {
		return nil, err
	}
	var b [10]byte
	rand.Read(b[:])
	id := hex.EncodeToString(b[:6])
	f.Run = binary.NativeEndian.Uint32(b[6:])
	if f.Live.Folder != "" { // as the nodes see it
		f.Live.Folder = mounted
	}
	if f.Spools.Folder != "" {
		f.Spools.Folder = mounted
	}
	entry, err := runs.Register(runs.Run{ID: id, Name: f.Name, Runtime: runtimeName, Folder: f.Folder, Held: f.Hold != nil}, f.Wall)
	if err != nil {
		return nil, err
	}
	defer func() {
		if errors.Is(err, containerlab.ErrLost) { // the run stays on the list
			err = fmt.Errorf("%w\nwhen the engine is back, csiglab clean %s removes what is left of the run", err, id)
			return
		}
		err = errors.Join(err, entry.Remove())
	}()
	room, err := openRoom(f.Folder)
	if err != nil {
		return nil, err
	}
	defer room.close()
	out = &Outcome{Images: time.Since(began)}

	began = time.Now()
	deployed, err := engine.Deploy(ctx, f.lab(id, images))
	if err != nil {
		return nil, ended(ctx, err)
	}
	out.Deploy = time.Since(began)
	defer func() {
		began := time.Now()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), destroyTime)
		defer cancel()
		room.hangUp()
		err = errors.Join(err, engine.Destroy(ctx, deployed))
		if out != nil {
			out.Destroy = time.Since(began)
		}
	}()
	if err := entry.Describe(f.describe(deployed)); err != nil {
		return nil, err
	}
	if progress == nil {
		progress = func(units.Time) {}
	}
	r := &run{id: id, fabric: &f, engine: engine, room: room, deployed: deployed, progress: progress}
	if err := r.drive(ctx, out); err != nil {
		return nil, ended(ctx, err)
	}
	return out, nil
}

// ended returns the cause of ctx's end, if it has ended, or err.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// wallMemory is the limit of a container in real time: its collector of garbage is
// off until emu's limit of 512 MiB.
const wallMemory = 768 * units.MiB

// lab returns what to deploy.
func (f *Fabric) lab(id string, images containerlab.Images) containerlab.Lab {
	lab := Lab(f.Name, f.Graph, f.MaxPayload, images)
	lab.RunID, lab.Folder = id, f.Folder
	for i := range lab.Nodes {
		binds := []string{meeting + ":" + mounted}
		lab.Nodes[i].Binds = binds
		if f.Wall != nil {
			lab.Nodes[i].Memory = wallMemory
		}
	}
	if f.ApplicationImage != "" {
		for _, host := range f.Applications {
			lab.Sides = append(lab.Sides, containerlab.Side{Node: host, Image: f.ApplicationImage, Init: f.Binaries.Host})
		}
	}
	return lab
}

// Lab returns a fabric as containers that nobody drives yet: a node waits until
// csiglab is at its socket. payload is the largest of a packet.
func Lab(name string, g *topologies.Graph, payload units.Size, images containerlab.Images) containerlab.Lab {
	lab := containerlab.Lab{Name: name, Graph: g, MTU: emu.MaxFrame(payload) - wire.EthernetLen}
	for _, n := range g.Nodes {
		s := containerlab.NodeSettings{
			Image: images.Switch,
			Env:   map[string]string{process.EnvironmentSocket: mounted + "/" + socketName, process.EnvironmentNode: n.Name},
		}
		if n.Kind == topologies.Host {
			s.Image = images.Host
		}
		lab.Nodes = append(lab.Nodes, s)
	}
	return lab
}

// run is a lab that has been deployed and what drives it.
type run struct {
	id       string
	fabric   *Fabric
	engine   *containerlab.Engine
	room     *room
	deployed *containerlab.Deployed
	progress func(units.Time)
	names    []string         // of the nodes
	apps     *application.Set // nil: no programs
}

// drive tells the nodes what to do, waits for them and fills in out.
func (r *run) drive(ctx context.Context, out *Outcome) error {
	began, before := time.Now(), r.cpu()
	for _, n := range r.fabric.Graph.Nodes {
		r.names = append(r.names, n.Name)
	}
	if err := r.control(); err != nil {
		return err
	}
	if err := r.attach(); err != nil {
		return err
	}
	if r.fabric.Wall != nil {
		if err := r.shape(); err != nil {
			return err
		}
	}
	if err := r.settle(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	missing := func(node int) error {
		return &watch.NodeError{Name: r.names[node], Reason: "has not called; it " + r.engine.Exit(ctx, r.deployed.Nodes[node])}
	}
	if err := r.room.gather(ctx, r.names, missing); err != nil {
		return err
	}
	clocked := r.keepStep
	if r.fabric.Wall != nil {
		clocked = r.pace
	}
	var err error
	if r.apps, err = r.programs(ctx); err != nil {
		return err
	}
	if r.apps != nil {
		defer r.apps.Stop()
	}
	got, err := clocked(ctx)
	if err != nil {
		return err
	}
	if r.apps != nil {
		r.apps.Stop()
		out.Programs = r.apps.Ended()
	}
	out.Outcome, out.Wall, out.Setup = *got, time.Since(got.Started), got.Started.Sub(began)
	out.CPU = r.cpu() - before
	if r.fabric.Wall != nil {
		if out.Shaped, err = r.shaped(); err != nil {
			return err
		}
	}
	return r.count(out)
}

// keepStep runs the nodes under the lockstep clock.
func (r *run) keepStep(ctx context.Context) (*watch.Outcome, error) {
	f := r.fabric
	configs, links := f.Configs()
	board, err := shared.New(len(configs), links, f.End)
	if err != nil {
		return nil, err
	}
	defer board.Close()
	ends, err := r.start(ctx, configs, links, board.File)
	if err != nil {
		return nil, err
	}
	watched := watch.Run{Shared: board, Ends: ends, FrameTimeout: f.FrameTimeout, Progress: r.progress}
	for i, n := range r.deployed.Nodes {
		watched.Processes = append(watched.Processes, watch.Process{Name: r.names[i], PID: n.PID})
	}
	got, err := watched.Wait(ctx)
	if err != nil {
		return nil, err
	}
	got.Drained = f.End == units.Never || got.End < f.End
	return got, nil
}

// start tells the nodes what to do, and returns what tells of their ends.
func (r *run) start(ctx context.Context, configs []emu.Config, links []lockstep.Link, memory *os.File) (<-chan watch.Ended, error) {
	f := r.fabric
	ends := make(chan watch.Ended, len(configs))
	for i, c := range configs {
		spec := process.Spec{
			Config: c, Machine: f.Machines[i], Interfaces: r.deployed.Nodes[i].Interfaces,
			MaxFrame: emu.MaxFrame(f.MaxPayload), Nodes: len(configs), Links: links, End: f.End, Wall: f.Wall,
		}
		report, err := r.room.handOver(i, &spec, memory)
		if err != nil {
			return nil, fmt.Errorf("hand over to node %s: %w", c.Name, err)
		}
		go func() { ends <- r.wait(ctx, i, report) }()
	}
	return ends, nil
}

// wait reads the report of a node, which ends with the node's connection.
func (r *run) wait(ctx context.Context, node int, report *os.File) watch.Ended {
	defer report.Close()
	e := watch.Ended{Node: node}
	e.Report, _ = process.ReadReport(report, r) // without one, the end of the container says why
	if e.Report == nil {
		e.Reason = r.engine.Exit(ctx, r.deployed.Nodes[node])
	}
	return e
}

// Consume hands on the records of a node.
func (r *run) Consume(b *metrics.Batch) { r.fabric.Records(b) }

// writeSpec tells a node what to do; a node that dies meanwhile leaves no report,
// which tells more than the broken pipe.
func writeSpec(to *os.File, spec *process.Spec) {
	gob.NewEncoder(to).Encode(spec) //nolint:errcheck // see above
	to.Close()
}
