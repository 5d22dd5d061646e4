package main

import (
	"cmp"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/orchestrator/containers"
	"github.com/csiglab/csiglab/topologies/draw"
	"github.com/csiglab/csiglab/topologies/htsim"
)

func (a *app) topo() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "topo",
		Short: "Count what a topology has, and write topologies for other tools",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return usage("unknown command %q%s; see csiglab topo --help", args[0], didYouMean(args[0], []string{"export", "count"}))
		},
	}
	cmd.AddCommand(a.topoExport(), a.topoCount())
	return cmd
}

func (a *app) topoExport() *cobra.Command {
	var f fabricFlags
	cmd := &cobra.Command{
		Use:   "export [EXPERIMENT]",
		Short: "Write the topology of an experiment, or of a file, in the format of another tool",
		Example: "  csiglab topo export three-flow --format htsim --out three-flow.topo\n" +
			"  csiglab topo export dragonfly --format dot | dot -Tpdf > dragonfly.pdf\n" +
			"  csiglab topo export dragonfly --format clab --out dragonfly.clab.yml",
		Args: atMostOne("an experiment"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := choice("format", f.format, "htsim", "dot", "clab"); err != nil {
				return err
			}
			t, err := f.load(a, args)
			if err != nil {
				return err
			}
			if f.format == "dot" {
				return f.emit(a, func(w io.Writer) error { return draw.DOT(w, t.Graph) })
			}
			if f.format == "clab" {
				t.Graph.Name = asName(cmp.Or(t.Graph.Name, filepath.Base(f.topology)))
				return f.emit(a, func(w io.Writer) error { return containers.WriteTopology(w, t.Graph, f.links.MTU-f.links.Header) })
			}
			if t.Tree == nil {
				return usage("topology %s: htsim's format has fat trees and leaf-spine fabrics only", t.Graph.Name)
			}
			return f.emit(a, func(w io.Writer) error { return htsim.WriteTopology(w, *t.Tree) })
		},
	}
	f.flags(cmd, "", "htsim (.topo), dot (Graphviz) or clab (containerlab)")
	return cmd
}
