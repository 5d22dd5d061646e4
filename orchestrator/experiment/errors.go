package experiment

import (
	"fmt"
	"strings"
)

// Error is one thing that is wrong with an experiment, and where.
type Error struct {
	File         string // file, embedded name, or the option or variable it came from: "--set hosts.cc=nsc"
	Line, Column int    // from 1; 0 when the origin has no lines
	Path         string // dotted path of the value, such as topology.fat_tree.tiers[0].rate; may be empty
	Msg          string
	Suggestion   string // what was probably meant; may be empty
}

// Error returns "file:line:column: path: message (did you mean "x"?)".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	if e.Path != "" {
		b.WriteString(": " + e.Path)
	}
	b.WriteString(": " + e.Msg)
	if e.Suggestion != "" {
		fmt.Fprintf(&b, " (did you mean %q?)", e.Suggestion)
	}
	return b.String()
}

// Errors is everything that is wrong with an experiment, in the order of the
// file. It is never empty when returned as an error.
type Errors []*Error

// Error returns one line per error.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find the first *Error.
func (e Errors) Unwrap() []error {
	list := make([]error, len(e))
	for i, one := range e {
		list[i] = one
	}
	return list
}

// Nearest returns the candidate that text is probably a misspelling of, or "".
func Nearest(text string, candidates []string) string {
	best, bestDistance := "", 1+max(2, len(text)/3)
	for _, c := range candidates {
		switch d := distance(strings.ToLower(text), strings.ToLower(c)); {
		case text == "" || d >= len(c):
		case d < bestDistance:
			best, bestDistance = c, d
		}
	}
	return best
}

// distance is the number of insertions, deletions, replacements and swaps of
// neighbours that turn a into b.
func distance(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, above, row := rows[0], rows[1], rows[2]
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
		rows = [3][]int{above, row, before}
	}
	return rows[1][len(b)]
}
