package conformance_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/conformance"
)

// generator makes the files of vectors.
type generator struct {
	t     *testing.T
	files map[string]*conformance.File
	file  *conformance.File
	profile
}

// begin starts a file. All its vectors have one profile.
func (g *generator) begin(name, about string, p profile) {
	g.file = &conformance.File{Schema: conformance.Schema, About: about, Licence: "Apache-2.0", Devices: map[string]*conformance.Setup{}}
	g.files[name], g.profile = g.file, p
}

// The profile of most files.
var usual = profile{compact: 0x88b5, wide: 0x88b6}

// Measures of the usual device: 10 Gb/s, 1.25 B/ns.
const (
	rate     = 10_000_000_000
	interval = 1000 // ns, in which a port sends 1250 B
	queue    = 100_000
	whole    = 1250
	length   = 96 // of a frame under test; with its check sequence it comes in within 80 ns
	comesIn  = 80
)

// even returns 32 edges a step apart.
func even(step uint64) conformance.Quantiser {
	var q conformance.Quantiser
	for i := range uint64(32) {
		q.Edges = append(q.Edges, i*step)
	}
	return q
}

func linear(step, base uint64) conformance.Quantiser {
	return conformance.Quantiser{Step: step, Base: base}
}

// usualDevice is a switch of four ports, behind which hosts 0 to 3 are, in a domain of both
// formats. It updates all tags. Port 3, which most frames leave by, has locators 13 and 10003.
func (g *generator) usualDevice() *conformance.Setup {
	d := &conformance.Setup{
		Role: conformance.RoleSwitch, Dialect: "uec-0.50", Interval: interval,
		Formats: map[string]conformance.Format{
			"compact": {TPID: fmt.Sprintf("0x%04x", g.compact), Quantisers: map[string]conformance.Quantiser{
				"abw": even(39_062_500), "abw-c": even(31_250), "delay": even(500), "nqd": even(31_250),
			}},
			"wide": {TPID: fmt.Sprintf("0x%04x", g.wide), Quantisers: map[string]conformance.Quantiser{
				"abw": linear(1<<17, 0), "abw-c": linear(1, 0), "delay": linear(16, 0), "nqd": linear(1, 0),
			}},
		},
	}
	if g.draft {
		d.Dialect = "draft-01"
	}
	for i := range 4 {
		d.Ports = append(d.Ports, conformance.Port{
			Rate: rate, Queue: queue, MAC: fmt.Sprintf("02:00:00:09:00:%02x", i), Peer: fmt.Sprintf("02:00:00:%02x:00:00", i), Hosts: []int{i},
			Locators: map[string]int{"compact": 10 + i, "wide": 10000 + i},
		})
	}
	return d
}

// change makes another device of the usual one.
type change struct {
	name string
	do   func(*conformance.Setup)
}

var asUsual = change{name: "usual"}

// and returns both changes.
func (a change) and(b change) change {
	switch {
	case a.do == nil:
		return b
	case b.do == nil:
		return a
	}
	return change{a.name + ", " + b.name, func(d *conformance.Setup) { a.do(d); b.do(d) }}
}

// only leaves the domain one format.
func only(format string) change {
	return change{"only " + format, func(d *conformance.Setup) {
		maps.DeleteFunc(d.Formats, func(f string, _ conformance.Format) bool { return f != format })
	}}
}

// quantiser gives a type another quantiser.
func quantiser(format, t, name string, q conformance.Quantiser) change {
	return change{fmt.Sprintf("%s %s %s", format, t, name), func(d *conformance.Setup) { d.Formats[format].Quantisers[t] = q }}
}

// locators gives port 3 other locators.
func locators(compact, wide int) change {
	return change{fmt.Sprintf("locators %d %d", compact, wide), func(d *conformance.Setup) {
		d.Ports[3].Locators = map[string]int{"compact": compact, "wide": wide}
	}}
}

var allTypes = []string{"abw", "abw-c", "delay", "nqd"}

// policy gives port 3 a policy for types of the formats, separated by spaces; none: all types.
func policy(name, formats string, types ...string) change {
	label := strings.Join(append([]string{name, formats}, types...), " ")
	if len(types) == 0 {
		types = allTypes
	}
	return change{label, func(d *conformance.Setup) {
		p := &d.Ports[3]
		if p.Policies == nil {
			p.Policies = map[string]map[string]string{}
		}
		for _, f := range strings.Fields(formats) {
			of := map[string]string{}
			for _, t := range types {
				of[t] = name
			}
			p.Policies[f] = of
		}
	}}
}

const both = "compact wide"

// puts has port 1 put tags on.
func puts(format string, types ...string) change {
	return change{"init " + format + " " + strings.Join(types, " "), func(d *conformance.Setup) {
		d.Ports[1].Init = &conformance.Init{Format: format, Types: types}
	}}
}

