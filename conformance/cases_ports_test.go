package conformance_test

import (
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/conformance"
)

func (g *generator) fresh() {
	g.begin("init", "Tags that a device puts on", usual)
	pass := policy("pass", both)
	one := func(id, format, t string, out part) {
		g.tags(id, puts(format, t).and(pass), late(2100), nil, stack{out})
	}
	one("CSIG-INI-01/abw", "compact", "abw", c(abw, 31, 0))
	one("CSIG-INI-02/abw-c", "compact", "abw-c", c(share, 31, 0))
	one("CSIG-INI-03/delay", "compact", "delay", c(delay, 0, 0))
	one("CSIG-INI-03/wide", "wide", "delay", w(delay, 0, 0))
	one("CSIG-INI-04/nqd", "compact", "nqd", c(nqd, 0, 0))
	one("CSIG-INI-04/wide", "wide", "nqd", w(nqd, 0, 0))
	one("CSIG-INI-05/abw", "wide", "abw", w(abw, ones, 0))
	one("CSIG-INI-05/abw-c", "wide", "abw-c", w(share, ones, 0))
	one("CSIG-INI-06/compact", "compact", "delay", c(delay, 0, 0))
	one("CSIG-INI-06/wide", "wide", "abw", w(abw, ones, 0))
	ctag, stag := vlan(0x8100, 0x6064), vlan(0x88a8, 0x60c8)
	compact, wide := puts("compact", "abw").and(pass), puts("wide", "delay").and(pass)
	g.tags("CSIG-INI-07/c", compact, late(2100), stack{ctag}, stack{ctag, c(abw, 31, 0)})
	g.tags("CSIG-INI-11/compact", compact, late(2100), stack{stag, ctag}, stack{stag, ctag, c(abw, 31, 0)})
	g.tags("CSIG-INI-07/wide", wide, late(2100), stack{ctag}, stack{ctag, w(delay, 0, 0)})
	g.tags("CSIG-INI-11/wide", wide, late(2100), stack{stag, ctag}, stack{stag, ctag, w(delay, 0, 0)})
	g.same("CSIG-INI-08/compact", compact, late(2100), stack{c(delay, 9, 5)})
	g.same("CSIG-INI-08/wide", compact, late(2100), stack{w(delay, 9, 5)})
	g.same("CSIG-INI-08/unknown", compact, late(2100), stack{c(6, 9, 5)})
	g.tags("CSIG-INI-09/delay", puts("compact", "delay"), late(2100), nil, stack{c(delay, 4, 13)})
	g.tags("CSIG-INI-09/abw", puts("compact", "abw"), sent(625), nil, stack{c(abw, 16, 13)})
	turns := idle()
	var in, out []conformance.Frame
	for i, tag := range []part{c(abw, 31, 0), c(nqd, 0, 0), c(delay, 0, 0), c(abw, 31, 0)} {
		body := plain(1, 3, 80+i)
		f := g.frame(1, 3, nil, body)
		f.Port, f.At, f.State = 1, int64(1200+1000*i), &turns.state
		in = append(in, f)
		f = g.frame(1, 3, stack{tag}, body)
		f.Port = 3
		out = append(out, f)
	}
	g.put("CSIG-INI-10/three", puts("compact", "abw", "nqd", "delay").and(pass), in, out)
}

