package regress

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/internal/checksum"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
)

func TestReadSuite(t *testing.T) {
	s, err := ReadSuite("s.yaml", "/dir", []byte(`
schema: 1
name: mine
confidence: 0.9
false_fail: 0.05
seeds: {most: 30}
experiments:
  - experiment: incast
    variants: [run]
    set: [hosts.cc=dctcp, "faults=[]"]
    seeds: {first: 5}
    metrics:
      fct_us.p99: 5%
      trims: 2.5
      fairness: {delta: 10%, of: p90, better: lower}
  - experiment: sub/Mine of 3.yaml
    metrics: {fct_us.p99: 5%}
`))
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Entries {
		e := &s.Entries[i]
		e.node = nil
		for k := range e.Rules {
			e.Rules[k].node = nil
		}
	}
	want := &Suite{Name: "mine", Confidence: 0.9, FalseFail: 0.05, Entries: []Entry{
		{Name: "incast", Experiment: "incast", Variants: []string{"run"}, Set: []string{"hosts.cc=dctcp", "faults=[]"}, Dir: "/dir", Seeds: Seeds{5, 30}, Rules: []Rule{
			{Metric: "fct_us.p99", Delta: 0.05, Of: "median"},
			{Metric: "trims", Delta: 2.5, Absolute: true, Of: "median"},
			{Metric: "fairness", Delta: 0.1, Of: "p90", Better: "lower"},
		}},
		{Name: "mine-of-3", Experiment: "/dir/sub/Mine of 3.yaml", Seeds: Seeds{8, 30}, Rules: []Rule{{Metric: "fct_us.p99", Delta: 0.05, Of: "median"}}},
	}}
	if diff := cmp.Diff(want, s, cmp.AllowUnexported(Entry{}, Rule{})); diff != "" {
		t.Error(diff)
	}
	if q := s.Entries[0].Rules[2].quantile(); q != 0.9 {
		t.Errorf("p90 is %v", q)
	}
}

// TestWrongSuites: each mistake has its place, and all of a text are reported at once.
func TestWrongSuites(t *testing.T) {
	const good = "schema: 1\nname: s\nexperiments:\n  - experiment: incast\n    metrics: {fct_us.p99: 5%}\n"
	for _, test := range []struct{ text, want string }{
		{"", "s.yaml:1:1: the file is empty"},
		{"- a\n", "s.yaml:1:3: want a mapping, got a list"},
		{"schema: 1\n\tname: x\n", "tab"},
		{"a: \x00", "a zero byte"},
		{strings.Replace(good, "schema: 1", "schema: 2", 1), `s.yaml:1:9: schema: schema "2" of a suite; this csiglab reads 1`},
		{strings.Replace(good, "name: s", "name: S s", 1), `s.yaml:2:7: name: "S s" is no name`},
		{strings.Replace(good, "name: s\n", "", 1), "s.yaml:1:1: the key name is missing"},
		{strings.Replace(good, "name: s\n", "name:\n", 1), "s.yaml:2:1: name: the key has no value"},
		{good + "seed: 3\n", `s.yaml:6:1: seed: unknown key (did you mean "seeds"?)`},
		{good + "zzz: 3\n", "s.yaml:6:1: zzz: unknown key; known: confidence, description, experiments, false_fail, name, schema, seeds"},
		{good + "name: t\n", "s.yaml:6:1: name: the key is given twice; the first is in line 2"},
		{good + "confidence: 1\n", `s.yaml:6:13: confidence: "1": want a number from 0.5 to 0.9999`},
		{good + "false_fail: x\n", `s.yaml:6:13: false_fail: "x": want a number from`},
		{good + "seeds: {first: 9, most: 8}\n", "s.yaml:6:9: seeds: first is 9, and most is 8; want first up to most"},
		{good + "seeds: {most: 0}\n", `s.yaml:6:15: seeds.most: "0" is no number of seeds; want 1 to 1000`},
		{good + "seeds: 5\n", "s.yaml:6:8: seeds: want a mapping, got a single value"},
		{good + "  - incast\n", "s.yaml:6:5: experiments[1]: want a mapping with the keys experiment and metrics"},
		{good + "  - experiment: incast\n    metrics: {trims: 5%}\n", `s.yaml:6:5: experiments[1]: the name "incast" is that of line 4 too`},
		{good + "  - metrics: {trims: 5%}\n", "s.yaml:6:5: experiments[1]: the key experiment is missing"},
		{good + "  - experiment: one\n", "s.yaml:6:5: experiments[1]: the key metrics is missing"},
		{good + "  - experiment: one\n    metrics: {}\n", "no metric; want at least one"},
		{good + "  - experiment: one\n    metrics: [trims]\n", "experiments[1].metrics: want a mapping from metrics to the smallest effect that matters"},
		{good + "  - experiment: one\n    metrics: {trims: }\n", "the metric has no value"},
		{good + "  - experiment: one\n    metrics: {trims: 0%}\n", `s.yaml:7:22: experiments[1].metrics.trims: "0%" is no smallest effect`},
		{good + "  - experiment: one\n    metrics: {trims: -1}\n", `"-1" is no smallest effect`},
		{good + "  - experiment: one\n    metrics: {trims: nan}\n", `"nan" is no smallest effect`},
		{good + "  - experiment: one\n    metrics: {trims: 2000%}\n", `"2000%" is no smallest effect`},
		{good + "  - experiment: one\n    metrics: {trims: {of: p90}}\n", "experiments[1].metrics.trims: the key delta is missing"},
		{good + "  - experiment: one\n    metrics: {trims: {delta: 1, of: p100}}\n", "want median, or p1 to p99"},
		{good + "  - experiment: one\n    metrics: {trims: {delta: 1, better: low}}\n", `"low" is no direction; want lower, higher or same (did you mean "lower"?)`},
		{good + "  - experiment: one\n    variants: []\n    metrics: {trims: 1}\n", "experiments[1].variants: the list is empty"},
		{good + "  - experiment: one\n    variants: [a, a]\n    metrics: {trims: 1}\n", `variant "a" is given twice`},
		{good + "  - experiment: one\n    set: [x]\n    metrics: {trims: 1}\n", `s.yaml:7:11: experiments[1].set[0]: "x": want PATH=VALUE`},
		{good + "a: &x 1\n", "is not used here"},
	} {
		_, err := ReadSuite("s.yaml", "", []byte(test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s\ngot  %v\nwant %s", test.text, err, test.want)
		}
	}
	_, err := ReadSuite("s.yaml", "", []byte(good+"seed: 1\nconfidence: 7\n"))
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("two mistakes: %v", err)
	}
}

