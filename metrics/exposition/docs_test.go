package exposition_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/exposition"
)

var update = flag.Bool("update", false, "write the families into docs/reference/live-metrics.md")

// docs/reference/live-metrics.md has a row about every family, in the order of the table, and the buckets.
func TestDocsHaveEveryFamily(t *testing.T) {
	var b strings.Builder
	b.WriteString("\n| family | type | labels | from | meaning |\n|---|---|---|---|---|\n")
	for _, f := range exposition.Families {
		from := "folder"
		if f.Live {
			from = "lab, folder"
		}
		labels := strings.Replace(strings.Join(f.Labels, ", "), "node, port, tier, direction", "PORT", 1)
		fmt.Fprintf(&b, "| `%s` | %v | %s | %s | %s |\n", f.Name, f.Type, labels, from, f.Help)
	}
	b.WriteString("\n## Buckets\n\n")
	for _, name := range []string{exposition.PortWindowUtilisation, exposition.PortWindowQueue} {
		fmt.Fprintf(&b, "- `%s`:", name)
		for _, bucket := range exposition.Of(name).Buckets {
			fmt.Fprintf(&b, " %g", bucket)
		}
		b.WriteString("\n")
	}
	checkout.Written(t, "reference/live-metrics.md", b.String(), *update)
}
