package conformance_test

import (
	"fmt"
	"math/big"

	"github.com/csiglab/csiglab/conformance"
)

// Every expected field below was computed by hand from the rule; nothing here quantises.

func (g *generator) layout() {
	g.begin("layout", "The bits of tags in dialect uec-0.50", usual)
	g.tags("CSIG-LAY-01/t0", asUsual, sent(625), stack{c(abw, 31, 0)}, stack{c(abw, 16, 13)})
	g.tags("CSIG-LAY-01/t1", asUsual, sent(625), stack{c(share, 31, 0)}, stack{c(share, 16, 13)})
	g.tags("CSIG-LAY-01/t2", asUsual, late(2000), stack{c(delay, 0, 0)}, stack{c(delay, 4, 13)})
	g.tags("CSIG-LAY-01/t3", asUsual, queued(500), stack{c(nqd, 0, 0)}, stack{c(nqd, 16, 13)})
	for _, s := range []int{1, 10, 21, 31} {
		g.tags(fmt.Sprintf("CSIG-LAY-02/s%d", s), asUsual, late(s*500), stack{c(delay, 0, 0)}, stack{c(delay, s, 13)})
	}
	for _, lm := range []int{1, 21, 42, 63} {
		g.tags(fmt.Sprintf("CSIG-LAY-03/lm%d", lm), locators(lm, 1), late(2000), stack{c(delay, 0, 0)}, stack{c(delay, 4, lm)})
		g.tags(fmt.Sprintf("CSIG-LAY-03/over%d", lm), locators(lm, 1), late(2000), stack{c(delay, 1, 63-lm)}, stack{c(delay, 4, lm)})
	}
	g.same("CSIG-LAY-04/set", asUsual, late(2000), stack{frozen(c(delay, 0, 0))})
	g.tags("CSIG-LAY-04/bit30", asUsual, late(2000), stack{c(delay, 0, 1)}, stack{c(delay, 4, 13)})
	g.tags("CSIG-LAY-05/updated", asUsual, late(2000), stack{reserved(c(delay, 0, 0), 1)}, stack{reserved(c(delay, 4, 13), 1)})
	g.same("CSIG-LAY-05/kept", asUsual, late(2000), stack{reserved(c(delay, 9, 5), 1)})

	g.tags("CSIG-LAY-06/t0", asUsual, sent(625), stack{w(abw, ones, 0)}, stack{w(abw, 4768, 10003)})
	g.tags("CSIG-LAY-06/t1", asUsual, sent(625), stack{w(share, ones, 0)}, stack{w(share, 500_000, 10003)})
	g.tags("CSIG-LAY-06/t2", asUsual, late(2000), stack{w(delay, 0, 0)}, stack{w(delay, 125, 10003)})
	g.tags("CSIG-LAY-06/t3", asUsual, queued(500), stack{w(nqd, 0, 0)}, stack{w(nqd, 500_000, 10003)})
	for _, s := range []int{6, 0x5a5a5, 0xa5a5a, ones} {
		g.tags(fmt.Sprintf("CSIG-LAY-07/s%x", s), asUsual, late(s*16), stack{w(delay, 0, 0)}, stack{w(delay, s, 10003)})
	}
	for _, lm := range []int{1, 0x2aaa, 0x5555, 0x7fff} {
		g.tags(fmt.Sprintf("CSIG-LAY-08/lm%x", lm), locators(1, lm), late(2000), stack{w(delay, 0, 0)}, stack{w(delay, 125, lm)})
		g.tags(fmt.Sprintf("CSIG-LAY-08/over%x", lm), locators(1, lm), late(2000), stack{w(delay, 1, 0x7fff-lm)}, stack{w(delay, 125, lm)})
	}
	g.same("CSIG-LAY-09/set", asUsual, late(2000), stack{frozen(w(delay, 0, 0))})
	g.tags("CSIG-LAY-09/bit30", asUsual, late(2000), stack{w(delay, 0, 1)}, stack{w(delay, 125, 10003)})
	g.tags("CSIG-LAY-10/updated", asUsual, late(2000), stack{reserved(w(delay, 0, 0), 0xa5)}, stack{reserved(w(delay, 125, 10003), 0xa5)})
	g.same("CSIG-LAY-10/kept", asUsual, late(2000), stack{reserved(w(delay, 900, 5), 0xff)})
}

