// Package measure computes a run's metrics from its plan and its outcome. The suffix
// of a metric's name is its unit; docs/metrics.md describes them. A scalar metric is
// added in the function of its kind, in this package alone.
package measure

import (
	"crypto/sha256"
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
)

// Metrics returns the metrics of a run.
func Metrics(p *plan.Plan, out *backend.Outcome, r *Records) map[string]float64 {
	nodes := r.Nodes()
	m := map[string]float64{
		"cpu_seconds":      out.CPU.Seconds(),
		"model_ms":         units.Duration(out.End).Seconds() * 1e3,
		"flows.incomplete": 0,
	}
	for _, c := range p.Constants {
		m[c.Name] = c.Value
	}
	flows := metrics.Flows(p.Flows, nodes)
	var fcts []float64
	transfers := p.Transfers
	for _, f := range flows[transfers:] {
		measureRate(m, p, f, out.End)
	}
	for _, f := range flows[:transfers] {
		m["packets.new"] += float64(f.Sender.NewPackets)
		m["packets.retransmitted"] += float64(f.Sender.Retransmitted)
		m["packets.timeouts"] += float64(f.Sender.Timeouts)
		m["packets.probes"] += float64(f.Sender.Probes)
		m["packets.acks"] += float64(f.Receiver.AcksSent)
		m["packets.nacks"] += float64(f.Receiver.NacksSent)
		if f.Sender.Done == units.Never {
			m["flows.incomplete"]++
		} else {
			fct := f.Sender.Done.Sub(f.Sender.Start).Microseconds()
			m["fct_us."+f.Info.Name] = fct
			fcts = append(fcts, fct)
		}
		if f.Receiver.Done != units.Never && f.Sender.Start != units.Never {
			m["fct_rx_us."+f.Info.Name] = f.Receiver.Done.Sub(f.Sender.Start).Microseconds()
		}
		m["base_rtt_us."+f.Info.Name] = f.Sender.BaseRTT.Microseconds()
		measureRate(m, p, f, out.End)
	}
	m["data_packets"] = m["packets.new"] + m["packets.retransmitted"]
	if len(fcts) > 0 {
		slices.Sort(fcts)
		var sum float64
		for _, v := range fcts {
			sum += v
		}
		m["fct_us.min"], m["fct_us.max"] = fcts[0], fcts[len(fcts)-1]
		m["fct_us.mean"] = sum / float64(len(fcts))
		m["fct_us.p99"] = fcts[int(math.Ceil(0.99*float64(len(fcts))))-1]
	}
	measurePorts(m, nodes)
	r.cc.measure(m)
	r.paths.measure(m)
	return m
}

// measureRate adds a flow's mean rates over the measuring window, which ends
// with the flow where the experiment gives it no end.
func measureRate(m map[string]float64, p *plan.Plan, f metrics.Flow, end units.Time) {
	from, to := p.Measure.From, p.Measure.To
	if to == units.Never {
		from, to = max(from, f.Sender.Start), min(f.Receiver.Done, end)
	}
	if from == units.Never || to <= from {
		return
	}
	gbps := func(bytes int64) float64 { return float64(bytes) * 8 / to.Sub(from).Seconds() / float64(units.Gbps) }
	m["rate_gbps."+f.Info.Name] = gbps(f.Receiver.MeasuredWire)
	m["goodput_gbps."+f.Info.Name] = gbps(f.Receiver.MeasuredPayload)
}

func measurePorts(m map[string]float64, nodes []metrics.NodeTotals) {
	m["trims"], m["drops"], m["marks"] = 0, 0, 0
	for _, r := range nodes {
		for _, p := range r.Ports {
			m["trims"] += float64(p.TrimmedPackets)
			m["marks"] += float64(p.MarkedPackets)
		}
		for _, d := range r.Drops {
			m["drops"] += float64(d.Packets)
		}
		for _, t := range r.Tags {
			m["tags."+t.Name] += float64(t.Packets)
		}
		for _, c := range r.Programs {
			m["programs."+c.Name] += float64(c.Packets)
		}
	}
}

// TraceHash combines the nodes' trace hashes in node order.
func TraceHash(nodes []metrics.NodeTotals) [32]byte {
	h := sha256.New()
	for i := range nodes {
		h.Write(nodes[i].TraceHash[:])
	}
	return [32]byte(h.Sum(nil))
}
