package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExtendShowsTheModules: the controller and the signal on the page are those that are
// built.
func TestExtendShowsTheModules(t *testing.T) {
	page, err := os.ReadFile("how-to/extend.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"worsthop", "sumtrim"} {
		module, err := os.ReadFile(filepath.Join("examples", name, name+".go"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(page), "```go\n"+string(module)+"```\n") {
			t.Errorf("extend.md does not show docs/examples/%s/%[1]s.go as it is", name)
		}
	}
}
