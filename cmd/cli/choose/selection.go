// Package choose has what commands choose from, and the flags for it: an experiment, its variants,
// seeds and values, and the labs and runs under way. It runs nothing.
package choose

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/settings"
	"github.com/csiglab/csiglab/internal/lines"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/workloads/htsim"
)

// Selection are the flags that choose an experiment and change it.
type Selection struct {
	Topology, Workload        string
	cc, lb, csig, format      string
	seed                      uint64
	Runtime, Clock, StartUnit string
	Dilation, Trace           string
	Seeds                     int
	capture                   []string
	Set                       []string
	Variants                  []string
	At                        []string // a point of the experiment's sweep

	Lab  bool               // the run is one
	Used experiment.Options // by load
}

// FileFlags adds the flags that name files of the reference simulator.
func (s *Selection) FileFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.Topology, "topology", "", "htsim topology `FILE` (.topo), instead of an experiment")
	f.StringVar(&s.Workload, "workload", "", "htsim connection matrix `FILE` (.cm), with --topology")
}

// MoreFlags adds the flags that change an experiment.
func (s *Selection) MoreFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.cc, "cc", "", "congestion control, with --topology (default nscc)")
	f.StringVar(&s.lb, "lb", "", "load balancing, with --topology (default mixed)")
	f.StringVar(&s.csig, "csig", "", "signal for the congestion control, with --topology: none or max-delay")
	f.StringVar(&s.format, "format", "", "CSIG tag, with --topology: compact or wide (default compact if --csig asks for a signal)")
	s.SeedFlags(cmd)
	f.StringVar(&s.StartUnit, "start-unit", "", "unit of the start times in --workload: "+lines.Alternatives(htsim.StartUnit(0).Names()))
	f.StringVar(&s.Runtime, "runtime", "", "where the nodes run, and with which clock: "+runtimes.Summary())
	f.StringVar(&s.Clock, "clock", "", lines.Alternatives(runtimes.Clocks()))
	f.StringVar(&s.Dilation, "dilation", "", "wall seconds per model second, `N` or auto (clock wall)")
	f.StringArrayVar(&s.capture, "capture", nil, "write the packets of `LINK`, such as tor0-agg0, to pcapng files in the run's folder (repeatable)")
	f.StringArrayVar(&s.Set, "set", nil, "override a value, as `PATH=VALUE` (repeatable)")
}

// SeedFlags are the flags that choose seeds.
func (s *Selection) SeedFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Uint64Var(&s.seed, "seed", 1, "use this `SEED` alone")
	f.IntVar(&s.Seeds, "seeds", 0, "use the first `N` seeds of the experiment; if it has fewer, also the numbers after its greatest one")
}

// VariantFlag is the flag that leaves variants out.
func (s *Selection) VariantFlag(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&s.Variants, "variant", nil, "use the variant `NAME` alone (repeatable); what is expected of others is skipped")
}

// AtFlag is the flag that runs the experiment at a point of its sweep.
func (s *Selection) AtFlag(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&s.At, "at", nil, "run at the point of the experiment's sweep that has `AXIS=VALUE`; name a value of each axis (repeatable)")
}

// point returns the overrides of the point that --at names.
func (s *Selection) point(nameOrPath string) ([]experiment.Override, error) {
	if len(s.At) == 0 {
		return nil, nil
	}
	all, err := experiment.LoadSweep(nameOrPath)
	if err != nil {
		return nil, err
	}
	one, err := all.At("--at", s.At)
	if err != nil {
		return nil, err
	}
	if n := one.Points(); n != 1 {
		return nil, command.Usage("--at %s: %d points have these values, and a run is at one of them; csiglab sweep runs all, and the axes are: %s", strings.Join(s.At, " --at "), n, strings.Join(one.Paths(), " "))
	}
	return one.Point(0), nil
}

// Once is the value of a flag that may be given once, such as the one variant of a lab.
type Once struct {
	Value *string
	given bool
}

// String implements pflag.Value.
func (o *Once) String() string {
	if o.Value == nil {
		return ""
	}
	return *o.Value
}

