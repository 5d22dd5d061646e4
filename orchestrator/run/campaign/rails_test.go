package campaign

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
)

// rails is what all-reduces take on 8 servers of 8 GPUs with a NIC each, at 100 Gb/s (closed forms of
// docs/how-to/fabrics.md#channels-and-nics), in seconds. Of a NIC's rate headers leave 4086 of 4150 B, and
// the ACK for every four packets that its server receives takes 64 B: 98.1 Gb/s are left.
type rails struct {
	size                 float64
	once, inside, across float64 // of a protocol, and of a message
}

const (
	railServers, railGPUs = 8, 8
	railNIC               = 100e9 / 8 * mss / (mss + header + header/4.) // B/s
	railLocal             = 3.6e12 / 8
	railHop, localHop     = 2e-6, 1e-6 // s
)

// hop returns the latency of a message between servers: two links, and a packet that the switch stores.
func (rails) hop(bytes float64) float64 { return railHop + min(bytes, mss+header)/railNIC }

// ring is 2 (N-1) steps, by the busiest link or by the way of one piece, which is in a server 7 of 8 times.
func (r rails) ring() float64 {
	const steps, crossings = 2 * (railServers*railGPUs - 1), 2 * railServers
	piece := r.size / railGPUs / (railServers * railGPUs)
	cross, inside := r.hop(piece)+localHop+piece/railNIC+r.across, localHop+piece/railLocal+r.inside
	return r.once + max(steps*piece/railNIC+r.hop(piece)+localHop+r.across, crossings*cross+(steps-crossings)*inside)
}

// tree is 2 S by the channel's NIC of a server that has children in one of the two trees, and the way of
// the first chunk up and down: log of the servers, and the chain in a server.
func (r rails) tree(chunk float64) float64 {
	depth := 3*(r.hop(chunk)+chunk/railNIC) + (railGPUs-1)*(localHop+chunk/railLocal)
	return 2*r.size/railGPUs/railNIC + 2*depth
}

// hierarchical is the stages one after the other, those inside servers of so many steps.
func (r rails) hierarchical(inside float64) float64 {
	piece := r.size / railGPUs
	return 2*(inside*localHop+(railGPUs-1)*piece/railLocal) + 2*(railServers-1)*(r.hop(piece/railServers)+piece/railServers/railNIC)
}

// TestRailBandwidth: on rails the channels of ring and tree use all NICs of a server, with PXN also where no
// spine joins the rails. Bus bandwidths are those of the closed forms, and of the table in docs.
func TestRailBandwidth(t *testing.T) {
	checkout.SkipSlowRace(t)
	page, err := os.ReadFile("../../../docs/how-to/fabrics.md")
	if err != nil {
		t.Fatal(err)
	}
	sizes := []string{"1MiB", "16MiB", "64MiB", "256MiB", "1GiB"}
	bytes := map[string]float64{"1MiB": 1 << 20, "16MiB": 16 << 20, "64MiB": 64 << 20, "256MiB": 256 << 20, "1GiB": 1 << 30}
	chunks := map[string]float64{"1MiB": 32 << 10, "16MiB": 64 << 10, "64MiB": 128 << 10, "256MiB": 256 << 10, "1GiB": 512 << 10} // NCCL's rule, 10 deep
	packets := "16 MiB as packets:"
	for _, size := range sizes {
		row := "| " + strings.Replace(size, "M", " M", 1) + " |"
		row = strings.Replace(row, "1GiB", "1 GiB", 1)
		for _, c := range []struct {
			keys  string
			nvls  bool
			want  float64
			apart float64
		}{
			{"algorithm: ring, channels: 8", false, rails{size: bytes[size]}.ring(), 0.005},
			{"algorithm: tree, channels: 8", false, rails{size: bytes[size]}.tree(chunks[size]), 0.1},
			{"algorithm: hierarchical", false, rails{size: bytes[size]}.hierarchical(railGPUs - 1), 0.005},
			{"algorithm: hierarchical", true, rails{size: bytes[size]}.hierarchical(1), 0.005},
		} {
			busbw := func(fidelity string) float64 {
				return metricsOf(t, fmt.Sprintf(`
schema: 1
name: rails
topology: {rail: {servers: 8, nics: 8, rate: 100Gbps, delay: 1us}}
fidelity: %s
jobs: [{name: j, local: {pxn: true, nvls: %t}, collective: {size: %s, %s}}]
`, fidelity, c.nvls, size, c.keys))["busbw_gbps.p50.j.all_reduce"]
			}
			got := busbw("flow")
			if size == "16MiB" {
				packets += fmt.Sprintf(" %.0f,", busbw("packets"))
			}
			closed := bytes[size] * 8 / c.want * 2 * 63 / 64 / 1e9
			if math.Abs(got/closed-1) > c.apart {
				t.Errorf("%s, %s: %.1f Gb/s, closed form %.1f", size, c.keys, got, closed)
			}
			row += fmt.Sprintf(" %.0f; %.0f |", got, closed)
		}
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/how-to/fabrics.md has no row %s", row)
		}
	}
	if !strings.Contains(string(page), packets) {
		t.Errorf("docs/how-to/fabrics.md does not say %s", packets)
	}
}

