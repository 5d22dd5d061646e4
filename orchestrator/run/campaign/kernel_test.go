package campaign

import (
	"os"
	"strings"
	"testing"
)

const kernelText = `
schema: 1
name: kernel
topology:
  leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 20Mbps, delay: 2ms}
runtime: netns
clock: wall
wall: {dilation: 1, datapath: ebpf, budget: {lateness: 1000, displaced: 1, rate: 1}}
links: {aqm: step, queue: 20kB}
csig: {format: wide, interval: 20ms}
measure: {from: 1100ms, to: 1900ms}
applications:
  hosts: [0, 1, 2]
  signals: [abw, delay, nqd]
  programs:
    - {host: 2, run: iperf3 -s, background: true}
    - {host: 2, run: iperf3 -s -p 5202, background: true}
    - {host: 0, run: "ping -c 3 -i 0.2 10.0.0.3"}
    - {host: 0, run: "iperf3 -u -c 10.0.0.3 -l 1400 -b 16M -t 1", start: 1s}
    - {host: 1, run: "iperf3 -u -c 10.0.0.3 -p 5202 -l 1400 -b 16M -t 1", start: 1s}
`

// Two programs send 32 Mb/s to a host whose link has 20. Switches in the kernel lose the rest,
// and count it; tags say that little is free.
func TestSwitchesInTheKernel(t *testing.T) {
	needIperf3(t)
	if os.Getuid() != 0 {
		t.Skip("programs in the kernel need CAP_BPF")
	}
	buildNodes(t)
	f, summary := runPrograms(t, parseText(t, kernelText), Options{})
	m := summary.Variants["run"].Metrics
	if rate := (m["rate_gbps.h0-h2 app"] + m["rate_gbps.h1-h2 app"]) * 1e3; rate < 12 || rate > 21 {
		t.Errorf("%v Mb/s arrived, over a link of 20", rate)
	}
	// None is available at all while both programs send.
	if abw, known := m["abw_gbps.h0-h2 app"]; !known || abw > 0.015 {
		t.Errorf("tags say that %v Gb/s are available, of 0.02 (known: %t)", abw, known)
	}
	notes := strings.Join(f.Manifest.Runs[0].Notes, "\n")
	for _, name := range []string{"tor0", "tor1"} {
		if !strings.Contains(notes, name+" forwarded ") {
			t.Errorf("no note on %s in %q", name, notes)
		}
	}
	if m["drops"] == 0 {
		t.Error("nothing was dropped")
	}
}
