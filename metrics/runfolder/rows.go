package runfolder

import (
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
)

// Names of the tables; the file of a table is its name with ".parquet".
const (
	tablePorts      = "ports"
	tableFlows      = "flows"
	tableSignals    = "signals"
	tableCC         = "cc"
	tableMetrics    = "metrics"
	tablePhases     = "phases"
	tableClasses    = "classes"
	tableOperations = "operations"
	tableInstances  = "instances"
)

// PortRow is a row of ports.parquet: a metrics.PortWindow, and what the manifest says of
// the port.
type PortRow struct {
	Variant     string  `parquet:"variant,dict"`
	Seed        uint64  `parquet:"seed"`
	Node        int32   `parquet:"node"`
	NodeName    string  `parquet:"node_name,dict"`
	Port        int32   `parquet:"port"`
	PortName    string  `parquet:"port_name,dict"`
	PeerName    string  `parquet:"peer_name,dict"`
	Tier        string  `parquet:"tier,dict"`
	Direction   string  `parquet:"direction,dict"`
	RateBPS     int64   `parquet:"rate_bps,dict"`
	StartUS     float64 `parquet:"start_us"`
	TxPackets   int64   `parquet:"tx_packets"`
	TxBytes     int64   `parquet:"tx_bytes"`
	Marked      int64   `parquet:"marked"`
	Trimmed     int64   `parquet:"trimmed"`
	Dropped     int64   `parquet:"dropped"`
	QueueMax    int64   `parquet:"queue_max_bytes"`
	QueueByteNS int64   `parquet:"queue_byte_ns"`
	BusyPS      *int64  `parquet:"busy_ps,optional"`     // never nil
	ABWBPS      *int64  `parquet:"abw_min_bps,optional"` // nil of a port without a meter
}

// BusyUS returns how long the line was busy in the window.
func (r *PortRow) BusyUS() float64 {
	if r.BusyPS == nil { // null in a damaged table
		return 0
	}
	return max(0, float64(*r.BusyPS)/1e6)
}

// ClassRow is a row of classes.parquet: a metrics.ClassTotals, without its distributions.
type ClassRow struct {
	Variant         string  `parquet:"variant,dict"`
	Seed            uint64  `parquet:"seed"`
	Node            int32   `parquet:"node"`
	NodeName        string  `parquet:"node_name,dict"`
	Port            int32   `parquet:"port"`
	PortName        string  `parquet:"port_name,dict"`
	Class           int32   `parquet:"class"`
	ClassName       string  `parquet:"class_name,dict"`
	TxPackets       int64   `parquet:"tx_packets"`
	TxBytes         int64   `parquet:"tx_bytes"`
	Marked          int64   `parquet:"marked"`
	Trimmed         int64   `parquet:"trimmed"`
	Dropped         int64   `parquet:"dropped"`
	QueueMax        int64   `parquet:"queue_max_bytes"`
	PausesReceived  int64   `parquet:"pauses_received"`
	PausesSent      int64   `parquet:"pauses_sent"`
	PausedUS        float64 `parquet:"paused_us"`
	HeadroomMax     int64   `parquet:"headroom_max_bytes"`
	HeadroomDropped int64   `parquet:"headroom_dropped"`
}

