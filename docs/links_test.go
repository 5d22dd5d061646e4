package docs_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
)

var (
	link    = regexp.MustCompile(`\[[^\]]*\]\(([^)\s]+)\)`)
	span    = regexp.MustCompile("`[^`]*`")
	heading = regexp.MustCompile(`^#+ +(.*?) *$`)
	named   = regexp.MustCompile(`<a id="([\w-]+)"></a>`)
	// citation is a Markdown file, an anchor in it, and more anchors in it. A file
	// that a URL names belongs to somebody else.
	citation  = regexp.MustCompile(`(https?://\S+)|([\w./-]*[\w-]\.md)\b(#[\w-]+(?:(?:[,;]|,? and|,? or) #[\w-]+)*)?`)
	anchorRef = regexp.MustCompile(`#([\w-]+)`)
)

// outputs are Markdown files that csiglab writes.
var outputs = []string{"stress.md", "verdict.md"}

// tree is a repository: the content of each file by its path, with slashes. Of
// files that are no text the content is empty.
type tree map[string]string

// readTree reads the repository without its history, programs and runs.
func readTree(t *testing.T) tree {
	t.Helper()
	files := tree{}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		switch {
		case err != nil:
			return err
		case slices.Contains([]string{".git", "bin", "runs"}, relative):
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case !entry.Type().IsRegular():
			return nil
		}
		content, err := os.ReadFile(name)
		if bytes.IndexByte(content, 0) >= 0 {
			content = nil
		}
		files[filepath.ToSlash(relative)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal("read the repository: ", err)
	}
	return files
}

// problems lists the links of documents and the citations of Markdown files that
// lead nowhere.
func (files tree) problems() []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for i, line := range prose(name, files[name]) {
			report := func(format string, args ...any) {
				list = append(list, fmt.Sprintf("%s:%d: ", name, i+1)+fmt.Sprintf(format, args...))
			}
			if path.Ext(name) == ".md" {
				for _, m := range link.FindAllStringSubmatch(span.ReplaceAllString(line, ""), -1) {
					if why := files.follow(name, m[1]); why != "" {
						report("link to %s: %s", m[1], why)
					}
				}
				line = link.ReplaceAllString(line, "")
			}
			if name == "docs/reference/references.md" { // where names of code are files of the sources
				line = span.ReplaceAllString(line, "")
			}
			for _, m := range citation.FindAllStringSubmatch(line, -1) {
				if m[1] != "" || slices.Contains(outputs, path.Base(m[2])) {
					continue
				}
				file, ok := files.find(name, m[2])
				if !ok {
					report("%s: there is no such file", m[2])
					continue
				}
				for _, a := range anchorRef.FindAllStringSubmatch(m[3], -1) {
					if !slices.Contains(anchors(files[file]), a[1]) {
						report("%s has no anchor #%s", file, a[1])
					}
				}
			}
		}
	}
	return list
}

// prose returns the lines of a file, those of a document's fenced blocks empty.
func prose(name, text string) []string {
	lines := strings.Split(text, "\n")
	if path.Ext(name) != ".md" {
		return lines
	}
	closing := ""
	for i, line := range lines {
		m := fence.FindStringSubmatch(strings.TrimSpace(line))
		switch {
		case closing != "":
			if strings.TrimSpace(line) == closing {
				closing = ""
			}
			lines[i] = ""
		case m != nil:
			closing, lines[i] = m[1], ""
		}
	}
	return lines
}

// find returns the file that a citation means: a path from the file that cites, from
// the repository's root, from docs or from one of its shelves.
func (files tree) find(from, cited string) (string, bool) {
	dirs := []string{path.Dir(from), ".", "docs"}
	for _, shelf := range shelves {
		dirs = append(dirs, "docs/"+shelf)
	}
	for _, dir := range dirs {
		if file := path.Join(dir, cited); files.has(file) {
			return file, true
		}
	}
	return "", false
}

// has reports whether there is a file or folder of this name.
func (files tree) has(name string) bool {
	if _, ok := files[name]; ok {
		return true
	}
	for file := range files {
		if strings.HasPrefix(file, name+"/") {
			return true
		}
	}
	return false
}

// follow returns why a link leads nowhere, empty if it leads somewhere. Links to other
// hosts are taken on trust.
func (files tree) follow(from, target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return err.Error()
	}
	if u.IsAbs() {
		return ""
	}
	file := from
	if u.Path != "" {
		file = path.Join(path.Dir(from), u.Path)
	}
	switch {
	case !files.has(file):
		return "there is no such file"
	case u.Fragment != "" && !slices.Contains(anchors(files[file]), u.Fragment):
		return "there is no such anchor"
	}
	return ""
}

