// Package spelling reads the names of enumerations, finds the name that a misspelt one was
// probably meant to be, for the suggestions of error messages, and writes counts with their nouns.
package spelling

import (
	"fmt"
	"slices"
	"strings"
)

// Enum sets v to the place of a text in the names of an enumeration. what is that of the message
// about a text that is none of them.
func Enum[T ~uint8](v *T, what string, text []byte, names []string) error {
	i := slices.Index(names, string(text))
	if i < 0 {
		return fmt.Errorf("unknown %s %q; use %s", what, text, strings.Join(names, " or "))
	}
	*v = T(i)
	return nil
}

// maxText is the longest text that is compared, in bytes: no name is as long.
const maxText = 256

// Nearest returns the name that text is probably a misspelling of, case aside:
// the one with the smallest edit distance, of equals the first. It is "" if none
// is near, which is two edits or a third of the text, whichever is more, and
// fewer than would replace the whole name.
func Nearest(text string, names []string) string {
	return Within(text, names, max(2, len(text)/3))
}

// Within returns the name that text is probably a misspelling of, as Nearest does, but
// at most so many edits away.
func Within(text string, names []string, edits int) string {
	if text == "" || len(text) > maxText {
		return ""
	}
	nearest, least := "", 1+edits
	for _, name := range names {
		d := distance(strings.ToLower(text), strings.ToLower(name))
		if d < least && d < len(name) {
			nearest, least = name, d
		}
	}
	return nearest
}

// Hint returns the end of a message that says what was probably meant, "" if meant is
// "".
func Hint(meant string) string {
	if meant == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", meant)
}

// distance is the number of insertions, deletions, replacements and swaps of
// neighbours that turn a into b.
func distance(a, b string) int {
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, above, row = above, row, before
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}

// ShellWord quotes an argument for a POSIX shell where that is needed.
func ShellWord(text string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+"
	if text != "" && strings.Trim(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