// FlowRow is a row of flows.parquet: a metrics.FlowWindow.
type FlowRow struct {
	Variant      string  `parquet:"variant,dict"`
	Seed         uint64  `parquet:"seed"`
	Flow         int32   `parquet:"flow"`
	FlowName     string  `parquet:"flow_name,dict"`
	SrcName      string  `parquet:"src_name,dict"`
	DstName      string  `parquet:"dst_name,dict"`
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
	SrcName    string           `parquet:"src_name,dict"`
	DstName    string           `parquet:"dst_name,dict"`
	StartUS    float64          `parquet:"start_us"`
	Acks       int64            `parquet:"acks"`
	DelaySumUS float64          `parquet:"delay_sum_us"`
	Actions    map[string]int64 `parquet:"actions" parquet-key:",dict"` // ACKs by action; those without any are left out
	Cwnd       int64            `parquet:"cwnd_bytes"`
	BaseRTTUS  float64          `parquet:"base_rtt_us"`
	PacingBPS  *int64           `parquet:"pacing_bps,optional"` // nil of a flow that is not paced
	Job        *int32           `parquet:"job,optional"`        // of a connection of a job; nil otherwise
	Step       *int32           `parquet:"step,optional"`       // of the message that the row is about, from 1
	Phase      string           `parquet:"phase,dict,optional"`
	Collective string           `parquet:"collective,dict,optional"`
	Group      *int32           `parquet:"group,optional"`
}

// SignalRow is a row of signals.parquet: a metrics.SignalWindow, and the switch port
// that its locator stands for. The points are in the signal type's unit. Of a locator
// that several ports share, the row has what all of them have in common; the rest is
// nil or "", which is null in the file.
type SignalRow struct {
	Variant    string  `parquet:"variant,dict"`
	Seed       uint64  `parquet:"seed"`
	Flow       int32   `parquet:"flow"`
	FlowName   string  `parquet:"flow_name,dict"`
	SrcName    string  `parquet:"src_name,dict"`
	DstName    string  `parquet:"dst_name,dict"`
	Type       string  `parquet:"type,dict"`            // name of the signal, such as delay
	Format     string  `parquet:"format,dict,optional"` // of the tags
	Locator    int32   `parquet:"locator"`
	Shared     int32   `parquet:"shared"` // ports that have the locator; 0: none has, as of locator 0, which no hop has written
	Node       *int32  `parquet:"node,optional"`
	NodeName   string  `parquet:"node_name,dict,optional"`
	Port       *int32  `parquet:"port,optional"`
	PortName   string  `parquet:"port_name,dict,optional"`
	PeerName   string  `parquet:"peer_name,dict,optional"`
	Tier       string  `parquet:"tier,dict,optional"`
	Direction  string  `parquet:"direction,dict,optional"`
	StartUS    float64 `parquet:"start_us"`
	Samples    int64   `parquet:"samples"`
	PointSum   int64   `parquet:"point_sum"`
	PointMax   int64   `parquet:"point_max"`
	PointMin   int64   `parquet:"point_min"`
	LowSum     *int64  `parquet:"low_sum,optional"`  // never nil
	HighSum    *int64  `parquet:"high_sum,optional"` // nil where the code of a sample has no upper end
	Job        *int32  `parquet:"job,optional"`      // of a connection of a job; nil otherwise
	Step       *int32  `parquet:"step,optional"`     // of the message that the row is about, from 1
	Phase      string  `parquet:"phase,dict,optional"`
	Collective string  `parquet:"collective,dict,optional"`
	Group      *int32  `parquet:"group,optional"`
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
	SrcName          string   `parquet:"src_name,dict"`
	DstName          string   `parquet:"dst_name,dict"`
	StartUS          *float64 `parquet:"start_us"`
	SenderDoneUS     *float64 `parquet:"sender_done_us"`   // arrival of the ACK that completes it
	ReceiverDoneUS   *float64 `parquet:"receiver_done_us"` // last byte received
	NewPackets       int64    `parquet:"new_packets"`
	Retransmitted    int64    `parquet:"retransmitted"`
	AcksReceived     int64    `parquet:"acks_received"`
	NacksReceived    int64    `parquet:"nacks_received"`
	Timeouts         int64    `parquet:"timeouts"`
	Samples          int64    `parquet:"samples"`
	FreshSamples     int64    `parquet:"samples_fresh"`
	Untouched        int64    `parquet:"samples_untouched"`
	DeliveredWhole   int64    `parquet:"delivered_whole"`
	Duplicates       int64    `parquet:"duplicates"`
	DeliveredTrimmed int64    `parquet:"delivered_trimmed"`
	PayloadBytes     int64    `parquet:"payload_bytes"`
	BaseRTTUS        float64  `parquet:"base_rtt_us"`
	Cwnd             int64    `parquet:"cwnd_bytes"`
}

