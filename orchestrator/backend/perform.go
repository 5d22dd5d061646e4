package backend

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/csiglab/csiglab/nodes/modules"
	"github.com/csiglab/csiglab/orchestrator/runs"
	"github.com/csiglab/csiglab/orchestrator/runtimes"
)

// Perform gives a run with real nodes an id and runs it. While it lasts, the run is
// on the list of runs. The errors are those of Backend.Run.
func Perform(ctx context.Context, rt Runtime, r *Run, c Control) (*Outcome, error) {
	r.ID = newID()
	listed := runs.Run{ID: r.ID, Name: r.Name, Runtime: rt.Name, Folder: r.Folder, NodeFolder: rt.NodeFolder(r.Folder), Held: r.Held, Clock: runtimes.Lockstep}
	if r.Wall != nil {
		listed.Clock, listed.Dilation = runtimes.Wall, r.Wall.Dilation
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

// FindPrograms returns the programs that are installed beside this one or on PATH. Those of
// a csiglab with modules are of the same build: they are in a folder beside it, or in the
// cache of builds. The error wraps ErrUnavailable.
func FindPrograms() (p Programs, err error) {
	if p.Host, err = FindProgram("csig-host"); err != nil {
		return p, err
	}
	p.Switch, err = FindProgram("csig-switch")
	return p, err
}

// FindProgram returns one of FindPrograms.
func FindProgram(name string) (string, error) {
	self, err := os.Executable()
	if modules.Build() != "" {
		return findBuilt(self, name)
	}
	if err == nil {
		beside := self[:strings.LastIndexByte(self, '/')+1] + name
		if info, err := os.Stat(beside); err == nil && info.Mode()&0o111 != 0 && !info.IsDir() {
			return beside, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%w: program %s is neither beside %s nor on PATH; make build puts it there", ErrUnavailable, name, self)
	}
	return path, nil
}

// findBuilt returns a program of the same build as this csiglab with modules.
func findBuilt(self, name string) (string, error) {
	places := []string{self + modules.ProgramsSuffix}
	if cache, err := modules.BuildsFolder(os.UserCacheDir); err == nil {
		places = append(places, cache+"/"+modules.Build())
	}
	for _, folder := range places {
		path := folder + "/" + name
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: program %s of this csiglab is not in %s; csiglab build puts it there", ErrUnavailable, name, strings.Join(places, " or "))
}
