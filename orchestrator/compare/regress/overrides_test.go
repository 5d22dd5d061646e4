package regress

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
)

// TestOverridesOfFiles: a file that a suite's set names is relative to the suite, one that a
// flag names to the folder where the flag was given. Neither depends on where csiglab
// runs, and a stored baseline has the names as they were given.
func TestOverridesOfFiles(t *testing.T) {
	suites, flags := t.TempDir(), t.TempDir()
	write := func(dir, name, text string) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	write(suites, "small.yaml", "schema: 1\nname: small\ntopology: {dumbbell: {left: 2, right: 2, rate: 100Gbps, delay: 1us}}\nworkload: {file: none.cm}\n")
	of := write(suites, "a.cm", "Nodes 4\nConnections 1\n0->2 start 0 size 100000\n")
	mine := write(flags, "b.cm", "Nodes 4\nConnections 1\n0->3 start 0 size 100000\n")
	t.Chdir(t.TempDir())
	s, err := ReadSuite("fake.yaml", suites, []byte("schema: 1\nname: fake\nseeds: {first: 5, most: 5}\nexperiments:\n  - experiment: small.yaml\n    set: [workload.file=a.cm]\n    metrics: {fct_us.mean: 5%}\n"))
	if err != nil {
		t.Fatal(err)
	}
	r := &noisy{}
	c := &Campaign{Suite: s, Folder: t.TempDir(), Runner: r, Baseline: Side{Side: verdict.Side{Kind: KindSelf}, Identity: "baseline"},
		Candidate: Side{Side: verdict.Side{Kind: KindSelf, Set: []string{"workload.file=b.cm"}}, Dir: flags, Identity: "candidate"}}
	run(t, c)
	suite, flag := fmt.Sprintf("workload.file=%q", of), fmt.Sprintf("workload.file=%q", mine)
	for _, one := range r.runs {
		want := []string{suite}
		if one.Identity == "candidate" {
			want = append(want, flag)
		}
		if !slices.Equal(one.Set, want) {
			t.Fatalf("the %s runs with %q, want %q", one.Identity, one.Set, want)
		}
	}
	saved := &Campaign{Suite: s, Folder: t.TempDir(), Runner: r, Baseline: Side{Side: verdict.Side{Kind: KindSelf}, Identity: "baseline"}}
	stored, err := saved.Save(t.Context())
	if err != nil || !slices.Equal(stored.Cells[0].Set, []string{"workload.file=a.cm"}) {
		t.Errorf("%v; stored %+v", err, stored)
	}
}
