package live

import (
	"slices"

	"github.com/csiglab/csiglab/conformance"
)

// test is a frame whose result is known whatever the load.
type test struct {
	rule, name string
	to         int // the port that it leaves by
	in, out    []part
	body       []byte
	// measured is the tag of out whose S the device chooses, of rank low to high; nil: none.
	measured  *conformance.Tag
	scale     scale
	low, high int
}

// at is the offset of the measured tag in the frame that leaves.
func (x *test) at() int {
	at := 12
	for _, p := range x.out {
		switch {
		case p.tag == x.measured:
			return at
		case p.tag != nil && p.tag.Format == wide:
			at += 8
		case p.tag != nil:
			at += 4
		}
		at += len(p.raw)
	}
	return at
}

// near returns a code that is right: the given one if it is.
func (x *test) near(code int) int {
	rank := x.scale.rankOf(code)
	return x.scale.code(min(max(rank, x.low), x.high))
}

// What becomes of a tag at a port.
type fate int

const (
	stays fate = iota
	goes
	overwritten
	unsure // depends on what the port measures
)

// policy returns the policy of a port for tags of a type.
func (b *bench) policy(port int, format string, t int) string {
	if p := b.Setup.Ports[port].Policies[format][types[t]]; p != "" {
		return p
	}
	return "update"
}

// scaleOf returns the quantiser of a type, and whether the format has one.
func (b *bench) scaleOf(format string, t int) (scale, bool) {
	q, ok := b.Setup.Formats[format].Quantisers[types[t]]
	return scale{q, format == wide}, ok
}

// best and worst return the codes of the best value and of the worst one.
func (s *scale) best(t int) int {
	if least(t) {
		return s.code(s.top())
	}
	return s.code(0)
}

func (s *scale) worst(t int) int {
	if least(t) {
		return s.code(0)
	}
	return s.code(s.top())
}

// most returns the highest value that a port measures, of the types whose best value is the highest.
func (b *bench) most(port, t int) int64 {
	if t == abw {
		return b.Setup.Ports[port].Rate / 8
	}
	return whole
}

// fate returns what a port does to a tag.
func (b *bench) fate(port int, t *conformance.Tag) fate {
	if t.Type >= len(types) {
		return stays
	}
	s, ok := b.scaleOf(t.Format, t.Type)
	if !ok {
		return unsure
	}
	switch b.policy(port, t.Format, t.Type) {
	case "pass":
		return stays
	case "strip", "terminate":
		return goes
	}
	switch {
	case t.D && !b.draft && !slices.Contains(b.Setup.OverrideD, types[t.Type]), t.Signal == s.worst(t.Type):
		return stays
	case least(t.Type) && t.Signal == s.best(t.Type) && s.rank(b.most(port, t.Type)) < s.top():
		return overwritten
	}
	return unsure
}

// list gathers cases.
type list struct {
	*bench
	tests []test
}

// add adds a case of a frame with one tag that the domain knows, if what becomes of it is sure and
// as wanted.
func (l *list) add(rule, label string, port int, want fate, stack ...part) {
	l.with(rule, label, port, want, payload(discard, 80, l.next()), stack...)
}

func (l *list) with(rule, label string, port int, want fate, body []byte, stack ...part) {
	i := slices.IndexFunc(stack, func(p part) bool { return p.tag != nil })
	t := *stack[i].tag
	if l.fate(port, &t) != want {
		return
	}
	x := test{rule: rule, name: label, to: port, in: stack, out: slices.Clone(stack), body: body}
	switch want {
	case goes:
		x.out = slices.Delete(x.out, i, i+1)
	case overwritten:
		t.Locator = l.Setup.Ports[port].Locators[t.Format]
		x.out[i].tag, x.measured = &t, &t
		x.scale, _ = l.scaleOf(t.Format, t.Type)
		x.high = x.scale.rank(l.most(port, t.Type))
	}
	l.tests = append(l.tests, x)
}

// same adds a case of a frame that leaves as it came.
func (l *list) same(rule, label string, port int, body []byte, stack ...part) {
	l.tests = append(l.tests, test{rule: rule, name: label, to: port, in: stack, out: stack, body: body})
}

// cases returns all cases that the setup has.
func (b *bench) cases() []test {
	l := &list{bench: b}
	for port := range b.addresses {
		l.same("CSIG-UPD-09", "untagged", port, payload(discard, 80, b.next()))
		for _, f := range []string{compact, wide} {
			if _, ok := b.Setup.Formats[f]; ok {
				l.format(port, f)
			}
		}
	}
	l.foreign()
	return l.tests
}

