package graph

import (
	"fmt"
	"strings"
)

// maxLost bounds how many different things a Loss tells apart, so that a hostile file
// cannot grow it.
const maxLost = 100

// lostMore stands for everything in a Loss beyond maxLost.
const lostMore = "further things"

// Loss is the loss report of a reader: what of the file the programs do not have. The zero
// value reports nothing lost. It belongs to one goroutine.
type Loss struct {
	items []Lost
	index map[string]int // into items, by What
}

// Lost is one kind of thing that was lost.
type Lost struct {
	What  string // in the plural, such as "nodes of type MEM_LOAD without duration"
	Count int
	First string // where the first was, such as "job.3.et:1204" or "job.json:12:5"
}

// Add counts one more of what, which was found at place: the file with line and column, or
// with the byte offset of a binary file. Beyond 100 different things it counts the others
// together.
func (l *Loss) Add(what, place string) { l.AddN(what, place, 1) }

// LeaveTime forgets the time that an operation takes which is no Compute, as formats have none of
// messages and marks, and counts it.
func (l *Loss) LeaveTime(op *Op, place string) {
	if op.Kind != Compute && op.Duration > 0 {
		l.Add("times that protocols of collectives take", place)
		op.Duration = 0
	}
}

// AddN counts n more of what, of which the first was found at place. It does nothing if n
// is 0.
func (l *Loss) AddN(what, place string, n int) {
	if n == 0 {
		return
	}
	i, ok := l.index[what]
	if !ok && len(l.items) >= maxLost {
		what = lostMore
		i, ok = l.index[what]
	}
	if !ok {
		if l.index == nil {
			l.index = map[string]int{}
		}
		i = len(l.items)
		l.index[what] = i
		l.items = append(l.items, Lost{What: what, First: place})
	}
	l.items[i].Count += n
}

// Items returns what was lost, in the order in which it was first found. The result is not
// to be changed.
func (l *Loss) Items() []Lost {
	if l == nil {
		return nil
	}
	return l.items
}

// Empty reports whether nothing was lost.
func (l *Loss) Empty() bool { return len(l.Items()) == 0 }

// String returns one line per kind of thing, such as "12 nodes of type METADATA, the first
// at job.0.et:15", or "" if nothing was lost.
func (l *Loss) String() string {
	var b strings.Builder
	for i, lost := range l.Items() {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%d %s", lost.Count, lost.What)
		if lost.First != "" {
			fmt.Fprintf(&b, ", the first at %s", lost.First)
		}
	}
	return b.String()
}
