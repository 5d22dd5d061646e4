package experiments

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/choose"
	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/perform"
	"github.com/csiglab/csiglab/internal/lines"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/compare/sweep"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/run/predict"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section/control"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/htsim"
	"github.com/csiglab/csiglab/workloads/trace"
)

// tooLarge says which limit of validate a fabric exceeds that csiglab run takes; "" if none.
func tooLarge(t experiment.Topology) string {
	sized, ok := t.Spec.(experiment.Sized)
	if !ok {
		return ""
	}
	size, err := sized.Size()
	if err != nil {
		return "" // the plan names it
	}
	return size.Excess(topologies.Checked)
}

// softMemory is the memory, in bytes, that validate stays below if it can.
const softMemory = 350 << 20

// inputCounts is the output of validate for a topology and a workload. Flows and Bytes
// are absent without a workload.
type inputCounts struct {
	topologies.Counts
	Flows *int        `json:"flows,omitempty"`
	Bytes *units.Size `json:"bytes,omitempty"`
}

// writeParameters writes the parameters of the variants in words.
func writeParameters(words io.Writer, c *predict.Summary) error {
	variants := make([]reading.Variant, len(c.Variants))
	for i, name := range c.Variants {
		variants[i] = reading.Variant{Name: name, Parameters: c.Parameters[name]}
	}
	return control.WriteParameters(words, variants)
}

func validateCommand(a *command.App) *cobra.Command {
	var s choose.Selection
	var asJSON, verbose bool
	var shards int
	cmd := &cobra.Command{
		Use:   "validate [EXPERIMENT]",
		Short: "Check an experiment, or a topology and a workload, without running anything",
		Args:  command.AtMostOne("an experiment"),
		RunE: func(cmd *cobra.Command, args []string) error {
			// Near this size, collect garbage rather than grow.
			if os.Getenv("GOMEMLIMIT") == "" {
				debug.SetMemoryLimit(softMemory)
			}
			if s.FromFiles() && len(args) == 0 {
				for _, flag := range []string{"set", "seed", "seeds", "variant", "runtime", "clock", "verbose", "shards"} {
					if cmd.Flags().Changed(flag) {
						return command.Usage("--%s goes with an experiment; --topology and --workload are checked as they are", flag)
					}
				}
				if cmd.Flags().Changed("start-unit") && s.Workload == "" {
					return command.Usage("--start-unit goes with --workload")
				}
				out, err := command.Interruptible(cmd.Context(), func() (checkedFiles, error) { return checkFiles(&s) })
				if err != nil {
					return err
				}
				return printFiles(a, &s, out, asJSON)
			}
			set, err := s.Load(a, cmd, args)
			if err != nil {
				return err
			}
			choose.SayImplied(a, set, args)
			limits := trace.FewNodes
			limits.Hint = fmt.Sprintf("; so large a trace is not checked: csiglab run reads up to %d nodes with %d dependencies", trace.DefaultLimits.Nodes, trace.DefaultLimits.Deps)
			set.Base.LimitTraces(limits)
			for i := range set.Variants {
				e := set.Variants[i].Experiment
				e.LimitTraces(limits)
				if excess := tooLarge(e.Topology); excess != "" {
					return command.Usage("topology: so large a fabric is not checked, but csiglab run takes it: %s", excess)
				}
			}
			if cmd.Flags().Changed("shards") && shards < 1 {
				return command.Usage("--shards %d: want at least 1", shards)
			}
			stop := a.Word(command.WordChecking)
			defer stop()
			details := predict.Details{Shards: shards, Parameters: verbose}
			c, err := command.Interruptible(cmd.Context(), func() (*predict.Summary, error) { return predict.Summarise(set, details, a.Work.Validate) })
			stop()
			var exit *command.ExitError
			switch {
			case errors.As(err, &exit):
				return err
			case err != nil:
				return perform.RunError(err, nil)
			}
			if c.Points, err = validatePoints(cmd.Context(), set, &s, args); err != nil {
				return err
			}
			a.Notes(c.Notes)
			words := &strings.Builder{}
			if verbose {
				if err := writeParameters(words, c); err != nil {
					return perform.RunError(err, nil)
				}
			}
			if asJSON {
				return a.PrintJSON(c)
			}
			return a.Print(c.Text(fmt.Sprintf("runtime %s and clock %s", set.Base.Runtime, set.Base.Clock)) + words.String())
		},
	}
	s.FileFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&s.StartUnit, "start-unit", "auto", "unit of the start times in --workload: "+lines.Alternatives(htsim.StartUnit(0).Names()))
	f.StringVar(&s.Runtime, "runtime", "", "where the nodes would run, and with which clock: "+runtimes.Summary())
	f.StringVar(&s.Clock, "clock", "", lines.Alternatives(runtimes.Clocks()))
	s.SeedFlags(cmd)
	s.VariantFlag(cmd)
	f.StringArrayVar(&s.Set, "set", nil, "override a value, as `PATH=VALUE` (repeatable)")
	f.IntVar(&shards, "shards", 0, "also print how the fabric is cut into `N` parts for several machines, and what that costs")
	f.BoolVar(&verbose, "verbose", false, "also print the parameters of ports and flows, such as what auto becomes")
	f.BoolVar(&asJSON, "json", false, "print JSON on standard output and nothing else there")
	return cmd
}