// TestRailProtocols: what NCCL's protocols take on the same rails, with 8 channels, as closed forms and the
// table in docs say it. What is fastest is chosen.
func TestRailProtocols(t *testing.T) {
	checkout.SkipSlowRace(t)
	page, err := os.ReadFile("../../../docs/how-to/fabrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []struct {
		name  string
		bytes float64
	}{{"64 KiB", 64 << 10}, {"1 MiB", 1 << 20}, {"8 MiB", 8 << 20}, {"64 MiB", 64 << 20}, {"512 MiB", 512 << 20}} {
		row, best, took := "| "+size.name+" |", math.Inf(1), 0.0
		for _, p := range []struct {
			name         string
			data, line   float64
			once, in, by float64 // us
		}{{"none", 1, 1, 0, 0, 0}, {"ll", 8, 16, 6.6, 0.6, 2.7}, {"ll128", 120, 128, 14, 1.9, 4}, {"simple", 1, 1, 8.4, 3.4, 14}, {name: "fastest"}} {
			took = metricsOf(t, fmt.Sprintf(`
schema: 1
name: rails
topology: {rail: {servers: 8, nics: 8, rate: 100Gbps, delay: 1us}}
fidelity: flow
jobs: [{name: j, protocol: %s, local: {pxn: true}, collective: {size: %s, algorithm: ring, channels: 8}}]
`, p.name, strings.ReplaceAll(size.name, " ", "")))["cct_us.p50.j.all_reduce"]
			row += fmt.Sprintf(" %.0f |", took)
			if p.data == 0 {
				continue
			}
			piece := size.bytes / 8 / 64
			r := rails{math.Ceil(piece/p.data) * p.line * 8 * 64, p.once * 1e-6, p.in * 1e-6, p.by * 1e-6}
			if closed := r.ring() * 1e6; math.Abs(took/closed-1) > 0.02 {
				t.Errorf("%s by %s takes %.1f us, closed form %.1f", size.name, p.name, took, closed)
			}
			if p.name != "none" {
				best = min(best, took)
			}
		}
		if took > 1.2*best {
			t.Errorf("%s: the fastest takes %.1f us, the best %.1f", size.name, took, best)
		}
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/how-to/fabrics.md has no row %s", row)
		}
	}
}

// TestPXN: in packets as well, messages of a job between rails without spines go inside the server to the GPU
// on the receiver's rail; every message of an all-to-all arrives, and a ring's channel costs one NIC.
func TestPXN(t *testing.T) {
	run := func(keys string) map[string]float64 {
		return metricsOf(t, `
schema: 1
name: pxn
topology: {rail: {servers: 3, nics: 4, rate: 100Gbps, delay: 1us}}
hosts: {min_rto: 1ms}
jobs: [{name: j, steps: 2, local: {pxn: true}, collective: {size: 3MiB, `+keys+`}}]
`)
	}
	one, four := run("algorithm: ring")["busbw_gbps.p50.j.all_reduce"], run("algorithm: ring, channels: 4")["busbw_gbps.p50.j.all_reduce"]
	if one < 80 || one > 98 || four < 3.5*one {
		t.Errorf("ring: %.1f Gb/s with one channel, %.1f with four", one, four)
	}
	// Each GPU sends 2/3 of 3 MiB to other servers and receives as much.
	if got, least := run("kind: all_to_all, algorithm: direct, channels: 12")["cct_us.max.j.all_to_all"], 2*float64(1<<20)*8/100e9*1e6; got < least || got > 1.5*least {
		t.Errorf("all-to-all: %.1f us, at least %.1f", got, least)
	}
}
