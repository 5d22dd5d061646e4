// Package wildcard matches names with patterns in which only * is special. Names of
// metrics contain dots, blanks, # and brackets, which have no meaning here.
package wildcard

import "strings"

// In reports whether a text is a pattern: it contains a *.
func In(text string) bool { return strings.Contains(text, "*") }

// Prefix returns what every name that matches the pattern begins with.
func Prefix(pattern string) string {
	prefix, _, _ := strings.Cut(pattern, "*")
	return prefix
}

// Match reports whether the whole name matches the pattern. Each * stands for any
// bytes, none included.
func Match(pattern, name string) bool {
	first, rest, found := strings.Cut(pattern, "*")
	if !found {
		return pattern == name
	}
	if !strings.HasPrefix(name, first) {
		return false
	}
	name = name[len(first):]
	// The leftmost place is as good as any other for all but the last piece.
	for {
		piece, more, found := strings.Cut(rest, "*")
		if !found {
			return strings.HasSuffix(name, piece)
		}
		at := strings.Index(name, piece)
		if at < 0 {
			return false
		}
		name, rest = name[at+len(piece):], more
	}
}
