package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/analysis"
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

func (a *app) jobsProfile() *cobra.Command {
	var f profileFlags
	cmd := &cobra.Command{
		Use:   "profile RUN",
		Short: "Measure the communication profile of jobs from a run's folder",
		Long: "Measure the period and the bursts of jobs from the records of the ports that send: the NICs of a job's hosts,\n" +
			"or the ports of --port, for programs whose steps nobody records. The period is found by autocorrelation. Figures\n" +
			"are means over the iterations; ± is two standard errors. A job that shares links in the run has longer bursts\n" +
			"than it has alone.",
		Example: "  csiglab jobs profile runs/alone --out alone.json\n" +
			"  csiglab jobs profile runs/pair --variant fair --job first\n" +
			"  csiglab jobs profile runs/app --port h0-s0",
		Args: one("a run's folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.anySeed = !cmd.Flags().Changed("seed")
			profiles, err := interruptible(cmd.Context(), func() ([]*analysis.JobProfile, error) { return f.measure(args[0]) })
			if err != nil {
				return err
			}
			if f.out != "" {
				text, err := profileText(args[0], profiles)
				if err != nil {
					return err
				}
				if err := a.write(f.out, text); err != nil {
					return err
				}
			}
			if f.json {
				return a.printJSON(profiles)
			}
			return a.print(profileTable(profiles))
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
		flags.Lookup(name).Annotations = map[string][]string{noSetting: nil}
	}
	return cmd
}

// measure measures the profiles that the flags ask for.
func (f *profileFlags) measure(dir string) ([]*analysis.JobProfile, error) {
	if len(f.jobs) > 0 && len(f.ports) > 0 {
		return nil, usage("--job and --port exclude each other")
	}
	folder, err := runfolder.OpenKept(dir)
	if err != nil {
		return nil, folderError(err)
	}
	m := &folder.Manifest
	of := analysis.ProfileOf{Variant: f.variant, Seed: f.seed, Ports: f.ports}
	var variants []string
	for i := range m.Variants {
		variants = append(variants, m.Variants[i].Name)
	}
	switch {
	case of.Variant == "" && len(variants) == 1:
		of.Variant = variants[0]
	case of.Variant == "":
		return nil, usage("%s: a profile is of one variant; add --variant with one of: %s", dir, strings.Join(variants, " "))
	case !slices.Contains(variants, of.Variant):
		return nil, usage("%s: --variant: unknown variant %q%s; known: %s", dir, of.Variant, didYouMean(of.Variant, variants), strings.Join(variants, " "))
	}
	if f.anySeed {
		at := slices.IndexFunc(m.Runs, func(r runfolder.Run) bool { return r.Variant == of.Variant })
		if at < 0 {
			return nil, usage("%s: variant %s has no run", dir, of.Variant)
		}
		of.Seed = m.Runs[at].Seed
	}
	jobs := f.jobs
	var known []string
	for _, j := range m.JobsOf(of.Variant) {
		known = append(known, j.Name)
	}
	for _, name := range jobs {
		if !slices.Contains(known, name) {
			return nil, usage("%s: --job: variant %s has no job %q%s; it has: %s", dir, of.Variant, name, didYouMean(name, known), strings.Join(known, " "))
		}
	}
	switch {
	case len(f.ports) > 0:
		jobs = []string{""}
	case len(jobs) == 0 && len(known) == 0:
		return nil, usage("%s: variant %s has no jobs; --port says whose records to look at", dir, of.Variant)
	case len(jobs) == 0:
		jobs = known
	}
	var all []*analysis.JobProfile
	for _, of.Job = range jobs {
		p, err := analysis.MeasureProfile(folder, of)
		switch what := "job " + of.Job; {
		case err != nil && errors.Is(err, analysis.ErrNoProfile):
			if of.Job == "" {
				what = "port " + strings.Join(f.ports, ", ")
			}
			return nil, usage("%s: %s: %w", dir, what, err)
		case err != nil:
			return nil, folderError(err)
		}
		all = append(all, p)
	}
	return all, nil
}

// profileTable prints profiles as a table.
func profileTable(profiles []*analysis.JobProfile) string {
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
			fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%.3g ± %.2g\t%s\n", name, period, k+1, timeEstimate(b.AtUS), timeEstimate(b.LengthUS), b.Gbps.Mean, 2*b.Gbps.Error, iterations)
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

// timeEstimate prints a time in milliseconds, with two standard errors to two digits.
func timeEstimate(e analysis.Estimate) string {
	ms, bound := e.Mean/1000, 2*e.Error/1000
	digits := 3
	if bound > 0 {
		digits = min(6, max(0, 1-int(math.Floor(math.Log10(bound)))))
	}
	return fmt.Sprintf("%.*f ± %.*f ms", digits, ms, digits, bound)
}

// profileText returns a profile file.
func profileText(dir string, profiles []*analysis.JobProfile) ([]byte, error) {
	var jobs []profilefile.Job
	for _, p := range profiles {
		jobs = append(jobs, profileOf(dir, p))
	}
	var text bytes.Buffer
	if err := profilefile.Write(&text, jobs); err != nil {
		return nil, usage("%s: %w", dir, err)
	}
	return text.Bytes(), nil
}

// profileOf returns a measured profile as files have it.
func profileOf(dir string, p *analysis.JobProfile) profilefile.Job {
	time := func(us float64) units.Duration { return units.Duration(math.Round(us * float64(units.Microsecond))) }
	j := profilefile.Job{
		Profile:     circle.Profile{Name: p.Name, Period: time(p.PeriodUS.Mean)},
		Source:      fmt.Sprintf("measured at %s in %s, variant %s, seed %d, over %d iterations", strings.Join(p.Ports, " "), dir, p.Variant, p.Seed, p.Iterations),
		Uncertainty: profilefile.Uncertainty{Period: time(2 * p.PeriodUS.Error)},
	}
	end := units.Duration(0)
	for _, b := range p.Bursts {
		one := circle.Burst{At: max(time(b.AtUS.Mean), end), Rate: units.Rate(math.Round(b.Gbps.Mean * float64(units.Gbps)))}
		one.Length = min(time(b.LengthUS.Mean), j.Period-one.At)
		end = one.End()
		j.Bursts = append(j.Bursts, one)
		j.Uncertainty.Bursts = max(j.Uncertainty.Bursts, time(2*b.AtUS.Error), time(2*b.LengthUS.Error))
	}
	return j
}
