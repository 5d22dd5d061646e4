package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/settings"
	"github.com/csiglab/csiglab/internal/lines"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/workloads/htsim"
)

// selection are the flags that choose an experiment and change it.
type selection struct {
	topology, workload        string
	cc, lb, csig, format      string
	seed                      uint64
	runtime, clock, startUnit string
	dilation, trace           string
	seeds                     int
	capture                   []string
	set                       []string
	variants                  []string

	lab  bool               // the run is one
	used experiment.Options // by load
}

func (s *selection) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.topology, "topology", "", "htsim topology `FILE` (.topo), instead of an experiment")
	f.StringVar(&s.workload, "workload", "", "htsim connection matrix `FILE` (.cm), with --topology")
}

func (s *selection) moreFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.cc, "cc", "", "congestion control, with --topology (default nscc)")
	f.StringVar(&s.lb, "lb", "", "load balancing, with --topology (default mixed)")
	f.StringVar(&s.csig, "csig", "", "signal for the congestion control, with --topology: none or max-delay")
	f.StringVar(&s.format, "format", "", "CSIG tag, with --topology: compact or wide (default compact if --csig asks for a signal)")
	s.seedFlags(cmd)
	f.StringVar(&s.startUnit, "start-unit", "", "unit of the start times in --workload: "+lines.Alternatives(htsim.StartUnit(0).Names()))
	f.StringVar(&s.runtime, "runtime", "", "where the nodes run, and with which clock: "+runtimes.Summary())
	f.StringVar(&s.clock, "clock", "", lines.Alternatives(runtimes.Clocks()))
	f.StringVar(&s.dilation, "dilation", "", "wall seconds per model second, `N` or auto (clock wall)")
	f.StringArrayVar(&s.capture, "capture", nil, "write the packets of `LINK`, such as tor0-agg0, to pcapng files in the run's folder (repeatable)")
	f.StringArrayVar(&s.set, "set", nil, "override a value, as `PATH=VALUE` (repeatable)")
}

// seedFlags are the flags that choose seeds.
func (s *selection) seedFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Uint64Var(&s.seed, "seed", 1, "use this `SEED` alone")
	f.IntVar(&s.seeds, "seeds", 0, "use the first `N` seeds of the experiment; if it has fewer, also the numbers after its greatest one")
}

// variantFlag is the flag that leaves variants out.
func (s *selection) variantFlag(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&s.variants, "variant", nil, "use the variant `NAME` alone (repeatable); what is expected of others is skipped")
}

// once is the value of a flag that may be given once, such as the one variant of a lab.
type once struct {
	value *string
	given bool
}

// String implements pflag.Value.
func (o *once) String() string {
	if o.value == nil {
		return ""
	}
	return *o.value
}

// Type implements pflag.Value.
func (*once) Type() string { return "string" }

// Set implements pflag.Value.
func (o *once) Set(text string) error {
	if o.given {
		return fmt.Errorf("%q is given already; there is one", *o.value)
	}
	*o.value, o.given = text, true
	return nil
}

// fromFiles reports whether files of the reference simulator replace the experiment.
func (s *selection) fromFiles() bool { return s.topology != "" || s.workload != "" }

// load returns the chosen experiment, resolved. Its error has exit code 2, or 3 if the
// command is interrupted.
func (s *selection) load(a *app, cmd *cobra.Command, args []string) (*experiment.Set, error) {
	set, err := interruptible(cmd.Context(), func() (*experiment.Set, error) { return s.parse(a, cmd, args) })
	var exit *exitError
	if err != nil && !errors.As(err, &exit) {
		return nil, misuse(err)
	}
	return set, err
}

