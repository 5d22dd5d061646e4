package graph

import (
	"fmt"
	"strings"
)

// mostLinks is how many operations a text about a circle names.
const mostLinks = 8

// Stuck returns in words what the first rank that is not done waits for: a circle of
// operations that wait for each other, if there is one, or the operation that waits for
// something that will not come. It returns "" if all are done. It makes sense when nothing
// is due and no message is on its way; where some ranks are played elsewhere, what they do
// is not known.
func (e *Engine) Stuck() string {
	slot := int32(nothing)
	for i := range e.ranks {
		if r := &e.ranks[i]; r.left > 0 && r.window.first != r.window.next {
			slot = r.window.find(r.window.first)
			break
		}
	}
	if slot == nothing {
		if e.Done() {
			return ""
		}
		return "no operation is left to do"
	}
	needs := e.needs()
	var chain []int32
	at := map[int32]int{} // in chain, by slot
	for {
		if from, ok := at[slot]; ok {
			return "these operations wait for each other: " + e.circle(chain[from:])
		}
		at[slot] = len(chain)
		chain = append(chain, slot)
		next, why := e.waitsFor(slot, needs)
		if next == nothing {
			return e.name(slot) + " " + why
		}
		slot = next
	}
}

// needs returns by slot the first operation that each operation depends on and that is not
// complete, nothing where there is none.
func (e *Engine) needs() []int32 {
	needs := make([]int32, len(e.ops))
	for i := range needs {
		needs[i] = nothing
	}
	for i := range e.ranks {
		w := &e.ranks[i].window
		for id := w.first; id != w.next; id++ {
			slot := w.find(id)
			if slot == nothing {
				continue
			}
			for out := e.ops[slot].out; out != nothing; out = e.edges[out].next {
				if to := e.edges[out].to; needs[to] == nothing {
					needs[to] = slot
				}
			}
		}
	}
	return needs
}

// waitsFor returns what an operation waits for: another one, or in words something else.
func (e *Engine) waitsFor(slot int32, needs []int32) (on int32, why string) {
	o := &e.ops[slot]
	if o.pending > 0 {
		return needs[slot], ""
	}
	switch {
	case o.kind == Compute && o.state == ready:
		return e.ranks[o.rank].units[o.unit].head, ""
	case o.kind == Send && o.state == ready:
		if s := &e.streams[o.stream]; o.message >= s.posted {
			return s.post, "" // an earlier message is not ready
		}
		return nothing, "has not been acknowledged"
	case o.kind == Recv && o.state == ready:
		return e.sender(o)
	}
	return nothing, "waits for its time"
}

// sender returns what keeps the message of a receive.
func (e *Engine) sender(o *live) (on int32, why string) {
	s := &e.streams[o.stream]
	why = fmt.Sprintf("waits for message %d of rank %d on channel %d", o.message, s.From, s.Channel)
	for i := range e.ranks {
		r := &e.ranks[i]
		if r.number != s.From {
			continue
		}
		if o.message >= s.expanded { // the send is not expanded yet
			if r.over {
				return nothing, fmt.Sprintf("%s, which sends %d", why, s.expanded)
			}
			return r.fence, why
		}
		for at := s.sends; at != nothing; at = e.ops[at].next {
			if e.ops[at].message == o.message {
				return at, why
			}
		}
	}
	return nothing, why
}

func (e *Engine) circle(chain []int32) string {
	var b strings.Builder
	for i, slot := range chain {
		if i == mostLinks {
			fmt.Fprintf(&b, " -> %d more", len(chain)-i)
			break
		}
		if i > 0 {
			b.WriteString(" -> ")
		}
		b.WriteString(e.name(slot))
	}
	b.WriteString(" -> " + e.name(chain[0]))
	return b.String()
}

// name returns an operation in words.
func (e *Engine) name(slot int32) string {
	o := &e.ops[slot]
	text := fmt.Sprintf("rank %d operation %d (%s", e.ranks[o.rank].number, o.id, o.kind)
	switch o.kind {
	case Send:
		text += fmt.Sprintf(" to %d", e.streams[o.stream].To)
	case Recv:
		text += fmt.Sprintf(" from %d", e.streams[o.stream].From)
	}
	return text + ")"
}
