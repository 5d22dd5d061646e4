package fabrics

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
	"github.com/csiglab/csiglab/workloads/chakra"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/formats"
	"github.com/csiglab/csiglab/workloads/goal"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/htsim"
	"github.com/csiglab/csiglab/workloads/inspect"
)

func workloadCommand(a *command.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "workload",
		Short: "Look into workloads and traces of other tools, and convert them",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return command.Usage("unknown command %q%s; see csiglab workload --help", args[0], command.DidYouMean(args[0], []string{"inspect", "convert"}))
		},
	}
	cmd.AddCommand(workloadInspectCommand(a), workloadConvertCommand(a))
	return cmd
}

// inputFlags say how a workload's file is read.
type inputFlags struct {
	format, startUnit, timeUnit, groups, algorithm, size string
	ranks, passes                                        int
	dataOnly                                             bool
}

func (f *inputFlags) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	var known strings.Builder
	for _, name := range formats.Names() {
		fmt.Fprintf(&known, "\n  %-7s %s", name, formats.Doc(name))
	}
	cmd.Long += "\n\nFormats:" + known.String()
	flags.StringVar(&f.format, "format", "", "format of the file (default: by name and content)")
	flags.StringVar(&f.startUnit, "start-unit", "auto", "unit of the start times of a connection matrix: auto, ps or us")
	flags.StringVar(&f.timeUnit, "time-unit", "auto", "unit of compute times: auto (what the format says, ns for SimAI's), ns, us or ms")
	flags.StringVar(&f.groups, "groups", "", "JSON `FILE` with the communicator groups of a Chakra trace")
	flags.BoolVar(&f.dataOnly, "data-only", false, "nodes of a Chakra trace wait for data_deps alone, as in ASTRA-sim, and not for ctrl_deps")
	flags.StringVar(&f.algorithm, "algorithm", "auto", "algorithm of the collectives that have it: "+strings.Join(collective.Algorithm(0).Names(), ", "))
	flags.IntVar(&f.ranks, "ranks", 0, "number of ranks, where the file does not say it")
	flags.StringVar(&f.size, "size", "", "size of the buffer of an MSCCL algorithm, such as 32MiB, which its file does not say")
	flags.IntVar(&f.passes, "passes", 1, "how often a workload of one training step, or an MSCCL algorithm, is played")
	for _, name := range []string{"format", "groups", "data-only", "algorithm", "ranks", "size", "passes", "start-unit", "time-unit"} {
		flags.Lookup(name).Annotations = map[string][]string{command.NoSetting: nil}
	}
	for name, values := range map[string][]string{
		"format": formats.Names(), "start-unit": htsim.StartUnit(0).Names(), "time-unit": {"auto", "ns", "us", "ms"}, "algorithm": collective.Algorithm(0).Names(),
	} {
		cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // of a flag that is there
	}
}

// options checks the flags.
func (f *inputFlags) options() (o formats.Options, err error) {
	if f.format != "" {
		if err := command.Choice("format", f.format, formats.Names()...); err != nil {
			return o, err
		}
	}
	if err := command.Choice("time-unit", f.timeUnit, "auto", "ns", "us", "ms"); err != nil {
		return o, err
	}
	if f.ranks < 0 || f.passes < 1 {
		return o, command.Usage("--ranks %d, --passes %d: want 0 or more ranks (0: what the file says) and a pass at least", f.ranks, f.passes)
	}
	o = formats.Options{Format: f.format, Groups: f.groups, DataOnly: f.dataOnly}
	if f.size != "" {
		if o.Size, err = units.ParseSize(f.size); err != nil || o.Size < 1 {
			return o, command.Usage("--size %q: want a size of 1B or more, such as 32MiB", f.size)
		}
	}
	if o.StartUnit, err = htsim.ParseStartUnit(f.startUnit); err != nil {
		return o, command.Usage("--start-unit: %w", err)
	}
	algorithm, err := collective.ParseAlgorithm(f.algorithm)
	if err != nil {
		return o, command.Usage("--algorithm: %w", err)
	}
	o.Training.Algorithms = collective.Everywhere(algorithm)
	o.Training.Ranks, o.Training.Passes = f.ranks, f.passes
	o.Training.TimeUnit = map[string]units.Duration{"ns": units.Nanosecond, "us": units.Microsecond, "ms": units.Millisecond}[f.timeUnit]
	return o, nil
}