// TestHostileSuites: large and deep texts are refused soon.
func TestHostileSuites(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("[", 100_000), strings.Repeat("a: {", 10_000), strings.Repeat("- ", 100_000), strings.Repeat("x", 900_000), "name: \"" + strings.Repeat("<b>", 10_000) + "\"\n",
	} {
		if _, err := ReadSuite("s.yaml", "", []byte(text)); err == nil || len(err.Error()) > 10_000 {
			t.Errorf("%.20q…: %.300v", text, err)
		}
	}
}

func FuzzReadSuite(f *testing.F) {
	f.Add([]byte(fakeSuite))
	f.Add([]byte("schema: 1\nname: s\nexperiments: [{experiment: one, metrics: {a: {delta: 5%, of: p5}}}]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ReadSuite("s.yaml", "/dir", data)
		if err == nil && (s.Name == "" || len(s.Entries) == 0) {
			t.Errorf("%+v of %q", s, data)
		}
	})
}

func TestParseSide(t *testing.T) {
	exists := func(name string) bool { return name == "base.json" }
	for _, test := range []struct{ text, kind, value, err string }{
		{"self", KindSelf, "", ""},
		{"git:main", KindGit, "main", ""},
		{"main", KindGit, "main", ""},
		{"HEAD~3", KindGit, "HEAD~3", ""},
		{"folder:../x", KindFolder, "../x", ""},
		{"program:/bin/x:y", KindProgram, "/bin/x:y", ""},
		{"file:incast", KindFile, "incast", ""},
		{"stored:b", KindStored, "b", ""},
		{"base.json", KindStored, "base.json", ""},
		{"other.json", "", "", "no such file"},
		{"", "", "", "it is empty"},
		{"git:", "", "", "the name after git: is missing"},
		{"stred:b", "", "", `did you mean "stored"?`},
		{"self:x", "", "", "unknown kind"},
	} {
		kind, value, err := ParseSide(test.text, exists)
		if kind != test.kind || value != test.value || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%q: %s %s %v", test.text, kind, value, err)
		}
	}
}