func (g *generator) dialect() {
	g.begin("draft-01", "The bits of tags in dialect draft-01", profile{draft: true, compact: 0x88b5, wide: 0x88b6})
	// The bytes 2b 85 and 28 42 stand in FBOSS's tests.
	g.tags("CSIG-DIA-01/fboss", locators(0x42, 1), sent(625), stack{c(share, 0x17, 5)}, stack{c(share, 0x10, 0x42)})
	for _, lm := range []int{64, 85, 127} {
		g.tags(fmt.Sprintf("CSIG-DIA-01/lm%d", lm), locators(lm, 1), late(2000), stack{c(delay, 0, 0)}, stack{c(delay, 4, lm)})
	}
	for _, lm := range []int{0x8000, 0x5555, 0xffff} {
		g.tags(fmt.Sprintf("CSIG-DIA-02/lm%x", lm), locators(1, lm), late(2000), stack{w(delay, 0, 0)}, stack{w(delay, 125, lm)})
	}
	g.tags("CSIG-DIA-03/compact", asUsual, late(2000), stack{c(delay, 1, 5)}, stack{c(delay, 4, 13)})
	g.tags("CSIG-DIA-03/wide", asUsual, late(2000), stack{w(delay, 1, 5)}, stack{w(delay, 125, 10003)})
	g.trim("CSIG-DIA-04/force", trims("force_local"), stack{c(delay, 0, 4)}, stack{c(delay, 31, 13)})
	g.trim("CSIG-DIA-04/wide", trims("force_local"), stack{w(delay, 0, 4)}, stack{w(delay, ones, 10003)})
}

func (g *generator) tpids() {
	g.begin("tpid", "TPIDs that the operator chose", profile{compact: 0x9900, wide: 0xccdd})
	g.tags("CSIG-TPI-01/9900", asUsual, late(2000), stack{c(delay, 0, 0)}, stack{c(delay, 4, 13)})
	g.tags("CSIG-TPI-01/vlan", asUsual, late(2000), stack{vlan(0x8100, 0x6064), c(delay, 0, 0)}, stack{vlan(0x8100, 0x6064), c(delay, 4, 13)})
	g.tags("CSIG-TPI-02/ccdd", asUsual, late(2000), stack{w(delay, 0, 0)}, stack{w(delay, 125, 10003)})
	g.tags("CSIG-TPI-03/compact", asUsual, sent(625), stack{c(abw, 31, 0)}, stack{c(abw, 16, 13)})
	g.tags("CSIG-TPI-03/wide", asUsual, sent(625), stack{w(abw, ones, 0)}, stack{w(abw, 4768, 10003)})
	g.same("CSIG-TPI-04/88b5", asUsual, late(2000), stack{raw(0x88, 0xb5, 0x40, 0)})
	g.same("CSIG-TPI-04/88b6", asUsual, late(2000), stack{raw(0x88, 0xb6, 0, 0, 0x20, 0, 0, 0)})
}

