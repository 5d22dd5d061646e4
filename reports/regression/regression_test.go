package regression

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/reports/browsertest"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// text returns what a reader of Markdown sees of its beginning, up to the folded part.
func text(markdown string) string {
	seen, _, _ := strings.Cut(markdown, "<details>")
	return seen
}

// "A reader of the Markdown verdict can tell in ten seconds what got worse, by how much,
// how sure, and which command reproduces it" (issue 15, Must show 5): of 40 metrics the
// three that fail stand on top with these, in few lines.
func TestTenSeconds(t *testing.T) {
	page := Markdown(examples()["fail"])
	if first, _, _ := strings.Cut(page, "\n"); first != "## ❌ Fail: 3 of 40 metrics got worse (experiments: 1 identical, 2 changed but not worse, 2 worse)" {
		t.Errorf("first line %q", first)
	}
	seen := text(page)
	rest := seen
	for _, want := range []string{
		"Worst: **`packets.lost` of `lb-failure/reps` is 31.7\u00a0packets higher** (95\u00a0% interval: +29 … +34.4\u00a0packets; allowed: ≤\u00a0+5\u00a0packets).",
		"| `packets.lost`<br>`lb-failure/reps` | **+31.7\u00a0packets** | +29 … +34.4\u00a0packets | ≤\u00a0+5\u00a0packets | 0.002 | 40.37 → 71.77\u00a0packets | 24 |",
		"| `fct_us.p99`<br>`incast/csig` | **+13.8\u00a0%** | +11.9 … +15.7\u00a0% | ≤\u00a0+5\u00a0% | 0.0004 | 2.384 → 2.657\u00a0ms | 12 |",
		"| `goodput_gbps.mean`<br>`incast/csig` | **−5.74\u00a0%** | −6.38 … −5.11\u00a0% | ≥\u00a0−3\u00a0% | <\u00a00.0001 | 91.72 → 86.62\u00a0Gb/s | 12 |",
		"```sh\n# lb-failure/reps: 1 worse\ncsiglab regress standard --only lb-failure/reps --baseline git:4be1c2f --candidate git:9a0b77d\n# incast/csig: 2 worse\ncsiglab regress",
	} {
		before, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("%q is not in its place:\n%s", want, seen)
		}
		if n := strings.Count(before, "\n"); n > 6 {
			t.Errorf("%d lines before %q", n, want)
		}
		rest = after
	}
	if n := strings.Count(seen, "\n"); n > 30 {
		t.Errorf("%d lines before the folded part", n)
	}
	if strings.Contains(seen, "fairness") {
		t.Error("a metric that passes stands among those that need attention")
	}
	if rows := strings.Count(page, "\n| ❌ |") + strings.Count(page, "\n| ✅ |"); rows != 38 { // three of a fingerprint are one row
		t.Errorf("%d rows of all metrics, want 38", rows)
	}
}

// Every case says first what came out, and what its reader has to know.
func TestCases(t *testing.T) {
	for name, want := range map[string][]string{
		"pass":            {"✅ Pass: none of 11 metrics got worse, and 1 better (experiments: 1 identical, 1 changed but not worse, 0 worse)", "| `incast/csig` | the traces of 12 of 12 seeds differ | `steps.time_us` | −12\u00a0% |"},
		"identical":       {"✅ Pass: no run changed, the traces of both sides are identical in all 3 experiments (experiments: 3 identical, 0 changed but not worse, 0 worse)"},
		"not executed":    {"✅ Pass: no run executed what the candidate changes (1 function), so that nothing is known of it (experiment: 1 identical, 0 changed but not worse, 0 worse)"},
		"partly executed": {"✅ Pass: no run changed, the traces of both sides are identical in the one experiment, and no run executed 1 of 3 functions that the candidate changes (experiment: 1 identical, 0 changed but not worse, 0 worse)"},
		"executed":        {"✅ Pass: no run changed, the traces of both sides are identical in the one experiment (experiment: 1 identical, 0 changed but not worse, 0 worse)"},
		"empty":           {"✅ Pass: nothing was compared"},
		"invalid": {"⛔ Invalid: 2 of 3 experiments gave no valid result (experiments: 0 identical, 1 changed but not worse, 0 worse, 2 without a result)", "- `lb-failure/reps`: candidate, seeds 2, 3: csiglab was killed (SIGKILL)\n- `lb-failure/reps`: baseline, seed 3: no space", "Runs that do not count give no verdict",
			"csiglab regress standard --only lb-failure/reps"},
		"mixed": {"⛔ Invalid: 1 of 4 experiments gave no valid result, and 2 metrics got worse (experiments: 0 identical, 1 changed but not worse, 1 worse, 1 changed and undecided, 1 without a result)", "`lb-failure/reps`: candidate, seeds 2, 3: csiglab", "Worst: **`fct_us.p99` of `incast/csig`"},
		"ended": {"⛔ Invalid: the comparison did not end", "- write runs/x/trials.jsonl: no space left on device\n"},
		"inconclusive": {"❔ Inconclusive: 3 of 11 metrics undecided (experiments: 0 identical, 1 changed but not worse, 0 worse, 2 changed and undecided)", "| `queue_peak_kb`<br>`iperf/csig` | +4.07\u00a0% | +1.82 … +6.31\u00a0% | ≤\u00a0+5\u00a0% | about 140 seeds (24 were run); or a limit of +6.4\u00a0%, which would pass |",
			"a quieter machine: its noise alone hides changes below +7.1\u00a0%", "more than 2 seeds, which are too few for an interval", "csiglab regress standard --only iperf/csig"},
		"moved":   {"❌ Fail: 1 of 1 metric moved without a reason (experiment: 0 identical, 0 changed but not worse, 1 worse)", "**`fairness_ratio` of `three-flow/csig` is 40", "% lower** (95\u00a0% interval: −40", "allowed: ±5\u00a0%): the suite says that it has no reason to move."},
		"lacking": {"❌ Fail: 2 of 2 metrics got worse (experiment: 0 identical, 0 changed but not worse, 1 worse)", "Worst: **`jobs.done` of `incast` is worse**: the candidate lacks the metric under all 8 seeds.", "40 → none"},
	} {
		page := Markdown(examples()[name])
		seen := text(page)
		for _, part := range want {
			if !strings.Contains(seen, part) {
				t.Errorf("%s: %q is missing in\n%s", name, part, seen)
			}
		}
		if !strings.HasPrefix(page, "## "+want[0]+"\n") {
			t.Errorf("%s: begins with %.80q, want %q", name, page, want[0])
		}
	}
}

