package conformance

import "slices"

// Standings of rules.
const (
	Standard = "standard" // a public text says so
	Ours     = "csiglab"  // the texts are silent or disagree, and csiglab has decided
)

// Rule is what a device does, as far as it can be seen from outside.
type Rule struct {
	ID       string `json:"id"`
	Standing string `json:"standing"`
	Source   Source `json:"source"` // of Ours the place in csiglab's documents that gives the choice
	Sentence string `json:"sentence"`
}

// Find returns a rule, nil if there is none.
func Find(id string) *Rule {
	for i := range Rules {
		if Rules[i].ID == id {
			return &Rules[i]
		}
	}
	return nil
}

// Order sorts values by the place of their rules in Rules; those of one rule stay in their order.
func Order[V any](values []V, rule func(*V) string) {
	place := map[string]int{}
	for i := range Rules {
		place[Rules[i].ID] = i
	}
	slices.SortStableFunc(values, func(a, b V) int { return place[rule(&a)] - place[rule(&b)] })
}

func ieee(paragraph string) Source     { return Source{"IEEE", paragraph} }
func ietf(paragraph string) Source     { return Source{"IETF", paragraph} }
func sai(paragraph string) Source      { return Source{"SAI", paragraph} }
func fboss(paragraph string) Source    { return Source{"FBOSS", paragraph} }
func tutorial(paragraph string) Source { return Source{"Tutorial", paragraph} }
func ours(anchor string) Source        { return Source{"csiglab", "docs/reference/references.md#" + anchor} }

// Paragraphs that several rules come from.
var (
	compactTable = ieee("table of the compact tag (UEC draft 0.50)")
	wideTable    = ieee("table of the wide tag (UEC draft 0.50)")
	typeTable    = ieee("table of signal types")
	updateSteps  = ietf("sequence of compare and update")
	stackFigure  = ieee("figure of tag positions")
	lastTag      = ietf("slide on stacking: last tag in the L2 header")
	wideFormula  = ietf("slides on the wide quantiser")
	bandRanges   = sai("§4.5, band ranges")
	initSlides   = ieee("slides of the signals: initial values")
)

