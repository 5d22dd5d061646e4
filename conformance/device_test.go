package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/csiglab/csiglab/conformance"
	"github.com/csiglab/csiglab/conformance/own"
)

// program returns the outcomes of the first vectors on a program of the shell.
func program(t *testing.T, ctx context.Context, script string, n int) (*conformance.Report, error) {
	t.Helper()
	p, err := conformance.Start([]string{"sh", "-c", script})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	return conformance.Run(ctx, script, p, vectors(t)[:n])
}

// What a program may answer, and what it may not.
func TestProgram(t *testing.T) {
	for _, c := range []struct {
		script  string
		outcome conformance.Outcome
		reason  string
	}{
		{`exit 1`, conformance.Broken, "the device does not answer"},
		{`while read l; do echo no; done`, conformance.Broken, "does not answer in JSON"},
		{`while read l; do echo '{}'; done`, conformance.Broken, `an answer to "", want one to`},
		{`while read l; do v=${l#*:\"}; v=${v%%\"*}; echo "{\"vector\": \"$v\", \"cannot\": \"wide\"}"; done`, conformance.Skipped, "the device cannot do this: wide"},
		{`while read l; do v=${l#*:\"}; v=${v%%\"*}; echo "{\"vector\": \"$v\", \"error\": \"oh\"}"; done`, conformance.Broken, "oh"},
		{`while read l; do v=${l#*:\"}; v=${v%%\"*}; echo "{\"vector\": \"$v\", \"frames\": []}"; done`, conformance.Failed, ""},
		{`while read l; do v=${l#*:\"}; v=${v%%\"*}; echo "{\"vector\": \"$v\", \"frames\": [{\"port\": 3, \"frame\": \"zz\"}]}"; done`, conformance.Broken, "in JSON"},
	} {
		report, err := program(t, t.Context(), c.script, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range report.Results {
			if r.Outcome != c.outcome || !strings.Contains(r.Reason, c.reason) {
				t.Errorf("%s: %s: %s %q, want %s %q", c.script, r.ID, r.Outcome, r.Reason, c.outcome, c.reason)
			}
		}
	}
	if _, err := conformance.Start([]string{"/no/such/program"}); err == nil {
		t.Error("a program that is not there starts")
	}
}

// A run that is interrupted ends at once, and the program with it.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := program(t, ctx, "exec sleep 60", 1); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that it was interrupted", err)
	}
}

// The line protocol changes nothing: what is served equals what the device says itself.
func TestServe(t *testing.T) {
	all := vectors(t)
	var in, out bytes.Buffer
	encoder := json.NewEncoder(&in)
	for _, v := range all {
		if err := encoder.Encode(&conformance.Request{Vector: v.ID, Device: v.Setup, Frames: v.In}); err != nil {
			t.Fatal(err)
		}
	}
	if err := conformance.Serve(t.Context(), own.Device{}, &in, &out); err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(&out)
	for _, v := range all {
		var a conformance.Answer
		if err := decoder.Decode(&a); err != nil {
			t.Fatal(err)
		}
		if a.Vector != v.ID || a.Error != "" || len(v.Judge(a.Frames)) > 0 {
			t.Errorf("%s: answer %+v", v.ID, a)
		}
	}
	if err := conformance.Serve(t.Context(), own.Device{}, strings.NewReader("x\n"), &out); err == nil {
		t.Error("a request that is no JSON is answered")
	}
}

// A setup that the device does not know is an error and no answer.
func TestOwnRefuses(t *testing.T) {
	usual := vectors(t)[0]
	for _, wrong := range []func(*conformance.Setup){
		func(d *conformance.Setup) { d.Role = "router" },
		func(d *conformance.Setup) { d.Dialect = "draft-02" },
		func(d *conformance.Setup) { d.Trim = "worst" },
		func(d *conformance.Setup) { d.OverrideD = []string{"rtt"} },
		func(d *conformance.Setup) { d.Ports[0].MAC = "02:00" },
		func(d *conformance.Setup) {
			d.Ports[0].Init = &conformance.Init{Format: "long", Types: []string{"abw"}}
		},
		func(d *conformance.Setup) {
			d.Ports[0].Policies = map[string]map[string]string{"compact": {"abw": "drop"}}
		},
		func(d *conformance.Setup) { d.Formats["wide"] = conformance.Format{TPID: "0x0800"} },
	} {
		var d conformance.Setup
		data, err := json.Marshal(usual.Setup)
		if err == nil {
			err = json.Unmarshal(data, &d)
		}
		if err != nil {
			t.Fatal(err)
		}
		wrong(&d)
		if _, err := (own.Device{}).Run(t.Context(), &conformance.Request{Device: &d, Frames: usual.In}); err == nil {
			t.Errorf("it takes %+v", d)
		}
	}
}

