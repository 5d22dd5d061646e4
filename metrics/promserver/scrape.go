package promserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/storage"
)

// ErrEnded is what Lab.Nodes returns when the lab is no longer there.
var ErrEnded = errors.New("the lab has ended")

// Lab is a run that goes on. Its methods are called from several goroutines.
type Lab interface {
	// Nodes returns the names of the nodes that can be scraped, none of a lab that comes up.
	// The error wraps ErrEnded when the lab is no longer there.
	Nodes(ctx context.Context) ([]string, error)
	// Text returns what a node exposes, in Prometheus' text format.
	Text(ctx context.Context, node string) ([]byte, error)
}

// Limits of scraping.
const (
	scrapeTimeout  = 5 * time.Second
	scrapesAtATime = 16     // of the nodes of a lab
	mostSeries     = 50_000 // of one node; a text with more is refused
)

// contentType is that of a node's text.
const contentType = "text/plain; version=0.0.4; charset=utf-8"

// watched is a lab that is being scraped. Its nodes belong to the goroutine of watch.
type watched struct {
	id    string
	lab   Lab
	nodes map[string]*nodeState
	known []string // sorted; guarded by Server.mu
}

// nodeState is what a server knows of a node.
type nodeState struct {
	name   string
	target *scrape.Target
	series map[string]*scraped // by their text in the exposition
	up     scraped
	round  int
	failed int // scrapes in a row
}

// scraped is a series of a node.
type scraped struct {
	ref    storage.SeriesRef
	labels labels.Labels
	round  int // in which it was seen last
}

// Scrape scrapes a lab from now on, once per interval, until it ends or the server is
// closed. id is the value of the label run of what the server adds. A lab that is scraped
// already is not scraped twice.
func (s *Server) Scrape(id string, lab Lab) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.labs[id] != nil || s.ctx.Err() != nil {
		return
	}
	w := &watched{id: id, lab: lab, nodes: map[string]*nodeState{}}
	s.labs[id], s.names[id] = w, true
	s.tasks.Go(func() { s.watch(w) })
}

// Labs returns the ids of the labs that are being scraped, sorted.
func (s *Server) Labs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := []string{}
	for id := range s.labs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// watch scrapes a lab until it ends.
func (s *Server) watch(w *watched) {
	tick := time.NewTicker(s.config.Interval)
	defer tick.Stop()
	for {
		if err := s.scrapeAll(w); err != nil {
			s.forget(w)
			if s.ctx.Err() == nil {
				s.config.Say(fmt.Sprintf("lab %s: %v", w.id, err))
			}
			return
		}
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			return
		}
	}
}

// scrapeAll scrapes the nodes of a lab once. The error says that the lab has ended.
func (s *Server) scrapeAll(w *watched) error {
	now := time.Now()
	names, err := w.lab.Nodes(s.ctx)
	if errors.Is(err, ErrEnded) {
		return err
	}
	if err != nil {
		names = nil // those that were known fail below
		for name := range w.nodes {
			names = append(names, name)
		}
	}
	for name, n := range w.nodes {
		if !slices.Contains(names, name) {
			s.stale(w, n, now)
		}
	}
	var group sync.WaitGroup
	slots := make(chan struct{}, scrapesAtATime)
	for _, name := range names {
		n := w.nodes[name]
		if n == nil {
			set := labels.FromStrings("run", w.id, "instance", name, "job", "csiglab")
			b := labels.NewBuilder(set)
			b.Set(model.MetricNameLabel, "up")
			n = &nodeState{
				name: name, series: map[string]*scraped{}, up: scraped{labels: b.Labels()},
				target: newTarget(poolOfLabs, "unix", name, "/metrics", set),
			}
			w.nodes[name] = n
			s.targets.put(poolOfLabs, w.id+"\x00"+name, n.target)
		}
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			s.scrape(w, n, now)
		})
	}
	group.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	w.known = slices.Sorted(slices.Values(names))
	return nil
}