// Rules are all rules, in the order of reports.
var Rules = []Rule{
	// The tag's layout.
	{"CSIG-LAY-01", Standard, compactTable, "A compact tag has 4 octets: the TPID and 16 bits, whose first three are the type T."},
	{"CSIG-LAY-02", Standard, compactTable, "S of a compact tag is bits 20 to 24."},
	{"CSIG-LAY-03", Standard, compactTable, "LM of a compact tag is bits 25 to 30."},
	{"CSIG-LAY-04", Standard, compactTable, "D of a compact tag is bit 31."},
	{"CSIG-LAY-05", Standard, compactTable, "Bit 19 of a compact tag is reserved and leaves as it came."},
	{"CSIG-LAY-06", Standard, wideTable, "A wide tag has 8 octets: the TPID and 48 bits; T is bits 32 to 35."},
	{"CSIG-LAY-07", Standard, wideTable, "S of a wide tag is bits 36 to 55."},
	{"CSIG-LAY-08", Standard, wideTable, "LM of a wide tag is bits 16 to 30."},
	{"CSIG-LAY-09", Standard, wideTable, "D of a wide tag is bit 31."},
	{"CSIG-LAY-10", Standard, wideTable, "Bits 56 to 63 of a wide tag are reserved and leave as they came."},
	{"CSIG-DIA-01", Standard, fboss("CsigTestUtils: bytes of a tag on the wire"), "In dialect draft-01 LM of a compact tag has 7 bits, 25 to 31."},
	{"CSIG-DIA-02", Standard, ietf("slide of the 8-byte tag"), "In dialect draft-01 LM of a wide tag has 16 bits, 16 to 31."},
	{"CSIG-DIA-03", Standard, fboss("CsigTestUtils: 7-bit locator mask"), "Dialect draft-01 has no D bit: an odd locator freezes nothing."},
	{"CSIG-DIA-04", Ours, ours("trimming-and-d"), "In dialect draft-01 a trim sets no D bit; the rule of trims for the value holds."},

	// TPIDs and formats.
	{"CSIG-TPI-01", Standard, fboss("list of TPIDs of the switch"), "The TPID of compact tags is a setting."},
	{"CSIG-TPI-02", Standard, sai("§4.4 to §4.8: attributes of an object"), "The TPID of wide tags is a setting."},
	{"CSIG-TPI-03", Standard, ieee("table: each format has an EtherType"), "Formats are told apart by their TPIDs; a domain may have both."},
	{"CSIG-TPI-04", Ours, ours("tpids"), "A frame with another EtherType in the tag's place has no tag, and leaves as it came."},
	{"CSIG-TPI-05", Ours, ours("hop-update"), "A tag of a format that the domain does not have leaves as it came."},

	// Where the tag stands.
	{"CSIG-POS-01", Standard, stackFigure, "Without other tags the CSIG tag follows the source address."},
	{"CSIG-POS-02", Standard, stackFigure, "Under 802.1Q the CSIG tag follows the C-tag."},
	{"CSIG-POS-03", Standard, stackFigure, "Under 802.1ad the CSIG tag may stand between S-tag and C-tag."},
	{"CSIG-POS-04", Standard, lastTag, "Under 802.1ad the CSIG tag may be the last tag, behind the C-tag."},
	{"CSIG-POS-05", Ours, ours("tag-position"), "The CSIG tag may follow an S-tag alone."},
	{"CSIG-POS-06", Ours, ours("tag-position"), "The older outer tag 0x9100 is stepped over like an S-tag."},
	{"CSIG-POS-07", Ours, ours("tag-position"), "Under MACsec the tag stands in the protected part (IEEE): while that is encrypted, the frame leaves as it came."},
	{"CSIG-POS-08", Ours, ours("tag-position"), "Behind a SecTAG that encrypts and changes nothing (E and C 0) the tag is read."},
	{"CSIG-POS-09", Ours, ours("tag-position"), "A SecTAG with an SCI is 8 octets longer."},
	{"CSIG-POS-10", Standard, ietf("slide on stacking: preserves L2 forwarding"), "VLAN tags leave as they came, priority and VID included."},
	{"CSIG-POS-11", Ours, ours("tag-position"), "A CSIG tag in front of a C-tag is found too."},

	// Signals.
	{"CSIG-SIG-01", Standard, typeTable, "T 0 is the least available bandwidth."},
	{"CSIG-SIG-02", Standard, typeTable, "T 1 is the least available share of the port's rate."},
	{"CSIG-SIG-03", Standard, typeTable, "T 2 is the greatest delay of a hop."},
	{"CSIG-SIG-04", Standard, ietf("nQD: occupancy at dequeue"), "T 3 is the greatest normalised queue depth."},
	{"CSIG-SIG-05", Standard, ietf("ABW = p - m/t"), "Available bandwidth is the port's rate less the bytes that it sent in the interval."},
	{"CSIG-SIG-06", Standard, ietf("ABW = p - m/t, of the egress port"), "Available bandwidth is that of the egress port; what other ports send does not count."},
	{"CSIG-SIG-07", Standard, ietf("residence time, of each packet"), "The delay of a hop contains the switch's pipeline and the waiting of this packet."},
	{"CSIG-SIG-08", Ours, ours("queue-depth"), "Queue depth is sampled at dequeue, without the departing packet, as a share of the queue's limit."},
	{"CSIG-SIG-09", Standard, ietf("ABW = p - m/t, over the interval"), "What a port sent before the interval does not count."},

	// Quantisers.
	{"CSIG-QUA-01", Standard, bandRanges, "A value that equals the lower edge of a range of a compact quantiser belongs to that range."},
	{"CSIG-QUA-02", Standard, bandRanges, "A value just below an edge belongs to the range below."},
	{"CSIG-QUA-03", Ours, ours("compact-quantisers"), "What is beyond the last edge belongs to the last range."},
	{"CSIG-QUA-04", Standard, sai("§4.4, number of bands"), "A compact quantiser may have fewer than 32 ranges."},
	{"CSIG-QUA-05", Standard, sai("§4.5, band ids"), "Ranges have the codes that a list of band ids gives."},
	{"CSIG-QUA-06", Ours, ours("compact-quantisers"), "Codes are compared by the rank of their range, not as numbers."},
	{"CSIG-QUA-07", Ours, ours("compact-quantisers"), "A tag with a code that no range has leaves as it came, unless it is the initial code."},
	{"CSIG-QUA-08", Standard, wideFormula, "The code of a wide tag is (value - base) / step, rounded down."},
	{"CSIG-QUA-09", Standard, wideFormula, "The upper edge of a wide range is exclusive: at base + (i+1) steps the next one begins."},
	{"CSIG-QUA-10", Ours, ours("wide-quantiser"), "A value below the base of a wide quantiser has code 0."},
	{"CSIG-QUA-11", Ours, ours("wide-quantiser"), "Beyond the last wide range the code is all ones."},

	// Fresh tags.
	{"CSIG-INI-01", Standard, initSlides, "A fresh compact tag of available bandwidth has S all ones."},
	{"CSIG-INI-02", Standard, initSlides, "A fresh compact tag of the available share has S all ones."},
	{"CSIG-INI-03", Standard, initSlides, "A fresh tag of delay has S 0."},
	{"CSIG-INI-04", Standard, initSlides, "A fresh tag of queue depth has S 0."},
	{"CSIG-INI-05", Standard, initSlides, "All ones of a fresh wide tag are 20 bits."},
	{"CSIG-INI-06", Ours, ours("open-choices"), "A fresh tag has LM, D and the reserved bits 0."},
	{"CSIG-INI-07", Standard, lastTag, "A tag is put on behind a C-tag, in front of the EtherType."},
	{"CSIG-INI-08", Standard, ieee("one tag per packet"), "A frame that has a tag gets no second one."},
	{"CSIG-INI-09", Ours, ours("open-choices"), "A switch that puts tags on also updates them at its egress port."},
	{"CSIG-INI-10", Ours, ours("open-choices"), "Types are asked for in turn, one per packet."},
	{"CSIG-INI-11", Ours, ours("tag-position"), "Under 802.1ad a tag is put on as the last one, behind the C-tag."},

	// Compare and update.
	{"CSIG-UPD-01", Standard, updateSteps, "A local value below that of a min type (T 0, 1) replaces S."},
	{"CSIG-UPD-02", Standard, updateSteps, "A local value above that of a max type (T 2, 3) replaces S."},
	{"CSIG-UPD-03", Standard, updateSteps, "A local value that equals the tag's changes nothing."},
	{"CSIG-UPD-04", Standard, updateSteps, "A better local value changes nothing."},
	{"CSIG-UPD-05", Standard, ietf("min(Q(local), tag)"), "Quantised values are compared: a worse value in the tag's range changes nothing."},
	{"CSIG-UPD-06", Standard, updateSteps, "With S, and only then, the port's locator is written."},
	{"CSIG-UPD-07", Standard, tutorial("one signal per tag"), "An update leaves T, D and reserved bits as they are."},
	{"CSIG-UPD-08", Standard, ietf("slide on stacking: part of the L2 header"), "An update changes nothing of the frame but the tag."},
	{"CSIG-UPD-09", Standard, sai("§1.0: only end points insert"), "A frame without a tag stays without."},
	{"CSIG-UPD-10", Standard, sai("fig. 1"), "Along a path the tag ends with the worst hop's value and locator."},
	{"CSIG-UPD-11", Ours, ours("hop-update"), "Of hops in the same range the first one's locator stays."},

	// Do not update.
	{"CSIG-DNU-01", Standard, sai("§5.3"), "A compact tag with D is not updated."},
	{"CSIG-DNU-02", Standard, sai("§5.3"), "A wide tag with D is not updated."},
	{"CSIG-DNU-03", Standard, sai("§5.3: overrides"), "Where a type overrides D its tags are updated all the same, and keep D."},
	{"CSIG-DNU-04", Standard, sai("§5.3: overrides"), "An override of D is of its type alone."},
	{"CSIG-DNU-05", Ours, ours("trimming-and-d"), "D hinders no removal: strip removes the tag."},

	// Locators.
	{"CSIG-LOC-01", Standard, sai("§4.8, port metadata"), "The locator is that of the egress port, which is configured per port."},
	{"CSIG-LOC-02", Standard, sai("§4.8: default 0"), "A port without a locator writes 0."},
	{"CSIG-LOC-03", Ours, ours("locators"), "In a domain of two formats a port has a locator of each."},

	// What leaves a port.
	{"CSIG-PAS-01", Standard, fboss("port action PASSTHROUGH"), "A port that passes tags leaves them as they came, though its value is worse."},
	{"CSIG-PAS-02", Standard, sai("§4.4: an object per format and type"), "Ports update some types and pass others."},
	{"CSIG-PAS-03", Standard, sai("§4.4: an object per format and type"), "Ports update one format and pass the other."},
	{"CSIG-STR-01", Standard, sai("§5.2, §4.8: delete flag"), "A port that strips removes the 4 octets of a compact tag, and forwards the frame."},
	{"CSIG-STR-02", Standard, sai("§5.2, §4.8: delete flag"), "A port that strips removes the 8 octets of a wide tag."},
	{"CSIG-STR-03", Standard, sai("§5.2"), "Stripping leaves VLAN tags, the EtherType and what follows."},
	{"CSIG-STR-04", Ours, ours("hop-update"), "A port strips the types that it is told to and updates the others."},
	{"CSIG-STR-05", Standard, sai("§5.2"), "Stripping leaves frames without a tag as they came."},
	{"CSIG-TRM-01", Ours, ours("domain-edge"), "A port that terminates removes the tag and forwards the frame."},
	{"CSIG-TRM-02", Ours, ours("domain-edge"), "Also a tag with D is removed where tags end."},
	{"CSIG-TRM-03", Ours, ours("domain-edge"), "A port terminates the types that it is told to and updates the others."},
	{"CSIG-REF-01", Standard, sai("fig. 1: reflection"), "A receiver sends type and value of a compact tag back in its ACK."},
	{"CSIG-REF-02", Standard, sai("fig. 1: reflection"), "A receiver sends type and value of a wide tag back in its ACK."},
	{"CSIG-REF-03", Ours, ours("reflection"), "The echo is the tag without its TPID, bit by bit: locator, D and reserved bits too."},
	{"CSIG-REF-04", Ours, ours("reflection"), "An ACK of a packet without a tag has no echo."},
	{"CSIG-REF-05", Ours, ours("reflection"), "An ACK has no tag of its own."},
	{"CSIG-REF-06", Standard, sai("fig. 1: reflection"), "A NACK of a trimmed packet sends the tag back too."},

	// The edge of a domain.
	{"CSIG-EDG-01", Ours, ours("domain-edge"), "A compact tag from outside of the domain is removed."},
	{"CSIG-EDG-02", Ours, ours("domain-edge"), "A wide tag from outside of the domain is removed, also of a format that the domain does not have."},
	{"CSIG-EDG-03", Ours, ours("domain-edge"), "From outside tags of unknown types are removed too."},
	{"CSIG-EDG-04", Ours, ours("domain-edge"), "From outside each of several tags is removed."},
	{"CSIG-EDG-05", Ours, ours("domain-edge"), "A tag from outside is removed behind VLAN tags too, which stay."},
	{"CSIG-EDG-06", Ours, ours("domain-edge"), "A frame without a tag comes in from outside as it is."},
	{"CSIG-EDG-07", Ours, ours("domain-edge"), "Where an edge also puts tags on, a forged tag is replaced by a fresh one."},

	// What a device does not know.
	{"CSIG-UNK-01", Ours, ours("signal-types"), "Reserved types of compact tags (T 4 to 7) leave as they came."},
	{"CSIG-UNK-02", Ours, ours("signal-types"), "Reserved types of wide tags (T 4 to 15) leave as they came."},
	{"CSIG-UNK-03", Ours, ours("hop-update"), "A frame with two CSIG tags leaves as it came."},
	{"CSIG-UNK-04", Ours, ours("hop-update"), "A frame with a tag of each format leaves as it came."},
	{"CSIG-UNK-05", Ours, ours("tag-position"), "A frame with more than 8 other tags leaves as it came."},
	{"CSIG-DMG-01", Ours, ours("tag-position"), "A frame that ends within a compact tag is not updated: it leaves as it came."},
	{"CSIG-DMG-02", Ours, ours("tag-position"), "A frame that ends within a wide tag leaves as it came."},
	{"CSIG-DMG-03", Ours, ours("tag-position"), "A tag behind which the EtherType is missing is no tag."},
	{"CSIG-DMG-04", Standard, Source{"IEEE 802.3", "§3.1.1: fields of a packet"}, "A frame without room for addresses and EtherType does not leave."},
	{"CSIG-DMG-05", Standard, Source{"IEEE 802.3", "§3.2.6: length or type"}, "Behind a length field there is no tag."},

	// Trimmed packets.
	{"CSIG-TRI-01", Standard, sai("§3.1"), "The switch that trims a packet sets D in its tag."},
	{"CSIG-TRI-02", Ours, ours("trimming-and-d"), "With force_local a trim writes the worst code of the type and the port's locator."},
	{"CSIG-TRI-03", Ours, ours("trimming-and-d"), "With measured a trim compares and updates before it sets D."},
	{"CSIG-TRI-04", Ours, ours("trimming-and-d"), "With none a trim leaves value and locator."},
	{"CSIG-TRI-05", Standard, ieee("do not update"), "The tag of a packet that was trimmed before is not updated."},
	{"CSIG-TRI-06", Ours, ours("trimming-and-d"), "A trim leaves a tag that has D already."},
	{"CSIG-TRI-07", Ours, ours("trimming-and-d"), "A port that passes tags trims without a change of the tag."},

	// Tunnels and IP hops.
	{"CSIG-TUN-01", Standard, fboss("AgentCsigTest: midpoints"), "A switch within a tunnel updates the outer frame's tag as any other."},
	{"CSIG-TUN-02", Standard, fboss("AgentCsigTest: the payload keeps no tag"), "A tag in a tunnel's payload is no tag of the frame, and leaves as it came."},
	{"CSIG-TUN-03", Standard, fboss("AgentCsigTest: strip"), "Stripping removes the outer tag alone."},
	{"CSIG-TUN-04", Standard, fboss("SRv6 tests: the beginning of a tunnel"), "What enters a tunnel has its tag in the outer header, where it is updated, and none in the payload."},
	{"CSIG-TUN-05", Standard, fboss("SRv6 tests: the end of a tunnel"), "What leaves a tunnel has the tag of the outer header, updated as any other."},
	{"CSIG-TUN-06", Ours, ours("tunnels"), "Where tags stay inside, one that enters a tunnel is not updated there."},
	{"CSIG-TUN-07", Ours, ours("tunnels"), "Where tags stay inside, the end updates the inner tag, and one of the outer header ends with it."},
	{"CSIG-IPH-01", Standard, ieee("content carried across the L2 rewrite"), "At an IP hop the tag's content goes over to the new L2 header, and is updated."},
	{"CSIG-IPH-02", Standard, Source{"RFC 1812", "§5.3.1"}, "An IP hop counts the TTL down; tag and checksum do not depend on each other."},
	{"CSIG-HSH-01", Standard, sai("§4.0: forwarding does not change"), "The choice among equal paths depends neither on the tag's bits nor on whether there is one."},
}
