package comparisons

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/resources"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/compare/bisect"
	"github.com/csiglab/csiglab/orchestrator/compare/regress"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
)

// comparisonError gives an error of a regression or a search its exit code.
func comparisonError(err error) error {
	var wrong *experiment.Error
	var exit *command.ExitError
	var unfinished *trial.Unfinished
	var run *bisect.RunError
	switch {
	case err == nil || errors.As(err, &exit):
		return err
	case errors.As(err, &unfinished):
		err = comparisonError(unfinished.Err)
		if command.ExitCode(err) == command.ExitInfrastructure {
			err = command.Infrastructure(fmt.Errorf("%w\n%s", err, unfinished.Rest))
		}
		return err
	case errors.Is(err, bisect.ErrInconclusive):
		return &command.ExitError{Code: command.ExitInconclusive, Err: err}
	case errors.As(err, &run) && run.Exit != command.ExitUsage:
		return command.Infrastructure(err)
	case errors.As(err, &run), errors.Is(err, bisect.ErrNoChange), errors.Is(err, bisect.ErrEnd):
		return command.Misuse(err)
	case errors.Is(err, context.Canceled):
		return command.Infrastructure(errors.New("interrupted"))
	case errors.Is(err, failure.ErrConfiguration), errors.As(err, &wrong):
		return command.Misuse(err)
	}
	return command.Infrastructure(resources.Shortage(err))
}

// builds says how programs of sides are built.
func builds(a *command.App) regress.Builds {
	return regress.Builds{Linked: command.SourceFolder, View: func(what string) (func(string), func()) {
		shown := newBuildProgress(a.Stderr, what, buildElsewhere)
		return shown.say, func() { shown.close() }
	}}
}

// campaignView returns what makes the view of a campaign when it begins.
func campaignView(a *command.App) func() regress.View {
	return func() regress.View {
		bar := newCampaignProgress(a)
		return regress.View{Progress: bar.update, Say: bar.line, End: bar.close}
	}
}

// campaignWork returns how a regression performs trials: on the cluster that flags name, if any.
func campaignWork(a *command.App, cmd *cobra.Command, r *regressFlags, name string) (regress.Work, error) {
	w := regress.Work{Environment: a.Env, View: campaignView(a)}
	remote, err := clusterRunner(cmd.Context(), a, cmd.Flags(), &r.cluster, "regress", name, r.parallel)
	if remote != nil {
		w.Runner, w.Most, w.Close = remote, remote.Most(), func() { closeRunner(cmd.Context(), a, remote) }
	}
	return w, err
}

// campaignProgress shows how far a campaign is: a bar on a terminal, elsewhere the lines of
// say alone.
type campaignProgress struct {
	*command.App
	bar   *progressbar.ProgressBar // nil without a terminal
	began time.Time
	kept  int // trials of an earlier session, which took no time
}

// keptTime is how long trials that are in the journal already keep coming.
const keptTime = 300 * time.Millisecond

func newCampaignProgress(a *command.App) *campaignProgress {
	return &campaignProgress{App: a, bar: command.NewBar(a.Stderr), began: time.Now()}
}

func (p *campaignProgress) update(now regress.Progress) {
	if p.bar == nil || now.Least == 0 {
		return
	}
	took := time.Since(p.began)
	if took < keptTime {
		p.kept = now.Done
	}
	left := ""
	if ran := now.Done - p.kept; ran > 1 {
		left = fmt.Sprintf(", at least %v left", (took / time.Duration(ran) * time.Duration(now.Least-now.Done)).Round(time.Second))
	}
	p.bar.Describe(fmt.Sprintf("%s: %d of %s%s", now.Name, now.Done, spelling.Plural(now.Least, "run"), left))
	p.bar.Set(command.BarSteps * now.Done / now.Least) // a bar that cannot be drawn is no error
}

// line prints a line above the bar.
func (p *campaignProgress) line(text string) {
	if p.bar != nil {
		p.bar.Clear() // as above
	}
	p.App.Say(text)
}

func (p *campaignProgress) close() {
	if p.bar != nil {
		p.bar.Finish() // as above
	}
}