// MetricRow is a row of metrics.parquet: one metric of one run, a metrics.Value. Values
// are finite.
type MetricRow struct {
	Variant string  `parquet:"variant,dict"`
	Seed    uint64  `parquet:"seed"`
	Metric  string  `parquet:"metric,dict"`
	Subject *string `parquet:"subject"` // nil: the whole run
	Name    string  `parquet:"name"`
	Value   float64 `parquet:"value"`
}

// recordTables are the tables of records, in the order in which a batch is written.
// To add one, write its row, its name, its entry here, and, beside the row, its
// reader (as Folder.Ports). The table of phases is none of them: a transfer has one
// row, made of the totals of its two ends when the run ends.
var recordTables = []recordTable{
	tableOf[PortRow]{tablePorts, func(b *metrics.Batch, add func(PortRow), n *names) {
		shared := make(pointees, 0, 2*len(b.Ports))
		for i := range b.Ports {
			w := &b.Ports[i]
			p := n.port(w.Node, w.Port)
			abw := w.ABW
			if abw != metrics.Absent {
				abw *= 8
			}
			add(PortRow{n.variant, n.seed, w.Node, n.node(w.Node), w.Port, p.Name, p.peer, p.Tier, p.Direction, p.RateBPS, us(w.Start), w.TxPackets, w.TxBytes, w.Marked, w.Trimmed, w.Dropped, w.QueueMax, w.QueueByteNS, shared.of(int64(w.Busy)), shared.of(abw)})
		}
	}},
	tableOf[FlowRow]{tableFlows, func(b *metrics.Batch, add func(FlowRow), n *names) {
		for i := range b.Flows {
			w := &b.Flows[i]
			f := n.flow(b.Node, w.Flow)
			add(FlowRow{n.variant, n.seed, w.Flow, f.Name, f.src, f.dst, us(w.Start), w.Packets, w.WireBytes, w.PayloadBytes})
		}
	}},
	tableOf[SignalRow]{tableSignals, func(batch *metrics.Batch, add func(SignalRow), n *names) {
		shared := make(pointees, 0, 2*len(batch.Signals))
		for i := range batch.Signals {
			w := &batch.Signals[i]
			f, l := n.flow(batch.Node, w.Flow), n.locator(w.Locator)
			b := n.belongs(f.Flow, w.Tag)
			add(SignalRow{n.variant, n.seed, w.Flow, f.Name, f.src, f.dst, n.signal(w.Type), n.formats.Format(w.Locator), int32(w.Locator), l.shared, l.node, l.nodeName, l.port, l.portName, l.peerName, l.tier, l.direction, us(w.Start), w.Samples, w.PointSum, w.PointMax, w.PointMin, shared.of(w.LowSum), shared.of(w.HighSum), b.job, b.step, b.phase, b.collective, b.group})
		}
	}},
	tableOf[CCRow]{tableCC, func(batch *metrics.Batch, add func(CCRow), n *names) {
		shared := make(pointees, 0, len(batch.CC))
		for i := range batch.CC {
			w := &batch.CC[i]
			f := n.flow(batch.Node, w.Flow)
			b := n.belongs(f.Flow, w.Tag)
			actions := make(map[string]int64, len(w.Actions))
			for _, a := range w.Actions {
				actions[a.Name] = a.Packets
			}
			pacing := int64(metrics.Absent)
			if w.Pacing > 0 {
				pacing = int64(w.Pacing)
			}
			add(CCRow{n.variant, n.seed, w.Flow, f.Name, f.src, f.dst, us(w.Start), w.Acks, w.Delay.Microseconds(), actions, w.Cwnd, w.BaseRTT.Microseconds(), shared.of(pacing), b.job, b.step, b.phase, b.collective, b.group})
		}
	}},
	tableOf[ClassRow]{tableClasses, func(b *metrics.Batch, add func(ClassRow), n *names) {
		for i := range b.Classes {
			t := &b.Classes[i]
			p := n.port(t.Node, t.Port)
			add(ClassRow{n.variant, n.seed, t.Node, n.node(t.Node), t.Port, p.Name, t.Class, t.Name, t.TxPackets, t.TxBytes, t.MarkedPackets, t.TrimmedPackets, t.DroppedPackets, t.QueueMax, t.PausesReceived, t.PausesSent, t.Paused.Microseconds(), t.HeadroomMax, t.HeadroomDropped})
		}
	}},
	tableOf[EventRow]{tableEvents, func(b *metrics.Batch, add func(EventRow), n *names) {
		for i := range b.Events {
			add(eventRow(&b.Events[i], b.Node, n))
		}
	}},
	tableOf[OperationRow]{tableOperations, operationRows},
	tableOf[InstanceRow]{tableInstances, instanceRows},
	tableOf[TruthRow]{tableTruth, truthRows},
	tableOf[MetricRow]{tableMetrics, func(b *metrics.Batch, add func(MetricRow), n *names) {
		for i := range b.Values {
			v := &b.Values[i]
			row := MetricRow{n.variant, n.seed, v.Metric, nil, v.Name, v.Value}
			if subject := v.Subject; subject != "" {
				row.Subject = &subject
			}
			add(row)
		}
	}},
}