// open reads a workload.
func (f *inputFlags) open(a *command.App, path string) (*formats.Input, error) {
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	in, err := formats.Open(path, o)
	if err != nil {
		return nil, command.Misuse(err)
	}
	a.Notes(in.Notes)
	return in, nil
}

// rankPrograms returns the programs of an input, with what was lost on the way there. A file
// with messages on connections and nothing else has programs of its own.
func rankPrograms(in *formats.Input) (graph.Source, *graph.Loss, error) {
	load := in.Workload
	switch {
	case load == nil:
		return in.Source, &graph.Loss{}, nil
	case len(load.Jobs) == 1 && len(load.Transfers) == 0:
		return load.Jobs[0].Source, &graph.Loss{}, nil
	}
	s, loss, err := formats.Ranks(load)
	if err == nil {
		loss.AddN("jobs of messages on connections", "", len(load.Jobs))
	}
	return s, loss, err
}

// WorkloadView is the output of workload inspect.
type WorkloadView struct {
	File      string              `json:"file"`
	Format    string              `json:"format"`
	Transfers int                 `json:"transfers"` // 0: the file has ranks
	Triggers  int                 `json:"triggers"`
	Failures  []workloads.Failure `json:"failures,omitempty"`
	Summary   *inspect.Summary    `json:"workload"`
	Bounds    []inspect.Bound     `json:"bounds"` // what it takes at least, the longest first
	Ideal     *inspect.Played     `json:"ideal"`  // null: too many operations
	Lost      []graph.Lost        `json:"lost"`
	Reason    string              `json:"reason,omitempty"` // why Ideal is null
}

func workloadInspectCommand(a *command.App) *cobra.Command {
	var f inputFlags
	var asJSON bool
	var rate, latency, out string
	cmd := &cobra.Command{
		Use:   "inspect FILE",
		Short: "Say what is in a workload or trace: ranks, messages, bytes by kind, critical path",
		Long: "Say what is in a workload or trace of another tool: ranks, messages, bytes by kind and dimension, collectives,\n" +
			"what of the file is not used, what it takes at least (--rate, --latency), and the critical path over links without\n" +
			"congestion. --out draws ranks by time as SVG. FILE may be a folder, or what names begin with, where a format has\n" +
			"one file per rank.",
		Example: "  csiglab workload inspect job.cm\n" +
			"  csiglab workload inspect traces/ --rate 400Gbps --latency 2us --out step.svg\n" +
			"  csiglab workload inspect micro.txt --ranks 16 --json",
		Args: command.One("a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			link := graph.Link{}
			var err error
			if link.Rate, err = units.ParseRate(rate); err != nil {
				return command.Usage("--rate: %w", err)
			}
			if link.Latency, err = units.ParseDuration(latency); err != nil || link.Latency < 0 {
				return command.Usage("--latency %q: want a time from 0 on, such as 2us", latency)
			}
			stop := a.Word(command.WordReading)
			i, err := command.Interruptible(cmd.Context(), func() (*WorkloadView, error) { return inspectWorkload(a, &f, args[0], link) })
			stop()
			if err != nil {
				return err
			}
			if out != "" {
				if err := drawWorkload(a, i, out); err != nil {
					return err
				}
			}
			if asJSON {
				return a.PrintJSON(i)
			}
			return a.Print(i.text(link))
		},
	}
	f.flags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&rate, "rate", "100Gbps", "rate of each rank's NIC; 0 is without limit")
	flags.StringVar(&latency, "latency", "1us", "time that a message takes beside")
	flags.StringVar(&out, "out", "", "draw ranks by time as SVG into this `FILE`")
	flags.BoolVar(&asJSON, "json", false, "print JSON on standard output and nothing else there")
	for _, name := range []string{"rate", "latency", "out"} {
		flags.Lookup(name).Annotations = map[string][]string{command.NoSetting: nil}
	}
	return cmd
}