// rulesOf are the rules that are one for each format.
var rulesOf = map[string]struct{ t, s, lm, d, reserved, tpid, dnu, unknown, strip, draft string }{
	compact: {"CSIG-LAY-01", "CSIG-LAY-02", "CSIG-LAY-03", "CSIG-LAY-04", "CSIG-LAY-05", "CSIG-TPI-01", "CSIG-DNU-01", "CSIG-UNK-01", "CSIG-STR-01", "CSIG-DIA-01"},
	wide:    {"CSIG-LAY-06", "CSIG-LAY-07", "CSIG-LAY-08", "CSIG-LAY-09", "CSIG-LAY-10", "CSIG-TPI-02", "CSIG-DNU-02", "CSIG-UNK-02", "CSIG-STR-02", "CSIG-DIA-02"},
}

// format adds the cases of a format at a port.
func (l *list) format(port int, f string) {
	rules := rulesOf[f]
	here := l.Setup.Ports[port].Locators[f]
	other := (here + 1) % l.locators(f) &^ 1 // even: it freezes nothing where the locator has D's place
	reserved := map[string]int{compact: 1, wide: 0x5a}[f]
	for t := range types {
		s, ok := l.scaleOf(f, t)
		if !ok {
			continue
		}
		tag := func(signal, locator int) conformance.Tag {
			return conformance.Tag{Format: f, Type: t, Signal: signal, Locator: locator}
		}
		best, worst := tag(s.best(t), other), tag(s.worst(t), other)
		atHome := tag(s.best(t), here)
		frozen, full := best, worst
		frozen.D = true
		full.Locator, full.Reserved = l.locators(f), reserved
		label := name(f, types[t])

		l.add("CSIG-UPD-01", label, port, overwritten, tagged(atHome))
		l.add("CSIG-UPD-04", label, port, stays, tagged(worst))
		l.add("CSIG-UPD-06", label, port, overwritten, tagged(best))
		l.add("CSIG-LOC-01", label, port, overwritten, tagged(best))
		if here == 0 {
			l.add("CSIG-LOC-02", label, port, overwritten, tagged(tag(s.best(t), l.locators(f)&^1)))
		}
		l.add(rules.t, label, port, overwritten, tagged(best))
		l.add(rules.s, label, port, overwritten, tagged(best))
		noted := best
		noted.Reserved = reserved
		kept := worst
		kept.Reserved = reserved
		l.add(rules.reserved, label, port, stays, tagged(kept))
		l.add("CSIG-UPD-07", label, port, overwritten, tagged(noted))
		l.add(rules.tpid, label, port, overwritten, tagged(best))
		l.with("CSIG-UPD-08", name(label, "long"), port, overwritten, payload(discard, 1400, l.next()), tagged(best))
		if l.draft {
			l.add(rules.draft, label, port, overwritten, tagged(tag(s.best(t), l.locators(f))))
			l.add("CSIG-DIA-03", label, port, overwritten, tagged(tag(s.best(t), other|1)))
		} else {
			l.add(rules.lm, label, port, stays, tagged(full))
			l.d(port, label, frozen)
		}
		l.policies(port, label, best, worst)
		l.add("CSIG-POS-10", label, port, stays, vlan(0x8100), tagged(worst))
		l.stacks(port, label, best)
	}
	last := map[string]int{compact: 7, wide: 15}[f]
	for t := len(types); t <= last; t++ {
		l.add(rules.unknown, name(f, "type", t), port, stays, tagged(conformance.Tag{Format: f, Type: t, Signal: 9, Locator: other}))
	}
}

// d adds the cases of a tag with D.
func (l *list) d(port int, label string, frozen conformance.Tag) {
	rules, t := rulesOf[frozen.Format], types[frozen.Type]
	if l.policy(port, frozen.Format, frozen.Type) == "update" {
		l.add(rules.d, label, port, stays, tagged(frozen))
		l.add(rules.dnu, label, port, stays, tagged(frozen))
	}
	if slices.Contains(l.Setup.OverrideD, t) {
		l.add("CSIG-DNU-03", label, port, overwritten, tagged(frozen))
	} else if len(l.Setup.OverrideD) > 0 {
		l.add("CSIG-DNU-04", label, port, stays, tagged(frozen))
	}
	switch l.policy(port, frozen.Format, frozen.Type) {
	case "strip":
		l.add("CSIG-DNU-05", label, port, goes, tagged(frozen))
	case "terminate":
		l.add("CSIG-TRM-02", label, port, goes, tagged(frozen))
	}
}

