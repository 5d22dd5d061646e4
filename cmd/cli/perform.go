package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/settings"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
	"github.com/csiglab/csiglab/reports"
)

// perform runs a set and prints its results.
func (a *app) perform(cmd *cobra.Command, set *experiment.Set, r *runFlags) error {
	if err := r.check(a, cmd, set); err != nil {
		return err
	}
	return a.show(cmd.Context(), r, func() (*campaign.Result, error) { return a.lab.run(cmd.Context(), set, r.options) })
}

// show calls run, which takes the options of r, and prints the results.
func (a *app) show(ctx context.Context, r *runFlags, run func() (*campaign.Result, error)) error {
	r.options.Version = buildVersion()
	if v := a.values[settings.Runs]; v.From != settings.Default {
		r.options.Runs = v.Text
	}
	r.options.Command = a.command()
	bar := newProgress(a.stderr)
	stop := a.word(wordChecking)
	r.options.Progress = func(p campaign.Progress) {
		stop()
		bar.update(p)
	}
	r.options.Announce = func(text string) {
		stop()
		a.say(text)
	}
	if !r.probe {
		r.options.Meter = a.meter(worthForRun, stop)
	}
	result, err := run()
	stop()
	bar.close()
	if result != nil {
		a.notes(result.Notes)
	}
	if err != nil {
		err = runError(err, result)
		if r.after != nil && result != nil && result.Folder != "" {
			err = fmt.Errorf("%w, then %s writes the figures", err, figuresCommand(result.Folder))
		}
		return err
	}
	if r.noReport {
		return a.withoutReport(ctx, r, result)
	}
	report, numbers, err := a.writeReport(ctx, result.Folder)
	if err != nil {
		rest := ""
		if r.after != nil {
			rest = ", and " + figuresCommand(result.Folder) + " its figures"
		}
		return infrastructure(fmt.Errorf("report: %w\nthe run is whole; csiglab report %s writes its report%s", err, result.Folder, rest))
	}
	if r.json {
		err = a.printJSON(result.Summary)
	} else {
		var text strings.Builder
		writeVerdict(&text, result.Set, numbers, result.Folder, report)
		err = a.print(text.String())
	}
	if err != nil {
		return err
	}
	if r.after != nil {
		text, err := r.after(ctx, result.Folder, report, numbers)
		switch {
		case err != nil:
			return err
		case r.json:
			a.say(text)
		default:
			if err := a.print(text); err != nil {
				return err
			}
		}
	}
	return outcome(result.Summary)
}

// withoutReport prints the results of a run whose report is not wanted.
func (a *app) withoutReport(ctx context.Context, r *runFlags, result *campaign.Result) error {
	if r.json {
		if err := a.printJSON(result.Summary); err != nil {
			return err
		}
		return outcome(result.Summary)
	}
	numbers, err := interruptible(ctx, func() (*reports.Report, error) { return analyse(result.Folder, nil) })
	if err != nil {
		return infrastructure(err)
	}
	var text strings.Builder
	writeVerdict(&text, result.Set, numbers, result.Folder, "none; csiglab report "+result.Folder+" writes one")
	if err := a.print(text.String()); err != nil {
		return err
	}
	return outcome(result.Summary)
}

// runError gives an error of the orchestrator its exit code and names the incomplete
// folder.
func runError(err error, result *campaign.Result) error {
	code := exitInfrastructure
	var wrong *experiment.Error
	switch {
	case errors.Is(err, context.Canceled) && errors.Is(err, backend.ErrRemains):
		err = fmt.Errorf("interrupted: %w", err)
	case errors.Is(err, context.Canceled):
		err = errors.New("interrupted")
	case errors.Is(err, failure.ErrConfiguration) || errors.As(err, &wrong):
		code = exitUsage
	}
	if code == exitInfrastructure {
		err = shortage(err)
	}
	if result != nil && result.Folder != "" {
		err = fmt.Errorf("%w\nthe run is incomplete: %s in %s; csiglab run --resume %s does the rest", err, kept(result), result.Folder, result.Folder)
	}
	return &exitError{code, err}
}

// kept says what of a run that did not end well is in its folder.
func kept(r *campaign.Result) string {
	switch {
	case r.Kept == 0:
		return "no run has finished; what it left is"
	case r.Kept == 1 && r.Runs == 1:
		return "its run has finished and is kept"
	case r.Kept == 1:
		return fmt.Sprintf("1 of %d runs has finished and is kept", r.Runs)
	}
	return fmt.Sprintf("%d of %d runs have finished and are kept", r.Kept, r.Runs)
}

// outcome turns a summary into the command's end.
func outcome(s *runfolder.Summary) error {
	if !s.Valid {
		return &exitError{code: exitInfrastructure}
	}
	for _, e := range s.Expectations {
		if !e.OK {
			return &exitError{code: exitFailed}
		}
	}
	return nil
}
