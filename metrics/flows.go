package metrics

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
	for _, n := range nodes {
		for _, s := range n.Senders {
			flows[s.Flow].Sender = s
		}
		for _, r := range n.Receivers {
			flows[r.Flow].Receiver = r
		}
	}
	return flows
}
