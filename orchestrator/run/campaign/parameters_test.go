package campaign

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/orchestrator/experiment"
)

// autoCase is an experiment that leaves a key on auto, and the line that its text in the
// run folder has for it.
type autoCase struct{ text, line string }

const (
	twoRates  = "topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 25Gbps, spine_rate: 100Gbps, delay: 1us}}\n"
	oneRate   = "topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 25Gbps, delay: 1us}}\n"
	fatTree   = "topology: {fat_tree: {hosts: 8, pod: 4, tiers: [{down: 2, up: 1, rate: 100Gbps, delay: 1us}, {down: 2, up: 1, rate: 400Gbps, delay: 1us}, {down: 2, rate: 100Gbps, delay: 1us}]}}\n"
	dragonfly = "topology: {dragonfly: {p: 2, a: 2, h: 1, rate: 100Gbps, delay: 1us}}\n"
	drawn     = "topology: {graph: {rate: 40Gbps, delay: 2us, nodes: [{name: a}, {name: b}, {name: c}, {name: s, kind: switch}], links: [{a: a, b: s}, {a: b, b: s}, {a: c, b: s}]}}\n"
	lossless  = "classes: [{name: storage, dscp: 26, lossless: true, match: {src: [0]}}]\n"
	transfer  = "workload: {transfers: [0 -> 2 10kB]}\n"
)

