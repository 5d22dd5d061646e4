package jobs

import (
	"cmp"
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/waits"
)

// Bounds of the picture of a step.
const (
	// pictureRanks is up to how many ranks a picture shows all of them; of more it shows
	// pictureWorst, and how many ranks do what.
	pictureRanks = 16
	pictureWorst = 10
	// pictureColumns is how many columns of time the picture has.
	pictureColumns = 400
	// pictureCollectives is how many collectives it names.
	pictureCollectives = 12
	// held is the kind of the time in which a schedule holds a rank back.
	held = "held by the schedule"
)

// Picture is what the ranks of a job do in one step.
type Picture struct {
	Step   int32   `json:"step"`
	FromUS float64 `json:"fromUs"`
	ToUS   float64 `json:"toUs"`
	Ranks  int     `json:"ranks"`
	// Kinds are what ranks do: phases of compute, then kinds of communication, and
	// held.
	Kinds    []Kind     `json:"kinds"`
	Lanes    []Lane     `json:"lanes"`         // ranks, ascending
	Shares   []Band     `json:"shares"`        // of all ranks, by kind, then those that do nothing
	Overlaid []Overlaid `json:"collectives"`   // by their beginning
	Left     int        `json:"leftOut"`       // collectives that Overlaid lacks
	Few      bool       `json:"few,omitempty"` // Lanes are all ranks

	lanes    []Lane       // of all ranks
	kinds    map[Kind]int // index of Kinds
	collects map[string]*Overlaid
}

// Kind is something that ranks do.
type Kind struct {
	Name    string `json:"name"`
	Compute bool   `json:"compute"`
}

// Lane is one rank. Spans do not overlap within compute, nor within communication.
type Lane struct {
	Rank  int32  `json:"rank"`
	Host  string `json:"host"`
	Spans []Span `json:"spans"`
	// ComputeUS is how long it computes, and ExposedUS how long it communicates without.
	ComputeUS float64 `json:"computeUs"`
	ExposedUS float64 `json:"exposedUs"`
	Path      bool    `json:"path,omitempty"` // the critical path comes by
}

// Span is a span of a lane.
type Span struct {
	Kind   int     `json:"kind"`
	FromUS float64 `json:"fromUs"`
	ToUS   float64 `json:"toUs"`
}

// Band is the share of the ranks that do something, by column of time.
type Band struct {
	Kind   int       `json:"kind"` // index of Kinds; len(Kinds): they do nothing
	Shares []float64 `json:"shares"`
}

// Overlaid is one collective in the step, over all of its groups.
type Overlaid struct {
	Name   string  `json:"name"`
	FromUS float64 `json:"fromUs"`
	ToUS   float64 `json:"toUs"`
}

// newPicture returns the picture of a step, with the lanes of all ranks.
func newPicture(s *waits.Step, p *waits.Path) *Picture {
	c := &Picture{Step: s.Number, FromUS: p.FromUS, ToUS: p.ToUS, Ranks: len(s.Job.Ranks), kinds: map[Kind]int{}, collects: map[string]*Overlaid{}, Overlaid: []Overlaid{}}
	kindOf := map[string]string{} // of collectives
	for _, one := range s.Job.Collectives {
		kindOf[one.Name] = one.Kind
	}
	what := func(o *waits.Op) (kind Kind, since float64) {
		switch o.Kind {
		case metrics.OperationCompute:
			return Kind{cmp.Or(s.Phase(o), "compute"), true}, o.StartUS
		case metrics.OperationHold:
			return Kind{held, false}, o.ReadyUS
		}
		return Kind{cmp.Or(kindOf[s.Collective(o)], "send-recv"), false}, o.ReadyUS
	}
	const computes, messages, holds, others = 0, 1, 2, 3
	class := func(o *waits.Op) int {
		switch {
		case o.Kind == metrics.OperationCompute:
			return computes
		case o.Kind < metrics.OperationSpan:
			return messages
		case o.Kind == metrics.OperationHold && o.EndUS > o.ReadyUS:
			return holds
		}
		return others
	}
	for first := range others {
		for i := range s.Ops {
			if class(&s.Ops[i]) == first {
				kind, _ := what(&s.Ops[i])
				c.kind(kind)
			}
		}
	}
	c.lanes = make([]Lane, c.Ranks)
	for i := range c.lanes {
		c.lanes[i] = Lane{Rank: int32(i), Host: s.Host(int32(i)), Spans: []Span{}}
	}
	for i := range s.Ops {
		o := &s.Ops[i]
		name := s.Collective(o)
		switch {
		case o.Rank < 0 || int(o.Rank) >= len(c.lanes):
		case class(o) < others:
			kind, since := what(o)
			c.lanes[o.Rank].Spans = append(c.lanes[o.Rank].Spans, Span{c.kind(kind), since, o.EndUS})
		case o.Kind == metrics.OperationSpan && name != "":
			one := c.collects[name]
			if one == nil {
				one = &Overlaid{Name: name, FromUS: math.Inf(1)}
				c.collects[name] = one
			}
			one.FromUS, one.ToUS = min(one.FromUS, o.ReadyUS), max(one.ToUS, o.EndUS)
		}
	}
	for i := range c.lanes {
		c.join(&c.lanes[i])
	}
	c.share()
	for _, one := range c.collects {
		c.Overlaid = append(c.Overlaid, *one)
	}
	slices.SortFunc(c.Overlaid, func(a, b Overlaid) int { return cmp.Or(cmp.Compare(a.FromUS, b.FromUS), cmp.Compare(a.Name, b.Name)) })
	if n := len(c.Overlaid); n > pictureCollectives {
		// The longest ones.
		longest := slices.SortedStableFunc(slices.Values(c.Overlaid), func(a, b Overlaid) int { return cmp.Compare(b.ToUS-b.FromUS, a.ToUS-a.FromUS) })[:pictureCollectives]
		c.Left = n - pictureCollectives
		c.Overlaid = slices.DeleteFunc(c.Overlaid, func(o Overlaid) bool { return !slices.Contains(longest, o) })
	}
	return c
}