// anchors returns the anchors of a document's headings, as GitHub makes them, and those that it
// names itself, such as rows of a table.
func anchors(text string) []string {
	var list []string
	for _, line := range prose(".md", text) {
		for _, m := range named.FindAllStringSubmatch(line, -1) {
			list = append(list, m[1])
		}
		m := heading.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		slug := strings.Map(func(r rune) rune {
			switch {
			case unicode.IsLetter(r), unicode.IsNumber(r), r == '-', r == '_':
				return unicode.ToLower(r)
			case r == ' ':
				return '-'
			}
			return -1
		}, m[1])
		name := slug
		for n := 1; slices.Contains(list, name); n++ {
			name = fmt.Sprintf("%s-%d", slug, n)
		}
		list = append(list, name)
	}
	return list
}

// TestLinks checks the links of the README and of docs/, and that every Markdown file
// that any file of the repository cites is in it.
func TestLinks(t *testing.T) {
	checkout.SkipSlowRace(t)
	for _, problem := range readTree(t).problems() {
		t.Error(problem)
	}
}

// TestReferenceFiles checks that each row of the references names files of ours that exist.
func TestReferenceFiles(t *testing.T) {
	files := readTree(t)
	const name = "docs/reference/references.md"
	for i, line := range strings.Split(files[name], "\n") {
		cells := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| source ") {
			continue
		}
		ours := span.FindAllString(cells[1], -1)
		if len(ours) == 0 {
			t.Errorf("%s:%d: no file of ours", name, i+1)
		}
		for _, file := range ours {
			if file = strings.Trim(file, "`"); !files.has(file) {
				t.Errorf("%s:%d: %s: there is no such file", name, i+1, file)
			}
		}
	}
}

// TestLinkProblems proves that a link or citation that leads nowhere is found.
func TestLinkProblems(t *testing.T) {
	// gone is a file that no repository has; the names are put together, so that
	// TestLinks does not find them here.
	const md = ".m" + "d"
	files := tree{
		"docs/a" + md: "# A title: of `code`\n\n## Twice\n\n## Twice\n\n| <a id=\"row\"></a>A row |\n",
		"docs/b" + md: strings.Join([]string{
			"[yes](a" + md + ") [yes](../README" + md + "#top) [yes](#here) [yes](../src/x.go) [yes](../src) [yes](https://example.org/gone" + md + ")",
			"[yes](a" + md + "#a-title-of-code) [yes](a" + md + "#twice) [yes](a" + md + "#twice-1) [yes](a" + md + "#row)",
			"[no](gone" + md + ")",
			"[no](a" + md + "#twice-2)",
			"[no](#nowhere)",
			"```",
			"[in a block](gone" + md + ")",
			"# not a heading",
			"```",
			"`[code](gone" + md + ")` `gone" + md + "` [no](#not-a-heading)",
			"## Here",
			"as gone" + md + " says",
		}, "\n"),
		"docs/reference/references" + md: "`their/gone" + md + "` but not gone" + md,
		"README" + md:                    "# Top\n",
		"src/x.go": strings.Join([]string{
			"// docs/a" + md + "#twice, a" + md + ", README" + md + "#top and https://example.org/gone" + md,
			"// docs/a" + md + "#twice, #twice-1 and #twice-2",
			"// docs/a" + md + "#once",
			"// docs/gone" + md + "#twice",
			"// *" + md + " and NAME" + md + "x",
		}, "\n"),
	}
	var got []string
	for _, problem := range files.problems() {
		got = append(got, strings.ReplaceAll(problem, md, ".MD"))
	}
	want := []string{
		"docs/b.MD:3: link to gone.MD: there is no such file",
		"docs/b.MD:4: link to a.MD#twice-2: there is no such anchor",
		"docs/b.MD:5: link to #nowhere: there is no such anchor",
		"docs/b.MD:10: gone.MD: there is no such file",
		"docs/b.MD:10: link to #not-a-heading: there is no such anchor",
		"docs/b.MD:12: gone.MD: there is no such file",
		"docs/reference/references.MD:1: gone.MD: there is no such file",
		"src/x.go:2: docs/a.MD has no anchor #twice-2",
		"src/x.go:3: docs/a.MD has no anchor #once",
		"src/x.go:4: docs/gone.MD: there is no such file",
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("problems (-got +want):\n%s", diff)
	}
}