func (g *generator) update() {
	g.begin("update", "Compare and update, D, and locators", usual)
	g.tags("CSIG-UPD-01/abw", asUsual, sent(625), stack{c(abw, 17, 7)}, stack{c(abw, 16, 13)})
	g.tags("CSIG-UPD-01/abw-c", asUsual, sent(625), stack{c(share, 17, 7)}, stack{c(share, 16, 13)})
	g.tags("CSIG-UPD-01/wide-abw", asUsual, sent(625), stack{w(abw, 4769, 7)}, stack{w(abw, 4768, 10003)})
	g.tags("CSIG-UPD-01/wide-abw-c", asUsual, sent(625), stack{w(share, 500_001, 7)}, stack{w(share, 500_000, 10003)})
	g.tags("CSIG-UPD-02/delay", asUsual, late(2000), stack{c(delay, 3, 7)}, stack{c(delay, 4, 13)})
	g.tags("CSIG-UPD-02/nqd", asUsual, queued(500), stack{c(nqd, 15, 7)}, stack{c(nqd, 16, 13)})
	g.tags("CSIG-UPD-02/wide-delay", asUsual, late(2000), stack{w(delay, 124, 7)}, stack{w(delay, 125, 10003)})
	g.tags("CSIG-UPD-02/wide-nqd", asUsual, queued(500), stack{w(nqd, 499_999, 7)}, stack{w(nqd, 500_000, 10003)})
	g.same("CSIG-UPD-03/abw", asUsual, sent(625), stack{c(abw, 16, 7)})
	g.same("CSIG-UPD-03/abw-c", asUsual, sent(625), stack{c(share, 16, 7)})
	g.same("CSIG-UPD-03/delay", asUsual, late(2000), stack{c(delay, 4, 7)})
	g.same("CSIG-UPD-03/nqd", asUsual, queued(500), stack{c(nqd, 16, 7)})
	g.same("CSIG-UPD-03/fresh-idle", asUsual, idle(), stack{c(abw, 31, 0)})
	g.same("CSIG-UPD-03/wide-abw", asUsual, sent(625), stack{w(abw, 4768, 7)})
	g.same("CSIG-UPD-03/wide-delay", asUsual, late(2000), stack{w(delay, 125, 7)})
	g.same("CSIG-UPD-04/abw", asUsual, sent(625), stack{c(abw, 15, 7)})
	g.same("CSIG-UPD-04/abw-c", asUsual, sent(625), stack{c(share, 0, 7)})
	g.same("CSIG-UPD-04/delay", asUsual, late(2000), stack{c(delay, 5, 7)})
	g.same("CSIG-UPD-04/nqd", asUsual, queued(500), stack{c(nqd, 31, 7)})
	g.same("CSIG-UPD-04/wide-abw", asUsual, sent(625), stack{w(abw, 4767, 7)})
	g.same("CSIG-UPD-04/wide-delay", asUsual, late(2000), stack{w(delay, 126, 7)})
	g.same("CSIG-UPD-05/abw", asUsual, sent(650), stack{c(abw, 15, 7)})     // 600 MB/s of the range from 586 to 625
	g.same("CSIG-UPD-05/delay", asUsual, late(2499), stack{c(delay, 4, 7)}) // of the range from 2000 to 2500
	g.same("CSIG-UPD-05/wide", asUsual, late(2015), stack{w(delay, 125, 7)})
	g.tags("CSIG-UPD-06/compact", locators(42, 1), late(2000), stack{c(delay, 3, 21)}, stack{c(delay, 4, 42)})
	g.tags("CSIG-UPD-06/wide", locators(1, 0x2aaa), sent(625), stack{w(abw, ones, 0x5555)}, stack{w(abw, 4768, 0x2aaa)})
	g.same("CSIG-UPD-06/kept", locators(42, 1), late(2000), stack{c(delay, 4, 21)})
	g.tags("CSIG-UPD-07/compact", asUsual, queued(500), stack{reserved(c(nqd, 2, 7), 1)}, stack{reserved(c(nqd, 16, 13), 1)})
	g.tags("CSIG-UPD-07/wide", asUsual, queued(500), stack{reserved(w(nqd, 2, 7), 0x81)}, stack{reserved(w(nqd, 500_000, 10003), 0x81)})
	g.tags("CSIG-UPD-07/d", overrides("delay"), late(2000), stack{frozen(reserved(w(delay, 2, 7), 0x81))}, stack{frozen(reserved(w(delay, 125, 10003), 0x81))})
	ipv6 := slices.Concat([]byte{0x86, 0xdd, 0x60, 0, 0, 0, 0, 38, 59, 1}, counting(32), counting(38))
	other := slices.Concat([]byte{0x90, 0}, counting(78))
	for _, x := range []struct {
		name string
		body []byte
	}{{"ipv6", ipv6}, {"other", other}} {
		g.frames("CSIG-UPD-08/"+x.name, asUsual, late(2000), g.frame(1, 3, stack{c(delay, 0, 0)}, x.body), g.frame(1, 3, stack{c(delay, 4, 13)}, x.body))
		f := g.frame(1, 3, nil, x.body)
		g.frames("CSIG-UPD-09/"+x.name, asUsual, late(2000), f, f)
	}
	g.tags("CSIG-UPD-08/ipv4", asUsual, late(2000), stack{c(delay, 0, 0)}, stack{c(delay, 4, 13)})
	g.same("CSIG-UPD-09/ipv4", asUsual, late(2000), nil)
	g.same("CSIG-UPD-09/vlan", asUsual, late(2000), stack{vlan(0x8100, 0x6064)})

	// SAI fig. 1: hops with 10, 3, 18, 5 and 8 us.
	hops := []struct{ ns, compact, wide int }{{10_000, 1, 0xe0 >> 1}, {3000, 17, 0x4164 >> 1}, {18_000, 41, 0xa08e >> 1}, {5000, 25, 0x3333}, {8000, 9, 0x2302 >> 1}}
	tags := []part{c(delay, 0, 0), c(delay, 16, 1), c(delay, 16, 1), c(delay, 19, 41), c(delay, 19, 41), c(delay, 19, 41)}
	wides := []part{w(delay, 0, 0), w(delay, 625, 112), w(delay, 625, 112), w(delay, 1125, 20551), w(delay, 1125, 20551), w(delay, 1125, 20551)}
	geo := quantiser("compact", "delay", "geometric", geometric())
	for i, hop := range hops {
		d := geo.and(locators(hop.compact, hop.wide))
		g.tags(fmt.Sprintf("CSIG-UPD-10/compact-hop%d", i+1), d, late(hop.ns), stack{tags[i]}, stack{tags[i+1]})
		g.tags(fmt.Sprintf("CSIG-UPD-10/wide-hop%d", i+1), d, late(hop.ns), stack{wides[i]}, stack{wides[i+1]})
	}
	g.tags("CSIG-UPD-11/first", locators(21, 21), late(2000), stack{c(delay, 0, 0)}, stack{c(delay, 4, 21)})
	g.same("CSIG-UPD-11/second", locators(42, 42), late(2400), stack{c(delay, 4, 21)})

	g.same("CSIG-DNU-01/delay", asUsual, late(2000), stack{frozen(c(delay, 0, 0))})
	g.same("CSIG-DNU-01/abw", asUsual, sent(625), stack{frozen(c(abw, 31, 0))})
	g.same("CSIG-DNU-02/delay", asUsual, late(2000), stack{frozen(w(delay, 0, 0))})
	g.same("CSIG-DNU-02/abw", asUsual, sent(625), stack{frozen(w(abw, ones, 0))})
	g.tags("CSIG-DNU-03/abw", overrides("abw", "abw-c"), sent(625), stack{frozen(c(abw, 31, 0))}, stack{frozen(c(abw, 16, 13))})
	g.tags("CSIG-DNU-03/wide", overrides("abw", "abw-c"), sent(625), stack{frozen(w(share, ones, 0))}, stack{frozen(w(share, 500_000, 10003))})
	g.same("CSIG-DNU-04/delay", overrides("abw", "abw-c"), late(2000), stack{frozen(c(delay, 0, 0))})
	g.same("CSIG-DNU-04/wide", overrides("abw", "abw-c"), late(2000), stack{frozen(w(delay, 0, 0))})
	g.tags("CSIG-DNU-05/compact", policy("strip", both), late(2000), stack{frozen(c(delay, 0, 0))}, nil)
	g.tags("CSIG-DNU-05/wide", policy("strip", both), late(2000), stack{frozen(w(delay, 0, 0))}, nil)

	state := late(2000).state
	var in, out []conformance.Frame
	for _, to := range []int{2, 3} {
		body := plain(1, to, 80)
		f := g.frame(1, to, stack{c(delay, 0, 0)}, body)
		f.At, f.Port, f.State = int64(1000*to), 1, &state
		in = append(in, f)
		f = g.frame(1, to, stack{c(delay, 4, 10+to)}, body)
		f.Port = to
		out = append(out, f)
	}
	g.put("CSIG-LOC-01/two-ports", latency(1920), in, out)
	g.tags("CSIG-LOC-02/compact", locators(0, 0), late(2000), stack{c(delay, 0, 9)}, stack{c(delay, 4, 0)})
	g.tags("CSIG-LOC-02/wide", locators(0, 0), late(2000), stack{w(delay, 0, 9)}, stack{w(delay, 125, 0)})
	g.tags("CSIG-LOC-03/compact", locators(5, 0x7ffa), late(2000), stack{c(delay, 0, 0)}, stack{c(delay, 4, 5)})
	g.tags("CSIG-LOC-03/wide", locators(5, 0x7ffa), late(2000), stack{w(delay, 0, 0)}, stack{w(delay, 125, 0x7ffa)})
}

