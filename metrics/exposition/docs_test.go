package exposition_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics/exposition"
)

// docs/how-to/live.md has a row about every family, in the order of the table.
func TestDocsHaveEveryFamily(t *testing.T) {
	text, err := os.ReadFile("../../docs/how-to/live.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, f := range exposition.Families {
		labels := "-"
		if len(f.Labels) > 0 {
			labels = strings.Join(f.Labels, ", ")
		}
		from := "folder"
		if f.Live {
			from = "lab, folder"
		}
		want = append(want, fmt.Sprintf("| `%s` | %v | %s | %s | %s |", f.Name, f.Type, labels, from, f.Help))
	}
	var got []string
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "| `csig_") {
			got = append(got, line)
		}
	}
	if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
		t.Errorf("the rows of docs/how-to/live.md are\n%s\n\nwant\n%s", a, b)
	}
	for name, f := range map[string]string{"utilisation": exposition.PortWindowUtilisation, "queue": exposition.PortWindowQueue} {
		buckets := ""
		for _, b := range exposition.Of(f).Buckets {
			buckets += fmt.Sprintf(" %g", b)
		}
		if !strings.Contains(string(text), buckets[1:]) {
			t.Errorf("docs/how-to/live.md lacks the buckets of %s: %s", name, buckets[1:])
		}
	}
}