// policies adds the cases of ports that do not update.
func (l *list) policies(port int, label string, best, worst conformance.Tag) {
	vlan, some := vlan(0x8100), l.updatesOthers(port, best.Format)
	switch l.policy(port, best.Format, best.Type) {
	case "pass":
		l.add("CSIG-PAS-01", label, port, stays, tagged(best))
		if some {
			l.add("CSIG-PAS-02", label, port, stays, tagged(best))
		}
		if other := map[string]string{compact: wide, wide: compact}[best.Format]; l.updatesOthers(port, other) {
			l.add("CSIG-PAS-03", label, port, stays, tagged(best))
		}
	case "strip":
		l.add(rulesOf[best.Format].strip, label, port, goes, tagged(best))
		if some {
			l.add("CSIG-STR-04", label, port, goes, tagged(best))
		}
		l.add("CSIG-STR-03", name(label, "vlan"), port, goes, vlan, tagged(worst))
		l.same("CSIG-STR-05", label, port, payload(discard, 80, l.next()))
		inner := l.frame(l.addresses[0], l.addresses[1], []part{tagged(best)}, payload(discard, 60, l.next()))
		l.with("CSIG-TUN-03", label, port, goes, tunnelled(inner.Bytes), tagged(best))
	case "terminate":
		l.add("CSIG-TRM-01", label, port, goes, tagged(best))
		if some {
			l.add("CSIG-TRM-03", label, port, goes, tagged(best))
		}
	}
}

// updatesOthers reports whether a port updates tags of some type of a format.
func (b *bench) updatesOthers(port int, format string) bool {
	for t := range types {
		if _, ok := b.scaleOf(format, t); ok && b.policy(port, format, t) == "update" {
			return true
		}
	}
	return false
}

// stacks adds the cases of places of tags that are overwritten.
func (l *list) stacks(port int, label string, best conformance.Tag) {
	cTag, sTag, oldTag, tag := vlan(0x8100), vlan(0x88a8), vlan(0x9100), tagged(best)
	l.add("CSIG-POS-01", label, port, overwritten, tag)
	l.add("CSIG-POS-02", label, port, overwritten, cTag, tag)
	l.add("CSIG-POS-03", label, port, overwritten, sTag, tag, cTag)
	l.add("CSIG-POS-04", label, port, overwritten, sTag, cTag, tag)
	l.add("CSIG-POS-05", label, port, overwritten, sTag, tag)
	l.add("CSIG-POS-06", label, port, overwritten, oldTag, tag)
	l.add("CSIG-POS-08", label, port, overwritten, secTag(0), tag)
	l.add("CSIG-POS-09", label, port, overwritten, secTag(0x20), tag)
	l.add("CSIG-POS-11", label, port, overwritten, tag, cTag)
	inner := l.frame(l.addresses[0], l.addresses[1], []part{tag}, payload(discard, 60, l.next()))
	l.with("CSIG-TUN-01", label, port, overwritten, tunnelled(inner.Bytes), tag)
	if l.fate(port, &best) != overwritten {
		return
	}
	l.same("CSIG-POS-07", label, port, payload(discard, 80, l.next()), secTag(0x0c), tag)
	l.same("CSIG-TUN-02", label, port, tunnelled(inner.Bytes))
	l.same("CSIG-UNK-03", label, port, payload(discard, 80, l.next()), tag, tag)
	nine := slices.Repeat([]part{cTag}, 9)
	l.same("CSIG-UNK-05", label, port, payload(discard, 80, l.next()), append(nine, tag)...)
	second := slices.Concat([]byte{0, 70}, l.encode(best), payload(discard, 80, l.next()))
	l.same("CSIG-DMG-05", label, port, second)
}

// foreign adds the cases of tags of which the domain knows nothing, or of both formats.
func (l *list) foreign() {
	var first []conformance.Tag
	for _, f := range []string{compact, wide} {
		s, ok := l.scaleOf(f, abw)
		if !ok {
			continue
		}
		first = append(first, conformance.Tag{Format: f, Type: abw, Signal: s.best(abw)})
	}
	for port := range l.addresses {
		other := uint16(0x88b7)
		for slices.Contains([]uint16{l.tpids[compact], l.tpids[wide]}, other) {
			other++
		}
		unknown := raw(byte(other>>8), byte(other), 0x2f, 0x80)
		l.same("CSIG-TPI-04", "other", port, payload(discard, 80, l.next()), unknown)
		if len(l.tpids) == 1 {
			l.same("CSIG-TPI-05", "other", port, payload(discard, 80, l.next()), unknown)
		}
		if len(first) < 2 || l.fate(port, &first[0]) != overwritten || l.fate(port, &first[1]) != overwritten {
			continue
		}
		for i := range first {
			l.add("CSIG-TPI-03", first[i].Format, port, overwritten, tagged(first[i]))
			l.add("CSIG-LOC-03", first[i].Format, port, overwritten, tagged(first[i]))
		}
		l.same("CSIG-UNK-04", "both", port, payload(discard, 80, l.next()), tagged(first[0]), tagged(first[1]))
	}
}

// tunnelled returns a body with VXLAN (RFC 7348) around a frame.
func tunnelled(inner []byte) []byte {
	const vxlan = 4789
	p := payload(vxlan, 30+8+len(inner)+8, 0)
	return slices.Concat(p[:30], []byte{8, 0, 0, 0, 0, 0, 42, 0}, inner, p[len(p)-8:])
}
