package conformance_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/conformance"
	"github.com/csiglab/csiglab/internal/checkout"
)

// mutant is a mistake in csiglab's machines, and the rule that must find it.
type mutant struct {
	name, rule string
	file       string
	old, new   string // old occurs once in file
	often      bool   // also in the short test
}

const (
	domainFile  = "nodes/csig/domain.go"
	quantFile   = "nodes/csig/quantise.go"
	walkFile    = "nodes/csig/walk.go"
	tagFile     = "nodes/csig/tag.go"
	egressFile  = "nodes/switch/dataplane/egress.go"
	ingressFile = "nodes/switch/dataplane/ingress.go"
	signalsFile = "nodes/switch/dataplane/signals.go"
	tunnelFile  = "nodes/wire/tunnel.go"
)

// kept is the condition of both formats, in front of what differs.
const kept = "if t.Min() && local >= held || !t.Min() && local <= held {\n\t\treturn Kept\n\t}\n\td.write"

var mutants = []mutant{
	{"reserved-bit", "CSIG-LAY-05", domainFile, "word&^(signalMask<<signalShift|d.lmMask)", "word&^(1<<reservedShift|signalMask<<signalShift|d.lmMask)", false},
	{"reserved-octet", "CSIG-LAY-10", domainFile, "word2&^(wideSignalMask<<wideSignalShift)", "word2&^(wideSignalMask<<wideSignalShift|0xff)", false},
	{"wide-locator-14-bits", "CSIG-LAY-08", domainFile, "word&^d.lmMask|locator<<d.lmShift&d.lmMask", "word&^d.lmMask|locator<<d.lmShift&d.lmMask&0x7fff", false},
	{"dialect", "CSIG-DIA-01", tagFile, "if dialect == UEC050 {", "if dialect <= Draft01 {", false},
	{"tpid-compact", "CSIG-TPI-01", domainFile, "d.tpid, d.bands = c.TPIDCompact,", "d.tpid, d.bands = DefaultTPIDCompact,", false},
	{"tpid-wide", "CSIG-TPI-02", domainFile, "d.tpid, d.wide, d.linear = c.TPIDWide,", "d.tpid, d.wide, d.linear = DefaultTPIDWide,", false},
	{"s-tag", "CSIG-POS-03", walkFile, "etherType == etherTypeCTag || etherType == etherTypeSTag ||", "etherType == etherTypeCTag ||", false},
	{"old-tag", "CSIG-POS-06", walkFile, " || etherType == etherTypeOldTag:", ":", false},
	{"encrypted", "CSIG-POS-07", walkFile, "control&(secTagVersion|secTagEncrypted|secTagChanged) == 0", "control&secTagVersion == 0", false},
	{"sci", "CSIG-POS-09", walkFile, "\t\tn += sciLen\n", "\t\tn += 0\n", false},
	{"min-as-max", "CSIG-UPD-01", domainFile, kept + "Compact", strings.Replace(kept, "t.Min() && local >= held || !t.Min() && local <= held", "local <= held", 1) + "Compact", true},
	{"equal-compact", "CSIG-UPD-03", domainFile, kept + "Compact", strings.NewReplacer(">=", ">", "<=", "<").Replace(kept) + "Compact", false},
	{"equal-wide", "CSIG-UPD-03", domainFile, kept + "Wide", strings.NewReplacer(">=", ">", "<=", "<").Replace(kept) + "Wide", false},
	{"locator-stays", "CSIG-UPD-06", domainFile, "word = word&^(signalMask<<signalShift|d.lmMask) | uint16(code)<<signalShift | locator<<d.lmShift&d.lmMask", "word = word&^(signalMask<<signalShift) | uint16(code)<<signalShift", false},
	{"locator-always", "CSIG-UPD-11", domainFile, "local := q.rankOf(value)\n", "local := q.rankOf(value)\n\tif local == held {\n\t\td.writeCompact(b, word, uint8(word>>signalShift&signalMask), locator)\n\t}\n", false},
	{"d-compact", "CSIG-DNU-01", domainFile, "\tif word&d.dMask != 0 && !d.overrideD[t] {\n\t\treturn Frozen\n\t}\n\tq :=", "\tq :=", true},
	{"d-wide", "CSIG-DNU-02", domainFile, "\tif word&d.dMask != 0 && !d.overrideD[t] {\n\t\treturn Frozen\n\t}\n\theld, local", "\theld, local", false},
	{"override-none", "CSIG-DNU-03", domainFile, "\tif word&d.dMask != 0 && !d.overrideD[t] {\n\t\treturn Frozen\n\t}\n\tq :=", "\tif word&d.dMask != 0 {\n\t\treturn Frozen\n\t}\n\tq :=", false},
	{"override-all", "CSIG-DNU-04", domainFile, "\tif word&d.dMask != 0 && !d.overrideD[t] {\n\t\treturn Frozen\n\t}\n\tq :=", "\tif word&d.dMask != 0 && d.overrideD == [Types]bool{} {\n\t\treturn Frozen\n\t}\n\tq :=", false},
	{"init-16-bits", "CSIG-INI-05", domainFile, "initCode(t.Min(), 20)<<wideSignalShift", "initCode(t.Min(), 16)<<wideSignalShift", false},
	{"init-half", "CSIG-INI-01", domainFile, "uint16(initCode(t.Min(), 5))", "uint16(initCode(t.Min(), 4))", false},
	{"init-in-front", "CSIG-INI-07", walkFile, "at, n := int(f.L3)-etherTypeLen, format.Size()", "at, n := macAddresses, format.Size()", false},
	{"init-one-type", "CSIG-INI-10", ingressFile, "in.turn = (in.turn + 1) % len(signals)", "in.turn %= len(signals)", false},
	{"edge-exclusive", "CSIG-QUA-01", quantFile, "if v >= d.lower[", "if v > d.lower[", true},
	{"rounded-up", "CSIG-QUA-09", quantFile, "uint32(min((v-d.base)>>d.shift, wideSignalMask))", "uint32(min((v-d.base+1)>>d.shift, wideSignalMask))", false},
	{"below-base", "CSIG-QUA-10", quantFile, "\tif v < d.base {\n\t\treturn 0\n", "\tif v < d.base {\n\t\treturn wideSignalMask\n", false},
	{"beyond-wraps", "CSIG-QUA-11", quantFile, "uint32(min((v-d.base)>>d.shift, wideSignalMask))", "uint32((v - d.base) >> d.shift & wideSignalMask)", false},
	{"codes-as-numbers", "CSIG-QUA-06", domainFile, "if t.Min() && local >= held || !t.Min() && local <= held {\n\t\treturn Kept\n\t}\n\td.writeCompact",
		"if own, theirs := uint16(q.code[local]), word>>signalShift&signalMask; t.Min() && own >= theirs || !t.Min() && own <= theirs {\n\t\treturn Kept\n\t}\n\td.writeCompact", false},
	{"no-such-code", "CSIG-QUA-07", domainFile, "\tif held == noRank {\n\t\treturn Unknown\n\t}\n\tlocal", "\tlocal", false},
	{"two-tags", "CSIG-UNK-03", egressFile, "if p.SecondTag() {", "if p.SecondTag() && len(tag) == 0 {", false},
	{"strip-passes", "CSIG-STR-01", egressFile, "\tcase Strip:\n\t\ts.tags[tagStripped]++\n", "\tcase Strip:\n\t\ts.tags[tagStripped]++\n\t\treturn\n", false},
	{"pass-updates", "CSIG-PAS-01", egressFile, "\tcase Pass:\n", "\tcase Pass:\n\t\tdomain.Update(tag, s.signal(now, now, out, t, p), locator)\n", false},
	{"terminate-keeps", "CSIG-TRM-01", egressFile, "\tcase Strip:\n\t\ts.tags[tagStripped]++\n\t}\n", "\tcase Strip:\n\t\ts.tags[tagStripped]++\n\t}\n\tif policies[t] == Terminate {\n\t\treturn\n\t}\n", false},
	{"formats-mixed", "CSIG-LOC-03", egressFile, "return domain, out.Second.Locator, &out.Second.Policies", "return domain, out.Locator, &out.Second.Policies", false},
	{"outside-known", "CSIG-EDG-03", ingressFile, "return in.Ingress.Outside || !t.Known() || refuses[t]", "return t.Known() && (in.Ingress.Outside || refuses[t])", false},
	{"outside-first", "CSIG-EDG-04", "nodes/wire/raw.go", "\t\tremoved++\n\t\tp.cut(at, size)\n\t\tt.Walk(p.Header(), &p.front) //nolint:errcheck // likewise\n", "\t\tremoved++\n\t\tp.cut(at, size)\n\t\tt.Walk(p.Header(), &p.front) //nolint:errcheck // likewise\n\t\tif removed == 1 {\n\t\t\treturn removed\n\t\t}\n", false},
	{"trim-no-d", "CSIG-TRI-01", domainFile, "binary.BigEndian.PutUint16(b[2:], binary.BigEndian.Uint16(b[2:])|d.dMask)", "_ = b", false},
	{"trim-best", "CSIG-TRI-02", quantFile, "\td.worst = d.code[n-1]\n\tif t.Min() {", "\td.worst = d.code[n-1]\n\tif !t.Min() {", false},
	{"delay-without-pipeline", "CSIG-SIG-07", signalsFile, "return starts.Sub(p.EnqueuedAt) + s.cameIn(p)", "return s.waited(starts, p) + s.cameIn(p)", false},
	{"other-port", "CSIG-SIG-06", egressFile, "out.abw.Transmit(starts, departs, size)", "for i := range s.ports {\n\t\t\t\ts.ports[i].abw.Transmit(starts, departs, size)\n\t\t\t}", false},
	{"depth-with-itself", "CSIG-SIG-08", signalsFile, "out.depth.PPM(out.queueWithFluid(now))", "out.depth.PPM(out.queueWithFluid(now) + p.Size)", false},
	{"enters-inside", "CSIG-TUN-04", tunnelFile, "if p.front.Tag != 0 && (!moves || p.front.Second) {", "if p.front.Tag != 0 {", false},
	{"end-drops", "CSIG-TUN-05", tunnelFile, "lost = !moves && p.Tag() != nil", "lost = p.Tag() != nil", false},
	{"inside-seen", "CSIG-TUN-06", tunnelFile, "if p.front.Tag != 0 && (!moves || p.front.Second) {", "if p.front.Second {", false},
	{"end-moves-back", "CSIG-TUN-07", tunnelFile, "lost = !moves && p.Tag() != nil", "lost = false", false},
	{"hash-of-tag", "CSIG-HSH-01", "nodes/wire/raw.go", "\tvar ports uint64\n\tif p.ports != 0 {", "\tvar ports uint64\n\tfor _, b := range p.Tag() {\n\t\tseed = Mix(seed, uint64(b))\n\t}\n\tif p.ports != 0 {", false},
	{"echo-without-reserved", "CSIG-REF-03", "nodes/wire/transport.go", "\tcopy(p.buf[at+1:], tag[2:])\n", "\tcopy(p.buf[at+1:], tag[2:])\n\tif len(tag) == 4 {\n\t\tp.buf[at+1] &^= 0x10\n\t}\n", false},
}

