package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/orchestrator/containers"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/topologies/draw"
	"github.com/csiglab/csiglab/topologies/htsim"
)

// fabricFlags choose a topology, the format that it is written in and the file.
type fabricFlags struct {
	topology, variant, format, out string
	set                            []string
	links                          experiment.Links // of the experiment, once it is chosen
}

func (f *fabricFlags) flags(cmd *cobra.Command, format, formats string) {
	flags := cmd.Flags()
	flags.StringVar(&f.topology, "topology", "", "htsim topology `FILE` (.topo), instead of an experiment")
	flags.StringVar(&f.variant, "variant", "", "variant of the experiment (default: the first)")
	flags.StringArrayVar(&f.set, "set", nil, "override a value of the experiment, as `PATH=VALUE` (again and again)")
	flags.StringVar(&f.format, "format", format, formats)
	flags.StringVar(&f.out, "out", stdoutName, "the `FILE`; - is standard output")
	flags.Lookup("out").Annotations = map[string][]string{noSetting: nil}
}

// load builds the chosen topology. Its graph has a name. The error has exit code
// 2.
func (f *fabricFlags) load(a *app, args []string) (experiment.Built, error) {
	chosen, name, err := f.choose(a, args)
	if err != nil {
		return experiment.Built{}, err
	}
	t, err := chosen.Build()
	if err != nil {
		return t, &exitError{exitUsage, err}
	}
	a.notes(t.Notes)
	if t.Graph.Name == "" {
		t.Graph.Name = name
	}
	return t, nil
}

func (f *fabricFlags) choose(a *app, args []string) (t experiment.Topology, name string, err error) {
	switch {
	case f.topology != "" && len(args) > 0:
		return t, "", usage("experiment %q and --topology exclude each other", args[0])
	case f.topology != "" && (f.variant != "" || len(f.set) > 0):
		return t, "", usage("--variant and --set change an experiment; here there is only --topology %s", f.topology)
	case f.topology != "":
		f.links = experiment.DefaultLinks()
		return experiment.Topology{Spec: experiment.TopologyFile(f.topology)}, "", nil
	case len(args) == 0:
		return t, "", usage("name an experiment, or give --topology; embedded: %s", strings.Join(experiment.Names(), " "))
	case strings.EqualFold(filepath.Ext(args[0]), ".topo"):
		return t, "", usage("%s: not an experiment; draw a topology with --topology %s", args[0], args[0])
	}
	opts := experiment.Options{Env: a.env, Reserved: reserved(), Tables: experiment.StandardTables()}
	if opts.Override, err = overrides(f.set); err != nil {
		return t, "", err
	}
	set, err := experiment.Load(args[0], opts)
	if err != nil {
		return t, "", &exitError{exitUsage, err}
	}
	i, err := variant(set, f.variant)
	if err != nil {
		return t, "", err
	}
	chosen := set.Variants[i].Experiment
	f.links = chosen.Links
	return chosen.Topology, set.Base.Name, nil
}

// emit writes what write makes, all of it or nothing. What the topology cannot
// be written as is the user's error.
func (f *fabricFlags) emit(a *app, write func(io.Writer) error) error {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return &exitError{exitUsage, err}
	}
	return a.write(f.out, text.Bytes())
}

func (a *app) graph() *cobra.Command {
	var f fabricFlags
	cmd := &cobra.Command{
		Use:   "graph [EXPERIMENT]",
		Short: "Draw the topology of an experiment, or of a file",
		Example: "  csiglab graph three-flow --out three-flow.svg\n" +
			"  csiglab graph dragonfly --format mermaid\n" +
			"  csiglab graph --topology x.topo > x.svg",
		Args: atMostOne("an experiment"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := choice("format", f.format, "svg", "mermaid"); err != nil {
				return err
			}
			t, err := f.load(a, args)
			if err != nil {
				return err
			}
			if f.format == "svg" {
				return f.emit(a, func(w io.Writer) error { return draw.SVG(w, t.Graph) })
			}
			return f.emit(a, func(w io.Writer) error {
				lines, err := draw.Mermaid(w, t.Graph)
				if lines > draw.MermaidLinks {
					a.notes([]string{fmt.Sprintf("%d lines; Mermaid draws at most %d unless its setting maxEdges is raised", lines, draw.MermaidLinks)})
				}
				return err
			})
		},
	}
	f.flags(cmd, "svg", "svg or mermaid")
	return cmd
}

func (a *app) topo() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "topo",
		Short: "Write topologies for other tools",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return usage("unknown command %q%s; see csiglab topo --help", args[0], didYouMean(args[0], []string{"export"}))
		},
	}
	cmd.AddCommand(a.topoExport())
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
