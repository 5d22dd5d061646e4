package arrows

import (
	"slices"
	"strings"
	"testing"
)

// TestModule checks the module that this test belongs to.
func TestModule(t *testing.T) {
	m := repository(t)
	for _, dir := range []string{"units", "cmd/csiglab", "docs/arrows"} {
		if m.packages[dir] == nil {
			t.Fatalf("the walk missed %s; it found %d packages", dir, len(m.packages))
		}
	}
	check(m, listExports(t), func(p problem) { t.Error(p) })
}

// check reports every broken rule of a module.
func check(m *module, files exports, report func(problem)) {
	ps := &problems{fset: m.fset}
	checkLayers(m, ps)
	checkMachines(m, files, ps)
	checkText(m, ps)
	for _, p := range ps.sorted() {
		report(p)
	}
}

// TestViolations proves that every rule can fail, on modules of one or two
// small packages.
func TestViolations(t *testing.T) {
	files := listExports(t)
	for _, test := range violations {
		t.Run(test.name, func(t *testing.T) {
			m, err := parseModule(test.sources)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			check(m, files, func(p problem) { got = append(got, p.String()) })
			if test.want == "" {
				if len(got) > 0 {
					t.Errorf("got problems, want none:\n%s", strings.Join(got, "\n"))
				}
				return
			}
			if !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, test.want) }) {
				t.Errorf("got problems:\n%s\nwant one with %q", strings.Join(got, "\n"), test.want)
			}
		})
	}
}
