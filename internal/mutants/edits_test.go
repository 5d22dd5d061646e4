package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/compare/regress"
	"github.com/csiglab/csiglab/suites"
)

// TestEdits applies each edit to the checkout: the text must occur once, and what comes out
// must be Go.
func TestEdits(t *testing.T) {
	all, err := edits()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 60 {
		t.Errorf("%d edits, want 60 at least", len(all))
	}
	text, _ := suites.Text("standard")
	suite, err := regress.ReadSuite("standard", "", text)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if _, _, err := e.changed(checkout.Repository(t)); err != nil {
			t.Error(err)
		}
		for _, name := range e.Entries {
			if !slices.ContainsFunc(suite.Entries, func(x regress.Entry) bool { return x.Name == name }) {
				t.Errorf("edit %s: the suite has no entry %s", e.Name, name)
			}
		}
	}
}

func TestEditsThatDoNotApply(t *testing.T) {
	for _, c := range []struct {
		edit Edit
		want string
	}{
		{Edit{Name: "gone", File: "nodes/csig/domain.go", Old: "no such text", New: "x"}, "does not occur exactly once"},
		{Edit{Name: "often", File: "nodes/csig/domain.go", Old: "return", New: "x"}, "does not occur exactly once"},
		{Edit{Name: "same", File: "nodes/csig/domain.go", Old: "package csig", New: "package csig"}, "changes nothing"},
		{Edit{Name: "broken", File: "nodes/csig/domain.go", Old: "package csig", New: "package"}, "expected"},
		{Edit{Name: "file", File: "nodes/csig/none.go", Old: "x", New: "y"}, "no such file"},
	} {
		_, _, err := c.edit.changed(checkout.Repository(t))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", c.edit.Name, err, c.want)
		}
	}
}

func TestChoose(t *testing.T) {
	all := []Edit{{Name: "a"}, {Name: "b"}, {Name: "c"}}
	for _, c := range []struct{ only, shard, want string }{
		{"", "", "a b c"}, {"c,a", "", "a c"}, {"", "1/2", "a c"}, {"", "2/2", "b"}, {"a,b", "2/2", "b"},
	} {
		chosen, err := choose(slices.Clone(all), c.only, c.shard)
		var names []string
		for _, e := range chosen {
			names = append(names, e.Name)
		}
		if got := strings.Join(names, " "); err != nil || got != c.want {
			t.Errorf("--only %q --shard %q: %q, %v; want %q", c.only, c.shard, got, err, c.want)
		}
	}
	for _, c := range []struct{ only, shard string }{{"d", ""}, {"", "3/2"}, {"", "0/2"}, {"", "x"}} {
		if _, err := choose(slices.Clone(all), c.only, c.shard); err == nil {
			t.Errorf("--only %q --shard %q is taken", c.only, c.shard)
		}
	}
}

// TestTable: an edit that only unit tests notice survives, and one that was not asked
// everything counts for nothing. A refactoring has no part in the score.
func TestTable(t *testing.T) {
	all := []Edit{{Name: "a", What: "x"}, {Name: "b", What: "y", Survives: "no trace has it"}, {Name: "c", What: "z"}, {Name: "d", What: "w", Same: true}}
	var results []result
	add := func(e *Edit, asked, by string) {
		results = append(results, result{Edit: e.Name, Digest: e.digest(), Asked: asked, Noticed: by != "", By: by})
	}
	add(&all[0], askSuite, "")
	add(&all[0], askSuite, "incast") // asked again
	add(&all[0], askSelftest, "")
	add(&all[1], askSuite, "")
	add(&all[1], askSelftest, "")
	add(&all[1], askUnits, "nodes/csig")
	add(&all[2], askSuite, "")
	add(&all[3], askSuite, "")
	got := table(all, results)
	for _, want := range []string{
		"| suite | 1 of 3 |", "| selftest | 0 of 2 |", "| units | 1 of 1 |", "| suite and self-test together | 1 of 2, 50 % |",
		"| `a` | x | incast | no | not asked |\n", "| `b` | no trace has it |\n", "| `c` | z | no | not asked | not asked |\n",
		"| `d` | w | no | not asked | not asked |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the table lacks %q:\n%s", want, got)
		}
	}
}
