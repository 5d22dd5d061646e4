package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/nodes/capture/capturetest"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/backend/containers"
	"github.com/csiglab/csiglab/orchestrator/backend/netns"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/programs/programstest"
)

// captureText is an incast with trimming, so that all kinds of packet and the D
// bit occur, captured above and below a ToR.
const captureText = `
schema: 1
name: captured
topology:
  fat_tree:
    hosts: 8
    pod: 4
    tiers:
      - {down: 2, up: 2, rate: 100Gbps, delay: 1us, switch_delay: 500ns}
      - {down: 2, up: 2, rate: 100Gbps, delay: 1us}
      - {down: 2, rate: 100Gbps, delay: 1us}
links: {queue: 30kB}
csig: {format: %s, dialect: %s, signal: %s}
workload:
  transfers:
    - 1 -> 5 100kB
    - 0 -> 5 100kB
    - 6 -> 5 100kB
    - 5 -> 0 100kB
capture: [%s]
`

// TestMain lets the test binary be the supervisor of real nodes, or a foreign one.
func TestMain(m *testing.M) {
	if os.Getenv(foreignSwitch) != "" {
		fmt.Fprintln(os.Stderr, runForeignSwitch())
		os.Exit(1)
	}
	Add(containers.Runtime)
	netns.Supervise()
	os.Exit(checkout.Main(m, nil, programstest.Remove))
}

