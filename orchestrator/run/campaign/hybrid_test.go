package campaign

import (
	"cmp"
	"context"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/run/check"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/orchestrator/run/packets"
	"github.com/csiglab/csiglab/units"
)

// asHybrid returns an experiment of which some messages are packets.
func asHybrid(e *experiment.Experiment, packets experiment.PacketChoice) *experiment.Experiment {
	c := *e
	c.Fidelity, c.Packets = experiment.Hybrid, packets
	return &c
}

// sharedLinks is a fabric in which flows of three racks meet at NICs and in the fabric.
const sharedLinks = `
schema: 1
name: t
topology: {leaf_spine: {leaves: 4, spines: 2, hosts_per_leaf: 4, rate: 100Gbps, spine_rate: 100Gbps, delay: 1us}}
workload: {transfers: [0 -> 4 2MB, 1 -> 5 2MB, 8 -> 12 2MB, 9 -> 13 2MB, 8 -> 5 1MB, 2 -> 4 1MB]}
`

// Where all messages are packets, or none, they take as long as with fidelity packets and flow.
func TestHybridOfOneKind(t *testing.T) {
	for _, text := range []string{sharedLinks, strings.Replace(flowJob, "fidelity: flow\n", "", 1)} {
		e := parseText(t, text).Variants[0].Experiment
		late := units.Duration(units.Second)
		for want, got := range map[*experiment.Experiment]*experiment.Experiment{
			e:         asHybrid(e, experiment.PacketChoice{Nodes: []string{"*"}}),
			asFlow(e): asHybrid(e, experiment.PacketChoice{From: late}),
		} {
			w, _ := runVirtual(t, want, 1)
			g, _ := runVirtual(t, got, 1)
			for metric, time := range w {
				if (strings.HasPrefix(metric, "fct_us.") || strings.HasPrefix(metric, "iteration_us.")) && g[metric] != time {
					t.Errorf("%s: %s is %v, hybrid %v", want.Fidelity, metric, time, g[metric])
				}
			}
		}
	}
}

// A run of which some messages are packets is the same again, and with two workers. It keeps
// conservation, and all messages arrive.
func TestHybridIsTheSameAgain(t *testing.T) {
	for i, c := range []experiment.PacketChoice{
		{Nodes: []string{"g0.rail1"}}, {Steps: []int{2}}, {Phases: []string{"backward"}},
		{From: 200 * units.Microsecond, To: 600 * units.Microsecond}, {Nodes: []string{"s3.r0", "s1.*"}, Steps: []int{1}, From: units.Microsecond},
	} {
		if i > 0 && checkout.SlowRace(t) {
			break
		}
		p, err := plan.Compile(asHybrid(parseText(t, flowJob).Variants[0].Experiment, c), 1)
		if err != nil {
			t.Fatal(err)
		}
		var hashes [][32]byte
		for _, workers := range []int{1, 1, 2} {
			records := measure.NewRecords(p, nil)
			out, err := packets.Virtual(context.Background(), &backend.Run{Plan: p, Workers: workers}, nil, records, nil)
			if err != nil {
				t.Fatal(err)
			}
			hashes = append(hashes, measure.TraceHash(records.Nodes()))
			if got := check.Conservation(p, out, records.Nodes()); !got.OK {
				t.Errorf("%+v: %s", c, got.Detail)
			}
			if got := check.Completion(p, out, records.Nodes()); !got.OK {
				t.Errorf("%+v: %s", c, got.Detail)
			}
			var packets, fluid int64
			for _, n := range records.Nodes() {
				for i := range n.Senders {
					if int(n.Node) < len(p.Nodes) {
						packets += n.Senders[i].PayloadBytes
					} else {
						fluid += n.Senders[i].PayloadBytes
					}
				}
			}
			if total := int64(p.Bytes()); packets == 0 || fluid == 0 || packets+fluid != total {
				t.Errorf("%+v: %d bytes as packets, %d as a fluid, of %d", c, packets, fluid, total)
			}
		}
		if hashes[0] != hashes[1] || hashes[0] != hashes[2] {
			t.Errorf("%+v: traces %x", c, hashes)
		}
	}
}

// Ports are busy with what crosses them as packets and as a fluid together, for as long as with packets
// alone.
func TestHybridLoads(t *testing.T) {
	e := parseText(t, sharedLinks).Variants[0].Experiment
	want, _ := runVirtual(t, e, 1)
	got, _ := runVirtual(t, asHybrid(e, experiment.PacketChoice{Nodes: []string{"tor1"}}), 1)
	for _, ports := range [][]string{{"h8-tor2"}, {"h9-tor2"}, {"tor2-agg0", "tor2-agg1"}, {"agg0-tor3", "agg1-tor3"}, {"tor1-h4"}, {"tor1-h5"}, {"tor3-h12"}} {
		packets, part := 0.0, 0.0
		for _, port := range ports {
			packets += want["utilisation."+port] * want["fct_us.max"]
			part += got["utilisation."+port] * got["fct_us.max"]
		}
		if off := part/packets - 1; packets == 0 || math.Abs(off) > 0.02 {
			t.Errorf("%s: busy for %.1f us with packets, for %.1f in part", ports, packets, part)
		}
	}
}