func inspectWorkload(a *command.App, f *inputFlags, path string, link graph.Link) (*WorkloadView, error) {
	in, err := f.open(a, path)
	if err != nil {
		return nil, err
	}
	s, loss, err := rankPrograms(in)
	if err != nil {
		return nil, command.Misuse(fmt.Errorf("%s: %w", path, err))
	}
	i := &WorkloadView{File: path, Format: in.Format, Summary: inspect.Summarise(s, 1), Lost: append(append([]graph.Lost{}, in.Loss.Items()...), loss.Items()...)}
	if in.Workload != nil {
		i.Transfers, i.Triggers, i.Failures = len(in.Workload.Transfers), len(in.Workload.Triggers), in.Workload.Failures
	}
	if i.Summary.Partial {
		i.Reason = fmt.Sprintf("more than %d operations", inspect.MaxOperations)
	} else if i.Ideal, err = inspect.Play(s, 1, link); err != nil {
		return nil, command.Misuse(fmt.Errorf("%s: %w", path, err))
	}
	i.Bounds = i.Summary.Bounds(link, i.Ideal)
	return i, nil
}

func drawWorkload(a *command.App, i *WorkloadView, out string) error {
	if i.Ideal == nil {
		return command.Usage("--out %s: nothing to draw: %s", out, i.Reason)
	}
	var text strings.Builder
	if err := i.Ideal.Picture.SVG(&text, fmt.Sprintf("%s: %v over links without congestion", filepath.Base(i.File), units.Duration(i.Ideal.End))); err != nil {
		return command.Infrastructure(err)
	}
	return a.Write(out, []byte(text.String()))
}

// shownHops is how many parts of a critical path are printed.
const shownHops = 12

// shownCollectives is how many collectives are printed.
const shownCollectives = 20

