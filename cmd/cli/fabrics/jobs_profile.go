package fabrics

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/profiles"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/circle"
	"github.com/csiglab/csiglab/workloads/profilefile"
)

// profileFlags say what jobs profile measures.
type profileFlags struct {
	variant, out string
	jobs, ports  []string
	seed         uint64
	anySeed      bool // none was given
	json         bool
}

func jobsProfileCommand(a *command.App) *cobra.Command {
	var f profileFlags
	cmd := &cobra.Command{
		Use:   "profile RUN",
		Short: "Measure the communication profile of jobs from a run's folder",
		Long: "Measure the period and the bursts of jobs from the records of the ports that send: the NICs of a job's hosts,\n" +
			"or the ports of --port, for programs whose steps nobody records. The period is found by autocorrelation. Figures\n" +
			"are means over the iterations; ± holds the true mean in 95 of 100 cases, ± ? is not known. A job that shares links in the run has longer bursts\n" +
			"than it has alone.",
		Example: "  csiglab jobs profile runs/alone --out alone.json\n" +
			"  csiglab jobs profile runs/pair --variant fair --job first\n" +
			"  csiglab jobs profile runs/app --port h0-s0",
		Args: command.One("a run's folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.anySeed = !cmd.Flags().Changed("seed")
			for _, name := range []string{"job", "port"} {
				if given, _ := cmd.Flags().GetStringSlice(name); cmd.Flags().Changed(name) && (len(given) == 0 || slices.Contains(given, "")) {
					return command.Usage("--%s: a name is empty", name)
				}
			}
			measured, err := command.Interruptible(cmd.Context(), func() (*measuredProfiles, error) { return f.measure(args[0]) })
			if err != nil {
				return err
			}
			profiles := measured.profiles
			for _, p := range profiles {
				if !p.Disagrees() {
					continue
				}
				doubt := fmt.Sprintf("job %s: its ports repeat themselves every %.4g ms, and the records of its steps have iterations of %.4g ms: "+
					"an iteration may have several bursts that are much alike", p.Name, p.PeriodUS.Mean/1000, p.Records.IterationUS/1000)
				if f.out != "" {
					return command.Usage("%s: --out: %s", args[0], doubt)
				}
				measured.notes = append(measured.notes, doubt)
			}
			a.Notes(measured.notes)
			if f.out != "" {
				text, err := profileText(args[0], profiles)
				if err != nil {
					return err
				}
				if err := a.Write(f.out, text); err != nil {
					return err
				}
			}
			if f.json {
				return a.PrintJSON(profiles)
			}
			return a.Print(profileTable(profiles))
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.jobs, "job", nil, "measure the job of this `NAME` alone; may be repeated (default: all)")
	flags.StringVar(&f.variant, "variant", "", "the `VARIANT`, if there are several")
	flags.Uint64Var(&f.seed, "seed", 0, "the run with this seed (default: the first)")
	flags.StringSliceVar(&f.ports, "port", nil, "look at this `PORT` and not at jobs; may be repeated, for ports that send together")
	flags.StringVar(&f.out, "out", "", "write the profiles into this `FILE`, for csiglab jobs fit")
	flags.BoolVar(&f.json, "json", false, "print JSON on standard output and nothing else there")
	for _, name := range []string{"job", "variant", "seed", "port", "out"} {
		flags.Lookup(name).Annotations = map[string][]string{command.NoSetting: nil}
	}
	return cmd
}

// measuredProfiles are the profiles of a run, at least one, and why other jobs have none.
type measuredProfiles struct {
	profiles []*profiles.Profile
	notes    []string
}

// measure measures the profiles that the flags ask for. A job that shows no profile is an
// error if --job names it, or if no other job shows one.
func (f *profileFlags) measure(dir string) (*measuredProfiles, error) {
	if len(f.jobs) > 0 && len(f.ports) > 0 {
		return nil, command.Usage("--job and --port exclude each other")
	}
	folder, err := runfolder.OpenKept(dir)
	if err != nil {
		return nil, command.FolderError(err)
	}
	m := &folder.Manifest
	of := profiles.Of{Variant: f.variant, Seed: f.seed}
	var variants []string
	for i := range m.Variants {
		variants = append(variants, m.Variants[i].Name)
	}
	switch {
	case of.Variant == "" && len(variants) == 1:
		of.Variant = variants[0]
	case of.Variant == "":
		return nil, command.Usage("%s: a profile is of one variant; add --variant with one of: %s", dir, strings.Join(variants, " "))
	case !slices.Contains(variants, of.Variant):
		return nil, command.Usage("%s: --variant: unknown variant %q%s; known: %s", dir, of.Variant, command.DidYouMean(of.Variant, variants), strings.Join(variants, " "))
	}
	if f.anySeed {
		at := slices.IndexFunc(m.Runs, func(r runfolder.Run) bool { return r.Variant == of.Variant })
		if at < 0 {
			return nil, command.Usage("%s: variant %s has no run", dir, of.Variant)
		}
		of.Seed = m.Runs[at].Seed
	}
	var known []string
	for _, j := range m.JobsOf(of.Variant) {
		known = append(known, j.Name)
	}
	for _, name := range f.jobs {
		if !slices.Contains(known, name) {
			return nil, command.Usage("%s: --job: variant %s has no job %q%s; it has: %s", dir, of.Variant, name, command.DidYouMean(name, known), strings.Join(known, " "))
		}
	}
	switch {
	case len(f.ports) > 0:
		of.Ports = f.ports
	case len(f.jobs) > 0:
		for _, name := range f.jobs {
			if !slices.Contains(of.Jobs, name) {
				of.Jobs = append(of.Jobs, name)
			}
		}
	case len(known) == 0:
		return nil, command.Usage("%s: variant %s has no jobs; --port says whose records to look at", dir, of.Variant)
	default:
		of.Jobs = known
	}
	all, err := profiles.Measure(folder, of)
	switch {
	case errors.Is(err, profiles.ErrNoProfile):
		return nil, command.Usage("%s: %w", dir, err)
	case err != nil:
		return nil, command.FolderError(err)
	}
	var out measuredProfiles
	var failed error
	for i, m := range all {
		if m.Err == nil {
			out.profiles = append(out.profiles, m.Profile)
			continue
		}
		what := "port " + strings.Join(of.Ports, ", ")
		if len(of.Jobs) > 0 {
			what = "job " + of.Jobs[i]
		}
		if failed == nil {
			failed = command.Usage("%s: %s: %w", dir, what, m.Err)
		}
		out.notes = append(out.notes, fmt.Sprintf("%s: %v", what, m.Err))
	}
	if failed != nil && (len(out.profiles) == 0 || len(f.jobs) > 0) {
		return nil, failed
	}
	return &out, nil
}

// profileTable prints profiles as a table.
func profileTable(profiles []*profiles.Profile) string {
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "job\tperiod\tburst\tat\tlength\trate (Gb/s)\titerations")
	for _, p := range profiles {
		for k, b := range p.Bursts {
			name, period, iterations := "", "", ""
			if k == 0 {
				name, period, iterations = p.Name, timeEstimate(p.PeriodUS), fmt.Sprint(p.Iterations)
				if p.Alike < p.Iterations {
					iterations = fmt.Sprintf("%d, %d with %d bursts", p.Iterations, p.Alike, len(p.Bursts))
				}
			}
			fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\t%s\n", name, period, k+1, timeEstimate(b.AtUS), timeEstimate(b.LengthUS), rateEstimate(b.Gbps), iterations)
		}
	}
	t.Flush()
	text.WriteByte('\n')
	for _, p := range profiles {
		fmt.Fprintf(&text, "%s: %s of variant %s, seed %d, in windows of %.4g µs. The autocorrelation has its peak at %.4g ms, of height %.2f.\n",
			p.Name, strings.Join(p.Ports, " "), p.Variant, p.Seed, p.WindowUS, p.LagUS/1000, p.Correlation)
		if r := p.Records; r != nil {
			fmt.Fprintf(&text, "  The records of its %d steps: %.4g ms a step, %.4g ms of them with a collective under way.\n", r.Steps, r.IterationUS/1000, r.CommunicationUS/1000)
		}
		if len(p.Shares) > 0 {
			fmt.Fprintf(&text, "  It shares links with %s; alone its bursts may be shorter.\n", strings.Join(p.Shares, ", "))
		}
	}
	return text.String()
}

