package parts

import (
	"cmp"
	"container/heap"
	"math/rand/v2"
	"slices"
)

// graph is pieces of a fabric that are not cut, and what goes between them.
type graph struct {
	loads    []float64 // of 1 in all
	hosts    []bool    // by piece: it has hosts
	adjacent [][]edge  // by piece, in the order of the others
}

type edge struct {
	to     int32
	weight float64 // frames
}

// Bounds of the search.
const (
	fewPieces   = 256 // up to which more starts are tried
	moreStarts  = 24
	mostPasses  = 12
	patience    = 64 // moves without gain after which a pass ends, in small graphs
	indifferent = 1e-9
)

// divide divides the pieces into parts, none empty. Of several starts, each refined, it
// returns the one whose heaviest part is light enough and over whose cut the fewest frames
// go.
func (g *graph) divide(parts int) []int {
	if parts == 1 {
		return make([]int, len(g.loads))
	}
	starts := [][]int{g.byOrder(parts), g.byWeight(parts, nil), g.byReach(parts)}
	if len(g.loads) <= fewPieces {
		random := rand.New(rand.NewPCG(uint64(len(g.loads)), uint64(parts)))
		for range moreStarts {
			starts = append(starts, g.byWeight(parts, random))
		}
	}
	limit := 2.0 // above all loads
	for _, of := range starts {
		limit = min(limit, slices.Max(g.sums(of, parts)))
	}
	limit = max(limit, (1+tolerance)/float64(parts))
	var best []int
	var cost quality
	for _, of := range starts {
		r := newRefinement(g, of, parts, limit)
		r.run()
		if q := r.quality(); best == nil || q.better(cost) {
			best, cost = r.of, q
		}
	}
	return best
}

// sums returns the load of each part.
func (g *graph) sums(of []int, parts int) []float64 {
	sums := make([]float64, parts)
	for piece, part := range of {
		sums[part] += g.loads[piece]
	}
	return sums
}

// byOrder gives each part pieces with hosts that follow each other, as pods and racks do.
// Each other piece goes where most of its frames go, if there is room.
func (g *graph) byOrder(parts int) []int {
	var first, others []int
	for piece := range g.loads {
		if g.hosts[piece] {
			first = append(first, piece)
		} else {
			others = append(others, piece)
		}
	}
	if len(first) < parts {
		first, others = append(first, others...), nil
	}
	of := g.inRow(first, parts)
	sums := make([]float64, parts)
	for _, piece := range first {
		sums[of[piece]] += g.loads[piece]
	}
	settled := slices.Clone(g.hosts)
	if others == nil {
		return of
	}
	room, near := (1+tolerance)/float64(parts), make([]float64, parts)
	for len(others) > 0 {
		// The piece next to the most that is settled comes first.
		at, most := 0, -1.0
		for i, piece := range others {
			sum := 0.0
			for _, e := range g.adjacent[piece] {
				if settled[e.to] {
					sum += e.weight
				}
			}
			if sum > most {
				at, most = i, sum
			}
			if len(g.loads) > fewPieces {
				break // in order
			}
		}
		piece := others[at]
		others = slices.Delete(others, at, at+1)
		clear(near)
		for _, e := range g.adjacent[piece] {
			if settled[e.to] {
				near[of[e.to]] += e.weight
			}
		}
		best := -1
		for part := range parts {
			if sums[part]+g.loads[piece] <= room && (best < 0 || near[part] > near[best] || near[part] == near[best] && sums[part] < sums[best]) {
				best = part
			}
		}
		if best < 0 {
			best = least(sums)
		}
		of[piece] = best
		sums[best] += g.loads[piece]
		settled[piece] = true
	}
	return of
}

// inRow gives each part pieces that follow each other in a row, about as heavy as the next
// part's. Pieces outside of the row stay in part 0.
func (g *graph) inRow(row []int, parts int) []int {
	of, left := make([]int, len(g.loads)), 0.0
	for _, piece := range row {
		left += g.loads[piece]
	}
	part, sum := 0, 0.0
	for i, piece := range row {
		share := left / float64(parts-part)
		remaining := len(row) - i
		full := sum > 0 && sum+g.loads[piece]/2 > share
		if part < parts-1 && sum > 0 && (full || remaining < parts-part) {
			left -= sum
			part, sum = part+1, 0
		}
		of[piece] = part
		sum += g.loads[piece]
	}
	return of
}

