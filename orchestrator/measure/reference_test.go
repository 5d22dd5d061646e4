package measure

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the reference in docs/metrics.md from the catalogue")

// TestReference compares docs/metrics.md, below a line that says so, with the catalogue.
func TestReference(t *testing.T) {
	const file, mark = "../../docs/metrics.md", "<!-- What follows is written by go test ./orchestrator/measure -run TestReference -update -->\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	byHand, got, found := strings.Cut(string(text), mark)
	if !found || len(byHand) > 6000 {
		t.Fatalf("%s: %d bytes by hand, want up to 6000 and then %q", file, len(byHand), mark)
	}
	want := reference()
	if *update {
		if err := os.WriteFile(file, []byte(byHand+mark+want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got != want {
		t.Errorf("%s is not what the catalogue says; go test ./orchestrator/measure -run TestReference -update writes it", file)
	}
}

// reference returns a section for each group with a title, and a table of its entries.
func reference() string {
	var b strings.Builder
	more := ""
	for _, g := range Catalogue {
		if g.Title != "" {
			b.WriteString(more)
			fmt.Fprintf(&b, "\n## %s\n\n", g.Title)
			if g.Doc != "" {
				fmt.Fprintf(&b, "%s\n\n", g.Doc)
			}
			fmt.Fprintf(&b, "| %s | unit | better | needs | meaning |\n|---|---|---|---|---|\n", strings.TrimSuffix("metric of "+g.Of, " of "))
			more = ""
		}
		for _, m := range g.Entries {
			doc := m.Doc
			if statistics := m.Statistics(); statistics != nil {
				doc = strings.Join(statistics, ", ") + ": " + doc
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", m.Form, m.FormUnit(), m.Better, strings.Join(m.Needed(), ", "), doc)
		}
		if g.More != "" {
			more += "\n" + g.More + "\n"
		}
	}
	return b.String() + more
}
