package containerlab

import (
	"context"
	"fmt"

	"github.com/docker/docker/api/types/image"
)

// About is what an engine says of itself.
type About struct {
	Host    string // where it listens: unix:///var/run/docker.sock
	Version string // of the engine, such as 28.2.2
	API     string // version of the protocol that is spoken with it, such as 1.50
	Folder  string // where it keeps images and containers, as the engine sees it
}

// About asks the engine what it is.
func (e *Engine) About(ctx context.Context) (About, error) {
	a := About{Host: e.docker.DaemonHost()}
	ctx, cancel := e.ask(ctx)
	defer cancel()
	info, err := e.docker.Info(ctx)
	if err != nil {
		return a, fmt.Errorf("ask the docker engine what it is: %w", e.explain(err))
	}
	a.Version, a.Folder = info.ServerVersion, info.DockerRootDir
	a.API = e.docker.ClientVersion() // as agreed with the engine
	return a, nil
}

// RemoveImage removes an image that no container uses.
func (e *Engine) RemoveImage(ctx context.Context, tag string) error {
	ctx, cancel := e.bound(ctx, e.removeTime)
	defer cancel()
	if _, err := e.docker.ImageRemove(ctx, tag, image.RemoveOptions{}); err != nil {
		return fmt.Errorf("remove image %s: %w", tag, e.explain(err))
	}
	return nil
}
