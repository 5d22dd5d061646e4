package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/csiglab/csiglab/metrics/perfetto"
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// perfettoFlags are the flags of export --perfetto.
type perfettoFlags struct {
	file    string
	ports   int
	variant string
	seed    uint64
}

// chosen reports whether --perfetto is given, and refuses flags that need it.
func (p *perfettoFlags) chosen(f *pflag.FlagSet) (bool, error) {
	if p.file == "" && f.Changed("ports") {
		return false, usage("--ports needs --perfetto")
	}
	if p.file != "" && p.ports < 0 {
		return false, usage("--ports %d: want a number of ports, 0 or more", p.ports)
	}
	return p.file != "", nil
}

// exportPerfetto writes a run's folder as a trace for ui.perfetto.dev.
func (a *app) exportPerfetto(ctx context.Context, folder string, p *perfettoFlags) error {
	f, err := runfolder.OpenKept(folder)
	if err != nil {
		return folderError(err)
	}
	o := perfetto.Options{Variant: p.variant, Seed: p.seed, Ports: p.ports}
	if o.Ports == 0 {
		o.Ports = -1
	}
	to := a.output(p.file)
	written, err := perfetto.Write(ctx, to, f, o)
	switch {
	case errors.Is(err, perfetto.ErrNoRun):
		to.discard()
		return usage("%s: %v", folder, err)
	case ctx.Err() != nil:
		to.discard()
		return infrastructure(errors.New("interrupted"))
	case errors.Is(err, runfolder.ErrDamaged):
		to.discard()
		return folderError(err)
	}
	if err := to.end(err); err != nil {
		return infrastructure(err)
	}
	text := fmt.Sprintf("variant %s, seed %d: %d slices, %d arrows from sends to receives, counters of %d of %d ports", written.Variant, written.Seed, written.Slices, written.Arrows, written.Counters/2, written.Ports)
	if written.LeftOut > 0 {
		text += fmt.Sprintf("; %d slices are left out, as too many overlap", written.LeftOut)
	}
	a.say(text + "; open it at https://ui.perfetto.dev, which keeps it in the browser")
	return nil
}
