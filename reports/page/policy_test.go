package page

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	stdhtml "html"
	"regexp"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/reports/section"
)

// The policy names the hash of the page's only script that is one, and the data block
// holds the numbers of each figure that a drawing names.
func TestScriptAndData(t *testing.T) {
	page := html(t, newSample(3).document())
	scripts := regexp.MustCompile(`(?s)<script([^>]*)>(.*?)</script>`).FindAllStringSubmatch(page, -1)
	if len(scripts) != 2 || scripts[0][1] != ` type="application/json" id="data"` || scripts[1][1] != "" {
		t.Fatalf("%d scripts", len(scripts))
	}
	sum := sha256.Sum256([]byte(scripts[1][2]))
	policy := regexp.MustCompile(`http-equiv="Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(page)
	if want := "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"; policy == nil || stdhtml.UnescapeString(policy[1]) != want {
		t.Errorf("policy %q, want %q", policy, want)
	}
	var data struct {
		Figures []struct {
			ID     string
			Series []struct {
				Name   string
				Values json.RawMessage // a list, or an object of words
			}
		}
	}
	if err := json.Unmarshal([]byte(scripts[0][2]), &data); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, f := range data.Figures {
		if known[f.ID] {
			t.Errorf("figure %s twice", f.ID)
		}
		known[f.ID] = true
		for i, s := range f.Series {
			if s.Name == "" || len(s.Values) < 3 {
				t.Errorf("figure %s: series %d is %q with the values %s", f.ID, i, s.Name, s.Values)
			}
		}
	}
	named := map[string]bool{}
	for _, svg := range regexp.MustCompile(`data-figure="([^"]*)" data-plot="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		var x, y, width, height float64
		if n, err := fmt.Sscan(svg[2], &x, &y, &width, &height); n != 4 || err != nil || width < 100 || height < 20 {
			t.Errorf("figure %s has the plot area %q", svg[1], svg[2])
		}
		if !known[svg[1]] {
			t.Errorf("a drawing names figure %q, which has no data", svg[1])
		}
		named[svg[1]] = true
	}
	if len(named) != len(known) || len(known) < 10 {
		t.Errorf("drawings name %d of %d figures", len(named), len(known))
	}
}

// What stands in the script cannot end it or hide what follows, and asks no other host,
// keeps nothing and makes no elements of texts.
func TestScriptText(t *testing.T) {
	if at := regexp.MustCompile(`(?i)</script|<!--|<script`).FindString(script()); at != "" {
		t.Errorf("the script has %q", at)
	}
	for _, word := range []string{"fetch", "XMLHttpRequest", "localStorage", "sessionStorage", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "import("} {
		if strings.Contains(script(), word) {
			t.Errorf("the script has %q", word)
		}
	}
}

// Cells carry the names of their columns, for narrow windows.
func TestCellsNameTheirColumns(t *testing.T) {
	table := &section.Table{Columns: []section.Column{{Name: "Expectation"}, {Name: "Outcome"}}, Rows: []section.Row{{Cells: []section.Cell{{Text: "a < b"}, {Text: "✗ failed", State: section.Bad}}}}}
	page := html(t, &Document{Parts: []section.Part{{ID: "p", Title: "P", Blocks: []section.Block{table}}}})
	for _, want := range []string{`<td class="" data-column="Expectation">a &lt; b</td>`, `<td class="bad" data-column="Outcome">✗ failed</td>`} {
		if !strings.Contains(page, want) {
			t.Errorf("page lacks %s", want)
		}
	}
}
