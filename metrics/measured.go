package metrics

import (
	"github.com/csiglab/csiglab/metrics/histogram"
	"github.com/csiglab/csiglab/units"
)

// portSamples are what a port has measured. Samples are collected, and counted some at a
// time: the buckets of a port are rarely in the cache, and looking for several at once
// takes little longer than for one.
type portSamples struct {
	pending [pendingSamples]histogram.Sample // four cache lines
	PortMeasurement
}

const pendingSamples = 32

func (m *portSamples) add(value, weight int64) {
	if weight > 0 {
		m.Depth.Add(value, weight)
	} else {
		m.Wait.Add(value, 1)
	}
}

// count counts the first n samples.
func (m *portSamples) count(n int) {
	var list [pendingSamples]histogram.Sample // depths from the front, waits from the end
	depths, waits := 0, len(list)
	for _, s := range m.pending[:n] {
		if s.Weight > 0 {
			list[depths] = s
			depths++
		} else {
			waits--
			list[waits] = histogram.Sample{Value: s.Value, Weight: 1}
		}
	}
	m.Depth.AddAll(list[:depths])
	m.Wait.AddAll(list[waits:])
}

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
	pending [pendingAcks]ackSample // a cache line
	held    int                    // ACKs that are pending
	dated   uint8                  // bit i: pending[i] has an RTT
}

// pendingAcks is the number of bits of flowSamples.dated.
const pendingAcks = 8

type ackSample struct{ window, rtt uint32 } // bytes, ps

// NewFlowMeter returns the meter of a flow of which nothing has been measured.
func NewFlowMeter(flow int) FlowMeter { return FlowMeter{flow: int32(flow)} }

// Touch reads what each ACK changes, and returns a number that means nothing.
func (r *FlowMeter) Touch() int64 {
	m := r.samples
	if m == nil {
		return 0
	}
	return m.Acks + int64(m.pending[m.held].window)
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
	m.pending[m.held] = ackSample{uint32(window), uint32(rtt)}
	if rtt >= 0 {
		m.dated |= 1 << m.held
	}
	if m.held++; m.held == len(m.pending) {
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
	var windows, rtts [pendingAcks]histogram.Sample
	dated := 0
	for i, a := range m.pending[:m.held] {
		windows[i] = histogram.Sample{Value: a.window, Weight: 1}
		if m.dated>>i&1 != 0 {
			rtts[dated] = histogram.Sample{Value: a.rtt, Weight: 1}
			dated++
		}
	}
	m.Cwnd.AddAll(windows[:m.held])
	m.RTT.AddAll(rtts[:dated])
	m.held, m.dated = 0, 0
}

// Close emits the FlowMeasurement, unless nothing was measured.
func (r *FlowMeter) Close(sink Sink) {
	if m := r.samples; m != nil {
		m.count()
		sink.Emit(&m.FlowMeasurement)
	}
}