// TestStrict: with Strict, an experiment that changed and is not worse fails in every form,
// with its command; one with identical traces does not.
func TestStrict(t *testing.T) {
	d := examples()["pass"]
	d.Strict, d.Outcome, d.Experiments[0].Outcome = true, verdict.Fail, verdict.Fail
	const first = "1 of 2 experiments changed, which --strict refuses; none of 11 metrics got worse (experiments: 1 identical, 1 changed but not worse, 0 worse)"
	var plain, html, junit strings.Builder
	Text(&plain, d)
	if err := errors.Join(HTML(&html, d), JUnit(&junit, d)); err != nil {
		t.Fatal(err)
	}
	for form, want := range map[string][2]string{
		Markdown(d):    {"Fail: " + first, "csiglab regress standard --only incast/csig"},
		plain.String(): {"FAIL: " + first, "csiglab regress standard --only incast/csig"},
		html.String():  {"Fail: " + first, `id="changed">`},
		junit.String(): {`<testsuite name="incast.csig"`, `<failure type="changed" message="changed, which --strict refuses: the traces of 12 of 12 seeds differ">`},
	} {
		for _, part := range want {
			if !strings.Contains(form, part) {
				t.Errorf("%q is missing in\n%.600s", part, form)
			}
		}
		if strings.Contains(form, "--only three-flow/csig --strict") {
			t.Errorf("identical traces have a command:\n%.600s", form)
		}
	}
}

// TestChangedFirst: every form shows what changed before what is identical, whatever the
// order of the suite.
func TestChangedFirst(t *testing.T) {
	d := examples()["pass"]
	slices.Reverse(d.Experiments)
	var html strings.Builder
	if err := HTML(&html, d); err != nil {
		t.Fatal(err)
	}
	page := html.String()
	changed, first, second := strings.Index(page, `id="changed">`), strings.Index(page, `id="experiment-1">`), strings.Index(page, `id="experiment-2">`)
	if changed < 0 || changed > first || first > second || !strings.Contains(page[first:second], "incast/csig") {
		t.Errorf("the section of changes at %d, experiments at %d and %d; want this order, and incast/csig first", changed, first, second)
	}
}

// A damaged document is never better than its parts: pass beside a metric that fails is a
// fail, and an outcome that is none is invalid.
func TestNeverBetterThanItsParts(t *testing.T) {
	fail := examples()["fail"]
	fail.Outcome, fail.Experiments[0].Outcome = verdict.Pass, verdict.Pass
	if v := newView(fail); v.outcome != verdict.Fail || v.experiments[0].outcome != verdict.Fail {
		t.Errorf("a metric that fails in a document that passes: %v", v.outcome)
	}
	for _, outcome := range []verdict.Outcome{"", "Pass", "good"} {
		d := examples()["pass"]
		d.Experiments[0].Metrics[0].Outcome = outcome
		if v := newView(d); v.outcome != verdict.Invalid {
			t.Errorf("outcome %q: %v", outcome, v.outcome)
		}
	}
}

