package reports

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/measure"
	"github.com/csiglab/csiglab/reports/analysis"
	"github.com/csiglab/csiglab/reports/analysis/analysistest"
)

// tellable is a run of one variant and seed, in which 8 hosts send to h0.
func tellable() *analysis.Result {
	r := &analysis.Result{Verdict: analysis.Verdict{Valid: true}, Variants: []analysis.Variant{{Name: "run", Seeds: 1}}, Runs: []analysis.Run{{Variant: "run", Valid: true}}}
	for range 8 {
		r.Blame = append(r.Blame, analysis.Blame{Variant: "run", Transfer: "1-0", ToUS: 1000, UnloadedUS: 100, Kind: analysis.BlameIncast, Port: "tor0-h0", Dst: "h0", Sources: 8, By: analysis.ByQueues})
		r.Completion = append(r.Completion, analysis.Completion{Flow: "1-0"})
	}
	r.Findings.Ports = []analysis.Port{{Place: analysis.Place{From: "tor0", To: "h0", RateBPS: 100e9}, Full: true, Use: []analysis.Use{{Variant: "run", Utilisation: 0.99, MeanQueueBytes: 80_000}}}}
	return r
}

// ofJob is a run of a job in two variants, the second of which has slower steps.
func ofJob(kind analysis.BlameKind) *analysis.Result {
	r := &analysis.Result{Verdict: analysis.Verdict{Valid: true}, Variants: []analysis.Variant{{Name: "a", Seeds: 3}, {Name: "b", Seeds: 3}}, Runs: make([]analysis.Run, 6)}
	for i := range r.Runs {
		r.Runs[i].Valid = true
	}
	for i, variant := range []string{"a", "b"} {
		us := float64(1000 + 500*i)
		r.Jobs = append(r.Jobs, analysis.Job{Variant: variant, Name: "gpt", Ranks: 64, IterationUS: &analysis.Stats{Mean: us}, Parts: []analysis.JobPart{{Name: "compute", Share: 0.4}, {Name: "bubble", Share: 0.1}, {Name: "exposed", Share: 0.5}}})
	}
	r.Blame = []analysis.Blame{{Variant: "b", Job: "gpt", Step: 1, Collective: "dp", ToUS: 500, UnloadedUS: 100, Kind: kind, Port: "tor0-agg0", Node: "h7", Rank: 7, Src: "h1", Dst: "h2", WaitUS: 300, Other: 1, Free: 1, Freest: "tor0-agg1", By: analysis.ByCSIG},
		{Variant: "b", Job: "gpt", Step: 1, Collective: "dp", ToUS: 400, UnloadedUS: 100, Kind: analysis.BlameEdge, Port: "tor0-h2", WaitUS: 30, By: analysis.ByCSIG}}
	r.Findings.Steps = []analysis.StepChange{{Job: "gpt", Variant: "b", Base: "a", CSIG: true, Quantity: analysis.Quantity{Unit: "µs", Base: analysis.Side{Median: 1000}, Value: analysis.Side{Median: 1500}, Change: 0.5, Outcome: analysis.Worse}}}
	return r
}

// The sentences say what happened, where, to whom, what a variant changed and how sure that
// is, each in at most five; what is not known has none.
func TestStory(t *testing.T) {
	invalid := tellable()
	invalid.Verdict.Valid, invalid.Runs[0].Valid = false, false
	lacking := tellable()
	lacking.Verdict.Incomplete, lacking.DroppedRecords = &analysis.Incomplete{Finished: 2, Runs: 9}, 1234
	faulty := tellable()
	for _, f := range []runfolder.Fault{{What: "a link down", Happened: true}, {What: "a link down", Happened: true}, {What: "never"}} {
		faulty.Faults = append(faulty.Faults, analysis.Fault{Variant: "run", Seed: 1, Fault: f})
	}
	for _, c := range []struct {
		name string
		r    *analysis.Result
		want []string // parts, in their order
		not  string
	}{
		{"incast", tellable(), []string{"8 hosts send to h0 at once (incast), and the last link to it, tor0 → h0, is 99 % busy, with a mean queue of 80\u00a0kB (6.4\u00a0µs).", "Flow 1-0 fares worst: it takes 1\u00a0ms instead of 100\u00a0µs on an idle fabric.", "The run is valid; with one seed, how much of this is chance is not known."}, "medians"},
		{"invalid", invalid, []string{"8 hosts send to h0", "Do not rely on these figures: 1 of 1 run is not valid;"}, "the run is valid"},
		{"incomplete", lacking, []string{"Only 2 of 9 runs have finished; 1234 records found no room and the charts lack them;"}, ""},
		{"fault", faulty, []string{"; fault: a link down."}, "never"},
		{"job", ofJob(analysis.BlameCore), []string{"A step of job gpt on 64 ranks takes 1\u00a0ms in variant a and 1.5\u00a0ms in b; in b the ranks spend 50 % waiting for the network and 10 % in the bubble of the pipeline.",
			"In b 1 of the 2 slowest collectives wait longest at ports within the fabric, most of all at tor0-agg0; in 1 case another path was free.", "The worst of them, dp of gpt, step 1, group 0, takes 500\u00a0µs instead of 100\u00a0µs on an idle fabric; messages from h1 to h2 wait longest.",
			"CSIG (b) makes steps longer than in a (1\u00a0ms → 1.5\u00a0ms, +50\u00a0%).", "All 6 runs are valid; the figures are medians of 3 seeds"}, "queues"},
		{"straggler", ofJob(analysis.BlameRank), []string{"wait longest for a rank that comes late or computes longer than others, most of all for rank 7 (h7).", "because rank 7 (h7) comes late or computes long."}, "free"},
		{"NIC", ofJob(analysis.BlameNIC), []string{"in the sender's own NIC, behind its other messages, most of all at h7."}, "free"},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := story(c.r)
			text := strings.Join(all, " ")
			if len(all) > 5 || len(all) < 2 {
				t.Errorf("%d sentences", len(all))
			}
			for _, s := range all {
				if !strings.HasSuffix(s, ".") || strings.ToUpper(s[:1]) != s[:1] || len(s) > 400 {
					t.Errorf("%q is no short sentence", s)
				}
			}
			rest := text
			for _, part := range c.want {
				at := strings.Index(rest, part)
				if at < 0 {
					t.Fatalf("%q lacks %q", text, part)
				}
				rest = rest[at+len(part):]
			}
			if c.not != "" && strings.Contains(text, c.not) {
				t.Errorf("%q has %q", text, c.not)
			}
		})
	}
	if all := story(&analysis.Result{Verdict: analysis.Verdict{Valid: true}, Variants: []analysis.Variant{{Name: "run", Seeds: 1}}, Runs: make([]analysis.Run, 1)}); all != nil {
		t.Errorf("of nothing there is the story %q", all)
	}
}

