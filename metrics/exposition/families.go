// Package exposition has the one table of metric families that csiglab exposes to
// Prometheus, live from the nodes of a run and from run folders, and a Set, which counts
// records into them and writes Prometheus' text format. It is no server: package
// nodeserver of nodes/emu serves a Set on a socket, metrics/promserver loads run folders.
//
// Families follow Prometheus' conventions for names: base units (seconds, bytes, ratios),
// _total for counters. What they count is bounded: a run has as many series as it has
// ports, groups of flows, and locators that samples named.
package exposition

import (
	"math"
	"slices"
)

// Type is the type of a family.
type Type uint8

// Types of family.
const (
	Gauge Type = iota
	Counter
	Histogram
	Info // a gauge that is 1 and has its content in labels
)

var typeNames = [...]string{"gauge", "counter", "histogram", "info"}

// String returns the name of the type in OpenMetrics.
func (t Type) String() string { return typeNames[t] }

// Family is a metric family. It does not change.
type Family struct {
	Name    string // with _total where it is a counter
	Help    string // one sentence or two, without line breaks
	Unit    string // the end of Name without _total, such as bytes; "" without a unit
	Type    Type
	Labels  []string  // besides CommonLabels and, of a histogram, le
	Buckets []float64 // upper bounds of a histogram, ascending, without +Inf
	// Live reports whether the nodes of a run that goes on serve it. The others are known
	// at the end of a run: only run folders have them.
	Live bool
}

// CommonLabels are the labels of every series, before those of its family. run is the id of
// a lab or the name of a run folder, stretch by how much model time is stretched, 1 in a
// lab. What is scraped from a lab has the label instance too, the name of the node that
// served it: several nodes serve a part of one job each.
var CommonLabels = []string{"run", "variant", "seed", "stretch"}

// MostFlows is up to how many flows a run has series by flow. In a larger run the label
// flow is empty, and a series is about all flows of a job.
const MostFlows = 16

// MostRacks is up to how many racks are told apart by PathSamples.
const MostRacks = 32

// Names of the families.
const (
	RunInfo    = "csig_run_info"
	RunValid   = "csig_run_valid"
	RunDropped = "csig_run_dropped_records_total"
	RunDilated = "csig_run_dilation_ratio"
	RunDelay   = "csig_run_smallest_delay_seconds"
	RunEnd     = "csig_run_end_timestamp_seconds"
	RunMetric  = "csig_run_metric"
	RunFault   = "csig_run_fault_timestamp_seconds"

	PortInfo              = "csig_port_info"
	PortRate              = "csig_port_rate_bytes_per_second"
	PortBytes             = "csig_port_transmit_bytes_total"
	PortPackets           = "csig_port_transmit_packets_total"
	PortMarked            = "csig_port_marked_packets_total"
	PortTrimmed           = "csig_port_trimmed_packets_total"
	PortDropped           = "csig_port_dropped_packets_total"
	PortUtilisation       = "csig_port_utilisation_ratio"
	PortAvailable         = "csig_port_available_bytes_per_second"
	PortQueue             = "csig_port_queue_bytes"
	PortQueuePeak         = "csig_port_queue_peak_bytes"
	PortWindowUtilisation = "csig_port_window_utilisation_ratio"
	PortWindowQueue       = "csig_port_window_queue_bytes"

	SignalSamples        = "csig_signal_samples_total"
	SignalAvailable      = "csig_signal_available_bytes_per_second"
	SignalAvailableRatio = "csig_signal_available_ratio"
	SignalDelay          = "csig_signal_delay_seconds"
	SignalQueueRatio     = "csig_signal_queue_ratio"

	PathSamples = "csig_path_samples_total"
	PathValues  = "csig_path_values_total"

	FlowCwnd          = "csig_flow_cwnd_bytes"
	FlowBytes         = "csig_flow_receive_bytes_total"
	FlowRate          = "csig_flow_receive_bytes_per_second"
	FlowDelay         = "csig_flow_delay_seconds"
	FlowAcks          = "csig_flow_acks_total"
	CCActions         = "csig_cc_actions_total"
	FlowRetransmitted = "csig_flow_retransmitted_packets_total"
	FlowTimeouts      = "csig_flow_timeouts_total"

	JobStep          = "csig_job_step"
	JobBegin         = "csig_job_begin_timestamp_seconds"
	JobIteration     = "csig_job_iteration_seconds"
	CollectiveActive = "csig_collective_active_ranks"
	CollectiveTime   = "csig_collective_seconds"

	NodeLateness = "csig_node_lateness_seconds"
	NodeSent     = "csig_node_sent_frames_total"
	NodeReceived = "csig_node_received_frames_total"
	NodeLost     = "csig_node_lost_frames_total"
)

var (
	portLabels   = []string{"node", "port", "tier", "direction"}
	flowLabels   = []string{"job", "flow"}
	signalLabels = []string{"job", "flow", "signal", "bottleneck", "tier"}
	pathLabels   = []string{"source", "destination", "signal", "bottleneck", "tier"}
	nodeLabels   = []string{"node"}
)

