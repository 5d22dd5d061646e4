package netns

import (
	"fmt"
	"math"

	"github.com/vishvananda/netlink"

	"github.com/csiglab/csiglab/nodes/units"
	"github.com/csiglab/csiglab/topologies"
)

// Shaped is what the kernel's shaper of one interface was set to and did.
type Shaped struct {
	Node, Port int
	Rate       units.BitRate // in wall time
	Packets    int64
	Delayed    int64 // times that it held frames back
	Dropped    int64
}

// Shaping is a backstop: the machines pace at the link's rate, and the shaper
// only keeps anything else from going faster. datapath.md has the figures: a
// tenth above the rate, and a burst of 16 KiB at 100 Mb/s to 512 KiB at 1 Gb/s
// and more, that is about 1.3 ms.
const (
	shapeMargin   = 1.1
	shapeBurst    = 0.0013 // seconds
	shapeBurstMin = 16 << 10
	shapeBurstMax = 512 << 10
	shapeQueue    = 4 << 20 // bytes that may wait behind the burst
	psched        = 64      // ns, the kernel's unit of a shaper's times (pkt_sched.h)
)

// wireRate returns the rate of a link in wall time, margin included. Frames are a
// little longer than the packets that they are the image of.
func (f *Fabric) wireRate(link int) units.BitRate {
	longer := max(1, float64(f.maxFrame())/float64(f.MaxPayload+f.Format.Header))
	rate := float64(f.Graph.Links[link].Rate) / f.Wall.Dilation * shapeMargin * longer
	return units.BitRate(math.Ceil(rate))
}

// shape sets up the shaper of every interface of the graph's links.
func (d *deployment) shape(f *Fabric) error {
	for id, l := range f.Graph.Links {
		if f.inMemory([2]topologies.End{l.A, l.B}) {
			continue
		}
		for _, end := range [2]struct{ node, port int }{{l.A.Node, l.A.Port}, {l.B.Node, l.B.Port}} {
			s := &d.spaces[end.node]
			perSecond := max(1, uint64(f.wireRate(id))/8)
			burst := min(max(shapeBurst*float64(perSecond), shapeBurstMin, 2*float64(f.maxFrame())), shapeBurstMax)
			ticks := burst / float64(perSecond) * 1e9 / psched
			tbf := &netlink.Tbf{
				QdiscAttrs: netlink.QdiscAttrs{
					LinkIndex: s.indices[end.port], Parent: netlink.HANDLE_ROOT, Handle: netlink.MakeHandle(1, 0),
				},
				Rate: perSecond, Limit: shapeQueue, Buffer: uint32(min(ticks, math.MaxUint32)),
			}
			if err := s.links.QdiscReplace(tbf); err != nil {
				return fmt.Errorf("link %s: %s %s: shape to %v with tbf: %w", f.Graph.LinkName(id), s.name, portName(end.port), f.wireRate(id), err)
			}
		}
	}
	return nil
}

// shaped reads what the shapers did.
func (d *deployment) shaped(f *Fabric) (list []Shaped, err error) {
	for node, s := range d.spaces {
		found, err := s.links.QdiscList(nil)
		if err != nil {
			return nil, fmt.Errorf("node %s: shapers: %w", s.name, err)
		}
		ports := map[int]int{}
		for port, index := range s.indices {
			ports[index] = port
		}
		for _, q := range found {
			tbf, ok := q.(*netlink.Tbf)
			if !ok || tbf.Statistics == nil {
				continue
			}
			one := Shaped{Node: node, Port: ports[tbf.LinkIndex], Rate: units.BitRate(tbf.Rate * 8)}
			if b := tbf.Statistics.Basic; b != nil {
				one.Packets = int64(b.Packets)
			}
			if q := tbf.Statistics.Queue; q != nil {
				one.Delayed, one.Dropped = int64(q.Overlimits), int64(q.Drops)
			}
			list = append(list, one)
		}
	}
	return list, nil
}
