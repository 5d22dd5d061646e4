package bisect

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/orchestrator/compare/revision"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
)

// Found is the result of a session, for other programs: result.json.
type Found struct {
	Schema     int         `json:"schema"`
	Found      bool        `json:"found"`      // there is one candidate
	Candidates []Candidate `json:"candidates"` // any of them may be the first bad one; the last is bad
	Good       Candidate   `json:"good"`       // the last good one
	Experiment string      `json:"experiment"`
	Variant    string      `json:"variant,omitempty"`
	Metric     string      `json:"metric"`
	Better     string      `json:"better"`
	Delta      float64     `json:"delta"`    // the limit, against the good end
	Absolute   bool        `json:"absolute"` // Delta and effects are in the metric's unit, not shares
	Change     *Effect     `json:"change"`   // from good to the last candidate
	Sure       string      `json:"sure"`
	Again      string      `json:"again"` // the command that shows the change again
	Steps      []Step      `json:"steps"`
	Seconds    float64     `json:"seconds"` // spent in runs

	text string // for people
}

// Text returns the result for people.
func (f *Found) Text() string { return f.text }

// Candidate is a revision or a value.
type Candidate struct {
	Name    string     `json:"name"` // the full hash, or the value
	Short   string     `json:"short"`
	Author  string     `json:"author,omitempty"`
	Date    *time.Time `json:"date,omitempty"`
	Subject string     `json:"subject,omitempty"`
	Why     string     `json:"why,omitempty"` // it was skipped
}

// describe returns the result, and writes it into the folder of the search.
func (s *Session) describe(r *Result) (*Found, error) {
	out := &Found{
		Schema: resultSchema, Found: len(r.Candidates) == 1, Good: s.candidate(r.Good.Candidate),
		Experiment: s.Plan.Experiment, Variant: s.campaign.Trial.Variant, Metric: s.Plan.Metric,
		Better: map[Direction]string{Lower: "lower", Higher: "higher"}[r.Better],
		Delta:  r.Delta, Absolute: s.campaign.Absolute, Change: r.Change, Sure: s.sure(r), Steps: r.Steps, Seconds: r.Seconds,
	}
	for _, i := range r.Candidates {
		c := s.candidate(i)
		if at := slices.IndexFunc(r.Steps, func(step Step) bool { return step.Candidate == i && step.Verdict == Skipped.String() }); at >= 0 {
			c.Why = r.Steps[at].Reason
		}
		out.Candidates = append(out.Candidates, c)
	}
	out.Again = s.again(r)
	out.text = s.text(out, r)
	data, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return nil, err
	}
	return out, own.WriteFile(filepath.Join(s.Folder, ResultFile), append(data, '\n'), 0o644)
}

func (s *Session) candidate(i int) Candidate {
	if s.values != nil {
		v := s.values.Value(i)
		return Candidate{Name: v, Short: v}
	}
	c := s.commits[i]
	return Candidate{Name: c.Hash, Short: c.Short, Author: c.Author, Date: &c.Date, Subject: c.Subject}
}

// sure says how sure the result is.
func (s *Session) sure(r *Result) string {
	judged, statistical := 0, 0
	for _, step := range r.Steps[2:] {
		if step.Verdict == Skipped.String() {
			continue
		}
		judged++
		if step.By == "statistics" {
			statistical++
		}
	}
	ends := fmt.Sprintf("the two ends differ with P = %.2g", r.Steps[1].Effect.P)
	switch {
	case judged == 0:
		return ends + "; there is nothing to judge between them"
	case r.Exact:
		return fmt.Sprintf("exact: the runs of all %d candidates in between are those of good or of bad, packet by packet; %s", judged, ends)
	}
	others := ""
	if statistical < judged {
		others = ", the others by equal runs"
	}
	return fmt.Sprintf("%.0f %%: %d of %d verdicts in between are by statistics%s; %s", 100*r.Confidence, statistical, judged, others, ends)
}

// again returns the command that shows the change again.
func (s *Session) again(r *Result) string {
	p := s.Plan
	limit := strconv.FormatFloat(r.Delta, 'g', 3, 64)
	if !s.campaign.Absolute {
		limit = strings.ReplaceAll(strings.TrimPrefix(Percent(r.Delta), "+"), " ", "")
	}
	args := []string{"csiglab", "regress", "--experiment", p.Experiment, "--metric", p.Metric, "--delta", limit}
	if p.Variant != "" {
		args = append(args, "--variant", p.Variant)
	}
	if measure.Meaning(p.Metric).Better == meaning.Neutral || p.Better != "" {
		args = append(args, "--better", map[Direction]string{Lower: "lower", Higher: "higher"}[r.Better])
	}
	for _, set := range p.Set {
		args = append(args, "--set", set)
	}
	for _, with := range p.With {
		args = append(args, "--with", with)
	}
	good, bad := s.candidate(r.Good.Candidate), s.candidate(r.Bad.Candidate)
	if s.values != nil {
		args = append(args, "--baseline-set", p.Parameter+"="+good.Name, "--candidate-set", p.Parameter+"="+bad.Name)
	} else {
		args = append(args, "--baseline", "git:"+good.Short, "--candidate", "git:"+bad.Short)
	}
	for i, arg := range args {
		args[i] = spelling.ShellWord(arg)
	}
	return strings.Join(args, " ")
}

