package fabrics

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// FabricCounts is the output of topo count.
type FabricCounts struct {
	Name        string                      `json:"name"` // of the experiment, "" for a file
	Hosts       int                         `json:"hosts"`
	Switches    int                         `json:"switches"`
	HostLinks   int                         `json:"hostLinks"`
	SwitchLinks int64                       `json:"switchLinks"`
	Speakers    *int                        `json:"speakers,omitempty"` // switches that speak CSIG; absent: csig.speakers leaves none out
	Dragonfly   *topologies.DragonflyCounts `json:"dragonfly,omitempty"`
	Memory      int64                       `json:"estimatedMemoryBytes"` // of the fabric with its routes, without traffic
	TooLarge    string                      `json:"tooLarge,omitempty"`   // why no experiment can run on it; "": it can
}

func topoCountCommand(a *command.App) *cobra.Command {
	f := fabricFlags{anySize: true}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "count [EXPERIMENT]",
		Short: "Count the hosts, switches and links of a topology, also of one that is too large to run",
		Long: "Count the hosts, switches and links of the topology of an experiment, or of a file. A generated topology is\n" +
			"counted without building it, so that it may be too large to run.",
		Example: "  csiglab topo count dragonfly-72\n" +
			"  csiglab topo count dragonfly-72 --set topology.dragonfly.arrangement=circulant --json",
		Args: command.AtMostOne("an experiment"),
		RunE: func(_ *cobra.Command, args []string) error {
			topology, name, err := f.choose(a, args)
			if err != nil {
				return err
			}
			c, err := countFabric(a, topology)
			if err != nil {
				return command.Misuse(err)
			}
			if err := c.countSpeakers(&f, topology); err != nil {
				return err
			}
			if c.Name = name; asJSON {
				return a.PrintJSON(c)
			}
			return a.Print(c.text())
		},
	}
	f.selection(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON on standard output and nothing else there")
	return cmd
}

func countFabric(a *command.App, t experiment.Topology) (c FabricCounts, err error) {
	var size topologies.Size
	sized, ok := t.Spec.(experiment.Sized)
	if ok {
		size, err = sized.Size()
	} else {
		var built experiment.Built
		if built, err = t.Build(); err == nil {
			a.Notes(built.Notes)
			size = built.Graph.Size()
		}
	}
	if err != nil {
		var bad *experiment.PathError
		if errors.As(err, &bad) || !ok {
			return c, err
		}
		return c, fmt.Errorf("topology: %w", err)
	}
	c = FabricCounts{
		Hosts: size.Hosts, Switches: size.Switches, HostLinks: size.HostLinks, SwitchLinks: size.SwitchLinks,
		Memory: int64(size.Memory()), TooLarge: size.Excess(topologies.Largest),
	}
	if d, ok := t.Spec.(topologies.DragonflySpec); ok {
		counts, err := d.Counts()
		if err != nil {
			return c, err
		}
		c.Dragonfly = &counts
	}
	return c, nil
}

// countSpeakers counts the switches that speak CSIG, of a fabric that can run.
func (c *FabricCounts) countSpeakers(f *fabricFlags, t experiment.Topology) error {
	if c.TooLarge != "" || f.experiment == nil || !f.experiment.CSIG.Speakers.Some() {
		return nil
	}
	built, err := t.Build()
	if err != nil {
		return command.Misuse(err)
	}
	speak, err := f.speakers(built.Graph)
	if err != nil || speak == nil {
		return err
	}
	c.Speakers = new(int)
	for _, speaks := range speak {
		if speaks {
			*c.Speakers++
		}
	}
	return nil
}

// text returns the counts in words.
func (c *FabricCounts) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s\n", spelling.Plural(c.Hosts, "host"), spelling.Plural(c.Switches, "switch"))
	if c.Speakers != nil {
		fmt.Fprintf(&b, "%d of the switches speak CSIG\n", *c.Speakers)
	}
	fmt.Fprintf(&b, "%s of hosts, %d between switches\n", spelling.Plural(c.HostLinks, "link"), c.SwitchLinks)
	if d := c.Dragonfly; d != nil {
		fmt.Fprintf(&b, "%s of %s, each with %s; %d links within groups, %d between groups, %d for each pair of groups\n",
			spelling.Plural(d.Groups, "group"), spelling.Plural(c.Switches/d.Groups, "router"), spelling.Plural(d.Radix, "port"), d.LocalLinks, d.GlobalLinks, d.PerPair)
		var hops []string
		for i, n := range d.Distances {
			hops = append(hops, fmt.Sprintf("%d at %d", n, i))
		}
		fmt.Fprintf(&b, "hops from the routers of a group to all routers: %s\n", strings.Join(hops, ", "))
	}
	fmt.Fprintf(&b, "about %v of memory without traffic\n", units.Size(c.Memory))
	if c.TooLarge != "" {
		fmt.Fprintf(&b, "too large to run: %s\n", c.TooLarge)
	}
	return b.String()
}
