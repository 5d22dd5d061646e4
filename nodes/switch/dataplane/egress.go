package dataplane

import (
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Policy is what an egress port does to the tags of one signal type.
type Policy uint8

// Policies. A NIC that terminates a tag does not update it (SAI §1.0), and no source read says
// whether a switch does. Here it does, because the tag has crossed its port: without that a zone in
// which switches put tags on and take them off would miss its last hop.
const (
	Update    Policy = iota // compare and update
	Pass                    // leave untouched
	Strip                   // remove
	Terminate               // compare and update, record the sample and remove: the domain ends here
)

// ParsePolicy reads update, pass, strip or terminate.
func ParsePolicy(text string) (Policy, error) {
	if p := slices.Index(policyNames[:], text); p >= 0 {
		return Policy(p), nil
	}
	return 0, fmt.Errorf("unknown policy %q; use one of %q", text, policyNames)
}

var policyNames = [...]string{"update", "pass", "strip", "terminate"}

// Policies returns the names that ParsePolicy reads, in the order of their values.
func Policies() []string { return slices.Clone(policyNames[:]) }

// Tag outcomes are those of csig, then these.
const (
	tagPassed = int(csig.Outcomes) + iota
	tagStripped
	tagTerminated
	tagUntouched // removed by Terminate without a sample: no hop could measure
	tagSeveral   // the frame has more than one: left alone
	tagRefused   // removed because it came from outside the domain
	tagInitiated // put on a frame that came in
	tagOutcomes
)

var tagNames = [tagOutcomes]string{
	tagPassed: "passed", tagStripped: "stripped", tagTerminated: "terminated", tagUntouched: "untouched",
	tagSeveral: "several", tagRefused: "refused", tagInitiated: "initiated",
}

// TagNames returns the names of what switches do to tags, in the order of the counts of
// metrics.NodeTotals.
func TagNames() []string {
	names := slices.Clone(tagNames[:])
	for i := range csig.Outcomes {
		names[i] = i.String()
	}
	return names
}

// egressState is what a switch has for tags, and for the samples of those that end there.
type egressState struct {
	truth     *truth // nil: it is not recorded
	tags      [tagOutcomes]int64
	inputs    csig.Inputs         // of the signal of a module that is asked for
	samples   map[uint32]*samples // of Terminate, by flow
	pairs     map[[2]int]uint32   // flows of raw frames, by source and destination
	made      int64               // packets that the switch made and forwarded
	postcards int64               // of made
	nextCard  units.Time          // when the next one may be sent
}

// Transmit returns the next packet of a port.
func (s *Switch) Transmit(now units.Time, egress int) (*wire.Packet, units.Time, bool) {
	if egress == len(s.ports) {
		return nil, 0, false // the fluid network is told nothing
	}
	out := &s.ports[egress]
	var p *wire.Packet
	fromData, marked := false, false
	if s.classes == nil {
		p, fromData = out.buffer.Pop()
		if out.buffer.Len() == 0 {
			s.ready.Remove(egress)
		}
	} else if p, marked = s.nextOfClasses(now, egress); p != nil && p.Pauses() {
		departs := out.line.Departure(now, s.cfg.Sizes.OnLine(p))
		out.record.Transmit(now, departs, int64(p.Size), false)
		return p, departs, true
	}
	if p == nil {
		return nil, 0, false
	}
	starts := now
	if fromData {
		if out.mixture != nil {
			starts = out.mixture.pop(now)
		}
		queue := out.queueWithFluid(now)
		out.record.Depth(now, int64(queue))
		if s.cfg.AtArrival {
			queue = p.Ahead
		}
		waited := s.waited(starts, p)
		out.record.Wait(now, waited)
		if ecn := p.ECN(); ecn != wire.NotECT && out.aqm.Mark(starts, aqm.Departure{Queue: queue, Waited: waited}) {
			marked = ecn != wire.CE
			p.MarkCE()
		}
	}
	// A tag that is removed is charged to this port for the last time.
	size := p.Size
	departs := out.line.Departure(starts, s.cfg.Sizes.OnLine(p))
	out.record.Transmit(now, departs, int64(size), marked)
	if out.mixture != nil {
		out.record.Waited(now, starts, departs)
	}
	if s.domain != nil {
		if tag := p.CarriedTag(); tag != nil {
			if s.truth != nil {
				s.recordTruth(starts, egress, p, tag)
			}
			s.updateTag(starts, out, p, tag)
		}
		// "Dropped or truncated packets are not part of" available bandwidth
		// (docs/reference/references.md#available-bandwidth).
		if s.cfg.CSIG.CountTrimmed || !p.Trimmed() {
			out.abw.Transmit(starts, departs, size)
			if out.classPort != nil && out.shares != nil {
				s.countShares(now, departs, out, p, size)
			}
			if s.truth != nil {
				s.truth.exact[egress].Transmit(starts, departs, size)
			}
		}
		if out.sums != nil {
			out.countSent(now, p, size)
		}
	}
	return p, departs, true
}

// updateTag applies the policy of an egress port to the tag of a packet that leaves. To
// update is CSIG's compare-and-replace: csig.Domain.Update writes the port's own value and
// locator into the tag if the value is worse than the tag's.
func (s *Switch) updateTag(now units.Time, out *port, p *wire.Packet, tag []byte) {
	if p.HiddenTag() != nil {
		s.tags[tagPassed]++
		return
	}
	if p.SecondTag() { // "a second tag: forward unchanged, count" (docs/reference/references.md#hop-update)
		s.tags[tagSeveral]++
		return
	}
	domain, locator, policies := s.formatOf(out, tag)
	t, _ := domain.Peek(tag)
	if !t.Known() {
		s.tags[csig.Unknown]++
		return
	}
	switch policies[t] {
	case Update:
		outcome := domain.Update(tag, s.signal(now, now, out, t, p), locator)
		s.tags[outcome]++
		return
	case Pass:
		s.tags[tagPassed]++
		return
	case Terminate: // this hop is the last of the domain, and the tag has crossed it
		measured := domain.Update(tag, s.signal(now, now, out, t, p), locator)
		s.tags[s.recordSample(now, p, tag, measured == csig.Updated || measured == csig.Kept)]++
	case Strip:
		s.tags[tagStripped]++
	}
	p.StripTag()
	p.Size = s.cfg.Sizes.Of(p)
}

// formatOf returns the domain of a tag's format, and what a port does to tags of it.
func (s *Switch) formatOf(out *port, tag []byte) (domain *csig.Domain, locator uint16, policies *[csig.Types]Policy) {
	domain = s.domain.Of(tag)
	if domain != s.domain {
		return domain, out.Second.Locator, &out.Second.Policies
	}
	return domain, out.Locator, &out.Policies
}
