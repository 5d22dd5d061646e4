package metrics

import "github.com/csiglab/csiglab/units"

// PortWindow is what one egress port did in one telemetry window.
type PortWindow struct {
	_         Table      `name:"ports" schema:"PortRow" doc:"A row is what one egress port did in one window. Every switch and every NIC emits it when its window closes. Ports of switches with CSIG have a meter; NICs have none."`
	Node      int32      `column:"node" doc:"number of the node"`
	_         Column     `column:"node_name,dict" names:"Node.Name" doc:"its name"`
	Port      int32      `column:"port" doc:"number of the port"`
	_         Column     `column:"port_name,dict" names:"Port.Name" doc:"its name: 'tor0-agg0' is the port of tor0 that leads to agg0; 'tor0:1-agg0' is its port 1 where several links join the two"`
	_         Column     `column:"peer_name,dict" names:"Port.Peer" doc:"node that it leads to"`
	_         Column     `column:"tier,dict" names:"Port.Tier" doc:"of the node: 'host', 'tor', 'agg', 'core', or 'other' for a switch outside of a tree"`
	_         Column     `column:"direction,dict" names:"Port.Direction" doc:"of the port: 'down' leads to a lower tier, 'up' to a higher one or the same"`
	_         Column     `column:"rate_bps,dict" names:"Port.Rate" unit:"bits/s" doc:"of the link"`
	Start     units.Time `column:"start_us" unit:"us" doc:"beginning of the window"`
	_         Column     `column:"window_us,optional" names:"Window" unit:"us" doc:"length of the window; null: 'intervalUs' of the manifest, of all but old windows of labs, which [become longer](#labs)"`
	TxPackets int64      `column:"tx_packets" unit:"packets" doc:"whose transmission began in the window"`
	TxBytes   int64      `column:"tx_bytes" unit:"bytes" doc:"of these"`
	Marked    int64      `column:"marked" unit:"packets" doc:"of these, marked CE"`
	Trimmed   int64      `column:"trimmed" unit:"packets" doc:"trimmed on their way into the queue"`
	Dropped   int64      `column:"dropped" unit:"packets" doc:"dropped there"`
	QueueMax  int64      `column:"queue_max_bytes" unit:"bytes" doc:"deepest data queue"`
	// QueueByteNS divided by the interval is the mean depth.
	QueueByteNS int64 `column:"queue_byte_ns" unit:"byte·ns" doc:"integral of the data queue's depth; over the interval it is the mean depth"`
	// The Busy of all windows of a port add up to the time that it was busy.
	Busy units.Duration `column:"busy_ps,optional" unit:"ps" doc:"of the window in which the port was sending anything, line overhead included; over the interval it is the utilisation. A transmission that goes on after the window is split at its end. Never null"`
	// ABW is in byte/s; Absent of a port without a meter.
	ABW int64 `column:"abw_min_bps,optional" times:"8" unit:"bits/s" doc:"lowest available bandwidth in the window, as the port's own [meter](references.md#available-bandwidth) writes it into tags of type 'abw', before quantisation. Null of ports without a meter, which are NICs and all ports of variants without CSIG"`
}

// FlowWindow is what the receiver of one flow got in one telemetry window. It has no Tag: a
// receiver learns from the wire where messages end, but not what they belong to.
type FlowWindow struct {
	_            Table      `name:"flows" schema:"FlowRow" doc:"A row is what the receiver of one flow got in one window. The host where the flow ends emits it; of programs and generators too."`
	Flow         int32      `column:"flow" doc:"number of the flow"`
	_            Column     `column:"flow_name,dict" names:"Flow.Name" doc:"its name"`
	_            Column     `column:"src_name,dict" names:"Flow.Source" doc:"host that sends"`
	_            Column     `column:"dst_name,dict" names:"Flow.Destination" doc:"host that receives"`
	Start        units.Time `column:"start_us" unit:"us" doc:"beginning of the window"`
	_            Column     `column:"window_us,optional" names:"Window" unit:"us" doc:"length of the window; null: 'intervalUs' of the manifest, of all but old windows of labs, which [become longer](#labs)"`
	Packets      int64      `column:"packets" unit:"packets" doc:"data packets received whole, first copies"`
	WireBytes    int64      `column:"wire_bytes" unit:"bytes" doc:"of these"`
	PayloadBytes int64      `column:"payload_bytes" unit:"bytes" doc:"their payload"`
}

