package simai

import (
	"slices"

	"github.com/csiglab/csiglab/internal/lines"
)

// embeddings gives the first stage the collectives of the embedding group that the rows of the last
// one alone have, in the same place: AICB writes them so, and they have two ends. They stay as they
// are where the stages differ before that place.
func (r *csvReader) embeddings() {
	first, last := &r.sections[0], &r.sections[len(r.sections)-1]
	of := func(i Item) bool { return i.Do == Collective && i.Group == Embedding }
	if len(r.sections) == 1 || slices.ContainsFunc(first.items, of) {
		return
	}
	for i, item := range last.items {
		if of(item) {
			first.items = slices.Insert(first.items, i, item)
			r.loss.Add("collectives of the embedding group that the last stage alone has, which the first runs in the same place", r.Place(lines.Pos{Line: int(item.Line), Column: 1}))
			continue
		}
		if i >= len(first.items) {
			return
		}
		item.Line = first.items[i].Line
		if item != first.items[i] {
			return
		}
	}
}

// crossing plays the stages against each other: it refuses messages that are not received
// or not sent, collectives that not all stages run, and stages that wait for each other.
func (r *csvReader) crossing() error {
	n := len(r.sections)
	at := make([]int, n)             // the item that each stage is at
	met := make([][World + 1]int, n) // collectives with other stages that it has run, by group
	sent := make([][2][]Item, n)     // messages under way, to the stage in front and to the next
	for moved := true; moved; {
		moved = false
		for i := range r.sections {
			for at[i] < len(r.sections[i].items) {
				item := &r.sections[i].items[at[i]]
				ok, err := r.pass(i, item, sent, at, met)
				if err != nil {
					return err
				}
				if !ok {
					break
				}
				at[i]++
				moved = true
			}
		}
	}
	for i := range r.sections {
		if s := &r.sections[i]; at[i] < len(s.items) {
			return r.Errorf(lines.Pos{Line: int(s.items[at[i]].Line), Column: 1}, "stage %d waits for ever: another stage does not come to its part", i)
		}
		for _, rest := range sent[i] {
			if len(rest) > 0 {
				return r.Errorf(lines.Pos{Line: int(rest[0].Line), Column: 1}, "stage %d sends a message that is not received", i)
			}
		}
	}
	return nil
}

// pass reports whether a stage can go beyond an item.
func (r *csvReader) pass(stage int, item *Item, sent [][2][]Item, at []int, met [][World + 1]int) (bool, error) {
	place := lines.Pos{Line: int(item.Line), Column: 1}
	direction := max(0, int(item.Peer))
	switch {
	case item.Do == Send || item.Do == Recv:
		peer := stage + int(item.Peer)
		if peer < 0 || peer >= len(r.sections) {
			return false, r.Errorf(place, "stage %d has a message with stage %d; stages go from 0 to %d", stage, peer, len(r.sections)-1)
		}
		if item.Do == Send {
			sent[stage][direction] = append(sent[stage][direction], *item)
			return true, nil
		}
		from := &sent[peer][1-direction]
		if len(*from) == 0 {
			return false, nil
		}
		send := (*from)[0]
		if send.Bytes != item.Bytes {
			return false, r.Errorf(place, "stage %d receives %d bytes of the %d that stage %d sends in line %d", stage, int64(item.Bytes), int64(send.Bytes), peer, send.Line)
		}
		*from = (*from)[1:]
	case item.Do == Collective && (item.Group == PP || item.Group == World || item.Group == Embedding && len(r.sections) > 1):
		part := func(stage int) bool {
			return item.Group != Embedding || stage == 0 || stage == len(r.sections)-1
		}
		if !part(stage) {
			return true, nil
		}
		for other := range r.sections {
			if !part(other) || met[other][item.Group] > met[stage][item.Group] {
				continue // it has met this stage there
			}
			if at[other] == len(r.sections[other].items) {
				return false, nil
			}
			if they := &r.sections[other].items[at[other]]; they.Do != Collective || they.Group != item.Group || they.Kind != item.Kind || they.Bytes != item.Bytes {
				return false, nil
			}
		}
		met[stage][item.Group]++
	}
	return true, nil
}
