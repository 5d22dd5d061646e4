package containers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// answerTime is how long an engine may take to answer. After that, this machine is
// taken to have no engine.
const answerTime = 5 * time.Second

// ask returns the engine, or an error if there is none.
func ask(ctx context.Context) (*containerlab.Engine, error) {
	return askAt(ctx, containerlab.Address())
}

// askAt is ask of the engine at an address.
func askAt(ctx context.Context, address string) (*containerlab.Engine, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	return openAt(ctx, address) // only root runs containers here
}

// quietTime is for how long no container of a run may have started or ended before the
// run counts as dead although its owner is not known. A run in order has either nodes
// that run, or is being deployed or destroyed.
const quietTime = 2 * time.Minute

// Find implements runs.Finder: it counts the containers of the runs, and adds the runs
// that are known only to the engine. Such a run is foreign if its owner lives or, where
// that is not known, if it has nodes that run or had some until a moment ago.
func (Backend) Find(ctx context.Context, list []runs.Run) ([]runs.Run, error) {
	engine, err := ask(ctx)
	if err != nil {
		return list, nil
	}
	defer engine.Close()
	labs, err := engine.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range labs {
		i := slices.IndexFunc(list, func(r runs.Run) bool { return r.ID == l.RunID })
		if i < 0 {
			r := runs.Run{
				ID: l.RunID, Name: l.Lab, Runtime: runtimes.Containerlab, Folder: filepath.Dir(l.Topology), Started: l.Created,
			}
			if r.State, err = unlisted(ctx, engine, l); err != nil {
				return nil, err
			}
			if r.State == runs.Foreign {
				r.SetOwner(runs.ParseOwner(l.Owner))
			}
			i, list = len(list), append(list, r)
		}
		list[i].Containers = l.Containers
	}
	return list, nil
}

// unlisted returns the state of a run that is not on the list.
func unlisted(ctx context.Context, engine *containerlab.Engine, l containerlab.Summary) (runs.State, error) {
	switch runs.ParseOwner(l.Owner).Life() {
	case runs.Lives:
		return runs.Foreign, nil
	case runs.Died:
		return runs.Dead, nil
	}
	if l.Running > 0 {
		return runs.Foreign, nil
	}
	changed, err := engine.Changed(ctx, l.RunID)
	if err != nil || time.Since(changed) < quietTime {
		return runs.Foreign, err
	}
	return runs.Dead, nil
}

// Remove implements runs.Finder: it removes the containers of a run, from the engine that this
// process uses and from the one that the run was begun on, if that is another one and answers. It
// returns an error if the run is one in containers and there is no engine.
func (b Backend) Remove(ctx context.Context, of runs.Run) (removed []string, err error) {
	if of.Engine != "" && !sameEngine(of.Engine, b.Engine()) {
		if engine, err := askAt(ctx, of.Engine); err == nil {
			defer engine.Close()
			n, err := engine.Clean(ctx, of.ID)
			if n > 0 || err != nil {
				return containersOf(n, of.ID), err
			}
		}
	}
	engine, err := ask(ctx)
	if err != nil && of.Runtime == runtimes.Containerlab {
		return nil, fmt.Errorf("look for its containers: %w", err)
	}
	if err != nil {
		return nil, nil
	}
	defer engine.Close()
	n, err := engine.Clean(ctx, of.ID)
	return containersOf(n, of.ID), err
}

// containersOf says how many containers of a run were removed.
func containersOf(n int, id string) []string {
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d containers of run %s", n, id)}
}

// sameEngine reports whether two addresses are those of one engine: /var/run may be a link to /run.
func sameEngine(a, b string) bool {
	one, err1 := os.Stat(strings.TrimPrefix(a, "unix://"))
	two, err2 := os.Stat(strings.TrimPrefix(b, "unix://"))
	return a == b || err1 == nil && err2 == nil && os.SameFile(one, two)
}
