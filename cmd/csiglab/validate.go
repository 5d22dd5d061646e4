package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/csiglab/csiglab/nodes/units"
	"github.com/csiglab/csiglab/orchestrator"
	"github.com/csiglab/csiglab/topologies"
	topohtsim "github.com/csiglab/csiglab/topologies/htsim"
	"github.com/csiglab/csiglab/workloads"
	loadhtsim "github.com/csiglab/csiglab/workloads/htsim"
	"github.com/spf13/cobra"
)

// inputCounts is what validate prints of a topology and a workload. The last
// two are absent without a workload.
type inputCounts struct {
	topologies.Counts
	Flows *int            `json:"flows,omitempty"`
	Bytes *units.ByteSize `json:"bytes,omitempty"`
}

// experimentCheck is what validate prints of an experiment.
type experimentCheck struct {
	Name     string   `json:"name"`
	Variants []string `json:"variants"`
	Seeds    int      `json:"seeds"`
	Hosts    int      `json:"hosts"`
	Switches int      `json:"switches"`
	Links    int      `json:"links"`
	Flows    int      `json:"flows"`
	Bytes    int64    `json:"bytes"`
	Seconds  float64  `json:"predictedSeconds"`
}

func (a *app) validate() *cobra.Command {
	var s selection
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "validate [EXPERIMENT]",
		Short: "Check an experiment, or a topology and a workload, without running anything",
		Args:  atMostOne("an experiment"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if s.fromFiles() && len(args) == 0 {
				return a.validateFiles(&s, asJSON)
			}
			set, err := s.load(a, cmd, args)
			if err != nil {
				return err
			}
			f, err := a.lab.validate(set)
			if err != nil {
				return runError(err, nil)
			}
			c := experimentCheck{
				Name: set.Base.Name, Seeds: len(set.Base.Seeds), Hosts: f.Hosts, Switches: f.Switches, Links: f.Links,
				Flows: f.Flows, Bytes: f.Bytes, Seconds: f.VirtualSeconds,
			}
			if set.Base.Clock == orchestrator.ClockLockstep {
				c.Seconds = f.LockstepSeconds
			}
			for _, v := range set.Variants {
				c.Variants = append(c.Variants, v.Name)
			}
			if asJSON {
				return printJSON(a.stdout, c)
			}
			fmt.Fprintf(a.stdout, "%s is valid: %s x %s; %s, %d switches, %s; %s, %v\n", c.Name,
				plural(len(c.Variants), "variant"), plural(c.Seeds, "seed"), plural(c.Hosts, "host"), c.Switches,
				plural(c.Links, "link"), plural(c.Flows, "flow"), units.ByteSize(c.Bytes))
			fmt.Fprintf(a.stdout, "predicted: %.1f s with runtime %s and clock %s\n", c.Seconds, set.Base.Runtime, set.Base.Clock)
			return nil
		},
	}
	s.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&s.startUnit, "start-unit", "auto", "unit of the start times in --workload: auto, ps or us")
	f.StringVar(&s.runtime, "runtime", "", "where the nodes would run: inproc (with clock virtual) or netns (with lockstep)")
	f.StringVar(&s.clock, "clock", "", "virtual or lockstep")
	f.IntVar(&s.seeds, "seeds", 0, "use the first `N` seeds of the experiment")
	f.StringArrayVar(&s.set, "set", nil, "override a value, as `PATH=VALUE` (again and again)")
	f.BoolVar(&asJSON, "json", false, "print JSON on standard output and nothing else there")
	return cmd
}

// validateFiles checks a topology, a workload, and that they fit.
func (a *app) validateFiles(s *selection, asJSON bool) error {
	var out inputCounts
	hosts := 0
	if s.topology != "" {
		tree, err := readInput(s.topology, topohtsim.ReadTopology)
		if err != nil {
			return &exitError{exitUsage, err}
		}
		graph, err := tree.Build()
		if err != nil {
			return usage("%s: %w", s.topology, err)
		}
		out.Counts, hosts = graph.Counts(), graph.Hosts()
	}
	if s.workload != "" {
		load, err := s.readMatrix(a.stderr)
		if err != nil {
			return err
		}
		if s.topology != "" {
			if err := load.Fits(hosts); err != nil {
				return usage("%s: %w", s.workload, err)
			}
		}
		flows, bytes := len(load.Transfers), load.Bytes()
		out.Flows, out.Bytes = &flows, &bytes
		out.Hosts = load.Hosts
	}
	switch {
	case asJSON && s.topology == "":
		return printJSON(a.stdout, map[string]any{"hosts": out.Hosts, "flows": out.Flows, "bytes": out.Bytes})
	case asJSON:
		return printJSON(a.stdout, out)
	}
	if s.topology != "" {
		fmt.Fprintf(a.stdout, "%s is valid: %d hosts, %d pods, %d ToRs, %d Aggs, %d cores; links: %d to hosts, %d ToR-Agg, %d Agg-core\n",
			s.topology, out.Counts.Hosts, out.Pods, out.ToRs, out.Aggs, out.Cores, out.Links.Host, out.Links.TorAgg, out.Links.AggCore)
	}
	if s.workload != "" {
		fmt.Fprintf(a.stdout, "%s is valid: %s, %v\n", s.workload, plural(*out.Flows, "flow"), *out.Bytes)
	}
	return nil
}

func (s *selection) readMatrix(notes io.Writer) (*workloads.Workload, error) {
	unit, err := loadhtsim.ParseStartUnit(s.startUnit)
	if err != nil {
		return nil, usage("--start-unit: %w", err)
	}
	load, err := readInput(s.workload, func(name string, r io.Reader) (*workloads.Workload, error) {
		w, list, err := loadhtsim.ReadMatrix(name, r, loadhtsim.Options{StartUnit: unit})
		for _, note := range list {
			fmt.Fprintln(notes, note)
		}
		return w, err
	})
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	return load, nil
}

// readInput opens a file and reads it.
func readInput[T any](name string, read func(string, io.Reader) (T, error)) (T, error) {
	var none T
	f, err := os.Open(name)
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return none, fmt.Errorf("%s: %w", name, err)
	}
	defer f.Close() //nolint:errcheck // opened for reading
	return read(name, f)
}
