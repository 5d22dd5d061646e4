package meter_test

import (
	"testing"

	"github.com/csiglab/csiglab/nodes/switch/meter"
	"github.com/csiglab/csiglab/units"
)

// Intervals of 100 us at 100 Gb/s: 125 bytes are 10 ns, 1.25 MB fill an interval. A slot is
// 10 us: a transmission of 125 kB.
const (
	shareInterval = 100 * units.Microsecond
	slot          = 10 * units.Microsecond
	slotBytes     = 125 * units.KB
	slotRate      = 1_250_000_000 // byte/s of one slot in ten
)

// share drives a meter by a text: of each slot of 10 us a letter says which class sends
// (a: class 0 and so on, x: control), '.' that the port is idle. A capital letter, or ':',
// is the same while the measured class is paused.
func share(cfg meter.ShareConfig, slots string) uint64 {
	s := meter.NewShare(meter.NewBandwidth(100*units.Gbps, shareInterval, meter.Tumbling, 0), cfg)
	paused := false
	now := units.Time(0)
	for _, c := range slots {
		stop := c == ':' || c >= 'A' && c <= 'Z'
		if stop && !paused {
			s.Pause(now)
		} else if !stop && paused {
			s.Resume(now)
		}
		paused = stop
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		switch c {
		case '.', ':':
		case 'x':
			s.Transmit(now, now.Add(slot), slotBytes, meter.Control)
		default:
			s.Transmit(now, now.Add(slot), slotBytes, int(c-'a'))
		}
		now = now.Add(slot)
	}
	return s.Available(now)
}

// What a class could get, by arithmetic: slots of ten in an interval.
func TestShare(t *testing.T) {
	aware := meter.ShareConfig{Before: 0b11}
	high := meter.ShareConfig{Before: 0b01}
	low := meter.ShareConfig{Before: 0b11} // strict too, after class 0
	equal := meter.ShareConfig{Weights: []int{1, 1, 2}}
	after := meter.ShareConfig{Before: 0b001, Weights: []int{0, 1, 3}, Class: 1}
	for _, c := range []struct {
		name  string
		cfg   meter.ShareConfig
		slots string
		want  uint64 // slots in ten
	}{
		{"idle", aware, "..........", 10},
		{"half used", aware, "a.a.a.a.a.", 5},
		{"pause-aware: paused and idle for seven slots", aware, "ab:::::::.", 1},
		{"pause-aware: others send in the pause", aware, "AAAA......", 6},
		{"pause-aware: others send in a part of the pause", aware, "AA::......", 6},
		{"a pause of many intervals", aware, "::::::::::::::::::::::::::::::::::::::::::::::::::::::::::::", 0},
		{"a pause that ended an interval ago", aware, "::::::::::..........", 10},
		{"the high class beside a full low one", high, "abbbbbbbbb", 9},
		{"the high class and control", high, "abbbbbxbbb", 8},
		{"the low class", low, "abbbb.....", 5},
		{"the high class is paused", high, "abbb:::BBB", 3},
		{"weights: the others keep what is less than their share", equal, "bc........", 8},
		{"weights: and no more than it", meter.ShareConfig{Weights: []int{1, 1}}, "bbbbbbbbbb", 5},
		{"weights: less what the class sent", meter.ShareConfig{Weights: []int{1, 1}}, "aabbbbbbbb", 3},
		{"weights of three classes: one below its share", meter.ShareConfig{Weights: []int{1, 1, 2}, Class: 2}, "bcccaaaaaa", 3}, // b keeps 1, a 3 of 9
		{"weights behind a strict class", after, "aabbcccccc", 0},
		{"weights behind a strict class: more than it had", after, "aabccccccc", 1},
		{"weights: a pause is nobody's", meter.ShareConfig{Weights: []int{1, 1}}, "BBBBB.....", 5},
		{"weights: a pause without packets", meter.ShareConfig{Weights: []int{1, 1}}, "bbbb::::::", 2},
	} {
		if got := share(c.cfg, c.slots); got != c.want*slotRate {
			t.Errorf("%s: %s reads %.2f slots in ten, want %d", c.name, c.slots, float64(got)/slotRate, c.want)
		}
	}
}

// Without pauses and other classes the meter of a class reads what the port's reads.
func TestShareWithoutPausesIsTheMeter(t *testing.T) {
	fresh := meter.NewBandwidth(100*units.Gbps, shareInterval, meter.Sliding, 3*units.Microsecond)
	port, class := fresh, meter.NewShare(fresh, meter.ShareConfig{Before: 1})
	now := units.Time(0)
	for i := range 2000 {
		takes := units.Duration(i%7+1) * 332 * units.Nanosecond
		size := (100 * units.Gbps).Volume(takes)
		port.Transmit(now, now.Add(takes), size)
		class.Transmit(now, now.Add(takes), size, 0)
		now = now.Add(takes + units.Duration(i%5)*100*units.Nanosecond)
		if port.Available(now) != class.Available(now) || port.Relative(now) != class.Relative(now) {
			t.Fatalf("at %v: %d of the port, %d of the class", now, port.Available(now), class.Available(now))
		}
	}
}
