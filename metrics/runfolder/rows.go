package runfolder

import (
	"math"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
)

// The rows that readers of tables give have the columns that programs use. What tables have,
// the types of package metrics say.

// Names of the tables with a reader; the file of a table is its name with ".parquet".
const (
	tablePorts      = "ports"
	tableFlows      = "flows"
	tableSignals    = "signals"
	tableCC         = "cc"
	tableMetrics    = "metrics"
	tablePhases     = "phases"
	tableOperations = "operations"
	tableInstances  = "instances"
)

// PortRow is a row of ports.parquet: a metrics.PortWindow, and what the manifest says of
// the port. WindowUS, here and in other rows, is the length of the window, that of the manifest
// where the table has null.
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
	WindowUS    float64 `parquet:"window_us,optional" older:"null"`
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

// Windows returns how many telemetry intervals the window has, at least 1.
func (r *PortRow) Windows(intervalUS float64) int64 {
	if n := r.WindowUS / intervalUS; n > 1 && n < math.MaxInt32 {
		return int64(math.Round(n))
	}
	return 1
}

func (r *PortRow) length() *float64   { return &r.WindowUS }
func (r *FlowRow) length() *float64   { return &r.WindowUS }
func (r *CCRow) length() *float64     { return &r.WindowUS }
func (r *SignalRow) length() *float64 { return &r.WindowUS }

// BusyUS returns how long the line was busy in the window.
func (r *PortRow) BusyUS() float64 {
	if r.BusyPS == nil { // null in a damaged table
		return 0
	}
	return max(0, float64(*r.BusyPS)/1e6)
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
	WindowUS     float64 `parquet:"window_us,optional" older:"null"`
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
	WindowUS   float64          `parquet:"window_us,optional" older:"null"`
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
	WindowUS   float64 `parquet:"window_us,optional" older:"null"`
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

// transfers hands on each transfer of which an end has totals, in the order of flows and at
// most chunkRows at a time. A batch is take's until it returns.
func transfers(n *names, nodes []metrics.NodeTotals, flows []Flow, take func(*metrics.Batch) error) error {
	senders, receivers := map[int32]*metrics.SenderTotals{}, map[int32]*metrics.ReceiverTotals{}
	for i := range nodes {
		for k := range nodes[i].Senders {
			s := &nodes[i].Senders[k]
			n.flow(nodes[i].Node, s.Flow)
			if packets := senders[s.Flow]; packets != nil {
				both := *packets
				both.Join(s)
				s = &both
			}
			senders[s.Flow] = s
		}
		for k := range nodes[i].Receivers {
			r := &nodes[i].Receivers[k]
			n.flow(nodes[i].Node, r.Flow)
			if packets := receivers[r.Flow]; packets != nil {
				both := *packets
				both.Join(r)
				r = &both
			}
			receivers[r.Flow] = r
		}
	}
	b := &metrics.Batch{}
	for _, f := range flows {
		s, d := senders[f.Flow], receivers[f.Flow]
		if s == nil && d == nil {
			continue
		}
		t := metrics.Transfer{Job: f.Job, Flow: f.Flow, Start: units.Never, SenderDone: units.Never, ReceiverDone: units.Never}
		if s != nil {
			t.Start, t.SenderDone = s.Start, s.Done
			t.NewPackets, t.Retransmitted = s.NewPackets, s.Retransmitted
			t.AcksReceived, t.NacksReceived, t.Timeouts = s.AcksReceived, s.NacksReceived, s.Timeouts
			t.Samples, t.FreshSamples, t.Untouched = s.Samples, s.FreshSamples, s.Untouched
			t.BaseRTT, t.Cwnd = s.BaseRTT, s.Cwnd
		}
		if d != nil {
			t.ReceiverDone = d.Done
			t.DeliveredWhole, t.Duplicates, t.DeliveredTrimmed, t.PayloadBytes = d.DeliveredWhole, d.Duplicates, d.DeliveredTrimmed, d.PayloadBytes
		}
		b.Emit(&t)
		if b.Len() == chunkRows {
			if err := take(b); err != nil {
				return err
			}
			b.Reset()
		}
	}
	return take(b)
}
