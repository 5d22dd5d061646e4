package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExtendShowsTheModules: the controller and the signal on the pages are those that are
// built.
func TestExtendShowsTheModules(t *testing.T) {
	for name, file := range map[string]string{"worsthop": "tutorial/own-algorithm.md", "sumtrim": "how-to/extend.md"} {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		module, err := os.ReadFile(filepath.Join("examples", name, name+".go"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(page), "```go\n"+string(module)+"```\n") {
			t.Errorf("%s does not show docs/examples/%s/%[2]s.go as it is", file, name)
		}
	}
}
