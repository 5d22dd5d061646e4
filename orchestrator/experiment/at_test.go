package experiment

import (
	"errors"
	"strings"
	"testing"
)

// An algorithm's own ranges are checked where the value stands.
func TestParameterRanges(t *testing.T) {
	for _, c := range []struct{ param, want string }{
		{"gamma: 2", "hosts.cc.gamma: 2 is not in (0, 1]"},
		{"gamma: 0", "hosts.cc.gamma: 0 is not in (0, 1]"},
		{"delay_alpha: -0.5", "hosts.cc.delay_alpha: -0.5 is not in (0, 1]"},
		{"target_qdelay: 0ns", "hosts.cc.target_qdelay: 0s is not positive"},
		{"cwnd: 0B", "hosts.cc.cwnd: 0B is not positive"},
	} {
		text := strings.Replace(small, "name: small", "name: small\nhosts: {cc: {name: nscc, "+c.param+"}}", 1)
		_, err := Parse("x.yaml", "", []byte(text), Options{Tables: StandardTables()})
		var wrong *Error
		if !errors.As(err, &wrong) || !strings.HasSuffix(err.Error(), c.want) || wrong.Line != 3 || wrong.Column != 26+strings.Index(c.param, " ")+1 {
			t.Errorf("%s: got %v, want x.yaml:3:…: %s", c.param, err, c.want)
		}
	}
	for _, good := range []string{"gamma: 1", "target_qdelay: auto", "cwnd: 1MB"} {
		text := strings.Replace(small, "name: small", "name: small\nhosts: {cc: {name: nscc, "+good+"}}", 1)
		if _, err := Parse("x.yaml", "", []byte(text), Options{Tables: StandardTables()}); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
}

// What shows later is told at the value, at what is around it, or at what set it.
func TestAt(t *testing.T) {
	text := strings.Replace(small, "name: small", "name: small\nlinks: {mtu: 4kB}\nvariants:\n  a: {}\n  b: {links.mtu: 5kB}", 1)
	o, err := ParseSet("--set", "links.queue=9kB")
	if err != nil {
		t.Fatal(err)
	}
	set, err := Parse("x.yaml", "", []byte(text), Options{Override: []Override{o}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		variant    int
		path, want string
	}{
		{0, "links.mtu", "x.yaml:3:14: links.mtu: is odd"},
		{1, "links.mtu", "x.yaml:6:18: variants.b.links.mtu: is odd"},
		{0, "links.header", "x.yaml:3:9: links.header: is odd"},
		{0, "links.queue", "--set links.queue=9kB: links.queue: is odd"},
		{0, "csig.ports[3].port", "x.yaml:1:1: csig.ports[3].port: is odd"},
	} {
		if got := set.Variants[c.variant].At(c.path, errors.New("is odd")); got.Error() != c.want {
			t.Errorf("variant %d: got  %v\nwant %s", c.variant, got, c.want)
		}
	}
	made := Resolved{Name: "made"}
	if got, want := made.At("links.mtu", errors.New("is odd")).Error(), "links.mtu: is odd"; got != want {
		t.Errorf("of no file: got %s, want %s", got, want)
	}
}
