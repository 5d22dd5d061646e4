package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/nodes/modules"
	"github.com/csiglab/csiglab/orchestrator/cluster/image"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/programs"
)

// Push implements command.Images.
func (kubernetes) Push(ctx context.Context, r command.ImageRequest, insecure bool, progress func(done, total int64)) (*command.Image, error) {
	list, err := imagePrograms(r)
	if err != nil {
		return nil, imageError(err)
	}
	return made(image.Push(ctx, r.Reference, image.Options{Insecure: insecure, Progress: progress}, list...))
}

// Save implements command.Images.
func (kubernetes) Save(ctx context.Context, r command.ImageRequest, w io.Writer) (*command.Image, error) {
	list, err := imagePrograms(r)
	if err != nil {
		return nil, imageError(err)
	}
	return made(image.Save(ctx, r.Reference, w, list...))
}

func made(i *image.Image, err error) (*command.Image, error) {
	if err != nil {
		return nil, imageError(err)
	}
	return &command.Image{Reference: i.Reference, Digest: i.Digest, Size: i.Size}, nil
}

// imageError gives an error of an image the class of the user's mistakes, if it is one.
func imageError(err error) error {
	if errors.Is(err, image.ErrReference) || errors.Is(err, image.ErrProgram) {
		return failure.Configuration(err)
	}
	return err
}

// imagePrograms returns the programs of this csiglab and those of other files.
func imagePrograms(r command.ImageRequest) ([]image.Programs, error) {
	core, err := programs.Core()
	if err != nil {
		return nil, err
	}
	var files [3]string
	for i, name := range []string{programs.Host, programs.Switch, programs.Cluster} {
		if files[i], err = programs.Find(name); err != nil {
			return nil, err
		}
	}
	own, err := image.Of(core, files[0], files[1])
	if err != nil {
		return nil, err
	}
	own.AddSibling(files[2]) // which the pods of trials start
	own.Version, own.Build = r.Version, modules.Build()
	list := []image.Programs{own}
	for _, path := range r.Others {
		p, err := image.Of(path, "", "")
		if err != nil {
			return nil, fmt.Errorf("--program %s: %w", path, err)
		}
		list = append(list, p)
	}
	for i := range list {
		if list[i].Identity, err = trial.FileIdentity(list[i].Files[0].Path); err != nil {
			return nil, err
		}
	}
	return list, nil
}
