package words

import (
	"strings"

	"github.com/csiglab/csiglab/internal/lazy"
)

// Markdown protects characters that Markdown would interpret, also those of GitHub's and
// GitLab's dialects: a name with a URL, an @ or a # in it becomes no link, and mentions nobody.
func Markdown(text string) string {
	text = interpreted.Replace(text)
	return referring().ReplaceAllStringFunc(text, func(found string) string {
		at := strings.IndexAny(found, ".:@#!")
		return found[:at] + "<span>" + found[at:at+1] + "</span>" + found[at+1:]
	})
}

var (
	interpreted = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "&", "&amp;", ">", "&gt;", "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", "~", `\~`, "$", `\$`, "\n", " ")
	referring   = lazy.Regexp(`(?i)www\.|[a-z]:/|@|[#!]\d`)
)

// tame are names that need no protection in a code span.
var tame = lazy.Regexp(`^[\w./:+=,%()-]([\w ./:+=,%()-]*[\w./:+=,%()-])?$`)

// MarkdownCode returns a text as a code span, also in a table.
func MarkdownCode(text string) string {
	if tame().MatchString(text) {
		return "`" + text + "`"
	}
	return "<code>" + Markdown(text) + "</code>"
}
