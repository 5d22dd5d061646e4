package measure

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/nodes/host/congestion"
)

var update = flag.Bool("update", false, "write the reference in docs/reference/metrics.md from the catalogue")

// TestReference compares docs/reference/metrics.md, below a line that says so, with the catalogue.
func TestReference(t *testing.T) {
	checkout.Written(t, "reference/metrics.md", reference(), *update)
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
			b.WriteString(strings.ReplaceAll(fmt.Sprintf("| `%s` | %s | %s | %s | %s |\n", m.Form, m.FormUnit(), m.Better, strings.Join(m.Needed(), ", "), doc), "  ", " "))
		}
		if g.More != "" {
			more += "\n" + g.More + "\n"
		}
	}
	b.WriteString(more + "\n## Actions\n\n| congestion control | `cc_share.<flow>.<action>` |\n|---|---|\n")
	for _, a := range congestion.Table {
		if names := a.ActionNames(); len(names) > 0 {
			fmt.Fprintf(&b, "| `%s` | `%s` |\n", a.Name, strings.Join(names, "`, `"))
		}
	}
	return b.String()
}
