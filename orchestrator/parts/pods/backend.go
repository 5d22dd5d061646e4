// Package pods is the backend that runs plans in the pods of a Kubernetes cluster: an
// Indexed Job with a pod for each part of the fabric, which the coordinator
// (parts.Coordinate) reaches by port-forward. Inside of each pod runs the backend of network
// namespaces.
//
//	Job ─▶ pods run ─▶ port-forward ─▶ parts.Coordinate ─▶ Remove
package pods

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/cluster"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/parts"
)

// Runtime is the pods of a cluster as a runtime.
var Runtime = backend.Runtime{Runtime: runtimes.Get(runtimes.Kubernetes), Backend: Backend{}}

// Backend runs plans in the pods of the cluster that backend.Run.Remote names.
type Backend struct{}

// part is what the Job of a run is of it (cluster.LabelPart).
const part = "shards"

// removeWithin bounds the removal of a run's Job and pods.
const removeWithin = 90 * time.Second

// Check implements backend.Backend. It asks the cluster for its version.
func (Backend) Check(ctx context.Context, r *backend.Run) error {
	if r.Remote.Image == "" {
		return failure.Configuration(errors.New("runtime kubernetes needs an image with csiglab: name it by --image; csiglab image push makes one"))
	}
	if r.Shards > 1 {
		if err := parts.CheckCut(r); err != nil {
			return err
		}
	}
	_, err := connect(ctx, r)
	return err
}

// connect connects to the cluster of a run.
func connect(ctx context.Context, r *backend.Run) (*cluster.Cluster, error) {
	c, err := cluster.Connect(ctx, r.Remote.Context, r.Remote.Namespace)
	if errors.Is(err, cluster.ErrContext) {
		err = failure.Configuration(err)
	}
	return c, err
}

// NodeFolder implements backend.Backend. Captured frames come into the folder of the run
// when it is over.
func (Backend) NodeFolder(runFolder string) string { return runFolder }

// Find implements runs.Finder. A run in a cluster has nothing on this machine besides its
// csiglab; csiglab clean --on finds what is in the cluster.
func (Backend) Find(_ context.Context, list []runs.Run) ([]runs.Run, error) { return list, nil }

// Remove implements runs.Finder.
func (Backend) Remove(context.Context, runs.Run) ([]string, error) { return nil, nil }

// Run implements backend.Backend.
func (b Backend) Run(ctx context.Context, r *backend.Run, c backend.Control) (out *backend.Outcome, err error) {
	if c.Entrance != nil {
		c.Entrance.Close() // each pod has its own
	}
	n := max(r.Shards, 1)
	of := make([]int, len(r.Plan.Graph.Nodes))
	if n > 1 {
		cut, err := parts.Cut(r.Plan, n)
		if err != nil {
			return nil, err
		}
		of = cut.Of
	}
	in, err := connect(ctx, r)
	if err != nil {
		return nil, err
	}
	key := parts.NewKey()
	name, err := in.Job(ctx, r.ID, part, jobSpec(in, r, of, n, key))
	if name == "" {
		return nil, err
	}
	uncertain := err != nil
	defer func() {
		removing, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeWithin)
		defer cancel()
		if uncertain {
			in.AwaitJob(removing, name)
		}
		if wrong := in.Remove(removing, r.ID); wrong != nil {
			err = errors.Join(err, fmt.Errorf("%w: %w; csiglab clean --on kubernetes:%s removes it", backend.ErrRemains, wrong, in.Context))
		}
	}()
	if err != nil {
		return nil, err
	}
	pods := watch(ctx, in, name, n, c)
	defer pods.stop()
	running, err := pods.running(ctx)
	if err != nil {
		return nil, err
	}
	list, err := dialAll(ctx, in, pods, running, key)
	if err != nil {
		return nil, err
	}
	if c.Note != nil {
		for i, p := range running {
			c.Note(fmt.Sprintf("shard %d, with %d nodes, ran in pod %s on %s", i, count(of, i), p.Name, p.Node))
		}
	}
	return parts.Coordinate(ctx, r, of, list, c)
}

// count returns how many nodes a part has.
func count(of []int, part int) (n int) {
	for _, p := range of {
		if p == part {
			n++
		}
	}
	return n
}

// nameOf names a shard for errors.
func nameOf(p cluster.Pod) string {
	if p.Node == "" {
		return fmt.Sprintf("shard %d (pod %s)", p.Index, p.Name)
	}
	return fmt.Sprintf("shard %d (pod %s on %s)", p.Index, p.Name, p.Node)
}

// dialAll connects to all parts.
func dialAll(ctx context.Context, in *cluster.Cluster, pods *pods, running []cluster.Pod, key parts.Key) ([]parts.Shard, error) {
	list := make([]parts.Shard, len(running))
	errs := make(chan error)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for i, p := range running {
		go func() {
			conn, err := dial(ctx, in, pods, p, key)
			list[i] = parts.Shard{
				Name: nameOf(p), Conn: conn, Address: net.JoinHostPort(p.IP, strconv.Itoa(parts.PeerPort)),
				Fate:  func(ctx context.Context) string { return pods.fate(ctx, i) },
				Place: runs.Shard{Index: i, Machine: p.Node, Pod: p.Name, Context: in.Context, Namespace: in.Namespace},
			}
			errs <- err
		}()
	}
	var first error
	for range running {
		if err := <-errs; err != nil && first == nil {
			first = err
			cancel()
		}
	}
	if first == nil {
		return list, nil
	}
	for _, s := range list {
		if s.Conn != nil {
			s.Conn.Close()
		}
	}
	return nil, first
}

// Times of a connection to a shard, which may not listen yet when its pod runs.
const (
	dialWithin = 30 * time.Second
	dialAgain  = 300 * time.Millisecond
)

// dial connects to a shard, which says hello at once.
func dial(ctx context.Context, in *cluster.Cluster, pods *pods, p cluster.Pod, key parts.Key) (net.Conn, error) {
	limited, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	for {
		conn, err := in.Dial(limited, p.Name, parts.Port)
		if err == nil {
			if conn, err = greeted(limited, conn, key); err == nil {
				return conn, nil
			}
		}
		if why := pods.ended(p.Index); why != "" {
			return nil, fmt.Errorf("%s: %s", nameOf(p), why)
		}
		select {
		case <-time.After(dialAgain):
		case <-limited.Done():
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, fmt.Errorf("%s: does not answer within %v: %w", nameOf(p), dialWithin, err)
		}
	}
}

// greeted shows the key, waits for the first byte of the answer, and returns the connection
// with it.
func greeted(ctx context.Context, conn net.Conn, key parts.Key) (net.Conn, error) {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	g := &greetedConn{Conn: conn, first: make([]byte, 1)}
	err := key.Show(conn)
	if err == nil {
		_, err = conn.Read(g.first)
	}
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return g, nil
}

// greetedConn is a connection whose first bytes have been read.
type greetedConn struct {
	net.Conn
	first []byte
}

// Read implements net.Conn.
func (g *greetedConn) Read(p []byte) (int, error) {
	if len(g.first) > 0 {
		n := copy(p, g.first)
		g.first = g.first[n:]
		return n, nil
	}
	return g.Conn.Read(p)
}
