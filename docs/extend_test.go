package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExtendShowsTheModule: the controller on the page is the one that is built.
func TestExtendShowsTheModule(t *testing.T) {
	page, err := os.ReadFile("extend.md")
	if err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile(filepath.Join("examples", "worsthop", "worsthop.go"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "```go\n"+string(module)+"```\n") {
		t.Error("extend.md does not show docs/examples/worsthop/worsthop.go as it is")
	}
}
