package regression

import (
	"bytes"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// github renders Markdown as GitHub does, with cmark-gfm and its extensions, raw HTML
// included. GitLab's renderer follows the same specification.
func github(t *testing.T, markdown string) string {
	t.Helper()
	path, err := exec.LookPath("cmark-gfm")
	if err != nil {
		t.Skip("cmark-gfm is not installed: ", err)
	}
	cmd := exec.Command(path, "--unsafe", "-e", "table", "-e", "autolink", "-e", "strikethrough", "-e", "tagfilter", "-e", "tasklist")
	cmd.Stdin = strings.NewReader(markdown)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("cmark-gfm: %v: %s", err, errs.String())
	}
	return string(out)
}

var (
	rendered = regexp.MustCompile(`</?([a-z][a-z0-9]*)((?: [^>]*)?)>`)
	expected = regexp.MustCompile(`^(h2|p|strong|code|table|thead|tbody|tr|th|td|ul|li|pre|details|summary|br|span)$`)
	plainTag = regexp.MustCompile(`^( /| align="right"| lang="sh"| class="language-sh")?$`)
)

// Tables stay tables, the details fold, and names are text, whatever they hold: no element,
// link, image, heading or mention comes from a name.
func TestMarkdownRenders(t *testing.T) {
	for name, d := range examples() {
		markdown := Markdown(d)
		page := github(t, markdown)
		for _, tag := range rendered.FindAllStringSubmatch(page, -1) {
			if !expected.MatchString(tag[1]) || !plainTag.MatchString(tag[2]) {
				t.Errorf("%s: element %.200q", name, tag[0])
			}
		}
		count := func(part string) int { return strings.Count(page, part) }
		if count("<h2>") != 1 || count("<p></p>") != 0 {
			t.Errorf("%s: %d headings", name, count("<h2>"))
		}
		v := newView(d)
		tables := 0
		for _, list := range [][]*metric{v.failed, v.open} {
			if len(list) > 0 {
				tables++
			}
		}
		if len(v.changed) > 0 {
			tables++
		}
		if v.total > 0 {
			tables++
			if count("<details>") != 1 || count("</details>") != 1 {
				t.Errorf("%s: %d folded parts", name, count("<details>"))
			}
		}
		if got := count("<table>"); got != tables {
			t.Errorf("%s: %d tables, want %d", name, got, tables)
		}
		// Rows: a line of the table's that is cut at another bar, or that ends early, is
		// padded or cut by the renderer. So the source's cells count.
		columns := 0
		for line := range strings.Lines(markdown) {
			if !strings.HasPrefix(line, "| ") {
				columns = 0
				continue
			}
			bars := strings.Count(regexp.MustCompile(`\\.`).ReplaceAllString(line, ""), "|")
			if columns > 0 && bars != columns {
				t.Errorf("%s: %d bars, want %d: %.300q", name, bars, columns, line)
			}
			columns = bars
		}
		if at := regexp.MustCompile(`https?://|www\.|@[a-z]`).FindString(regexp.MustCompile(`(?s)<pre.*?</pre>`).ReplaceAllString(page, "")); at != "" {
			t.Errorf("%s: %q may become a link or a mention", name, at)
		}
	}
}

// A hostile name is shown as it is, but for what would not be seen.
func TestMarkdownShowsNames(t *testing.T) {
	d := examples()["one"]
	d.Experiments[0].Metrics[0].Name = hostileNames[2]
	page := github(t, Markdown(d))
	if want := "<code>a | b ` c `` d \\| e ]]&gt; &amp;amp; &lt;!-- x --&gt;</code>"; !strings.Contains(page, want) {
		t.Errorf("%q is missing in %s", want, page)
	}
	d.Experiments[0].Reproduce = "csiglab regress '```'\n## heading"
	if page := github(t, Markdown(d)); !strings.Contains(page, "csiglab regress '```' ## heading\n</code></pre>") {
		t.Errorf("the command is not whole: %s", page)
	}
}
