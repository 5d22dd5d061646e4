package containerlab

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/pkg/stdcopy"

	"github.com/csiglab/csiglab/internal/crash"
)

// Summary is a lab that the engine knows, whether or not it is whole.
type Summary struct {
	RunID      string
	Lab        string
	Owner      string // Lab.Owner
	Topology   string // path of the topology file, which may be gone
	Created    time.Time
	Containers int
	Running    int // of Containers
}

// List returns the labs of this engine, the oldest first.
func (e *Engine) List(ctx context.Context) ([]Summary, error) {
	containers, err := e.containers(ctx, "")
	if err != nil {
		return nil, err
	}
	labs := make(map[string]*Summary)
	for _, c := range containers {
		id, created := c.Labels[labelRun], time.Unix(c.Created, 0)
		s := labs[id]
		if s == nil {
			s = &Summary{RunID: id, Lab: c.Labels[labelLab], Owner: c.Labels[labelOwner], Topology: c.Labels["clab-topo-file"], Created: created}
			labs[id] = s
		}
		s.Containers++
		if c.State == container.StateRunning {
			s.Running++
		}
		if created.Before(s.Created) {
			s.Created = created
		}
	}
	list := make([]Summary, 0, len(labs))
	for _, s := range labs { // sorted below
		list = append(list, *s)
	}
	slices.SortFunc(list, func(a, b Summary) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.RunID, b.RunID))
	})
	return list, nil
}

// Changed returns when the last container of a lab was made, started or ended.
func (e *Engine) Changed(ctx context.Context, runID string) (last time.Time, err error) {
	list, err := e.containers(ctx, runID)
	if err != nil {
		return last, err
	}
	ctx, cancel := e.ask(ctx)
	defer cancel()
	for _, c := range list {
		info, err := e.docker.ContainerInspect(ctx, c.ID)
		if errdefs.IsNotFound(err) {
			continue
		}
		if err != nil {
			return last, fmt.Errorf("look at container %.12s: %w", c.ID, e.explain(err))
		}
		for _, text := range []string{info.Created, info.State.StartedAt, info.State.FinishedAt} {
			if at, err := time.Parse(time.RFC3339Nano, text); err == nil && at.After(last) {
				last = at
			}
		}
	}
	return last, nil
}

// Destroy removes a lab that Deploy returned: its containers and, with them, its
// links. It may be called again.
func (e *Engine) Destroy(ctx context.Context, d *Deployed) error {
	if err := e.remove(ctx, d.RunID, e.removeTime); err != nil {
		return fmt.Errorf("destroy run %s: %w", d.RunID, err)
	}
	return nil
}

// settleTime is how long after the death of a csiglab the engine may still make a
// container that the dead process had requested.
const settleTime = 500 * time.Millisecond

// Clean removes all containers that carry a run's id, also those of a csiglab that
// was killed in the middle of a deployment. It needs no file. An id that no container
// carries is not an error. It returns how many containers it found.
func (e *Engine) Clean(ctx context.Context, runID string) (found int, err error) {
	if runID == "" {
		return 0, errors.New("clean: no run id")
	}
	for quiet := false; ; quiet = true {
		left, err := e.containers(ctx, runID)
		found = max(found, len(left))
		if err == nil && len(left) == 0 && quiet {
			return found, nil
		}
		if err == nil {
			err = e.remove(ctx, runID, e.removeTime)
		}
		if err != nil {
			return found, fmt.Errorf("clean run %s: %w", runID, err)
		}
		select {
		case <-time.After(settleTime):
		case <-ctx.Done():
			return found, fmt.Errorf("clean run %s: %w", runID, ctx.Err())
		}
	}
}

// containers returns the containers of a run, or of all runs if runID is empty.
func (e *Engine) containers(ctx context.Context, runID string) ([]container.Summary, error) {
	label := labelRun
	if runID != "" {
		label += "=" + runID
	}
	ctx, cancel := e.ask(ctx)
	defer cancel()
	list, err := e.docker.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", label))})
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", e.explain(err))
	}
	return list, nil
}

// removers is how many containers are removed at a time: it is mostly waiting for
// the kernel.
const removers = 16

// remove removes the containers of a run within a time.
func (e *Engine) remove(ctx context.Context, runID string, limit time.Duration) error {
	list, err := e.containers(ctx, runID)
	if err != nil {
		return err
	}
	given := ctx
	ctx, cancel := e.bound(ctx, limit)
	defer cancel()
	word := time.AfterFunc(sayAfter, func() { e.waiting("the docker engine to remove the %d containers of run %s", len(list), runID) })
	defer word.Stop()
	var all sync.WaitGroup
	failures := make([]error, len(list))
	slots := make(chan struct{}, removers)
	for i, c := range list {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			failures[i] = e.removeContainer(ctx, c.ID)
		})
	}
	all.Wait()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && given.Err() == nil {
		left := len(slices.DeleteFunc(failures, func(err error) bool { return err == nil }))
		return stoppedError(fmt.Sprintf("the docker engine has not removed %d of %d containers in %v: it has to be started again", left, len(list), limit))
	}
	for _, err := range failures {
		if errors.Is(err, ErrLost) {
			return err // the others say the same
		}
	}
	return errors.Join(failures...)
}

func (e *Engine) removeContainer(ctx context.Context, id string) error {
	for tries := 1; ; tries++ {
		err := e.docker.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
		switch {
		case err == nil || errdefs.IsNotFound(err):
			return nil
		case errdefs.IsConflict(err): // another process is removing it: wait until it is gone
		case tries < endedTries && e.hasEnded(ctx, id): // perhaps just while the engine was about to kill it, which it reports as an error
		default:
			return fmt.Errorf("remove container %.12s: %w", id, e.explain(err))
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("remove container %.12s: %w", id, e.explain(ctx.Err()))
		}
	}
}

// endedTries is how often the engine is asked to remove a container that has ended.
const endedTries = 3

// hasEnded reports whether a container is there and does not run.
func (e *Engine) hasEnded(ctx context.Context, id string) bool {
	ctx, cancel := e.ask(ctx)
	defer cancel()
	c, err := e.docker.ContainerInspect(ctx, id)
	return err == nil && c.State != nil && !c.State.Running
}

// words returns in words what a container wrote about its end, after ": ", or nothing.
func (e *Engine) words(ctx context.Context, id string) string {
	ctx, cancel := e.ask(ctx)
	defer cancel()
	logs, err := e.docker.ContainerLogs(ctx, id, container.LogsOptions{ShowStdout: true, ShowStderr: true})
	if err != nil {
		return "" // the caller still reports the exit code
	}
	defer logs.Close()
	var text bytes.Buffer
	stdcopy.StdCopy(&text, &text, io.LimitReader(logs, crash.MaxText)) //nolint:errcheck // what has come is worth its words
	if words := crash.Words(text.String()); words != "" {
		return ": " + words
	}
	return ""
}
