package cli

import (
	"bytes"
	"encoding/json"
	"html"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/perform"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// noted is an experiment that uses the signals as they are meant.
const noted = `schema: 1
name: noted
topology: {k_ary: {k: 4, rate: 100Gbps, delay: 1us}}
csig: {format: compact, quantisers: {delay: delay-lin-500ns}}
hosts: {cc: {name: nscc, csig: max-delay}}
workload: {transfers: [0 -> 13 50kB]}
`

// notedPrograms is one whose hosts run programs.
const notedPrograms = `schema: 1
name: noted
topology: {k_ary: {k: 4, rate: 100Mbps, delay: 1ms}}
csig: {format: wide, interval: 50ms}
runtime: netns
clock: wall
applications: {hosts: [0, 13], signals: [delay, abw], programs: [{host: 0, run: "true"}]}
`

// abw are the settings with which hosts ask for available bandwidth.
const abw = "hosts.cc.csig=none; csig.signal=abw; "

// lossless is the setting of a lossless class.
const lossless = "classes=[{name: default, lossless: true}]"

// initiated are the settings with which ports put tags on for hosts, without their end.
const initiated = "csig.init=none; hosts.cc.csig=none; csig.ports=[{to: host, policy: terminate, init: every, signals: [delay]}, "

// crowded is a fabric whose flow from rack 0 to rack 2 shares an uplink with four others, and
// a downlink with four more.
const crowded = "hosts.lb=reps; workload.transfers=[0 -> 2 9MB, 0 -> 4 9MB, 1 -> 5 9MB, 0 -> 4 9MB, 1 -> 5 9MB, 6 -> 2 9MB, 7 -> 3 9MB, 6 -> 3 9MB, 7 -> 2 9MB]; topology={leaf_spine: {leaves: 4, spines: 1, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}}; "

// misleading are the settings that make results look like something that they are not,
// and the nearest ones that do not.
var misleading = []struct {
	rule, settings, sound string
	programs              bool
	note                  string // a part of it
	lossless              bool   // there is a lossless class, of which both have a note
}{
	{rule: "target beyond the last edge", settings: "csig.quantisers.delay=delay-lin-250ns", sound: "csig.quantisers.delay=delay-lin(350ns)",
		note: "csig.quantisers.delay: the target queueing delay of nscc, 10.517us and 332ns of an idle hop, lies beyond the last edge of the quantiser, 7.75us; every greater delay reads as 7.875us"},
	{rule: "a higher target", settings: "hosts.cc.target_qdelay=15200ns", sound: "hosts.cc.target_qdelay=15160ns",
		note: "15.2us and 332ns of an idle hop, lies beyond the last edge of the quantiser, 15.5us"},
	{rule: "a target that holds the idle hop", settings: "hosts.cc.csig_unloaded=keep; csig.quantisers.delay=delay-lin(339ns)", sound: "hosts.cc.csig_unloaded=keep; csig.quantisers.delay=delay-lin(340ns)",
		note: "of nscc, 10.517us, lies beyond the last edge of the quantiser, 10.509us"},
	{rule: "the last edge of a wide tag", settings: "csig.format=wide; csig.quantisers.delay=linear(1ns); hosts.cc.target_qdelay=1100us", sound: "csig.format=wide; csig.quantisers.delay=linear(2ns); hosts.cc.target_qdelay=1100us",
		note: "lies beyond the last edge of the quantiser, 1.048575ms"},
	{rule: "coarse steps", settings: "csig.quantisers.delay=delay-lin-5us", sound: "csig.quantisers.delay=delay-lin-3us",
		note: "lies in a range of the quantiser that goes from 10us to 15us, all of which reads as 12.5us"},
	{rule: "steps wider than the target", settings: "csig.quantisers.delay=delay-lin-16us", sound: "csig.quantisers.delay=delay-geo",
		note: "that goes from 0s to 16us, all of which reads as 8us"},
	{rule: "terminate at the last hop", settings: "csig.ports=[{switch: tor6, port: 1, policy: terminate}]", sound: "csig.ports=[{switch: tor6, port: 0, policy: terminate}]",
		note: "csig.ports: with policy terminate at port tor6-h13, towards receivers, delay tags end there, and the receiver has no tag to return to the sender"},
	{rule: "strip at the last hop", settings: "csig.ports=[{switch: tor6, type: delay, policy: strip}]", sound: "csig.ports=[{switch: tor6, type: abw, policy: strip}]",
		note: "csig.ports: with policy strip at port tor6-h13, towards receivers"},
	{rule: "pass at the last hop", settings: "csig.ports=[{switch: tor6, policy: pass}]", sound: "csig.ports=[{switch: tor6, policy: pass}, {switch: tor6, policy: update}]",
		note: "csig.ports: with policy pass at port tor6-h13, towards receivers"},
	{rule: "strip at the last hop of programs", settings: "csig.ports=[{switch: tor6, port: 1, type: abw, policy: strip}]", sound: "csig.ports=[{switch: tor6, port: 1, type: abw, policy: terminate}]", programs: true,
		note: "csig.ports: with policy strip at port tor6-h13, towards receivers, abw samples do not cover the last hop"},
	{rule: "pass inside", settings: "csig.ports=[{switch: core*, policy: pass}]", sound: "csig.ports=[{switch: tor5, policy: pass}]", // no path of the transfer
		note: "csig.ports: with policy pass at 4 ports (core0-agg6, core1-agg7, core2-agg6, …), delay samples do not cover the queues there"},
	{rule: "strip inside", settings: "csig.ports=[{switch: agg6, policy: strip}]", sound: "csig.ports=[{switch: agg4, policy: strip}]",
		note: "csig.ports: with policy strip at port agg6-tor6, delay tags end inside the fabric"},
	{rule: "no tags", settings: "csig.init=none", sound: "csig.init=probe/20us",
		note: "csig.init: nscc asks for delay, but no packet starts with a tag"},
	{rule: "no tags on some flows", settings: "csig.policies=[{match: {flows: [0-13]}, init: none}]; workload.transfers=[0 -> 13 50kB, 1 -> 12 50kB]", sound: "csig.policies=[{match: {flows: [0-13]}, init: 1/4}]; workload.transfers=[0 -> 13 50kB, 1 -> 12 50kB]",
		note: "csig.policies: nscc asks for delay, but no packet of 1 of 2 transfers starts with a tag"},
	{rule: "a sender outside the domain", settings: "csig.ports=[{switch: tor0, port: 0, outside: true}]", sound: "csig.ports=[{switch: tor0, port: 1, outside: true}]",
		note: "csig.ports: nscc asks for delay, but the tags of hosts outside the domain are removed at port tor0-h0"},
	{rule: "telemetry of some flows", settings: "csig.policies=[{match: {flows: [0-13]}, signals: {abw: 1}}]; csig.interval=5us", sound: "csig.policies=[{match: {flows: [0-13]}, signals: {nqd: 1}}]; csig.interval=5us",
		note: "csig.interval: a window of 5us is shorter than the network RTT, 14.02272us; abw swings"},
	{rule: "tags that ports put on end at ports", settings: "", sound: "csig.init=none; hosts.cc.csig=none; csig.ports=[{to: host, policy: terminate, init: every, signals: [delay]}]"},
	{rule: "tags that ports put on and a policy that does not update", settings: initiated + "{switch: core*, policy: pass}]", sound: initiated + "{switch: tor5, policy: pass}]",
		note: "csig.ports: with policy pass at 4 ports (core0-agg6, core1-agg7, core2-agg6, …), delay tags that ports put on do not cover the queues there; use update there"},
	{rule: "tags that ports put on and the last hop", settings: initiated + "{switch: tor6, policy: pass}]", sound: initiated + "{switch: agg4, policy: pass}]",
		note: "csig.ports: with policy pass at port tor6-h13, delay tags that ports put on go to a host, and do not cover the last hop: an incast there is in none of them; use terminate there"},
	{rule: "tags that ports put on end without a sample", settings: initiated + "{switch: agg6, policy: strip}]", sound: initiated + "{switch: agg6, policy: terminate}]",
		note: "csig.ports: with policy strip at port agg6-tor6, delay tags that ports put on end without a sample; use terminate there"},
	{rule: "a class without transfers", settings: "classes=[{name: bulk, dscp: 8}]", sound: "classes=[{name: bulk, dscp: 8, match: {flows: [0-13]}}]",
		note: "classes: no transfer is in class bulk; its match says which are"},
	{rule: "flow control without a lossless class", settings: "links.pfc.xoff=100kB; links.pfc.xon=90kB", sound: "",
		note: "links.pfc: no class is lossless, so nothing is paused"},
	{rule: "a window below the RTT", settings: abw + "csig.interval=14us", sound: abw + "csig.interval=15us",
		note: "csig.interval: a window of 14us is shorter than the network RTT, 14.02272us"},
	{rule: "a window of many RTTs", settings: abw + "csig.interval=2ms", sound: abw + "csig.interval=1ms",
		note: "csig.interval: a window of 2ms averages over 142 network RTTs"},
	{rule: "few frames in a window", settings: abw + "csig.signal=abw-c; topology.k_ary.rate=1Gbps; links.mtu=9000B; csig.interval=700us", sound: abw + "csig.signal=abw-c; topology.k_ary.rate=1Gbps; links.mtu=9000B; csig.interval=720us",
		note: "csig.interval: a window of 700us is shorter than 10 full frames of 9kB at the slowest port, 1Gbps; abw-c there takes few values; use at least 720us"},
	{rule: "few frames of programs in a window", settings: "csig.interval=1ms", sound: "csig.interval=2ms", programs: true,
		note: "csig.interval: a window of 1ms is shorter than 10 full frames of 1.518kB at the slowest port, 100Mbps; abw there"},
	{rule: "shared locators", settings: "csig.format=compact", sound: "csig.locators=registry", programs: true,
		note: "csig.locators: 80 of 80 switch ports share their locators with others, so that bottleneck_share cannot say which of them is the bottleneck; use csig.format: wide"},
	{rule: "last hops that share locators, for LB", settings: "hosts.lb=csig-weighted; csig.locators={scheme: structured, widths: {tier: 0, direction: 0, switch: 3, port: 3}}", sound: "hosts.lb=csig-weighted",
		note: "csig.locators: 16 ports (tor0-h0, tor0-h1, tor1-h2, …) towards receivers and other ports have the same locators, so that senders take a bottleneck, or a trim, there for one inside the fabric; give the tier and the direction bits"},
	{rule: "last hops that share locators, for trims", settings: "hosts.trim_place=locator; csig.locators={scheme: structured, widths: {tier: 0, direction: 0, switch: 3, port: 3}}", sound: "csig.locators={scheme: structured, widths: {tier: 0, direction: 0, switch: 3, port: 3}}",
		note: "towards receivers and other ports have the same locators"},
	{rule: "ports that pauses stop", settings: abw + lossless, sound: abw + lossless + "; csig.abw=pause-aware", lossless: true,
		note: "csig.abw: a port that is paused sends nothing, and so its abw reads as free"},
	{rule: "one port and strict classes", settings: abw + `classes=[{name: high, dscp: 20, strict: true, match: {flows: ["*"]}}]`, sound: abw + `classes=[{name: high, dscp: 20, strict: true, match: {flows: ["*"]}}]; csig.abw=per-class`,
		note: "csig.abw: abw is that of the port, and there are 2 classes: each reads what all of them leave, not what it could take from classes behind it"},
	{rule: "a slow port and a wide quantiser", settings: abw + "csig.quantisers.abw=abw-geo(2600Gbps)", sound: abw + "csig.quantisers.abw=abw-geo(2500Gbps)",
		note: "csig.quantisers.abw: at the slowest port, 100Gbps, all that is free below 10.2Gbps reads as 0, the first range of a quantiser for faster ports"},
	{rule: "queues without a limit", settings: "hosts.cc.csig=none; csig.signal=nqd; " + lossless, sound: "hosts.cc.csig=none; csig.signal=nqd; links.pfc.xoff=20kB; " + lossless, lossless: true,
		note: "csig.nqd: a lossless class has no limit of its queue: nqd of class default at port"},
	{rule: "small steps of csig-hpcc", settings: "hosts.cc=csig-hpcc; csig.nqd=drain", sound: "hosts.cc={name: csig-hpcc, window_ai: 9kB}; csig.nqd=drain",
		note: "hosts.cc.window_ai: csig-hpcc steps by 876B, 0.5 % of a window of 42 packets"},
	{rule: "small windows of csig-hpcc", settings: "hosts.cc={name: csig-hpcc, window_ai: 9kB}; csig.nqd=drain; topology.k_ary.rate=25Gbps", sound: "hosts.cc={name: csig-hpcc, window_ai: 9kB}; csig.nqd=drain; topology.k_ary.rate=50Gbps",
		note: "csig-hpcc steps by 9kB"},
	{rule: "several crowded bottlenecks", settings: crowded + "topology.leaf_spine.delay=500ns", sound: crowded + "topology.leaf_spine.delay=2us",
		note: "hosts.cc.csig: flows over several bottlenecks, such as 0-2, have 3.2 packets of bandwidth-delay product each there (16 packets, 5.0 flows per link): where that was measured, CSIG max(Delay)"},
	{rule: "packets of another size, which were not measured", settings: "", sound: crowded + "topology.leaf_spine.delay=500ns; links.mtu=1500B"},
	{rule: "another control law, which was not measured", settings: "", sound: crowded + "topology.leaf_spine.delay=500ns; hosts.cc.fair_increase=0"},
	{rule: "one crowded bottleneck", settings: "", sound: "topology={leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 4, rate: 100Gbps, delay: 500ns}}; workload.transfers=[0 -> 4 9MB, 1 -> 5 9MB, 2 -> 6 9MB, 3 -> 7 9MB, 0 -> 5 9MB]"},
	{rule: "no tags, so nothing misleads", settings: "", sound: "csig.format=none; hosts.cc.csig=none; csig.quantisers.delay=delay-lin-250ns; csig.interval=1us; csig.init=none"},
	{rule: "only signals in use mislead", settings: "", sound: "csig.interval=1us; csig.quantisers.nqd=edges(0,50%)"},
	{rule: "CC that uses no signal", settings: "", sound: "hosts.cc.csig=none; csig.quantisers.delay=delay-lin-250ns"},
}

// setFlags returns the flags of settings.
func setFlags(text string) (flags []string) {
	for _, setting := range strings.Split(text, "; ") {
		if setting != "" {
			flags = append(flags, "--set", setting)
		}
	}
	return flags
}

// noteLines returns the notes on standard error.
func noteLines(stderr string) (notes []string) {
	for line := range strings.Lines(stderr) {
		if text, ok := strings.CutPrefix(line, "note: "); ok {
			notes = append(notes, strings.TrimSpace(text))
		}
	}
	return notes
}

// Each misleading configuration has exactly its note in validate, in words and in JSON,
// in the run and at the top of the report in every form; the sound one next to it has
// none.
func TestMisleading(t *testing.T) {
	checkout.SkipLong(t)
	checkout.SkipSlowRace(t)
	for _, c := range misleading {
		t.Run(c.rule, func(t *testing.T) {
			file := write(t, "noted.yaml", noted)
			if c.programs {
				file = write(t, "noted.yaml", notedPrograms)
			}
			notes := func(settings string) []string {
				got := notesOf(t, file, settings, c.programs)
				if c.lossless {
					got = slices.DeleteFunc(got, func(note string) bool { return strings.HasPrefix(note, "links.pfc: for each lossless class") })
				}
				return got
			}
			if got := notes(c.sound); len(got) > 0 {
				t.Errorf("%s: notes %q, want none", c.sound, got)
			}
			if c.note == "" {
				return
			}
			got := notes(c.settings)
			if len(got) != 1 || !strings.Contains(got[0], c.note) {
				t.Errorf("%s: notes\n%s\nwant one:\n%s", c.settings, strings.Join(got, "\n"), c.note)
			}
		})
	}
}

// listener is a load balancer that wants available bandwidth.
type listener struct{ strideState }

func (l *listener) Wants() csig.Weights { return csig.Only(csig.ABWC) }

// A signal is in use when any customer wants it, not congestion control alone.
func TestMisleadingOfLoadBalancer(t *testing.T) {
	extend(t, &balance.Table, balance.Algorithm{
		Spec:  algorithm.Spec{Name: "listener", Doc: "wants a signal"},
		Build: func(balance.Flow, *algorithm.Reader) balance.Balancer { return &listener{strideState{step: 1}} },
	})
	file := write(t, "noted.yaml", noted)
	for _, c := range []struct{ settings, note string }{
		{"csig.interval=1us", ""}, // nobody asks for available bandwidth
		{"hosts.lb=listener", ""},
		{"hosts.lb=listener; csig.interval=1us", "csig.interval: a window of 1us is shorter than the network RTT, 14.02272us; abw-c swings"},
		{"hosts.lb=listener; hosts.cc.csig=none; csig.init=none", "csig.init: listener asks for abw-c, but no packet starts with a tag"},
		{"hosts.lb=listener; csig.ports=[{switch: tor6, type: abw-c, policy: pass}]", "with policy pass at port tor6-h13, towards receivers, abw-c samples"},
	} {
		var stderr bytes.Buffer
		if code := execute(t.Context(), command.Linked{}, newWork(command.Linked{}), append([]string{"validate", file}, setFlags(c.settings)...), nil, io.Discard, &stderr); code != command.ExitOK {
			t.Fatalf("%s: exit %d, %s", c.settings, code, stderr.String())
		}
		if notes := noteLines(stderr.String()); c.note == "" && len(notes) > 0 || c.note != "" && (len(notes) == 0 || !strings.Contains(notes[0], c.note)) {
			t.Errorf("%s: notes %q, want %q", c.settings, notes, c.note)
		}
	}
}

// notesOf returns the notes of an experiment, which validate, the run and its report
// must agree on.
func notesOf(t *testing.T, file, text string, programs bool) []string {
	t.Helper()
	flags := setFlags(text)
	command := func(args ...string) (stdout, stderr string) {
		t.Helper()
		var out, errs bytes.Buffer
		if code := execute(t.Context(), command.Linked{}, newWork(command.Linked{}), append(args, flags...), nil, &out, &errs); code != command.ExitOK {
			t.Fatalf("%q: exit %d, %s", args, code, errs.String())
		}
		return out.String(), errs.String()
	}
	_, stderr := command("validate", file)
	notes := noteLines(stderr)
	stdout, stderr := command("validate", file, "--json")
	var check struct{ Notes []string }
	if err := json.Unmarshal([]byte(stdout), &check); err != nil || !slices.Equal(check.Notes, notes) || !slices.Equal(noteLines(stderr), notes) {
		t.Errorf("%q: %v; notes in JSON %q, on standard error %q, want %q", text, err, check.Notes, stderr, notes)
	}
	var folder string
	if programs {
		folder = folderOfPrograms(t, file, flags)
	} else {
		folder = filepath.Join(t.TempDir(), "run")
		if _, stderr := command("run", file, "--out", folder); !slices.Equal(noteLines(stderr), notes) {
			t.Errorf("%q: notes of the run %q, want %q", text, stderr, notes)
		}
	}
	numbers, err := perform.Analyse(folder, nil)
	if err != nil {
		t.Fatal(err)
	}
	var of []string
	for _, n := range numbers.Notes {
		of = append(of, n.Text)
	}
	if !slices.Equal(of, notes) {
		t.Errorf("%q: notes in the report's numbers %q, want %q", text, of, notes)
	}
	flags = nil
	markdown, _ := command("report", folder, "--markdown")
	page, err := os.ReadFile(strings.TrimSpace(first(command("report", folder))))
	if err != nil {
		t.Fatal(err)
	}
	for _, note := range notes {
		if !strings.Contains(html.UnescapeString(string(page)), note) || !strings.Contains(strings.ReplaceAll(markdown, `\`, ""), strings.ReplaceAll(note, `\`, "")) {
			t.Errorf("%q: the report lacks %q:\n%.1500s", text, note, markdown)
		}
	}
	if len(notes) == 0 && (strings.Contains(string(page), `id="notes"`) || strings.Contains(markdown, "## Notes")) {
		t.Errorf("%q: the report has notes:\n%.1500s", text, markdown)
	}
	return notes
}

func first(a, _ string) string { return a }

// folderOfPrograms returns the folder of an experiment whose programs were not run, which
// takes a network: its manifest has the notes of the plan, as that of each run has.
func folderOfPrograms(t *testing.T, file string, flags []string) string {
	t.Helper()
	var overrides []experiment.Override
	for i := 1; i < len(flags); i += 2 {
		o, err := experiment.ParseSet("--set", flags[i])
		if err != nil {
			t.Fatal(err)
		}
		overrides = append(overrides, o)
	}
	set, err := experiment.Load(file, experiment.Options{Tables: experiment.StandardTables(), Override: overrides})
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Compile(set.Variants[0].Experiment, 1)
	if err != nil {
		t.Fatal(err)
	}
	w, err := runfolder.Create(filepath.Join(t.TempDir(), "run"), runfolder.Manifest{
		Name: "noted", IntervalUS: 100, Variants: []runfolder.Variant{{Name: "run", Notes: p.Notes}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(runfolder.NewSummary("noted")); err != nil {
		t.Fatal(err)
	}
	return w.Dir()
}

// told has fragments of the notes on shipped experiments that mislead nobody: of what was
// computed, and of what the format of a file cannot say.
var told = map[string][]string{
	"foreign.yaml":    {"nodes: agg0, agg1, agg2, foreign, get frames with their tags"},
	"pfc-incast":      {"links.pfc: for each lossless class a port has headroom of 37.515kB"},
	"priorities":      {"links.pfc: for each lossless class a port has headroom of 13.015kB"},
	"priorities.yaml": {"links.pfc: for each lossless class a port has headroom of 17.515kB"},
	"paused.yaml": {
		"links.pfc: for each lossless class a port has headroom of 18.765kB", "csig.abw: a port that is paused sends nothing", // which it shows
		"csig.nqd: a lossless class has no limit of its queue",
	},
	"tunnels.yaml": { // which it shows
		"variant inner: tunnels.tags: inner", "variant mixed: tunnels: 3 of 6 ends do not speak CSIG (tor3, tor4, tor5)",
		"variant mixed: csig.speakers: 7 of 10 switches speak CSIG; no sample covers the queues at 12 ports", "no sample covers the last hop at 12 ports",
	},
	"astra.yaml":   {"a GB/s is 2^30 bytes in a second"},
	"formats.yaml": {"variant apart: csig.ports: wide tags: with policy pass at 2 ports (tor0-agg0, agg0-tor1), abw samples do not cover the queues there"}, // which it shows
	"fabrics.yaml": {"1 of 16 transfers are between NICs of one server", "not part of the fabric: collector; 2 links that leave the fabric are left out", "images are not used", "a GB/s is 2^30 bytes in a second"},
	"moe":          {"variant even: job moe: at scale 0.001 a step takes at least", "variants skewed, csig: job moe: at scale 0.001 a step takes at least"},
	"rails.yaml":   {"fidelity: flow has no packets"},
	"training-step": { // which say what its scale leaves
		"variant rails: job gpt: at scale 0.0002 a step takes at least 1.21ms, of which 587us (48.6 %) are latency", "variants spread, csig: job gpt: at scale 0.0002 a step takes at least",
	},
	"validity": {"hosts.cc.csig: flows over several bottlenecks, such as 0-8, have 3.3 packets of bandwidth-delay product each there (28 packets, 8.5 flows per link)"}, // its subject
}

// What csiglab ships misleads nobody.
func TestShippedExperimentsAreSilent(t *testing.T) {
	checkout.SkipLong(t)
	checkout.SkipSlowRace(t)
	files, err := filepath.Glob(filepath.Join("..", "..", "docs", "examples", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v: no examples", err)
	}
	small, err := filepath.Glob(filepath.Join("..", "..", "docs", "examples", "small", "*.yaml"))
	if err != nil || len(small) == 0 {
		t.Fatalf("%v: no small examples", err)
	}
	for _, name := range slices.Concat(experiment.Names(), files, small) {
		var stderr bytes.Buffer
		code := execute(t.Context(), command.Linked{}, newWork(command.Linked{}), []string{"validate", name}, nil, io.Discard, &stderr)
		// A busy machine, or the race detector, leaves no time to measure how fast it is.
		said := strings.ReplaceAll(stderr.String(), "note: the prediction has the figures of another machine", "")
		want := told[filepath.Base(name)]
		unlike := slices.ContainsFunc(want, func(fragment string) bool { return !strings.Contains(said, fragment) })
		if code != command.ExitOK || unlike || strings.Count(said, "note: ") != len(want) {
			t.Errorf("%s: exit %d, %s; want notes with %q and no others", name, code, stderr.String(), want)
		}
	}
}