// TestUnknownNames: variants and metrics that an experiment lacks are found before the first
// run, with their places.
func TestUnknownNames(t *testing.T) {
	for _, test := range []struct{ entry, want string }{
		{"experiment: incst\n    metrics: {fct_us.p99: 5%}", `no such file, nor an embedded experiment`},
		{"experiment: three-flow\n    variants: [csg]\n    metrics: {fct_us.p99: 5%}", `fake.yaml:5:16: experiments[0].variants: three-flow has no variant "csg"; it has baseline csig csig-wide (did you mean "csig"?)`},
		{"experiment: incast\n    metrics: {fct_us.p98: 5%}", `fake.yaml:5:27: experiments[0].metrics.fct_us.p98: unknown metric "fct_us.p98" (did you mean "fct_us.p99"?)`},
		{"experiment: three-flow\n    metrics: {fairness_ratio: 5%}", "it is not known whether less or more of fairness_ratio is better; say which: better: lower, or better: higher"},
		{"experiment: incast\n    set: [hosts.ccc=1]\n    metrics: {fct_us.p99: 5%}", `set of incast hosts.ccc=1: hosts.ccc: unknown key "ccc" (did you mean "cc"?)`},
		{"experiment: one\n    metrics: {goodput_gbps.0-13: 100%}", "delta 1: want a share below 1"},
	} {
		s := readFake(t, "schema: 1\nname: fake\nexperiments:\n  - "+test.entry+"\n")
		c := &Campaign{Suite: s, Folder: t.TempDir(), Baseline: Side{}, Candidate: Side{}}
		c.Baseline.Kind, c.Candidate.Kind = KindSelf, KindSelf
		err := c.Prepare()
		if !errors.Is(err, failure.ErrConfiguration) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s\ngot  %v\nwant %s", test.entry, err, test.want)
		}
		if files, _ := os.ReadDir(c.Folder); len(files) > 0 {
			t.Errorf("%s: the folder has %v", test.entry, files)
		}
	}
}

// TestForeignExperiment: an experiment with an algorithm that only the sides' programs have
// can be compared as soon as this csiglab knows one side of it.
func TestForeignExperiment(t *testing.T) {
	c := &Campaign{Suite: readFake(t, fakeSuite), Folder: t.TempDir(), Runner: &noisy{noise: 0.01},
		Baseline: Side{Identity: "baseline"}, Candidate: Side{Identity: "candidate", Program: "other"}}
	c.Baseline.Kind, c.Candidate.Kind, c.Candidate.Set = KindSelf, KindProgram, []string{"hosts.cc=mine"}
	d := run(t, c)
	if d.Outcome != "pass" || !slices.Equal(c.trial(c.cells[0], 1, 1).Set, []string{"hosts.cc=mine"}) {
		t.Errorf("%+v", d)
	}
	c.cells, c.Candidate.Kind, c.Candidate.Program = nil, KindSelf, ""
	if err := c.Prepare(); err == nil || !strings.Contains(err.Error(), "--candidate-set hosts.cc=mine") {
		t.Error(err)
	}
}

