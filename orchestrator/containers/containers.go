// Package containers is the backend that runs a fabric with real frames in
// containers: one without privileges per node, on the Docker engine of this
// machine, and between them the lockstep clock. Package containerlab makes the
// containers and links; this one tells the nodes in them what to do, over Unix
// sockets in a folder that is mounted into each, and collects what they measured.
package containers

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/csiglab/csiglab/nodes/clock"
	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/units"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/containerlab"
	"github.com/csiglab/csiglab/orchestrator/lab"
	"github.com/csiglab/csiglab/orchestrator/watch"
	"github.com/csiglab/csiglab/topologies"
)

// Fabric is a run: what to deploy and how to run it. Control links
// are refused, real time is not driven.
type Fabric struct {
	emu.Fabric // Run is filled in by Run

	Name       string         // of the experiment
	Folder     string         // of the run, absolute; takes the topology file
	Machines   [][]byte       // gobs of the nodes' machines, as Graph.Nodes
	MaxPayload units.ByteSize // of a packet
	Binaries   containerlab.Binaries
}

// Outcome is what a run left.
type Outcome struct {
	watch.Outcome
	Drained              bool          // ended because nothing was due, not at Fabric.End
	TxPackets, RxPackets int64         // that the containers' interfaces counted
	CPU                  time.Duration // of the nodes
	Images               time.Duration // until the images were there
	Deploy               time.Duration // from then until every link was up
	Setup                time.Duration // from then until the first node went
	Wall                 time.Duration // from then until the last result
	Destroy              time.Duration
}

// ErrUnavailable is wrapped when this machine or user cannot run containers.
var ErrUnavailable = errors.New("containers are not available")

// ErrUnsupported is wrapped when a fabric cannot run in containers.
var ErrUnsupported = errors.New("not possible in containers")

// Supports returns why a fabric with so many control links cannot run in
// containers, if it cannot.
func Supports(control int) error {
	if control > 0 {
		return fmt.Errorf("workload: %w: %d pairs of hosts have flows that wait for each other's; use runtime netns", ErrUnsupported, control)
	}
	return nil
}

// Check returns what would keep any fabric from running on this machine.
func Check(ctx context.Context) error {
	engine, err := open(ctx)
	if err != nil {
		return err
	}
	return engine.Close()
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
func Run(ctx context.Context, f Fabric, progress func(clock.Time)) (out *Outcome, err error) {
	if err := Supports(len(f.Control)); err != nil {
		return nil, err
	}
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
	if f.Live.Folder != "" {
		f.Live.Folder = mounted
	}
	entry, err := lab.Register(f.entry(id))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, entry.Remove()) }()
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
		progress = func(clock.Time) {}
	}
	r := &run{fabric: &f, engine: engine, room: room, deployed: deployed, progress: progress}
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

// lab returns what to deploy.
func (f *Fabric) lab(id string, images containerlab.Images) containerlab.Lab {
	lab := Lab(f.Name, f.Graph, f.MaxPayload, images)
	lab.RunID, lab.Folder = id, f.Folder
	for i := range lab.Nodes {
		binds := []string{meeting + ":" + mounted}
		if f.Spools.Folder != "" {
			binds = append(binds, f.Spools.Folder+":"+f.Spools.Folder)
		}
		lab.Nodes[i].Binds = binds
	}
	return lab
}

// Lab returns a fabric as containers that nobody drives yet: a node waits until
// csiglab is at its socket. payload is the largest of a packet.
func Lab(name string, g *topologies.Graph, payload units.ByteSize, images containerlab.Images) containerlab.Lab {
	lab := containerlab.Lab{Name: name, Graph: g, MTU: emu.MaxFrame(payload) - wire.EthernetLen}
	for _, n := range g.Nodes {
		s := containerlab.NodeSettings{
			Image: images.Switch,
			Env:   map[string]string{emu.EnvironmentSocket: mounted + "/" + socketName, emu.EnvironmentNode: n.Name},
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
	fabric   *Fabric
	engine   *containerlab.Engine
	room     *room
	deployed *containerlab.Deployed
	progress func(clock.Time)
}

// drive tells the nodes what to do, waits for them and fills in out.
func (r *run) drive(ctx context.Context, out *Outcome) error {
	began := time.Now()
	f := r.fabric
	configs, links := f.Configs()
	shared, err := emu.NewShared(len(configs), links, f.End)
	if err != nil {
		return err
	}
	defer shared.Close()
	if err := r.settle(); err != nil {
		return err
	}
	ends := make(chan watch.Ended, len(configs))
	processes := make([]watch.Process, len(configs))
	specs := make([]emu.ProcessSpec, len(configs))
	names := make([]string, len(configs))
	for i, c := range configs {
		processes[i] = watch.Process{Name: c.Name, PID: r.deployed.Nodes[i].PID}
		specs[i] = emu.ProcessSpec{
			Config: c, Machine: f.Machines[i], Interfaces: r.deployed.Nodes[i].Interfaces,
			MaxFrame: emu.MaxFrame(f.MaxPayload), Nodes: len(configs), Links: links, End: f.End,
		}
		names[i] = c.Name
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	missing := func(node int) error {
		return &watch.NodeError{Name: names[node], Reason: "has not called; it " + r.engine.Exit(ctx, r.deployed.Nodes[node])}
	}
	if err := r.room.gather(ctx, names, missing); err != nil {
		return err
	}
	for i := range specs {
		report, err := r.room.handOver(i, &specs[i], shared.File)
		if err != nil {
			return fmt.Errorf("hand over to node %s: %w", names[i], err)
		}
		go func() { ends <- r.wait(ctx, i, report) }()
	}
	watched := watch.Run{Processes: processes, Shared: shared, Ends: ends, FrameTimeout: f.FrameTimeout, Progress: r.progress}
	got, err := watched.Wait(ctx)
	if err != nil {
		return err
	}
	out.Outcome, out.Wall, out.Setup = *got, time.Since(got.Started), got.Started.Sub(began)
	out.Drained = f.End == clock.Never || got.End < f.End
	for _, p := range processes {
		out.CPU += cpuOf(p.PID)
	}
	return r.count(out)
}

// wait reads the report of a node, which ends with the node's connection.
func (r *run) wait(ctx context.Context, node int, report *os.File) watch.Ended {
	defer report.Close()
	e := watch.Ended{Node: node}
	content, err := io.ReadAll(report)
	if err == nil {
		e.Report = watch.Decode(content)
	}
	if e.Report == nil {
		e.Reason = r.engine.Exit(ctx, r.deployed.Nodes[node])
	}
	return e
}

// writeSpec tells a node what to do; a node that dies meanwhile leaves no report,
// which tells more than the broken pipe.
func writeSpec(to *os.File, spec *emu.ProcessSpec) {
	gob.NewEncoder(to).Encode(spec) //nolint:errcheck // see above
	to.Close()
}
