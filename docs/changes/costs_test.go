package changes_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// change is a kind of change, the files of production code that it costs, and the test
// that makes it.
type change struct {
	what  string
	most  int      // files; the bound that the project holds
	files []string // new ones have NEW in their name; the others change
	test  string   // FILE TEST
}

// costs lists the kinds of changes. Documentation, docs/arrows/layers_test.go and tests are not counted.
var costs = []change{
	{"a congestion controller with its own actions", 2,
		[]string{"nodes/host/congestion/NEW.go", "nodes/host/congestion/congestion.go"}, "cmd/cli/algorithms_test.go TestNewAlgorithms"},
	{"a load balancer with a parameter", 2,
		[]string{"nodes/host/balance/NEW.go", "nodes/host/balance/balance.go"}, "cmd/cli/algorithms_test.go TestNewAlgorithms"},
	{"an AQM policy with a parameter", 2,
		[]string{"nodes/switch/aqm/NEW.go", "nodes/switch/aqm/aqm.go"}, "cmd/cli/algorithms_test.go TestNewAlgorithms"},
	{"a routing policy with a parameter", 2,
		[]string{"nodes/switch/forward/NEW.go", "nodes/switch/forward/forward.go"}, "cmd/cli/algorithms_test.go TestNewAlgorithms"},
	{"a kind of topology, here one that is no tree", 3,
		[]string{"orchestrator/experiment/NEW_topology.go", "topologies/NEW.go"}, "docs/changes/kinds_test.go TestKindsRun"},
	{"a kind of workload", 2,
		[]string{"orchestrator/experiment/NEW_workload.go", "workloads/NEW.go"}, "docs/changes/kinds_test.go TestKindsRun"},
	{"a metric", 1,
		[]string{"orchestrator/run/measure/scalars.go"}, "docs/changes/metric_test.go TestScalarMetric"},
	{"a table of records", 2,
		[]string{"metrics/NEW.go", "nodes/switch/dataplane/records.go"}, "docs/changes/table_test.go TestANewTableCostsTwoFiles"},
	{"a section of reports", 2, // its package, which may have several files, and a line in the list
		[]string{"reports/section/NEW/NEW.go", "reports/report.go"}, "reports/newsection_test.go TestANewSection"},
	{"a backend", 2, // its package, which may have several files, and a line with its import
		[]string{"orchestrator/backend/NEW/NEW.go", "orchestrator/run/campaign/backends.go"}, "docs/changes/backend_test.go TestBackend"},
	{"a command of csiglab", 2, // its file, and its name in the list of its group
		[]string{"cmd/cli/experiments/NEW.go", "cmd/cli/experiments/experiments.go"}, "docs/changes/command_test.go TestCommand"},
}

// TestCosts checks that no kind of change costs more files than its bound, and that
// the files that change and the tests that make the changes exist.
func TestCosts(t *testing.T) {
	for _, c := range costs {
		if len(c.files) > c.most {
			t.Errorf("%s: %d files, want at most %d", c.what, len(c.files), c.most)
		}
		for _, name := range c.files {
			_, err := os.Stat(fromRoot(name))
			if isNew := strings.Contains(name, "NEW"); !isNew && err != nil {
				t.Errorf("%s: %v", c.what, err)
			}
		}
		if err := hasTest(c.test); err != "" {
			t.Errorf("%s: %s", c.what, err)
		}
	}
	for _, missing := range []string{"docs/changes/costs_test.go TestNothing", "docs/changes/none_test.go TestCosts"} {
		if hasTest(missing) == "" {
			t.Errorf("%s is found", missing)
		}
	}
}

func fromRoot(name string) string {
	return filepath.Join("..", "..", filepath.FromSlash(name))
}

// hasTest returns what is wrong with the name of a test, "" if it exists.
func hasTest(name string) string {
	file, test, _ := strings.Cut(name, " ")
	parsed, err := parser.ParseFile(token.NewFileSet(), fromRoot(file), nil, parser.SkipObjectResolution)
	if err != nil {
		return err.Error()
	}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == test {
			return ""
		}
	}
	return file + " has no " + test
}