// Type implements pflag.Value.
func (*Once) Type() string { return "string" }

// Set implements pflag.Value.
func (o *Once) Set(text string) error {
	if o.given {
		return fmt.Errorf("%q is given already; there is one", *o.Value)
	}
	*o.Value, o.given = text, true
	return nil
}

// FromFiles reports whether files of the reference simulator replace the experiment.
func (s *Selection) FromFiles() bool { return s.Topology != "" || s.Workload != "" }

// Load returns the chosen experiment, resolved. Its error has exit code 2, or 3 if the
// command is interrupted.
func (s *Selection) Load(a *command.App, cmd *cobra.Command, args []string) (*experiment.Set, error) {
	set, err := command.Interruptible(cmd.Context(), func() (*experiment.Set, error) { return s.parse(a, cmd, args) })
	var exit *command.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, command.Misuse(err)
	}
	return set, err
}

func (s *Selection) parse(a *command.App, cmd *cobra.Command, args []string) (*experiment.Set, error) {
	switch {
	case cmd.Flags().Changed("seeds") && s.Seeds < 1:
		return nil, command.Usage("--seeds %d: want at least 1", s.Seeds)
	case cmd.Flags().Changed("seeds") && cmd.Flags().Changed("seed"):
		return nil, command.Usage("--seed %d and --seeds %d exclude each other; --set 'seeds=[%d]' --seeds %d begins there", s.seed, s.Seeds, s.seed, s.Seeds)
	}
	opts := experiment.Options{
		Env: a.Env, Reserved: command.Reserved(), Seeds: s.Seeds, Variants: s.Variants, Tables: experiment.StandardTables(),
		Names: measure.NamesOfSet,
	}
	opts.Lab = s.Lab
	if v := a.Values[settings.Runtime]; v.From == settings.File {
		opts.Runtime, opts.RuntimeAt = v.Text, v.At
	}
	if s.FromFiles() {
		if err := s.checkFiles(cmd, args); err != nil {
			return nil, err
		}
		opts.Override = s.fileOverrides()
	} else {
		if len(args) == 0 {
			return nil, command.Usage("name an experiment, or give --topology and --workload; embedded: %s", strings.Join(experiment.Names(), " "))
		}
		switch strings.ToLower(filepath.Ext(args[0])) {
		case ".topo", ".cm", ".tm":
			return nil, command.Usage("%s: not an experiment; topologies and matrices go with --topology FILE --workload FILE", args[0])
		}
		var err error
		if opts.Override, err = s.point(args[0]); err != nil {
			return nil, err
		}
		for _, flag := range []string{"cc", "lb", "csig", "format", "start-unit"} {
			if cmd.Flags().Changed(flag) {
				return nil, command.Usage("--%s goes with --topology; change an experiment with --set, such as --set hosts.cc=nscc", flag)
			}
		}
	}
	put := func(path, value, origin string) {
		opts.Override = append(opts.Override, experiment.Override{Path: path, Value: value, Origin: origin})
	}
	if cmd.Flags().Changed("trace") {
		put("telemetry.trace_hash", s.Trace, "--trace "+s.Trace)
	}
	if s.Runtime != "" {
		put("runtime", s.Runtime, "--runtime "+s.Runtime)
	}
	if s.Clock != "" {
		put("clock", s.Clock, "--clock "+s.Clock)
	}
	if cmd.Flags().Changed("dilation") {
		if n, err := strconv.ParseInt(s.Dilation, 0, 64); s.Dilation != "auto" && (err != nil || n < 1) {
			return nil, command.Usage("--dilation %s: want N at least 1, or auto", s.Dilation)
		}
		put("wall.dilation", s.Dilation, "--dilation "+s.Dilation)
	}
	if len(s.capture) > 0 {
		var quoted []string
		for _, link := range s.capture {
			quoted = append(quoted, strconv.Quote(link))
		}
		put("capture", "["+strings.Join(quoted, ", ")+"]", "--capture "+strings.Join(s.capture, " --capture "))
	}
	if cmd.Flags().Changed("seed") {
		put("seeds", fmt.Sprintf("[%d]", s.seed), fmt.Sprintf("--seed %d", s.seed))
	}
	more, err := Overrides(s.Set)
	if err != nil {
		return nil, err
	}
	for _, o := range more { // flags have no order, so neither of the two would win
		i := slices.IndexFunc(opts.Override, func(flag experiment.Override) bool { return flag.Path == o.Path })
		if i >= 0 {
			return nil, command.Usage("%s and %s give the same value; want one of them", opts.Override[i].Origin, o.Origin)
		}
	}
	opts.Override = append(opts.Override, more...)
	s.Used = opts
	if s.FromFiles() {
		return experiment.Parse("command line", "", []byte("schema: 1\nname: "+s.name()+"\ntopology: {}\nworkload: {}\n"), opts)
	}
	return experiment.Load(args[0], opts)
}

