package fabrics

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/topologies/draw"
)

func graphCommand(a *command.App) *cobra.Command {
	var f fabricFlags
	cmd := &cobra.Command{
		Use:   "graph [EXPERIMENT]",
		Short: "Draw the topology of an experiment, or of a file",
		Example: "  csiglab graph three-flow --out three-flow.svg\n" +
			"  csiglab graph dragonfly --format mermaid\n" +
			"  csiglab graph --topology x.topo > x.svg",
		Args: command.AtMostOne("an experiment"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := command.Choice("format", f.format, "svg", "mermaid"); err != nil {
				return err
			}
			if ext := strings.ToLower(filepath.Ext(f.out)); ext != "" && !slices.Contains([]string{".svg", ".mmd", ".md", ".txt"}, ext) {
				return command.Usage("--out %s: the formats are svg and mermaid; csiglab topo export --format dot is for Graphviz, which makes %s of it", f.out, strings.TrimPrefix(ext, "."))
			}
			t, err := f.load(a, args)
			if err != nil {
				return err
			}
			speak, err := f.speakers(t.Graph)
			if err != nil {
				return err
			}
			if f.format == "svg" {
				return f.emit(a, func(w io.Writer) error { return draw.SVG(w, t.Graph, speak) })
			}
			return f.emit(a, func(w io.Writer) error {
				lines, err := draw.Mermaid(w, t.Graph, speak)
				if lines > draw.MermaidLinks {
					a.Notes([]string{fmt.Sprintf("%d lines; Mermaid draws at most %d unless its setting maxEdges is raised", lines, draw.MermaidLinks)})
				}
				return err
			})
		},
	}
	f.flags(cmd, "svg", "svg or mermaid")
	return cmd
}
