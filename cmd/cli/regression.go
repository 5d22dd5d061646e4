package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/ui"
	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/compare/regress"
	"github.com/csiglab/csiglab/orchestrator/compare/revision"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/reports/regression"
)

// programsFolder is the folder of built programs in that of a regression. It is removed at
// the end: they come from the cache of builds again.
const programsFolder = "programs"

// comparing is a regression under way.
type comparing struct {
	*app
	plan   *regress.Plan
	folder string
	flags  *regressFlags
	fresh  bool // not resumed
	made   bool // the folder was not there before

	campaign regress.Campaign
	remote   Runner // of a cluster; nil: this machine
}

// connect connects to the cluster that the flags name, if they name one.
func (g *comparing) connect(cmd *cobra.Command) (err error) {
	g.remote, err = g.clusterRunner(cmd.Context(), cmd.Flags(), &g.flags.cluster, "regress", g.plan.Suite.Name, g.flags.parallel)
	return err
}

// runner gives the campaign its runner, with folders for the runs of this machine. The
// caller calls end.
func (g *comparing) runner(ctx context.Context, folder string) (end func()) {
	c := &g.campaign
	if g.remote == nil {
		c.Runner = &trial.Local{Folder: folder, Environment: g.env}
		return func() {}
	}
	c.Runner, c.Parallel, c.Elsewhere = g.remote, g.remote.Most(), true
	return func() { g.closeRunner(ctx, g.remote) }
}

// prepare checks all that can be checked before programs are built.
func (g *comparing) prepare(ctx context.Context) (err error) {
	c := &g.campaign
	*c = regress.Campaign{Suite: &g.plan.Suite, Filter: g.plan.Filter, Folder: g.folder, Version: buildVersion(), Command: g.plan.Command,
		Arguments: g.plan.Arguments, Strict: g.plan.Strict, Started: g.plan.Started, Before: g.plan.Before(g.folder), Parallel: g.flags.parallelism()}
	if c.Machine, err = os.Hostname(); err != nil {
		return infrastructure(err)
	}
	for side, spec := range g.sides() {
		if *side, err = newSide(spec); err != nil {
			return err
		}
	}
	_, err = interruptible(ctx, func() (struct{}, error) { return struct{}{}, c.Prepare() })
	if err != nil {
		return campaignError(err)
	}
	contents := c.Contents()
	if g.fresh {
		g.plan.Contents = contents
	}
	return campaignError(g.plan.Same(g.folder, contents))
}

func (g *comparing) sides() map[*regress.Side]*regress.Spec {
	return map[*regress.Side]*regress.Spec{&g.campaign.Baseline: &g.plan.Baseline, &g.campaign.Candidate: &g.plan.Candidate}
}

// run builds the programs, runs the trials, and writes and prints the verdict.
func (g *comparing) run(ctx context.Context) error {
	journal, err := trial.OpenJournal(g.folder)
	if err != nil {
		return journalError(err)
	}
	defer journal.Close() // every line is on the disk already
	programs := filepath.Join(g.folder, programsFolder)
	removePrograms := true
	defer func() {
		if removePrograms {
			os.RemoveAll(programs) //nolint:errcheck // the next session removes them
		}
	}()
	began := time.Now()
	g.plan.Sessions = append(g.plan.Sessions, regress.Session{Began: began.UTC()})
	if g.fresh { // a build that is killed can be resumed
		if err := g.plan.Write(g.folder); err != nil {
			g.discard(journal, programs)
			return infrastructure(err)
		}
	}
	if err := g.build(ctx, programs); err != nil {
		if g.fresh {
			g.discard(journal, programs)
		}
		if interrupted(err) {
			return infrastructure(errors.New("interrupted before the first run"))
		}
		return err
	}
	c := &g.campaign
	c.Building = time.Since(began)
	if err := g.plan.Write(g.folder); err != nil {
		return infrastructure(err)
	}
	c.Journal = journal
	runs := filepath.Join(g.folder, runsFolder)
	os.RemoveAll(runs)       //nolint:errcheck // what a session that was killed has left
	defer os.RemoveAll(runs) //nolint:errcheck // the next session does it
	defer g.runner(ctx, runs)()
	bar := g.newCampaignProgress()
	c.Progress, c.Say = bar.update, bar.line
	document, err := c.Run(ctx)
	bar.close()
	g.plan.Sessions[len(g.plan.Sessions)-1].Ended = time.Now().UTC()
	if err != nil {
		removePrograms = !errors.Is(err, trial.ErrNoProgram) // the message names them, for the image
		g.plan.Write(g.folder)                               //nolint:errcheck // the time of this session is lost
		return g.unfinished(err, journal.Len())
	}
	if err := g.plan.Write(g.folder); err != nil {
		return g.unfinished(err, journal.Len())
	}
	if err := writeVerdictFiles(g.folder, document); err != nil {
		return g.unfinished(infrastructure(err), journal.Len())
	}
	return g.show(document)
}

// discard removes what a regression without a run has written into its folder, and the
// folder unless the user had made it.
func (g *comparing) discard(journal *trial.Journal, programs string) {
	// The first error was reported; what stays is resumed or removed by the user.
	os.RemoveAll(programs)                                //nolint:errcheck // as above
	os.Remove(filepath.Join(g.folder, regress.PlanFile))  //nolint:errcheck // as above
	os.Remove(filepath.Join(g.folder, trial.JournalFile)) //nolint:errcheck // as above
	journal.Close()                                       //nolint:errcheck // as above
	if g.made {
		os.Remove(g.folder) //nolint:errcheck // as above
	}
}

