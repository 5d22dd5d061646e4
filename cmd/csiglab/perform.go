package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/campaign"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/failure"
)

// perform runs a set and prints its results.
func (a *app) perform(cmd *cobra.Command, set *experiment.Set, r *runFlags) error {
	if err := r.check(cmd, set); err != nil {
		return err
	}
	r.options.Version = buildVersion()
	r.options.Command = append([]string{"csiglab"}, a.args...)
	bar := newProgress(a.stderr)
	r.options.Progress = bar.update
	r.options.Announce = a.say
	result, err := a.lab.run(cmd.Context(), set, r.options)
	bar.close()
	if result != nil {
		a.notes(result.Notes)
	}
	if err != nil {
		return runError(err, result)
	}
	report, numbers, err := a.lab.report(result.Folder)
	if err != nil {
		return infrastructure(fmt.Errorf("report: %w\nthe run is whole; csiglab report %s writes its report", err, result.Folder))
	}
	if r.json {
		err = a.printJSON(result.Summary)
	} else {
		var text strings.Builder
		writeVerdict(&text, set, numbers, result.Folder, report)
		err = a.print(text.String())
	}
	if err != nil {
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
		err = fmt.Errorf("%w\nthe run is incomplete; what it left is in %s", err, result.Folder)
	}
	return &exitError{code, err}
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