func TestJudge(t *testing.T) {
	want := []conformance.Frame{{Port: 1, Bytes: []byte{1, 2, 3, 4}, Free: [][2]int{{1, 1}}}, {Port: 2, Bytes: []byte{9}}}
	at := func(port int, b ...byte) conformance.Frame { return conformance.Frame{Port: port, Bytes: b} }
	for _, c := range []struct {
		name string
		one  bool
		got  []conformance.Frame
		says []string
	}{
		{"same", false, []conformance.Frame{at(2, 9), at(1, 1, 7, 3, 4)}, nil},
		{"octet", false, []conformance.Frame{at(1, 1, 2, 3, 5), at(2, 9)}, []string{"port 1, frame 1: octet 3 differs"}},
		{"octets", false, []conformance.Frame{at(1, 0, 2, 3, 5), at(2, 9)}, []string{"port 1, frame 1: 2 octets differ, the first is number 0"}},
		{"shorter", false, []conformance.Frame{at(1, 1, 2), at(2, 9)}, []string{"port 1, frame 1: 2 octets, want 4"}},
		{"lost", false, []conformance.Frame{at(2, 9)}, []string{"port 1, frame 1: it did not leave"}},
		{"twice", false, []conformance.Frame{at(1, 1, 2, 3, 4), at(2, 9), at(2, 9)}, []string{"port 2, frame 2: it must not leave"}},
		{"one port", true, []conformance.Frame{at(5, 1, 2, 3, 4), at(5, 9)}, nil},
		{"two ports", true, []conformance.Frame{at(5, 1, 2, 3, 4), at(6, 9)}, []string{"port 5, frame 2: it did not leave", "port 6, frame 1: it must not leave"}},
	} {
		v := conformance.Vector{Out: want, OnePort: c.one}
		var says []string
		for _, d := range v.Judge(c.got) {
			says = append(says, d.Says())
		}
		if !slices.Equal(says, c.says) {
			t.Errorf("%s: %q, want %q", c.name, says, c.says)
		}
	}
	v := conformance.Vector{Out: want}
	got := v.Judge([]conformance.Frame{at(1, 1, 2, 3, 5), at(2, 9)})[0]
	if text := got.Dump(); text != "  0000 want 01 .. 03 04\n  0000 got  01 02 03 05\n                     ^^\n" {
		t.Errorf("dump:\n%s", text)
	}
}

func TestSelect(t *testing.T) {
	all := vectors(t)
	for _, c := range []struct {
		words []string
		least int
		only  string // all begin with it
	}{
		{nil, len(all), "CSIG-"}, {[]string{"CSIG-UPD"}, 30, "CSIG-UPD-"}, {[]string{"CSIG-UPD-01"}, 4, "CSIG-UPD-01/"},
		{[]string{"CSIG-UPD-01/abw"}, 1, "CSIG-UPD-01/abw"}, {[]string{"csiglab"}, 50, "CSIG-"},
	} {
		chosen, err := conformance.Select(all, c.words)
		if err != nil || len(chosen) < c.least {
			t.Errorf("%q: %d vectors, %v", c.words, len(chosen), err)
		}
		for _, v := range chosen {
			if !strings.HasPrefix(v.ID, c.only) {
				t.Errorf("%q chooses %s", c.words, v.ID)
			}
		}
	}
	for _, word := range []string{"CSIG-XX", "CSIG-UPD-0", "", "csig-upd"} {
		if _, err := conformance.Select(all, []string{"CSIG-UPD", word}); err == nil {
			t.Errorf("%q names something", word)
		}
	}
}

// A reader of schema 1 refuses what it would misread.
func TestRead(t *testing.T) {
	for _, text := range []string{
		"", "{}", `{"schema": 2}`, `{"schema": 1, "colour": 3}`, `{"schema": 1, "vectors": [{"id": "a", "device": "b"}]}`,
		`{"schema": 1, "devices": {"b": {}}, "vectors": [{"id": "a", "device": "b", "in": [{"frame": "0"}]}]}`,
	} {
		if f, err := conformance.Read([]byte(text)); err == nil {
			t.Errorf("%q is read as %+v", text, f)
		}
	}
}
