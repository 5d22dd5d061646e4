package orchestrator

import (
	"sync"

	"github.com/csiglab/csiglab/metrics"
)

// gathering takes the records of a run while it goes on: it hands the windows on to
// the run folder, adds up what the metrics need of them, and keeps the totals. It may
// be used from several goroutines.
type gathering struct {
	mu     sync.Mutex
	totals *metrics.Collector
	cc     *ccSums
	paths  *pathSums
	to     keeper // nil: the windows are not kept
}

// keeper keeps the records of a run, as a *runfolder.RunWriter does.
type keeper interface {
	metrics.Consumer
	Err() error // why it does not keep them, nil if it does
}

func newGathering(p *Plan, to keeper) *gathering {
	return &gathering{totals: metrics.NewCollector(len(p.Graph.Nodes)), cc: newCCSums(p), paths: newPathSums(p), to: to}
}

// Consume implements metrics.Consumer.
func (g *gathering) Consume(b *metrics.Batch) {
	g.mu.Lock()
	g.totals.Consume(b)
	g.cc.Consume(b)
	g.paths.Consume(b)
	g.mu.Unlock()
	if g.to != nil {
		g.to.Consume(b)
	}
}

// err returns why the records are not kept, nil if they are.
func (g *gathering) err() error {
	if g.to == nil {
		return nil
	}
	return g.to.Err()
}

// into adds what was gathered to the outcome of the run.
func (g *gathering) into(out *outcome) {
	g.mu.Lock()
	defer g.mu.Unlock()
	out.results, out.cc, out.paths, out.dropped = g.totals.Totals(), g.cc, g.paths, g.totals.Dropped()
}
