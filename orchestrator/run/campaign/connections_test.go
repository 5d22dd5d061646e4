package campaign

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
)

// allToAll is a job whose ranks send each other messages of 50 kB, three times.
const allToAll = `
schema: 1
name: all-to-all
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 4, rate: 100Gbps, delay: 1us}}
jobs: [{name: x, collective: {kind: all_to_all, size: 400kB}, steps: 3}]
hosts: {%s}
links: {%s}
`

// Messages of jobs arrive once, in order and whole, whatever recovers what the fabric drops
// or trims; runVirtual checks that bytes are conserved and that the job is complete.
func TestConnectionsRecover(t *testing.T) {
	for _, c := range []struct{ name, hosts, links string }{
		{"trims", "cc: {name: constant, cwnd: 200kB}", "queue: 30kB"},
		{"drops", "cc: {name: constant, cwnd: 200kB}", "queue: 30kB, trim: false"},
		{"go back n", "cc: {name: constant, cwnd: 200kB}, recovery: go_back_n, lb: {name: ecmp}", "queue: 30kB, trim: false"},
		{"sleek", "cc: {name: constant, cwnd: 200kB}, recovery: sleek", "queue: 30kB, trim: false"},
		{"credits", "cc: {name: rccc}", "queue: 30kB"},
		{"paced", "cc: {name: dcqcn}", "queue: 30kB, trim: false"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(strings.Replace(allToAll, "%s", c.hosts, 1), "%s", c.links, 1)
			m, r := runVirtual(t, parseText(t, text).Variants[0].Experiment, 1)
			if m["packets.retransmitted"] == 0 {
				t.Error("nothing is lost, so that the test shows nothing")
			}
			type stream struct {
				flow int32
				kind metrics.OperationKind
			}
			next, last := map[stream]uint32{}, map[stream]units.Time{}
			sent := map[int32]map[uint32]units.Time{}
			for _, o := range r.kept.Operations {
				if o.Flow == metrics.Absent || o.Kind > metrics.OperationRecv {
					continue
				}
				k := stream{o.Flow, o.Kind}
				if o.Message != next[k] || o.End < last[k] {
					t.Errorf("flow %d: message %d at %v after %d at %v", o.Flow, o.Message, o.End, next[k], last[k])
				}
				next[k], last[k] = o.Message+1, o.End
				if o.Kind == metrics.OperationSend {
					if sent[o.Flow] == nil {
						sent[o.Flow] = map[uint32]units.Time{}
					}
					sent[o.Flow][o.Message] = o.Start
				}
			}
			for _, o := range r.kept.Operations {
				if o.Kind == metrics.OperationRecv && o.End < sent[o.Flow][o.Message].Add(4*units.Microsecond/2) {
					t.Errorf("flow %d: message %d arrives at %v, it is sent at %v", o.Flow, o.Message, o.End, sent[o.Flow][o.Message])
				}
			}
			if len(next) != 2*56 {
				t.Errorf("messages on %d ends of connections, want 112", len(next))
			}
		})
	}
}

// The records of a connection's samples and ACKs have the tag of the message that they are
// about, so that they can be joined to the step and the collective: each lies in the time in
// which a message of the tag was sent on that flow, and none is lost by it.
func TestRecordsOfConnectionsHaveTags(t *testing.T) {
	text := strings.Replace(strings.Replace(allToAll, "%s", "", 1), "%s", "", 1) + "csig: {format: compact, init: every}\ntelemetry: {interval: 1us}\n"
	_, r := runVirtual(t, parseText(t, text).Variants[0].Experiment, 1)
	type key struct {
		flow int32
		tag  metrics.Tag
	}
	type span struct{ from, to units.Time }
	sends := map[key]span{}
	for _, o := range r.kept.Operations {
		if o.Kind == metrics.OperationSend {
			sends[key{o.Flow, o.Tag}] = span{o.Start, o.End}
		}
	}
	steps := map[int32]int64{}
	var samples, acks int64
	check := func(flow int32, tag metrics.Tag, start units.Time) {
		s, ok := sends[key{flow, tag}]
		if !ok || start.Add(units.Microsecond) < s.from || start > s.to {
			t.Errorf("flow %d: a window at %v has the tag %+v, whose message was sent from %v to %v", flow, start, tag, s.from, s.to)
		}
	}
	for _, w := range r.kept.Signals {
		check(w.Flow, w.Tag, w.Start)
		samples += w.Samples
		steps[w.Tag.Step] += w.Samples
	}
	for _, w := range r.kept.CC {
		check(w.Flow, w.Tag, w.Start)
		acks += w.Acks
	}
	for _, n := range r.Nodes {
		for _, s := range n.Senders {
			samples -= s.Samples
			acks -= s.AcksReceived
		}
	}
	if samples != 0 || acks != 0 || len(steps) != 3 {
		t.Errorf("windows have %d samples and %d ACKs more than senders, of %d steps", samples, acks, len(steps))
	}
}

// A transfer that stops delivers what was sent until then and one byte, at both ends the
// same; runVirtual checks the conservation of its bytes and that the run is complete.
func TestTransfersThatStop(t *testing.T) {
	m, r := runVirtual(t, parseText(t, `
schema: 1
name: stops
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 10Gbps, delay: 1us}}
workload:
  start_jitter: 0s
  transfers:
    - {src: 0, dst: 2, size: 1GB, start: 100us, stop: 400us}
    - {src: 3, dst: 1, size: 10kB, stop: 10ms}
`).Variants[0].Experiment, 1)
	flows := map[int32]metrics.SenderTotals{}
	for _, n := range r.Nodes {
		for _, s := range n.Senders {
			flows[s.Flow] = s
		}
	}
	// 300 us at 10 Gb/s are 375,000 B, with headers; the packet that is the last one then
	// leaves behind the one that is leaving.
	s := flows[0]
	if full := (s.PayloadBytes - 1) / 4086; !s.Stopped || (s.PayloadBytes-1)%4086 != 0 || full < 375_000/4150*9/10 || full > 375_000/4150+1 {
		t.Errorf("stopped %v with %d bytes, want some 90 full packets and one byte", s.Stopped, s.PayloadBytes)
	}
	if at := units.Duration(s.Done); at < 400*units.Microsecond || at > 430*units.Microsecond {
		t.Errorf("done at %v, want soon after 400 us", at)
	}
	if _, ok := m["slowdown.0-2"]; ok || m["fct_us.0-2"] < 300 {
		t.Errorf("slowdown of a transfer that stopped: %v; FCT %v us", ok, m["fct_us.0-2"])
	}
	if _, ok := m["slowdown.3-1"]; !ok || flows[1].Stopped || flows[1].PayloadBytes != 10_000 {
		t.Errorf("a transfer that is done before its stop: stopped %v with %d bytes", flows[1].Stopped, flows[1].PayloadBytes)
	}
}