func (g *generator) policies() {
	g.begin("policy", "Ports that pass, strip and terminate, and the edge of a domain", usual)
	pass, strip, ends := policy("pass", both), policy("strip", both), policy("terminate", both)
	g.same("CSIG-PAS-01/compact", pass, late(2000), stack{c(delay, 0, 0)})
	g.same("CSIG-PAS-01/wide", pass, sent(625), stack{w(abw, ones, 0)})
	g.same("CSIG-PAS-02/passes", policy("pass", both, "abw"), sent(625), stack{c(abw, 31, 0)})
	g.tags("CSIG-PAS-02/updates", policy("pass", both, "abw"), sent(625), stack{c(share, 31, 0)}, stack{c(share, 16, 13)})
	g.same("CSIG-PAS-03/passes", policy("pass", "wide"), late(2000), stack{w(delay, 0, 0)})
	g.tags("CSIG-PAS-03/updates", policy("pass", "wide"), late(2000), stack{c(delay, 0, 0)}, stack{c(delay, 4, 13)})

	ctag, stag := vlan(0x8100, 0x6064), vlan(0x88a8, 0x60c8)
	for i, t := range allTypes {
		g.tags("CSIG-STR-01/"+t, strip, late(2000), stack{c(i, 5, 6)}, nil)
		g.tags("CSIG-STR-02/"+t, strip, late(2000), stack{w(i, 5, 6)}, nil)
	}
	g.tags("CSIG-STR-03/c", strip, late(2000), stack{ctag, c(delay, 0, 0)}, stack{ctag})
	g.tags("CSIG-STR-03/s-csig-c", strip, late(2000), stack{stag, c(delay, 0, 0), ctag}, stack{stag, ctag})
	g.tags("CSIG-STR-03/wide", strip, late(2000), stack{stag, ctag, w(delay, 0, 0)}, stack{stag, ctag})
	g.tags("CSIG-STR-04/strips", policy("strip", both, "delay"), late(2000), stack{c(delay, 0, 0)}, nil)
	g.tags("CSIG-STR-04/updates", policy("strip", both, "delay"), sent(625), stack{c(abw, 31, 0)}, stack{c(abw, 16, 13)})
	g.same("CSIG-STR-05/none", strip, late(2000), nil)
	g.same("CSIG-STR-05/vlan", strip, late(2000), stack{stag, ctag})

	g.tags("CSIG-TRM-01/compact", ends, late(2000), stack{c(delay, 2, 6)}, nil)
	g.tags("CSIG-TRM-01/wide", ends, sent(625), stack{w(abw, 4000, 6)}, nil)
	g.tags("CSIG-TRM-01/vlan", ends, sent(625), stack{ctag, w(abw, 4000, 6)}, stack{ctag})
	g.tags("CSIG-TRM-02/compact", ends, late(2000), stack{frozen(c(delay, 2, 6))}, nil)
	g.tags("CSIG-TRM-02/untouched", ends, late(2000), stack{frozen(w(abw, ones, 0))}, nil)
	g.tags("CSIG-TRM-03/terminates", policy("terminate", both, "abw"), sent(625), stack{c(abw, 31, 0)}, nil)
	g.tags("CSIG-TRM-03/updates", policy("terminate", both, "abw"), sent(625), stack{c(share, 31, 0)}, stack{c(share, 16, 13)})

	g.tags("CSIG-EDG-01/t2", outside, late(2000), stack{c(delay, 0, 0)}, nil)
	g.tags("CSIG-EDG-01/forged", outside, late(2000), stack{c(abw, 0, 40)}, nil)
	g.tags("CSIG-EDG-01/d", outside, late(2000), stack{frozen(c(delay, 31, 40))}, nil)
	g.tags("CSIG-EDG-02/wide", outside, late(2000), stack{w(delay, 0, 0)}, nil)
	g.tags("CSIG-EDG-02/other-format", only("compact").and(outside), late(2000), stack{w(delay, 0, 0)}, nil)
	g.tags("CSIG-EDG-03/compact", outside, late(2000), stack{c(6, 3, 9)}, nil)
	g.tags("CSIG-EDG-03/wide", outside, late(2000), stack{w(12, 3, 9)}, nil)
	g.tags("CSIG-EDG-04/compact", outside, late(2000), stack{c(delay, 0, 0), c(abw, 0, 5)}, nil)
	g.tags("CSIG-EDG-04/both", outside, late(2000), stack{c(delay, 0, 0), ctag, w(abw, 0, 5)}, stack{ctag})
	g.tags("CSIG-EDG-05/c", outside, late(2000), stack{ctag, c(delay, 0, 0)}, stack{ctag})
	g.tags("CSIG-EDG-05/s-csig-c", outside, late(2000), stack{stag, w(delay, 0, 0), ctag}, stack{stag, ctag})
	g.same("CSIG-EDG-06/none", outside, late(2000), nil)
	g.same("CSIG-EDG-06/vlan", outside, late(2000), stack{stag, ctag})
	fresh := outside.and(puts("compact", "abw")).and(pass)
	g.tags("CSIG-EDG-07/compact", fresh, late(2000), stack{c(abw, 0, 40)}, stack{c(abw, 31, 0)})
	g.tags("CSIG-EDG-07/wide", fresh, late(2000), stack{w(abw, 0, 40)}, stack{c(abw, 31, 0)})
}
