package campaign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/nodes/capture/capturetest"
	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab/containerlabtest"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/run/packets"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
)

// realTime makes captureText a run in real time that any machine keeps, as far as
// its captures go: what it measures is not looked at.
const realTime = "clock: wall\nwall: {dilation: 50000, budget: {lateness: 1000, displaced: 1, rate: 1000}}\n"

// A run in real time captures as under other clocks, and meanwhile others capture
// it live: the same packets with the same times and comments from the moment on
// that they ask.
func TestCaptureWall(t *testing.T) {
	for _, runtime := range []string{runtimes.Netns, runtimes.Containerlab} {
		t.Run(runtime, func(t *testing.T) { testCaptureWall(t, runtime) })
	}
}

func testCaptureWall(t *testing.T, runtime string) {
	if runtime == runtimes.Containerlab {
		needTime(t)
		containerlabtest.Docker(t)
	}
	buildNodes(t)
	text := fmt.Appendf(nil, captureText+realTime+"runtime: "+runtime, "compact", "uec-0.50", "delay", "tor2-agg2, h5-tor2")
	set, err := experiment.Parse("captured.yaml", "", text, experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "run")
	live := filepath.Join(t.TempDir(), "live.pcapng")
	type answer struct {
		got *packets.Captured
		err error
	}
	lives := make(chan answer, 1)
	var first bytes.Buffer
	opts := Options{Out: folder, Ready: func(s Started) {
		go func() {
			got, err := captureLive(t.Context(), s, live, &first)
			lives <- answer{got, err}
		}()
	}}
	if _, err = Run(t.Context(), set, opts); errors.Is(err, backend.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	a := <-lives
	if a.err != nil {
		t.Fatal(a.err)
	}
	if !a.got.Ended || a.got.Missed > 0 {
		t.Errorf("the live capture ended as %+v, want nothing missed until the run's end", *a.got)
	}
	whole := filepath.Join(folder, "run-1.pcapng")
	checkCapture(t, set, whole, emu.TrailerLen)
	if rows := capturetest.Tshark(t, live, []string{"-Y", capturetest.Malformed}, "frame.number"); len(rows) > 0 {
		t.Errorf("%d malformed frames in the live capture, the first is %s", len(rows), rows[0])
	}
	fields := []string{"frame.time_epoch", "frame.interface_name", "frame.interface_description", "frame.packet_flags_direction", "frame.len", "csig.s", "csiglab_trailer.sequence", "frame.comment"}
	want := capturetest.Tshark(t, whole, []string{"-Y", `frame.interface_name == "tor2:p2" || frame.interface_name == "agg2:p0"`}, fields...)
	got := capturetest.Tshark(t, live, nil, fields...)
	if len(got) == 0 || len(got) > len(want) || len(got) != a.got.Packets {
		t.Fatalf("the live capture has %d packets and says %d, the run's has %d", len(got), a.got.Packets, len(want))
	}
	t.Logf("%d of %d packets were captured live", len(got), len(want))
	// The nodes at both ends do not answer at the same moment.
	for _, port := range []string{"tor2:p2", "agg2:p0"} {
		got, want := ofPort(got, port), ofPort(want, port)
		if len(got) == 0 || len(got) > len(want) {
			t.Fatalf("%s: %d packets were captured live, of %d", port, len(got), len(want))
		}
		if diff := cmp.Diff(got, want[len(want)-len(got):]); diff != "" {
			t.Errorf("%s: captured live - by the run +:\n%s", port, diff)
		}
	}
	frames := 0
	capturetest.Read(t, &first, func(capturetest.Packet) { frames++ })
	if frames != 3 {
		t.Errorf("a capture of 3 packets has %d", frames)
	}
	pipes, err := filepath.Glob(filepath.Join(folder, "*", ".live*"))
	if more, _ := filepath.Glob(filepath.Join(folder, ".live*")); err != nil || len(pipes)+len(more) > 0 {
		t.Errorf("the run left the pipes %q %q, %v", pipes, more, err)
	}

	// The folder gives the packets of one link; others it cannot have.
	testSelected(t, folder, want, fields)
}

// ofPort returns the rows of a port, whose name is their second field.
func ofPort(rows [][]string, port string) (list [][]string) {
	for _, row := range rows {
		if row[1] == port {
			list = append(list, row)
		}
	}
	return list
}

// captureLive captures a run that has just started: a few packets, then, beside
// another capture that nobody reads, the rest.
func captureLive(ctx context.Context, s Started, file string, few *bytes.Buffer) (*packets.Captured, error) {
	list, err := runs.List(ctx, Finders()...)
	if err != nil {
		return nil, err
	}
	run, err := runs.Find(list, s.ID)
	if err != nil {
		return nil, err
	}
	c := packets.Live{Run: run, Link: "tor2-agg9"}
	if _, err := c.Write(ctx, new(bytes.Buffer)); !errors.Is(err, failure.ErrConfiguration) {
		return nil, fmt.Errorf("a link that is not there: %w", err)
	}
	c.Link, c.Packets = "tor2-agg2", 3
	if got, err := c.Write(ctx, few); err != nil || got.Packets != 3 {
		return nil, fmt.Errorf("3 packets: %+v, %w", got, err)
	}
	c.Packets, c.Duration = 0, 100*time.Millisecond
	if _, err := c.Write(ctx, new(bytes.Buffer)); err != nil {
		return nil, err
	}
	out, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	c.Duration = 0
	return c.Write(ctx, out)
}

func testSelected(t *testing.T, folder string, want [][]string, fields []string) {
	t.Helper()
	selected := filepath.Join(t.TempDir(), "selected.pcapng")
	out, err := os.Create(selected)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := (packets.Recapture{Folder: folder, Link: "tor2-agg2", AnySeed: true}).Write(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(capturetest.Tshark(t, selected, nil, fields...), want); diff != "" {
		t.Errorf("selected from the run's capture: got - want +:\n%s", diff)
	}
	err = packets.Recapture{Folder: folder, Link: "tor0-agg0", AnySeed: true}.Write(t.Context(), new(bytes.Buffer))
	if !errors.Is(err, failure.ErrConfiguration) || !strings.Contains(fmt.Sprint(err), "did not capture tor0-agg0") {
		t.Errorf("a link that a run in real time did not capture: %v", err)
	}
}

// A run under an exact clock runs once more for a link that it did not capture.
func TestRecapture(t *testing.T) {
	set, folder, _ := runCaptured(t, Options{Runtime: runtimes.Netns, Processes: string(backend.OneProcess)}, "compact", "uec-0.50", "delay", "")
	_, captured, _ := runCaptured(t, Options{}, "compact", "uec-0.50", "delay", "tor2-agg2")
	want, err := os.ReadFile(filepath.Join(captured, "run-1.pcapng"))
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	c := packets.Recapture{Folder: folder, Link: "tor2-agg2", AnySeed: true, Announce: func(s string) { said = append(said, s) }}
	var got bytes.Buffer
	if err := c.Write(t.Context(), &got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%d bytes, want the %d that a virtual run with that capture has", got.Len(), len(want))
	}
	if len(said) != 2 || !strings.Contains(said[1], "the trace is that of the run") {
		t.Errorf("said %q", said)
	}
	// Each end has its packets alone, the two together all of them; also of a run that
	// captured the link.
	packetsOf := func(file []byte, ports ...string) (n int) {
		capturetest.Read(t, bytes.NewReader(file), func(p capturetest.Packet) {
			if !slices.Contains(ports, p.Port) {
				t.Errorf("a packet of %s among those of %v", p.Port, ports)
			}
			n++
		})
		return n
	}
	all := packetsOf(want, "tor2:p2", "agg2:p0")
	for _, from := range []string{folder, captured} {
		rest := all
		for end, port := range map[string]string{"tor2": "tor2:p2", "agg2": "agg2:p0"} {
			var one bytes.Buffer
			if err := (packets.Recapture{Folder: from, Link: "tor2-agg2", End: end, AnySeed: true}).Write(t.Context(), &one); err != nil {
				t.Fatal(err)
			}
			n := packetsOf(one.Bytes(), port)
			if rest -= n; n == 0 {
				t.Errorf("no packet at %s", end)
			}
		}
		if rest != 0 {
			t.Errorf("%d packets at both ends, %d of them at none", all, rest)
		}
	}
	if err := (packets.Recapture{Folder: folder, End: "h4", AnySeed: true}).Write(t.Context(), new(bytes.Buffer)); err != nil {
		t.Errorf("the only link of a host: %v", err)
	}
	if err := (packets.Recapture{Folder: folder, Link: "agg2-tor2", AnySeed: true}).Write(t.Context(), new(bytes.Buffer)); err != nil {
		t.Errorf("a link from its other end: %v", err)
	}
	for _, wrong := range []struct {
		c    packets.Recapture
		want string
	}{
		{packets.Recapture{Folder: folder, Link: "leaf2-spine2", AnySeed: true}, `(did you mean "tor2-agg2"?)`},
		{packets.Recapture{Folder: folder, Link: "something", AnySeed: true}, `links are called like h0-tor0, tor0-agg0, agg0-core0`},
		{packets.Recapture{Folder: folder, Link: "tor2-agg2", End: "agg1", AnySeed: true}, `"agg1" is no end of it; it joins tor2 and agg2`},
		{packets.Recapture{Folder: folder, End: "tor2", AnySeed: true}, "capture: tor2 has 4 links; name one of them with --link: h4-tor2, h5-tor2, tor2-agg2, tor2-agg3"},
		{packets.Recapture{Folder: folder, End: "spine", AnySeed: true}, `there is no node "spine"`},
		{packets.Recapture{Folder: folder, Link: "tor2-agg2", Seed: 9}, "has no seed 9 of it; it has 1"},
		{packets.Recapture{Folder: folder, Link: "tor2-agg2", Variant: "x", AnySeed: true}, `has no variant "x"; it has run`},
	} {
		err := wrong.c.Write(t.Context(), new(bytes.Buffer))
		if !errors.Is(err, failure.ErrConfiguration) || !strings.Contains(fmt.Sprint(err), wrong.want) {
			t.Errorf("%+v: got %v, want a configuration error with %q", wrong.c, err, wrong.want)
		}
	}
	// A folder whose trace is not that of its experiment is not to be trusted.
	set.Base.TieSeed = 1
	text, err := set.Base.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "experiment.yaml"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Write(t.Context(), new(bytes.Buffer)); !errors.Is(err, runfolder.ErrDamaged) || !strings.Contains(fmt.Sprint(err), "experiment.yaml") {
		t.Errorf("with another experiment: %v, want ErrDamaged with the file's name", err)
	}
	if err := readingtest.Reseal(folder, func(*runfolder.Manifest) {}); err != nil {
		t.Fatal(err)
	}
	if err := c.Write(t.Context(), new(bytes.Buffer)); !errors.Is(err, failure.ErrInfrastructure) || !strings.Contains(fmt.Sprint(err), "leaves the trace") {
		t.Errorf("with another experiment: %v", err)
	}
}
