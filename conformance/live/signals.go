package live

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/csiglab/csiglab/conformance"
)

// A phase is a load of port 0, and what its signals must then say.
type phase struct {
	name  string
	flows []flow
	load  float64 // of port 0, as a share of its rate
	// rules of each type; "" judges nothing.
	rules [4][]string
}

// phases are the loads in turn. Two ports send more than the third one can take.
var phases = []phase{
	{name: "idle", rules: [4][]string{abw: {"CSIG-SIG-01"}, share: {"CSIG-SIG-02"}}},
	{name: "half", flows: []flow{{1, 0, 0.5}}, load: 0.5, rules: [4][]string{abw: {"CSIG-SIG-01", "CSIG-SIG-05"}, share: {"CSIG-SIG-02", "CSIG-SIG-05"}}},
	{name: "full", flows: []flow{{1, 0, 0.7}, {2, 0, 0.7}}, load: 1, rules: [4][]string{
		abw: {"CSIG-SIG-01", "CSIG-SIG-05"}, share: {"CSIG-SIG-02", "CSIG-SIG-05"}, delay: {"CSIG-SIG-03", "CSIG-SIG-07", "CSIG-UPD-02"}, nqd: {"CSIG-SIG-04", "CSIG-SIG-08", "CSIG-UPD-02"},
	}},
	{name: "after", rules: [4][]string{abw: {"CSIG-SIG-09"}, share: {"CSIG-SIG-09"}}},
	{name: "elsewhere", flows: []flow{{0, 1, 0.5}}, rules: [4][]string{abw: {"CSIG-SIG-06"}, share: {"CSIG-SIG-06"}}},
}

// kind is what one kind of tag says.
type kind struct {
	format string
	t      int
	scale  scale
	probe  conformance.Frame
	got    []conformance.Frame
}

// readings is how many probes of each kind are sent in a phase. The median counts.
const readings = 9

// mostAway is the share of a phase in which this machine may fail to send. The load is then not
// what it should be.
const (
	mostAway = 0.1
	paused   = "not tried: this machine paused too often to send the load"
)

// signals measures what tags say under load.
func (b *bench) signals(ctx context.Context) (results []conformance.Result, err error) {
	var kinds []*kind
	for _, f := range []string{compact, wide} {
		for t := range types {
			if s, ok := b.scaleOf(f, t); ok && b.policy(0, f, t) == "update" {
				kinds = append(kinds, &kind{format: f, t: t, scale: s})
			}
		}
	}
	idle := map[*kind]int{}
	for i := range phases {
		p := &phases[i]
		var away float64
		for range attempts {
			if away, err = b.measure(ctx, p, kinds); err != nil {
				return nil, err
			}
			if away < mostAway {
				break
			}
		}
		for _, k := range kinds {
			reading, frame := k.median()
			if p.name == "idle" {
				idle[k] = k.scale.rankOf(reading)
			}
			low, high := b.bounds(k, p, idle[k])
			for _, rule := range p.rules[k.t] {
				r := b.reading(rule, p, k, frame, low, high)
				if away >= mostAway && len(p.flows) > 0 {
					r.Outcome, r.Reason, r.Wrong = conformance.Skipped, paused, nil
				}
				results = append(results, r)
			}
		}
	}
	return results, nil
}

// measure puts a phase's load on the device and sends probes of each kind. It reports how much of
// the time this machine was away.
func (b *bench) measure(ctx context.Context, p *phase, kinds []*kind) (away float64, err error) {
	byNumber := map[uint64]*kind{}
	for _, k := range kinds {
		k.got = nil
	}
	turn := 0
	probe := func() conformance.Frame {
		k := kinds[turn%len(kinds)]
		turn++
		n := b.next()
		byNumber[n] = k
		tag := conformance.Tag{Format: k.format, Type: k.t, Signal: k.scale.best(k.t)}
		k.probe = b.between(2, 0, []part{tagged(tag)}, payload(discard, 80, n))
		return k.probe
	}
	got := func(port int, frame []byte) {
		if k := byNumber[numberOf(frame)]; k != nil && port == 0 {
			k.got = append(k.got, conformance.Frame{Port: port, Bytes: slices.Clone(frame)})
		}
	}
	window := time.Duration(b.Setup.Interval)
	queue := time.Duration(b.Setup.Ports[0].Queue * 8_000_000_000 / b.Setup.Ports[0].Rate)
	settle := max(5*window, 5*queue)
	if _, err := b.under(ctx, p.flows, settle, 0, probe, got); err != nil || len(kinds) == 0 {
		return 0, err
	}
	return b.under(ctx, p.flows, max(window/4, 2*time.Millisecond), readings*len(kinds), probe, got)
}

// median returns the median of what the tags of a kind said, and the frame that did; -1 and nil
// if none came back.
func (k *kind) median() (int, *conformance.Frame) {
	if len(k.got) == 0 {
		return -1, nil
	}
	rank := func(f conformance.Frame) int { return k.scale.rankOf(signal(f.Bytes, k.format, 12)) }
	slices.SortFunc(k.got, func(x, y conformance.Frame) int { return rank(x) - rank(y) })
	f := &k.got[len(k.got)/2]
	return signal(f.Bytes, k.format, 12), f
}

// bounds returns the ranks that a reading may have.
func (b *bench) bounds(k *kind, p *phase, idle int) (low, high int) {
	if !least(k.t) {
		return idle + 1, k.scale.top()
	}
	most := b.most(0, k.t)
	at := func(free float64) int { return k.scale.rank(int64(free * float64(most))) }
	return at(max(0, 1-p.load-b.Tolerance)), at(min(1, 1-p.load+b.Tolerance))
}

// reading judges a reading of a phase.
func (b *bench) reading(rule string, p *phase, k *kind, frame *conformance.Frame, low, high int) conformance.Result {
	r := conformance.Result{Vector: b.vector(rule, name(p.name, k.format, types[k.t])), Outcome: conformance.Passed}
	r.In = []conformance.Frame{k.probe}
	if frame == nil {
		r.Outcome, r.Reason = conformance.Broken, fmt.Sprintf("none of %d frames came back", readings)
		return r
	}
	code := signal(frame.Bytes, k.format, 12)
	x := test{scale: k.scale, low: low, high: high}
	if low > high {
		r.Outcome, r.Reason = conformance.Skipped, "not tried: the signal has its highest code without load"
		return r
	}
	right := x.near(code)
	if right == code {
		return r
	}
	tag := conformance.Tag{Format: k.format, Type: k.t, Signal: right, Locator: b.Setup.Ports[0].Locators[k.format]}
	want := b.between(2, 0, []part{tagged(tag)}, payload(discard, 80, numberOf(frame.Bytes)))
	want.Port = 0
	r.Out = []conformance.Frame{want}
	r.Outcome, r.Wrong = conformance.Failed, r.Judge([]conformance.Frame{*frame})
	r.Reason = fmt.Sprintf("S is %d, the median of %d; want %d to %d", code, len(k.got), k.scale.code(low), k.scale.code(high))
	return r
}
