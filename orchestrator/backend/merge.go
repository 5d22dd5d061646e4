package backend

import (
	"fmt"

	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/topologies"
)

// Merge returns the outcome of a run in several parts. r is the whole run, of is for each
// node its part, and outs are the outcomes by part. Counts and CPU times are sums; times are
// those of the slowest part. An error says how the outcomes contradict each other.
func Merge(r *Run, of []int, outs []*Outcome) (*Outcome, error) {
	m := &Outcome{Cut: new(Cut)}
	cuts := map[direction]int{}
	reported := map[report]int{}
	for part, o := range outs {
		if o == nil {
			return nil, fmt.Errorf("part %d of %d has no outcome", part, len(outs))
		}
		if part == 0 {
			m.End, m.Drained = o.End, o.Drained
		}
		if o.Behind == 0 && m.Behind == 0 && (o.End != m.End || o.Drained != m.Drained) {
			return nil, fmt.Errorf("part 0 ended at %v (drained %v), part %d at %v (drained %v)", m.End, m.Drained, part, o.End, o.Drained)
		}
		if o.Behind > 0 { // the run was given up at different times
			m.End, m.Drained = min(m.End, o.End), false
		}
		m.Behind = max(m.Behind, o.Behind)
		m.Setup, m.Wall, m.CPU = max(m.Setup, o.Setup), max(m.Wall, o.Wall), m.CPU+o.CPU
		m.Frames += o.Frames
		m.Strays += o.Strays
		m.Grants += o.Grants
		m.Ports = append(m.Ports, o.Ports...)
		m.Counters = append(m.Counters, o.Counters...)
		m.Shaped = append(m.Shaped, o.Shaped...)
		m.Interfaces.add(o.Interfaces)
		if o.Timing != nil {
			if m.Timing == nil {
				m.Timing = &wall.Timing{RealTime: true}
			}
			m.Timing.Merge(*o.Timing)
		}
		if o.Cut == nil {
			return nil, fmt.Errorf("part %d has not counted the frames between parts", part)
		}
		m.Cut.merge(o.Cut, cuts)
		for _, l := range o.Cut.Links {
			reported[report{part, direction{l.Sender, l.Receiver}}]++
		}
	}
	if err := complete(r, of, reported); err != nil {
		return nil, err
	}
	if r.Wall == nil {
		return m, nil
	}
	programs := make([]int, len(outs)) // taken of each part's
	for i, p := range r.Plan.Programs {
		part := of[p.Host]
		if programs[part] >= len(outs[part].Programs) {
			return nil, fmt.Errorf("part %d does not say how program %d ended", part, i)
		}
		m.Programs = append(m.Programs, outs[part].Programs[programs[part]])
		programs[part]++
	}
	return m, nil
}

// direction is a direction of a link.
type direction struct{ sender, receiver topologies.End }

// report is what a part has counted of a direction of a cut link.
type report struct {
	part int
	direction
}

// complete returns an error unless both parts of each cut link have reported both of its
// directions once, and nothing else was reported.
func complete(r *Run, of []int, reported map[report]int) error {
	want := 0
	for _, l := range r.Plan.Links {
		a, b := of[l.A.Node], of[l.B.Node]
		if a == b {
			continue
		}
		for _, part := range []int{a, b} {
			for _, d := range []direction{{l.A, l.B}, {l.B, l.A}} {
				want++
				if times := reported[report{part, d}]; times != 1 {
					nodes := r.Plan.Graph.Nodes
					return fmt.Errorf("part %d has counted the frames of link %s from %s to %s %d times, want once",
						part, l.Name, nodes[d.sender.Node].Name, nodes[d.receiver.Node].Name, times)
				}
			}
		}
	}
	if len(reported) > want {
		return fmt.Errorf("the parts have counted %d ends of directions of cut links, want %d", len(reported), want)
	}
	return nil
}

// merge adds what another part has counted. at has the places of the directions in c.Links.
func (c *Cut) merge(o *Cut, at map[direction]int) {
	if len(c.Parts) == 0 {
		c.Parts = o.Parts
	}
	c.Exchanges += o.Exchanges
	c.Bytes += o.Bytes
	c.RoundTrips = append(c.RoundTrips, o.RoundTrips...)
	for _, l := range o.Links {
		d := direction{l.Sender, l.Receiver}
		i, ok := at[d]
		if !ok {
			i = len(c.Links)
			at[d], c.Links = i, append(c.Links, CutLink{Link: l.Link, From: l.From, To: l.To, Sender: l.Sender, Receiver: l.Receiver})
		}
		of := &c.Links[i]
		of.Entered += l.Entered
		of.Left += l.Left
		of.Taken += l.Taken
		of.Put += l.Put
	}
}

func (c *Counters) add(o Counters) {
	c.TxPackets += o.TxPackets
	c.RxPackets += o.RxPackets
	c.Dropped += o.Dropped
}
