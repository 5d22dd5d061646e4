package backend

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/programs"
)

// Perform gives a run with real nodes an id and runs it. While it lasts, the run is
// on the list of runs. The errors are those of Backend.Run.
func Perform(ctx context.Context, rt Runtime, r *Run, c Control) (*Outcome, error) {
	r.ID = newID()
	listed := runs.Run{ID: r.ID, Name: r.Name, Runtime: rt.Name, Folder: r.Folder, NodeFolder: rt.NodeFolder(r.Folder), Held: r.Held, DiskLimit: int64(r.DiskLimit), Clock: runtimes.Lockstep}
	if r.Wall != nil {
		listed.Clock, listed.Dilation, listed.Lateness = runtimes.Wall, r.Wall.Dilation, r.Lateness
	}
	if u, ok := rt.Backend.(EngineUser); ok {
		listed.Engine = u.Engine()
	}
	entry, err := runs.Register(listed)
	if err != nil {
		return nil, err
	}
	if r.Wall != nil {
		if c.Entrance, err = entry.Entrance(); err != nil {
			return nil, errors.Join(err, entry.Remove())
		}
		defer c.Entrance.Close()
	}
	deployed := c.Deployed
	c.Deployed = func(nodes []runs.Node, links []runs.Link) error {
		if err := entry.Describe(nodes, links); err != nil {
			return err
		}
		if deployed == nil {
			return nil
		}
		return deployed(nodes, links)
	}
	out, err := rt.Run(ctx, r, c)
	if errors.Is(err, ErrRemains) {
		return nil, fmt.Errorf("%w\nlater, csiglab clean %s removes what is left of the run", err, r.ID)
	}
	return out, errors.Join(err, entry.Remove())
}

// newID returns the id of a run: 12 hexadecimal digits.
func newID() string {
	var b [6]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// Programs are the paths of the nodes' programs.
type Programs struct {
	Host, Switch string
}

// FindPrograms returns the programs of the nodes. The error wraps ErrUnavailable.
func FindPrograms() (p Programs, err error) {
	if p.Host, err = programs.Find(programs.Host); err == nil {
		p.Switch, err = programs.Find(programs.Switch)
	}
	if err != nil {
		return Programs{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return p, nil
}