// TestMutants builds csiglab's machines with each mistake, and asks that the vectors find it by its
// rule. All of them take minutes: without CSIGLAB_E2E=1 it builds a few.
func TestMutants(t *testing.T) {
	checkout.NeedModules(t)
	top := checkout.Repository(t)
	all := vectors(t)
	for _, m := range mutants {
		if !m.often && os.Getenv("CSIGLAB_E2E") == "" {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			path := filepath.Join(top, m.file)
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(source), m.old); n != 1 || m.old == "" {
				t.Fatalf("%q occurs %d times in %s, want once", m.old, n, m.file)
			}
			dir := t.TempDir()
			changed := filepath.Join(dir, "changed.go")
			if err := os.WriteFile(changed, []byte(strings.Replace(string(source), m.old, m.new, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
			if err != nil {
				t.Fatal(err)
			}
			file, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "device")
			if err := os.WriteFile(file, overlay, 0o600); err != nil {
				t.Fatal(err)
			}
			build := exec.Command("go", "build", "-overlay", file, "-o", program, "./conformance/testdata/device")
			build.Dir = top
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			d, err := conformance.Start([]string{program})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			report, err := conformance.Run(context.Background(), m.name, d, all)
			if err != nil {
				t.Fatal(err)
			}
			failed := report.Failed()
			t.Logf("%s: found by %d rules: %s", m.rule, len(failed), strings.Join(failed, " "))
			if !slices.Contains(failed, m.rule) {
				t.Errorf("%s does not find it", m.rule)
			}
			if n := report.Count(conformance.Failed); n > len(all)/2 {
				t.Errorf("%d of %d vectors fail: the mistake breaks more than a rule", n, len(all))
			}
		})
	}
}