// kind returns the index of something that ranks do. It adds it if it is new.
func (c *Picture) kind(k Kind) int {
	i, ok := c.kinds[k]
	if !ok {
		i = len(c.Kinds)
		c.kinds[k], c.Kinds = i, append(c.Kinds, k)
	}
	return i
}

// join joins the spans of a lane that are of one kind and overlap or nearly meet, and
// computes the lane's sums. Spans of computes, and those of communication, cut each other
// off: the later one begins where the earlier one ends.
func (c *Picture) join(l *Lane) {
	gap := (c.ToUS - c.FromUS) / pictureColumns / 2
	var all []Span
	var busy, active []reading.Span
	for _, compute := range []bool{true, false} {
		var of []Span
		for _, s := range l.Spans {
			if c.Kinds[s.Kind].Compute == compute {
				s.FromUS, s.ToUS = max(s.FromUS, c.FromUS), min(s.ToUS, c.ToUS)
				if s.ToUS > s.FromUS {
					of = append(of, s)
				}
			}
		}
		slices.SortFunc(of, func(a, b Span) int { return cmp.Or(cmp.Compare(a.FromUS, b.FromUS), cmp.Compare(a.ToUS, b.ToUS)) })
		var joined []Span
		for _, s := range of {
			if compute {
				busy = append(busy, reading.Span{From: s.FromUS, To: s.ToUS})
			}
			if c.Kinds[s.Kind].Name != held {
				active = append(active, reading.Span{From: s.FromUS, To: s.ToUS})
			}
			n := len(joined)
			switch {
			case n > 0 && s.Kind == joined[n-1].Kind && s.FromUS <= joined[n-1].ToUS+gap:
				joined[n-1].ToUS = max(joined[n-1].ToUS, s.ToUS)
				continue
			case n > 0 && s.FromUS < joined[n-1].ToUS:
				s.FromUS = joined[n-1].ToUS
			}
			if s.ToUS > s.FromUS {
				joined = append(joined, s)
			}
		}
		all = append(all, joined...)
	}
	l.ComputeUS = reading.Lasting(reading.Unite(busy))
	l.ExposedUS = reading.Lasting(reading.Unite(active)) - l.ComputeUS
	l.Spans = all
	if l.Spans == nil {
		l.Spans = []Span{}
	}
}

// share computes how many ranks do what, by column: a rank that computes counts there,
// one that communicates and does not compute as waiting for this kind.
func (c *Picture) share() {
	n := len(c.Kinds)
	for kind := range n + 1 {
		c.Shares = append(c.Shares, Band{kind, make([]float64, pictureColumns)})
	}
	width := (c.ToUS - c.FromUS) / pictureColumns
	if width <= 0 {
		return
	}
	what := make([]int, pictureColumns)
	for i := range c.lanes {
		for k := range what {
			what[k] = n
		}
		for _, compute := range []bool{false, true} {
			for _, s := range c.lanes[i].Spans {
				if c.Kinds[s.Kind].Compute != compute {
					continue
				}
				// The columns whose middle is in the span.
				from := max(0, int(math.Ceil((s.FromUS-c.FromUS)/width-0.5)))
				for k := from; k < pictureColumns && c.FromUS+(float64(k)+0.5)*width < s.ToUS; k++ {
					what[k] = s.Kind
				}
			}
		}
		for k, kind := range what {
			c.Shares[kind].Shares[k] += 1 / float64(len(c.lanes))
		}
	}
}

// choose chooses the lanes to show: all, or those of the ranks where the critical path
// is longest, and of those that compute or wait longest.
func (c *Picture) choose(p *Path) {
	on := make([]float64, len(c.lanes))
	for i := range p.Whole {
		s := &p.Whole[i]
		for _, rank := range []int32{s.Rank, s.Peer} {
			if rank >= 0 && int(rank) < len(on) {
				c.lanes[rank].Path = true
			}
		}
		if s.Rank >= 0 && int(s.Rank) < len(on) {
			on[s.Rank] += s.US()
		}
	}
	c.Few = c.Ranks <= pictureRanks
	if c.Few {
		c.Lanes = c.lanes
		return
	}
	place := func(by func(rank int) float64) []int {
		order := make([]int, len(c.lanes))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(by(b), by(a)) })
		return order
	}
	chosen := map[int]bool{}
	if p.Lost != nil && p.Lost.Rank >= 0 {
		chosen[int(p.Lost.Rank)] = true
	}
	lists := [][]int{place(func(r int) float64 { return on[r] }), place(func(r int) float64 { return c.lanes[r].ComputeUS }), place(func(r int) float64 { return c.lanes[r].ExposedUS })}
	for k := 0; len(chosen) < pictureWorst; k++ {
		if on[lists[0][k]] > 0 {
			chosen[lists[0][k]] = true
		}
		if k%2 == 0 && len(chosen) < pictureWorst {
			chosen[lists[1][k]] = true
		}
		if k%2 == 1 && len(chosen) < pictureWorst {
			chosen[lists[2][k]] = true
		}
	}
	for i := range c.lanes {
		if chosen[i] {
			c.Lanes = append(c.Lanes, c.lanes[i])
		}
	}
}
