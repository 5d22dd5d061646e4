package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/csiglab/csiglab/metrics/promserver"
	"github.com/csiglab/csiglab/orchestrator/labs/live"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// lookEach is how often the list of runs is asked whether a lab is still there.
const lookEach = 2 * time.Second

// scrapedLab is a lab on the list of runs. It is a promserver.Lab.
type scrapedLab struct {
	id   string
	list func(context.Context) ([]runs.Run, error)

	mu     sync.Mutex
	reader *live.Reader // nil of a lab that comes up
	looked time.Time
}

// Nodes implements promserver.Lab: the names under which the lab's processes serve
// metrics. The error also wraps live.ErrNoMetrics if the lab is up and has none.
func (l *scrapedLab) Nodes(ctx context.Context) ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.looked) >= lookEach {
		if err := l.look(ctx); err != nil {
			return nil, err
		}
	}
	names := []string{}
	if l.reader != nil {
		for _, t := range l.reader.Targets() {
			names = append(names, t.Instance)
		}
	}
	return names, nil
}

// look asks the list of runs for the lab.
func (l *scrapedLab) look(ctx context.Context) error {
	list, err := l.list(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(list, func(r runs.Run) bool { return r.ID == l.id })
	if at < 0 || list[at].State != runs.Held && list[at].State != runs.Running || list[at].End != nil {
		l.close()
		return promserver.ErrEnded
	}
	l.looked = time.Now()
	if l.reader != nil || len(list[at].Nodes) == 0 {
		return nil
	}
	if l.reader, err = live.NewReader(&list[at]); err != nil {
		return fmt.Errorf("%w: %w", promserver.ErrEnded, err)
	}
	return nil
}

// Text implements promserver.Lab.
func (l *scrapedLab) Text(ctx context.Context, node string) ([]byte, error) {
	l.mu.Lock()
	reader := l.reader
	l.mu.Unlock()
	if reader == nil {
		return nil, errors.New("the lab has no such node yet")
	}
	text, err := reader.Text(ctx, node)
	if err != nil {
		l.mu.Lock()
		l.looked = time.Time{} // perhaps the lab has ended
		l.mu.Unlock()
	}
	return text, err
}

// close closes the connections. l.mu is held.
func (l *scrapedLab) close() {
	if l.reader != nil {
		l.reader.Close()
		l.reader = nil
	}
}