// pointees are the values that the pointers of rows of one batch point to. Its capacity is
// their number.
type pointees []int64

// of returns a pointer to a value, nil of metrics.Absent.
func (p *pointees) of(value int64) *int64 {
	if value == metrics.Absent {
		return nil
	}
	*p = append(*p, value)
	return &(*p)[len(*p)-1]
}

// phaseRows returns a row for each transfer of which an end has totals, in the order
// of flows.
func phaseRows(n *names, nodes []metrics.NodeTotals, flows []Flow) []PhaseRow {
	senders, receivers := map[int32]*metrics.SenderTotals{}, map[int32]*metrics.ReceiverTotals{}
	for i := range nodes {
		for k := range nodes[i].Senders {
			s := &nodes[i].Senders[k]
			n.flow(nodes[i].Node, s.Flow)
			senders[s.Flow] = s
		}
		for k := range nodes[i].Receivers {
			r := &nodes[i].Receivers[k]
			n.flow(nodes[i].Node, r.Flow)
			receivers[r.Flow] = r
		}
	}
	var rows []PhaseRow
	for _, f := range flows {
		s, d := senders[f.Flow], receivers[f.Flow]
		if s == nil && d == nil {
			continue
		}
		p := PhaseRow{Variant: n.variant, Seed: n.seed, Job: f.Job, Flow: f.Flow, FlowName: f.Name, SrcName: n.nodes[f.Src], DstName: n.nodes[f.Dst]}
		if s != nil {
			p.StartUS, p.SenderDoneUS = instant(s.Start), instant(s.Done)
			p.NewPackets, p.Retransmitted = s.NewPackets, s.Retransmitted
			p.AcksReceived, p.NacksReceived, p.Timeouts = s.AcksReceived, s.NacksReceived, s.Timeouts
			p.Samples, p.FreshSamples, p.Untouched = s.Samples, s.FreshSamples, s.Untouched
			p.BaseRTTUS, p.Cwnd = s.BaseRTT.Microseconds(), s.Cwnd
		}
		if d != nil {
			p.ReceiverDoneUS = instant(d.Done)
			p.DeliveredWhole, p.Duplicates, p.DeliveredTrimmed, p.PayloadBytes = d.DeliveredWhole, d.Duplicates, d.DeliveredTrimmed, d.PayloadBytes
		}
		rows = append(rows, p)
	}
	return rows
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
