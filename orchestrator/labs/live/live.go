// Package live reads the metrics of a lab while it runs: it finds the sockets at which the
// processes of its nodes serve them (package metrics/exposition), and reads all of them at
// once. A node that does not answer is reported and does not hold up the others. Package
// runs finds the lab itself.
package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/csiglab/csiglab/metrics/exposition/endpoint"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// Bounds of reading.
const (
	atOnce    = 64              // processes that are read at the same time
	defaultIn = 2 * time.Second // Timeout of a Reader that has none
)

// ErrNoMetrics reports that no node of a run serves metrics: it is not in real time, or it
// does not run.
var ErrNoMetrics = errors.New("no node serves metrics; nodes do under clock wall, while the run goes on")

// Target is a process that serves the metrics of one node or of several.
type Target struct {
	Instance string // name of its first node: the value of the label instance
	Nodes    []string
	Socket   string // path
}

// Targets returns the processes of a run that serve metrics, in the order of their nodes.
// The error wraps ErrNoMetrics if there is none.
func Targets(r *runs.Run) ([]Target, error) {
	var list []Target
	for _, n := range r.Nodes {
		if n.Metrics == "" {
			continue
		}
		at := slices.IndexFunc(list, func(t Target) bool { return t.Socket == n.Metrics })
		if at < 0 {
			at = len(list)
			list = append(list, Target{Instance: n.Name, Socket: n.Metrics})
		}
		list[at].Nodes = append(list[at].Nodes, n.Name)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("run %s: %w", r.ID, ErrNoMetrics)
	}
	return list, nil
}

// Reading is what one process has answered.
type Reading struct {
	Target
	Text []byte // in Prometheus' text format; nil after an error
	At   time.Time
	Took time.Duration
	Err  error // names the node
}

// Reader reads the processes of one run, again and again. It keeps connections. Its methods may
// be called from several goroutines. Build it with NewReader, and end it with Close.
type Reader struct {
	Timeout time.Duration // for all processes together; 0: defaultIn

	targets []Target
	clients []*endpoint.Client
}

// NewReader returns a Reader of a run. The error wraps ErrNoMetrics.
func NewReader(r *runs.Run) (*Reader, error) {
	targets, err := Targets(r)
	if err != nil {
		return nil, err
	}
	reader := &Reader{targets: targets}
	for _, t := range targets {
		reader.clients = append(reader.clients, endpoint.NewClient(t.Socket))
	}
	return reader, nil
}

// Close closes the connections.
func (r *Reader) Close() {
	for _, c := range r.clients {
		c.Close()
	}
}

// Read reads all processes, in the order of Targets. It returns after Timeout, or when ctx
// ends, at the latest.
func (r *Reader) Read(ctx context.Context) []Reading {
	timeout := r.Timeout
	if timeout == 0 {
		timeout = defaultIn
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	readings := make([]Reading, len(r.targets))
	var all sync.WaitGroup
	free := make(chan struct{}, atOnce)
	for i := range readings {
		all.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			began := time.Now()
			text, err := r.clients[i].Read(ctx)
			if err != nil {
				if errors.Is(err, context.DeadlineExceeded) {
					err = fmt.Errorf("has not answered for %v", timeout)
				}
				text, err = nil, fmt.Errorf("%s: metrics: %w", r.targets[i].what(), err)
			}
			readings[i] = Reading{Target: r.targets[i], Text: text, At: began, Took: time.Since(began), Err: err}
		})
	}
	all.Wait()
	return readings
}

// mostNamed is how many nodes of a process an error names.
const mostNamed = 3

// what names the nodes of a process.
func (t *Target) what() string {
	if len(t.Nodes) == 1 {
		return "node " + t.Nodes[0]
	}
	if n := len(t.Nodes); n > mostNamed {
		return fmt.Sprintf("nodes %s and %d others", strings.Join(t.Nodes[:mostNamed], ", "), n-mostNamed)
	}
	return "nodes " + strings.Join(t.Nodes, ", ")
}

// Text reads the process that serves as an instance.
func (r *Reader) Text(ctx context.Context, instance string) ([]byte, error) {
	at := slices.IndexFunc(r.targets, func(t Target) bool { return t.Instance == instance })
	if at < 0 {
		return nil, fmt.Errorf("node %s serves no metrics of its own", instance)
	}
	return r.clients[at].Read(ctx)
}

// Targets returns the processes that are read. The list must not be changed.
func (r *Reader) Targets() []Target { return r.targets }