func (i *WorkloadView) text(link graph.Link) string {
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	s := i.Summary
	fmt.Fprintf(t, "format\t%s\n", i.Format)
	if i.Transfers > 0 {
		fmt.Fprintf(t, "hosts\t%d\ntransfers\t%d\ntriggers\t%d\n", s.Ranks, i.Transfers, i.Triggers)
	} else {
		fmt.Fprintf(t, "ranks\t%d\nsteps\t%d\n", s.Ranks, s.Steps)
	}
	for _, f := range i.Failures {
		fmt.Fprintf(t, "failure\tlink %d upwards of %s%d\n", f.Link, f.Tier, f.Switch)
	}
	if s.Uncounted {
		fmt.Fprintln(t, "messages\ttoo many to count, and so are bytes and times")
	} else {
		fmt.Fprintf(t, "messages\t%d\nbytes\t%v\ncomputing\t%v of all ranks together\n", s.Messages, s.Bytes, s.Compute)
	}
	if i.Transfers == 0 && s.Compute == 0 && !s.Uncounted {
		fmt.Fprintln(t, "  \tthe file has no times of compute: ranks do nothing but communicate")
	}
	for _, k := range s.Kinds {
		fmt.Fprintf(t, "  %s\t%v in %d messages\n", k.Kind, k.Bytes, k.Messages)
	}
	t.Flush()
	for n, c := range s.Collectives {
		if n == 0 {
			fmt.Fprintln(t, "\ncollective\tkind\tranks\tbuffer\truns")
		}
		if n == shownCollectives {
			fmt.Fprintf(t, "and %d more, see --json\n", len(s.Collectives)-n)
			break
		}
		runs := fmt.Sprint(c.Runs)
		if s.Uncounted {
			runs = "not counted"
		}
		fmt.Fprintf(t, "%s\t%s by %s\t%d\t%v\t%s\n", c.Name, c.Kind, c.Algorithm, c.Ranks, c.Buffer, runs)
	}
	t.Flush()
	rate := "no limit"
	if link.Rate > 0 {
		rate = link.Rate.String()
	}
	for n, d := range s.Dimensions {
		if n == 0 {
			fmt.Fprintln(t, "\ndimension\tranks\tbytes\tmost of a rank\tat "+rate)
		}
		fmt.Fprintf(t, "%s\t%d\t%v\t%v\t%s\n", d.Name, d.Ranks, d.Bytes, d.Most, milliseconds(link.Rate, d.Most))
	}
	t.Flush()
	for n, b := range i.Bounds {
		if n == 0 {
			fmt.Fprintf(t, "\nat least (rate %s, latency %v): %v\n", rate, link.Latency, b.Time)
		}
		fmt.Fprintf(t, "  %s\t%v\t%s\n", b.What, b.Time, boundText(b))
	}
	t.Flush()
	if p := i.Ideal; p != nil {
		fmt.Fprintf(&text, "\nover links without congestion (rate %s, latency %v): %v\n", rate, link.Latency, units.Duration(p.End))
		fmt.Fprintf(&text, "critical path: %d parts, computing %v, messages %v, waiting for a time %v\n",
			len(p.Path), p.Compute, p.Messages, units.Duration(p.End)-p.Compute-p.Messages)
		for n, h := range p.Path {
			if n == shownHops {
				fmt.Fprintf(t, "  and %d more, see --json\n", len(p.Path)-n)
				break
			}
			what := "computes"
			if h.Peer >= 0 {
				what = fmt.Sprintf("sends %v to rank %d", h.Bytes, h.Peer)
			}
			fmt.Fprintf(t, "  %v\trank %d %s\t%v\t%s\n", units.Duration(h.From), h.Rank, what, units.Duration(h.Until-h.From), h.Of)
		}
		t.Flush()
	} else {
		fmt.Fprintf(&text, "\nnot played: %s\n", i.Reason)
	}
	for n, lost := range i.Lost {
		if n == 0 {
			fmt.Fprintln(&text, "\nnot used, or used in another way:")
		}
		fmt.Fprintf(&text, "  %s\n", lostText(lost))
	}
	return text.String()
}

// milliseconds returns how long bytes take at a rate.
func milliseconds(rate units.Rate, bytes units.Size) string {
	if rate == 0 {
		return "0 ms"
	}
	return fmt.Sprintf("%.3f ms", float64(rate.Serialisation(bytes))/float64(units.Millisecond))
}

// boundText says which rank a bound is of.
func boundText(b inspect.Bound) string {
	switch b.What {
	case "senders":
		return fmt.Sprintf("rank %d sends %v", b.Rank, b.Bytes)
	case "receivers":
		return fmt.Sprintf("rank %d receives %v", b.Rank, b.Bytes)
	case "computing":
		return fmt.Sprintf("rank %d", b.Rank)
	case "order":
		return fmt.Sprintf("rank %d computes, and waits for %v of messages, one thing after the other", b.Rank, b.Bytes)
	}
	return "over links without congestion"
}

func lostText(l graph.Lost) string {
	text := fmt.Sprintf("%d %s", l.Count, l.What)
	if l.First != "" {
		text += ", the first at " + l.First
	}
	return text
}