// byReach gives each part pieces in a row of a breadth-first search from the first one.
func (g *graph) byReach(parts int) []int {
	seen := make([]bool, len(g.loads))
	var row []int
	for root := range g.loads {
		if seen[root] {
			continue
		}
		seen[root] = true
		at := len(row)
		for row = append(row, root); at < len(row); at++ {
			next := slices.Clone(g.adjacent[row[at]])
			slices.SortStableFunc(next, func(a, b edge) int { return cmp.Compare(b.weight, a.weight) })
			for _, e := range next {
				if !seen[e.to] {
					seen[e.to] = true
					row = append(row, int(e.to))
				}
			}
		}
	}
	return g.inRow(row, parts)
}

// byWeight gives each piece to the lightest part, the heaviest pieces first (Graham 1969:
// the heaviest part is at most 4/3 of what it has to be). With random numbers, pieces of
// about the same weight change places.
func (g *graph) byWeight(parts int, random *rand.Rand) []int {
	row, key := make([]int, len(g.loads)), make([]float64, len(g.loads))
	for piece := range row {
		row[piece], key[piece] = piece, g.loads[piece]
		if random != nil {
			key[piece] *= 1 - random.Float64()/4
		}
	}
	slices.SortStableFunc(row, func(a, b int) int { return cmp.Compare(key[b], key[a]) })
	of, sums := make([]int, len(g.loads)), make([]float64, parts)
	for _, piece := range row {
		of[piece] = least(sums)
		sums[of[piece]] += g.loads[piece]
	}
	return of
}

func least(sums []float64) int {
	best := 0
	for i, s := range sums {
		if s < sums[best] {
			best = i
		}
	}
	return best
}

// quality is how good a division is.
type quality struct {
	over     float64 // load of the heaviest part over the limit
	crossing float64
	heaviest float64
}

// better reports whether a division is better than another: it keeps the limit, then fewer
// frames cross, then its heaviest part is lighter.
func (q quality) better(than quality) bool {
	if d := q.over - than.over; d < -indifferent || d > indifferent {
		return d < 0
	}
	if d, e := q.crossing-than.crossing, indifferent*(q.crossing+than.crossing); d < -e || d > e {
		return d < 0
	}
	return q.heaviest < than.heaviest-indifferent
}

// refinement moves pieces between parts while that makes a division better, as Fiduccia and
// Mattheyses do (DAC 1982): a pass moves each piece at most once, the best move first even
// if it is a loss, and keeps the moves up to the best division on the way. In every
// other pass, parts may be too heavy by one piece on the way.
type refinement struct {
	*graph
	of       []int
	parts    int
	limit    float64
	sums     []float64
	members  []int
	near     []float64 // by piece and part: frames to the part's pieces
	crossing float64

	moved   []bool
	version []int
	queue   moves
}

func newRefinement(g *graph, of []int, parts int, limit float64) *refinement {
	r := &refinement{
		graph: g, of: slices.Clone(of), parts: parts, limit: limit, sums: g.sums(of, parts), members: make([]int, parts),
		near: make([]float64, len(of)*parts), version: make([]int, len(of)),
	}
	for piece, part := range of {
		r.members[part]++
		for _, e := range g.adjacent[piece] {
			r.near[piece*parts+of[e.to]] += e.weight
			if of[e.to] != part {
				r.crossing += e.weight / 2
			}
		}
	}
	return r
}

func (r *refinement) quality() quality {
	heaviest := slices.Max(r.sums)
	return quality{max(0, heaviest-r.limit), r.crossing, heaviest}
}

// run makes the division better as long as one of the ways does: moves within the limit,
// moves beyond it on the way, and, in small graphs, pieces that change places.
func (r *refinement) run() {
	for range mostPasses {
		better := r.pass(r.limit)
		better = r.pass(r.limit+slices.Max(r.loads)) || better
		if len(r.of) <= fewPieces {
			better = r.swap() || better
		}
		if !better {
			return
		}
	}
}

