package runfolder

import (
	"fmt"
	"iter"
	"path/filepath"
)

// What folders of schema 2 have, and how it becomes what readers of schema 3 get. Tables
// of schema 2 have numbers where schema 3 has names too; the names are the manifest's.
// Tiers and directions of ports are not in these folders and stay empty.

// signalsOfSchema2 are the names of the numbers in column type of signals.parquet.
var signalsOfSchema2 = []string{"abw", "abw-c", "delay", "nqd"}

type portRow2 struct {
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

func (r *portRow2) row(of func(variant string) *names) PortRow {
	n := of(r.Variant)
	p := n.port(r.Node, r.Port)
	return PortRow{
		r.Variant, r.Seed, r.Node, r.NodeName, r.Port, p.Name, p.peer, p.Tier, p.Direction, p.RateBPS,
		r.StartUS, r.TxPackets, r.TxBytes, r.Marked, r.Trimmed, r.Dropped, r.QueueMax, r.QueueByteNS, nil, nil,
	}
}

type flowRow2 struct {
	Variant      string  `parquet:"variant,dict"`
	Seed         uint64  `parquet:"seed"`
	Flow         int32   `parquet:"flow"`
	FlowName     string  `parquet:"flow_name,dict"`
	StartUS      float64 `parquet:"start_us"`
	Packets      int64   `parquet:"packets"`
	WireBytes    int64   `parquet:"wire_bytes"`
	PayloadBytes int64   `parquet:"payload_bytes"`
}

func (r *flowRow2) row(of func(variant string) *names) FlowRow {
	f := of(r.Variant).flows[r.Flow]
	return FlowRow{r.Variant, r.Seed, r.Flow, r.FlowName, f.src, f.dst, r.StartUS, r.Packets, r.WireBytes, r.PayloadBytes}
}

type ccRow2 struct {
	Variant    string           `parquet:"variant,dict"`
	Seed       uint64           `parquet:"seed"`
	Flow       int32            `parquet:"flow"`
	FlowName   string           `parquet:"flow_name,dict"`
	StartUS    float64          `parquet:"start_us"`
	Acks       int64            `parquet:"acks"`
	DelaySumUS float64          `parquet:"delay_sum_us"`
	Actions    map[string]int64 `parquet:"actions" parquet-key:",dict"`
	Cwnd       int64            `parquet:"cwnd_bytes"`
	BaseRTTUS  float64          `parquet:"base_rtt_us"`
}

func (r *ccRow2) row(of func(variant string) *names) CCRow {
	f := of(r.Variant).flows[r.Flow]
	return CCRow{r.Variant, r.Seed, r.Flow, r.FlowName, f.src, f.dst, r.StartUS, r.Acks, r.DelaySumUS, r.Actions, r.Cwnd, r.BaseRTTUS, nil, nil, nil, "", "", nil}
}

type signalRow2 struct {
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

func (r *signalRow2) row(of func(variant string) *names) SignalRow {
	n := of(r.Variant)
	f, l := n.flows[r.Flow], n.locator(uint32(r.Locator))
	return SignalRow{
		r.Variant, r.Seed, r.Flow, r.FlowName, f.src, f.dst, n.signal(uint8(r.Type)), "", r.Locator,
		l.shared, l.node, l.nodeName, l.port, l.portName, l.peerName, l.tier, l.direction,
		r.StartUS, r.Samples, r.PointSum, r.PointMax, r.PointMin, nil, nil, nil, nil, "", "", nil,
	}
}

type phaseRow2 struct {
	Variant          string   `parquet:"variant,dict"`
	Seed             uint64   `parquet:"seed"`
	Job              int32    `parquet:"job"`
	Flow             int32    `parquet:"flow"`
	FlowName         string   `parquet:"flow_name,dict"`
	StartUS          *float64 `parquet:"start_us"`
	SenderDoneUS     *float64 `parquet:"sender_done_us"`
	ReceiverDoneUS   *float64 `parquet:"receiver_done_us"`
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

func (r *phaseRow2) row(of func(variant string) *names) PhaseRow {
	f := of(r.Variant).flows[r.Flow]
	return PhaseRow{
		r.Variant, r.Seed, r.Job, r.Flow, r.FlowName, f.src, f.dst, r.StartUS, r.SenderDoneUS, r.ReceiverDoneUS,
		r.NewPackets, r.Retransmitted, r.AcksReceived, r.NacksReceived, r.Timeouts, r.Samples, r.FreshSamples, r.Untouched,
		r.DeliveredWhole, r.Duplicates, r.DeliveredTrimmed, r.PayloadBytes, r.BaseRTTUS, r.Cwnd,
	}
}

// upgrade fills in what a manifest of schema 2 lacks and its other keys determine. Its
// Schema stays.
func (m *Manifest) upgrade() {
	if m.Schema != 2 {
		return
	}
	m.Signals = signalsOfSchema2
	namePorts(m.Ports, m.Nodes)
	for i := range m.Variants {
		v := &m.Variants[i]
		namePorts(v.Ports, m.NodesOf(v.Name))
	}
}

// namePorts names the ports of a fabric as schema 3 does.
func namePorts(ports []Port, nodes []Node) {
	names := make(map[int32]string, len(nodes))
	for _, n := range nodes {
		names[n.Node] = n.Name
	}
	links := make(map[[2]int32]int, len(ports)) // from a node to a peer
	for i := range ports {
		links[[2]int32{ports[i].Node, ports[i].Peer}]++
	}
	for i := range ports {
		p := &ports[i]
		p.Name = names[p.Node] + "-" + names[p.Peer]
		if links[[2]int32{p.Node, p.Peer}] > 1 {
			p.Name = fmt.Sprintf("%s:%d-%s", names[p.Node], p.Port, names[p.Peer])
		}
	}
}

// older is a row of schema 2 that becomes a row of type T. of returns the names of a
// variant.
type older[T, Old any] interface {
	*Old
	row(of func(variant string) *names) T
}

// readRows returns the rows of a table that has rows of type Old in folders of schema 2.
func readRows[T, Old any, P older[T, Old]](f *Folder, table string) iter.Seq2[T, error] {
	if f.Manifest.Schema != 2 {
		return readTable[T](f, table)
	}
	return func(yield func(T, error) bool) {
		variants := map[string]*names{}
		var used *names
		of := func(variant string) *names {
			used = variants[variant]
			if used == nil {
				used = &names{lookup: newLookup(&f.Manifest, variant), variant: variant}
				variants[variant] = used
			}
			return used
		}
		for old, err := range readTable[Old](f, table) {
			var row T
			if err == nil {
				if row = P(&old).row(of); used.err != nil {
					err = fmt.Errorf("read %s: %w: %w", filepath.Join(f.Dir, tableFileName(table)), ErrDamaged, used.err)
				}
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}