// validatePoints validates an experiment at the points of its key sweep. It returns their
// number, 0 without the key.
func validatePoints(ctx context.Context, set *experiment.Set, s *choose.Selection, args []string) (int, error) {
	if set.Base.Sweep == nil {
		return 0, nil
	}
	r := sweep.Request{Experiment: args[0], Options: s.Used, Parallel: runtime.NumCPU()}
	r.Options.Runtime = "" // a sweep does not know it
	plan, err := command.Interruptible(ctx, func() (*sweep.Plan, error) { return r.Plan(ctx) })
	var exit *command.ExitError
	switch {
	case errors.As(err, &exit):
		return 0, err
	case err != nil:
		return 0, perform.RunError(err, nil)
	}
	return len(plan.Points), nil
}

// checkedFiles are the counts of a topology and a workload, and how they were read.
type checkedFiles struct {
	counts inputCounts
	notes  []string
}

// checkFiles checks a topology, a workload, and that they fit.
func checkFiles(s *choose.Selection) (out checkedFiles, err error) {
	hosts := 0
	if s.Topology != "" {
		t, err := experiment.Topology{Spec: experiment.TopologyFile(s.Topology)}.Build()
		if err != nil {
			return out, command.Misuse(err)
		}
		out.notes = t.Notes
		out.counts.Counts, hosts = t.Graph.Counts(), t.Graph.Hosts()
	}
	if s.Workload != "" {
		unit, err := htsim.ParseStartUnit(s.StartUnit)
		if err != nil {
			return out, command.Usage("--start-unit: %w", err)
		}
		file := experiment.Workload{Spec: experiment.WorkloadFile(s.Workload), StartUnit: unit}
		load, notes, err := file.Build(hosts, experiment.Links{}, 0)
		if err != nil {
			return out, command.Misuse(err)
		}
		out.notes = append(out.notes, notes...)
		flows, bytes := len(load.Transfers), load.Bytes()
		out.counts.Flows, out.counts.Bytes = &flows, &bytes
		out.counts.Hosts = load.Hosts
	}
	return out, nil
}

// printFiles prints what checkFiles found.
func printFiles(a *command.App, s *choose.Selection, checked checkedFiles, asJSON bool) error {
	a.Notes(checked.notes)
	out := checked.counts
	switch {
	case asJSON && s.Topology == "":
		return a.PrintJSON(map[string]any{"hosts": out.Hosts, "flows": out.Flows, "bytes": out.Bytes})
	case asJSON:
		return a.PrintJSON(out)
	}
	text := ""
	if s.Topology != "" {
		text = fmt.Sprintf("%s is valid: %s, %s, %s, %s, %s; links: %d to hosts, %d ToR-Agg, %d Agg-core\n",
			s.Topology, spelling.Plural(out.Counts.Hosts, "host"), spelling.Plural(out.Pods, "pod"), spelling.Plural(out.ToRs, "ToR"), spelling.Plural(out.Aggs, "Agg"),
			spelling.Plural(out.Cores, "core"), out.Links.Host, out.Links.TorAgg, out.Links.AggCore)
	}
	if s.Workload != "" {
		text += fmt.Sprintf("%s is valid: %s, %v\n", s.Workload, spelling.Plural(*out.Flows, "flow"), *out.Bytes)
	}
	return a.Print(text)
}
