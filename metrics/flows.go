package metrics

import "github.com/csiglab/csiglab/units"

// Flow is both halves of a flow.
type Flow struct {
	Info     FlowInfo
	Sender   SenderTotals
	Receiver ReceiverTotals
}

// Flows joins what the two ends of each flow left. infos are by flow id. The flows of
// programs have no beginning and end that is known.
func Flows(infos []FlowInfo, nodes []NodeTotals) []Flow {
	flows := make([]Flow, len(infos))
	for i, info := range infos {
		flows[i].Info = info
	}
	sent, received := make([]bool, len(infos)), make([]bool, len(infos))
	for _, n := range nodes {
		for i := range n.Senders {
			s := &n.Senders[i]
			if f := &flows[s.Flow].Sender; sent[s.Flow] {
				f.Join(s)
			} else {
				*f, sent[s.Flow] = *s, true
			}
		}
		for i := range n.Receivers {
			r := &n.Receivers[i]
			if f := &flows[r.Flow].Receiver; received[r.Flow] {
				f.Join(r)
			} else {
				*f, received[r.Flow] = *r, true
			}
		}
	}
	return flows
}

// Join adds what the fluid network has of a flow of which the host has packets. It has only the
// fields that have a meaning without packets.
func (s *SenderTotals) Join(fluid *SenderTotals) {
	if s.Start == units.Never {
		s.Start, s.Done = fluid.Start, fluid.Done
	} else {
		s.Start, s.Done = min(s.Start, fluid.Start), max(s.Done, fluid.Done)
	}
	s.PayloadBytes += fluid.PayloadBytes
}

// Join is that of SenderTotals.
func (r *ReceiverTotals) Join(fluid *ReceiverTotals) {
	if r.DeliveredWhole == 0 {
		r.Done = fluid.Done
	} else {
		r.Done = max(r.Done, fluid.Done)
	}
	r.PayloadBytes += fluid.PayloadBytes
	r.MeasuredWire += fluid.MeasuredWire
	r.MeasuredPayload += fluid.MeasuredPayload
}