// Overrides parses the values of --set.
func Overrides(set []string) ([]experiment.Override, error) {
	list, err := experiment.ParseSets("--set", set)
	if err != nil {
		return nil, command.Misuse(err)
	}
	return list, nil
}

func (s *Selection) checkFiles(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) > 0:
		return command.Usage("experiment %q and --topology or --workload exclude each other", args[0])
	case s.Topology == "":
		return command.Usage("--workload %s: needs --topology", s.Workload)
	case s.Workload == "":
		return command.Usage("--topology %s: needs --workload", s.Topology)
	}
	return nil
}

// fileOverrides returns the values of an experiment that consists of a topology and a
// matrix. All other values are the defaults, which are those of the reference simulator.
func (s *Selection) fileOverrides() []experiment.Override {
	format := s.format
	origin := "--format " + s.format
	if format == "" && s.csig != "" && s.csig != "none" {
		format, origin = "compact", "--csig "+s.csig
	}
	var list []experiment.Override
	for _, o := range []struct{ path, value, origin string }{
		{"topology.file", s.Topology, "--topology " + s.Topology},
		{"workload.file", s.Workload, "--workload " + s.Workload},
		{"workload.start_unit", s.StartUnit, "--start-unit " + s.StartUnit},
		{"hosts.cc", s.cc, "--cc " + s.cc},
		{"hosts.cc.csig", s.csig, "--csig " + s.csig},
		{"hosts.lb", s.lb, "--lb " + s.lb},
		{"csig.format", format, origin},
	} {
		if o.value != "" {
			list = append(list, experiment.Override{Path: o.path, Value: fmt.Sprintf("%q", o.value), Origin: o.origin})
		}
	}
	return list
}

// Variant returns the index of a variant; "" stands for the first.
func Variant(set *experiment.Set, name string) (int, error) {
	if name == "" {
		return 0, nil
	}
	var names []string
	for _, v := range set.Variants {
		names = append(names, v.Name)
	}
	i := slices.Index(names, name)
	if i < 0 {
		return 0, command.Usage("--variant %q: %s has no such variant%s; known: %s", name, set.Base.Name, command.DidYouMean(name, names), strings.Join(names, " "))
	}
	return i, nil
}

// name returns the experiment's name, which is built from the names of the files.
func (s *Selection) name() string {
	var parts []string
	for _, file := range []string{s.Topology, s.Workload} {
		base := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		if part := experiment.AsName(base); part != "" {
			parts = append(parts, part)
		}
	}
	name := strings.Join(append([]string{"run"}, parts...), "-")
	return strings.Trim(name[:min(len(name), 64)], "-")
}

// CompleteExperiments proposes the embedded experiments, and files.
func CompleteExperiments(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return experiment.Names(), cobra.ShellCompDirectiveDefault
}

// SayImplied prints the experiment that a containerlab topology file stands for, which the user
// may save and change. Of other sets it prints nothing.
func SayImplied(a *command.App, set *experiment.Set, args []string) {
	if set.Implied != "" {
		a.Say(fmt.Sprintf("note: %s is a topology; it stands for this experiment, to save beside it and change:\n%s", args[0], strings.TrimSuffix(set.Implied, "\n")))
	}
}