// CCWindow is what the congestion controller of one flow did in one telemetry
// window.
type CCWindow struct {
	_       Table          `name:"cc" schema:"CCRow" doc:"A row is what the congestion control of one flow did in one window, by the message that the ACKs belong to. The flow's sender emits it. Flows of programs and generators have none."`
	Flow    int32          `column:"flow" doc:"number of the flow"`
	_       Column         `column:"flow_name,dict" names:"Flow.Name" doc:"its name"`
	_       Column         `column:"src_name,dict" names:"Flow.Source" doc:"host that sends"`
	_       Column         `column:"dst_name,dict" names:"Flow.Destination" doc:"host that receives"`
	Start   units.Time     `column:"start_us" unit:"us" doc:"beginning of the window"`
	_       Column         `column:"window_us,optional" names:"Window" unit:"us" doc:"length of the window; null: 'intervalUs' of the manifest, of all but old windows of labs, which [become longer](#labs)"`
	Acks    int64          `column:"acks" unit:"ACKs" doc:"that reached the sender"`
	Delay   units.Duration `column:"delay_sum_us" unit:"us" doc:"sum over the ACKs of the delay that each was judged by"`
	Actions []Count        `column:"actions" unit:"ACKs" doc:"by the action that CC answered with: a map from its name to their number, without the actions that no ACK got"`
	Cwnd    int64          `column:"cwnd_bytes" unit:"bytes" doc:"window after the last ACK"`
	BaseRTT units.Duration `column:"base_rtt_us" unit:"us" doc:"base RTT after the last ACK"`
	Pacing  units.Rate     `column:"pacing_bps,optional" unit:"bits/s" doc:"pacing rate after the last ACK; null of a flow that is not paced"`
	_       Column         `column:"job,optional" names:"Message.Job" doc:"number of the job, of a connection of a job; null otherwise"`
	_       Column         `column:"step,optional" names:"Message.Step" doc:"of the message that the row is about, from 1; null: none"`
	_       Column         `column:"phase,dict,optional" names:"Message.Phase" doc:"its phase; null: none"`
	_       Column         `column:"collective,dict,optional" names:"Message.Collective" doc:"its collective; null: none"`
	_       Column         `column:"group,optional" names:"Message.Group" doc:"which of the groups of ranks that run the collective; null without"`
	Tag     Tag            // a window of another has a record of its own
}

