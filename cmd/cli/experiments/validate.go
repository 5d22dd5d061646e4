package experiments

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/choose"
	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/perform"
	"github.com/csiglab/csiglab/internal/lines"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/compare/sweep"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/plan/estimate"
	"github.com/csiglab/csiglab/orchestrator/run/dilation"
	"github.com/csiglab/csiglab/orchestrator/run/predict"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section/control"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/htsim"
	"github.com/csiglab/csiglab/workloads/trace"
)

// softMemory is the memory, in bytes, that validate stays below if it can.
const softMemory = 350 << 20

// inputCounts is the output of validate for a topology and a workload. Flows and Bytes
// are absent without a workload.
type inputCounts struct {
	topologies.Counts
	Flows *int        `json:"flows,omitempty"`
	Bytes *units.Size `json:"bytes,omitempty"`
}

// experimentCheck is the output of validate for an experiment.
type experimentCheck struct {
	Name     string   `json:"name"`
	Variants []string `json:"variants"`
	Seeds    int      `json:"seeds"`
	Hosts    int      `json:"hosts"`
	Switches int      `json:"switches"`
	Links    int      `json:"links"`
	Flows    int      `json:"flows"`
	Bytes    int64    `json:"bytes"`
	Seconds  float64  `json:"predictedSeconds,omitempty"`    // of the flows; programs are not predicted
	CPU      float64  `json:"predictedCPUSeconds,omitempty"` // in virtual time
	Memory   int64    `json:"predictedMemoryBytes,omitempty"`
	Free     int64    `json:"availableMemoryBytes,omitempty"`
	Fits     bool     `json:"fitsInMemory"`
	Programs int      `json:"programs,omitempty"` // of the variant with the most
	Streams  int      `json:"streams,omitempty"`  // of raw frames, likewise
	Notes    []string `json:"notes,omitempty"`    // as on standard error
	// Locators are those that several switch ports share.
	Locators []sharedLocators `json:"locators,omitempty"`
	Points   int              `json:"points,omitempty"` // of the key sweep
	// Cuts are how the fabric is cut into parts, with --shards: one for all variants unless
	// their traffic differs much.
	Cuts []fabricCut `json:"cuts,omitempty"`
	// Parameters are those of each variant, with --verbose.
	Parameters map[string]*runfolder.Parameters `json:"parameters,omitempty"`
}

// sharedLocators are the locators of variants that stand for several switch ports each.
type sharedLocators struct {
	Variants []string        `json:"variants"`
	Format   string          `json:"format,omitempty"` // of the tags, in a fabric of two formats
	Scheme   string          `json:"scheme"`
	Ports    int             `json:"ports"`    // of all switches
	Sharing  int             `json:"sharing"`  // that share a locator
	Distinct int             `json:"distinct"` // locators that the ports have
	Locators []sharedLocator `json:"locators"`
	Remedy   string          `json:"remedy,omitempty"`
}

type sharedLocator struct {
	Locator uint32   `json:"locator"`
	Ports   []string `json:"ports"`
}

func newSharedLocators(l *predict.Locators) sharedLocators {
	s := sharedLocators{Variants: l.Variants, Format: l.Table.FormatName(), Scheme: l.Table.Scheme.String(), Ports: l.Table.Ports, Distinct: len(l.Table.Locators), Remedy: l.Table.Remedy}
	s.Sharing, _ = l.Table.SharedPorts()
	for _, one := range l.Table.Locators {
		if one.Shared() {
			s.Locators = append(s.Locators, sharedLocator{one.Locator, one.Ports})
		}
	}
	return s
}

// Limits of the list of shared locators in words; JSON has them all.
const (
	shownLocators = 16
	shownPorts    = 6 // of a locator
)

// text returns the locators in words. It names the variants if there are several.
func (s *sharedLocators) text(variants int) string {
	of := ""
	if variants > 1 {
		of = " of " + strings.Join(s.Variants, ", ")
	}
	kind := ""
	if s.Format != "" {
		kind = s.Format + " "
	}
	text := fmt.Sprintf("%slocators%s: %s have %s; %d of the ports share theirs with others\n", kind, of, spelling.Plural(s.Ports, "switch port"), spelling.Plural(s.Distinct, "locator"), s.Sharing)
	for i, l := range s.Locators {
		if i == shownLocators {
			text += fmt.Sprintf("  … and %d more; --json lists all\n", len(s.Locators)-i)
			break
		}
		names := strings.Join(l.Ports[:min(len(l.Ports), shownPorts)], " ")
		if more := len(l.Ports) - shownPorts; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		text += fmt.Sprintf("  %5d  %s\n", l.Locator%metrics.SecondFormat, names)
	}
	if s.Remedy != "" {
		text += fmt.Sprintf("  each port has a locator of its own with %s\n", s.Remedy)
	}
	return text
}

