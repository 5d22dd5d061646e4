package containers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/csiglab/csiglab/orchestrator/containerlab"
)

// Info is a run that is under way, or that left something behind.
type Info struct {
	ID         string
	Name       string // of the experiment; empty if it has no container
	Folder     string // of the run; empty if it has no container
	Started    time.Time
	Containers int
	Running    bool // the csiglab that runs it is alive
}

// List returns the runs in containers: those under way, and those whose csiglab
// was killed. Without an engine only their marks tell.
func List(ctx context.Context) ([]Info, error) {
	list, engine, err := find(ctx)
	if engine != nil {
		err = errors.Join(err, engine.Close())
	}
	return list, err
}

// answerTime is how long an engine may take to answer before there is none.
const answerTime = 5 * time.Second

// find is List, and returns the engine, nil if there is none.
func find(ctx context.Context) ([]Info, *containerlab.Engine, error) {
	if os.Geteuid() != 0 {
		return nil, nil, nil // who runs containers here is root
	}
	folders, err := filepath.Glob(filepath.Join(rooms, prefix+"*"))
	if err != nil {
		return nil, nil, err
	}
	answer, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	engine, err := containerlab.Open(answer)
	var labs []containerlab.Summary
	if err == nil {
		if labs, err = engine.List(ctx); err != nil {
			return nil, engine, err
		}
	}
	var list []Info
	for _, l := range labs {
		list = append(list, Info{
			ID: l.RunID, Name: l.Lab, Folder: filepath.Dir(l.Topology), Started: l.Created, Containers: l.Containers,
			Running: locked(folderOf(l.RunID)),
		})
	}
	for _, folder := range folders {
		id := strings.TrimPrefix(filepath.Base(folder), prefix)
		if slices.ContainsFunc(list, func(i Info) bool { return i.ID == id }) {
			continue
		}
		if info, err := os.Stat(folder); err == nil { // the run has not ended meanwhile
			list = append(list, Info{ID: id, Started: info.ModTime(), Running: locked(folder)})
		}
	}
	return list, engine, nil
}

func folderOf(id string) string { return filepath.Join(rooms, prefix+id) }

// Clean removes what the run id left behind, or, with an empty id, what all runs
// left whose csiglab is gone; all includes runs that are under way, which fail.
// It finds containers by their label, needs no file and may be repeated. It
// returns what it removed, in words. A run that is under way and not asked for by
// all is an error.
func Clean(ctx context.Context, id string, all bool) (removed []string, err error) {
	runs, engine, err := find(ctx)
	if engine != nil {
		defer engine.Close()
	}
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		switch {
		case id != "" && r.ID != id:
			continue
		case r.Running && !all && id != "":
			return removed, fmt.Errorf("run %s is under way; end it first, or clean --all", id)
		case r.Running && !all:
			continue
		}
		if engine != nil {
			if err := engine.Clean(ctx, r.ID); err != nil {
				return removed, err
			}
		}
		if err := os.RemoveAll(folderOf(r.ID)); err != nil {
			return removed, fmt.Errorf("clean run %s: %w", r.ID, err)
		}
		what := "mark of run " + r.ID
		if r.Containers > 0 {
			what = fmt.Sprintf("%d containers of run %s", r.Containers, r.ID)
		}
		removed = append(removed, what)
	}
	return removed, nil
}
