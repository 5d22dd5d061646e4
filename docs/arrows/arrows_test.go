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
	for _, name := range missing(m) {
		t.Errorf("docs/arrows/layers_test.go names %s, which does not exist", name)
	}
	for _, name := range entryPoints {
		if !m.has(name) {
			t.Errorf("docs/arrows/exit_test.go names %s, which does not exist", name)
		}
	}
}

// TestLayers holds the layers to a number that one can recite, and each room to one place.
func TestLayers(t *testing.T) {
	if len(layers) > mostLayers {
		t.Errorf("%d layers, want %d at most", len(layers), mostLayers)
	}
	seen := map[string]bool{}
	for _, room := range rooms() {
		if seen[room] {
			t.Errorf("the room %s stands twice", room)
		}
		seen[room] = true
	}
}

// TestMissing proves that a name without a package is found, as is a file that is not
// there.
func TestMissing(t *testing.T) {
	m, err := parseModule(map[string]string{"units/units.go": file("units", "")})
	if err != nil {
		t.Fatal(err)
	}
	if names := missing(m); !slices.Contains(names, "nodes/wire") || slices.Contains(names, "units") {
		t.Errorf("missing: %v", names)
	}
	if m.has("cmd/csiglab/main.go") || !m.has("units/units.go") {
		t.Error("has is wrong about which files there are")
	}
}

// check reports every broken rule of a module.
func check(m *module, files exports, report func(problem)) {
	ps := &problems{fset: m.fset}
	checkLayers(m, ps)
	checkCircles(m, ps)
	checkExits(m, ps)
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
