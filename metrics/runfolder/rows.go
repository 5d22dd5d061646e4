package runfolder

import (
	"fmt"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
)

// PortRow is a row of ports.parquet: a metrics.PortWindow.
type PortRow struct {
	Variant     string  `parquet:"variant,dict"`
	Seed        uint64  `parquet:"seed"`
	Node        int32   `parquet:"node"`
	NodeName    string  `parquet:"node_name,dict"`
	Port        int32   `parquet:"port"`
	StartUS     float64 `parquet:"start_us"`
	TxPackets   int64   `parquet:"tx_packets"`
	TxBytes     int64   `parquet:"tx_bytes"`
	Marked      int64   `parquet:"marked"`
	Trimmed     int64   `parquet:"trimmed"`
	Dropped     int64   `parquet:"dropped"`
	QueueMax    int64   `parquet:"queue_max_bytes"`
	QueueByteNS int64   `parquet:"queue_byte_ns"`
}

// FlowRow is a row of flows.parquet: a metrics.FlowWindow.
type FlowRow struct {
	Variant      string  `parquet:"variant,dict"`
	Seed         uint64  `parquet:"seed"`
	Flow         int32   `parquet:"flow"`
	FlowName     string  `parquet:"flow_name,dict"`
	StartUS      float64 `parquet:"start_us"`
	Packets      int64   `parquet:"packets"`
	WireBytes    int64   `parquet:"wire_bytes"`
	PayloadBytes int64   `parquet:"payload_bytes"`
}

// CCRow is a row of cc.parquet: a metrics.CCWindow.
type CCRow struct {
	Variant    string           `parquet:"variant,dict"`
	Seed       uint64           `parquet:"seed"`
	Flow       int32            `parquet:"flow"`
	FlowName   string           `parquet:"flow_name,dict"`
	StartUS    float64          `parquet:"start_us"`
	Acks       int64            `parquet:"acks"`
	DelaySumUS float64          `parquet:"delay_sum_us"`
	Actions    map[string]int64 `parquet:"actions" parquet-key:",dict"` // ACKs by action; those without any are left out
	Cwnd       int64            `parquet:"cwnd_bytes"`
	BaseRTTUS  float64          `parquet:"base_rtt_us"`
}

// SignalRow is a row of signals.parquet: a metrics.SignalWindow. The points are
// in the signal type's unit.
type SignalRow struct {
	Variant  string  `parquet:"variant,dict"`
	Seed     uint64  `parquet:"seed"`
	Flow     int32   `parquet:"flow"`
	FlowName string  `parquet:"flow_name,dict"`
	Type     int32   `parquet:"type"`
	Locator  int32   `parquet:"locator"`
	StartUS  float64 `parquet:"start_us"`
	Samples  int64   `parquet:"samples"`
	PointSum int64   `parquet:"point_sum"`
	PointMax int64   `parquet:"point_max"`
	PointMin int64   `parquet:"point_min"`
}

// PhaseRow is a row of phases.parquet: one transfer from the moment it was
// ready to send, with the totals of its two ends. The ends are nil when the run
// ended before them.
type PhaseRow struct {
	Variant          string   `parquet:"variant,dict"`
	Seed             uint64   `parquet:"seed"`
	Job              int32    `parquet:"job"`
	Flow             int32    `parquet:"flow"`
	FlowName         string   `parquet:"flow_name,dict"`
	StartUS          *float64 `parquet:"start_us"`
	SenderDoneUS     *float64 `parquet:"sender_done_us"`   // arrival of the ACK that completes it
	ReceiverDoneUS   *float64 `parquet:"receiver_done_us"` // last byte received
	NewPackets       int64    `parquet:"new_packets"`
	Retransmitted    int64    `parquet:"retransmitted"`
	AcksReceived     int64    `parquet:"acks_received"`
	NacksReceived    int64    `parquet:"nacks_received"`
	Timeouts         int64    `parquet:"timeouts"`
	DeliveredWhole   int64    `parquet:"delivered_whole"`
	Duplicates       int64    `parquet:"duplicates"`
	DeliveredTrimmed int64    `parquet:"delivered_trimmed"`
	PayloadBytes     int64    `parquet:"payload_bytes"`
	BaseRTTUS        float64  `parquet:"base_rtt_us"`
	Cwnd             int64    `parquet:"cwnd_bytes"`
}

