package hpcc_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
	"github.com/csiglab/csiglab/workloads/hpcc"
)

// The format: the number of flows, then source, destination, priority group, destination
// port, size in bytes and start in seconds (traffic_gen.py of HPCC).
func TestRead(t *testing.T) {
	const text = "3\n0 1 3 100 1000 2.000000\n7 1 3 100 2000 2.000000050\r\n\n1 0 4 101 5 2.1\n"
	load, loss, err := hpcc.Read("dir/flow.txt", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	const none = workloads.None
	want := &workloads.Workload{
		Name: "flow", Hosts: 8, StartUnit: "s",
		Transfers: []workloads.Transfer{
			{Label: "0", Src: 0, Dst: 1, Size: 1000, Start: 2 * units.Second, After: none, SendDone: none, RecvDone: none},
			{Label: "1", Src: 7, Dst: 1, Size: 2000, Start: 2*units.Second + 50*units.Nanosecond, After: none, SendDone: none, RecvDone: none},
			{Label: "2", Src: 1, Dst: 0, Size: 5, Start: 2*units.Second + 100*units.Millisecond, After: none, SendDone: none, RecvDone: none},
		},
	}
	if diff := cmp.Diff(load, want); diff != "" {
		t.Errorf("got -, want +:\n%s", diff)
	}
	if got, want := loss.String(), "1 flows of priority group 4; all data shares one queue unless classes say otherwise, the first at dir/flow.txt:5:5"; got != want {
		t.Errorf("lost %q, want %q", got, want)
	}
}

// TestPublished: HPCC's published simulation/mix/flow.txt counts two of its 256 flows, and ends with a
// legend. HPCC plays those two.
func TestPublished(t *testing.T) {
	var text strings.Builder
	text.WriteString("2\n")
	for host := 2; host <= 257; host++ {
		size := 10_000_000
		switch {
		case host < 4:
			size = 200_000_000
		case host == 4:
			size = 150_000_000
		case host < 65:
			size = 5_000_000
		}
		fmt.Fprintf(&text, "%d 1 3 100 %d 2\n", host, size)
	}
	text.WriteString("\nFirst line: # of flows\nsrc0 dst0 3 dst_port0 size0 start_time0\nsrc1 dst1 3 dst_port1 size1 start_time1\n...\n\nPlease order the flows in ascending start_time!\n")
	if text.Len() != 5884 {
		t.Errorf("the text has %d bytes, the published file has 5884", text.Len())
	}
	load, loss, err := hpcc.Read("flow.txt", strings.NewReader(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	sent := map[int]units.Size{}
	for _, f := range load.Transfers {
		sent[f.Src] += f.Size
	}
	if diff := cmp.Diff(map[int]units.Size{2: 200_000_000, 3: 200_000_000}, sent); diff != "" || load.Hosts != 4 {
		t.Errorf("%d hosts, bytes by sender (-want +got):\n%s", load.Hosts, diff)
	}
	if got, want := loss.String(), "259 lines behind the flows that the first line counts, which HPCC does not read, the first at flow.txt:4:1"; got != want {
		t.Errorf("lost %q, want %q", got, want)
	}
}

func TestDiagnostics(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "f.txt:1:1: the file is empty"},
		{"x\n", `f.txt:1:1: number of flows "x" is not a whole number`},
		{"0\n", "f.txt:1:1: number of flows is 0, want 1 to 1048576"},
		{"1000000000\n", "f.txt:1:1: number of flows is 1000000000, want 1 to 1048576"},
		{"1 2\n", `f.txt:1:3: unexpected "2" after the number of flows`},
		{"2\n0 1 3 100 9 2\n", "f.txt:1:1: the first line says 2 flows, the file has 1"},
		{"1\n0 1 3 100 9\n", "f.txt:2:12: the line ends after the size, want the start"},
		{"1\n0 1 3 100 9 2 3\n", `f.txt:2:15: unexpected "3" after the start`},
		{"1\n0 0 3 100 9 2\n", "f.txt:2:3: host 0 sends to itself"},
		{"1\n0 1000000000 3 100 9 2\n", "f.txt:2:3: destination is 1000000000, want 0 to 1048575"},
		{"1\n0 1 9 100 9 2\n", "f.txt:2:5: priority group is 9, want 0 to 7"},
		{"1\n0 1 3 70000 9 2\n", "f.txt:2:7: destination port is 70000, want 0 to 65535"},
		{"1\n0 1 3 100 0 2\n", "f.txt:2:11: size is 0, want 1 to 1000000000000000000"},
		{"2\n0 1 3 100 1000000000000000000 2\n0 1 3 1 1 2\n", "f.txt:3:9: size 1: the flows up to here carry more than 1000000000000000000 bytes"},
		{"1\n0 1 3 100 9 -2\n", "f.txt:2:13: start -2 is negative"},
		{"1\n0 1 3 100 9 2e3\n", `f.txt:2:13: start "2e3" is not a number of seconds`},
		{"1\n0 1 3 100 9 99999999999\n", "f.txt:2:13: start 99999999999, in seconds: the value is too large"},
		{"1\n" + strings.Repeat("0", 1<<17), "f.txt:2:1: the line is longer than 65536 bytes"},
	} {
		_, _, err := hpcc.Read("f.txt", strings.NewReader(c.text))
		var e *hpcc.Error
		if !errors.As(err, &e) || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

// Whatever is read without an error is a valid workload; every error has a place.
func FuzzRead(f *testing.F) {
	f.Add("2\n0 1 3 100 1000 2.000000\n7 1 3 100 2000 2.000000050\n")
	f.Add("1\n0 0 3 100 9 2\n")
	f.Fuzz(func(t *testing.T, text string) {
		load, _, err := hpcc.Read("f.txt", strings.NewReader(text))
		if err != nil {
			var e *hpcc.Error
			if !errors.As(err, &e) || e.Line < 1 || e.Column < 1 {
				t.Fatalf("error %v has no place", err)
			}
			return
		}
		if err := load.Validate(); err != nil {
			t.Fatal(err)
		}
	})
}
