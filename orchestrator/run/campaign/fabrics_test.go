package campaign

import (
	"fmt"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
)

// On fabrics that are no trees every message of an all-to-all arrives, and every packet
// takes a minimal path there, and its ACK one back.
func TestAllToAllOnOddFabrics(t *testing.T) {
	for _, topology := range []string{
		"dumbbell: {left: 3, right: 2, rate: 100Gbps, bottleneck_rate: 40Gbps, delay: 1us}",
		"parking_lot: {hops: 3, pairs: 2, rate: 100Gbps, delay: 1us, bottleneck_delay: 3us}",
		"ring: {switches: 4, hosts: 2, rate: 100Gbps, delay: 1us}",
		"ring: {switches: 5, rate: 100Gbps, delay: 1us, routes: clockwise}",
		"rail: {servers: 4, nics: 2, group: 2, spines: 2, bundle: 2, rate: 100Gbps, spine_rate: 200Gbps, delay: 1us}",
		"netbench: {file: testdata/pair.topology, rate: 100Gbps, delay: 1us}",
		"graph: {rate: 100Gbps, delay: 1us, nodes: [{name: a}, {name: b}, {name: c}, {name: x, kind: switch}, {name: y, kind: switch}, {name: z, kind: switch}], links: [{a: a, b: x}, {a: b, b: y}, {a: c, b: z, rate: 25Gbps}, {a: x, b: y, count: 3}, {a: y, b: z}, {a: z, b: x, delay: 5us}]}",
	} {
		e := parseText(t, "schema: 1\nname: t\ntopology: {"+topology+"}\nworkload: {all_to_all: {size: 20kB}}\n").Base
		m, out := runVirtual(t, e, 1)
		p, err := plan.Compile(e, 1)
		if err != nil {
			t.Fatal(err)
		}
		if hosts := p.Hosts(); len(p.Flows) != hosts*(hosts-1) || m["flows.incomplete"] != 0 {
			t.Errorf("%s: %d flows among %d hosts, %v incomplete", topology, len(p.Flows), hosts, m["flows.incomplete"])
		}
		paths := topologies.NewPaths(p.Graph)
		var got, want int64
		for _, f := range metrics.Flows(p.Flows, out.Nodes) {
			there, _ := paths.Between(int(f.Info.Src), int(f.Info.Dst))
			back, _ := paths.Between(int(f.Info.Dst), int(f.Info.Src))
			want += int64(there)*(f.Sender.NewPackets+f.Sender.Retransmitted) + int64(back)*(f.Receiver.AcksSent+f.Receiver.NacksSent)
		}
		for _, r := range out.Nodes {
			for _, port := range r.Ports {
				got += port.TxPackets
			}
		}
		if got != want {
			t.Errorf("%s: %d transmissions, want %d", topology, got, want)
		}
	}
}

// Issue 12: each bottleneck of a parking lot is full while the long pair and the pair of
// its hop send; the long pair, which queues at each, gets less than the others.
func TestParkingLotSaturates(t *testing.T) {
	for _, hops := range []int{1, 2, 4} {
		transfers := "0 -> 1 20MB"
		for hop := range hops {
			transfers += fmt.Sprintf(", %d -> %d 20MB", 2+2*hop, 3+2*hop)
		}
		text := fmt.Sprintf("schema: 1\nname: t\ntopology: {parking_lot: {hops: %d, rate: 100Gbps, delay: 1us}}\nworkload: {transfers: [%s]}\nmeasure: {from: 200us, to: 1ms}\nend: 1ms\n", hops, transfers)
		m, _ := runVirtual(t, parseText(t, text).Base, 1)
		long := m["rate_gbps.0-1"]
		for hop := range hops {
			bottleneck, pair := fmt.Sprintf("utilisation.s%d-s%d", hop, hop+1), fmt.Sprintf("rate_gbps.%d-%d", 2+2*hop, 3+2*hop)
			if m[bottleneck] < 0.95 {
				t.Errorf("%d hops: %s is %v, want the link full", hops, bottleneck, m[bottleneck])
			}
			if sum := long + m[pair]; sum < 92 || sum > 101 || hops > 1 && long >= m[pair] {
				t.Errorf("%d hops: the long pair gets %v Gb/s, %s is %v; want 92 to 101 in all, and less for the long pair", hops, long, pair, m[pair])
			}
		}
	}
}
