package sim

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// arrival is a packet on its way to a port.
type arrival struct {
	packet  *wire.Packet
	digest  uint64
	arrives units.Time
	port    int32
}

// turn is what arrives at a node while it runs, in a window. The memory of it belongs to
// the shard, where nodes run one after the other, and to the node, where they take turns.
type turn struct {
	arrivals []arrival
	order    []uint64   // of arrivals: time since the start of the window, then index
	spare    []uint64   // the memory that order had before
	at       int        // of order: the next one
	next     units.Time // when it arrives; units.Never: nothing is left
	touched  int64      // the sum of what touch has read
}

// indexBits is the part of turn.order that is the index. The rest holds the time in a
// window, which is no longer than maxWidth.
const (
	indexBits = 24
	maxWidth  = units.Duration(1) << (64 - indexBits)
)

// farWindows is how many windows ahead an arrival is put into a heap. What arrives
// before is looked at in each window in which the node runs.
const farWindows = 16

// collect takes out of the node's inbox what arrives in the open window, and puts it in
// canonical order. What stays is not due before n.later.
func (w *shard) collect(n *simNode) {
	t := n.turn
	t.arrivals = t.arrivals[:0]
	n.later = units.Never
	for n.far.first() < w.horizon {
		t.arrivals = append(t.arrivals, n.far.take())
	}
	inbox := w.sim.inboxes[n.id]
	stay := inbox[:0]
	far := w.start.Add(farWindows * w.calendar.width)
	for i := range inbox {
		switch a := &inbox[i]; {
		case a.arrives < w.horizon:
			t.arrivals = append(t.arrivals, *a)
		case a.arrives < far:
			n.later = min(n.later, a.arrives)
			stay = append(stay, *a)
		default:
			if n.far == nil {
				n.far = new(farHeap)
			}
			n.far.push(*a)
		}
	}
	w.sim.inboxes[n.id] = stay
	n.later = min(n.later, n.far.first())
	t.touch(n)
	t.sort(w.start, w.calendar.width, w.sim.cfg.TieSeed, int(n.id))
}

// touch reads ahead what arrives, and what the machine needs to go on.
func (t *turn) touch(n *simNode) {
	for i := range t.arrivals {
		t.touched += int64(t.arrivals[i].packet.Touch())
	}
	if n.touch != nil {
		t.touched += n.touch.Touch()
	}
}

// sort puts the arrivals in order of time, then of tie key and port. start is that of
// the window.
func (t *turn) sort(start units.Time, width units.Duration, tieSeed uint64, id int) {
	t.order, t.at = t.order[:0], 0
	for i := range t.arrivals {
		t.order = append(t.order, uint64(t.arrivals[i].arrives-start)<<indexBits|uint64(i))
	}
	t.sortOrder(width)
	for from := 0; from+1 < len(t.order); from++ {
		if (t.order[from]^t.order[from+1])>>indexBits != 0 {
			continue
		}
		to := from + 2
		for to < len(t.order) && (t.order[from]^t.order[to])>>indexBits == 0 {
			to++
		}
		slices.SortFunc(t.order[from:to], func(x, y uint64) int {
			a, b := t.of(x), t.of(y)
			return cmp.Or(
				cmp.Compare(node.TieKey(tieSeed, id, a.arrives, int(a.port)), node.TieKey(tieSeed, id, b.arrives, int(b.port))),
				cmp.Compare(a.port, b.port),
				cmp.Compare(x, y))
		})
		from = to - 1
	}
	t.look()
}

// sliceBits is the number of equal parts of a window, as a power of two, into which sortOrder
// puts what arrives. A part has about one arrival, and one with many means that they are
// of few instants.
const (
	sliceBits  = 5
	fewInSlice = 16
	fewInOrder = 12 // which slices.Sort inserts one by one
)

// sortOrder sorts order: by parts of the window first, which leaves each arrival next to its
// place, and then by insertion.
func (t *turn) sortOrder(width units.Duration) {
	if len(t.order) <= fewInOrder {
		slices.Sort(t.order)
		return
	}
	shift := indexBits + max(0, bits.Len64(uint64(width-1))-sliceBits)
	var places [1 << sliceBits]uint32
	for _, key := range t.order {
		places[key>>shift&(1<<sliceBits-1)]++
	}
	sum, most := uint32(0), uint32(0)
	for i := range places {
		n := places[i]
		places[i] = sum
		sum += n
		most = max(most, n)
	}
	if most > fewInSlice {
		slices.Sort(t.order)
		return
	}
	sorted := slices.Grow(t.spare[:0], len(t.order))[:len(t.order)]
	for _, key := range t.order {
		place := &places[key>>shift&(1<<sliceBits-1)]
		sorted[*place] = key
		*place++
	}
	for i := 1; i < len(sorted); i++ {
		key := sorted[i]
		k := i
		for ; k > 0 && sorted[k-1] > key; k-- {
			sorted[k] = sorted[k-1]
		}
		sorted[k] = key
	}
	t.order, t.spare = sorted, t.order
}

// of returns the arrival of an element of order.
func (t *turn) of(key uint64) *arrival { return &t.arrivals[key&(1<<indexBits-1)] }

// look sets next.
func (t *turn) look() {
	t.next = units.Never
	if t.at < len(t.order) {
		t.next = t.of(t.order[t.at]).arrives
	}
}

// take returns the next arrival. The caller must not keep it.
func (t *turn) take() *arrival {
	a := t.of(t.order[t.at])
	t.at++
	t.look()
	return a
}

// putBack puts what is left of a node's turn back into its inbox, all of which arrives
// later.
func (w *shard) putBack(n *simNode) {
	for inbox := &w.sim.inboxes[n.id]; n.turn.next != units.Never; {
		*inbox = append(*inbox, *n.turn.take())
	}
}

// farHeap holds arrivals of windows far ahead, in order of time and then as they came.
// The zero value is empty.
type farHeap struct {
	times eventHeap // order: how many came before, then the place in kept
	kept  []arrival
	free  []uint32 // of kept
	count uint64
}

// first returns when the first arrives; units.Never if there is none.
func (h *farHeap) first() units.Time {
	if h == nil {
		return units.Never
	}
	return h.times.first()
}

func (h *farHeap) push(a arrival) {
	place := uint32(len(h.kept))
	if n := len(h.free); n > 0 {
		place, h.free = h.free[n-1], h.free[:n-1]
		h.kept[place] = a
	} else {
		h.kept = append(h.kept, a)
	}
	h.times.push(event{at: a.arrives, order: h.count<<32 | uint64(place)})
	h.count++
}

func (h *farHeap) take() arrival {
	place := uint32(h.times.take().order)
	h.free = append(h.free, place)
	return h.kept[place]
}
