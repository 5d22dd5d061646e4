package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/metrics/perfetto"
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// perfettoFlags are the flags of export --perfetto.
type perfettoFlags struct {
	file    string
	variant string
	seed    uint64
	ports   int
}

func (p *perfettoFlags) flags(f *pflag.FlagSet) {
	f.StringVar(&p.file, "perfetto", "", "write one run as a trace for ui.perfetto.dev into the `FILE`; - is standard output")
	f.StringVar(&p.variant, "variant", "", "the `VARIANT` of --perfetto (default: the first one)")
	f.Uint64Var(&p.seed, "seed", 0, "the `SEED` of --perfetto (default: the variant's first one)")
	f.IntVar(&p.ports, "ports", perfetto.Ports, "how many ports have counters with --perfetto: the `N` that sent most")
	for _, name := range []string{"perfetto", "variant", "seed", "ports"} {
		f.Lookup(name).Annotations = map[string][]string{command.NoSetting: nil}
	}
}

// chosen reports whether --perfetto is given. It refuses flags that need it.
func (p *perfettoFlags) chosen(f *pflag.FlagSet) (bool, error) {
	for _, name := range []string{"variant", "seed", "ports"} {
		if p.file == "" && f.Changed(name) {
			return false, command.Usage("--%s needs --perfetto", name)
		}
	}
	if p.ports < 0 {
		return false, command.Usage("--ports %d: want 0 or more", p.ports)
	}
	return p.file != "", nil
}

// exportPerfetto writes a run of a folder as a trace. A file appears when it is complete.
func exportPerfetto(ctx context.Context, a *command.App, folder string, p *perfettoFlags) error {
	f, err := runfolder.OpenKept(folder)
	if err != nil {
		return command.FolderError(err)
	}
	o := perfetto.Options{Variant: p.variant, Seed: p.seed, Ports: p.ports}
	if p.ports == 0 {
		o.Ports = -1
	}
	var written perfetto.Written
	write := func(w io.Writer) (err error) {
		written, err = perfetto.Write(ctx, w, f, o)
		return err
	}
	if p.file == command.StdoutName {
		err = write(a.Stdout)
	} else {
		err = writeWhole(p.file, write)
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return command.Infrastructure(errors.New("interrupted"))
	case errors.Is(err, perfetto.ErrNoRun):
		return command.Usage("%s: %v", folder, err)
	case errors.Is(err, runfolder.ErrDamaged):
		return command.FolderError(err)
	case errors.Is(err, errNoFile):
		return command.Usage("--perfetto %w", err)
	default:
		return command.Infrastructure(fmt.Errorf("--perfetto %s: %w", p.file, cause.Of(err)))
	}
	text := fmt.Sprintf("variant %s, seed %d: %d slices, %d arrows from sends to receives, counters of %d of %d ports", written.Variant, written.Seed, written.Slices, written.Arrows, written.Counters/2, written.Ports)
	if written.LeftOut > 0 {
		text += fmt.Sprintf("; %d slices are left out, as too many overlap", written.LeftOut)
	}
	a.Say(text + "; https://ui.perfetto.dev opens it, and keeps it in the browser")
	return nil
}

// errNoFile is the error of a file that cannot be created.
var errNoFile = errors.New("cannot be written")

// writeWhole writes a file such that the name stands for a whole file or for the one before;
// see own.Create.
func writeWhole(name string, write func(io.Writer) error) error {
	part, err := own.Create(name, 0o644)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", name, errNoFile, cause.Of(err))
	}
	defer part.Discard()
	if err := write(part); err != nil {
		return err
	}
	return part.Commit()
}