// autoCases has a case for each key that may be auto. The values are worked by hand: the
// network RTT of twoRates is four links and four back, 8 us, with 4150 B at 25 Gb/s
// (1.328 us, twice), at 100 Gb/s (332 ns, twice) and 64 B (20.48 and 5.12 ns), 11.3712 us.
// That is 8.57 packets at 25 Gb/s, so 9, and 34.25 at 100 Gb/s, so 35.
var autoCases = map[string]autoCase{
	"end":           {twoRates + transfer, "end: auto # when nothing is left to do"},
	"measure.to":    {twoRates + transfer, "  to: auto # the end of each flow"},
	"wall.dilation": {twoRates + transfer + "clock: wall\n", "  dilation: auto # 7"},

	"topology.fat_tree.tiers[].oversubscribed": {fatTree + transfer, "oversubscribed: auto # 0.5\n"},
	"topology.leaf_spine.spine_rate":           {oneRate + transfer, "spine_rate: auto # 25Gbps"},
	"topology.dragonfly.groups":                {dragonfly + transfer, "groups: auto # 3"},
	"topology.dragonfly.local_rate":            {dragonfly + transfer, "local_rate: auto # 100Gbps"},
	"topology.dragonfly.local_delay":           {dragonfly + transfer, "local_delay: auto # 1us"},
	"topology.dragonfly.global_rate":           {dragonfly + transfer, "global_rate: auto # 100Gbps"},
	"topology.dragonfly.global_delay":          {dragonfly + transfer, "global_delay: auto # 1us"},

	"topology.dumbbell.bottleneck_rate":     {"topology: {dumbbell: {left: 2, right: 2, rate: 25Gbps, delay: 1us}}\n" + transfer, "bottleneck_rate: auto # 25Gbps"},
	"topology.dumbbell.bottleneck_delay":    {"topology: {dumbbell: {left: 2, right: 2, rate: 25Gbps, delay: 3us}}\n" + transfer, "bottleneck_delay: auto # 3us"},
	"topology.parking_lot.bottleneck_rate":  {"topology: {parking_lot: {hops: 2, rate: 25Gbps, delay: 1us}}\n" + transfer, "bottleneck_rate: auto # 25Gbps"},
	"topology.parking_lot.bottleneck_delay": {"topology: {parking_lot: {hops: 2, rate: 25Gbps, delay: 3us}}\n" + transfer, "bottleneck_delay: auto # 3us"},
	"topology.ring.ring_rate":               {"topology: {ring: {switches: 3, rate: 25Gbps, delay: 1us}}\n" + transfer, "ring_rate: auto # 25Gbps"},
	"topology.ring.ring_delay":              {"topology: {ring: {switches: 3, rate: 25Gbps, delay: 3us}}\n" + transfer, "ring_delay: auto # 3us"},
	"topology.rail.group":                   {"topology: {rail: {servers: 3, nics: 2, spines: 1, rate: 25Gbps, delay: 3us}}\n" + transfer, "group: auto # 3"},
	"topology.rail.spine_rate":              {"topology: {rail: {servers: 3, nics: 2, spines: 1, rate: 25Gbps, delay: 3us}}\n" + transfer, "spine_rate: auto # 25Gbps"},
	"topology.rail.spine_delay":             {"topology: {rail: {servers: 3, nics: 2, spines: 1, rate: 25Gbps, delay: 3us}}\n" + transfer, "spine_delay: auto # 3us"},
	"topology.graph.links[].rate":           {drawn + transfer, "rate: auto # 40Gbps"},
	"topology.graph.links[].delay":          {drawn + transfer, "delay: auto # 2us"},
	"topology.netbench.host_rate":           {"topology: {netbench: {file: testdata/pair.topology, rate: 40Gbps, delay: 2us}}\nworkload: {transfers: [0 -> 1 1kB]}\n", "host_rate: auto # 40Gbps"},
	"topology.netbench.host_delay":          {"topology: {netbench: {file: testdata/pair.topology, rate: 40Gbps, delay: 2us}}\nworkload: {transfers: [0 -> 1 1kB]}\n", "host_delay: auto # 2us"},

	"links.queue":         {twoRates + transfer, "  queue: auto # 37.35kB at 25Gbps, 145.25kB at 100Gbps"},
	"links.control_queue": {twoRates + transfer, "  control_queue: auto # 74.7kB at 25Gbps, 290.5kB at 100Gbps"},
	"links.aqm.threshold": {twoRates + transfer + "links: {aqm: step}\n", "    threshold: auto # 20.75kB at 25Gbps, 72.625kB at 100Gbps"},
	// The time of 8.3 kB at 25 Gb/s, and of 29.05 kB at 100 Gb/s.
	"links.aqm.target":      {twoRates + transfer + "links: {aqm: pie}\n", "    target: auto # 2.656us at 25Gbps, 2.324us at 100Gbps"},
	"links.aqm.update":      {twoRates + transfer + "links: {aqm: {name: pie, target: 4us}}\n", "    update: auto # 4us"},
	"links.aqm.burst":       {twoRates + transfer + "links: {aqm: {name: pie, target: 4us}}\n", "    burst: auto # 40us"},
	"links.trim_threshold":  {twoRates + transfer, "  trim_threshold: auto # 37.35kB at 25Gbps, 145.25kB at 100Gbps"},
	"links.buffer.reserved": {twoRates + transfer + "links: {buffer: {shared: 1MB}}\n", "    reserved: auto # 4.15kB"},
	"links.pfc.xoff":        {twoRates + transfer + lossless, "    xoff: auto # 37.35kB at 25Gbps, 145.25kB at 100Gbps"},
	"links.pfc.xon":         {twoRates + transfer + lossless, "    xon: auto # 29.05kB at 25Gbps, 136.95kB at 100Gbps"},
	// Two full packets, and what comes in 2 us and the time of a full packet and of 64 B:
	// 3.34848 us at 25 Gb/s, 10,464 B; 2.33712 us at 100 Gb/s, 29,214 B.
	"links.pfc.headroom": {twoRates + transfer + lossless, "    headroom: auto # 18.765kB at 25Gbps, 37.515kB at 100Gbps"},
	"classes[].dscp":     {twoRates + transfer + "classes: [{name: default}]\n", "    dscp: auto # 10"},
	"classes[].queue":    {twoRates + transfer + "classes: [{name: default}]\n", "    queue: auto # 37.35kB at 25Gbps, 145.25kB at 100Gbps"},
	"classes[].ecn.low":  {twoRates + transfer + "classes: [{name: default, ecn: {enabled: true}}]\n", "      low: auto # 8.3kB at 25Gbps, 29.05kB at 100Gbps"},
	"classes[].ecn.high": {twoRates + transfer + "classes: [{name: default, ecn: {enabled: true}}]\n", "      high: auto # 33.2kB at 25Gbps, 116.2kB at 100Gbps"},

	"links.ecn.low":  {twoRates + transfer, "    low: auto # 8.3kB at 25Gbps, 29.05kB at 100Gbps"},
	"links.ecn.high": {twoRates + transfer, "    high: auto # 33.2kB at 25Gbps, 116.2kB at 100Gbps"},
	"links.aqm.low":  {twoRates + transfer + "links: {ecn: {low: 9kB}}\n", "    low: auto # 9kB"},
	"links.aqm.high": {twoRates + transfer + "links: {aqm: none}\n", "    high: auto # not used: no port marks"},

	"csig.decode":            {twoRates + transfer + "csig: {format: compact, quantisers: {delay: delay-geo}}\n", "  decode: auto # abw lower, abw-c midpoint, delay geometric, nqd midpoint"},
	"csig.max_age":           {twoRates + transfer + "csig: {format: compact}\n", "  max_age: auto # twice the last RTT of each flow"},
	"hosts.cc.cwnd":          {twoRates + transfer, "    cwnd: auto # 53.302kB"},          // 1.5 BDP at 25 Gb/s
	"hosts.cc.target_qdelay": {twoRates + transfer, "    target_qdelay: auto # 8.5284us"}, // 0.75 network RTT
	// 2.348 us and 3.337 us of idle links, with 2 packets and 1 packet of 1.328 us; twice and
	// 1.25 times 11.3712 us; 2 BDP of 35,535 B in packets.
	"hosts.cc.base_target": {twoRates + transfer + "hosts: {cc: swift}\n", "    base_target: auto # 7.01584us"},
	"hosts.cc.flow_range":  {twoRates + transfer + "hosts: {cc: swift}\n", "    flow_range: auto # 22.7424us"},
	"hosts.cc.hop_target":  {twoRates + transfer + "hosts: {cc: swift}\n", "    hop_target: auto # 3.66512us"},
	"hosts.cc.host_target": {twoRates + transfer + "hosts: {cc: swift}\n", "    host_target: auto # 14.214us"},
	"hosts.cc.max_cwnd":    {twoRates + transfer + "hosts: {cc: swift}\n", "    max_cwnd: auto # 17.12"},
	// 10 MB, 40 Mb/s and ten times that at 40 Gb/s, in proportion.
	"hosts.cc.byte_counter": {twoRates + transfer + "hosts: {cc: dcqcn}\n", "    byte_counter: auto # 6.25MB"},
	"hosts.cc.rate_ai":      {twoRates + transfer + "hosts: {cc: dcqcn}\n", "    rate_ai: auto # 25Mbps"},
	"hosts.cc.rate_hai":     {twoRates + transfer + "hosts: {cc: dcqcn}\n", "    rate_hai: auto # 250Mbps"},
	"hosts.cc.min_rate":     {twoRates + transfer + "hosts: {cc: dcqcn}\n", "    min_rate: auto # 25Mbps"},
	"hosts.cc.delay_k":      {twoRates + transfer + "csig: {format: wide}\nhosts: {cc: poseidon}\n", "    delay_k: auto # 1.624457us"}, // a seventh of the network RTT
	"hosts.cc.delay_p":      {twoRates + transfer + "csig: {format: wide}\nhosts: {cc: poseidon}\n", "    delay_p: auto # 34.1136us"},  // three of them
	// A tenth of 5 % of the BDP: 177.7 B.
	"hosts.cc.window_ai": {twoRates + transfer + "csig: {format: wide}\nhosts: {cc: csig-hpcc}\n", "    window_ai: auto # 177B"},
	"hosts.cc.hold":      {twoRates + transfer + "csig: {format: wide, interval: 30us}\nhosts: {cc: csig-share}\n", "    hold: auto # 300us"},
	"hosts.cc.reference": {twoRates + transfer + "csig: {format: wide}\nhosts: {cc: {name: csig-share, weight: remaining}}\n", "    reference: auto # "},
	"hosts.cc.rate":      {twoRates + transfer + "hosts: {cc: constant}\n", "    rate: auto # 25Gbps"},
	"hosts.lb.freeze":    {twoRates + transfer + "hosts: {lb: reps}\n", "    freeze: auto # 10ms"},
	"hosts.lb.gap":       {twoRates + transfer + "hosts: {lb: flowlet}\n", "    gap: auto # 11.3712us"},
	"hosts.lb.delay":     {twoRates + transfer + "hosts: {lb: plb}\n", "    delay: auto # 19.8996us"}, // 1.75 of it
	"hosts.lb.max_age":   {twoRates + transfer + "csig: {format: wide}\nhosts: {lb: csig-weighted}\n", "    max_age: auto # "},
	"faults[].for":       {twoRates + transfer + "faults: [{kind: down, links: tor0-agg0, at: 5us, until: 7us}]\n", "    for: auto # until 7us"},
	"faults[].until":     {twoRates + transfer + "faults: [{kind: down, links: tor0-agg0, at: 5us, for: 7us}]\n", "    until: auto # until 12us"},
	"faults[].rate":      {twoRates + transfer + "faults: [{kind: rate, links: tor0-agg0, share: 0.25}]\n", "    rate: auto # by share, or not used"},

	"hosts.min_rto": {twoRates + transfer, "  min_rto: auto # 86.712us"}, // 15 us and six times 11.952 us

	"telemetry.disk":              {twoRates + transfer, "  disk: auto # 128MB, of labs\n"},
	"telemetry.interval":          {twoRates + transfer + "telemetry: {interval: auto}\n", "  interval: auto # 1us\n"},
	"workload.start_unit":         {twoRates + "workload: {file: testdata/unit.cm}\n", "  start_unit: auto # us"},
	"workload.control_delay":      {twoRates + transfer, "  control_delay: auto # 1us"},
	"applications.queue":          {twoRates + "applications: {hosts: [0, 1]}\nclock: wall\n", "  queue: auto # 37.35kB"},
	"jobs[].ranks":                {twoRates + oneJob("collective: all_to_all"), "    ranks: auto # 4"},
	"jobs[].local.delay":          {twoRates + oneJob("collective: all_to_all"), "      delay: auto # 1us"},
	"jobs[].schedule.offset":      {twoRates + oneJob("start: 9ms, schedule: {period: 100ms}, profile: vgg16"), "      offset: auto # 50ms"}, // 150 ms less a period
	"jobs[].schedule.correction":  {twoRates + oneJob("schedule: {period: 100ms}, profile: vgg16"), "      correction: auto # 90ms"},
	"jobs[].placement":            {twoRates + oneJob("collective: all_to_all"), "    placement: auto # packed"},
	"jobs[].pipeline.stages":      {twoRates + oneJob("pipeline: gpipe"), "      stages: auto # 4"},
	"jobs[].pipeline.backward":    {twoRates + oneJob("pipeline: 1f1b"), "      backward: auto # 2ms"},
	"jobs[].pipeline.weight":      {twoRates + oneJob("pipeline: zb-h1"), "      weight: auto # 1ms"},
	"jobs[].profile.compute":      {twoRates + oneJob("profile: vgg16"), "      compute: auto # 141ms"},
	"jobs[].profile.bytes":        {twoRates + oneJob("profile: {compute: 1ms}"), "      bytes: auto # 100MB"},
	"jobs[].profile.algorithm":    {twoRates + oneJob("profile: {}"), "      algorithm: auto # ring"},
	"jobs[].profile.local":        {twoRates + oneJob("profile: {}"), "      local: auto # 1"},
	"jobs[].model.layers":         {twoRates + oneJob("model: gpt-tiny"), "      layers: auto # 4"},
	"jobs[].model.hidden":         {twoRates + oneJob("model: gpt-tiny"), "      hidden: auto # 64"},
	"jobs[].model.ffn":            {twoRates + oneJob("model: {preset: gpt-tiny, hidden: 128}"), "      ffn: auto # 256"},
	"jobs[].model.heads":          {twoRates + oneJob("model: gpt-tiny"), "      heads: auto # 4"},
	"jobs[].model.kv_heads":       {twoRates + oneJob("model: gpt-tiny"), "      kv_heads: auto # none"},
	"jobs[].model.sequence":       {twoRates + oneJob("model: gpt-tiny"), "      sequence: auto # 64"},
	"jobs[].model.vocabulary":     {twoRates + oneJob("model: gpt-tiny"), "      vocabulary: auto # 512"},
	"jobs[].model.experts":        {twoRates + oneJob("model: moe-tiny"), "      experts: auto # 8"},
	"jobs[].model.top_k":          {twoRates + oneJob("model: moe-tiny"), "      top_k: auto # 2"},
	"jobs[].model.parallel.dp":    {twoRates + oneJob("model: {preset: gpt-tiny, parallel: {tp: 2}}"), "        dp: auto # 2"},
	"jobs[].model.microbatches":   {twoRates + oneJob("model: {preset: gpt-tiny, global_batch: 12}"), "      microbatches: auto # 3"},
	"jobs[].model.global_batch":   {twoRates + oneJob("model: {preset: gpt-tiny, parallel: {pp: 2}}"), "      global_batch: auto # 8"},
	"jobs[].model.forward":        {twoRates + oneJob("model: gpt-tiny"), "      forward: auto # by tflops and mfu"},
	"jobs[].model.backward":       {twoRates + oneJob("model: {preset: gpt-tiny, forward: 1us}"), "      backward: auto # 2us"},
	"jobs[].model.algorithms.tp":  {twoRates + oneJob("model: gpt-tiny"), "        tp: auto # ring"},
	"jobs[].model.algorithms.dp":  {twoRates + oneJob("model: gpt-tiny"), "        dp: auto # ring"},
	"jobs[].model.local":          {twoRates + oneJob("ranks_per_host: 2, model: gpt-tiny"), "      local: auto # 2"},
	"jobs[].trace.time_unit":      {twoRates + oneJob("trace: ../../experiment/testdata/ring.goal"), "      time_unit: auto # the format's"},
	"jobs[].trace.algorithm":      {twoRates + oneJob("trace: ../../experiment/testdata/ring.goal"), "      algorithm: auto # of each collective its own"},
	"jobs[].collective.algorithm": {twoRates + oneJob("collective: all_to_all"), "      algorithm: auto # direct"},
	"jobs[].collective.local":     {twoRates + oneJob("ranks_per_host: 2, collective: all_to_all"), "      local: auto # 2"},
	"generators[].count":          {twoRates + "generators: [{host: 0, to: 2, rate: 1Gbps}]\nend: 1ms\n", "    count: auto # without end"},
	"generators[].every":          {twoRates + "generators: [{host: 0, to: 2, rate: 1Gbps}]\nend: 1ms\n", "    every: auto # 12us on average"},
	"generators[].rate":           {twoRates + "generators: [{host: 0, to: 2, every: 12us}]\nend: 1ms\n", "    rate: auto # 1Gbps"},
}