// Page, Markdown and JSON have the same sentences, and the blame table.
func TestStoryForms(t *testing.T) {
	f := analysistest.ThreeFlow().Folder(t, nil)
	r, err := analysis.Read(f, measure.Meaning)
	if err != nil {
		t.Fatal(err)
	}
	want := story(r)
	var page, markdown, text bytes.Buffer
	for _, write := range []func() error{func() error { return WriteHTML(&page, r) }, func() error { return WriteMarkdown(&markdown, r) }, func() error { return WriteJSON(&text, r) }} {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	var data struct {
		Story []string
		Blame []analysis.Blame
	}
	if err := json.Unmarshal(text.Bytes(), &data); err != nil || !slices.Equal(data.Story, want) || len(data.Blame) != len(r.Blame) || len(r.Blame) == 0 {
		t.Errorf("JSON: error %v, story %q, want %q, %d blamed", err, data.Story, want, len(data.Blame))
	}
	if !strings.Contains(markdown.String(), escape(strings.Join(want, " "))) || !strings.Contains(markdown.String(), "## "+blameTitle) || !strings.Contains(markdown.String(), "## Fairness") {
		t.Error("Markdown lacks the sentences, the blame table or the one of fairness")
	}
	for _, part := range []string{`id="story"`, `id="blame"`, `id="fairness"`, "<span>" + want[0]} {
		if !strings.Contains(page.String(), part) {
			t.Errorf("the page lacks %s", part)
		}
	}
}

// A mean that falls hides the one transfer that pays for it.
func TestVictim(t *testing.T) {
	us := func(v float64) *float64 { return &v }
	r := &analysis.Result{Variants: []analysis.Variant{{Name: "a"}, {Name: "b"}}, Completion: []analysis.Completion{
		{Flow: "gains", Variants: []analysis.Times{{MedianUS: us(100)}, {MedianUS: us(50)}}},
		{Flow: "pays", Variants: []analysis.Times{{MedianUS: us(20)}, {MedianUS: us(250)}}},
		{Flow: "open", Variants: []analysis.Times{{MedianUS: us(1)}, {}}},
		{Flow: "little", Variants: []analysis.Times{{MedianUS: us(20)}, {MedianUS: us(39)}}},
	}}
	if got, want := victim(r, &analysis.Difference{Variant: "b"}), "; but flow pays takes 250\u00a0µs in place of 20\u00a0µs"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	r.Completion = slices.Delete(r.Completion, 1, 2)
	if got := victim(r, &analysis.Difference{Variant: "b"}); got != "" {
		t.Errorf("got %q of transfers that take less than twice as long", got)
	}
}

// The picture of the fabric is of the variant that the sentences on places are of.
func TestSentencesAndPictureAreOfOneVariant(t *testing.T) {
	r := ofJob(analysis.BlameCore)
	if r.Told() != "b" || !strings.Contains(strings.Join(story(r), " "), "In b ") {
		t.Errorf("sentences are of %s: %q", r.Told(), story(r))
	}
}

func TestBlamedPort(t *testing.T) {
	for port, want := range map[string]string{"tor0-agg0": "tor0 → agg0", "tor0:1-agg0": "tor0:1-agg0"} {
		if got := blamedPort(&analysis.Blame{Node: "tor0", Port: port}); got != want {
			t.Errorf("%s: %s, want %s", port, got, want)
		}
	}
}
