package selftest

import (
	"context"
	"fmt"

	"github.com/csiglab/csiglab/orchestrator/run/campaign"
)

// What the experiments of this package share: three links in a row between two hosts, of
// one rate and one delay.
const (
	hops    = 3
	full    = 4160.0 // bytes of a full packet on the wire
	payload = 4096.0 // bytes of its payload
	ack     = 64.0   // bytes of an ACK

	sharedPort = "s0-s1" // of a dumbbell: the link between its switches
)

// onWire returns the time, in us, that a link takes for some bytes at a rate in Gb/s.
func onWire(bytes, gbps float64) float64 { return bytes * 8 / gbps / 1000 }

// alone returns the completion time, in us, of a transfer of n full packets that has the
// path to itself and keeps it busy. Each link stores and forwards, delay is in us.
func alone(n, gbps, delay float64) float64 {
	return 2*hops*delay + (n-1+hops)*onWire(full, gbps) + hops*onWire(ack, gbps)
}

// Formulas, with D the delay of a link, r its rate, k the number of links, n packets of M
// bytes, ACKs of A bytes.
const (
	aloneFormula = "2kD + (n-1+k)M/r + kA/r"
	slowdownDoc  = "store and forward (docs/reference/metrics.md, slowdown)"
)

// contrast is a check of sensitivity: an experiment with two variants, before and after.
type contrast struct {
	experiment string
	set        []string // overrides, for tests
	claims     func(before, after metrics) []Claim
}

func (c contrast) check(ctx context.Context, b *bench) ([]Claim, error) {
	set, err := b.parse(c.experiment, c.set...)
	if err != nil {
		return nil, err
	}
	runs, err := b.run(ctx, set, campaign.Options{})
	if err != nil {
		return nil, err
	}
	return c.claims(runs["before"][0].metrics, runs["after"][0].metrics), nil
}

var halfRate = contrast{experiment: "rate", claims: func(before, after metrics) []Claim {
	const n, delay = 1000, 1.0
	first := before["fct_us.0-1"]
	return []Claim{
		before.exactly("FCT at 100 Gb/s", "fct_us.0-1", alone(n, 100, delay), basis{aloneFormula, slowdownDoc}),
		after.exactly("FCT at 50 Gb/s", "fct_us.0-1", 2*first-2*hops*delay, basis{"2 FCT - 2kD: all but the delay doubles", slowdownDoc}),
	}
}}

var doubleDelay = contrast{experiment: "delay", claims: func(before, after metrics) []Claim {
	first, rtt := before["fct_us.0-1"], before["base_rtt_us.0-1"]
	growth := basis{"+ 2kD: each link is crossed twice", "propagation"}
	return []Claim{
		before.exactly("base RTT at 1 us", "base_rtt_us.0-1", alone(1, 100, 1), basis{aloneFormula + " with n = 1", slowdownDoc}),
		after.exactly("base RTT at 2 us", "base_rtt_us.0-1", rtt+2*hops*1, growth),
		after.exactly("FCT of one packet at 2 us", "fct_us.0-1", first+2*hops*1, growth),
	}
}}

// fills predicts that a queue has filled to its limit, in kB.
func (m metrics) fills(limit float64) []Claim {
	const port = "queue_kb.max." + sharedPort
	return []Claim{
		m.between(fmt.Sprintf("longest queue of at most %g kB", limit), port, "kB", limit-full/1000, limit, basis{"limit - M to limit: a packet that does not fit is trimmed", "tail drop"}),
		m.some(fmt.Sprintf("packets trimmed at %g kB", limit), "trims", "packets", basis{"more than 0", "a queue at its limit trims"}),
	}
}

var withoutECN = contrast{experiment: "ecn", claims: func(before, after metrics) []Claim {
	const limit = 600.0
	return append([]Claim{
		before.some("packets marked with ECN", "marks", "packets", basis{"more than 0", "DCTCP: the queue stands about the threshold"}),
		before.none("packets trimmed with ECN", "trims", "packets", basis{"0", "DCTCP §3.3: the queue stays near the threshold"}),
		before.between("longest queue with ECN", "queue_kb.max."+sharedPort, "kB", 0, limit-full/1000, basis{"below the limit", "DCTCP §3.3"}),
		after.none("packets marked without", "marks", "packets", basis{"0", "RFC 3168 §5: without ECN nothing is marked"}),
	}, after.fills(limit)...)
}}

var halfBuffer = contrast{experiment: "buffer", claims: func(before, after metrics) []Claim {
	return append(before.fills(400), after.fills(200)...)
}}

var fanIn = contrast{experiment: "fan-in", claims: func(before, after metrics) []Claim {
	const n, tolerance = 1000, 0.05
	bound := func(senders float64) float64 { return alone(senders*n, 100, 1) }
	fluid := basis{"2kD + (Nn-1+k)M/r + kA/r, to 5 % more", "the last link carries N n packets; the reference simulator's incast is 3.3 % above (docs/reference/references.md)"}
	return []Claim{
		before.between("last FCT of 4 senders", "fct_us.max", "us", bound(4)-exact, bound(4)*(1+tolerance), fluid),
		after.between("last FCT of 8 senders", "fct_us.max", "us", bound(8)-exact, bound(8)*(1+tolerance), fluid),
	}
}}

var collective = contrast{experiment: "collective", claims: func(before, after metrics) []Claim {
	const (
		ranks, packets  = 4, 1024.0 // of 16 MiB, in each round
		name, tolerance = "cct_us.max.ring.all_reduce", 0.02
	)
	added := 2 * (ranks - 1) * packets * onWire(full, 100)
	ring := basis{"2(N-1) rounds of S/N, at M/r for a packet", "ring all-reduce (docs/reference/references.md, collectives); 2 % for CC, which starts anew in each round"}
	return []Claim{
		before.between("CCT of 16 MiB", name, "us", added, added*(1+tolerance), ring),
		after.near("CCT of 32 MiB", name, "us", before[name]+added, added*tolerance, ring),
	}
}}

var load = contrast{experiment: "load", claims: func(before, after metrics) []Claim {
	const rate, interval = 100.0, 128.0
	resolution := full * 8 / interval / 1000 // Gb/s of one packet in a window
	left := basis{"C - load, ± one packet in a window", "CSIG: available bandwidth over a window (docs/reference/references.md)"}
	return []Claim{
		before.near("ABW at 40 Gb/s", "csig_abw_gbps.mean.0-1", "Gb/s", rate-40, resolution, left),
		after.near("ABW at 80 Gb/s", "csig_abw_gbps.mean.0-1", "Gb/s", rate-80, resolution, left),
	}
}}

var window = contrast{experiment: "window", claims: func(before, after metrics) []Claim {
	const rate = 100.0
	wait := func(kb float64) float64 { return onWire(2*kb*1000, rate) - alone(1, rate, 1) }
	little := basis{"2W/C - base RTT, ± one packet", "Little 1961: what is in flight is rate times time"}
	return []Claim{
		before.near("CSIG delay with windows of 208 kB", "csig_delay_us.mean.0-2", "us", wait(208), onWire(full, rate), little),
		after.near("CSIG delay with windows of 416 kB", "csig_delay_us.mean.0-2", "us", wait(416), onWire(full, rate), little),
	}
}}
