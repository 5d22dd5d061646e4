package runfolder

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/internal/tagdoc"
)

var update = flag.Bool("update", false, "write the tables of docs/reference/telemetry.md and run-folder.md")

// The keys of manifest.json are on the page as their tags say.
func TestManifestIsDocumented(t *testing.T) {
	var b strings.Builder
	for _, of := range []struct {
		heading string
		keys    any
	}{
		{"### manifest.json", Manifest{}},
		{"#### Fidelity\n\n`fidelity` of each of the `runs` says how well a run under [clock wall](../explanation/wall.md) kept real time. Times are wall time unless stated otherwise.", Fidelity{}},
		{"#### Cut\n\n`cut` of each of the `runs` is there for a run in [several parts](../explanation/lockstep.md#a-fabric-in-several-parts).", Cut{}},
	} {
		fmt.Fprintf(&b, "\n%s\n\n| key | meaning |\n|---|---|\n", of.heading)
		for _, f := range reflect.VisibleFields(reflect.TypeOf(of.keys)) {
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Tag.Get("doc") == "" {
				t.Errorf("%s has no tag doc", f.Name)
			}
			fmt.Fprintf(&b, "| `%s` | %s |\n", key, tagdoc.Markdown(f.Tag.Get("doc")))
		}
	}
	checkout.Written(t, "reference/run-folder.md", b.String(), *update)
}

// The page has a section for each table, whose text and columns are those of the tags: what
// stands behind the columns is the page's own.
func TestTablesAreDocumented(t *testing.T) {
	name := filepath.Join("..", "..", "docs", "reference", "telemetry.md")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, l := range layouts() {
		heading, want := "### "+l.name+".parquet\n", l.document()
		section := regexp.MustCompile("(?m)^" + regexp.QuoteMeta(heading) + `(?:[^#\n|].*\n|\n)*(?:\|.*\n)+`)
		switch got := section.FindString(page); {
		case got == heading+want:
		case got == "":
			t.Errorf("docs/reference/telemetry.md has no section %s", l.name)
			page = strings.Replace(page, "## One line each\n", heading+want+"\n## One line each\n", 1)
		default:
			t.Errorf("docs/reference/telemetry.md, %s: %s", l.name, firstDifference(got, heading+want))
			page = strings.Replace(page, got, heading+want, 1)
		}
	}
	if known := len(layouts()); strings.Count(page, ".parquet\n\n") != known {
		t.Errorf("docs/reference/telemetry.md has %d sections of tables, there are %d tables", strings.Count(page, ".parquet\n\n"), known)
	}
	if *update && page != string(text) {
		if err := os.WriteFile(name, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// firstDifference returns the first line in which two texts differ.
func firstDifference(got, want string) string {
	lines := strings.Split(want, "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(lines) || line != lines[i] {
			return fmt.Sprintf("line %q, want %q; -update writes it", line, strings.Join(lines[i:min(i+1, len(lines))], ""))
		}
	}
	return "lines are missing; -update writes them"
}

// document returns the text of a table in the page.
func (l *layout) document() string {
	var b strings.Builder
	words := tagdoc.Markdown
	line := func(name, unit, of, doc string) {
		cells := []string{name, unit, of, words(doc)}
		if l.kind == "" {
			cells = append(cells[:2], cells[3])
		}
		for _, cell := range cells {
			b.WriteString("| " + cell)
			if cell != "" {
				b.WriteString(" ")
			}
		}
		b.WriteString("|\n")
	}
	b.WriteString("\n" + words(l.doc) + "\n\n")
	line("column", "unit", "of", "meaning")
	b.WriteString(strings.Repeat("|---", strings.Count(b.String()[strings.LastIndex(b.String(), "| column"):], "|")-1) + "|\n")
	for _, c := range l.columns {
		of := c.of
		if of == "" {
			of = "all"
		}
		line("`"+c.name+"`", c.unit, of, c.doc)
	}
	return b.String()
}