func (g *generator) positions() {
	g.begin("position", "Where tags stand in a frame, and fields that devices do not know", usual)
	const pcp, sVID = 0x6064, 0x60c8
	ctag, stag := vlan(0x8100, pcp), vlan(0x88a8, sVID)
	for _, x := range []struct {
		id         string
		front, end stack
	}{
		{"CSIG-POS-01/none", nil, nil},
		{"CSIG-POS-02/c", stack{ctag}, nil},
		{"CSIG-POS-03/s-csig-c", stack{stag}, stack{ctag}},
		{"CSIG-POS-04/s-c-csig", stack{stag, ctag}, nil},
		{"CSIG-POS-05/s", stack{stag}, nil},
		{"CSIG-POS-06/9100", stack{vlan(0x9100, sVID), ctag}, nil},
		{"CSIG-POS-08/integrity", stack{secTag(0), ctag}, nil},
		{"CSIG-POS-09/sci", stack{secTag(0x20), ctag}, nil},
		{"CSIG-POS-10/priority", stack{vlan(0x8100, 0xffff)}, nil},
		{"CSIG-POS-11/csig-c", nil, stack{ctag}},
	} {
		around := func(p part) stack { return append(append(append(stack{}, x.front...), p), x.end...) }
		g.tags(x.id+"-compact", asUsual, late(2000), around(c(delay, 0, 0)), around(c(delay, 4, 13)))
		g.tags(x.id+"-wide", asUsual, late(2000), around(w(delay, 0, 0)), around(w(delay, 125, 10003)))
	}
	hidden := raw(0x88, 0xb5, 0x40, 0, 0x7a, 0x11) // what is encrypted may look like a tag
	g.same("CSIG-POS-07/encrypted", asUsual, late(2000), stack{secTag(0x0c), hidden})
	g.same("CSIG-POS-07/encrypted-sci", asUsual, late(2000), stack{secTag(0x2c), hidden})
	g.same("CSIG-POS-07/changed", asUsual, late(2000), stack{secTag(0x04), hidden})
	g.same("CSIG-POS-10/no-csig", asUsual, late(2000), stack{stag, ctag})

	for t := 4; t <= 7; t++ {
		g.same(fmt.Sprintf("CSIG-UNK-01/t%d", t), asUsual, late(2000), stack{c(t, 5, 6)})
	}
	for _, t := range []int{4, 7, 8, 11, 15} {
		g.same(fmt.Sprintf("CSIG-UNK-02/t%d", t), asUsual, late(2000), stack{w(t, 5, 6)})
	}
	g.same("CSIG-UNK-03/compact", asUsual, late(2000), stack{c(delay, 0, 0), c(delay, 0, 0)})
	g.same("CSIG-UNK-03/wide", asUsual, late(2000), stack{w(delay, 0, 0), w(delay, 0, 0)})
	g.same("CSIG-UNK-03/vlan", asUsual, late(2000), stack{c(delay, 0, 0), ctag, c(delay, 0, 0)})
	g.same("CSIG-UNK-04/compact-wide", asUsual, late(2000), stack{c(delay, 0, 0), w(delay, 0, 0)})
	g.same("CSIG-UNK-04/wide-compact", asUsual, late(2000), stack{w(delay, 0, 0), c(delay, 0, 0)})
	g.same("CSIG-UNK-05/9", asUsual, late(2000), stack{ctag, ctag, ctag, ctag, ctag, ctag, ctag, ctag, ctag, c(delay, 0, 0)})
	g.same("CSIG-TPI-05/wide", only("compact"), late(2000), stack{w(delay, 0, 0)})
	g.same("CSIG-TPI-05/compact", only("wide"), late(2000), stack{c(delay, 0, 0)})

	damaged := func(id string, tail ...byte) {
		f := g.between(hostMAC(1), hostMAC(3), nil, tail)
		g.frames(id, asUsual, late(2000), f, f)
	}
	damaged("CSIG-DMG-01/no-content", 0x88, 0xb5)
	damaged("CSIG-DMG-01/half", 0x88, 0xb5, 0x40)
	damaged("CSIG-DMG-01/vlan", 0x81, 0, 0x60, 0x64, 0x88, 0xb5, 0x40)
	damaged("CSIG-DMG-02/no-content", 0x88, 0xb6)
	damaged("CSIG-DMG-02/half", 0x88, 0xb6, 0, 0, 0x20)
	damaged("CSIG-DMG-02/all-but-one", 0x88, 0xb6, 0, 0, 0x20, 0, 0)
	damaged("CSIG-DMG-03/compact", 0x88, 0xb5, 0x40, 0)
	damaged("CSIG-DMG-03/half", 0x88, 0xb5, 0x40, 0, 8)
	damaged("CSIG-DMG-03/wide", 0x88, 0xb6, 0, 0, 0x20, 0, 0, 0)
	g.frames("CSIG-DMG-04/13", asUsual, late(2000), g.between(hostMAC(1), hostMAC(3), nil, []byte{8}))
	g.frames("CSIG-DMG-04/6", asUsual, late(2000), conformance.Frame{Bytes: hostMAC(3)})
	g.same("CSIG-DMG-05/length", asUsual, late(2000), stack{raw(0, 82, 0x88, 0xb5, 0x40, 0)})
}

