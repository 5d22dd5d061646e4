package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/analysis"
	"github.com/csiglab/csiglab/reports/analysis/analysistest"
)

// comparable returns a folder of a made-up run with one variant less than ThreeFlow.
func comparable(t *testing.T, change func(*analysistest.Experiment)) string {
	t.Helper()
	s := analysistest.ThreeFlow()
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
	a, b := comparable(t, nil), comparable(t, func(s *analysistest.Experiment) { s.Windows = 100 })
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
	code, stdout, stderr = csiglab(&fakeLab{}, nil, "compare", a+":csig", b+":baseline", "--json", "--metric", "fct_us.*", "--delta", "5%")
	var c analysis.FolderComparison
	if err := json.Unmarshal([]byte(stdout), &c); code != 0 || err != nil || stderr != "" {
		t.Fatalf("exit %d, %v: %s%s", code, err, stdout, stderr)
	}
	if len(c.Cases) != 1 || c.Cases[0].VariantA != "csig" || c.Cases[0].VariantB != "baseline" || c.Delta != 0.05 || c.Schema != analysis.FolderSchema {
		t.Errorf("%+v", c)
	}
	for _, m := range c.Cases[0].Metrics {
		if !strings.HasPrefix(m.Name, "fct_us.") || len(m.ValuesA) != 10 || m.Low == nil {
			t.Errorf("%+v", m)
		}
	}
}

// "invalid or incomplete folders (exit 3; a wrong name exit 2)".
func TestCompareRefuses(t *testing.T) {
	a := comparable(t, nil)
	invalid := analysistest.ThreeFlow().Folder(t, func(_ *runfolder.Manifest, s *runfolder.Summary) {
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
		{[]string{a}, exitUsage, "want two run folders, got 1"},
		{[]string{a, a, a}, exitUsage, "want two run folders, got 3"},
		{[]string{a, "nowhere"}, exitUsage, "no such file"},
		{[]string{a, t.TempDir()}, exitUsage, "not a run folder"},
		{[]string{a, a + ":csgi"}, exitUsage, `has no variant "csgi"; known: baseline csig`},
		{[]string{a, a + ":"}, exitUsage, "name a variant after the colon"},
		{[]string{a, a, "--delta", "1"}, exitUsage, `--delta "1": want a share from 0% to below 100%, such as 1%`},
		{[]string{a, a, "--delta", "NaN%"}, exitUsage, "--delta"},
		{[]string{a, a, "--metric", "fct_us.p9"}, exitUsage, "no metric that both have matches (did you mean \"fct_us.p99\"?)"},
		{[]string{a, a, "--markdwon", "x"}, exitUsage, "--markdown"},
		{[]string{a, a, "--html", filepath.Join(page, "no", "folder")}, exitUsage, "--html"},
		{[]string{a, invalid}, exitInfrastructure, "is not valid, and its figures say nothing: packets were lost"},
		{[]string{w.Dir(), a}, exitInfrastructure, "incomplete"},
		{[]string{a, damaged}, exitInfrastructure, "damaged"},
		{[]string{a, table, "--html", page}, exitInfrastructure, "ports.parquet"},
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