// timeEstimate prints a time in milliseconds, with two errors to two digits.
func timeEstimate(e profiles.Estimate) string {
	ms, digits := e.Mean/1000, 3
	if e.Error == nil {
		return fmt.Sprintf("%.*f ± ? ms", digits, ms)
	}
	bound := 2 * *e.Error / 1000
	if bound > 0 {
		digits = min(6, max(0, 1-int(math.Floor(math.Log10(bound)))))
	}
	return fmt.Sprintf("%.*f ± %.*f ms", digits, ms, digits, bound)
}

// rateEstimate prints a rate without its unit, with two errors.
func rateEstimate(e profiles.Estimate) string {
	if e.Error == nil {
		return fmt.Sprintf("%.3g ± ?", e.Mean)
	}
	return fmt.Sprintf("%.3g ± %.2g", e.Mean, 2**e.Error)
}

// profileText returns a profile file.
func profileText(dir string, profiles []*profiles.Profile) ([]byte, error) {
	var jobs []profilefile.Job
	for _, p := range profiles {
		jobs = append(jobs, profileOf(dir, p))
	}
	var text bytes.Buffer
	if err := profilefile.Write(&text, jobs); err != nil {
		return nil, command.Usage("%s: %w", dir, err)
	}
	return text.Bytes(), nil
}

// profileOf returns a measured profile as files have it.
func profileOf(dir string, p *profiles.Profile) profilefile.Job {
	time := func(us float64) units.Duration { return units.Duration(math.Round(us * float64(units.Microsecond))) }
	// bound returns two errors; 0, not known, without one.
	bound := func(e profiles.Estimate) units.Duration {
		if e.Error == nil {
			return 0
		}
		return time(2 * *e.Error)
	}
	j := profilefile.Job{
		Profile:     circle.Profile{Name: p.Name, Period: time(p.PeriodUS.Mean)},
		Source:      fmt.Sprintf("measured at %s in %s, variant %s, seed %d, over %d iterations", strings.Join(p.Ports, " "), dir, p.Variant, p.Seed, p.Iterations),
		Uncertainty: profilefile.Uncertainty{Period: bound(p.PeriodUS)},
	}
	end, known := units.Duration(0), true
	for _, b := range p.Bursts {
		one := circle.Burst{At: max(time(b.AtUS.Mean), end), Rate: units.Rate(math.Round(b.Gbps.Mean * float64(units.Gbps)))}
		one.Length = min(time(b.LengthUS.Mean), j.Period-one.At)
		end = one.End()
		j.Bursts = append(j.Bursts, one)
		j.Uncertainty.Bursts = max(j.Uncertainty.Bursts, bound(b.AtUS), bound(b.LengthUS))
		known = known && b.AtUS.Error != nil && b.LengthUS.Error != nil
	}
	if !known {
		j.Uncertainty.Bursts = 0
	}
	return j
}