// What names no message is refused, by its key.
func TestHybridRefuses(t *testing.T) {
	checkout.SkipSlowRace(t)
	e := parseText(t, flowJob).Variants[0].Experiment
	for want, c := range map[string]experiment.PacketChoice{
		"packets: fidelity: hybrid has to know which messages are packets": {},
		`packets.nodes[1]: no host or switch is called "tor0"`:             {Nodes: []string{"s1.r1", "tor0"}},
		"packets.nodes[0]: spine1 has no hosts":                            {Nodes: []string{"spine1"}},
		`packets.phases[0]: no job has a phase "backwards"`:                {Phases: []string{"backwards"}},
		"packets.steps[0]: no job has a step 3; they have up to 2":         {Steps: []int{3}},
		"packets.to: 1us is not after from, 2us":                           {From: 2 * units.Microsecond, To: units.Microsecond},
	} {
		if _, err := plan.Compile(asHybrid(e, c), 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	transfers := parseText(t, sharedLinks).Variants[0].Experiment
	const want = "packets: no flow has such messages"
	if _, err := plan.Compile(asHybrid(transfers, experiment.PacketChoice{Nodes: []string{"h15"}}), 1); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// docs/explanation/jobs.md#a-part-as-packets says how far steps of jobs and the delay at the busiest port of
// the first rack are from those with packets alone, where the messages of that rack are packets.
func TestHybridAgainstPackets(t *testing.T) {
	checkout.SkipSlowRace(t)
	cases := flowErrors
	if os.Getenv("CSIGLAB_E2E") == "" {
		cases = slices.DeleteFunc(slices.Clone(cases), func(c flowError) bool { return !c.quick })
	}
	var all []float64
	for _, c := range cases {
		set := load(t, c.experiment)
		i := slices.IndexFunc(set.Variants, func(v experiment.Resolved) bool { return v.Name == c.variant })
		for _, seed := range []uint64{11, 12} {
			e := set.Variants[i].Experiment
			p, err := plan.Compile(e, seed)
			if err != nil {
				t.Fatal(err)
			}
			rack := p.Graph.Nodes[p.Graph.Adjacency()[0][0].Peer.Node].Name
			want, _ := runVirtual(t, e, seed)
			got, _ := runVirtual(t, asHybrid(e, experiment.PacketChoice{Nodes: []string{rack}}), seed)
			busiest := ""
			for metric, step := range want {
				if port, ok := strings.CutPrefix(metric, "hop_delay_us.mean."); ok && strings.Contains(port, rack) && (busiest == "" || cmp.Or(cmp.Compare(step, want[busiest]), cmp.Compare(busiest, metric)) > 0) {
					busiest = metric
				}
				job, ok := strings.CutPrefix(metric, "iteration_us.mean.")
				if !ok {
					continue
				}
				off := 100 * (got[metric]/step - 1)
				t.Logf("%s, %s, seed %d, %s: %.1f us with packets, %.1f in part: %+.1f %%", c.experiment, c.variant, seed, job, step, got[metric], off)
				all = append(all, math.Abs(off))
				if math.Abs(off) > c.bound {
					t.Errorf("%s, %s, seed %d, %s: %+.1f %%, at most %g are stated", c.experiment, c.variant, seed, job, off, c.bound)
				}
			}
			t.Logf("%s, %s, seed %d, %s: %.2f us with packets, %.2f in part", c.experiment, c.variant, seed, busiest, want[busiest], got[busiest])
		}
	}
	slices.Sort(all)
	if median := all[len(all)/2]; median > 5 {
		t.Errorf("the median of %d is %.1f %%", len(all), median)
	} else {
		t.Logf("median of %d: %.1f %%, greatest %.1f %%", len(all), median, all[len(all)-1])
	}
}

// The packets of one host wait in the fabric as they do among the packets of all: where the fluid has
// most of a port too.
func TestHybridOfOneHost(t *testing.T) {
	for _, name := range []struct{ experiment, variant string }{{"moe", "even"}, {"moe", "skewed"}} {
		set := load(t, name.experiment)
		i := slices.IndexFunc(set.Variants, func(v experiment.Resolved) bool { return v.Name == name.variant })
		for _, seed := range []uint64{11, 12} {
			e := set.Variants[i].Experiment
			want, _ := runVirtual(t, e, seed)
			got, _ := runVirtual(t, asHybrid(e, experiment.PacketChoice{Nodes: []string{"h0"}}), seed)
			for _, statistic := range []string{"mean", "p50", "p99"} {
				flows, packets, part := 0, 0.0, 0.0
				for metric, rtt := range want {
					if strings.HasPrefix(metric, "rtt_us."+statistic+".0-") {
						flows, packets, part = flows+1, packets+rtt, part+got[metric]
					}
				}
				t.Logf("%s, %s, seed %d: %s RTT of %d flows %.1f us with packets, %.1f in part", name.experiment, name.variant, seed, statistic, flows, packets/float64(flows), part/float64(flows))
				if off := part/packets - 1; flows == 0 || math.Abs(off) > 0.15 {
					t.Errorf("%s, %s, seed %d: %s RTT %+.1f %%", name.experiment, name.variant, seed, statistic, 100*off)
				}
			}
		}
	}
}
