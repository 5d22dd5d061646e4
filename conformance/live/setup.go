package live

import (
	"errors"
	"fmt"
	"math/bits"
	"net"
	"slices"
	"strconv"

	"github.com/csiglab/csiglab/conformance"
)

// Types of signals by their numbers, and formats.
const (
	abw, share, delay, nqd = 0, 1, 2, 3
	compact, wide          = "compact", "wide"
)

var types = []string{abw: "abw", share: "abw-c", delay: "delay", nqd: "nqd"}

// least reports whether the worse of two values of a type is the lesser one.
func least(t int) bool { return t == abw || t == share }

// whole is a share of everything, in ppm.
const whole = 1_000_000

// Default returns the setup of a switch with the given number of ports, each at rate bit/s: both
// formats, all types updated, host i behind port i. The compact ranges of bandwidth and delay are
// a 24th of the whole each, so that the highest codes are beyond what a port measures.
func Default(ports int, rate int64) *conformance.Setup {
	const queue = 100_000
	bytes, drain := uint64(rate/8), uint64(queue*8_000_000_000/rate)
	even := func(all, ranges uint64) (q conformance.Quantiser) {
		for i := range uint64(32) {
			q.Edges = append(q.Edges, i*all/ranges)
		}
		return q
	}
	linear := func(all uint64) conformance.Quantiser {
		return conformance.Quantiser{Step: 1 << max(0, bits.Len64(all)-19)}
	}
	d := &conformance.Setup{
		Role: conformance.RoleSwitch, Dialect: "uec-0.50", Interval: 10_000_000,
		Formats: map[string]conformance.Format{
			compact: {TPID: "0x88b5", Quantisers: map[string]conformance.Quantiser{"abw": even(bytes, 24), "abw-c": even(whole, 32), "delay": even(drain, 24), "nqd": even(whole, 32)}},
			wide:    {TPID: "0x88b6", Quantisers: map[string]conformance.Quantiser{"abw": linear(bytes), "abw-c": {Step: 1}, "delay": linear(drain), "nqd": {Step: 1}}},
		},
	}
	for i := range ports {
		d.Ports = append(d.Ports, conformance.Port{
			Rate: rate, Queue: queue, MAC: fmt.Sprintf("02:00:00:09:00:%02x", i), Peer: fmt.Sprintf("02:00:00:%02x:00:00", i), Hosts: []int{i},
			Locators: map[string]int{compact: 10 + i, wide: 10000 + i},
		})
	}
	return d
}

// Check returns what of a setup cannot be tested over interfaces.
func Check(d *conformance.Setup) error {
	switch {
	case d.Role != conformance.RoleSwitch:
		return fmt.Errorf("role %q: only a switch can be tested so", d.Role)
	case len(d.Ports) < 3:
		return errors.New("there must be 3 ports or more: two fill the queue of a third one")
	case d.Dialect != "uec-0.50" && d.Dialect != "draft-01":
		return fmt.Errorf("dialect %q: uec-0.50 or draft-01", d.Dialect)
	case d.Interval <= 0:
		return errors.New("interval_ns must be more than 0")
	case len(d.Formats) == 0:
		return errors.New("there must be a format: compact or wide")
	}
	for name, f := range d.Formats {
		if name != compact && name != wide {
			return fmt.Errorf("format %q: compact or wide", name)
		}
		if _, err := strconv.ParseUint(f.TPID, 0, 16); err != nil {
			return fmt.Errorf("format %s: tpid %q: 16 bits, such as 0x88b5", name, f.TPID)
		}
		for t, q := range f.Quantisers {
			switch {
			case !slices.Contains(types, t):
				return fmt.Errorf("format %s: type %q: abw, abw-c, delay or nqd", name, t)
			case name == compact && (len(q.Edges) == 0 || len(q.Edges) > 32 || !slices.IsSorted(q.Edges) || q.Codes != nil && len(q.Codes) != len(q.Edges)):
				return fmt.Errorf("format compact: %s: 1 to 32 edges that rise, and a code for each or none", t)
			case name == wide && (bits.OnesCount64(q.Step) != 1):
				return fmt.Errorf("format wide: %s: step %d must be a power of two", t, q.Step)
			}
		}
	}
	for i := range d.Ports {
		p := &d.Ports[i]
		switch {
		case p.Outside || p.Init != nil:
			return fmt.Errorf("port %d: outside and init cannot be tested over interfaces yet", i)
		case p.Rate <= 0 || p.Queue <= 0:
			return fmt.Errorf("port %d: rate and queue must be more than 0", i)
		}
	}
	return nil
}

// Addresses returns a MAC address that leads to each port: that of its first host.
func Addresses(d *conformance.Setup) (list []net.HardwareAddr, err error) {
	for i := range d.Ports {
		if len(d.Ports[i].Hosts) == 0 {
			return nil, fmt.Errorf("port %d has no host", i)
		}
		h := d.Ports[i].Hosts[0]
		list = append(list, net.HardwareAddr{2, byte(h >> 16), byte(h >> 8), byte(h), 0, 0})
	}
	return list, nil
}

// scale is a quantiser: codes and their ranks, from the lowest value on.
type scale struct {
	conformance.Quantiser
	wide bool
}

const ones = 1<<20 - 1

func (s *scale) top() int {
	if s.wide {
		return ones
	}
	return len(s.Edges) - 1
}

// rank returns the rank of the range that a value lies in.
func (s *scale) rank(v int64) int {
	value := uint64(max(0, v))
	if s.wide {
		return int(min((max(value, s.Base)-s.Base)/s.Step, ones))
	}
	i := 0
	for i+1 < len(s.Edges) && s.Edges[i+1] <= value {
		i++
	}
	return i
}

func (s *scale) code(rank int) int {
	if s.Codes != nil {
		return s.Codes[rank]
	}
	return rank
}

// rankOf returns the rank of a code, -1 if no range has it.
func (s *scale) rankOf(code int) int {
	switch {
	case s.Codes != nil:
		return slices.Index(s.Codes, code)
	case code > s.top():
		return -1
	}
	return code
}
