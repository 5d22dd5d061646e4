package metrics

import (
	"github.com/csiglab/csiglab/metrics/histogram"
	"github.com/csiglab/csiglab/units"
)

// portSamples are what a port has measured. Samples are collected, and counted some at a
// time: the buckets of a port are rarely in the cache, and looking for several at once
// takes little longer than for one.
type portSamples struct {
	depths [pendingDepths]histogram.Sample // four cache lines
	waits  [pendingWaits]uint32            // ps; two
	PortMeasurement
}

const pendingDepths, pendingWaits = 32, 32

// FlowMeter makes the FlowMeasurement of one flow at its sender. The zero value of flow
// 0 is ready; NewFlowMeter makes one of another. It has no memory but its own before
// something is measured.
type FlowMeter struct {
	samples *flowSamples // nil until there is one
	flow    int32
}

// flowSamples are what a sender has measured. The samples of ACKs are collected as those
// of ports.
type flowSamples struct {
	FlowMeasurement
	windows     [pendingAcks]uint32 // bytes; with rtts a cache line
	rtts        [pendingAcks]uint32 // ps
	held, dated int                 // windows and rtts that are pending
}

const pendingAcks = 8

// NewFlowMeter returns the meter of a flow of which nothing has been measured.
func NewFlowMeter(flow int) FlowMeter { return FlowMeter{flow: int32(flow)} }

// Touch reads what each ACK changes, and returns a number that means nothing.
func (r *FlowMeter) Touch() int64 {
	m := r.samples
	if m == nil {
		return 0
	}
	return m.Acks + int64(m.windows[m.held])
}

// Sent counts a data packet that is sent, again if it has been sent before.
func (r *FlowMeter) Sent(again bool) {
	m := r.open()
	if again {
		m.Retransmitted++
	} else {
		m.New++
	}
}

// Sample counts a CSIG sample.
func (r *FlowMeter) Sample() { r.open().Samples++ }

// Ack counts an ACK, with the window after it and, unless it is negative, the RTT.
func (r *FlowMeter) Ack(window units.Size, rtt units.Duration) {
	m := r.open()
	m.Acks++
	if uint64(window)>>32 != 0 || rtt>>32 > 0 {
		m.Cwnd.Add(int64(window), 1)
		if rtt >= 0 {
			m.RTT.Add(int64(rtt), 1)
		}
		return
	}
	m.windows[m.held] = uint32(window)
	m.held++
	if rtt >= 0 {
		m.rtts[m.dated] = uint32(rtt)
		m.dated++
	}
	if m.held == len(m.windows) {
		m.count()
	}
}

func (r *FlowMeter) open() *flowSamples {
	if r.samples == nil {
		r.samples = &flowSamples{FlowMeasurement: FlowMeasurement{Flow: r.flow}}
	}
	return r.samples
}

// count counts the ACKs that are pending.
func (m *flowSamples) count() {
	m.Cwnd.AddEach(m.windows[:m.held])
	m.RTT.AddEach(m.rtts[:m.dated])
	m.held, m.dated = 0, 0
}

// Close emits the FlowMeasurement, unless nothing was measured.
func (r *FlowMeter) Close(sink Sink) {
	if m := r.samples; m != nil {
		m.count()
		sink.Emit(&m.FlowMeasurement)
	}
}
