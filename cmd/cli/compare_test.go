package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/compare/results"
	"github.com/csiglab/csiglab/reports/compare"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
)

// comparable returns a folder of a made-up run with one variant less than ThreeFlow.
func comparable(t *testing.T, change func(*readingtest.Experiment)) string {
	t.Helper()
	s := readingtest.ThreeFlow()
	delete(s.Rates, "csig-wide")
	s.Seeds = []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	s.Windows = 80
	if change != nil {
		change(s)
	}
	return s.Folder(t, func(_ *runfolder.Manifest, summary *runfolder.Summary) {
		for _, v := range summary.Variants {
			for i := range v.Runs { // other runs have other traces
				v.Runs[i].TraceHash += fmt.Sprint(s.Windows)
			}
		}
	}).Dir
}

// "two runs or campaigns: … text, Markdown, HTML, JSON".
func TestCompareForms(t *testing.T) {
	a, b := comparable(t, nil), comparable(t, func(s *readingtest.Experiment) { s.Windows = 100 })
	dir := t.TempDir()
	markdown, page := filepath.Join(dir, "comparison.markdown"), filepath.Join(dir, "c.html")
	code, stdout, stderr := csiglab(&fakeLab{}, nil, "compare", a, b, "--markdown", markdown, "--html", page)
	if code != 0 || stderr != "" || !strings.HasPrefix(stdout, "B against A: ") || !strings.Contains(stdout, "WORSE") || !strings.Contains(stdout, "Variant csig: 10 seeds in pairs: ") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	if text, err := os.ReadFile(markdown); err != nil || !strings.HasPrefix(string(text), "# Comparison: three-flow\n") {
		t.Errorf("%s: %v", text, err)
	}
	text, err := os.ReadFile(page)
	if err != nil || !strings.HasPrefix(string(text), "<!doctype html>") {
		t.Fatalf("%d bytes: %v", len(text), err)
	}
	for _, want := range []string{`id="case-0-queues"`, `id="case-1-signature"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page has no %s", want)
		}
	}
	whole, err := os.ReadFile(markdown)
	if err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := csiglab(&fakeLab{}, nil, "compare", a, b, "--markdown", "-"); code != 0 || stdout != string(whole) {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	code, stdout, stderr = csiglab(&fakeLab{}, nil, "compare", a+":csig", b+":baseline", "--json", "--metric", "fct_us.*", "--delta", "5%")
	var c compare.Comparison
	if err := json.Unmarshal([]byte(stdout), &c); code != 0 || err != nil || stderr != "" {
		t.Fatalf("exit %d, %v: %s%s", code, err, stdout, stderr)
	}
	if len(c.Cases) != 1 || c.Cases[0].VariantA != "csig" || c.Cases[0].VariantB != "baseline" || c.Delta != 0.05 || c.Schema != compare.Schema {
		t.Errorf("%+v", c)
	}
	for _, m := range c.Cases[0].Metrics {
		if !strings.HasPrefix(m.Name, "fct_us.") || len(m.ValuesA) != 10 || m.Low == nil {
			t.Errorf("%+v", m)
		}
	}
}

// Three sides and more are compared with the first; of one folder alone the variants are the sides,
// and two of them are compared as two folders are.
func TestCompareSeveral(t *testing.T) {
	longer := func(windows int) string {
		return comparable(t, func(s *readingtest.Experiment) { s.Windows = windows })
	}
	a, b := comparable(t, nil), longer(100)
	page := filepath.Join(t.TempDir(), "c.html")
	args := []string{"compare", a + ":baseline", longer(90) + ":csig", b + ":csig", "--metric", "fct_us.*"}
	code, stdout, stderr := csiglab(&fakeLab{}, nil, append(args, "--html", page)...)
	if code != 0 || stderr != "" || !strings.HasPrefix(stdout, "Against A: B ") || !strings.Contains(stdout, "Variant baseline of A, csig of B, csig of C: 10 seeds in pairs: B ") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	if text, err := os.ReadFile(page); err != nil || !strings.Contains(string(text), "C against A") || !strings.Contains(string(text), `id="side-B-queues"`) || !strings.Contains(string(text), `id="side-C-signature"`) || !strings.Contains(string(text), "more in C") {
		t.Errorf("%d bytes: %v", len(text), err)
	}
	var several compare.Several
	code, stdout, stderr = csiglab(&fakeLab{}, nil, append(args, "--json")...)
	if err := json.Unmarshal([]byte(stdout), &several); code != 0 || err != nil || len(several.Comparisons) != 2 || several.Comparisons[1].B.Folder != b || several.Comparisons[1].Cases[0].Sides != 2 {
		t.Errorf("exit %d, %v: %s%s", code, err, stdout, stderr)
	}
	_, named, _ := csiglab(&fakeLab{}, nil, "compare", a+":baseline", a+":csig", "--csv")
	if code, stdout, stderr := csiglab(&fakeLab{}, nil, "compare", a, "--csv"); code != 0 || stdout != named || !strings.HasPrefix(stdout, "case,") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
}

// "invalid or incomplete folders (exit 3; a wrong name exit 2)".
func TestCompareRefuses(t *testing.T) {
	checkout.SkipSlowRace(t)
	a := comparable(t, nil)
	invalid := readingtest.ThreeFlow().Folder(t, func(_ *runfolder.Manifest, s *runfolder.Summary) {
		s.Valid, s.Reasons = false, []string{"packets were lost"}
	}).Dir
	w, err := runfolder.Create(filepath.Join(t.TempDir(), "run"), runfolder.Manifest{Name: "x", IntervalUS: 100, Variants: []runfolder.Variant{{Name: "v"}}})
	if err != nil {
		t.Fatal(err)
	}
	damaged := comparable(t, nil)
	if err := os.WriteFile(filepath.Join(damaged, runfolder.SummaryFile), []byte(`{"schema":1,`), 0o644); err != nil {
		t.Fatal(err)
	}
	table := comparable(t, nil)
	if err := os.WriteFile(filepath.Join(table, "ports.parquet"), []byte("PAR1"), 0o644); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(t.TempDir(), "c.html")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, command.ExitUsage, "name run folders to compare"},
		{[]string{a + ":csig"}, command.ExitUsage, "with what is it to be compared?"},
		{slices.Repeat([]string{a}, 27), command.ExitUsage, "27 sides: want at most 26"},
		{[]string{a, a, a + ":csgi"}, command.ExitUsage, `has no variant "csgi"; known: baseline csig`},
		{[]string{a, a, "nowhere"}, command.ExitUsage, "no such file"},
		{[]string{a, a, a, "--metric", "fct_us.p9"}, command.ExitUsage, "no metric that both have matches (did you mean \"fct_us.p99\"?)"},
		{[]string{a, "nowhere"}, command.ExitUsage, "no such file"},
		{[]string{a, t.TempDir()}, command.ExitUsage, "not a run folder"},
		{[]string{a, a + ":csgi"}, command.ExitUsage, `has no variant "csgi"; known: baseline csig`},
		{[]string{a, a + ":"}, command.ExitUsage, "name a variant after the colon"},
		{[]string{a, a, "--delta", "1"}, command.ExitUsage, `--delta "1": want a share from 0% to below 100%, such as 1%`},
		{[]string{a, a, "--delta", "NaN%"}, command.ExitUsage, "--delta"},
		{[]string{a, a, "--metric", "fct_us.p9"}, command.ExitUsage, "no metric that both have matches (did you mean \"fct_us.p99\"?)"},
		{[]string{a, a, "--json", "--markdown", "-"}, command.ExitUsage, "exclude each other"},
		{[]string{a, a, "--html", "-", "--markdown", "-"}, command.ExitUsage, "exclude each other"},
		{[]string{a, a, "--markdwon", "x"}, command.ExitUsage, "--markdown"},
		{[]string{a, a, "--html", filepath.Join(page, "no", "folder")}, command.ExitUsage, "--html"},
		{[]string{a, invalid}, command.ExitInfrastructure, "is not valid, and its figures say nothing: packets were lost"},
		{[]string{w.Dir(), a}, command.ExitInfrastructure, "incomplete"},
		{[]string{a, damaged}, command.ExitInfrastructure, "damaged"},
		{[]string{a, table, "--html", page}, command.ExitInfrastructure, "ports.parquet"},
	} {
		code, stdout, stderr := csiglab(&fakeLab{}, nil, append([]string{"compare"}, c.args...)...)
		if code != c.code || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit %d, want %d: %s%s, want %q", c.args, code, c.code, stdout, stderr, c.want)
		}
	}
	if _, err := os.Stat(page); err == nil {
		t.Error("a page of a damaged folder was written")
	}
}

// Ctrl-C ends it with exit code 3, and leaves no file.
func TestCompareInterrupted(t *testing.T) {
	a, page := comparable(t, nil), filepath.Join(t.TempDir(), "c.html")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr strings.Builder
	if code := execute(ctx, command.Linked{}, newWork(command.Linked{}), []string{"compare", a, a, "--html", page}, nil, &stdout, &stderr); code != command.ExitInfrastructure || stdout.Len() > 0 || !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("exit %d: %s%s", code, stdout.String(), stderr.String())
	}
	if _, err := os.Stat(page); err == nil {
		t.Error("it left a page")
	}
}

// A folder may have a colon in its name.
func TestCompareTakesNamesWithColons(t *testing.T) {
	a := comparable(t, nil)
	odd := filepath.Join(t.TempDir(), "run:csig")
	if err := os.Rename(a, odd); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{odd, odd}, {odd + ":csig", odd + ":csig"}} {
		if code, stdout, stderr := csiglab(&fakeLab{}, nil, append([]string{"compare"}, args...)...); code != 0 || !strings.HasPrefix(stdout, "Identical: ") {
			t.Errorf("%v: exit %d: %s%s", args, code, stdout, stderr)
		}
	}
}

// sweepFolder writes the folder of a sweep of run folders with one variant each, one for each
// value of links.mtu. change may be nil.
func sweepFolder(t *testing.T, change func(*[]results.Row), values map[string]*runfolder.Folder) string {
	t.Helper()
	names := map[string]bool{}
	var rows []results.Row
	var seeds []uint64
	variant := ""
	for i, value := range slices.Sorted(maps.Keys(values)) {
		f := values[value]
		variant, seeds = f.Manifest.Variants[0].Name, nil
		for _, r := range f.Summary.Variants[variant].Runs {
			seeds = append(seeds, r.Seed)
			rows = append(rows, results.Row{Point: i, Set: []string{value}, Variant: variant, Seed: r.Seed, Outcome: results.Passed, TraceHash: r.TraceHash, Metrics: r.Metrics})
			for name := range r.Metrics {
				names[name] = true
			}
		}
	}
	if change != nil {
		change(&rows)
	}
	dir := t.TempDir()
	var table bytes.Buffer
	w := results.NewWriter(&table, results.Columns{Paths: []string{"links.mtu"}, Metrics: slices.Sorted(maps.Keys(names))})
	for _, r := range rows {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	plan, err := json.Marshal(map[string]any{"schema": 1, "name": "x", "version": "0.1", "clock": "virtual", "points": make([]struct{}, len(values)), "variants": []string{variant}, "seeds": seeds})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{results.File: table.Bytes(), "sweep.json": plan} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// "two runs or campaigns (run folders, sweep folders by point)". The metrics of single flows
// and ports are the same whether the fabric is known or, in a sweep, only names.
func TestCompareSweeps(t *testing.T) {
	checkout.SkipSlowRace(t)
	checkout.SkipLong(t)
	dir := filepath.Join(t.TempDir(), "run")
	if code := execute(t.Context(), command.Linked{}, newWork(command.Linked{}), []string{"run", "three-flow", "--variant", "csig", "--seeds", "2", "--out", dir}, nil, io.Discard, io.Discard); code >= command.ExitUsage {
		t.Fatal("exit ", code)
	}
	f, err := runfolder.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	compared := func(args ...string) *compare.Comparison {
		t.Helper()
		var c compare.Comparison
		code, stdout, stderr := csiglab(&fakeLab{}, nil, append([]string{"compare", "--json"}, args...)...)
		if err := json.Unmarshal([]byte(stdout), &c); code != 0 || err != nil {
			t.Fatalf("exit %d, %v: %s", code, err, stderr)
		}
		return &c
	}
	names := func(c *compare.Comparison) (all []string) {
		for _, m := range c.Cases[0].Metrics {
			all = append(all, m.Name)
		}
		slices.Sort(all)
		return all
	}
	a := sweepFolder(t, nil, map[string]*runfolder.Folder{"1kB": f, "4kB": f})
	b := sweepFolder(t, nil, map[string]*runfolder.Folder{"4kB": f, "9kB": f})
	c := compared(a, b)
	if len(c.Cases) != 1 || c.Cases[0].Name != "links.mtu=4kB csig" || !c.Cases[0].Identical || !c.A.Sweep || len(c.Notes) != 3 {
		t.Fatalf("%+v, notes %q", c.Cases, c.Notes)
	}
	if diff := cmp.Diff(names(compared(dir, dir)), names(c)); diff != "" {
		t.Errorf("metrics of whole runs, by the fabric and by their names: %s", diff)
	}
	if n := len(names(c)); n < 50 || c.Cases[0].LeftOut < 100 {
		t.Errorf("%d metrics, %d left out", n, c.Cases[0].LeftOut)
	}
	if code, stdout, stderr := csiglab(&fakeLab{}, nil, "compare", a, b, a); code != 0 || !strings.Contains(stdout, "links.mtu=4kB csig: ") || !strings.Contains(stdout, "; C has the same traces, ") {
		t.Errorf("three sweeps: exit %d: %s%s", code, stdout, stderr)
	}
	page := filepath.Join(t.TempDir(), "c.html")
	if c := compared(a, b, "--metric", "fct_us.p*", "--html", page); len(names(c)) != 4 {
		t.Errorf("%v", names(c))
	}
	if text, err := os.ReadFile(page); err != nil || !strings.Contains(string(text), "links.mtu=4kB csig") {
		t.Errorf("page of %d bytes: %v", len(text), err)
	}
	one := map[string]*runfolder.Folder{"1kB": f}
	for _, r := range []struct {
		b    string
		code int
		want string
	}{
		{sweepFolder(t, nil, map[string]*runfolder.Folder{"9kB": f}), command.ExitUsage, "no point and variant in common"},
		{dir, command.ExitUsage, "one is the folder of a sweep, and the other one is not"},
		{sweepFolder(t, func(rows *[]results.Row) { *rows = (*rows)[:1] }, one), command.ExitInfrastructure, "it has 1 of 2 runs; csiglab sweep --resume"},
		{sweepFolder(t, func(rows *[]results.Row) { (*rows)[1].Outcome, (*rows)[1].Reason = results.Invalid, "killed" }, one), command.ExitInfrastructure, "the first of them point 0, csig, seed 2: killed"},
	} {
		if code, stdout, stderr := csiglab(&fakeLab{}, nil, "compare", a, r.b); code != r.code || stdout != "" || !strings.Contains(stderr, r.want) {
			t.Errorf("exit %d, want %d: %s%s, want %q", code, r.code, stdout, stderr, r.want)
		}
	}
	for _, name := range []string{results.File, "sweep.json"} {
		damaged := sweepFolder(t, nil, one)
		if err := os.WriteFile(filepath.Join(damaged, name), []byte("{PAR1"), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, stdout, stderr := csiglab(&fakeLab{}, nil, "compare", a, damaged); got != command.ExitInfrastructure || stdout != "" || !strings.Contains(stderr, name) {
			t.Errorf("damaged %s: exit %d: %s%s", name, got, stdout, stderr)
		}
	}
}
