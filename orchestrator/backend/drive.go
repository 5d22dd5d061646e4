package backend

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/csiglab/csiglab/orchestrator/labs/application"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/units"
)

// Drive runs a deployed run to its end. If the Launcher's processes die with the
// thread that starts them, the caller's goroutine must be locked to its thread. A
// *emu.LinkError names the link that lost a frame, a *NodeError the node that died
// or hangs; when ctx ends, the error is its cause. Drive does not remove the
// deployment; its caller does. Of a run in parts, Drive drives one part and connects it to
// the others, which start together; a *gateway.PartError names the part that is missing, is
// gone or breaks the protocol.
func Drive(ctx context.Context, d *Deployment, r *Run, c Control) (*Outcome, error) {
	began := time.Now()
	var peers *peering
	if r.Part != nil {
		if err := r.checkPart(); err != nil {
			return nil, err
		}
		var err error
		if peers, err = startPeering(ctx, r, c, peersWithin); err != nil {
			return nil, err
		}
		defer peers.close()
	}
	net, err := buildNetwork(d, r)
	if err != nil {
		return nil, err
	}
	defer net.close()
	exposed := expose(d, r)
	defer exposed.close()
	if err := c.deployed(d, r, nil, exposed); err != nil {
		return nil, err
	}
	local, err := startLocal(d, r, c)
	if err != nil {
		return nil, err
	}
	defer local.stop()
	if err := startForeign(ctx, r, local, c); err != nil {
		return nil, err
	}
	hold, quit := c.Hold, make(chan struct{})
	if r.Part != nil { // the programs of all parts run until the last of them is done
		hold = quit
	}
	programs := newPrograms(ctx, d, r, hold, local)
	if programs != nil {
		defer programs.Stop()
	}
	nodes := &crew{run: r, deployment: d, net: net, records: c.Consumer(), exposed: exposed, peers: peers, quit: quit}
	nodes.configure()
	defer nodes.close()
	var got *Outcome
	if r.Wall != nil {
		got, err = pace(ctx, nodes, c, programs)
	} else {
		got, err = step(ctx, nodes, c)
	}
	if err != nil {
		return nil, err
	}
	got.Setup, got.Wall = nodes.started.Sub(began), time.Since(nodes.started)
	if programs != nil {
		programs.Stop()
		got.Programs = programs.Ended()
	}
	if err := net.measure(got); err != nil {
		return nil, err
	}
	if err := net.recordKernels(nodes.records); err != nil {
		return nil, err
	}
	if r.Part != nil && r.Wall != nil {
		got.Cut.Links = r.countTunnels(got)
	}
	return got, nil
}

// newPrograms returns the programs of the run, nil without any. Stop must be called
// in the end.
func newPrograms(ctx context.Context, d *Deployment, r *Run, hold <-chan struct{}, local *localPrograms) *application.Set {
	list, _ := r.programs()
	if len(list) == 0 {
		return nil
	}
	starter := d.Programs(ctx)
	if starter == nil {
		starter = local
	}
	set := application.NewSet(list, *r.Wall, r.Plan.End, starter)
	set.Hold(hold)
	return set
}

// localPrograms are the programs of a run in real time on this machine's files, and the
// commands that other processes start in the nodes' networks.
type localPrograms struct {
	*application.Local
	server *application.Server
}

