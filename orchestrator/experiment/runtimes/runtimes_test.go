package runtimes

import (
	"slices"
	"testing"
)

func TestTable(t *testing.T) {
	for _, r := range table {
		if r.Doc == "" || len(r.Clocks) == 0 {
			t.Errorf("%s has no doc or no clock", r.Name)
		}
		for _, c := range r.Clocks {
			if !slices.Contains(Clocks(), c) || !slices.Contains(Of(c), r.Name) || !Fits(r.Name, c) {
				t.Errorf("%s and %s do not name each other", r.Name, c)
			}
		}
	}
	for _, c := range Clocks() {
		if len(Of(c)) == 0 {
			t.Errorf("no runtime runs under %s", c)
		}
	}
	if Fits("mars", Wall) || Fits(Netns, "sundial") || clocksOf("mars") != nil || Of("sundial") != nil {
		t.Error("names that do not exist fit")
	}
}

func TestSummary(t *testing.T) {
	if got, want := Summary(), "inproc with virtual, netns, containerlab or kubernetes with lockstep or wall"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestMisfit(t *testing.T) {
	for _, c := range []struct{ runtime, clock, msg, suggestion string }{
		{Inproc, Lockstep, "lockstep needs runtime netns, containerlab or kubernetes; the runtime inproc has no frames to keep in step", ""},
		{Inproc, Wall, "wall needs runtime netns, containerlab or kubernetes; the runtime inproc has no frames to send in time", ""},
		{Netns, Virtual, "virtual needs runtime inproc; nodes of their own keep in step with lockstep", Lockstep},
		{Netns, "sundial", "sundial is no clock; want virtual, lockstep or wall", ""},
	} {
		if msg, suggestion := Misfit(c.runtime, c.clock); msg != c.msg || suggestion != c.suggestion {
			t.Errorf("%s, %s: got  %q, %q\nwant %q, %q", c.runtime, c.clock, msg, suggestion, c.msg, c.suggestion)
		}
	}
}

func TestSettle(t *testing.T) {
	for _, c := range [][6]string{
		{"", "", Netns, Wall, Netns, Wall},
		{Inproc, "", Netns, Wall, Inproc, Virtual},
		{Containerlab, "", Netns, Wall, Containerlab, Wall},
		{"", Virtual, Netns, Wall, Inproc, Virtual},
		{"", Lockstep, Containerlab, Wall, Containerlab, Lockstep},
		{Inproc, Wall, Netns, Lockstep, Inproc, Wall},
		{"mars", "", Netns, Wall, "mars", Wall},
		{"", "sundial", Netns, Wall, Netns, "sundial"},
	} {
		if r, k := Settle(c[0], c[1], c[2], c[3]); r != c[4] || k != c[5] {
			t.Errorf("%q, %q over %s, %s: got %s, %s; want %s, %s", c[0], c[1], c[2], c[3], r, k, c[4], c[5])
		}
	}
}
