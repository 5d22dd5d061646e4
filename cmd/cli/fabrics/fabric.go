package fabrics

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/choose"
	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
)

// fabricFlags choose a topology, the format that it is written in and the file.
type fabricFlags struct {
	topology, variant, format, out string
	set                            []string
	links                          experiment.Links       // of the experiment; set by load
	experiment                     *experiment.Experiment // nil without one; set by load
	anySize                        bool                   // accept a fabric that is too large to run
}

func (f *fabricFlags) flags(cmd *cobra.Command, format, formats string) {
	f.selection(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", format, formats)
	flags.StringVar(&f.out, "out", command.StdoutName, "the `FILE`; - is standard output")
	flags.Lookup("out").Annotations = map[string][]string{command.NoSetting: nil}
}

// selection adds the flags that choose a topology.
func (f *fabricFlags) selection(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.topology, "topology", "", "htsim topology `FILE` (.topo), instead of an experiment")
	flags.Var(&choose.Once{Value: &f.variant}, "variant", "variant of the experiment (default: the first)")
	flags.StringArrayVar(&f.set, "set", nil, "override a value of the experiment, as `PATH=VALUE` (repeatable)")
}

// load builds the chosen topology. Its graph has a name. The error has exit code
// 2.
func (f *fabricFlags) load(a *command.App, args []string) (experiment.Built, error) {
	chosen, name, err := f.choose(a, args)
	if err != nil {
		return experiment.Built{}, err
	}
	t, err := chosen.Build()
	if err != nil {
		return t, command.Misuse(err)
	}
	a.Notes(t.Notes)
	if t.Graph.Name == "" {
		t.Graph.Name = name
	}
	return t, nil
}

func (f *fabricFlags) choose(a *command.App, args []string) (t experiment.Topology, name string, err error) {
	switch {
	case f.topology != "" && len(args) > 0:
		return t, "", command.Usage("experiment %q and --topology exclude each other", args[0])
	case f.topology != "" && (f.variant != "" || len(f.set) > 0):
		return t, "", command.Usage("--variant and --set change an experiment; here there is only --topology %s", f.topology)
	case f.topology != "":
		f.links = experiment.DefaultLinks()
		return experiment.Topology{Spec: experiment.TopologyFile(f.topology)}, "", nil
	case len(args) == 0:
		return t, "", command.Usage("name an experiment, or give --topology; embedded: %s", strings.Join(experiment.Names(), " "))
	case strings.EqualFold(filepath.Ext(args[0]), ".topo"):
		return t, "", command.Usage("%s: not an experiment; draw a topology with --topology %s", args[0], args[0])
	}
	opts := experiment.Options{Env: a.Env, Reserved: command.Reserved(), Tables: experiment.StandardTables(), AnySize: f.anySize}
	if opts.Override, err = choose.Overrides(f.set); err != nil {
		return t, "", err
	}
	set, err := experiment.Load(args[0], opts)
	if err != nil {
		return t, "", command.Misuse(err)
	}
	choose.SayImplied(a, set, args)
	i, err := choose.Variant(set, f.variant)
	if err != nil {
		return t, "", err
	}
	chosen := set.Variants[i].Experiment
	f.links, f.experiment = chosen.Links, chosen
	return chosen.Topology, set.Base.Name, nil
}

// speakers returns which switches of the chosen fabric speak CSIG, by node; nil where all do, or
// nobody could: without tags.
func (f *fabricFlags) speakers(g *topologies.Graph) ([]bool, error) {
	if f.experiment == nil || f.experiment.CSIG.Format == csig.FormatNone {
		return nil, nil
	}
	speak, err := plan.Speakers(&f.experiment.CSIG.Speakers, g)
	if err != nil {
		return nil, command.Misuse(err)
	}
	return speak, nil
}

// emit writes the output of write as a whole, or nothing if write fails. A topology
// that the format cannot express is a mistake of the user.
func (f *fabricFlags) emit(a *command.App, write func(io.Writer) error) error {
	var text bytes.Buffer
	if err := write(&text); errors.Is(err, failure.ErrInfrastructure) {
		return command.Infrastructure(err)
	} else if err != nil {
		return command.Misuse(err)
	}
	return a.Write(f.out, text.Bytes())
}
