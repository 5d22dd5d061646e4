package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSite builds the site of docs strictly: a dead link, a page that is missing in the navigation
// or the other way round fails. Search finds every page.
func TestSite(t *testing.T) {
	if _, err := exec.LookPath("mkdocs"); err != nil {
		t.Skip("mkdocs is not on PATH: ", err)
	}
	site := t.TempDir()
	cmd := exec.Command("mkdocs", "build", "--strict", "--quiet", "--site-dir", site)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("mkdocs build: %v\n%s", err, out)
	}
	index, err := os.ReadFile(filepath.Join(site, "search", "search_index.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, shelf := range shelves {
		pages, err := filepath.Glob(filepath.Join(shelf, "*.md"))
		if err != nil || len(pages) == 0 {
			t.Fatalf("shelf %s: %d pages, %v", shelf, len(pages), err)
		}
		for _, page := range pages {
			html := strings.TrimSuffix(filepath.ToSlash(page), ".md") + ".html"
			if !strings.Contains(string(index), `"location":"`+html+`"`) {
				t.Errorf("search does not find %s", html)
			}
			if _, err := os.Stat(filepath.Join(site, html)); err != nil {
				t.Error(err)
			}
		}
	}
}