// Reasons that differ in the seed alone are one, in the place of the first.
func TestReasonsTogether(t *testing.T) {
	var reasons []string
	for seed := range 9 {
		reasons = append(reasons, fmt.Sprintf("baseline, seed %d: killed", seed+1), fmt.Sprintf("candidate, seed %d: reason %d", seed+1, seed%8), "noisy")
	}
	got := together(append(reasons, "baseline, seed 9: killed"))
	if len(got) != 1+8+9 || got[0] != "baseline, seeds 1, 2, 3, 4, 5, 6 and 3 more: killed" || got[1] != "candidate, seeds 1, 9: reason 0" || got[2] != "noisy" || got[3] != "candidate, seed 2: reason 1" {
		t.Errorf("got %q", got)
	}
}

// The form with the most metrics fits a comment on GitHub, and says what it leaves out.
func TestMarkdownFits(t *testing.T) {
	for name, d := range examples() {
		page := Markdown(d)
		if len(page) > 65_000 {
			t.Errorf("%s: %d bytes", name, len(page))
		}
		if strings.Count(page, "<details>") != strings.Count(page, "</details>") {
			t.Errorf("%s: the folded part does not end", name)
		}
	}
	many := Markdown(examples()["many"])
	if !regexp.MustCompile(`\n[0-9]+ rows more in verdict\.html\.\n`).MatchString(many) {
		t.Error("it does not say that rows are missing")
	}
}

// Signs and words follow the value, limits the direction that is worse.
func TestWords(t *testing.T) {
	infinite := math.Inf(1)
	for _, c := range []struct {
		metric                              verdict.Metric
		change, between, allowed, direction string
	}{
		{verdict.Metric{Better: verdict.Lower, Delta: 0.05, Effect: pointer(0.1184), Low: pointer(0.081), High: pointer(0.1523)}, "+11.8 %", "+8.1 … +15.2 %", "≤ +5 %", "11.8 % higher"},
		{verdict.Metric{Better: verdict.Higher, Delta: 0.05, Effect: pointer(-0.1184), Low: pointer(-0.152), High: pointer(-0.081)}, "−11.8 %", "−15.2 … −8.1 %", "≥ −5 %", "11.8 % lower"},
		{verdict.Metric{Better: verdict.Higher, Delta: 2, Absolute: true, Unit: "µs", Effect: pointer(1234.5), Low: pointer(-20), High: nil}, "+1.23 ms", "−20 … +∞ µs", "≥ −2 µs", "1.23 ms higher"},
		{verdict.Metric{Better: verdict.Same, Delta: 0.05, Effect: pointer(-0.4), Low: pointer(-0.42), High: pointer(-0.38)}, "−40 %", "−42 … −38 %", "±5 %", "40 % lower"},
		{verdict.Metric{Better: verdict.Same, Delta: 3, Absolute: true, Unit: "µs", Effect: pointer(12), Low: pointer(8), High: pointer(15)}, "+12 µs", "+8 … +15 µs", "±3 µs", "12 µs higher"},
		{verdict.Metric{Better: verdict.Lower, Delta: 0.05, Effect: pointer(0)}, "0 %", "–", "≤ +5 %", "the same"},
		{verdict.Metric{Better: verdict.Lower, Delta: 0.00001, Effect: nil, Low: pointer(-infinite)}, "–", "–", "≤ 0 %", "worse"},
		{verdict.Metric{Better: verdict.Lower, Delta: 0.05, Effect: pointer(12.3456), Low: pointer(0.00012), High: pointer(1e9)}, "+1230 %", "+0.01 … +100\u202f000\u202f000\u202f000 %", "≤ +5 %", "1230 % higher"},
	} {
		c.metric.Outcome = verdict.Fail
		m := newMetric(&experiment{Experiment: &verdict.Experiment{}}, &c.metric, 0)
		for got, want := range map[string]string{m.change(m.worse): c.change, m.between(): c.between, m.allowed(): c.allowed, m.direction(): c.direction} {
			if got = strings.ReplaceAll(got, "\u00a0", " "); got != want {
				t.Errorf("effect %v: got %q, want %q", c.metric.Effect, got, want)
			}
		}
	}
}