// outside has port 1 lead out of the domain.
var outside = change{"outside", func(d *conformance.Setup) { d.Ports[1].Outside = true }}

// overrides has types updated in spite of D.
func overrides(types ...string) change {
	return change{"override " + strings.Join(types, " "), func(d *conformance.Setup) { d.OverrideD = types }}
}

func latency(ns int) change {
	return change{fmt.Sprintf("latency %dns", ns), func(d *conformance.Setup) { d.Latency = int64(ns) }}
}

// limit limits the queue of port 3.
func limit(bytes int) change {
	return change{fmt.Sprintf("queue %dB", bytes), func(d *conformance.Setup) { d.Ports[3].Queue = int64(bytes) }}
}

// trims has the switch trim by a rule.
func trims(rule string) change {
	return change{"trim " + rule, func(d *conformance.Setup) { d.Trim = rule }}.and(limit(1000))
}

// scene is what happens around the frame under test, so that port 3 has a value.
type scene struct {
	change
	at            int // when the frame comes in, ns
	before, after []conformance.Frame
	state         conformance.State
}

// load returns a frame without tag of n octets with its check sequence.
func load(port, to, at, n int) conformance.Frame {
	f := usual.frame(port, to, nil, plain(port, to, n-4-12))
	f.Port, f.At = port, int64(at)
	return f
}

func idle() scene {
	return scene{at: 1200, state: conformance.State{ABW: whole * 1_000_000, Share: 1_000_000, Delay: comesIn}}
}

// sent has port 3 send n of the 1250 octets of the interval before.
func sent(n int) scene {
	s := idle()
	s.before = []conformance.Frame{load(0, 3, 0, n)}
	s.state.ABW = int64(whole-n) * 1_000_000
	s.state.Share = int64(whole-n) * 800
	return s
}

// late gives the frame a delay, by the latency of the device.
func late(ns int) scene {
	s := idle()
	s.change = latency(ns - comesIn)
	s.state.Delay = int64(ns)
	return s
}

// queued has n octets of a limit of 1000 in the queue when the frame leaves it. The frame waits
// for 250 octets, 200 ns.
func queued(n int) scene {
	s := scene{change: limit(1000), before: []conformance.Frame{load(0, 3, 0, 250)}}
	if n > 0 {
		s.after = []conformance.Frame{load(2, 3, 0, n)}
	}
	s.state = conformance.State{ABW: whole * 1_000_000, Share: 1_000_000, Delay: comesIn + 200, Depth: int64(n) * 1000}
	return s
}

// device returns the name of a device in the file, which it adds.
func (g *generator) device(x change) string {
	if g.file.Devices[x.name] == nil {
		d := g.usualDevice()
		if x.do != nil {
			x.do(d)
		}
		g.file.Devices[x.name] = d
	}
	return x.name
}

// put adds a vector.
func (g *generator) put(id string, device change, in, out []conformance.Frame) *conformance.Vector {
	rule, _, ok := strings.Cut(id, "/")
	r := conformance.Find(rule)
	if !ok || r == nil {
		g.t.Fatalf("vector %s: no such rule", id)
	}
	if device.name == "" {
		device = asUsual
	}
	out = slices.Clone(out)
	for i := range out {
		out[i].At, out[i].State = 0, nil
	}
	g.file.Vectors = append(g.file.Vectors, conformance.Vector{
		ID: id, RuleID: rule, Sentence: r.Sentence, Standing: r.Standing, Source: r.Source, Device: g.device(device), In: in, Out: out,
	})
	return &g.file.Vectors[len(g.file.Vectors)-1]
}

// tags adds a vector of one frame from host 1 to host 3, of which only what stands between
// addresses and EtherType changes. Other frames of the scene leave as they came.
func (g *generator) tags(id string, device change, s scene, in, out stack) {
	n := length - 12 - g.length(in)
	g.frames(id, device, s, g.frame(1, 3, in, plain(1, 3, n)), g.frame(1, 3, out, plain(1, 3, n)))
}

// frames is tags of whole frames. Without out none leaves.
func (g *generator) frames(id string, device change, s scene, in conformance.Frame, out ...conformance.Frame) {
	s.state.Delay += int64(len(in.Bytes)+4)*8/10 - comesIn // a longer frame comes in for longer
	in.At, in.Port, in.State = int64(s.at), 1, &s.state
	out = slices.Concat(s.before, out, s.after)
	for i := range out {
		out[i].Port = 3
	}
	g.put(id, s.change.and(device), slices.Concat(s.before, []conformance.Frame{in}, s.after), out)
}

// same is tags of a frame that leaves as it came.
func (g *generator) same(id string, device change, s scene, in stack) { g.tags(id, device, s, in, in) }
