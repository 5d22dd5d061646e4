package netns

import (
	"fmt"

	"github.com/csiglab/csiglab/orchestrator/shape"
	"github.com/csiglab/csiglab/topologies"
)

// shape sets up the shaper of every interface of the graph's links.
func (d *deployment) shape(f *Fabric) error {
	for id, l := range f.Graph.Links {
		if f.inMemory([2]topologies.End{l.A, l.B}) {
			continue
		}
		link := shape.Link{
			Rate: l.Rate, Dilation: f.Wall.Dilation, Frame: f.maxFrame(), Packet: int(f.MaxPayload + f.Format.Header),
		}
		for _, end := range []topologies.End{l.A, l.B} {
			s := &d.spaces[end.Node]
			if err := shape.Set(s.links, s.indices[end.Port], link); err != nil {
				return fmt.Errorf("link %s: %s %s: %w", f.Graph.LinkName(id), s.name, portName(end.Port), err)
			}
		}
	}
	return nil
}

// shaped reads what the shapers did.
func (d *deployment) shaped() (list []shape.Shaped, err error) {
	for node, s := range d.spaces {
		one, err := shape.Read(s.links, node, s.indices)
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", s.name, err)
		}
		list = append(list, one...)
	}
	return list, nil
}
