package campaign

import (
	"fmt"
	"math"
	"math/bits"
	"os"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/orchestrator/run/packets"
)

// metricsOf runs an experiment of one variant in virtual time with seed 1, and returns its metrics.
func metricsOf(t testing.TB, text string) map[string]float64 {
	t.Helper()
	p, err := plan.Compile(parseText(t, text).Variants[0].Experiment, 1)
	if err != nil {
		t.Fatal(err)
	}
	records := measure.NewRecords(p, nil)
	out, err := packets.Virtual(t.Context(), &backend.Run{Plan: p}, nil, records, nil)
	if err != nil {
		t.Fatal(err)
	}
	return measure.Metrics(p, out, records)
}

// line is what messages take on an idle fabric of one switch.
type line struct{ rate, delay float64 } // bit/s, s of each of the two links

const (
	mss, header = 4086, 64 // B of payload of a full packet, and of its header: docs/reference/references.md#network-constants
	coalesced   = 4        // packets of an ACK
)

// onLine returns what a message of x bytes takes on the line. A rank that receives as much as it sends
// also sends ACKs of 64 B.
func onLine(x float64, both bool) float64 {
	packets := math.Ceil(x / mss)
	sum := x + packets*header
	if both {
		sum += packets / coalesced * header
	}
	return sum
}

// seconds returns how long the line is busy with so many bytes.
func (l line) seconds(bytes float64) float64 { return bytes * 8 / l.rate }

// last returns what passes from when x bytes have left the sender to when they have arrived: the
// switch takes the first packet as a whole before it sends it on, from when on it is busy.
func (l line) last(x float64) float64 { return 2*l.delay + l.seconds(min(x, mss)+header) }

// message returns how long a message takes to a receiver that sends as much to another rank.
func (l line) message(x float64) float64 { return l.seconds(onLine(x, true)) + l.last(x) }

// alone returns how long a message takes to a receiver that sends nothing.
func (l line) alone(x float64) float64 { return l.seconds(onLine(x, false)) + l.last(x) }

// ack returns how long the ACK of a message is on its way.
func (l line) ack() float64 { return 2*l.delay + 2*l.seconds(header) }

