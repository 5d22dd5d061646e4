// Package plain makes texts of other programs, servers and repositories fit for a terminal.
package plain

import (
	"strings"
	"unicode"
)

// Text returns a text on one line, with nothing that a terminal would interpret, and with at most
// so many runes.
func Text(text string, most int) string {
	var b strings.Builder
	n := 0
	for _, c := range text { // bytes that are no UTF-8 are U+FFFD
		switch n++; {
		case n > most:
			return b.String() + "…"
		case unicode.IsSpace(c):
			c = ' '
		case !unicode.IsPrint(c):
			c = '�'
		}
		b.WriteRune(c)
	}
	return b.String()
}
