package capture_test

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/nodes/capture"
	"github.com/csiglab/csiglab/nodes/capture/capturetest"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/units"
)

// The copy of one port is the file that a Writer makes of its packets alone.
func TestSelect(t *testing.T) {
	domain := newDomain(t, csig.FormatCompact, csig.UEC050)
	list := packets(t, domain)
	written := func(ports []capture.Port, chosen string) []byte {
		var out bytes.Buffer
		w, err := capture.NewWriter(&out, capture.Config{Ports: ports, Format: formatOf(domain), Domain: domain, Comment: "the whole"})
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range list {
			port := []capture.Port{tor, host}[i%2]
			if chosen != "" && port.Name != chosen {
				continue
			}
			place := i % 2
			if chosen != "" {
				place = 0
			}
			w.Write(capture.Record{At: units.Time(i) * 1500, Port: place, Frame: p.Header(), Length: 300, Missed: int64(i / 3)})
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	whole := written([]capture.Port{tor, host}, "")
	for _, port := range []capture.Port{tor, host} {
		var got bytes.Buffer
		if err := capture.Select(&got, bytes.NewReader(whole), []string{port.Name}); err != nil {
			t.Fatal(err)
		}
		if want := written([]capture.Port{port}, port.Name); !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s: %d bytes, want the %d that a file of its own has", port.Name, got.Len(), len(want))
		}
	}
	var same bytes.Buffer
	if err := capture.Select(&same, bytes.NewReader(whole), []string{tor.Name, host.Name}); err != nil || !bytes.Equal(same.Bytes(), whole) {
		t.Errorf("both ports: %d bytes of %d, %v", same.Len(), len(whole), err)
	}
	for _, wrong := range [][]byte{[]byte("no pcapng"), whole[:len(whole)-3], append(bytes.Clone(whole), 6, 0, 0, 0, 8, 0, 0, 0)} {
		if err := capture.Select(new(bytes.Buffer), bytes.NewReader(wrong), []string{tor.Name}); !errors.Is(err, capture.ErrForeign) {
			t.Errorf("%d bytes: %v, want %v", len(wrong), err, capture.ErrForeign)
		}
	}
}

// Records that come late keep their time.
func TestUnordered(t *testing.T) {
	file := t.TempDir() + "/late.pcapng"
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	w, err := capture.NewWriter(out, capture.Config{Ports: []capture.Port{tor}, Unordered: true})
	if err != nil {
		t.Fatal(err)
	}
	var times []int64
	for _, at := range []units.Time{5000, 4000, 9000} {
		w.Write(capture.Record{At: at, Frame: make([]byte, 60), Length: 60})
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		times = append(times, int64(at)/1000)
	}
	var got []int64
	capturetest.ReadFile(t, file, func(p capturetest.Packet) { got = append(got, int64(p.At)/1000) })
	if diff := cmp.Diff(got, times); diff != "" {
		t.Errorf("times: got - want +:\n%s", diff)
	}
}
