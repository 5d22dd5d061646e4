package campaign

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

const (
	// circle is a ring in which every packet goes round the same way, over two links of it.
	circle = `
schema: 1
name: circle
topology: {ring: {switches: 4, hosts: 2, rate: 100Gbps, delay: 1us, routes: clockwise}}
workload: {transfers: [0 -> 4 2MB, 1 -> 5 2MB, 2 -> 6 2MB, 3 -> 7 2MB, 4 -> 0 2MB, 5 -> 1 2MB, 6 -> 2 2MB, 7 -> 3 2MB]}
hosts: {cc: {name: constant, cwnd: 1MB}, ack_every: 1B, min_rto: 10ms}
`
	allLossless = "classes: [{name: storage, dscp: 26, lossless: true, match: {flows: ['*']}}]\n"
)

// runOne runs an experiment of one variant and one seed.
func runOne(t *testing.T, text string, opts Options) *runfolder.Summary {
	t.Helper()
	opts.Out = filepath.Join(t.TempDir(), "run")
	return runIn(t, parseText(t, text), opts)
}

// overFrames has all nodes in one process, with real frames between them.
func overFrames() Options {
	return Options{Runtime: runtimes.Netns, Clock: runtimes.Lockstep, Processes: string(backend.OneProcess), CheckParity: true}
}

// Issue 12, must show 5: "a constructed deadlock is reported, not waited for", with the ports
// of its circle, in virtual time and over real frames. Without flow control, or where the
// circle is open, there is none.
func TestDeadlock(t *testing.T) {
	checkout.SkipSlowRace(t)
	const want = "deadlock: the ports s0-s1, s1-s2, s2-s3, s3-s0 wait for each other in a circle since "
	for name, opts := range map[string]Options{
		"virtual":  {},
		"lockstep": overFrames(),
	} {
		result := runOne(t, circle+allLossless, opts)
		if len(result.Reasons) != 1 || !strings.Contains(result.Reasons[0], want) || !strings.HasSuffix(result.Reasons[0], "in class storage") {
			t.Errorf("%s: invalid because of %q, want %s", name, result.Reasons, want)
		}
	}
	for name, text := range map[string]string{
		"lossy": circle,
		"open":  strings.Replace(circle, "5 -> 1 2MB, 6 -> 2 2MB, 7 -> 3 2MB", "5 -> 1 2MB", 1) + allLossless,
	} {
		if result := runOne(t, text, Options{}); len(result.Reasons) > 0 {
			t.Errorf("%s: invalid because of %q", name, result.Reasons)
		}
	}
}

// Headroom that is computed holds what comes in until a peer has stopped; with less than
// that many packets, some are lost, and the run says so.
func TestHeadroomIsWhatItTakes(t *testing.T) {
	const incast = fatTree16 + "workload: {incast: {dst: 0, fan_in: 15, size: 200kB}}\nhosts: {ack_every: 1B, min_rto: 10ms, cc: {name: constant, cwnd: 1MB}}\n" + allLossless
	result := runOne(t, incast, Options{})
	if len(result.Reasons) > 0 {
		t.Fatalf("invalid because of %q", result.Reasons)
	}
	m := result.Variants["run"].Metrics
	// Two packets, what comes in 2.33712 us at 100 Gb/s, and a byte: 37,515 B.
	if most := m["headroom_kb.max.storage"]; most < 8*4.15 || most > 37.515 || m["pauses.storage"] == 0 || m["drops"] != 0 {
		t.Errorf("headroom of %v kB in use, %v pauses, %v drops: want 33.2 to 37.5 kB: whole packets", most, m["pauses.storage"], m["drops"])
	}
	result = runOne(t, incast+"links: {pfc: {headroom: 33kB}}\n", Options{})
	if len(result.Reasons) != 1 || !strings.Contains(result.Reasons[0], "packets of a lossless class, for which there was no headroom; links.pfc.headroom is too small") {
		t.Errorf("with 33 kB of headroom invalid because of %q", result.Reasons)
	}
}