// Buckets of the histograms.
var (
	// An idle window is in bucket 0, and one at line rate in none but the last ones.
	utilisations = []float64{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1}
	queues       = []float64{0, 2e3, 4e3, 8e3, 16e3, 32e3, 64e3, 128e3, 256e3, 512e3, 1024e3, 2048e3, 4096e3, 8192e3}
	durations    = decades(-6, 2, 20)
)

// decades returns bounds that grow by the same factor, some of them in each power of ten.
func decades(from, to, each int) (bounds []float64) {
	for i := from * each; i <= to*each; i++ {
		bounds = append(bounds, math.Round(math.Pow(10, float64(i)/float64(each))*1e9)/1e9)
	}
	return bounds
}

// Families is the table of all families, in the order in which they are written.
var Families = []Family{
	{Name: RunInfo, Type: Info, Labels: []string{"experiment", "runtime", "clock", "cc", "lb", "aqm", "csig", "number"}, Live: true,
		Help: "What was run: always 1. number is the variant's place in the experiment, from 1; dashboards give it a colour."},
	{Name: RunValid, Type: Gauge,
		Help: "1 if the run is valid, 0 if it is not."},
	{Name: RunDropped, Type: Counter, Live: true,
		Help: "Records that found no room in a bounded buffer: what other series count lacks them."},
	{Name: RunDilated, Type: Gauge, Unit: "ratio", Live: true,
		Help: "Wall seconds per second of the model, of a run in real time."},
	{Name: RunDelay, Type: Gauge, Unit: "seconds", Live: true,
		Help: "Smallest delay that matters, of the model: of the shortest link, or of a full packet on the fastest one. Events of a run in real time that are late by much of it, times the dilation, spoil the run."},
	{Name: RunEnd, Type: Gauge, Unit: "seconds",
		Help: "When the run ends on the time axis: its length, stretched, after 2000-01-01T00:00:00Z."},
	{Name: RunMetric, Type: Gauge, Labels: []string{"metric", "subject", "unit", "better"},
		Help: "Metrics of the run as summary.json has them, with their names and in their units; of the whole run (subject is empty), of classes of ports, jobs, collectives and groups of flows. better is lower or higher, or empty where neither is."},
	{Name: RunFault, Type: Gauge, Unit: "seconds", Labels: []string{"fault", "kind", "where", "edge"},
		Help: "When a fault of the experiment began (edge is begin) or ended (end) on the time axis; where are the links or nodes that it was at."},

	{Name: PortInfo, Type: Info, Labels: []string{"node", "port", "tier", "direction", "peer"}, Live: true,
		Help: "The node that the port leads to: always 1."},
	{Name: PortRate, Type: Gauge, Unit: "bytes_per_second", Labels: portLabels, Live: true,
		Help: "Rate of the port's line."},
	{Name: PortBytes, Type: Counter, Unit: "bytes", Labels: portLabels, Live: true,
		Help: "Wire bytes of the packets whose transmission has started, without line overhead."},
	{Name: PortPackets, Type: Counter, Unit: "packets", Labels: portLabels, Live: true,
		Help: "Packets whose transmission has started."},
	{Name: PortMarked, Type: Counter, Unit: "packets", Labels: portLabels, Live: true,
		Help: "Packets that the port marked CE."},
	{Name: PortTrimmed, Type: Counter, Unit: "packets", Labels: portLabels, Live: true,
		Help: "Packets that the port trimmed to their headers."},
	{Name: PortDropped, Type: Counter, Unit: "packets", Labels: portLabels, Live: true,
		Help: "Packets that the port dropped."},
	{Name: PortUtilisation, Type: Gauge, Unit: "ratio", Labels: portLabels, Live: true,
		Help: "Share of the latest telemetry window in which the line was busy, line overhead included; 0 if the port has been idle since."},
	{Name: PortAvailable, Type: Gauge, Unit: "bytes_per_second", Labels: portLabels, Live: true,
		Help: "Least available bandwidth that the port's CSIG meter measured in the latest telemetry window; the port's rate if it has been idle since. Ports without a meter have none."},
	{Name: PortQueue, Type: Gauge, Unit: "bytes", Labels: portLabels, Live: true,
		Help: "Mean depth of the data queue in the latest telemetry window."},
	{Name: PortQueuePeak, Type: Gauge, Unit: "bytes", Labels: portLabels, Live: true,
		Help: "Greatest depth of the data queue in the latest telemetry window."},
	{Name: PortWindowUtilisation, Type: Histogram, Unit: "ratio", Labels: portLabels, Buckets: utilisations, Live: true,
		Help: "Telemetry windows by the share in which the line was busy, line overhead included; idle windows count as 0."},
	{Name: PortWindowQueue, Type: Histogram, Unit: "bytes", Labels: portLabels, Buckets: queues, Live: true,
		Help: "Telemetry windows by the greatest depth of the data queue; idle windows count as 0."},

	{Name: SignalSamples, Type: Counter, Unit: "samples", Labels: signalLabels, Live: true,
		Help: "CSIG samples by their signal and by the port that their locator stands for (bottleneck): empty if no hop wrote the tag."},
	{Name: SignalAvailable, Type: Gauge, Unit: "bytes_per_second", Labels: flowLabels, Live: true,
		Help: "Least available bandwidth in the CSIG samples of the latest telemetry window with any."},
	{Name: SignalAvailableRatio, Type: Gauge, Unit: "ratio", Labels: flowLabels, Live: true,
		Help: "Least available share of a link's rate in the CSIG samples of the latest telemetry window with any."},
	{Name: SignalDelay, Type: Gauge, Unit: "seconds", Labels: flowLabels, Live: true,
		Help: "Greatest delay of a hop in the CSIG samples of the latest telemetry window with any."},
	{Name: SignalQueueRatio, Type: Gauge, Unit: "ratio", Labels: flowLabels, Live: true,
		Help: "Greatest normalised queue depth in the CSIG samples of the latest telemetry window with any."},

	{Name: PathSamples, Type: Counter, Unit: "samples", Labels: pathLabels, Live: true,
		Help: "CSIG samples of the traffic from one rack to another, by their signal and by the port that their locator stands for (bottleneck): empty if no hop wrote the tag. A rack is the hosts below one switch; of more than 32 racks several that follow each other are one."},
	{Name: PathValues, Type: Counter, Labels: pathLabels, Live: true,
		Help: "Sum of the values of these samples, in the unit of the signal's gauge. Over their number it is their mean."},

	{Name: FlowCwnd, Type: Gauge, Unit: "bytes", Labels: flowLabels, Live: true,
		Help: "Congestion window after the latest ACK, summed over the flows of a job. In a folder it ends with the last ACK."},
	{Name: FlowBytes, Type: Counter, Unit: "bytes", Labels: flowLabels, Live: true,
		Help: "Payload bytes of distinct packets that the receiver got."},
	{Name: FlowRate, Type: Gauge, Unit: "bytes_per_second", Labels: flowLabels, Live: true,
		Help: "Rate of the payload that the receiver got in the latest telemetry window; 0 if nothing has come since."},
	{Name: FlowDelay, Type: Gauge, Unit: "seconds", Labels: flowLabels, Live: true,
		Help: "Mean delay that the congestion control was fed in the latest telemetry window with ACKs."},
	{Name: FlowAcks, Type: Counter, Unit: "acks", Labels: flowLabels, Live: true,
		Help: "ACKs that the sender got."},
	{Name: CCActions, Type: Counter, Unit: "actions", Labels: []string{"job", "flow", "action"}, Live: true,
		Help: "ACKs by the action that the congestion control answered with."},
	{Name: FlowRetransmitted, Type: Counter, Unit: "packets", Labels: flowLabels,
		Help: "Packets that were sent again."},
	{Name: FlowTimeouts, Type: Counter, Unit: "timeouts", Labels: flowLabels,
		Help: "Timeouts of the sender."},

	{Name: JobStep, Type: Gauge, Unit: "step", Labels: []string{"job"}, Live: true,
		Help: "Step that the job is in: the highest one that has begun; in a lab, of which an operation is complete."},
	{Name: JobBegin, Type: Gauge, Unit: "seconds", Labels: []string{"job", "step", "phase"},
		Help: "When the first rank of the job began a step, or a phase of one, on the time axis; phase is empty for the step."},
	{Name: JobIteration, Type: Histogram, Unit: "seconds", Labels: []string{"job"}, Buckets: durations, Live: true,
		Help: "Durations of a job's steps, of the model. A node of a lab observes each of its ranks; a run folder observes all ranks of a job as one."},
	{Name: CollectiveActive, Type: Gauge, Unit: "ranks", Labels: []string{"job", "collective", "phase"},
		Help: "Ranks that are in the collective."},
	{Name: CollectiveTime, Type: Histogram, Unit: "seconds", Labels: []string{"job", "collective"}, Buckets: durations, Live: true,
		Help: "Durations of collectives, of the model. A node of a lab observes each of its ranks; a run folder observes all ranks of a group as one."},

	{Name: NodeLateness, Type: Gauge, Unit: "seconds", Labels: nodeLabels, Live: true,
		Help: "Greatest time, of the wall, by which the node was late for an event so far, of a run in real time."},
	{Name: NodeSent, Type: Counter, Unit: "frames", Labels: nodeLabels, Live: true,
		Help: "Frames on links that the node has sent, of a run in real time."},
	{Name: NodeReceived, Type: Counter, Unit: "frames", Labels: nodeLabels, Live: true,
		Help: "Frames on links that the node has received, of a run in real time. Frames that were sent and not received are under way or lost."},
	{Name: NodeLost, Type: Counter, Unit: "frames", Labels: nodeLabels,
		Help: "Frames that were sent to the node over links and that it did not receive."},
}

// Of returns the family of a name, nil without one.
func Of(name string) *Family {
	i := slices.IndexFunc(Families, func(f Family) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &Families[i]
}

// bucket returns the index of the bucket that a value falls into; len(f.Buckets) is that
// of +Inf.
func (f *Family) bucket(value float64) int {
	i, _ := slices.BinarySearch(f.Buckets, value)
	return i
}
