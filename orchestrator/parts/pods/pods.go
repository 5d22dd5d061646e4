package pods

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/cluster"
)

// Times of pods that start.
const (
	// stillAfter is how long pods may start without any change.
	stillAfter = time.Minute
	// pullAfter is the same for pods whose image may be under way to their node.
	pullAfter = 10 * time.Minute
	// fullAfter is how long a pod may find no room.
	fullAfter = 20 * time.Second
	sayAfter  = 3 * time.Second
	lookEvery = 500 * time.Millisecond
	// fateWithin is how long the cluster may take to say that a pod has ended.
	fateWithin = 4 * time.Second
)

// pods are the pods of a run as the cluster reports them.
type pods struct {
	control backend.Control
	cancel  context.CancelFunc
	done    chan struct{} // closed when nothing is reported any more

	mu      sync.Mutex
	list    []cluster.Pod // by index; Name is empty: there is none yet
	job     cluster.JobState
	changed time.Time // when one of them changed last
	first   int       // the pod that was the first to end before the run was over; -1: none
	err     error     // of the watch
}

// watch follows the pods of a Job until stop.
func watch(ctx context.Context, in *cluster.Cluster, job string, n int, c backend.Control) *pods {
	ctx, cancel := context.WithCancel(ctx)
	p := &pods{control: c, cancel: cancel, done: make(chan struct{}), list: make([]cluster.Pod, n), changed: time.Now(), first: -1}
	for i := range p.list {
		p.list[i].Index, p.list[i].Phase = i, cluster.Waiting
	}
	go func() {
		defer close(p.done)
		err := in.Watch(ctx, job, p.setJob, p.set)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.err = err
	}()
	return p
}

func (p *pods) stop() {
	p.cancel()
	<-p.done
}

func (p *pods) setJob(s cluster.JobState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.job, p.changed = s, time.Now()
}

func (p *pods) set(one cluster.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one.Index >= 0 && one.Index < len(p.list) {
		p.list[one.Index], p.changed = one, time.Now()
		if p.first < 0 && (one.Disrupted || one.Phase == cluster.Ended || one.Phase == cluster.Gone) {
			p.first = one.Index
		}
	}
}

// running waits until all pods run, and returns them.
func (p *pods) running(ctx context.Context) ([]cluster.Pod, error) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	began, said := time.Now(), ""
	for {
		all, waiting, err := p.look(time.Since(began))
		if err != nil || waiting == "" {
			return all, err
		}
		if waiting != said && time.Since(began) > sayAfter {
			said = waiting
			p.control.SayWaiting("%s", waiting)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// look returns the pods if all of them run. Otherwise it returns what they wait for, or an
// error if there is no use in waiting.
func (p *pods) look(since time.Duration) (all []cluster.Pod, waiting string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return nil, "", p.err
	}
	still := time.Since(p.changed)
	patience := stillAfter
	var late []string
	for _, one := range p.list {
		switch {
		case one.Phase == cluster.Ended || one.Phase == cluster.Gone:
			return nil, "", fmt.Errorf("%s: %s; no shard was started", nameOf(one), ending(one))
		case one.Err != nil && (!errors.Is(one.Err, cluster.ErrUnschedulable) || since > fullAfter):
			return nil, "", fmt.Errorf("%s: %w; no shard was started", nameOf(one), one.Err)
		case one.Phase != cluster.Running || one.IP == "":
			why := one.Reason
			if one.Name == "" {
				if p.job.Err != nil && (!errors.Is(p.job.Err, cluster.ErrUnschedulable) || since > fullAfter) {
					return nil, "", fmt.Errorf("shard %d has no pod: %w; no shard was started", one.Index, p.job.Err)
				}
				late = append(late, fmt.Sprintf("the pod of shard %d", one.Index))
				continue
			}
			if one.Pulling {
				patience = pullAfter
			}
			if why == "" {
				why = "it starts"
			}
			late = append(late, fmt.Sprintf("%s: %s", nameOf(one), why))
		}
	}
	switch {
	case len(late) == 0:
		return append(all, p.list...), "", nil
	case p.job.Done:
		return nil, "", fmt.Errorf("the Job of the run has ended: %s", p.job.Failure)
	case still > patience:
		return nil, "", fmt.Errorf("%s; nothing has changed for %v, and no shard was started", strings.Join(late, "; "), patience)
	}
	return nil, strings.Join(late, "; "), nil
}

// ending says how a pod ended.
func ending(p cluster.Pod) string {
	text := p.Reason
	if text == "" {
		text = fmt.Sprintf("ended with code %d", p.Exit)
	}
	if last := strings.TrimSpace(p.Message); last != "" && !strings.Contains(text, last) {
		text += ": " + last
	}
	return text
}

// ended says how a pod has ended or why it is about to, "" if it goes on.
func (p *pods) ended(index int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.list[index]; one.Phase == cluster.Ended || one.Phase == cluster.Gone {
		return ending(one)
	} else if one.Disrupted {
		if p.first != index { // the Job gives up the others
			before := p.list[p.first]
			return fmt.Sprintf("%s; before that, %s: %s", one.Reason, nameOf(before), ending(before))
		}
		return one.Reason // such as that somebody deletes it
	}
	return ""
}

// fate waits some seconds for the end of a pod, and says how it ended; "" if it goes on.
func (p *pods) fate(ctx context.Context, index int) string {
	deadline := time.After(fateWithin)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if why := p.ended(index); why != "" {
			return why
		}
		select {
		case <-tick.C:
		case <-deadline:
			return ""
		case <-ctx.Done():
			return ""
		}
	}
}