func (s *selection) parse(a *app, cmd *cobra.Command, args []string) (*experiment.Set, error) {
	switch {
	case cmd.Flags().Changed("seeds") && s.seeds < 1:
		return nil, usage("--seeds %d: want at least 1", s.seeds)
	case cmd.Flags().Changed("seeds") && cmd.Flags().Changed("seed"):
		return nil, usage("--seed %d and --seeds %d exclude each other; --set 'seeds=[%d]' --seeds %d begins there", s.seed, s.seeds, s.seed, s.seeds)
	}
	opts := experiment.Options{
		Env: a.env, Reserved: reserved(), Seeds: s.seeds, Variants: s.variants, Tables: experiment.StandardTables(),
		Names: measure.NamesOfSet,
	}
	if v := a.values[settings.Runtime]; v.From == settings.File {
		opts.Runtime, opts.RuntimeAt, opts.Lab = v.Text, v.At, s.lab
	}
	if s.fromFiles() {
		if err := s.checkFiles(cmd, args); err != nil {
			return nil, err
		}
		opts.Override = s.fileOverrides()
	} else {
		if len(args) == 0 {
			return nil, usage("name an experiment, or give --topology and --workload; embedded: %s", strings.Join(experiment.Names(), " "))
		}
		switch strings.ToLower(filepath.Ext(args[0])) {
		case ".topo", ".cm", ".tm":
			return nil, usage("%s: not an experiment; topologies and matrices go with --topology FILE --workload FILE", args[0])
		}
		for _, flag := range []string{"cc", "lb", "csig", "format", "start-unit"} {
			if cmd.Flags().Changed(flag) {
				return nil, usage("--%s goes with --topology; change an experiment with --set, such as --set hosts.cc=nscc", flag)
			}
		}
	}
	put := func(path, value, origin string) {
		opts.Override = append(opts.Override, experiment.Override{Path: path, Value: value, Origin: origin})
	}
	if cmd.Flags().Changed("trace") {
		put("telemetry.trace_hash", s.trace, "--trace "+s.trace)
	}
	if s.runtime != "" {
		put("runtime", s.runtime, "--runtime "+s.runtime)
	}
	if s.clock != "" {
		put("clock", s.clock, "--clock "+s.clock)
	}
	if cmd.Flags().Changed("dilation") {
		if n, err := strconv.ParseInt(s.dilation, 0, 64); s.dilation != "auto" && (err != nil || n < 1) {
			return nil, usage("--dilation %s: want N at least 1, or auto", s.dilation)
		}
		put("wall.dilation", s.dilation, "--dilation "+s.dilation)
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
	more, err := overrides(s.set)
	if err != nil {
		return nil, err
	}
	for _, o := range more { // flags have no order, so neither of the two would win
		i := slices.IndexFunc(opts.Override, func(flag experiment.Override) bool { return flag.Path == o.Path })
		if i >= 0 {
			return nil, usage("%s and %s give the same value; want one of them", opts.Override[i].Origin, o.Origin)
		}
	}
	opts.Override = append(opts.Override, more...)
	s.used = opts
	if s.fromFiles() {
		return experiment.Parse("command line", "", []byte("schema: 1\nname: "+s.name()+"\ntopology: {}\nworkload: {}\n"), opts)
	}
	return experiment.Load(args[0], opts)
}

// overrides parses the values of --set.
func overrides(set []string) (list []experiment.Override, err error) {
	var wrong []error
	for _, text := range set {
		o, err := experiment.ParseSet("--set", text)
		wrong = append(wrong, err)
		list = append(list, o)
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, misuse(err)
	}
	return list, nil
}

func (s *selection) checkFiles(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) > 0:
		return usage("experiment %q and --topology or --workload exclude each other", args[0])
	case s.topology == "":
		return usage("--workload %s: needs --topology", s.workload)
	case s.workload == "":
		return usage("--topology %s: needs --workload", s.topology)
	}
	return nil
}

// fileOverrides returns the values of an experiment that consists of a topology and a
// matrix. All other values are the defaults, which are those of the reference simulator.
func (s *selection) fileOverrides() []experiment.Override {
	format := s.format
	origin := "--format " + s.format
	if format == "" && s.csig != "" && s.csig != "none" {
		format, origin = "compact", "--csig "+s.csig
	}
	var list []experiment.Override
	for _, o := range []struct{ path, value, origin string }{
		{"topology.file", s.topology, "--topology " + s.topology},
		{"workload.file", s.workload, "--workload " + s.workload},
		{"workload.start_unit", s.startUnit, "--start-unit " + s.startUnit},
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

// variant returns the index of a variant; "" stands for the first.
func variant(set *experiment.Set, name string) (int, error) {
	if name == "" {
		return 0, nil
	}
	var names []string
	for _, v := range set.Variants {
		names = append(names, v.Name)
	}
	i := slices.Index(names, name)
	if i < 0 {
		return 0, usage("--variant %q: %s has no such variant%s; known: %s", name, set.Base.Name, didYouMean(name, names), strings.Join(names, " "))
	}
	return i, nil
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// asName replaces by "-" each sequence of characters that a name may not contain.
func asName(text string) string {
	return strings.Trim(notInNames.ReplaceAllString(strings.ToLower(text), "-"), "-")
}

// name returns the experiment's name, which is built from the names of the files.
func (s *selection) name() string {
	var parts []string
	for _, file := range []string{s.topology, s.workload} {
		base := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		if part := asName(base); part != "" {
			parts = append(parts, part)
		}
	}
	name := strings.Join(append([]string{"run"}, parts...), "-")
	return strings.Trim(name[:min(len(name), 64)], "-")
}
