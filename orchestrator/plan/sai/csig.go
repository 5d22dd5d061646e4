package sai

import (
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/units"
)

// speaks reports whether the switch takes part in CSIG.
func (b *builder) speaks() bool {
	return b.cfg.CSIG != nil && !slices.Contains(b.plan.Silent, b.cfg.Name)
}

// csig adds an object for each signal of each format ("each signal type processing requires
// creation of a corresponding TAM INT object", §5.1), and the ACL entry that applies it to the
// frames with such tags (§5.1.3).
func (b *builder) csig() {
	if !b.speaks() {
		return
	}
	d := b.plan.Domain()
	b.signals(d)
	if second := d.Second(); second != nil {
		b.signals(second)
	}
}

func (b *builder) signals(d *csig.Domain) {
	c, format := d.Config(), "COMPACT"
	if d.Format() == csig.FormatWide {
		format = "WIDE"
	}
	for _, t := range csig.KnownTypes() {
		if t >= csig.Standard {
			continue // of a module: SAI has no signal for it
		}
		q := d.Quantiser(t)
		attributes := map[string]any{
			"SAI_TAM_INT_ATTR_TYPE": "SAI_TAM_INT_TYPE_CSIG_" + format, "SAI_TAM_INT_ATTR_INT_PRESENCE_TYPE": "SAI_TAM_INT_PRESENCE_TYPE_ETH_TYPE",
			"SAI_TAM_INT_ATTR_ETH_TYPE_CODE_POINT": fmt.Sprintf("%#04x", d.TPID()), "SAI_TAM_INT_ATTR_CSIG_SIGNAL_TYPE": signalNames[t],
			"SAI_TAM_INT_ATTR_CSIG_D_BIT": b.cfg.Trim && c.Dialect != csig.Draft01,
		}
		ours := map[string]any{"unit": t.Definition().Unit.String()}
		if t.Windowed() {
			interval(c.Interval, attributes, ours)
		}
		if d.Format() == csig.FormatWide {
			attributes["SAI_TAM_INT_ATTR_QUANT_BANDS"] = 1 << 20
			attributes["SAI_TAM_INT_ATTR_WIDE_QUANT_BASE_VALUE"], attributes["SAI_TAM_INT_ATTR_WIDE_QUANT_STEP_VALUE"] = q.Base, q.Step
		} else {
			bands(&q, attributes, ours)
		}
		id := b.add("TAM_INT", fmt.Sprintf("csig-%v-%v", d.Format(), t), attributes, ours)
		field := "SAI_ACL_ENTRY_ATTR_FIELD_CSIG_" + format + "_TAG_ETHER_TYPE"
		b.add("ACL_ENTRY", id+"-rule", map[string]any{
			field: fmt.Sprintf("%#04x", d.TPID()), "SAI_ACL_ENTRY_ATTR_FIELD_CSIG_SIGNAL_TYPE": signalNames[t], "SAI_ACL_ENTRY_ATTR_ACTION_INT_INSERT": id,
		}, nil)
	}
}

// signalNames are the names of the types, which have the same numbers in SAI.
var signalNames = [csig.Standard]string{
	csig.ABW: "SAI_CSIG_SIGNAL_TYPE_ABW", csig.ABWC: "SAI_CSIG_SIGNAL_TYPE_ABWC", csig.Delay: "SAI_CSIG_SIGNAL_TYPE_DELAY", csig.NQD: "SAI_CSIG_SIGNAL_TYPE_NQD",
}

// interval writes the window of available bandwidth: a multiple of 128 up to 1024, in one of three
// units, or a time of the vendor's.
func interval(window units.Duration, attributes, ours map[string]any) {
	const step, most = 128, 1024
	attributes["SAI_TAM_INT_ATTR_BW_TIME_INTERVAL"] = "SAI_TAM_INT_BW_TIME_INTERVAL_VENDOR_DEFINED"
	for _, u := range []struct {
		name string
		of   units.Duration
	}{{"NANOSEC", units.Nanosecond}, {"USEC", units.Microsecond}, {"MSEC", units.Millisecond}} {
		if n := int64(window / u.of); window%u.of == 0 && n%step == 0 && n > 0 && n <= most {
			attributes["SAI_TAM_INT_ATTR_BW_TIME_INTERVAL"] = fmt.Sprintf("SAI_TAM_INT_BW_TIME_INTERVAL_%d", n)
			attributes["SAI_TAM_INT_ATTR_BW_TIME_INTERVAL_UNIT"] = "SAI_TAM_INT_BW_TIME_INTERVAL_UNIT_" + u.name
			return
		}
	}
	ours["interval"] = window.String()
}

// bands writes the ranges of a compact quantiser. SAI gives no unit, and 32 bits for a limit: the
// ranges are in the unit of the tag, and stand apart if they need more.
func bands(q *csig.Quantiser, attributes, ours map[string]any) {
	const open = 1<<32 - 1
	list := make([]any, len(q.Edges))
	fits := true
	for i, low := range q.Edges {
		one := map[string]any{"min": low}
		if i+1 < len(q.Edges) {
			one["max"] = q.Edges[i+1] - 1
		} else if one["max"] = uint64(open); low > open {
			delete(one, "max")
		}
		fits = fits && low <= open
		list[i] = one
	}
	attributes["SAI_TAM_INT_ATTR_QUANT_BANDS"] = len(q.Edges)
	if fits {
		attributes["SAI_TAM_INT_ATTR_QUANT_BAND_UINT32_RANGE_LIST"] = list
	} else {
		ours["ranges"] = list
	}
	if q.Bands != nil {
		codes := make([]int, len(q.Bands))
		for i, code := range q.Bands {
			codes[i] = int(code)
		}
		ours["codes"] = codes
	}
}

// portTags writes what a port does to tags. SAI deletes all or none of those that leave.
func (b *builder) portTags(p *dataplane.Port, attributes, ours map[string]any) {
	if !b.speaks() {
		return
	}
	attributes["SAI_PORT_ATTR_INT_METADATA"] = p.Locator
	first := policies(&p.Policies)
	removed, all := removes(&p.Policies), slices.Clone(first)
	if p.Second != nil {
		removed = removed && removes(&p.Second.Policies)
		ours["secondLocator"], ours["secondPolicies"] = p.Second.Locator, policies(&p.Second.Policies)
		all = append(all, policies(&p.Second.Policies)...)
	}
	attributes["SAI_PORT_ATTR_INT_DELETE"] = removed
	if slices.ContainsFunc(all, func(name string) bool { return name != "update" }) {
		ours["policies"] = first
	}
	in := &p.Ingress
	if in.Outside || slices.Contains(in.Refuses[:], true) || slices.Contains(in.RefusesSecond[:], true) {
		ours["outside"] = true
	}
	if in.Init.Every > 0 {
		ours["init"] = in.Signals
	}
}

// policies returns the names of the policies of SAI's signals, in order of type.
func policies(of *[csig.Types]dataplane.Policy) (names []string) {
	for t := range csig.Standard {
		names = append(names, dataplane.Policies()[of[t]])
	}
	return names
}

// removes reports whether a port removes the tags of all of SAI's signals.
func removes(of *[csig.Types]dataplane.Policy) bool {
	return !slices.ContainsFunc(of[:csig.Standard], func(p dataplane.Policy) bool { return p != dataplane.Strip && p != dataplane.Terminate })
}
