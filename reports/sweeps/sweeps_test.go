package sweeps

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/orchestrator/compare/sweep"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/experiment"
)

const text = `schema: 1
name: small
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}}
workload: {transfers: [0 -> 2 100kB]}
seeds: 1..5
sweep:
  axes:
    size: {small: {links.mtu: 1500B}, large: {links.mtu: 4kB}, even: {links.mtu: 2kB}}
    lb: {plain: {hosts.lb: single}, other: {hosts.lb: ecmp}, tag: {hosts.lb: oblivious}}
  judge: {between: [lb], baseline: {lb: [plain, other]}, sides: [without, with], metrics: {fct_us.p99: Tail, jain.all: Fairness}}
`

// played gives trials numbers that are known beforehand. The tag is 20 % faster where packets are
// small, 10 % slower where they are large, and its seeds disagree where they are even.
type played struct{ lacks string }

func (p played) Run(_ context.Context, t trial.Trial) (trial.Outcome, error) {
	set := strings.Join(t.Set, " ")
	if p.lacks != "" && strings.Contains(set, p.lacks) {
		return trial.Outcome{Exit: 3, Reasons: []string{"it broke"}}, nil
	}
	fct := 100 + float64(t.Seed)
	switch {
	case strings.Contains(set, "ecmp"):
		fct *= 2
	case !strings.Contains(set, "oblivious"):
	case strings.Contains(set, "1500B"):
		fct *= 0.8
	case strings.Contains(set, "4kB"):
		fct *= 1.1
	default:
		fct *= 1 + 0.1*math.Pow(-1, float64(t.Seed))
	}
	return trial.Outcome{TraceHash: strings.Repeat("ab", 32), Metrics: map[string]float64{"fct_us.p99": fct, "jain.all": 50 / fct}}, nil
}

// swept runs the sweep of an experiment, and returns its folder and what a page needs of its plan.
func swept(t *testing.T, text string, r trial.Runner) (folder string, of *Plan) {
	t.Helper()
	dir := t.TempDir()
	name := filepath.Join(dir, "small.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	request := sweep.Request{Experiment: name, Identity: "i", Version: "v", Parallel: 2, Options: experiment.Options{Tables: experiment.StandardTables()}}
	p, err := request.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sw, err := sweep.Create(filepath.Join(dir, "sweep"), p)
	if err != nil {
		t.Fatal(err)
	}
	defer sw.Close()
	if err := sw.Run(t.Context(), r, 2, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := sw.Finish(sweep.Key); err != nil {
		t.Fatal(err)
	}
	of = &Plan{Name: p.Name, Experiment: p.Experiment, Paths: p.Paths, Axes: p.Axes, Variants: p.Variants, Seeds: p.Seeds, Trials: p.Trials()}
	if j := p.Judge; j != nil {
		of.Judge = &Judge{j.Between, j.Baseline, j.Sides, []Metric{{"fct_us.p99", "Tail"}, {"jain.all", "Fairness"}}}
	}
	for i := range p.Points {
		of.Points = append(of.Points, p.Points[i].Values)
	}
	return sw.Folder, of
}

func measured(t *testing.T, r trial.Runner) *Sweep {
	t.Helper()
	folder, of := swept(t, text, r)
	s, err := Read(folder, of, sweep.Key, func(metric string) meaning.Meaning {
		if metric == "jain.all" {
			return meaning.Meaning{Better: meaning.Higher}
		}
		return meaning.Meaning{Unit: "µs", Better: meaning.Lower}
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The winner of each cell, by how much, and whether the seeds tell.
func TestJudgement(t *testing.T) {
	s := measured(t, played{})
	for i, want := range []struct {
		size, winner string
		verdict      Verdict
		effect       float64
	}{{"small", "tag", Ahead, -0.2}, {"large", "plain", Behind, 0.1}, {"even", "", Level, 0}} {
		c := &s.Cells[i]
		for _, metric := range []string{"fct_us.p99", "jain.all"} {
			j := s.Judgement(c, metric)
			effect := want.effect
			if metric == "jain.all" { // higher is better
				effect = 1/(1+want.effect) - 1
			}
			if c.Values[0] != want.size || j.Verdict != want.verdict || s.Rivals[j.Base].Name() != "plain" || s.Rivals[j.Other].Name() != "tag" {
				t.Errorf("%s of %v: %+v", metric, c.Values, j)
			}
			if want.winner != "" && (s.Rivals[j.Winner].Name() != want.winner || math.Abs(j.Effect-effect) > 1e-9 || j.Low > j.Effect || j.High < j.Effect) {
				t.Errorf("%s of %v: %+v; want %v", metric, c.Values, j, effect)
			}
		}
	}
	if b, o := s.Fixed("fct_us.p99"); s.Rivals[b].Name() != "plain" || s.Rivals[o].Name() != "tag" {
		t.Errorf("one setting: %d, %d", b, o)
	}
	command := s.Command(s.Cells[1].Results[2])
	if !strings.HasSuffix(command, "small.yaml --at size=large --at lb=tag --seeds 5") {
		t.Error(command)
	}
}

// The page says what is missing, and counts it for no side.
func TestMissing(t *testing.T) {
	for lacks, want := range map[string][]string{
		"":              {"45 of 45 runs, all valid", "ahead of the best without in 1 of 3 cells, level in 1 and behind in 1", "by 20", "--at size=even"},
		"ecmp":          {"15 have no numbers", "in 1 of 3 cells", "3 results are missing", "it broke"},
		"links.mtu=4kB": {"ahead of the best without in 1 of 2 cells, level in 1 and behind in 0"},
	} {
		s := measured(t, played{lacks})
		var html, markdown bytes.Buffer
		if err := s.WriteHTML(&html); err != nil {
			t.Fatal(err)
		}
		if err := s.WriteMarkdown(&markdown); err != nil {
			t.Fatal(err)
		}
		for _, text := range want {
			if !strings.Contains(html.String(), text) {
				t.Errorf("without %q the page lacks %q", lacks, text)
			}
		}
		if lacks == "" {
			for _, text := range []string{
				"The intervals are not corrected for the number of comparisons, which is 6 by all metrics together. Where nothing differs, about 6 % of them",
				"Level means not shown to differ by 1 %; it does not mean shown to be equal.", "tag is ahead: −20 %", "The best without is ahead (plain): +10 %",
			} {
				if got := strings.NewReplacer("\u00a0", " ").Replace(markdown.String()); !strings.Contains(got, text) {
					t.Errorf("Markdown lacks %q:\n%s", text, got)
				}
			}
		}
		if !strings.Contains(markdown.String(), "| large |") && !strings.Contains(markdown.String(), "size large") {
			t.Errorf("Markdown:\n%s", markdown.String())
		}
	}
}