// startLocal makes the namespaces for such programs, and serves the entrance of the
// run. It returns nil for a run under lockstep, which takes no programs.
func startLocal(d *Deployment, r *Run, c Control) (*localPrograms, error) {
	if r.Wall == nil {
		return nil, nil
	}
	networks, byName := map[int]*os.File{}, map[string]application.Network{}
	for i, n := range d.Nodes {
		if !r.Here(i) {
			continue
		}
		if networks[i] = n.Programs; n.Programs == nil {
			networks[i] = n.Network
		}
		byName[n.Name] = application.Network{File: networks[i], Fabric: n.Programs == nil && r.Driven(i)}
	}
	local, err := application.NewLocal(networks, r.ProgramNames(), runs.Environment(r.ID)...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	p := &localPrograms{Local: local}
	if c.Entrance != nil {
		p.server = local.Serve(c.Entrance, byName)
	}
	return p, nil
}

// stop ends the programs and commands that are left.
func (p *localPrograms) stop() {
	if p == nil {
		return
	}
	if p.server != nil {
		p.server.Close()
	}
	p.Kill()
}

// ProgramNames returns the names of the hosts with programs.
func (r *Run) ProgramNames() application.Names {
	names := application.Names{}
	for _, host := range r.Plan.ApplicationHosts() {
		names[host] = r.Plan.Graph.Nodes[host].Name
	}
	return names
}

// programs returns the programs of this part as they are started, and for each its place in
// Plan.Programs.
func (r *Run) programs() (list []application.Program, index []int) {
	for i, p := range r.Plan.Programs {
		if r.Here(p.Host) {
			list = append(list, application.Program{
				Host: p.Host, Name: r.Plan.Graph.Nodes[p.Host].Name, Args: p.Args, Start: p.Start, Background: p.Background,
				Output: r.Outputs[i],
			})
			index = append(index, i)
		}
	}
	return list, index
}

// CheckPrograms returns a *ProgramError for a program that cannot be started on this
// machine's files.
func (r *Run) CheckPrograms() error {
	list, index := r.programs()
	for i, p := range list {
		if err := p.Check(); err != nil {
			return &ProgramError{index[i], err}
		}
	}
	return nil
}

// deployed calls Deployed with the nodes of this part and their links. pids has the processes of the
// nodes that have been started; the others keep the PID of the deployment.
func (c *Control) deployed(d *Deployment, r *Run, pids map[int]int, exposed *exposures) error {
	if c.Deployed == nil {
		return nil
	}
	inMemory := make([]bool, len(r.Plan.Graph.Links))
	for id := range inMemory {
		inMemory[id] = r.inMemory(r.Plan.Links[id])
	}
	nodes, links := runs.Describe(r.Plan.Graph, d.Port, inMemory)
	for i := range nodes {
		nodes[i].Silent = slices.Contains(r.Plan.Silent, nodes[i].Name)
	}
	runs.AddPrograms(nodes, r.hostsWithInterface(), application.Interface)
	for i, n := range d.Nodes {
		if !r.Here(i) {
			continue
		}
		at := &nodes[i]
		if f := r.Plan.ForeignNode(i); f != nil {
			at.Foreign, at.Kernel = true, f.Kernel
		}
		at.PID, at.Container, at.Application, at.Network = n.PID, n.Container, n.Sidecar, n.Network.Name()
		if n.Programs != nil {
			at.Programs = n.Programs.Name()
		}
		if pid, ok := pids[i]; ok {
			at.PID = pid
		}
		if at.PID == 0 {
			at.PID = os.Getpid()
		}
	}
	exposed.describe(nodes)
	if r.Part == nil {
		return c.Deployed(nodes, links)
	}
	var nodesHere []runs.Node
	var linksHere []runs.Link
	for i, n := range nodes {
		if r.Here(i) {
			nodesHere = append(nodesHere, n)
		}
	}
	for id, l := range r.Plan.Graph.Links {
		if r.Here(l.A.Node) || r.Here(l.B.Node) {
			linksHere = append(linksHere, links[id])
		}
	}
	return c.Deployed(nodesHere, linksHere)
}

// progressEvery is how often the model time is reported.
const progressEvery = 100 * time.Millisecond

// progress returns a function that reports the model time. It may be called at any
// rate and calls Progress at most every progressEvery.
func (c *Control) progress() func(units.Time) {
	var last time.Time
	return func(now units.Time) {
		if c.Progress == nil || now == units.Never || time.Since(last) < progressEvery {
			return
		}
		last = time.Now()
		c.Progress(now, 0)
	}
}
