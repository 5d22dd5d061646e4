package fabrics

import (
	"bytes"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/fit"
	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/circle"
)

// fitFlags say what jobs fit is asked.
type fitFlags struct {
	capacity, grid, picture string
	links                   []string
	tolerance, angle        float64
	json                    bool
}

func jobsFitCommand(a *command.App) *cobra.Command {
	var f fitFlags
	cmd := &cobra.Command{
		Use:   "fit JOB...",
		Short: "Say which training jobs fit on a link together, with which start offsets, and how long iterations take",
		Long: "Say whether the communication of training jobs can interleave on the links that they share, with which start\n" +
			"offsets, and how long iterations take then (docs/how-to/jobs.md). Two jobs with a burst each fit if and only if both\n" +
			"bursts together are no longer than the greatest common divisor of the periods. A JOB is\n\n" +
			"  a preset                       " + "see csiglab jobs list\n" +
			"  " + fit.Inline + "\n" +
			"                                 a profile; a period begins with computing\n" +
			"  FILE.json, FILE.json#JOB       profiles that csiglab jobs profile has measured, or one of them\n" +
			"  EXPERIMENT, EXPERIMENT#JOB     the jobs of kind profile of an experiment, or one of them\n\n" +
			"A job that is named twice is there twice, as in vgg16 vgg16. All jobs share one link, unless --link says which do;\n" +
			"those of one experiment share the links of its topology.",
		Example: "  csiglab jobs fit vgg16 vgg16 --picture circle.svg\n" +
			"  csiglab jobs fit cluster-rotation\n" +
			"  csiglab jobs fit a=40ms:10ms@50Gbps b=60ms:10ms@50Gbps\n" +
			"  csiglab jobs fit a=100ms:30ms b=100ms:30ms c=200ms:50ms --link up=a,b --link down=b,c",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return command.Usage("want jobs, such as csiglab jobs fit vgg16 vgg16; see %s --help", cmd.CommandPath())
			}
			o, err := f.options(cmd)
			if err != nil {
				return err
			}
			r, err := command.Interruptible(cmd.Context(), func() (*fit.Result, error) {
				jobs, err := fit.Jobs(args)
				if err != nil {
					return nil, command.Usage("%w", err)
				}
				r, err := fit.New(jobs, o)
				if err != nil {
					return nil, command.Usage("%w", err)
				}
				return r, nil
			})
			if err != nil {
				return err
			}
			if f.picture != "" {
				if err := drawFit(a, r, f.picture); err != nil {
					return err
				}
			}
			if f.json {
				return a.PrintJSON(r)
			}
			return a.Print(r.Text())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.capacity, "capacity", "", "`RATE` of the links (default: those of the experiment, else that of the fastest burst)")
	flags.StringArrayVar(&f.links, "link", nil, "a link and its jobs, `NAME[@RATE]=JOB,JOB...`; may be repeated (default: the links that the jobs of an experiment share, else one for all jobs)")
	flags.StringVar(&f.grid, "grid", "", "`STEP` of the grid for periods and bursts (default: one is chosen for the periods, bursts stay)")
	flags.Float64Var(&f.tolerance, "tolerance", circle.DefaultTolerance, "by which `SHARE` a period may grow, to have a common grid with others")
	flags.Float64Var(&f.angle, "angle", 0, "scores of a circle in sectors of so many `DEGREES` too, in --json (default: sectors of 5 or less, where exact scores are hard)")
	flags.StringVar(&f.picture, "picture", "", "draw the unified circle into this `FILE`, .svg or .png")
	flags.BoolVar(&f.json, "json", false, "print JSON on standard output and nothing else there")
	for _, name := range []string{"capacity", "link", "grid", "tolerance", "angle", "picture"} {
		flags.Lookup(name).Annotations = map[string][]string{command.NoSetting: nil}
	}
	return cmd
}

// options checks the flags.
func (f *fitFlags) options(cmd *cobra.Command) (o fit.Options, err error) {
	flags := cmd.Flags()
	if flags.Changed("capacity") {
		if o.Capacity, err = units.ParseRate(f.capacity); err != nil {
			return o, command.Usage("--capacity: %w", err)
		}
		if o.Capacity <= 0 || o.Capacity > circle.MaxRate {
			return o, command.Usage("--capacity %s: want more than 0 and at most %v", f.capacity, circle.MaxRate)
		}
	}
	if flags.Changed("grid") {
		if o.Grid.Step, err = units.ParseDuration(f.grid); err != nil {
			return o, command.Usage("--grid: %w", err)
		}
		if o.Grid.Step <= 0 || o.Grid.Step > circle.MaxPeriod {
			return o, command.Usage("--grid %s: want more than 0 and at most %v", f.grid, circle.MaxPeriod)
		}
	}
	if o.Grid.Tolerance = f.tolerance; !(f.tolerance > 0 && f.tolerance <= circle.MaxTolerance) {
		return o, command.Usage("--tolerance %v: want more than 0 and at most %d, such as 0.01 for 1 %%", f.tolerance, circle.MaxTolerance)
	}
	if o.Angle = f.angle; flags.Changed("angle") && !(f.angle > 0 && f.angle <= 360) {
		return o, command.Usage("--angle %v: want more than 0 and at most 360 degrees", f.angle)
	}
	for _, text := range f.links {
		l, err := fit.ParseLink(text)
		if err != nil {
			return o, command.Usage("--link %w", err)
		}
		o.Links = append(o.Links, l)
	}
	if ext := pictureExt(f.picture); f.picture != "" && ext != ".svg" && ext != ".png" {
		return o, command.Usage("--picture %s: want a name that ends in .svg or .png", f.picture)
	}
	return o, nil
}

func pictureExt(name string) string { return strings.ToLower(filepath.Ext(name)) }

// drawFit writes the picture of a result.
func drawFit(a *command.App, r *fit.Result, name string) error {
	figure, err := r.Picture()
	if err != nil {
		return command.Usage("--picture: %w", err)
	}
	var data bytes.Buffer
	if err := figure.Write(&data, chart.Format(pictureExt(name)[1:]), chart.Layout{}); err != nil {
		return command.Infrastructure(err)
	}
	o := a.Output(name)
	o.Flag = "--picture"
	_, err = o.Write(data.Bytes())
	return o.End(err)
}