// Classes, shared memory and pause frames leave the same trace in virtual time and over
// real frames.
func TestClassesUnderLockstep(t *testing.T) {
	const text = fatTree16 + `
workload: {transfers: [1 -> 0 200kB, 2 -> 0 200kB, 3 -> 0 200kB, 4 -> 0 200kB, 8 -> 0 200kB, 9 -> 0 200kB, 12 -> 0 200kB, 8 -> 1 100kB, 5 -> 1 100kB]}
hosts: {ack_every: 1B, min_rto: 10ms}
csig: {format: wide, signal: nqd}
links: {header: 100B, buffer: {shared: 500kB, alpha: 0.5}}
classes: [{name: default, weight: 2}, {name: storage, dscp: 26, lossless: true, match: {src: [1, 2, 3, 8]}}, {name: urgent, dscp: 34, strict: true, match: {src: [4]}}]
`
	virtual := runOne(t, text, Options{})
	real := runOne(t, text, overFrames())
	for _, r := range []*runfolder.Summary{virtual, real} {
		if len(r.Reasons) > 0 {
			t.Errorf("invalid because of %q", r.Reasons)
		}
		run := r.Variants["run"]
		if run.TraceHash == "" || run.TraceHash != virtual.Variants["run"].TraceHash || run.Metrics["pauses.storage"] == 0 {
			t.Errorf("trace %s with %v pauses, in virtual time %s", run.TraceHash, run.Metrics["pauses.storage"], virtual.Variants["run"].TraceHash)
		}
	}
}

// What classes and links say is in the configuration of every port and host.
func TestClassesOfPlans(t *testing.T) {
	set := parseText(t, fatTree16+`
workload: {transfers: [0 -> 8 1MB, 1 -> 8 1MB, {src: 2, dst: 9, size: 1MB, job: 3}]}
links: {trim_threshold: 100kB, last_hop_trim: 1.5, buffer: {shared: 2MB, alpha: 2, reserved: 9kB}}
measure: {groups: {twos: ["2-*"]}}
classes:
  - {name: bulk, dscp: 8, weight: 3, queue: 50kB, aqm: {name: linear, high: 40kB}, match: {src: [0, 1]}}
  - {name: safe, dscp: 26, lossless: true, match: {groups: [twos], jobs: [3]}}
  - {name: default, strict: true, ecn: {low: 11kB}}
  - {name: later, dscp: 27, match: {flows: [1-8]}}
`)
	p, err := plan.Compile(set.Variants[0].Experiment, 1)
	if err != nil {
		t.Fatal(err)
	}
	names, want := "", "default/10/true/2 bulk/8/false/0 safe/26/false/1 later/27/false/3"
	for i, c := range p.Classes {
		if i > 0 {
			names += " "
		}
		names += c.Name + "/" + strconv.Itoa(int(c.DSCP)) + "/" + map[bool]string{true: "true", false: "false"}[c.Strict] + "/" + strconv.Itoa(c.Order)
	}
	if names != want || !p.Format.PFC {
		t.Errorf("classes %s, want %s", names, want)
	}
	for flow, class := range []uint8{1, 3, 2} {
		for h := range p.Nodes[:p.Hosts()] {
			for _, f := range p.Nodes[h].Host.Sends {
				if f.ID == flow && f.Class != class {
					t.Errorf("flow %d is of class %d, want %d", flow, f.Class, class)
				}
			}
		}
	}
	// 2.33712 us at 100 Gb/s between two packets.
	const note = "links.pfc: for each lossless class a port has headroom of 37.515kB beyond XOFF, the dynamic threshold of the shared memory; XON is 8.3kB below it"
	if !slices.Contains(p.Notes, note) {
		t.Errorf("notes %q, want %s", p.Notes, note)
	}
	s := p.Nodes[p.Hosts()].Switch
	if m := s.Classes.Memory; m.Shared != 2_000_000 || m.Alpha != 2 || m.Reserved != 9000 {
		t.Errorf("memory %+v", m)
	}
	for i, port := range s.Ports {
		trim := 100_000.0
		if port.LastHop {
			trim *= 1.5
		}
		of := port.Classes
		if float64(port.Buffer.Data) != trim || float64(of[0].Limits.Data) != trim || float64(of[1].Limits.Data) != trim {
			t.Errorf("port %d: trims at %v, %v, %v, want %v", i, port.Buffer.Data, of[0].Limits.Data, of[1].Limits.Data, trim)
		}
		if of[1].Queue != 50_000 || of[0].ECN.Low != 11_000 || of[2].Ingress.Headroom != 37_515 || of[2].Ingress.XOff != 43*4150 {
			t.Errorf("port %d: %+v", i, of)
		}
	}
	if s.Classes.AQM[1].Params["high"] != "40kB" {
		t.Errorf("AQM %+v", s.Classes.AQM)
	}
}
