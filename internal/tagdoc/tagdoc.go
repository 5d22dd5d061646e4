// Package tagdoc reads the tag doc of fields, in which 'x' stands for code, since a backquote
// ends a tag.
package tagdoc

import "github.com/csiglab/csiglab/internal/lazy"

// code is text between quotes of which the first is no apostrophe.
var code = lazy.Regexp(`(^|[\s(\[/])'([^']+)'`)

// Markdown returns a text of the tag with backquotes around code.
func Markdown(doc string) string { return code().ReplaceAllString(doc, "$1`$2`") }
