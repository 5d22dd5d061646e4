package section

import (
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/words"
)

// Section is a part of a report: it reads what it needs of a run folder, computes its numbers
// and says how they are shown. A section imports no other one: what two need is a fact
// (package reading) or a reader that both share (reading.Share).
type Section interface {
	reading.Reader
	// Settle computes the numbers when all tables have been read. Numbers and Parts are
	// called after it.
	Settle() error
	// Numbers returns the section's fields in the JSON form of the report. Objects of several
	// sections under one name are joined, and so are lists.
	Numbers() map[string]any
	// Parts returns what the section shows; nil if it has nothing to show.
	Parts() []Part
}

// New makes a section of a folder before its tables are read.
type New func(*reading.Reading) Section

// Base is for sections that need no table, compute nothing or have no numbers: it does nothing.
type Base struct{}

// Pass implements reading.Reader.
func (Base) Pass(int, *reading.Pass) error { return nil }

// Settle implements Section.
func (Base) Settle() error { return nil }

// Numbers implements Section.
func (Base) Numbers() map[string]any { return nil }

// Teller is a section that has something to say on the first screen.
type Teller interface{ Tell(*Story) }

// Finder is a section with findings: sentences that say what limits the flows, who suffers and
// what variants change. They are also what a terminal shows.
type Finder interface{ Findings() []string }

// Story collects the sentences of the first screen. Sections propose what to say; of each slot
// the proposal of the greatest weight is said, the first one of equals.
type Story struct{ slots [slots]proposal }

type proposal struct {
	weight int
	text   string
	more   []string
}

// Slot is a place in the story, in this order.
type Slot int

// Slots of a story.
const (
	Answer Slot = iota // what the experiment is about: what CSIG, or another change, did; or how long it took
	Why                // where time was lost, or what limits the flows
	Whom               // who suffers most
	Price              // what the answer costs
	Sure               // how much the figures are worth
	slots
)

// Say proposes a text for a slot: a clause or several, with neither a capital at its beginning
// nor a period at its end. "" is no proposal.
func (s *Story) Say(slot Slot, weight int, text string) {
	if p := &s.slots[slot]; text != "" && (p.text == "" || weight > p.weight) {
		p.weight, p.text = weight, text
	}
}

// Also adds a clause to what a slot says.
func (s *Story) Also(slot Slot, text string) {
	if text != "" {
		s.slots[slot].more = append(s.slots[slot].more, text)
	}
}

// Has reports whether a slot says a text.
func (s *Story) Has(slot Slot, text string) bool { return strings.Contains(s.slots[slot].text, text) }

// Sentences returns the story. It is empty when nothing but Sure has something to say.
func (s *Story) Sentences() []string {
	var told []string
	for i := range s.slots {
		p := &s.slots[i]
		clauses := slices.DeleteFunc(append([]string{p.text}, p.more...), func(text string) bool { return text == "" })
		if len(clauses) == 0 || Slot(i) == Sure && told == nil {
			continue
		}
		told = append(told, words.Capital(strings.Join(clauses, "; "))+".")
	}
	return told
}
