package compare_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/reports/compare"
	"github.com/csiglab/csiglab/reports/section/variants"
)

func csvFile(t *testing.T, name, text string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// Numbers of another program are compared like those of runs, in pairs of seeds, by variant.
func TestNumbersOfOthers(t *testing.T) {
	var a, b strings.Builder
	a.WriteString("\ufeffvariant,metric,seed,value,note\n")
	b.WriteString("value, seed, metric\n")
	for seed := range 12 {
		fmt.Fprintf(&a, "x,fct_us.p99,%d,%d,\"a, b\"\ny,fct_us.p99,%d,1,\n", seed, 100+seed%3, seed)
		fmt.Fprintf(&b, "%d,%d,fct_us.p99\n", 150+seed%3, 11-seed)
	}
	pair, err := compare.Open([]string{csvFile(t, "a.csv", a.String()) + ":x", csvFile(t, "b.csv", b.String())}, design)
	if err != nil {
		t.Fatal(err)
	}
	c, err := pair.Compare()
	if err != nil {
		t.Fatal(err)
	}
	m := c.Cases[0].Metrics[0]
	if len(c.Cases) != 1 || m.Outcome != variants.Worse || !c.Cases[0].Paired || len(m.ValuesA) != 12 || m.ValuesB[0] != 152 || len(c.Differs) > 0 {
		t.Errorf("got %+v, differs %v", c.Cases[0], c.Differs)
	}
	var out strings.Builder
	if err := c.WriteText(&out, ""); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "a.csv\n") || strings.Contains(text, "csiglab )") {
		t.Error(text)
	}
}

// What the file lacks is said with its line.
func TestWrongNumbers(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  `:1: no column "metric"`,
		"metric,value\n":                    `:1: no column "seed"; want metric, seed, value`,
		"metric,seed,value\n":               ": no values",
		"metric,seed,value\na,1,2\na,x,2\n": `:3: seed "x": want a whole number`,
		"metric,seed,value\na,1,fast\n":     `:2: value "fast": want a number`,
		"metric,seed,value\na,1,2\na,1,3\n": ":3: a second value of a, seed 1",
		"metric,seed,value\n,1,2\n":         ":2: the name of the metric or variant is empty",
		"metric,seed,value\na,1\n":          "wrong number of fields",
	} {
		name := csvFile(t, "n.csv", text)
		if _, err := compare.Open([]string{name, name}, design); err == nil || !strings.Contains(err.Error(), "n.csv:") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