// text returns the check in words; where names the runtime and the clock.
func (c *experimentCheck) text(where string) string {
	var load []string
	if c.Flows > 0 {
		load = append(load, spelling.Plural(c.Flows, "flow"), units.Size(c.Bytes).String())
	}
	if c.Streams > 0 {
		load = append(load, spelling.Plural(c.Streams, "stream")+" of raw frames")
	}
	if c.Programs > 0 {
		load = append(load, spelling.Plural(c.Programs, "program"))
	}
	predicted := "predicted: " + predict.Roughly(time.Duration(c.Seconds*float64(time.Second)))
	if cpu := time.Duration(c.CPU * float64(time.Second)); cpu >= 500*time.Millisecond {
		predicted += fmt.Sprintf(" (%s of CPU time), %s,", predict.Roughly(cpu), predict.Accuracy)
	}
	switch {
	case c.Programs > 0 && c.Seconds > 0:
		predicted += ", longer if its programs take longer,"
	case c.Programs > 0:
		predicted = "takes as long as its programs,"
	case c.Seconds == 0:
		load = append(load, "no traffic")
		predicted = "ends at once; csiglab up holds it as a lab,"
	}
	memory := ""
	if c.Memory > 0 {
		memory = "memory: about " + predict.Gigabytes(c.Memory)
		if c.Free < predict.NoLimit {
			memory += " of " + predict.Gigabytes(c.Free)
		}
		memory += "\n"
	}
	text := fmt.Sprintf("%s is valid: %s x %s; %s, %s, %s; %s\n%s with %s\n%s", c.Name,
		spelling.Plural(len(c.Variants), "variant"), spelling.Plural(c.Seeds, "seed"), spelling.Plural(c.Hosts, "host"), spelling.Plural(c.Switches, "switch"),
		spelling.Plural(c.Links, "link"), strings.Join(load, ", "), predicted, where, memory)
	if c.Points > 0 {
		text += fmt.Sprintf("a sweep of %s, all valid: %s; csiglab sweep runs them\n", spelling.Plural(c.Points, "point"), spelling.Plural(c.Points*len(c.Variants)*c.Seeds, "trial"))
	}
	for i := range c.Locators {
		text += c.Locators[i].text(len(c.Variants))
	}
	for i := range c.Cuts {
		text += c.Cuts[i].text(len(c.Variants))
	}
	return text
}

// verbose writes the parameters of the variants in words.
func (c *experimentCheck) verbose(words io.Writer) error {
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
			limits := trace.FewNodes
			limits.Hint = fmt.Sprintf("; so large a trace is not checked: csiglab run reads up to %d nodes with %d dependencies", trace.DefaultLimits.Nodes, trace.DefaultLimits.Deps)
			set.Base.LimitTraces(limits)
			for i := range set.Variants {
				set.Variants[i].Experiment.LimitTraces(limits)
			}
			if cmd.Flags().Changed("shards") && shards < 1 {
				return command.Usage("--shards %d: want at least 1", shards)
			}
			stop := a.Word(command.WordChecking)
			defer stop()
			c := experimentCheck{Name: set.Base.Name, Seeds: len(set.Base.Seeds)}
			if verbose {
				c.Parameters = map[string]*runfolder.Parameters{}
			}
			var uncut error
			unkept := ""
			visit := func(i int, p *plan.Plan, w estimate.Work) {
				name := set.Variants[i].Name
				if verbose {
					c.Parameters[name] = p.Parameters()
				}
				if wall := set.Base.Wall; set.Base.Way().Has(runtimes.RealTime) && wall.Dilation > 0 && unkept == "" {
					unkept = dilation.Unkept(p, w, float64(wall.Dilation), wall.Budget.Lateness)
				}
				if shards > 0 && uncut == nil {
					c.Cuts, uncut = addCut(c.Cuts, name, set.Base.Clock, p, shards)
				}
			}
			f, err := command.Interruptible(cmd.Context(), func() (*predict.Validation, error) { return a.Work.Validate(set, visit) })
			stop()
			var exit *command.ExitError
			switch {
			case errors.As(err, &exit):
				return err
			case err != nil:
				return perform.RunError(err, nil)
			case uncut != nil:
				return perform.RunError(uncut, nil)
			}
			if c.Points, err = validatePoints(cmd.Context(), set, &s, args); err != nil {
				return err
			}
			f.Notes = slices.Concat(set.Notes, f.Notes)
			if f.Shortage != nil {
				f.Notes = append(f.Notes, f.Shortage.Error())
			}
			if unkept != "" {
				f.Notes = append(f.Notes, unkept)
			}
			a.Notes(f.Notes)
			c.Hosts, c.Switches, c.Links, c.Flows, c.Bytes, c.Notes = f.Hosts, f.Switches, f.Links, f.Flows, f.Bytes, f.Notes
			c.Memory, c.Free, c.Fits = f.Memory, f.Available.Bytes, f.Shortage == nil
			for i := range f.Locators {
				c.Locators = append(c.Locators, newSharedLocators(&f.Locators[i]))
			}
			switch set.Base.Clock {
			case runtimes.Virtual:
				c.Seconds, c.CPU = f.Wall.Seconds(), f.CPU.Seconds()
			case runtimes.Lockstep:
				c.Seconds = f.LockstepSeconds
			case runtimes.Wall:
				c.Seconds = f.WallSeconds
			}
			for _, v := range set.Variants {
				c.Variants = append(c.Variants, v.Name)
				c.Streams = max(c.Streams, len(v.Experiment.Generators))
				if hosts := v.Experiment.Applications; hosts != nil {
					c.Programs = max(c.Programs, len(hosts.Programs))
				}
			}
			parameters := &strings.Builder{}
			if verbose {
				if err := c.verbose(parameters); err != nil {
					return perform.RunError(err, nil)
				}
			}
			if asJSON {
				return a.PrintJSON(c)
			}
			return a.Print(c.text(fmt.Sprintf("runtime %s and clock %s", set.Base.Runtime, set.Base.Clock)) + parameters.String())
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
