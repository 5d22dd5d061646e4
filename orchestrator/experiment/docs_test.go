package experiment

import (
	"flag"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/experiment/expression"
)

var update = flag.Bool("update", false, "write the reference into docs/reference/experiment.md")

var sample = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestReference holds that docs/reference/experiment.md says of each key what its tags say, and is short
// otherwise.
func TestReference(t *testing.T) {
	checkout.Written(t, "reference/experiment.md", reference(StandardTables()), *update)
}

// reference returns the keys of an experiment file as Markdown.
func reference(tables Tables) string {
	var b strings.Builder
	b.WriteString("\n## Top level\n")
	top := slices.DeleteFunc(slices.Clone(schema()), func(k *key) bool { return strings.ContainsAny(k.path, ".[") })
	rows := func(keys []*key, parent string) {
		b.WriteString("\n| key | values | default | meaning |\n|---|---|---|---|\n")
		var order []string
		names := map[string][]string{} // the keys that share what the row says, as several kinds of topology do
		for _, k := range keys {
			said := fmt.Sprintf(" | %s | %s | %s |\n", k.values(), defaultCell(k), strings.ReplaceAll(k.meaning(), "|", "\\|"))
			if names[said] == nil {
				order = append(order, said)
			}
			names[said] = append(names[said], "`"+strings.TrimPrefix(k.path, parent)+"`")
		}
		for _, said := range order {
			b.WriteString(strings.ReplaceAll("| "+strings.Join(names[said], ", ")+said, "|  |", "| |"))
		}
	}
	rows(top, "")
	b.WriteString(sweepKeys)
	for _, k := range top {
		var inside []*key
		for _, other := range schema() {
			if strings.HasPrefix(other.path, k.path+".") || strings.HasPrefix(other.path, k.path+"[") {
				inside = append(inside, other)
			}
		}
		if len(inside) == 0 && k.rule.table == nil {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n", heading(k.path))
		if len(inside) > 0 {
			rows(inside, k.path+".")
		}
		for _, c := range choices {
			if c.path == k.path || strings.HasPrefix(c.path, k.path+".") {
				fmt.Fprintf(&b, "\n### `%s`\n\n", c.path)
				algorithms(&b, &c, tables)
			}
		}
	}
	return b.String()
}

// sweepKeys are the keys below sweep, which is read before the tree of keys: any path may be one.
const sweepKeys = `
## Sweep

| key | values | meaning |
|---|---|---|
| ` + "`grid`" + ` | mapping: lists of values by path | every combination is a point, see [sweep.md](../how-to/sweep.md#points) |
| ` + "`list`" + ` | list of mappings: values by path | each is a point, combined with those of ` + "`grid`" + ` and ` + "`axes`" + ` |
| ` + "`axes`" + ` | mapping: values by name of the axis | dimensions of the points whose values have names. A value stands for the overrides in its mapping, or is itself a word (` + "`rate: [100Gbps, 400Gbps]`" + `). ` + "`$word`" + ` in an override is what another axis gives for that word, or the value of that axis; see [sweep.md](../how-to/sweep.md#axes-and-a-page-that-judges) |
| ` + "`judge`" + ` | mapping | what the page of the sweep compares. Its results keep only the metrics judged by, unless ` + "`--metric`" + ` names others |
| ` + "`judge.between`" + ` | list: axes | required; the combinations of their values are the rivals. The values of the other axes are the cells in which they compete |
| ` + "`judge.baseline`" + ` | mapping: lists of values by axis | a rival of which every value is listed is of the baseline, and the best of the others is measured against the best of it. Without it, rivals are compared with the winner |
| ` + "`judge.sides`" + ` | list: two texts | what the baseline and the others are called, such as ` + "`[without CSIG, with CSIG]`" + ` |
| ` + "`judge.metrics`" + ` | mapping: titles by metric | required; what the rivals are judged by. The first one decides which setting is best in all cells together |
`

// algorithms writes the algorithms of a choice and their parameters.
func algorithms(b *strings.Builder, c *choice, tables Tables) {
	var names []string
	for _, s := range c.table(&tables) {
		names = append(names, s.Name)
		fmt.Fprintf(b, "- `%s`: %s\n", s.Name, s.Doc)
	}
	b.WriteString("\n| parameter | of | values | default | meaning |\n|---|---|---|---|---|\n")
	written := map[string]bool{}
	for _, s := range c.table(&tables) {
		for _, p := range s.Params {
			if of, _, _ := strings.Cut(p.Doc, ":"); slices.Contains(names, of) {
				continue // of an algorithm that this one wraps
			}
			row := func(of string) string {
				values := strings.Join(p.Values, ", ")
				if values == "" {
					values = paramType(p.Kind)
				}
				return fmt.Sprintf("| `%s` | %s | %s | %s | %s |\n", p.Name, of, values, p.Default, strings.ReplaceAll(p.Doc, "|", "\\|"))
			}
			if same := row(""); !written[same] {
				written[same] = true
				var of []string
				for _, other := range c.table(&tables) {
					if q, ok := other.Param(p.Name); ok && q.Doc == p.Doc && q.Default == p.Default {
						of = append(of, other.Name)
					}
				}
				text := strings.Join(of, ", ")
				if len(of) == len(names) {
					text = "all"
				}
				b.WriteString(row(text))
			}
		}
	}
}

// values returns what a key may say, in words.
func (k *key) values() string {
	switch {
	case k.value.Kind() == reflect.Slice:
		item := keysByPath()[k.path+"[]"]
		switch {
		case item == nil: // the variants
			return "mapping"
		case item.form() == mapping:
			return "list of mappings"
		}
		return "list: " + item.values()
	case k.form() == mapping && k.short == "":
		return "mapping"
	case k.value.Kind() == reflect.Bool:
		return "true, false"
	}
	if text := k.rule.text(k.value); text != "" && k.form() == scalar {
		return text
	}
	return k.word()
}

func defaultCell(k *key) string {
	if k.required {
		return "required"
	}
	return k.defaultText()
}

// heading returns the heading of a top-level key.
func heading(path string) string {
	if path == "csig" {
		return "CSIG"
	}
	return strings.ToUpper(path[:1]) + path[1:]
}

// Every key says what it means, and what its tags say can be read.
func TestTags(t *testing.T) {
	for _, k := range schema() {
		if k.doc == "" && k.kind == nil {
			t.Errorf("%s has no tag doc", k.path)
		}
	}
	defaults() // panics where a default is none of the values
}

func TestDocumentedExample(t *testing.T) {
	byHand, _, _ := checkout.Page(t, "reference/experiment.md")
	examples := sample.FindAllStringSubmatch(byHand, -1)
	if len(examples) == 0 {
		t.Fatal("docs/reference/experiment.md has no example")
	}
	for _, m := range examples {
		set, err := Parse("docs/reference/experiment.md", "", []byte(m[1]), Options{Tables: StandardTables()})
		if err != nil {
			t.Error(err)
			continue
		}
		if len(set.Variants) != 2 || len(set.Base.Expect) != 2 {
			t.Errorf("%d variants and %d expectations, want 2 and 2", len(set.Variants), len(set.Base.Expect))
		}
	}
}

// TestDocumentedFunctions holds that the functions of expressions are named.
func TestDocumentedFunctions(t *testing.T) {
	byHand, _, _ := checkout.Page(t, "reference/experiment.md")
	for _, name := range expression.Functions() {
		if !strings.Contains(byHand, name+"(") {
			t.Errorf("docs/reference/experiment.md does not name %s", name)
		}
	}
}