func runCaptured(t *testing.T, opts Options, format, dialect, signal, links string) (set *experiment.Set, folder string, hash string) {
	t.Helper()
	set, err := experiment.Parse("captured.yaml", "", fmt.Appendf(nil, captureText, format, dialect, signal, links),
		experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	folder = filepath.Join(t.TempDir(), "run")
	opts.Out = folder
	result, err := Run(context.Background(), set, opts)
	if errors.Is(err, backend.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !result.Summary.Valid {
		t.Fatalf("not valid: %q", result.Summary.Reasons)
	}
	return set, folder, result.Summary.Variants["run"].Runs[0].TraceHash
}

// In both formats and dialects tshark reads a virtual run's capture without a
// malformed frame, and finds in each what our own decoder finds.
func TestCaptureVirtual(t *testing.T) {
	checkout.SkipLong(t)
	checkout.SkipSlowRace(t)
	for _, c := range []struct{ format, dialect, signal string }{
		{"compact", "uec-0.50", "delay"}, {"compact", "draft-01", "abw"},
		{"wide", "uec-0.50", "nqd"}, {"wide", "draft-01", "delay"},
	} {
		t.Run(c.format+" "+c.dialect, func(t *testing.T) {
			set, folder, hash := runCaptured(t, Options{}, c.format, c.dialect, c.signal, "tor2-agg2, h5-tor2")
			_, _, without := runCaptured(t, Options{}, c.format, c.dialect, c.signal, "")
			if hash != without {
				t.Errorf("trace hash %s, without a capture %s", hash, without)
			}
			checkCapture(t, set, filepath.Join(folder, "run-1.pcapng"), 0)
		})
	}
}

// A capture of real frames has their payloads and trailers, and is otherwise that
// of a virtual run: same times, same ports, same comments.
func TestCaptureLockstep(t *testing.T) {
	const links = "tor2-agg2, h5-tor2"
	lockstep := Options{Runtime: runtimes.Netns, Processes: string(backend.OneProcess)}
	set, real, hash := runCaptured(t, lockstep, "wide", "uec-0.50", "delay", links)
	_, virtual, want := runCaptured(t, Options{}, "wide", "uec-0.50", "delay", links)
	if hash != want {
		t.Errorf("trace hash %s, in virtual time %s", hash, want)
	}
	fields := []string{"frame.time_epoch", "frame.interface_name", "frame.packet_flags_direction", "csig.s", "csiglab.type", "csiglab.flow", "csiglab.psn", "frame.comment"}
	read := func(folder string) [][]string {
		rows := capturetest.Tshark(t, filepath.Join(folder, "run-1.pcapng"), nil, fields...)
		slices.SortFunc(rows, slices.Compare) // events of one instant come in another order
		return rows
	}
	if diff := cmp.Diff(read(real), read(virtual)); diff != "" {
		t.Errorf("%q: lockstep - virtual +:\n%s", fields, diff)
	}
	checkCapture(t, set, filepath.Join(real, "run-1.pcapng"), emu.TrailerLen)
	if left, _ := filepath.Glob(filepath.Join(real, ".capture*")); len(left) > 0 {
		t.Errorf("the run left %q", left)
	}
	// With elided payloads a frame is shown as cut off.
	lockstep.Payload = PayloadElide
	set, elided, _ := runCaptured(t, lockstep, "wide", "uec-0.50", "delay", links)
	if rows := capturetest.Tshark(t, filepath.Join(elided, "run-1.pcapng"), []string{"-Y", capturetest.Malformed}, "frame.number"); len(rows) > 0 {
		t.Errorf("with elided payloads %d frames of %s are malformed", len(rows), set.Base.Name)
	}
}

// checkCapture compares tshark's reading of a capture with ours. Frames end with
// a trailer of the given length.
func checkCapture(t *testing.T, set *experiment.Set, file string, trailer int) {
	t.Helper()
	compiled, err := plan.Compile(set.Variants[0].Experiment, 1)
	if err != nil {
		t.Fatal(err)
	}
	domain := compiled.Domain()
	format := compiled.Format
	format.Elided = true
	options := []string{"-o", "csig.dialect:" + domain.Dialect().String()}
	if rows := capturetest.Tshark(t, file, append(options, "-Y", capturetest.Malformed), "frame.number"); len(rows) > 0 {
		t.Errorf("%d malformed frames, the first is %s", len(rows), rows[0])
	}

	var want [][]string
	kinds := map[wire.Kind]int{}
	filters := map[string]int{}
	capturetest.ReadFile(t, file, func(c capturetest.Packet) {
		name, frame, length := c.Port, c.Data, c.Length
		var p wire.Packet
		if err := p.Parse(frame, format); err != nil {
			t.Fatalf("frame %d of %s: %v", len(want), name, err)
		}
		kinds[p.Kind()]++
		if whole := len(p.Header()) + p.PayloadLen + trailer; length != whole {
			t.Fatalf("frame %d of %s has length %d, its headers say %d", len(want), name, length, whole)
		}
		row := []string{name, fmt.Sprint(uint8(p.Kind())), fmt.Sprint(p.Flow()), "", "", "", ""}
		if b := p.Tag(); b != nil {
			tag, err := domain.ParseTag(b)
			if err != nil {
				t.Fatal(err)
			}
			row[3], row[4], row[5] = fmt.Sprint(uint8(tag.Type)), fmt.Sprint(tag.Signal), fmt.Sprint(tag.Locator)
			filters[fmt.Sprintf("csig.t == %d", tag.Type)]++
			filters[fmt.Sprintf("csig.lm == %d", tag.Locator)]++
			filters[fmt.Sprintf("csig.s == %d", tag.Signal)]++
			if domain.Dialect() == csig.UEC050 {
				row[6] = "0"
				if tag.DoNotUpdate {
					row[6] = "1"
				}
				filters["csig.d == "+row[6]]++
			}
		}
		want = append(want, row)
	})
	if kinds[wire.Data] == 0 || kinds[wire.Ack] == 0 || kinds[wire.Nack] == 0 {
		t.Errorf("the capture has packets %v, want data, ACKs and NACKs", kinds)
	}
	if domain.Dialect() == csig.UEC050 && filters["csig.d == 1"] == 0 {
		t.Error("no packet has the D bit, though some are trimmed")
	}
	got := capturetest.Tshark(t, file, options, "frame.interface_name", "csiglab.type", "csiglab.flow", "csig.t", "csig.s", "csig.lm", "csig.d")
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("interface, type, flow, tag: tshark - our decoder +:\n%s", diff)
	}
	tried := map[string]bool{} // one value of each field, any
	for filter, n := range filters {
		field, _, _ := strings.Cut(filter, " ")
		if tried[field] {
			continue
		}
		tried[field] = true
		if rows := capturetest.Tshark(t, file, append(options, "-Y", filter), "frame.number"); len(rows) != n {
			t.Errorf("filter %s finds %d frames, want %d", filter, len(rows), n)
		}
	}
}

func TestCaptureUnknownLink(t *testing.T) {
	set, err := experiment.Parse("captured.yaml", "", fmt.Appendf(nil, captureText, "none", "uec-0.50", "delay", "tor2-agg9"),
		experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	_, err = plan.Compile(set.Variants[0].Experiment, 1)
	if want := `capture[0]: "tor2-agg9": no such link (did you mean "tor2-agg`; !errors.Is(err, failure.ErrConfiguration) || !strings.HasPrefix(fmt.Sprint(err), want) {
		t.Errorf("got %v, want a configuration error that begins with %s", err, want)
	}
}