func workloadConvertCommand(a *command.App) *cobra.Command {
	var f inputFlags
	var to, out string
	cmd := &cobra.Command{
		Use:   "convert FILE",
		Short: "Write a workload or trace in the format of another tool",
		Long: "Write a workload or trace as an htsim connection matrix (cm), as Chakra traces (chakra: OUT.0.et, OUT.1.et …) or as\n" +
			"a GOAL schedule (goal). What the format cannot say is told. A file is never overwritten.",
		Example: "  csiglab workload convert job.goal --to cm -o job.cm\n" +
			"  csiglab workload convert job.cm --to chakra -o job",
		Args: command.One("a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := command.Choice("to", to, "cm", "chakra", "goal"); err != nil {
				return err
			}
			if out == "" {
				return command.Usage("give --out: the file to write; - is standard output")
			}
			if to == "chakra" && out == command.StdoutName {
				return command.Usage("--out -: Chakra has a file for each rank; give what their names begin with")
			}
			type result struct {
				loss *graph.Loss
				text string
			}
			stop := a.Word(command.WordReading)
			r, err := command.Interruptible(cmd.Context(), func() (result, error) {
				in, err := f.open(a, args[0])
				if err != nil {
					return result{}, err
				}
				for _, lost := range in.Loss.Items() {
					a.Notes([]string{"not used of the file: " + lostText(lost)})
				}
				text, loss, err := convertWorkload(in, to, out)
				return result{loss, text}, err
			})
			stop()
			if err != nil {
				return err
			}
			for _, lost := range r.loss.Items() {
				a.Notes([]string{"not in the new file: " + lostText(lost)})
			}
			switch {
			case to == "chakra":
				return nil
			case out == command.StdoutName:
				return a.Print(r.text)
			}
			return command.Create(out, r.text)
		},
	}
	f.flags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&to, "to", "", "format to write: cm, chakra or goal")
	flags.StringVarP(&out, "out", "o", "", "the `FILE`, of chakra what the names of the files begin with; - is standard output")
	for _, name := range []string{"to", "out"} {
		flags.Lookup(name).Annotations = map[string][]string{command.NoSetting: nil}
	}
	cmd.RegisterFlagCompletionFunc("to", cobra.FixedCompletions([]string{"cm", "chakra", "goal"}, cobra.ShellCompDirectiveNoFileComp)) // of a flag that is there
	return cmd
}

// convertWorkload returns a workload in another format; Chakra's files it writes.
func convertWorkload(in *formats.Input, to, out string) (string, *graph.Loss, error) {
	var text strings.Builder
	wrong := func(err error) error { return command.Misuse(err) }
	if to == "cm" {
		load, loss := in.Workload, &graph.Loss{}
		if load == nil || len(load.Transfers) == 0 {
			s, _, err := rankPrograms(in)
			if err == nil {
				load, loss, err = htsim.FromSource("", s, 1)
			}
			if err != nil {
				return "", nil, wrong(err)
			}
		}
		more, err := htsim.Write(&text, load)
		if err != nil {
			return "", nil, command.Infrastructure(err)
		}
		for _, l := range more.Items() {
			loss.AddN(l.What, l.First, l.Count)
		}
		return text.String(), loss, nil
	}
	s, loss, err := rankPrograms(in)
	if err != nil {
		return "", nil, wrong(err)
	}
	if inspect.Summarise(s, 1).Partial {
		return "", nil, command.Usage("the workload has more than %d operations, too many for a file; use fewer --ranks or --passes", inspect.MaxOperations)
	}
	var more *graph.Loss
	if to == "goal" {
		more, err = goal.Write(&text, s, 1)
	} else {
		for rank := range s.Ranks() {
			if name := fmt.Sprintf("%s.%d.et", out, rank); isThere(name) {
				return "", nil, command.Usage("%s is there already and is not overwritten; choose another name, or remove it", name)
			}
		}
		more, err = chakra.WriteFiles(out, s, chakra.WriteOptions{Seed: 1})
	}
	if err != nil {
		return "", nil, wrong(err)
	}
	for _, l := range more.Items() {
		loss.AddN(l.What, l.First, l.Count)
	}
	return text.String(), loss, nil
}

func isThere(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}
