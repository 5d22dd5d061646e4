package experiments

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/perform"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
	"github.com/csiglab/csiglab/reports"
	"github.com/csiglab/csiglab/reports/figures"
)

// demonstration is an entry of the table of demos.
type demonstration struct {
	experiment string
	seeds      int      // 0: those of the experiment
	intro      []string // lines
	figure     string   // how the name of the figure begins that it names at its end; "": it names nothing to look at
	shows      string   // what this figure shows
	then       string   // the demo after it, and what that shows; may be ""
}

// demonstrations is the table of demos. The first is the one without a name.
var demonstrations = []demonstration{
	{experiment: "three-flow", intro: []string{
		"Three flows on an oversubscribed fat tree: the victim 1->10 crosses two bottlenecks,",
		"0->2 and 9->10 one each. How many times the victim's rate do they get? Published:",
		"5:1 with NSCC alone, 2.3:1 when CSIG reports the largest delay on the path to it.",
	}},
	{experiment: "training-step", seeds: 1, figure: "signature-gpt", shows: "the signature: which links are busy when in the step",
		then: "csiglab demo fragmented is the second half: what CSIG is good for where jobs share a cluster",
		intro: []string{
			"Three steps of a GPT on 64 GPUs, in three ways: gradients stay on their rails (rails), cross an",
			"oversubscribed spine (spread), and the same with CSIG (csig). Nothing is opened.",
		}},
	{experiment: "fragmented", seeds: 3, figure: "cluster-slowdown", shows: "how many times as long as alone each job takes",
		intro: []string{
			"Three jobs on what a shared cluster has free, while one spine of four is slow: without CSIG",
			"(nscc, mixed), with CSIG in congestion control (csig), in load balancing (weighted), in both.",
		}},
}

// dashboardOfSteps is the address of the dashboard of training steps in a Grafana on this
// machine.
const dashboardOfSteps = "http://localhost:3000/d/csiglab-training"

func demoCommand(a *command.App) *cobra.Command {
	var r perform.Flags
	var names []string
	for _, d := range demonstrations {
		names = append(names, d.experiment)
	}
	cmd := &cobra.Command{
		Use:   "demo [" + strings.Join(names, "|") + "]",
		Short: "Run a demonstration: three-flow against its published figures, a step of a training job, or jobs that share a cluster",
		Long: "Run a demonstration.\n\n" +
			"three-flow, without a name: three flows and two bottlenecks, compared with the published figures.\n" +
			"training-step: one step of a GPT without and with CSIG.\n" +
			"fragmented: its second half: what CSIG gains where jobs share a cluster.\n" +
			"The last two name three things to look at; docs/how-to/demo.md is a talk about them.",
		Example:   "  csiglab demo\n  csiglab demo training-step --out runs/talk",
		Args:      command.AtMostOne("a demo"),
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			d := &demonstrations[0]
			if len(args) > 0 {
				if d = demoOf(args[0]); d == nil {
					return command.Usage("unknown demo %q%s; known: %s", args[0], command.DidYouMean(args[0], names), strings.Join(names, " "))
				}
			}
			set, err := experiment.Load(d.experiment, experiment.Options{
				Env: a.Env, Reserved: command.Reserved(), Seeds: d.seeds, Tables: experiment.StandardTables(),
			})
			if err != nil {
				return command.Misuse(err)
			}
			for _, line := range d.intro {
				fmt.Fprintln(a.Stderr, line)
			}
			if d.figure != "" {
				r.After = func(ctx context.Context, folder, report string, read *reports.Report) (string, error) {
					return d.lookAt(ctx, folder, report, read)
				}
			}
			return perform.Run(a, cmd, set, &r)
		},
	}
	r.AddFlags(cmd)
	r.Options.Payload, r.Options.Processes = campaign.PayloadFull, string(backend.ProcessPerNode)
	return cmd
}

func demoOf(name string) *demonstration {
	for i := range demonstrations {
		if demonstrations[i].experiment == name {
			return &demonstrations[i]
		}
	}
	return nil
}

// lookAt writes the figures of a run into its folder and returns the three things to look
// at.
func (d *demonstration) lookAt(ctx context.Context, folder, report string, read *reports.Report) (string, error) {
	dir := filepath.Join(folder, perform.FiguresFolder)
	index, err := figuresInto(ctx, drawn{read.Name, read.Figures()}, pageFigures(dir))
	if err != nil {
		return "", fmt.Errorf("%w\nthe run is whole; %s writes its figures", err, perform.FiguresCommand(folder))
	}
	figure := figures.IndexFile
	for _, f := range index.Figures {
		if strings.HasPrefix(f.Name, d.figure) {
			figure = f.SVG
			break
		}
	}
	then := ""
	if d.then != "" {
		then = d.then + "\n"
	}
	return fmt.Sprintf(`
Three things to look at:
1. %s
   the report, in a browser; needs no network
2. %s
   %s; for slides, there is a PNG beside it
3. csiglab serve %s
   serves the run to Grafana, which then has the dashboards at %s
   (docs/how-to/demo.md: what to say at each picture, and how the dashboards get there)
%s`, report, filepath.Join(dir, figure), d.shows, folder, dashboardOfSteps, then), nil
}
