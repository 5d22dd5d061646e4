package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"strings"
	"sync"

	"github.com/csiglab/csiglab/reports/chart"
)

//go:embed parts script
var files embed.FS

// Styles follow the colours, which are those of charts.
var styles = []string{"parts/page.css", "parts/tables.css", "parts/charts.css", "parts/script.css"}

var (
	style = sync.OnceValue(func() string { return joined(chart.CSS(), styles, "") })

	// The script is its files in the order of their names, in one function. Its names are
	// seen by all files, and by nothing else.
	script = sync.OnceValue(func() string {
		names, err := fs.Glob(files, "script/*.js")
		if err != nil {
			panic("page: " + err.Error()) // the pattern is ours
		}
		return joined("(() => {\n'use strict';\n", names, "})();\n")
	})

	pageTemplate = sync.OnceValue(func() *template.Template {
		return template.Must(template.New("page.tmpl").Funcs(template.FuncMap{
			"inc":    func(i int) int { return i + 1 },
			"class":  class,
			"style":  func() template.CSS { return template.CSS(style()) },
			"script": func() template.HTML { return template.HTML("<script>" + script() + "</script>") },
			"policy": func() string { return contentPolicy(script()) },
		}).ParseFS(files, "parts/*.tmpl"))
	})
)

// joined returns the texts of embedded files between two others.
func joined(begin string, names []string, end string) string {
	var b strings.Builder
	var err error
	b.WriteString(begin)
	for _, name := range names {
		text, readErr := files.ReadFile(name)
		err = errors.Join(err, readErr)
		b.Write(text)
	}
	if err != nil {
		panic("page: " + err.Error()) // they are embedded
	}
	b.WriteString(end)
	return b.String()
}

// contentPolicy returns the page's content security policy: it loads nothing, and runs
// nothing but the script.
func contentPolicy(script string) string {
	sum := sha256.Sum256([]byte(script))
	return "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'"
}

// WriteHTML writes the document as one HTML file that needs no network. It is complete
// without script; with it charts and tables answer to the reader, who chooses variants. The
// page follows the reader's choice of light or dark, and prints light. It returns an error
// if a part has a block that is none of package section.
func (d *Document) WriteHTML(w io.Writer) error {
	v, err := newView(d)
	if err == nil {
		err = pageTemplate().Execute(w, v)
	}
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// dataBlock returns the element that holds the data of all figures, the variants, and the
// map if it is not nil, for the script. Its text contains no "<", ">" or "&", so that nothing in a name
// can end it.
func dataBlock(figures []*chart.Data, variants []string, m *chart.Map) (template.HTML, error) {
	var text bytes.Buffer
	text.WriteString(`<script type="application/json" id="data">`)
	e := json.NewEncoder(&text) // escapes these characters
	if err := e.Encode(struct {
		Figures  []*chart.Data `json:"figures"`
		Variants []string      `json:"variants"`      // to choose by
		Map      *chart.Map    `json:"map,omitempty"` // of the fabric over time
	}{append([]*chart.Data{}, figures...), append([]string{}, variants...), m}); err != nil { // none is no null
		return "", err
	}
	text.WriteString("</script>")
	return template.HTML(text.String()), nil
}