// TestStored: a baseline file has the values that were saved, and they compare as the runs
// themselves do.
func TestStored(t *testing.T) {
	r := &noisy{noise: 0.02, after: nil}
	c := fakeCampaign(t, fakeSuite, r)
	saved, err := c.Save(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	saved.Cells[0].Runs[3].Values[1] = math.NaN()
	file := filepath.Join(t.TempDir(), "b.json")
	if err := os.WriteFile(file, saved.Text(), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := ReadStored(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Text()) != string(saved.Text()) || !math.IsNaN(got.Cells[0].Runs[3].Values[1]) {
		t.Errorf("%s\nwant\n%s", got.Text(), saved.Text())
	}
	saved.Cells[0].Runs[3].Values[1] = 100
	want := run(t, fakeCampaign(t, fakeSuite, &noisy{noise: 0.02, effects: map[string]float64{"fct_us.max": 0.1}}))
	c = fakeCampaign(t, fakeSuite, &noisy{noise: 0.02, effects: map[string]float64{"fct_us.max": 0.1}})
	c.cells, c.Baseline = nil, got.Side()
	for i := range got.Cells { // undo the missing value
		for k, run := range saved.Cells[i].Runs {
			copy(got.Cells[i].Runs[k].Values, run.Values)
		}
	}
	d := run(t, c)
	m, w := d.Experiments[1].Metrics[0], want.Experiments[1].Metrics[0]
	if d.Outcome != want.Outcome || *m.Effect != *w.Effect || *m.P != *w.P {
		t.Errorf("%s, want %s\n%+v\n%+v", d.Outcome, want.Outcome, m, w)
	}
	for _, x := range c.Runner.(*noisy).runs {
		if x.Identity == "baseline" {
			t.Fatal("the stored baseline ran")
		}
	}
}

// No flipped bit of a baseline file is taken for a value.
func TestStoredBits(t *testing.T) {
	checkout.SkipSlowRace(t)
	saved, err := fakeCampaign(t, fakeSuite, &noisy{noise: 0.02}).Save(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	whole := saved.Text()
	file := filepath.Join(t.TempDir(), "b.json")
	values, _, _ := strings.Cut(string(whole), ",\n  \"sha256\"")
	for schema, good := range map[string]bool{"1": true, "2": false} { // without a digest
		if err := os.WriteFile(file, []byte(strings.Replace(values, "2", schema, 1)+"\n}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if old, err := ReadStored(file); (err == nil) != good || good && string(old.Text()) != string(whole) {
			t.Errorf("schema %s: %v", schema, err)
		}
	}
	for bit := 0; bit < 8*len(whole); bit += 13 {
		text := slices.Clone(whole)
		text[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadStored(file); !errors.Is(err, failure.ErrConfiguration) || !strings.HasPrefix(err.Error(), file+":") {
			t.Fatalf("bit %d: %v\n%s", bit, err, text)
		}
	}
}

func FuzzReadStored(f *testing.F) {
	text := `{"schema": 2, "suite": "s", "version": "v", "label": "l", "experiments": [{"name": "a", "content": "c", "clock": "virtual", "set": ["x=1"], "metrics": ["m"], "runs": [{"seed": 1, "trace": "t", "values": [1.5]}, {"seed": 2, "trace": "", "values": [null]}]}]`
	f.Add([]byte(text + storedEnd([]byte(text))))
	f.Fuzz(func(t *testing.T, data []byte) {
		file := filepath.Join(t.TempDir(), "b.json")
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := ReadStored(file)
		if err != nil {
			if !errors.Is(err, failure.ErrConfiguration) || !strings.HasPrefix(err.Error(), file) {
				t.Error(err)
			}
			return
		}
		if err := os.WriteFile(file, s.Text(), 0o644); err != nil {
			t.Fatal(err)
		}
		if again, err := ReadStored(file); err != nil || string(again.Text()) != string(s.Text()) {
			t.Errorf("%v: %q", err, s.Text())
		}
	})
}

// TestPlan: what a campaign's folder says is read as it was written, and what is damaged is
// refused.
func TestPlan(t *testing.T) {
	dir := t.TempDir()
	p := &Plan{Suite: *One("incast", nil, []string{"a=1"}, DefaultSeeds, []Rule{{Metric: "m", Delta: 0.1, Of: "p90"}}), Contents: map[string][2]string{"incast": {"a", "b"}}}
	if err := p.Write(dir); err != nil {
		t.Fatal(err)
	}
	got, err := ReadPlan(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, got, cmp.AllowUnexported(Entry{}, Rule{})); diff != "" {
		t.Error(diff)
	}
	file := filepath.Join(dir, PlanFile)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	read := func(text []byte) (*Plan, error) {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return ReadPlan(dir)
	}
	for _, test := range []struct{ old, fresh, want string }{
		{`"schema": 2`, `"schema": 3`, "schema 3; this csiglab reads 1 and 2"},
		{`"schema": 2`, `"schema": x`, PlanFile + ":2:13: "},
		{`"schema"`, `"schemas"`, "unknown field"},
		{`"most": 24`, `"most": 2400000`, "is damaged"},
		{`"p90"`, `"p900"`, "is damaged"},
		{`"delta": 0.1`, `"delta": -1`, "is damaged"},
	} {
		changed := strings.Replace(string(text), test.old, test.fresh, 1)
		if changed == string(text) {
			t.Fatalf("no %q in\n%s", test.old, text)
		}
		if _, err := read([]byte(changed)); !errors.Is(err, failure.ErrInfrastructure) || !errors.Is(err, trial.ErrDamaged) || !strings.Contains(err.Error(), PlanFile) {
			t.Errorf("%q, with the checksum of another text: %v", test.fresh, err)
		}
		if _, err := read(checksum.Append(checksum.Object([]byte(changed)))); !errors.Is(err, failure.ErrConfiguration) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v; want %s", test.fresh, err, test.want)
		}
	}
	if _, err := read(text[:40]); !errors.Is(err, trial.ErrDamaged) || !strings.Contains(err.Error(), "the file ends too soon") {
		t.Error(err)
	}
	for bit := 0; bit < 8*len(text); bit += 5 {
		bad := slices.Clone(text)
		bad[bit/8] ^= 1 << (bit % 8)
		if _, err := read(bad); !errors.Is(err, failure.ErrInfrastructure) || !errors.Is(err, trial.ErrDamaged) {
			t.Fatalf("bit %d: %v", bit, err)
		}
	}
	old := bytes.Replace(checksum.Object(text), []byte(`"schema": 2`), []byte(`"schema": 1`), 1)
	if p, err := read(old); err != nil || p.Suite.Name != got.Suite.Name {
		t.Errorf("a plan of the schema that had no checksum: %v", err)
	}
	if _, err := ReadPlan(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not the folder of a regression") {
		t.Error(err)
	}
}
