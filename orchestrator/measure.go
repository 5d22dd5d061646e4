package orchestrator

import (
	"crypto/sha256"
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
)

// flowState is both halves of a flow.
type flowState struct {
	info     metrics.FlowInfo
	sender   metrics.SenderTotals
	receiver metrics.ReceiverTotals
}

// flowStates returns the flows of the workload, then those of programs, which
// have no beginning and end that we know of.
func flowStates(p *Plan, results []metrics.NodeTotals) []flowState {
	flows := make([]flowState, len(p.Flows))
	for i, info := range p.Flows {
		flows[i].info = info
	}
	for _, r := range results {
		for _, s := range r.Senders {
			flows[s.Flow].sender = s
		}
		for _, v := range r.Receivers {
			flows[v.Flow].receiver = v
		}
	}
	return flows
}

// measure returns the metrics of a run. The suffix of a name is its unit;
// docs/metrics.md describes them.
func measure(p *Plan, out *outcome) map[string]float64 {
	m := map[string]float64{
		"cpu_seconds":      out.cpu.Seconds(),
		"model_ms":         units.Duration(out.end).Seconds() * 1e3,
		"flows.incomplete": 0,
	}
	for _, c := range p.Constants {
		m[c.Name] = c.Value
	}
	flows := flowStates(p, out.results)
	var fcts []float64
	transfers := len(p.Workload.Transfers)
	for _, f := range flows[transfers:] {
		measureRate(m, p, f, out.end)
	}
	for _, f := range flows[:transfers] {
		m["packets.new"] += float64(f.sender.NewPackets)
		m["packets.retransmitted"] += float64(f.sender.Retransmitted)
		m["packets.timeouts"] += float64(f.sender.Timeouts)
		m["packets.probes"] += float64(f.sender.Probes)
		m["packets.acks"] += float64(f.receiver.AcksSent)
		m["packets.nacks"] += float64(f.receiver.NacksSent)
		if f.sender.Done == units.Never {
			m["flows.incomplete"]++
		} else {
			fct := f.sender.Done.Sub(f.sender.Start).Microseconds()
			m["fct_us."+f.info.Name] = fct
			fcts = append(fcts, fct)
		}
		if f.receiver.Done != units.Never && f.sender.Start != units.Never {
			m["fct_rx_us."+f.info.Name] = f.receiver.Done.Sub(f.sender.Start).Microseconds()
		}
		m["base_rtt_us."+f.info.Name] = f.sender.BaseRTT.Microseconds()
		measureRate(m, p, f, out.end)
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
	measurePorts(m, out.results)
	out.cc.measure(m)
	out.paths.measure(m)
	return m
}

// measureRate adds a flow's mean rates over the measuring window, which ends
// with the flow where the experiment gives it no end.
func measureRate(m map[string]float64, p *Plan, f flowState, end units.Time) {
	from, to := p.Measure.From, p.Measure.To
	if to == units.Never {
		from, to = max(from, f.sender.Start), min(f.receiver.Done, end)
	}
	if from == units.Never || to <= from {
		return
	}
	gbps := func(bytes int64) float64 { return float64(bytes) * 8 / to.Sub(from).Seconds() / float64(units.Gbps) }
	m["rate_gbps."+f.info.Name] = gbps(f.receiver.MeasuredWire)
	m["goodput_gbps."+f.info.Name] = gbps(f.receiver.MeasuredPayload)
}

func measurePorts(m map[string]float64, results []metrics.NodeTotals) {
	m["trims"], m["drops"], m["marks"] = 0, 0, 0
	for _, r := range results {
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

// ccSums adds up what each flow's controller did with the ACKs of the measuring
// window, as the windows come.
type ccSums struct {
	plan *Plan
	sums []ccSum // by flow
}

type ccSum struct {
	acks    int64
	delay   units.Duration
	actions map[string]int64
}

func newCCSums(p *Plan) *ccSums { return &ccSums{plan: p, sums: make([]ccSum, len(p.Flows))} }

// Consume implements metrics.Consumer.
func (c *ccSums) Consume(b *metrics.Batch) {
	for i := range b.CC {
		w := &b.CC[i]
		if w.Start < c.plan.Measure.From || w.Start >= c.plan.Measure.To {
			continue
		}
		s := &c.sums[w.Flow]
		s.acks += w.Acks
		s.delay += w.Delay
		if s.actions == nil {
			s.actions = make(map[string]int64, len(c.plan.Actions))
		}
		for _, a := range w.Actions {
			s.actions[a.Name] += a.Packets
		}
	}
}

// measure adds the share of each action and the mean delay that a controller was
// fed.
func (c *ccSums) measure(m map[string]float64) {
	for i, s := range c.sums {
		if s.acks == 0 {
			continue
		}
		name := c.plan.Flows[i].Name
		m["cc_delay_us."+name] = s.delay.Microseconds() / float64(s.acks)
		for _, a := range c.plan.Actions {
			m["cc_share."+name+"."+a.Name] = float64(s.actions[a.Name]) / float64(s.acks)
		}
	}
}

// traceHash combines the nodes' hashes in node order.
func traceHash(results []metrics.NodeTotals) [32]byte {
	h := sha256.New()
	for i := range results {
		h.Write(results[i].TraceHash[:])
	}
	return [32]byte(h.Sum(nil))
}
