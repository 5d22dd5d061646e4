package fabrics

import (
	"cmp"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab/clab"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/plan/sai"
	"github.com/csiglab/csiglab/orchestrator/programs"
	"github.com/csiglab/csiglab/topologies/draw"
	"github.com/csiglab/csiglab/topologies/htsim"
)

func topoCommand(a *command.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "topo",
		Short: "Count what a topology has, and write topologies for other tools",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return command.Usage("unknown command %q%s; see csiglab topo --help", args[0], command.DidYouMean(args[0], []string{"export", "count"}))
		},
	}
	cmd.AddCommand(topoExportCommand(a), topoCountCommand(a))
	return cmd
}

// Formats of topo export.
const (
	formatHtsim = "htsim"
	formatDot   = "dot"
	formatClab  = "clab"
	formatC9s   = "c9s"
	formatSAI   = "sai"
)

func topoExportCommand(a *command.App) *cobra.Command {
	var f fabricFlags
	var s shardFlags
	var group string
	cmd := &cobra.Command{
		Use:   "export [EXPERIMENT]",
		Short: "Write the topology of an experiment, or of a file, in the format of another tool",
		Long: "Write the topology of an experiment, or of a file, in the format of another tool.\n" +
			"--format clab --shards N writes a file for each of N machines into a folder. Links between machines are vxlan tunnels of containerlab.\n" +
			"--format c9s writes a custom resource Topology for clabernetes.\n" +
			"--format sai writes what the switches of an experiment are configured with, under its first seed, as attributes of\n" +
			"the Switch Abstraction Interface in JSON, to compare a device's configuration with.",
		Example: "  csiglab topo export three-flow --format htsim --out three-flow.topo\n" +
			"  csiglab topo export dragonfly --format dot | dot -Tpdf > dragonfly.pdf\n" +
			"  csiglab topo export dragonfly --format clab --out dragonfly.clab.yml\n" +
			"  csiglab topo export dragonfly --format clab --shards 2 --remotes 192.0.2.1,192.0.2.2 --out dragonfly\n" +
			"  csiglab topo export dragonfly --format c9s | kubectl apply -f -\n" +
			"  csiglab topo export three-flow --variant csig --format sai --out three-flow.sai.json",
		Args: command.AtMostOne("an experiment"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := command.Choice("format", f.format, formatHtsim, formatDot, formatClab, formatC9s, formatSAI); err != nil {
				return err
			}
			if err := s.check(cmd, &f); err != nil {
				return err
			}
			if cmd.Flags().Changed("api-group") && f.format != formatC9s {
				return command.Usage("--api-group goes with --format %s", formatC9s)
			}
			if err := command.Choice("api-group", group, clab.Groups()...); err != nil {
				return err
			}
			t, err := f.load(a, args)
			if err != nil {
				return err
			}
			switch f.format {
			case formatSAI:
				return exportSAI(a, &f)
			case formatDot:
				speak, err := f.speakers(t.Graph)
				if err != nil {
					return err
				}
				return f.emit(a, func(w io.Writer) error { return draw.DOT(w, t.Graph, speak) })
			case formatHtsim:
				if t.Tree == nil {
					return command.Usage("topology %s: htsim's format has fat trees and leaf-spine fabrics only", t.Graph.Name)
				}
				return f.emit(a, func(w io.Writer) error { return htsim.WriteTopology(w, *t.Tree) })
			}
			t.Graph.Name = experiment.AsName(cmp.Or(t.Graph.Name, filepath.Base(f.topology)))
			if err := a.Lacks(programs.Lab); err != nil {
				return err
			}
			e := a.Linked.Containers.Export(t.Graph, f.links.MTU-f.links.Header)
			switch {
			case s.shards > 0:
				return exportShards(a, e, t.Graph, &f, &s)
			case f.format == formatC9s:
				return f.emit(a, func(w io.Writer) error { return e.WriteClabernetes(w, group) })
			}
			return f.emit(a, e.WriteTopology)
		},
	}
	f.flags(cmd, "", "htsim (.topo), dot (Graphviz), clab (containerlab), c9s (clabernetes) or sai (switch configuration)")
	s.flags(cmd)
	cmd.Flags().StringVar(&group, "api-group", clab.Group, "API group with --format c9s; "+clab.OldGroup+" before version 0.7 of clabernetes")
	cmd.Flags().Lookup("out").Usage = "the `FILE`; - is standard output; with --shards the folder"
	return cmd
}

// exportSAI writes the configuration of the switches of an experiment.
func exportSAI(a *command.App, f *fabricFlags) error {
	if f.experiment == nil {
		return command.Usage("--format %s needs an experiment: a topology says nothing of queues, thresholds and tags", formatSAI)
	}
	seed := f.experiment.Seeds[0]
	p, err := plan.Compile(f.experiment, seed)
	if err != nil {
		return command.Misuse(err)
	}
	return f.emit(a, func(w io.Writer) error { return sai.Write(w, p, seed) })
}
