package fluid

import (
	"math"
	"slices"

	"github.com/csiglab/csiglab/internal/heap"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// rates is who sends how fast. Flows that share a link, or that are joined by others which do,
// are a component. When a flow begins or ends, the rates of its component are computed anew, and
// no others.
type rates struct {
	time    units.Time // up to which everything is played
	sending int        // flows that send
	carried int64      // payload of all messages that have left
	links   []link     // that may limit a flow

	seeds     []int32 // flows that have begun or ended, or whose link has another rate, since settle
	finishing []int32 // flows that send, a heap by finish
	all       []flow

	// Of one call of settle.
	mark      uint32
	component []int32 // flows
	touched   []int32 // links
	levels    []level // a heap
}

// link is a port, or several that all flows use alike, one of which stands for all.
type link struct {
	capacity float64 // bytes a picosecond
	users    []user  // flows that send
	mark     uint32
	// Of one call of settle.
	room, demand float64
	version      uint32
}

// user is a flow that sends over a link, and which of its uses that is.
type user struct{ flow, use int32 }

// use is a link of a flow.
type use struct {
	link  int32
	at    int32 // in the link's users
	share float64
}

// level is the rate over the weight that the flows of a link which are not at theirs yet would have.
type level struct {
	rate    float64
	link    int32
	version uint32
}

func lower(a, b level) bool { return a.rate < b.rate || a.rate == b.rate && a.link < b.link }

const bitsPerByte, second = 8, float64(units.Second)

func bytesPerPicosecond(r units.Rate) float64 { return float64(r) / bitsPerByte / second }

// capacity returns what a port carries of data.
func (p *Port) capacity(rate units.Rate) float64 { return bytesPerPicosecond(rate) / (1 + p.Answers) }

func newRates(flows []flow) rates { return rates{all: flows} }

// lay finds the links that may limit a flow, of the ports of an epoch, and those of each flow.
// Flows that send go on over them.
func (r *rates) lay(cfg *Config, e *Epoch) {
	limits := mayLimit(cfg, e)
	alike := newPatterns(e, limits)
	byPattern := map[[2]uint64]int32{}
	byPort := make([]int32, len(cfg.Ports)) // link of a port; -1: it never limits a flow
	r.links = nil
	for p := range cfg.Ports {
		byPort[p] = -1
		if !limits[p] {
			continue
		}
		capacity := cfg.Ports[p].capacity(e.Rates[p])
		if i, ok := byPattern[alike[p]]; ok {
			byPort[p] = i
			r.links[i].capacity = min(r.links[i].capacity, capacity)
			continue
		}
		byPort[p] = int32(len(r.links))
		byPattern[alike[p]] = byPort[p]
		r.links = append(r.links, link{capacity: capacity})
	}
	for i := range r.all {
		f := &r.all[i]
		f.ways, f.uses = e.Ways[i], nil
		for _, w := range f.ways {
			l := byPort[w.Port]
			if l >= 0 && !slices.ContainsFunc(f.uses, func(u use) bool { return u.link == l }) {
				f.uses = append(f.uses, use{link: l, share: w.Share})
			}
		}
		f.uses = slices.Clip(f.uses)
		if f.queue.Len() > 0 || f.packets {
			r.join(int32(i))
		}
	}
}

// mayLimit returns the ports that may limit a flow: all but those over which no more can come
// than they carry, as the first and last ports of their flows, which are the NICs' and those to
// hosts, let no more through. A flow has its first and last port as limits in any case.
func mayLimit(cfg *Config, e *Epoch) []bool {
	// bound returns the most that flows send to each port, by one end of each: the greatest share
	// of what comes in or goes out there.
	type endOf struct{ port, end int32 }
	bound := func(end func(ways []Way) Way) []float64 {
		most, sum := map[endOf]float64{}, make([]float64, len(cfg.Ports))
		var keys []endOf // in an order that is the same each time
		for _, ways := range e.Ways {
			at := end(ways)
			for _, w := range ways {
				key := endOf{w.Port, at.Port}
				if most[key] == 0 {
					keys = append(keys, key)
				}
				most[key] = max(most[key], w.Share/at.Share)
			}
		}
		for _, key := range keys {
			sum[key.port] += most[key] * cfg.Ports[key.end].capacity(e.Rates[key.end])
		}
		return sum
	}
	first, last := func(ways []Way) Way { return ways[0] }, func(ways []Way) Way { return ways[len(ways)-1] }
	in, out := bound(first), bound(last)
	limits := make([]bool, len(cfg.Ports))
	for p := range limits {
		const rounding = 1 + 1e-9
		limits[p] = min(in[p], out[p]) > cfg.Ports[p].capacity(e.Rates[p])*rounding
	}
	for _, ways := range e.Ways {
		limits[first(ways).Port], limits[last(ways).Port] = true, true
	}
	return limits
}

// newPatterns returns a fingerprint of each port that limits: of the flows that use it, and
// their shares. Ports that are alike always have the same load.
func newPatterns(e *Epoch, limits []bool) [][2]uint64 {
	patterns := make([][2]uint64, len(limits))
	for i, ways := range e.Ways {
		for _, w := range ways {
			if limits[w.Port] {
				p := &patterns[w.Port]
				p[0] = wire.Mix(p[0], uint64(i+1))
				p[1] = wire.Mix(p[1]^p[0], math.Float64bits(w.Share))
			}
		}
	}
	return patterns
}

// begin has a flow send from r.time on.
func (r *rates) begin(i int32) {
	f := &r.all[i]
	if f.low = 1; f.Law.Low < 1 {
		f.low = f.Law.Low + (1-f.Law.Low)*r.free(f)
	}
	f.weigh()
	r.sending++
	r.join(i)
}

// join makes a flow that sends a user of its links.
func (r *rates) join(i int32) {
	f := &r.all[i]
	for k := range f.uses {
		l := &r.links[f.uses[k].link]
		f.uses[k].at = int32(len(l.users))
		l.users = append(l.users, user{i, int32(k)})
	}
	r.seeds = append(r.seeds, i)
}

// free returns the share of a flow's links that is free, of that where it is least.
func (r *rates) free(f *flow) float64 {
	free := 1.0
	for _, u := range f.uses {
		l := &r.links[u.link]
		used := 0.0
		for _, other := range l.users {
			o := &r.all[other.flow]
			used += o.rate * o.uses[other.use].share
		}
		free = min(free, 1-used/l.capacity)
	}
	return max(0, free)
}

// progress is how far a phase is: the payload bytes of its messages, and those in messages that
// have not left.
type progress struct{ total, left units.Size }

// weightSteps is how often a weight changes in a phase.
const weightSteps = 16

// weigh finds the weight of a flow, and until when it has that.
func (f *flow) weigh() {
	law := &f.Law
	f.weight, f.until = law.Weight*law.Intercept*f.low, 0
	if f.packets { // how far their phase is, is not known
		f.weight = law.Weight * (law.Intercept + law.Slope/2) * f.low
		return
	}
	if law.Slope == 0 || f.phase.total == 0 {
		return
	}
	total := float64(f.phase.total)
	sent := total - float64(f.phase.left) + (f.load.line-f.left)*f.load.payload
	const rounding = 1e-9
	step := math.Floor(sent/total*weightSteps + rounding)
	f.weight = law.Weight * (law.Intercept + law.Slope*(step+0.5)/weightSteps) * f.low
	if bytes := ((step+1)/weightSteps*total - sent) / f.load.payload; bytes < f.left {
		f.until = f.left - bytes
	}
}

// end has a flow send no more. Its rate is that of none at once.
func (n *Network) end(i int32) {
	r, f := &n.rates, &n.flows[i]
	for k := range f.uses {
		u := &f.uses[k]
		l := &r.links[u.link]
		last := len(l.users) - 1
		moved := l.users[last]
		l.users[u.at] = moved
		r.all[moved.flow].uses[moved.use].at = u.at
		l.users = l.users[:last]
	}
	n.setRate(f, 0)
	f.finish = units.Never
	r.unplan(f)
	r.sending--
	r.seeds = append(r.seeds, i)
}

// dirty reports whether rates have to be computed anew.
func (r *rates) dirty() bool { return len(r.seeds) > 0 }

// settle computes the rates of the flows that are joined to one that has begun or ended.
func (n *Network) settle() {
	r := &n.rates
	if !r.dirty() {
		return
	}
	r.mark++
	r.component, r.touched = r.component[:0], r.touched[:0]
	for _, i := range r.seeds {
		r.reach(&r.all[i])
	}
	r.seeds = r.seeds[:0]
	for at := 0; at < len(r.touched); at++ {
		for _, u := range r.links[r.touched[at]].users {
			if f := &r.all[u.flow]; f.mark != r.mark {
				f.mark = r.mark
				r.component = append(r.component, u.flow)
				r.reach(f)
			}
		}
	}
	r.fill()
	for _, i := range r.component {
		f := &r.all[i]
		if f.next != f.rate {
			n.move(f, r.time)
			n.setRate(f, f.next)
			n.plan(i)
		}
	}
	n.tellTaken()
}

// setRate has a flow send at a rate from now on.
func (n *Network) setRate(f *flow, rate float64) {
	if rate != f.rate && !f.packets {
		n.lend(f, rate-f.rate)
	}
	f.rate = rate
}

// reach adds the links of a flow.
func (r *rates) reach(f *flow) {
	for _, u := range f.uses {
		if l := &r.links[u.link]; l.mark != r.mark {
			l.mark = r.mark
			r.touched = append(r.touched, u.link)
		}
	}
}

// fill divides the links of the component: it finds the link whose flows would have the lowest
// rate, gives them that rate, and goes on with what is left of the other links.
func (r *rates) fill() {
	for _, i := range r.component {
		r.all[i].next = -1
	}
	r.levels = r.levels[:0]
	for _, i := range r.touched {
		l := &r.links[i]
		l.room, l.demand = l.capacity, 0
		for _, u := range l.users {
			l.demand += r.all[u.flow].weight * r.all[u.flow].uses[u.use].share
		}
		r.offer(i)
	}
	for left := len(r.component); left > 0 && len(r.levels) > 0; {
		var at level
		at, r.levels = heap.Pop(r.levels, lower)
		l := &r.links[at.link]
		if at.version != l.version {
			continue
		}
		for _, u := range l.users {
			f := &r.all[u.flow]
			if f.next >= 0 {
				continue
			}
			f.next = f.weight * at.rate
			left--
			for _, v := range f.uses {
				if v.link == at.link {
					continue
				}
				other := &r.links[v.link]
				other.room = max(0, other.room-f.next*v.share)
				other.demand -= f.weight * v.share
				r.offer(v.link)
			}
		}
		l.version++ // all of its flows have their rates
	}
}

// offer puts the level of a link in the heap, in place of the one before.
func (r *rates) offer(i int32) {
	l := &r.links[i]
	l.version++
	const nothing = 1e-9 // what rounding leaves of a demand
	if l.demand > nothing {
		r.levels = heap.Push(r.levels, level{l.room / l.demand, i, l.version}, lower)
	}
}

// move has a flow send at its rate up to a moment.
func (n *Network) move(f *flow, to units.Time) {
	if f.rate > 0 && to > f.since {
		bytes := min(f.left, f.rate*float64(to.Sub(f.since)))
		f.left -= bytes
		n.carry(f, bytes)
	}
	f.since = to
}

// load makes a message the one that a flow sends, at n.time or later.
func (n *Network) load(f *flow) {
	m := f.queue.At(0)
	line, packets := float64(n.cfg.onLine(f.Flow, m.size)), float64(n.cfg.packets(m.size))
	f.left = line
	f.load = load{line: line, wire: 1 - packets*float64(n.cfg.Overhead)/line, payload: float64(m.size) / line, packets: packets / line}
	if f.phase.left <= 0 {
		f.phase = progress{m.phase, m.phase}
	}
	f.weigh()
}

// plan finds out when the first message of a flow will have left.
func (r *rates) plan(i int32) {
	f := &r.all[i]
	f.finish = units.Never
	if f.packets {
		return
	}
	if f.rate > 0 {
		const most = float64(units.Never / 2)
		f.finish = f.since.Add(units.Duration(min(math.Ceil((f.left-f.until)/f.rate), most)))
	}
	if f.at < 0 {
		f.at = int32(len(r.finishing))
		r.finishing = append(r.finishing, i)
	}
	r.place(f.at)
}

// unplan takes a flow out of those that send.
func (r *rates) unplan(f *flow) {
	if f.at < 0 {
		return
	}
	last := int32(len(r.finishing) - 1)
	hole, moved := f.at, r.finishing[last]
	r.finishing, f.at = r.finishing[:last], -1
	if hole != last {
		r.finishing[hole], r.all[moved].at = moved, hole
		r.place(hole)
	}
}

// place moves an element of the heap to where it belongs.
func (r *rates) place(i int32) {
	h := r.finishing
	before := func(a, b int32) bool {
		x, y := r.all[h[a]].finish, r.all[h[b]].finish
		return x < y || x == y && h[a] < h[b]
	}
	swap := func(a, b int32) {
		h[a], h[b] = h[b], h[a]
		r.all[h[a]].at, r.all[h[b]].at = a, b
	}
	for i > 0 && before(i, (i-1)/2) {
		swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	for {
		child := 2*i + 1
		if child >= int32(len(h)) {
			return
		}
		if child+1 < int32(len(h)) && before(child+1, child) {
			child++
		}
		if !before(child, i) {
			return
		}
		swap(i, child)
		i = child
	}
}
