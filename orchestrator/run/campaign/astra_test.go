package campaign

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/orchestrator/run/packets"
)

// TestAstraMicrobenchmarks plays ASTRA-sim's public collectives of 1 MiB at 4 NPUs over networks and with
// system files of its formats. Each rank sends the bytes of the algorithm. The time is that of
// ASTRA-sim's arithmetic, hops · latency + bytes / bandwidth for each step, with what csiglab counts
// beside: headers and ACKs, a packet for each switch that stores it, and the last ACK's way back.
func TestAstraMicrobenchmarks(t *testing.T) {
	checkout.SkipSlowRace(t)
	const MiB, x, N = 1 << 20, 1 << 18, 4 // B; x: the piece of a rank
	l := line{rate: 50 * 8 << 30, delay: 500e-9}
	packet := l.seconds(mss + header)
	// toNext is a message to a neighbour over one link between two NPUs. Its first packet is stored
	// at the switch of each NPU, where the NIC needs so much of the time that the link needs.
	toNext := func(bytes, nics float64) float64 { return l.seconds(onLine(bytes, false)) + l.delay + nics*packet }
	atOnce := func(bytes float64) float64 { return l.seconds((N-1)*onLine(bytes, true)) + l.last(bytes) + l.ack() }
	// each is a message to each other NPU over links of their own, of which the NIC serves the
	// last one when it has sent a packet to the others.
	each := func(bytes float64) float64 { return l.seconds(onLine(bytes, true)) + l.delay + packet }
	// pair is a message to the only other NPU of a dimension, which sends as much back. A switch
	// between them is one more latency and one more packet.
	pair := func(bytes float64) float64 { return l.seconds(onLine(bytes, true)) + l.delay + packet }
	for _, c := range []struct {
		network, system, kind string
		sent                  int
		want                  float64 // s
	}{
		{"Switch", "ring", "all_reduce", 6 * x, 6*l.message(x) + l.ack()},
		{"Switch", "ring", "reduce_scatter", 3 * x, 3*l.message(x) + l.ack()},
		{"Switch", "ring", "all_gather", 3 * MiB, 3*l.message(MiB) + l.ack()},
		{"Switch", "direct1", "all_to_all", 3 * x, 3 * (l.message(x) + l.ack())},
		{"Switch", "halvingDoubling", "all_reduce", 6 * x, 2*(l.message(2*x)+l.message(x)) + l.ack()},
		{"Switch", "direct", "reduce_scatter", 3 * x, atOnce(x)},
		{"Switch", "direct", "all_gather", 3 * MiB, atOnce(MiB)},
		{"Switch", "direct", "all_to_all", 3 * x, atOnce(x)},
		{"Ring", "ring", "all_reduce", 6 * x, 6*toNext(x, 2./2) + l.delay},
		{"Ring", "ring", "reduce_scatter", 3 * x, 3*toNext(x, 2./2) + l.delay},
		{"Ring", "ring", "all_gather", 3 * MiB, 3*toNext(MiB, 2./2) + l.delay},
		{"FullyConnected", "ring", "all_reduce", 6 * x, 6*toNext(x, 2./3) + l.delay},
		{"FullyConnected", "direct", "all_reduce", 6 * x, 2*each(x) + l.delay},
		{"FullyConnected", "direct", "all_gather", 3 * MiB, each(MiB) + l.delay},
		{"FullyConnected", "direct", "all_to_all", 3 * x, each(x) + l.delay},
		// Two dimensions of two: halves within the first, quarters across.
		{"Ring, Switch", "ring, ring", "all_reduce", 6 * x, 2*pair(2*x) + 2*(pair(x)+l.delay+packet) + l.delay},
		{"Ring, Switch", "direct, direct", "all_to_all", 4 * x, pair(2*x) + l.delay + pair(2*x) + l.delay + packet + 2*l.delay},
	} {
		t.Run(c.network+" "+c.system+" "+c.kind, func(t *testing.T) {
			dir := t.TempDir()
			write := func(name, format string, args ...any) string {
				name = filepath.Join(dir, name)
				if err := os.WriteFile(name, fmt.Appendf(nil, format, args...), 0o600); err != nil {
					t.Fatal(err)
				}
				return name
			}
			npus, bandwidth, latency := "4", "50.0", "500.0"
			if strings.Contains(c.network, ",") {
				npus, bandwidth, latency = "2, 2", "50.0, 50.0", "500.0, 500.0"
			}
			network := write("network.yml", "topology: [ %s ]\nnpus_count: [ %s ]\nbandwidth: [ %s ]\nlatency: [ %s ]\n", c.network, npus, bandwidth, latency)
			key := map[string]string{"all_reduce": "all-reduce", "reduce_scatter": "reduce-scatter", "all_gather": "all-gather", "all_to_all": "all-to-all"}[c.kind]
			system := write("system.json", `{"%s-implementation": ["%s"]}`, key, strings.ReplaceAll(c.system, ", ", `", "`))
			trace := checkout.Shared(t, "fixtures/astra-sim+astra-sim/examples/workload/microbenchmarks/"+c.kind+"/4npus_1MB")
			e := parseText(t, fmt.Sprintf("schema: 1\nname: astra\ntopology: {astra: %q}\njobs: [{name: a, trace: {file: %q, system: %q, local: 2}}]\n", network, trace, system)).Variants[0].Experiment
			p, err := plan.Compile(e, 1)
			if err != nil {
				t.Fatal(err)
			}
			var heard listener
			records := measure.NewRecords(p, &heard)
			out, err := packets.Virtual(t.Context(), &backend.Run{Plan: p}, nil, records, nil)
			if err != nil {
				t.Fatal(err)
			}
			var sent [N]int
			for _, o := range heard.operations {
				if o.Kind == metrics.OperationSend {
					sent[o.Rank] += int(o.Bytes)
				}
			}
			if want := [N]int{c.sent, c.sent, c.sent, c.sent}; sent != want {
				t.Errorf("ranks send %v B, want %v", sent, want)
			}
			got := measure.Metrics(p, out, records)["iteration_us.mean.a"] / 1e6
			if off := math.Abs(got/c.want - 1); !(off <= 0.01) {
				t.Errorf("%.2f us, want %.2f within 1 %%, is %.2f %% off", got*1e6, c.want*1e6, 100*off)
			}
			t.Logf("%.2f us, the closed form is %.2f", got*1e6, c.want*1e6)
		})
	}
}