func (g *generator) signals() {
	g.begin("signal", "What the four signals measure", usual)
	g.tags("CSIG-SIG-01/busy", asUsual, sent(1000), stack{c(abw, 31, 0)}, stack{c(abw, 6, 13)})
	g.tags("CSIG-SIG-01/wide", asUsual, sent(1000), stack{w(abw, ones, 0)}, stack{w(abw, 1907, 10003)})
	g.tags("CSIG-SIG-02/busy", asUsual, sent(1000), stack{c(share, 31, 0)}, stack{c(share, 6, 13)})
	g.tags("CSIG-SIG-02/wide", asUsual, sent(1000), stack{w(share, ones, 0)}, stack{w(share, 200_000, 10003)})
	g.tags("CSIG-SIG-03/late", asUsual, late(7777), stack{c(delay, 0, 0)}, stack{c(delay, 15, 13)})
	g.tags("CSIG-SIG-03/wide", asUsual, late(7777), stack{w(delay, 0, 0)}, stack{w(delay, 486, 10003)})
	g.tags("CSIG-SIG-04/queued", asUsual, queued(900), stack{c(nqd, 0, 0)}, stack{c(nqd, 28, 13)})
	g.tags("CSIG-SIG-04/wide", asUsual, queued(900), stack{w(nqd, 0, 0)}, stack{w(nqd, 900_000, 10003)})
	g.tags("CSIG-SIG-05/125", asUsual, sent(125), stack{w(abw, ones, 0)}, stack{w(abw, 8583, 10003)})
	g.tags("CSIG-SIG-05/all", asUsual, sent(1250), stack{w(abw, ones, 0)}, stack{w(abw, 0, 10003)})
	g.tags("CSIG-SIG-05/none", asUsual, idle(), stack{w(abw, ones, 0)}, stack{w(abw, 9536, 10003)})
	other := idle()
	other.before = []conformance.Frame{load(0, 2, 0, 1000)}
	g.elsewhere("CSIG-SIG-06/wide", other, stack{w(abw, ones, 0)}, stack{w(abw, 9536, 10003)})
	g.elsewhere("CSIG-SIG-06/share", other, stack{w(share, ones, 0)}, stack{w(share, 1_000_000, 10003)})
	g.tags("CSIG-SIG-07/waits", asUsual, queued(0), stack{w(delay, 0, 0)}, stack{w(delay, 17, 10003)})
	g.tags("CSIG-SIG-07/pipeline", asUsual, late(800), stack{w(delay, 0, 0)}, stack{w(delay, 50, 10003)})
	g.tags("CSIG-SIG-07/idle", asUsual, idle(), stack{w(delay, 0, 0)}, stack{w(delay, 5, 10003)})
	g.same("CSIG-SIG-08/itself", asUsual, queued(0), stack{w(nqd, 0, 0)})
	g.tags("CSIG-SIG-08/64", asUsual, queued(64), stack{w(nqd, 0, 0)}, stack{w(nqd, 64_000, 10003)})
	before := idle()
	before.at, before.before = 2200, []conformance.Frame{load(0, 3, 0, 1000)}
	g.tags("CSIG-SIG-09/before", asUsual, before, stack{w(abw, ones, 0)}, stack{w(abw, 9536, 10003)})
}

// elsewhere is tags of a scene whose other frames leave by port 2.
func (g *generator) elsewhere(id string, s scene, in, out stack) {
	g.tags(id, asUsual, s, in, out)
	v := &g.file.Vectors[len(g.file.Vectors)-1]
	v.Out[0].Port = 2
}