// oneJob returns the section jobs with one job.
func oneJob(keys string) string { return "jobs: [{name: j, " + keys + "}]\n" }

// resolved returns the text of an experiment as the run folder has it.
func resolved(t *testing.T, text string) (*experiment.Set, string) {
	t.Helper()
	set := parseText(t, "schema: 1\nname: resolved\n"+text)
	jobs, err := compile(set, Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := mode{Way: set.Base.Way(), wall: &wall.Clock{Dilation: 7}}
	out, err := set.Base.MarshalWith(remarks(&work{set: set, mode: m, jobs: jobs}))
	if err != nil {
		t.Fatal(err)
	}
	return set, string(out)
}

// Issue 10, item 8: the experiment of a run folder says what each auto became, and runs
// again as it is. A key that may be auto and has no case here fails.
func TestAutoIsResolved(t *testing.T) {
	checkout.SkipSlowRace(t)
	paths := experiment.AutoPaths(experiment.StandardTables())
	for _, path := range paths {
		c, ok := autoCases[path]
		if !ok {
			t.Errorf("%s may be auto, and nothing here says what that becomes; add it to plan.autoValues and to autoCases", path)
			continue
		}
		set, text := resolved(t, c.text)
		if !strings.Contains(text, c.line) {
			t.Errorf("%s: no line %q in\n%s", path, c.line, text)
		}
		again := parseText(t, text)
		if diff := cmp.Diff(set.Base, again.Base); diff != "" {
			t.Errorf("%s: the experiment that the text resolves to (-want +got):\n%s", path, diff)
		}
		for i, line := range strings.Split(text, "\n") {
			if strings.HasSuffix(line, ": auto") {
				t.Errorf("%s: line %d, %q, does not say what auto became", path, i+1, line)
			}
		}
	}
	if len(paths) != len(autoCases) {
		t.Errorf("%d keys may be auto, there are %d cases", len(paths), len(autoCases))
	}
}

// Where variants differ, the comment says which has what.
func TestAutoOfVariants(t *testing.T) {
	_, text := resolved(t, twoRates+transfer+`
variants:
  small: {}
  jumbo: {links.mtu: 9000B, hosts.min_rto: 1ms}
  other: {links.queue: 50kB}
  third: {links: {mtu: 9000B, ecn: {low: auto}}}
`)
	for _, line := range []string{
		"\n  queue: auto # small: 37.35kB at 25Gbps, 145.25kB at 100Gbps; jumbo, third: 54kB at 25Gbps, ",
		"\n  min_rto: auto # small: 86.712us; other: 111us; third: ",
		"\nend: auto # when nothing is left to do\n",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("no %q in\n%s", line, text)
		}
	}
}