// build completes the sides.
func (g *comparing) build(ctx context.Context, into string) error {
	for _, s := range []struct {
		side  *regress.Side
		spec  *regress.Spec
		flags *sideFlags
	}{{&g.campaign.Baseline, &g.plan.Baseline, &g.flags.baseline}, {&g.campaign.Candidate, &g.plan.Candidate, &g.flags.candidate}} {
		flags := s.flags
		if !g.fresh && s.spec.Identity == "" && s.side.Stored == nil { // the session before was killed during its build
			flags = &sideFlags{name: s.flags.name, text: s.spec.Side, set: s.spec.Set}
		}
		first := g.fresh || flags != s.flags
		if err := g.buildSide(ctx, s.side, s.spec, into); err != nil {
			return err
		}
		if first {
			s.spec.Flags = flags.arguments(s.spec)
		}
		s.side.Flags = s.spec.Flags
	}
	g.noteStale(ctx)
	return nil
}

// noteStale notes that this csiglab is another one than the checkout has, where it is
// compared with another program.
func (g *comparing) noteStale(ctx context.Context) {
	b, c := &g.campaign.Baseline, &g.campaign.Candidate
	if b.Identity == c.Identity {
		return
	}
	for _, s := range []*regress.Side{b, c} {
		if s.Kind != regress.KindSelf || s.Program != "" {
			continue
		}
		if why := revision.Stale(ctx, sourceFolder); why != "" {
			s.Notes = []string{"self may lack what is to be compared: " + why + "; build it again, or compare folder:DIR"}
			g.say(s.Notes[0])
		}
		return
	}
}

// unfinished gives the error of a campaign its exit code, and says how to go on.
func (g *comparing) unfinished(err error, trials int) error {
	err = campaignError(err)
	code := exitCode(err)
	if code != exitUsage {
		err = fmt.Errorf("%w\nthe regression is incomplete: %s kept in %s; csiglab regress --resume %[3]s does the rest", err, keptTrials(trials), g.folder)
	}
	return &exitError{code, err}
}

func keptTrials(trials int) string {
	if trials == 1 {
		return "1 run has ended and is"
	}
	return fmt.Sprintf("%d runs have ended and are", trials)
}

// campaignError gives an error of a campaign its exit code.
func campaignError(err error) error {
	var wrong *experiment.Error
	var exit *exitError
	switch {
	case err == nil || errors.As(err, &exit):
		return err
	case interrupted(err):
		return infrastructure(errors.New("interrupted"))
	case errors.Is(err, failure.ErrConfiguration), errors.As(err, &wrong):
		return &exitError{exitUsage, err}
	}
	return infrastructure(shortage(err))
}

// interrupted reports whether a campaign ended by Ctrl-C.
func interrupted(err error) bool { return errors.Is(err, context.Canceled) }

// journalError gives an error of opening a journal its exit code.
func journalError(err error) error {
	if errors.Is(err, trial.ErrBusy) || errors.Is(err, own.ErrForeign) {
		return &exitError{exitUsage, err}
	}
	return infrastructure(err)
}

// writeVerdictFiles writes the verdict in all its forms into a folder.
func writeVerdictFiles(folder string, d *verdict.Document) error {
	data, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	var html, junit bytes.Buffer
	if err := errors.Join(regression.HTML(&html, d), regression.JUnit(&junit, d)); err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		data []byte
	}{
		{ui.VerdictFile, append(data, '\n')}, {"verdict.md", []byte(regression.Markdown(d))}, {"verdict.html", html.Bytes()}, {"junit.xml", junit.Bytes()},
	} {
		name := filepath.Join(folder, f.name)
		if err := own.WriteFile(name, f.data, 0o644); err != nil {
			return failure.Infrastructure(fmt.Errorf("%s: %w", name, cause.Of(err)))
		}
	}
	return nil
}

// show prints the verdict and ends the command with its exit code.
func (g *comparing) show(d *verdict.Document) error {
	var err error
	if g.flags.json {
		err = g.printJSON(d)
	} else {
		var text strings.Builder
		regression.Text(&text, d)
		fmt.Fprintf(&text, "\nverdict %s\n", filepath.Join(g.folder, "verdict.html"))
		err = g.print(text.String())
	}
	if err != nil {
		return err
	}
	switch d.Outcome {
	case verdict.Pass:
		return nil
	case verdict.Fail:
		return &exitError{code: exitFailed}
	case verdict.Inconclusive:
		if g.plan.AcceptInconclusive {
			return nil
		}
		return &exitError{code: exitInconclusive}
	}
	return &exitError{code: exitInfrastructure}
}

// campaignProgress shows how far a campaign is: a bar on a terminal, elsewhere the lines of
// say alone.
type campaignProgress struct {
	*app
	bar   *progressbar.ProgressBar // nil without a terminal
	began time.Time
	kept  int // trials of an earlier session, which took no time
}

// keptTime is how long trials that are in the journal already keep coming.
const keptTime = 300 * time.Millisecond

func (a *app) newCampaignProgress() *campaignProgress {
	return &campaignProgress{app: a, bar: newBar(a.stderr), began: time.Now()}
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
	p.bar.Set(barSteps * now.Done / now.Least) // a bar that cannot be drawn is no error
}

// line prints a line above the bar.
func (p *campaignProgress) line(text string) {
	if p.bar != nil {
		p.bar.Clear() // as above
	}
	p.app.say(text)
}

func (p *campaignProgress) close() {
	if p.bar != nil {
		p.bar.Finish() // as above
	}
}