// scrape scrapes a node.
func (s *Server) scrape(w *watched, n *nodeState, now time.Time) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(s.ctx, scrapeTimeout)
	defer cancel()
	text, err := w.lab.Text(ctx, n.name)
	if err == nil {
		err = s.append(n, text, now)
	}
	n.target.Report(now, time.Since(began), err)
	up := 0.0
	if err != nil {
		if s.ctx.Err() != nil {
			return
		}
		if n.failed++; n.failed == 2 { // the first may be of a lab that is ending
			s.config.Say(fmt.Sprintf("lab %s: node %s: %v", w.id, n.name, err))
		}
		err = s.append(n, nil, now)
	} else {
		n.failed, up = 0, 1
	}
	if err == nil {
		err = s.put(&n.up, now, up)
	}
	if err != nil {
		n.target.Report(now, time.Since(began), err)
	}
}

// append appends the samples of a node's text. The series that the text lacks get a marker
// that says that they have ended. If the error is not nil, nothing has been appended.
func (s *Server) append(n *nodeState, text []byte, now time.Time) (err error) {
	a := s.storage.scraped.Appender(s.ctx)
	defer func() {
		if err != nil {
			a.Rollback() //nolint:errcheck // the first error is the cause
		}
	}()
	n.round++
	p, err := textparse.New(text, contentType, nil, textparse.ParserOptions{})
	if err != nil {
		return err
	}
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("its text is damaged: %w", err)
		}
		if entry != textparse.EntrySeries {
			continue
		}
		key, _, v := p.Series()
		one := n.series[string(key)]
		if one == nil {
			if len(n.series) >= mostSeries {
				return fmt.Errorf("it exposes more than %d series", mostSeries)
			}
			one = &scraped{labels: n.labelsOf(p)}
			n.series[string(key)] = one
		}
		one.round = n.round
		if err := one.append(a, now, v); err != nil {
			return err
		}
	}
	for key, one := range n.series {
		if one.round == n.round {
			continue
		}
		delete(n.series, key)
		if err := one.append(a, now, math.Float64frombits(value.StaleNaN)); err != nil {
			return err
		}
	}
	return a.Commit()
}

// labelsOf returns the labels of the parser's series, with the node's name.
func (n *nodeState) labelsOf(p textparse.Parser) labels.Labels {
	var set labels.Labels
	p.Labels(&set)
	b := labels.NewBuilder(set)
	if set.Get("instance") == "" {
		b.Set("instance", n.name)
	}
	return b.Labels()
}

// append appends a sample. One of a moment that the series has already is left out.
func (one *scraped) append(a storage.Appender, now time.Time, v float64) error {
	ref, err := a.Append(one.ref, one.labels, now.UnixMilli(), v)
	switch {
	case errors.Is(err, storage.ErrDuplicateSampleForTimestamp) || errors.Is(err, storage.ErrOutOfOrderSample):
		return nil
	case err != nil:
		return err
	}
	one.ref = ref
	return nil
}

// put appends a sample of a series that the server makes itself.
func (s *Server) put(one *scraped, now time.Time, v float64) error {
	a := s.storage.scraped.Appender(s.ctx)
	if err := one.append(a, now, v); err != nil {
		a.Rollback() //nolint:errcheck // the first error is the cause
		return err
	}
	return a.Commit()
}

// stale ends all series of a node that is no longer there.
func (s *Server) stale(w *watched, n *nodeState, now time.Time) {
	err := s.append(n, nil, now)
	if err == nil {
		err = s.put(&n.up, now, math.Float64frombits(value.StaleNaN))
	}
	if err != nil && s.ctx.Err() == nil {
		s.config.Say(fmt.Sprintf("lab %s: node %s: %v", w.id, n.name, err))
	}
	delete(w.nodes, n.name)
	s.targets.remove(poolOfLabs, w.id+"\x00"+n.name)
}

// forget ends all series of a lab that has ended.
func (s *Server) forget(w *watched) {
	now := time.Now()
	for _, n := range w.nodes {
		s.stale(w, n, now)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.labs, w.id)
}