// Issue 10, item 8: the manifest of a run has the parameters of each variant.
func TestManifestHasParameters(t *testing.T) {
	f := runFolder(t, "schema: 1\nname: parameters\n"+twoRates+"workload: {transfers: [0 -> 2 10kB, 1 -> 0 10kB, 1 -> 3 10kB]}\nlinks: {ecn: {low: 9kB}}\n")
	marking := func(high string) map[string]string { return map[string]string{"low": "9kB", "high": high} }
	cc := map[string]string{
		"base_rtt_from_nack": "true", "csig": "none", "csig_unloaded": "subtract", "cwnd": "53.302kB", "delay_alpha": "0.0125", "fair_increase": "5", "gamma": "0.8",
		"quick_adapt": "true", "target_qdelay": "8.5284us",
	}
	flow := runfolder.FlowClass{
		RateBPS: 25e9, NetworkRTTUS: 11.3712, RTOUS: 86.712, CC: "nscc", CCParameters: cc,
		Constants: map[string]float64{"target_qdelay_us": 8.5284}, LB: "mixed", LBParameters: map[string]string{"paths": "64"},
		WindowBytes: 53302, WindowMinBytes: 4150, WindowMaxBytes: 53302, MTUBytes: 4150, HeaderBytes: 64, MSSBytes: 4086, AckEveryBytes: 16384,
	}
	far, near := flow, flow
	far.Flows, far.First, far.BaseRTTUS, far.BaseRTTMaxUS = 2, "0-2", 11.3712, 11.3712
	near.Flows, near.First, near.BaseRTTUS, near.BaseRTTMaxUS = 1, "1-0", 6.69696, 6.69696 // two links: 4 us, 1.328 us and 20.48 ns twice
	want := &runfolder.Parameters{
		Ports: []runfolder.PortClass{
			{Tier: "host", Direction: "up", PeerTier: "tor", Ports: 4, RateBPS: 25e9, BDPBytes: 37350},
			{Tier: "tor", Direction: "down", PeerTier: "host", Ports: 4, RateBPS: 25e9, BDPBytes: 37350, QueueBytes: 37350, ControlQueueBytes: 74700,
				AQM: "linear", AQMParameters: marking("33.2kB"), ECNLowBytes: 9000, ECNHighBytes: 33200},
			{Tier: "tor", Direction: "up", PeerTier: "agg", Ports: 4, RateBPS: 100e9, BDPBytes: 145250, QueueBytes: 145250, ControlQueueBytes: 290500,
				AQM: "linear", AQMParameters: marking("116.2kB"), ECNLowBytes: 9000, ECNHighBytes: 116200},
			{Tier: "agg", Direction: "down", PeerTier: "tor", Ports: 4, RateBPS: 100e9, BDPBytes: 145250, QueueBytes: 145250, ControlQueueBytes: 290500,
				AQM: "linear", AQMParameters: marking("116.2kB"), ECNLowBytes: 9000, ECNHighBytes: 116200},
		},
		Flows: []runfolder.FlowClass{far, near},
	}
	if diff := cmp.Diff(f.Manifest.Variants[0].Parameters, want); diff != "" {
		t.Errorf("parameters (-got +want):\n%s", diff)
	}
	text, err := os.ReadFile(filepath.Join(f.Dir, runfolder.ExperimentFile))
	if want := "queue: auto # 37.35kB at 25Gbps, 145.25kB at 100Gbps\n"; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("%v: experiment.yaml has no %q:\n%s", err, want, text)
	}
}