func (g *generator) quantisers() {
	g.begin("quantiser", "Quantisers and their edges", usual)
	g.tags("CSIG-QUA-01/abw", asUsual, sent(625), stack{c(abw, 31, 0)}, stack{c(abw, 16, 13)})
	g.tags("CSIG-QUA-01/abw-c", asUsual, sent(625), stack{c(share, 31, 0)}, stack{c(share, 16, 13)})
	g.tags("CSIG-QUA-01/delay", asUsual, late(2500), stack{c(delay, 0, 0)}, stack{c(delay, 5, 13)})
	g.tags("CSIG-QUA-01/nqd", asUsual, queued(250), stack{c(nqd, 0, 0)}, stack{c(nqd, 8, 13)})
	g.tags("CSIG-QUA-02/abw", asUsual, sent(626), stack{c(abw, 31, 0)}, stack{c(abw, 15, 13)})
	g.tags("CSIG-QUA-02/abw-c", asUsual, sent(626), stack{c(share, 31, 0)}, stack{c(share, 15, 13)})
	g.tags("CSIG-QUA-02/delay", asUsual, late(2499), stack{c(delay, 0, 0)}, stack{c(delay, 4, 13)})
	g.tags("CSIG-QUA-02/nqd", asUsual, queued(249), stack{c(nqd, 0, 0)}, stack{c(nqd, 7, 13)})
	g.tags("CSIG-QUA-03/edge", asUsual, late(15_500), stack{c(delay, 0, 0)}, stack{c(delay, 31, 13)})
	g.tags("CSIG-QUA-03/beyond", asUsual, late(40_000), stack{c(delay, 0, 0)}, stack{c(delay, 31, 13)})

	shares := []uint64{0, 50_000, 100_000, 250_000, 400_000, 550_000, 700_000, 850_000}
	eight := quantiser("compact", "abw-c", "8 ranges", conformance.Quantiser{Edges: shares})
	g.tags("CSIG-QUA-04/half", eight, sent(625), stack{c(share, 31, 0)}, stack{c(share, 4, 13)})
	g.tags("CSIG-QUA-04/idle", eight, idle(), stack{c(share, 31, 0)}, stack{c(share, 7, 13)})
	g.tags("CSIG-QUA-04/full", eight, sent(1250), stack{c(share, 7, 9)}, stack{c(share, 0, 13)})
	// FBOSS: a switch with three bits for the bucket, behind the prefix 10.
	prefixed := quantiser("compact", "abw-c", "8 ranges, prefix 10", conformance.Quantiser{Edges: shares, Codes: []int{16, 17, 18, 19, 20, 21, 22, 23}})
	g.tags("CSIG-QUA-05/half", prefixed, sent(625), stack{c(share, 31, 0)}, stack{c(share, 20, 13)})
	g.tags("CSIG-QUA-05/idle", prefixed, idle(), stack{c(share, 31, 0)}, stack{c(share, 23, 13)})
	g.same("CSIG-QUA-05/better", prefixed, sent(625), stack{c(share, 19, 9)})
	mixed := quantiser("compact", "delay", "4 ranges, mixed codes", conformance.Quantiser{Edges: []uint64{0, 1000, 2000, 3000}, Codes: []int{9, 3, 20, 12}})
	g.tags("CSIG-QUA-06/worse", mixed, late(3500), stack{c(delay, 20, 9)}, stack{c(delay, 12, 13)})
	g.same("CSIG-QUA-06/better", mixed, late(1500), stack{c(delay, 12, 9)})
	g.tags("CSIG-QUA-06/lowest", mixed, late(1500), stack{c(delay, 9, 9)}, stack{c(delay, 3, 13)})
	g.tags("CSIG-QUA-06/fresh", mixed, late(500), stack{c(delay, 0, 0)}, stack{c(delay, 9, 13)})
	g.same("CSIG-QUA-07/max", mixed, late(3500), stack{c(delay, 5, 9)})
	g.same("CSIG-QUA-07/min", prefixed, sent(1250), stack{c(share, 5, 9)})

	g.tags("CSIG-QUA-08/down", asUsual, late(10_521), stack{w(delay, 0, 0)}, stack{w(delay, 657, 10003)})
	g.tags("CSIG-QUA-08/exact", asUsual, late(18_000), stack{w(delay, 0, 0)}, stack{w(delay, 1125, 10003)})
	based := quantiser("wide", "delay", "base 1024, step 32", linear(32, 1024))
	g.tags("CSIG-QUA-08/base", based, late(2000), stack{w(delay, 0, 0)}, stack{w(delay, 30, 10003)})
	g.tags("CSIG-QUA-09/base", based, late(1056), stack{w(delay, 0, 0)}, stack{w(delay, 1, 10003)})
	g.same("CSIG-QUA-09/below", based, late(1055), stack{w(delay, 0, 0)})
	kilo := quantiser("wide", "abw-c", "step 1024", linear(1024, 0))
	g.tags("CSIG-QUA-09/min", kilo, sent(610), stack{w(share, ones, 0)}, stack{w(share, 500, 10003)})
	g.tags("CSIG-QUA-09/min-below", kilo, sent(611), stack{w(share, ones, 0)}, stack{w(share, 499, 10003)})
	g.same("CSIG-QUA-10/max", based, late(500), stack{w(delay, 0, 0)})
	above := quantiser("wide", "abw-c", "base 2^19, step 1", linear(1, 1<<19))
	g.tags("CSIG-QUA-10/min", above, sent(625), stack{w(share, ones, 0)}, stack{w(share, 0, 10003)})
	fine := quantiser("wide", "delay", "step 1", linear(1, 0))
	g.tags("CSIG-QUA-11/last", fine, late(ones), stack{w(delay, ones-1, 9)}, stack{w(delay, ones, 10003)})
	g.tags("CSIG-QUA-11/beyond", fine, late(ones+1), stack{w(delay, 7, 9)}, stack{w(delay, ones, 10003)})
	g.tags("CSIG-QUA-11/far", fine, late(3_000_000), stack{w(delay, 7, 9)}, stack{w(delay, ones, 10003)})
}

// geometric returns edges at 0 and 250 * 2^(i/3) ns, rounded: i thirds of an octave, without
// floating point.
func geometric() (q conformance.Quantiser) {
	q.Edges = []uint64{0}
	for i := range 31 {
		// The greatest e with (e - 1/2)^3 <= 250^3 * 2^i, or (2e-1)^3 <= 500^3 * 2^i.
		bound := new(big.Int).Lsh(big.NewInt(500*500*500), uint(i))
		e := int64(250)
		for new(big.Int).Exp(big.NewInt(2*e+1), big.NewInt(3), nil).Cmp(bound) <= 0 {
			e++
		}
		q.Edges = append(q.Edges, uint64(e))
	}
	return q
}