// What would decide: at n seeds an interval that reaches w to one side of the effect
// reaches w*sqrt(n/N) with N seeds, which has to be the distance to the limit.
func TestDeciding(t *testing.T) {
	d := verdict.Metric{Name: "x", Better: verdict.Lower, Delta: 0.05, Effect: pointer(0.03), Low: pointer(-0.01), High: pointer(0.07), Outcome: verdict.Inconclusive, Pairs: make([]verdict.Pair, 10)}
	say := func(m verdict.Metric) string {
		n := newMetric(&experiment{Experiment: &verdict.Experiment{}}, &m, 0)
		return strings.ReplaceAll(n.deciding(), "\u00a0", " ")
	}
	// 10 * (0.04/0.02)^2 = 40
	if got, want := say(d), "about 40 seeds (10 were run); or a limit of +7 %, which would pass"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	worse := d
	worse.Effect, worse.Low, worse.High = pointer(0.06), pointer(0.04), pointer(0.09) // 10 * (0.02/0.01)^2
	if got, want := say(worse), "about 40 seeds (10 were run); or a limit of +9 %, which would pass"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	at := d
	at.Effect = pointer(0.05)
	if got := say(at); !strings.HasPrefix(got, "no number of seeds that is practical") {
		t.Errorf("got %q", got)
	}
	known := d
	known.Reason = "9 pairs cannot decide"
	if got := say(known); !strings.HasPrefix(got, known.Reason+"; or a limit") {
		t.Errorf("got %q", got)
	}
}

// Terminals get the outcome first, and what is worse with its command.
func TestText(t *testing.T) {
	for name, want := range map[string][]string{
		"fail":         {"FAIL: 3 of 40 metrics got worse (experiments: 1 identical, 2 changed but not worse, 2 worse).\n", "packets.lost", "+31.7\u00a0packets", "allowed ≤\u00a0+5\u00a0packets", "p 0.002", "Reproduce:\n  csiglab regress standard --only lb-failure/reps", "PASS  three-flow/csig", "3 metrics, identical traces"},
		"inconclusive": {"INCONCLUSIVE: 3 of 11 metrics undecided (experiments: 0 identical, 1 changed but not worse, 0 worse, 2 changed and undecided).\n", "about 140 seeds"},
		"invalid":      {"INVALID: 2 of 3 experiments gave no valid result (experiments: 0 identical, 1 changed but not worse, 0 worse, 2 without a result).\n", "  lb-failure/reps: candidate, seeds 2, 3: csiglab was killed (SIGKILL)\n"},
		"ended":        {"INVALID: the comparison did not end.\n  write runs/x/trials.jsonl: no space left on device\n"},
		"hostile":      {"INVALID: "},
	} {
		var b strings.Builder
		Text(&b, examples()[name])
		rest := b.String()
		for _, part := range want {
			_, after, found := strings.Cut(rest, part)
			if !found {
				t.Fatalf("%s: %q is not in its place:\n%.3000s", name, part, b.String())
			}
			rest = after
		}
		if at := regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f\x{202e}]`).FindString(b.String()); at != "" {
			t.Errorf("%s: the terminal gets %q", name, at)
		}
	}
}

// Rendering changes no document, and any JSON of a document renders.
func FuzzDocument(f *testing.F) {
	for name, d := range examples() {
		if name == "many" || name == "hostile" { // large, and no JSON
			continue
		}
		data, err := json.Marshal(d)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"experiments":[{"metrics":[{"pairs":[{"seed":1,"baseline":0,"candidate":1e308}],"effect":1e308,"low":-1e308,"delta":5e-324,"outcome":"fail"},{}]},{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var d verdict.Document
		if json.Unmarshal(data, &d) != nil {
			return
		}
		before, err := json.Marshal(d)
		if err != nil {
			return // a time that JSON cannot have
		}
		start := time.Now()
		var b strings.Builder
		Text(&b, &d)
		if err := HTML(&b, &d); err != nil {
			t.Fatal(err)
		}
		if err := JUnit(&b, &d); err != nil {
			t.Fatal(err)
		}
		if page := Markdown(&d); len(page) > 65_000 {
			t.Errorf("%d bytes of Markdown", len(page))
		}
		if after, err := json.Marshal(d); err != nil || string(after) != string(before) {
			t.Error("the document has changed")
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}

// TestLongCommand: a command is shown whole or not at all. Half of it would be another one.
func TestLongCommand(t *testing.T) {
	for _, n := range []int{1900, 3000} {
		d := examples()["fail"]
		set := strings.Repeat("x", n)
		for i := range d.Experiments {
			d.Experiments[i].Reproduce = "csiglab regress standard --candidate-set name=" + set + " --seeds 12"
		}
		whole := d.Experiments[0].Reproduce
		var text, html, junit strings.Builder
		Text(&text, d)
		if err := errors.Join(HTML(&html, d), JUnit(&junit, d)); err != nil {
			t.Fatal(err)
		}
		for form, shown := range map[string]string{"text": text.String(), "HTML": html.String(), "JUnit": junit.String()} {
			if want := n == 1900; strings.Contains(shown, whole) != want || strings.Contains(shown, "verdict.json has it") == want || strings.Contains(shown, "name=xxx") != want {
				t.Errorf("%s, %d characters: the command is cut or missing", form, len(whole))
			}
		}
		if d.Experiments[0].Reproduce != whole {
			t.Error("the document was changed")
		}
	}
}