// swap lets two pieces change places for as long as fewer frames cross then, and reports
// whether any did.
func (r *refinement) swap() (better bool) {
	for range r.of {
		bestA, bestB, gain := -1, -1, indifferent*r.crossing
		for a, p := range r.of {
			for b := a + 1; b < len(r.of); b++ {
				q := r.of[b]
				d := r.loads[a] - r.loads[b]
				if p == q || r.sums[p]-d > r.limit || r.sums[q]+d > r.limit {
					continue
				}
				g := r.near[a*r.parts+q] - r.near[a*r.parts+p] + r.near[b*r.parts+p] - r.near[b*r.parts+q]
				if g > gain {
					if g -= 2 * r.between(a, b); g > gain {
						bestA, bestB, gain = a, b, g
					}
				}
			}
		}
		if bestA < 0 {
			return better
		}
		p, q := r.of[bestA], r.of[bestB]
		r.move(bestA, q)
		r.move(bestB, p)
		better = true
	}
	return better
}

// between returns the weight of the edge between two pieces.
func (g *graph) between(a, b int) float64 {
	i, ok := slices.BinarySearchFunc(g.adjacent[a], b, func(e edge, to int) int { return int(e.to) - to })
	if !ok {
		return 0
	}
	return g.adjacent[a][i].weight
}

// pass moves each piece at most once, into parts that are no heavier than room after it. It
// reports whether it has made the division better.
func (r *refinement) pass(room float64) bool {
	r.moved, r.queue = make([]bool, len(r.of)), r.queue[:0]
	for piece := range r.of {
		r.offer(piece, room)
	}
	type step struct{ piece, from int }
	var steps []step
	start := r.quality()
	best, kept := start, 0
	for r.queue.Len() > 0 && len(steps)-kept < patience+len(r.of)/20 {
		m := heap.Pop(&r.queue).(move)
		if m.version != r.version[m.piece] || r.moved[m.piece] {
			continue
		}
		if r.members[r.of[m.piece]] == 1 {
			continue
		}
		if r.sums[m.to]+r.loads[m.piece] > room {
			r.offer(m.piece, room) // another part
			continue
		}
		steps = append(steps, step{m.piece, r.of[m.piece]})
		r.moved[m.piece] = true
		r.move(m.piece, m.to)
		for _, e := range r.adjacent[m.piece] {
			if other := int(e.to); !r.moved[other] {
				r.offer(other, room)
			}
		}
		if q := r.quality(); q.better(best) {
			best, kept = q, len(steps)
		}
	}
	for i := len(steps) - 1; i >= kept; i-- {
		r.move(steps[i].piece, steps[i].from)
	}
	return best.better(start)
}

// offer puts a piece's best move into the queue, if it has one, in place of its last one.
func (r *refinement) offer(piece int, room float64) {
	from := r.of[piece]
	near := r.near[piece*r.parts : (piece+1)*r.parts]
	to := -1
	for part := range near {
		if part == from || r.sums[part]+r.loads[piece] > room {
			continue
		}
		if to < 0 || near[part] > near[to] || near[part] == near[to] && r.sums[part] < r.sums[to] {
			to = part
		}
	}
	r.version[piece]++
	if to >= 0 {
		heap.Push(&r.queue, move{near[to] - near[from], r.sums[from] - r.sums[to], piece, to, r.version[piece]})
	}
}

func (r *refinement) move(piece, to int) {
	from := r.of[piece]
	r.crossing -= r.near[piece*r.parts+to] - r.near[piece*r.parts+from]
	r.of[piece] = to
	r.sums[from] -= r.loads[piece]
	r.sums[to] += r.loads[piece]
	r.members[from]--
	r.members[to]++
	for _, e := range r.adjacent[piece] {
		r.near[int(e.to)*r.parts+from] -= e.weight
		r.near[int(e.to)*r.parts+to] += e.weight
	}
}

// move is a move that a piece may make.
type move struct {
	gain    float64 // frames that cross no more
	relief  float64 // load of the part that it leaves, over that of the other
	piece   int
	to      int
	version int
}

// moves is a heap, the best move first.
type moves []move

func (m moves) Len() int { return len(m) }
func (m moves) Less(i, j int) bool {
	a, b := &m[i], &m[j]
	switch {
	case a.gain != b.gain:
		return a.gain > b.gain
	case a.relief != b.relief:
		return a.relief > b.relief
	}
	return a.piece < b.piece
}
func (m moves) Swap(i, j int) { m[i], m[j] = m[j], m[i] }
func (m *moves) Push(x any)   { *m = append(*m, x.(move)) }
func (m *moves) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}