// text returns the result for people.
func (s *Session) text(out *Found, r *Result) string {
	var t strings.Builder
	what := "revision"
	if s.values != nil {
		what = "value of " + s.Plan.Parameter
	}
	bad := out.Candidates[len(out.Candidates)-1]
	if out.Found {
		fmt.Fprintf(&t, "first bad %s: %s\n", what, bad.Name)
		if bad.Date != nil {
			fmt.Fprintf(&t, "date     %s, %s\nsubject  %s\n", bad.Date.Format("2006-01-02 15:04 -0700"), bad.Author, bad.Subject)
		}
	} else {
		fmt.Fprintf(&t, "the first bad %s is one of %d:\n", what, len(out.Candidates))
		for _, c := range out.Candidates {
			why := "bad"
			if c.Why != "" {
				why = oneLine(c.Why)
			}
			fmt.Fprintf(&t, "  %s\n", strings.Join(slices.DeleteFunc([]string{c.Name, dateOf(c), quoted(c.Subject), why}, func(s string) bool { return s == "" }), "  "))
		}
	}
	if c := out.Change; c != nil {
		fmt.Fprintf(&t, "metric   %s: %s at %s, %s at %s: %s; %s is better\n", s.label(), s.amount(c.Reference), out.Good.Short, s.amount(c.Value), bad.Short, s.effect(c), out.Better)
	}
	fmt.Fprintf(&t, "limit    %s worse than %s\nsure     %s\n", s.campaign.Limit(), r.Steps[0].Name, out.Sure)
	skipped := 0
	for _, step := range r.Steps {
		if step.Verdict == Skipped.String() {
			skipped++
		}
	}
	fmt.Fprintf(&t, "tried    %d of %s, %d of them skipped; %s of runs\n", len(r.Steps), spelling.Plural(s.campaign.Last+1, "candidate"), skipped, time.Duration(r.Seconds*float64(time.Second)).Round(time.Second))
	fmt.Fprintf(&t, "again    %s\nfolder   %s\n", out.Again, s.Folder)
	return t.String()
}

// label names the metric and where it is from.
func (s *Session) label() string {
	name := s.Plan.Experiment
	if !slices.Contains(experiment.Names(), name) {
		name = filepath.Base(name)
	}
	if v := s.Plan.Variant; v != "" {
		name += "/" + v
	}
	return s.Plan.Metric + " of " + name
}

func dateOf(c Candidate) string {
	if c.Date == nil {
		return ""
	}
	return c.Date.Format(time.DateOnly)
}

func quoted(text string) string {
	if text == "" {
		return ""
	}
	return `"` + text + `"`
}

// amount returns a value of the metric with its unit.
func (s *Session) amount(v float64) string {
	return strings.TrimSpace(strconv.FormatFloat(v, 'g', 5, 64) + " " + measure.Meaning(s.Plan.Metric).Unit)
}

// effect returns an effect with its interval.
func (s *Session) effect(e *Effect) string {
	one := func(v *float64, infinite string) string {
		switch {
		case v == nil:
			return infinite
		case !s.campaign.Absolute:
			return Percent(math.Round(1e6**v) / 1e6)
		}
		return fmt.Sprintf("%+.4g", *v)
	}
	return fmt.Sprintf("%s [%s, %s]", one(e.Effect, "∞"), one(e.Low, "-∞"), one(e.High, "+∞"))
}

// stepText describes a verdict on a line.
func (s *Session) stepText(step *Step) string {
	name := step.Name
	if s.values == nil {
		name = commitText(s.commits[step.Candidate])
	}
	reason := oneLine(step.Reason)
	switch {
	case step.By == "reference":
		reason = "what the others are compared with"
	case step.By == "statistics" && step.Effect != nil:
		reason = fmt.Sprintf("%s, %s", s.effect(step.Effect), spelling.Plural(len(step.Runs), "seed"))
		if step.Verdict == Skipped.String() {
			reason += ", which do not say whether it is good or bad"
		}
	}
	return fmt.Sprintf("%-7s  %s: %s", step.Verdict, name, reason)
}

// oneLine returns the line of a reason that says most: the first of the compiler's.
func oneLine(reason string) string {
	lines := strings.Split(reason, "\n")
	for _, line := range lines[1:] {
		if strings.Contains(line, ".go:") || strings.HasPrefix(line, "panic: ") {
			return notBuilt + strings.TrimSpace(line)
		}
	}
	return lines[0]
}

// notBuilt begins the reason of a candidate that does not build.
const notBuilt = "it does not build: "

func commitText(c revision.Commit) string {
	return fmt.Sprintf("%s %s %q", c.Short, c.Date.Format(time.DateOnly), c.Subject)
}
