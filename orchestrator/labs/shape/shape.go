// Package shape limits the rate of a link in the kernel to its rate in the model: it
// puts a tbf (token bucket filter) on the interface at each end. It is a backstop in
// real time. The dataplane has the queue, the pacing at the link's rate and the
// propagation delay, so that a shaper delays nothing as long as the machines pace.
// Both backends with real links use it.
package shape

import (
	"fmt"
	"math"

	"github.com/vishvananda/netlink"

	"github.com/csiglab/csiglab/units"
)

// Shaped is the rate and the statistics of the shaper of one interface.
type Shaped struct {
	Node, Port int
	Rate       units.Rate // in wall time
	Packets    int64
	Delayed    int64 // times that it held frames back
	Dropped    int64
}

// A tenth above the rate, and a burst of 16 KiB at 100 Mb/s to 512 KiB at 1 Gb/s and more, that is
// about 1.3 ms. With a burst of one packet tbf delivers too little: 0.945 of 100 Mb/s, 0.587 of
// 1 Gb/s (own measurement). A burst passes without delay, so tbf is no model of a link.
const (
	margin   = 1.1
	burst    = 0.0013 // seconds
	burstMin = 16 << 10
	burstMax = 512 << 10
	queue    = 4 << 20 // bytes that may wait behind the burst
	psched   = 64      // ns, the kernel's unit of a shaper's times (pkt_sched.h)
)

// Limit is the rate limit of a link, in wall time.
type Limit struct {
	Rate     units.Rate // in the model
	Dilation float64
	// Frame is the longest frame on the wire, in bytes, Packet the size that it is
	// declared to have in the model: the shaper counts the former.
	Frame, Packet int
	// Exact says that no machine paces: the shaper is the link, and has its rate.
	Exact bool
}

// wireRate returns what the shaper of the link lets through, margin included.
func (l Limit) wireRate() units.Rate {
	longer := max(1, float64(l.Frame)/float64(l.Packet))
	if l.Exact {
		return units.Rate(math.Ceil(float64(l.Rate) / l.Dilation))
	}
	return units.Rate(math.Ceil(float64(l.Rate) / l.Dilation * margin * longer))
}

// Set puts a shaper on the interface with the given index, in the network
// namespace of h, or changes the one that is there.
func Set(h *netlink.Handle, index int, l Limit) error {
	perSecond := max(1, uint64(l.wireRate())/8)
	size := min(max(burst*float64(perSecond), burstMin, 2*float64(l.Frame)), burstMax)
	ticks := size / float64(perSecond) * 1e9 / psched
	tbf := &netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: index, Parent: netlink.HANDLE_ROOT, Handle: netlink.MakeHandle(1, 0)},
		Rate:       perSecond, Limit: queue, Buffer: uint32(min(ticks, math.MaxUint32)),
	}
	if err := h.QdiscReplace(tbf); err != nil {
		return fmt.Errorf("shape to %v with tbf: %w", l.wireRate(), err)
	}
	return nil
}

// Read returns the statistics of a node's shapers. indices are those of the interfaces
// of its ports, in the network namespace of h.
func Read(h *netlink.Handle, node int, indices []int) ([]Shaped, error) {
	found, err := h.QdiscList(nil)
	if err != nil {
		return nil, fmt.Errorf("read the shapers: %w", err)
	}
	ports := map[int]int{}
	for port, index := range indices {
		ports[index] = port
	}
	var list []Shaped
	for _, q := range found {
		tbf, ok := q.(*netlink.Tbf)
		port, ours := ports[q.Attrs().LinkIndex]
		if !ok || !ours || tbf.Statistics == nil {
			continue
		}
		one := Shaped{Node: node, Port: port, Rate: units.Rate(tbf.Rate * 8)}
		if b := tbf.Statistics.Basic; b != nil {
			one.Packets = int64(b.Packets)
		}
		if q := tbf.Statistics.Queue; q != nil {
			one.Delayed, one.Dropped = int64(q.Overlimits), int64(q.Drops)
		}
		list = append(list, one)
	}
	return list, nil
}