// TestCollectiveTimes compares completion times of collectives on an idle fabric with closed forms: all
// ranks are on one switch, which stores and forwards. S is the buffer, x a piece of N. A rank has
// completed a collective when the last thing it sent is acknowledged. What several ranks send to one at
// the same time is in each other's way: a reduction to one rank is exact for few ranks, and trees for
// messages that are short.
func TestCollectiveTimes(t *testing.T) {
	checkout.SkipSlowRace(t)
	const S, chunk, short = 3 << 19, 3 << 14, 128
	l := line{rate: 50e9, delay: 2e-6}
	log := func(n int) float64 { return float64(bits.Len(uint(n - 1))) }
	halves := func(n int) (sum float64) {
		for part := 2; part <= n; part *= 2 {
			sum += l.message(S / float64(part))
		}
		return sum
	}
	// atOnce is a message to, or from, each of the others.
	atOnce := func(N, x float64, both bool) float64 { return l.seconds((N-1)*onLine(x, both)) + l.last(x) }
	chain := func(_ int, N, _ float64) float64 {
		return (N-1)*l.alone(chunk) + (S/chunk-1)*l.seconds(onLine(chunk, true)) + l.ack()
	}
	cases := []struct {
		kind, keys string
		size       int // 0: S
		most       int // ranks; 0: 64
		want       func(n int, N, x float64) float64
	}{
		{"all_reduce", "algorithm: ring", 0, 0, func(_ int, N, x float64) float64 { return 2*(N-1)*l.message(x) + l.ack() }},
		{"all_reduce", "algorithm: ring, chunk: 8KiB", 0, 0, func(_ int, N, x float64) float64 {
			return 2*(N-1)*x/(8<<10)*l.message(8<<10) + l.ack() // each loop reduces N chunks
		}},
		{"all_reduce", "algorithm: halving_doubling", 0, 0, func(n int, _, _ float64) float64 { return 2*halves(n) + l.ack() }},
		{"all_reduce", "algorithm: direct", 0, 0, func(_ int, N, x float64) float64 { return 2*atOnce(N, x, true) + l.ack() }},
		{"all_reduce", "algorithm: hierarchical, local: 2", 0, 0, func(_ int, N, x float64) float64 {
			return 2*l.message(S/2) + 2*(N/2-1)*l.message(x) + l.ack()
		}},
		{"all_reduce", "algorithm: tree", 2 * short, 0, func(n int, _, _ float64) float64 { // half in each tree, up and down
			return 2*log(n)*l.alone(short) + l.ack()
		}},
		{"reduce_scatter", "algorithm: ring", 0, 0, func(_ int, N, x float64) float64 { return (N-1)*l.message(x) + l.ack() }},
		{"reduce_scatter", "algorithm: halving_doubling", 0, 0, func(n int, _, _ float64) float64 { return halves(n) + l.ack() }},
		{"reduce_scatter", "algorithm: direct", 0, 0, func(_ int, N, x float64) float64 { return atOnce(N, x, true) + l.ack() }},
		{"all_gather", "algorithm: ring", 0, 0, func(_ int, N, x float64) float64 { return (N-1)*l.message(x) + l.ack() }},
		{"all_gather", "algorithm: halving_doubling", 0, 0, func(n int, _, _ float64) float64 { return halves(n) + l.ack() }},
		{"all_gather", "algorithm: direct", 0, 0, func(_ int, N, x float64) float64 { return atOnce(N, x, true) + l.ack() }},
		{"all_to_all", "algorithm: direct", 0, 0, func(_ int, N, x float64) float64 { return (N - 1) * (l.message(x) + l.ack()) }},
		{"all_to_all", "channels: 64", 0, 0, func(_ int, N, x float64) float64 { return atOnce(N, x, true) + l.ack() }},
		{"all_to_all", "algorithm: hierarchical, local: 2", 0, 0, func(_ int, N, x float64) float64 {
			return l.message(S/2) + l.ack() + (N/2-1)*(l.message(2*x)+l.ack())
		}},
		{"broadcast", "algorithm: ring, chunk: 48KiB", 0, 0, chain},
		{"broadcast", "algorithm: binomial", 0, 0, func(n int, _, _ float64) float64 { return log(n) * (l.alone(S) + l.ack()) }},
		{"reduce", "algorithm: ring, chunk: 48KiB", 0, 0, chain},
		{"reduce", "algorithm: binomial", short, 0, func(n int, _, _ float64) float64 {
			hops := 0 // of the rank whose distance from the root has the most bits
			for place := range n {
				hops = max(hops, bits.OnesCount(uint(place)))
			}
			return float64(hops)*l.alone(short) + l.ack()
		}},
		{"gather", "algorithm: direct", 2 * S, 8, func(_ int, N, x float64) float64 { return atOnce(N, x, false) + l.ack() }},
		{"scatter", "algorithm: direct", 0, 0, func(_ int, N, x float64) float64 { return atOnce(N, x, false) + l.ack() }},
		{"send_recv", "algorithm: direct", 0, 0, func(int, float64, float64) float64 { return l.message(S) + l.ack() }},
		{"barrier", "algorithm: dissemination", 0, 0, func(n int, _, _ float64) float64 { return log(n)*l.alone(1) + l.ack() }},
	}
	for _, c := range cases {
		for _, n := range []int{2, 3, 4, 8, 16, 64} {
			if c.most > 0 && n > c.most || checkout.SlowRace(t) && n > 8 ||
				strings.Contains(c.keys, "doubling") && n == 3 || strings.Contains(c.keys, "hierarchical") && n%2 != 0 {
				continue
			}
			size := c.size
			if size == 0 {
				size = S
			}
			// With the timeout of the reference simulator many flows of a host, each slow, would time out: their
			// receivers wait for four packets before they acknowledge.
			got := metricsOf(t, fmt.Sprintf(`
schema: 1
name: times
topology: {leaf_spine: {leaves: 1, spines: 1, hosts_per_leaf: %d, rate: 50Gbps, delay: 2us}}
hosts: {min_rto: 1ms}
jobs: [{name: j, collective: {kind: %s, size: %dB, %s}}]
`, n, c.kind, size, c.keys))["cct_us.max.j."+c.kind]
			if want := 1e6 * c.want(n, float64(n), float64(size)/float64(n)); math.Abs(got-want) > 0.01*want || got == 0 {
				t.Errorf("%s of %d ranks, %s: %.2f us, want %.2f", c.kind, n, c.keys, got, want)
			}
		}
	}
}

// TestBusBandwidth: 1 GiB reduced by a ring of 8 ranks at 50 Gb/s has the bus bandwidth of the line, 50 Gb/s,
// less headers and ACKs (docs/reference/references.md#collectives; without these: workloads/collective, TestBusFactor).
// Without CSIGLAB_E2E=1 the buffer has 64 MiB.
func TestBusBandwidth(t *testing.T) {
	checkout.SkipSlowRace(t)
	S, N := float64(64<<20), 8.0
	if os.Getenv("CSIGLAB_E2E") == "1" {
		S = 1 << 30
	}
	l := line{rate: 50e9, delay: 2e-6}
	got := metricsOf(t, fmt.Sprintf(`
schema: 1
name: busbw
topology: {leaf_spine: {leaves: 1, spines: 1, hosts_per_leaf: 8, rate: 50Gbps, delay: 2us}}
jobs: [{name: j, collective: {kind: all_reduce, size: %dB}}]
`, int(S)))["busbw_gbps.p50.j.all_reduce"]
	want := S * 8 / (2*(N-1)*l.message(S/N) + l.ack()) * 2 * (N - 1) / N / 1e9
	if math.Abs(got-want) > 0.001*want || math.Abs(got*onLine(mss, true)/mss-50) > 0.25 {
		t.Errorf("bus bandwidth %.3f Gb/s, want %.3f: 50 Gb/s with headers and ACKs", got, want)
	}
}