// SignalWindow is the CSIG samples that one flow's sender got in one telemetry
// window, by signal type and locator.
type SignalWindow struct {
	_        Table      `name:"signals" schema:"SignalRow" doc:"A row is the CSIG samples that one flow got in one window, by signal, locator and message. The flow's sender emits it when their ACKs come; of programs the host that receives, of raw frames the switch or host where the domain ends. Sums and counts of rows add up, so that rows of flows, windows and locators can be merged."`
	Flow     int32      `column:"flow" doc:"number of the flow"`
	_        Column     `column:"flow_name,dict" names:"Flow.Name" doc:"its name"`
	_        Column     `column:"src_name,dict" names:"Flow.Source" doc:"host that sends"`
	_        Column     `column:"dst_name,dict" names:"Flow.Destination" doc:"host that receives"`
	Type     uint8      // csig signal type
	_        Column     `column:"type,dict" names:"Signal" doc:"signal: 'abw', 'abw-c', 'delay' or 'nqd'"`
	_        Column     `column:"format,dict,optional" names:"Locator.Format" doc:"of the tags: 'compact' or 'wide'; null in folders of a csiglab without this column"`
	Locator  uint32     `column:"locator" as:"int32" doc:"as in the tag: which port the signal is from. 65536 is added to those of 'csig.second', which have numbers of their own"`
	_        Column     `column:"shared" names:"Locator.Shared" unit:"ports" doc:"that have this locator. 1: the next columns are that port's. More: the next columns have what all of the ports have in common; the manifest's [locators](run-folder.md#locators) list them. 0: none, of locator 0, which is in a tag that no hop has written"`
	_        Column     `column:"node,optional" names:"Locator.Node" doc:"number of the switch; null: the ports of 'shared' differ, or there is none. So are the next six"`
	_        Column     `column:"node_name,dict,optional" names:"Locator.NodeName" doc:"its name, or null"`
	_        Column     `column:"port,optional" names:"Locator.Port" doc:"number of the port, or null"`
	_        Column     `column:"port_name,dict,optional" names:"Locator.PortName" doc:"its name, as in 'ports.parquet', or null"`
	_        Column     `column:"peer_name,dict,optional" names:"Locator.PeerName" doc:"node that the port leads to, or null"`
	_        Column     `column:"tier,dict,optional" names:"Locator.Tier" doc:"'tor', 'agg', 'core' or 'other', of the switch, or null"`
	_        Column     `column:"direction,dict,optional" names:"Locator.Direction" doc:"'up' or 'down', of the port, or null"`
	Start    units.Time `column:"start_us" unit:"us" doc:"beginning of the window"`
	_        Column     `column:"window_us,optional" names:"Window" unit:"us" doc:"length of the window; null: 'intervalUs' of the manifest, of all but old windows of labs, which [become longer](#labs)"`
	Samples  int64      `column:"samples" unit:"samples"`
	PointSum int64      `column:"point_sum" unit:"the type's" doc:"sum of the decoded values: abw in bytes/s, delay in ns, abw-c and nqd in ppm, the signal of a module in the 'unit' of the manifest's 'moduleSignals'"`
	PointMax int64      `column:"point_max" unit:"the type's" doc:"greatest"`
	PointMin int64      `column:"point_min" unit:"the type's" doc:"least"`
	LowSum   int64      `column:"low_sum,optional" unit:"the type's" doc:"sum of the lower ends of the intervals that the codes stand for; over 'samples' it is the least that the mean of the measured values can be. Never null"`
	HighSum  int64      `column:"high_sum,optional" unit:"the type's" doc:"sum of the upper ends, the most that it can be. Null too if the code of a sample has no upper end: that of the longest delays. Available bandwidth ends at the rate of the fabric's fastest link"` // Absent if the code of a sample has no upper end
	_        Column     `column:"job,optional" names:"Message.Job" doc:"number of the job, of a connection of a job; null otherwise"`
	_        Column     `column:"step,optional" names:"Message.Step" doc:"of the message that the row is about, from 1; null: none"`
	_        Column     `column:"phase,dict,optional" names:"Message.Phase" doc:"its phase; null: none"`
	_        Column     `column:"collective,dict,optional" names:"Message.Collective" doc:"its collective; null: none"`
	_        Column     `column:"group,optional" names:"Message.Group" doc:"which of the groups of ranks that run the collective; null without"`
	Tag      Tag        // samples of another have a record of their own
}

func (w *PortWindow) appendTo(b *Batch)   { b.Ports = append(b.Ports, *w) }
func (w *FlowWindow) appendTo(b *Batch)   { b.Flows = append(b.Flows, *w) }
func (w *SignalWindow) appendTo(b *Batch) { b.Signals = append(b.Signals, *w) }
func (w *CCWindow) appendTo(b *Batch) {
	n := len(b.CC)
	var actions []Count
	if n < cap(b.CC) {
		actions = b.CC[:n+1][n].Actions[:0] // the memory of a record before Reset
	}
	b.CC = append(b.CC, *w)
	b.CC[n].Actions = append(actions, w.Actions...)
}
