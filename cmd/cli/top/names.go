package top

import (
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"
)

// column is how names stand in a column of the table: all of them as wide.
type column struct {
	width int
	cells map[string]string
}

// newColumn returns a column for names. It is as wide as the longest, but at least least and at most
// most, if that is more; most 0: no bound. Names that do not fit are cut such that names which differ
// stay different.
func newColumn(names []string, least, most int) column {
	c := column{width: least, cells: map[string]string{}}
	for _, name := range names {
		text := Printable(name)
		c.width, c.cells[name] = max(c.width, utf8.RuneCountInString(text)), text
	}
	if most > 0 {
		c.width = min(c.width, max(least, most))
	}
	c.shorten()
	return c
}

// shorten cuts the names that are too long: in the middle, or where more of them differ then. Those
// that are alike even so have numbers.
func (c *column) shorten() {
	whole := map[string]bool{}
	var long []string
	for _, name := range slices.Sorted(maps.Keys(c.cells)) {
		if text := c.cells[name]; utf8.RuneCountInString(text) > c.width {
			long = append(long, name)
		} else {
			whole[text] = true
		}
	}
	if len(long) == 0 {
		return
	}
	best, most := 0, -1
	for i := range c.width {
		head := c.width/2 + (i+1)/2*(1-2*(i%2)) // the middle, then to both sides of it
		seen := maps.Clone(whole)
		for _, name := range long {
			seen[c.cut(name, head)] = true
		}
		if len(seen) > most {
			best, most = head, len(seen)
		}
		if len(seen) == len(whole)+len(long) {
			break
		}
	}
	for i, name := range long {
		text := c.cut(name, best)
		if whole[text] {
			end := fmt.Sprintf("…#%d", i+1)
			text = string([]rune(text)[:max(0, c.width-utf8.RuneCountInString(end))]) + end
		}
		whole[text], c.cells[name] = true, text
	}
}

// cut returns a name without what does not fit behind its first letters, of which head stay.
func (c *column) cut(name string, head int) string {
	letters := []rune(c.cells[name])
	return string(letters[:head]) + "…" + string(letters[len(letters)-(c.width-1-head):])
}

// cell returns the cell of a name.
func (c *column) cell(name string) string { return fmt.Sprintf("%-*s", c.width, c.cells[name]) }