// rows are the rows of one run.
type rows struct {
	ports   []PortRow
	flows   []FlowRow
	cc      []CCRow
	signals []SignalRow
	phases  []PhaseRow
}

func newRows(variant string, seed uint64, nodes []metrics.NodeResult, flows []Flow) (*rows, error) {
	names := make(map[int32]string, len(flows))
	for _, f := range flows {
		names[f.Flow] = f.Name
	}
	name := func(node string, flow int32) (string, error) {
		n, ok := names[flow]
		if !ok {
			return "", fmt.Errorf("node %s: flow %d is not in the manifest", node, flow)
		}
		return n, nil
	}
	r := &rows{}
	senders, receivers := map[int32]*metrics.SenderTotals{}, map[int32]*metrics.ReceiverTotals{}
	for i := range nodes {
		n := &nodes[i]
		for _, w := range n.PortWindows {
			r.ports = append(r.ports, PortRow{variant, seed, w.Node, n.Name, w.Port, us(w.Start), w.TxPackets, w.TxBytes, w.Marked, w.Trimmed, w.Dropped, w.QueueMax, w.QueueByteNS})
		}
		for _, w := range n.FlowWindows {
			f, err := name(n.Name, w.Flow)
			if err != nil {
				return nil, err
			}
			r.flows = append(r.flows, FlowRow{variant, seed, w.Flow, f, us(w.Start), w.Packets, w.WireBytes, w.PayloadBytes})
		}
		for _, w := range n.CCWindows {
			f, err := name(n.Name, w.Flow)
			if err != nil {
				return nil, err
			}
			actions := make(map[string]int64, len(w.Actions))
			for _, a := range w.Actions {
				actions[a.Name] = a.Packets
			}
			r.cc = append(r.cc, CCRow{variant, seed, w.Flow, f, us(w.Start), w.Acks, w.Delay.Microseconds(), actions, w.Cwnd, w.BaseRTT.Microseconds()})
		}
		for _, w := range n.SignalWindows {
			f, err := name(n.Name, w.Flow)
			if err != nil {
				return nil, err
			}
			r.signals = append(r.signals, SignalRow{variant, seed, w.Flow, f, int32(w.Type), int32(w.Locator), us(w.Start), w.Samples, w.PointSum, w.PointMax, w.PointMin})
		}
		for k := range n.Senders {
			if _, err := name(n.Name, n.Senders[k].Flow); err != nil {
				return nil, err
			}
			senders[n.Senders[k].Flow] = &n.Senders[k]
		}
		for k := range n.Receivers {
			if _, err := name(n.Name, n.Receivers[k].Flow); err != nil {
				return nil, err
			}
			receivers[n.Receivers[k].Flow] = &n.Receivers[k]
		}
	}
	for _, f := range flows {
		s, d := senders[f.Flow], receivers[f.Flow]
		if s == nil && d == nil {
			continue
		}
		p := PhaseRow{Variant: variant, Seed: seed, Job: f.Job, Flow: f.Flow, FlowName: f.Name}
		if s != nil {
			p.StartUS, p.SenderDoneUS = instant(s.Start), instant(s.Done)
			p.NewPackets, p.Retransmitted = s.NewPackets, s.Retransmitted
			p.AcksReceived, p.NacksReceived, p.Timeouts = s.AcksReceived, s.NacksReceived, s.Timeouts
			p.BaseRTTUS, p.Cwnd = s.BaseRTT.Microseconds(), s.Cwnd
		}
		if d != nil {
			p.ReceiverDoneUS = instant(d.Done)
			p.DeliveredWhole, p.Duplicates, p.DeliveredTrimmed, p.PayloadBytes = d.DeliveredWhole, d.Duplicates, d.DeliveredTrimmed, d.PayloadBytes
		}
		r.phases = append(r.phases, p)
	}
	return r, nil
}

// us returns t in microseconds. Below 2.5 hours it rounds back to the same
// picosecond.
func us(t units.Time) float64 { return units.Duration(t).Microseconds() }

func instant(t units.Time) *float64 {
	if t == units.Never {
		return nil
	}
	v := us(t)
	return &v
}
