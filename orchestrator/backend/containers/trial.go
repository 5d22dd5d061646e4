package containers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/labs/shape"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// trialTime bounds a trial.
const trialTime = time.Minute

// trialMTU is the MTU of a trial's interfaces.
const trialMTU = 9000

// Trial is what a lab of three nodes showed.
type Trial struct {
	Containers int
	Took       time.Duration // from the images to the removal
	Shaping    error         // of a link's rate, which clock wall needs; nil: it works
	Priority   bool          // threads in containers get a real-time priority
}

// Try makes a lab of two hosts and a switch as a run does, waits until its nodes have
// connected, and removes it, with the images that were not there before. It needs root,
// as runs in containers do.
func Try(ctx context.Context, engine *containerlab.Engine) (t Trial, err error) {
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	began := time.Now()
	defer func() { t.Took = time.Since(began) }()
	programs, err := backend.FindPrograms()
	if err != nil {
		return t, err
	}
	images, made, err := trialImages(ctx, engine, programs)
	defer func() {
		for _, tag := range made {
			err = errors.Join(err, engine.RemoveImage(context.WithoutCancel(ctx), tag))
		}
	}()
	if err != nil {
		return t, err
	}
	temporary, err := own.NewTemporary("", own.Scratch+"doctor-")
	if err != nil {
		return t, err
	}
	defer temporary.Remove()
	folder := temporary.Dir
	meeting, err := openRendezvous(folder)
	if err != nil {
		return t, err
	}
	defer meeting.close()

	g := &topologies.Graph{Name: "doctor", Nodes: []topologies.Node{
		{Name: "h0", Kind: topologies.Host, Pod: -1}, {Name: "h1", Kind: topologies.Host, Pod: -1, Index: 1},
		{Name: "tor0", Kind: topologies.Switch, Tier: topologies.TierToR, Pod: -1},
	}}
	for host := range 2 {
		g.Connect(host, 2, units.Gbps, units.Microsecond)
	}
	l := Lab(g.Name, g, trialMTU, images)
	l.RunID, l.Owner, l.Folder = fmt.Sprintf("doctor-%d-%d", os.Getpid(), began.UnixMicro()), runs.Self().String(), folder
	for i := range l.Nodes {
		l.Nodes[i].Binds = []string{nodeFolder + ":" + mounted}
	}
	deployed, err := engine.Deploy(ctx, l)
	if err != nil {
		return t, err
	}
	defer func() {
		meeting.disconnect()
		err = errors.Join(err, engine.Destroy(context.WithoutCancel(ctx), deployed))
	}()
	err = meeting.gather(ctx, names(g), func(node int) error {
		return fmt.Errorf("node %s has not called; it %s", g.Nodes[node].Name, engine.Exit(ctx, deployed.Nodes[node]))
	})
	if err != nil {
		return t, err
	}
	t.Containers = len(deployed.Nodes)
	t.Shaping = tryShaping(deployed.Nodes[0])
	var p priority
	t.Priority = p.raise(deployed.Nodes[0].PID, 1) == nil && !p.refused
	return t, nil
}

// trialImages returns the images of the nodes, and those of them that it has made.
func trialImages(ctx context.Context, engine *containerlab.Engine, programs backend.Programs) (images containerlab.Images, made []string, err error) {
	binaries := containerlab.Binaries{Host: programs.Host, Switch: programs.Switch}
	tags, err := containerlab.Tags(binaries)
	if err != nil {
		return images, nil, err
	}
	var lacks []string
	for _, tag := range []string{tags.Host, tags.Switch} {
		if errors.Is(engine.CheckImage(ctx, tag), containerlab.ErrNoImage) {
			lacks = append(lacks, tag)
		}
	}
	images, err = engine.EnsureImages(ctx, binaries)
	for _, tag := range lacks {
		if engine.CheckImage(ctx, tag) == nil {
			made = append(made, tag)
		}
	}
	return images, made, err
}

// tryShaping puts a shaper on an interface of a container.
func tryShaping(c containerlab.Container) error {
	network, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", c.PID))
	if err != nil {
		return err
	}
	defer network.Close()
	h, err := netlink.NewHandleAt(netns.NsHandle(network.Fd()), unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer h.Close()
	return shape.Set(h, c.Interfaces[0], shape.Limit{Rate: units.Gbps, Dilation: 1, Frame: trialMTU, Packet: trialMTU})
}
