// Package perform runs a campaign for a command: its flags, its progress, its report, and what is
// printed of its results.
package perform

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/resources"
	"github.com/csiglab/csiglab/cmd/cli/settings"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/reports"
)

// Run runs a set and prints its results.
func Run(a *command.App, cmd *cobra.Command, set *experiment.Set, r *Flags) error {
	if err := r.Check(a, cmd, set); err != nil {
		return err
	}
	return Show(cmd.Context(), a, r, func() (*campaign.Result, error) { return a.Work.Run(cmd.Context(), set, r.Options) })
}

// Do calls run, which takes the options of r, and shows the progress. The error has an exit code.
func Do(a *command.App, r *Flags, run func() (*campaign.Result, error)) (*campaign.Result, error) {
	r.Options.Version = command.Version()
	if v := a.Values[settings.Runs]; v.From != settings.Default {
		r.Options.Runs = v.Text
	}
	r.Options.Command = a.Command()
	bar := NewProgress(a.Stderr)
	stop := a.Word(command.WordChecking)
	r.Options.Progress = func(p campaign.Progress) {
		stop()
		bar.update(p)
	}
	r.Options.Announce = func(text string) {
		stop()
		a.Say(text)
	}
	result, err := run()
	stop()
	bar.Close()
	if result != nil {
		a.Notes(firstNotes(result))
	}
	if err != nil {
		err = RunError(err, result)
	}
	return result, err
}

// firstNotes returns as many notes of a run as somebody reads: with many seeds each may have its own.
func firstNotes(r *campaign.Result) []string {
	const most = 30
	rest := len(r.Notes) - most
	if rest <= 1 || r.Folder == "" {
		return r.Notes
	}
	return append(slices.Clone(r.Notes[:most]), fmt.Sprintf("%d more notes are in the report and in %s", rest, filepath.Join(r.Folder, runfolder.LogFile)))
}

// Show calls run as Do does, and prints the results.
func Show(ctx context.Context, a *command.App, r *Flags, run func() (*campaign.Result, error)) error {
	result, err := Do(a, r, run)
	if err != nil {
		if r.After != nil && result != nil && result.Folder != "" {
			err = fmt.Errorf("%w, then %s writes the figures", err, FiguresCommand(result.Folder))
		}
		return err
	}
	if r.NoReport {
		return withoutReport(ctx, a, r, result)
	}
	report, numbers, err := Report(ctx, a, result.Folder)
	if err != nil {
		rest := ""
		if r.After != nil {
			rest = ", and " + FiguresCommand(result.Folder) + " its figures"
		}
		return command.Infrastructure(fmt.Errorf("report: %w\nthe run is whole; csiglab report %s writes its report%s", err, result.Folder, rest))
	}
	if r.JSON {
		err = a.PrintJSON(result.Summary)
	} else {
		var text strings.Builder
		writeVerdict(&text, result.Set, numbers, result.Folder, report)
		err = a.Print(text.String())
	}
	if err != nil {
		return err
	}
	if r.After != nil {
		text, err := r.After(ctx, result.Folder, report, numbers)
		switch {
		case err != nil:
			return err
		case r.JSON:
			a.Say(text)
		default:
			if err := a.Print(text); err != nil {
				return err
			}
		}
	}
	return Outcome(result.Summary)
}

// withoutReport prints the results of a run whose report is not wanted.
func withoutReport(ctx context.Context, a *command.App, r *Flags, result *campaign.Result) error {
	if r.JSON {
		if err := a.PrintJSON(result.Summary); err != nil {
			return err
		}
		return Outcome(result.Summary)
	}
	numbers, err := command.Interruptible(ctx, func() (*reports.Report, error) {
		return reports.ReadStory(result.Written, measure.Meaning)
	})
	if err != nil {
		return command.Infrastructure(err)
	}
	var text strings.Builder
	writeVerdict(&text, result.Set, numbers, result.Folder, "none; csiglab report "+result.Folder+" writes one")
	if err := a.Print(text.String()); err != nil {
		return err
	}
	return Outcome(result.Summary)
}

// RunError gives an error of the orchestrator its exit code and names the incomplete
// folder.
func RunError(err error, result *campaign.Result) error {
	code := command.ExitInfrastructure
	var wrong *experiment.Error
	switch {
	case errors.Is(err, context.Canceled) && errors.Is(err, backend.ErrRemains):
		err = fmt.Errorf("interrupted: %w", err)
	case errors.Is(err, context.Canceled):
		err = errors.New("interrupted")
	case errors.Is(err, failure.ErrConfiguration) || errors.As(err, &wrong):
		code = command.ExitUsage
	}
	if code == command.ExitInfrastructure {
		err = resources.Shortage(err)
	}
	if result != nil && result.Folder != "" {
		err = fmt.Errorf("%w\nthe run is incomplete: %s in %s; csiglab run --resume %s does the rest", err, kept(result), result.Folder, result.Folder)
	}
	return &command.ExitError{Code: code, Err: err}
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

// Outcome turns a summary into the command's end.
func Outcome(s *runfolder.Summary) error {
	if !s.Valid {
		return &command.ExitError{Code: command.ExitInfrastructure}
	}
	for _, e := range s.Expectations {
		if !e.OK {
			return &command.ExitError{Code: command.ExitFailed}
		}
	}
	return nil
}

// FiguresFolder is where a demo puts its figures, in the run's folder.
const FiguresFolder = "figures"

// FiguresCommand is the command that writes the figures of a run where a demo has them.
func FiguresCommand(folder string) string {
	return fmt.Sprintf("csiglab report %s --figures %s", folder, filepath.Join(folder, FiguresFolder))
}
