package csig

import (
	"encoding/binary"
	"hash/fnv"
)

// appendProfile appends what a resolved quantiser does to values.
func (q Quantiser) appendProfile(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, q.Step)
	b = binary.BigEndian.AppendUint64(b, q.Base)
	b = append(b, byte(len(q.Edges)))
	for i, e := range q.Edges {
		code := byte(i)
		if q.Bands != nil {
			code = q.Bands[i]
		}
		b = append(binary.BigEndian.AppendUint64(b, e), code)
	}
	return b
}

// Profile returns the 32-bit hash of what the nodes of a domain must share
// (docs/reference/references.md#domain-profile): FNV-1a over format, dialect, TPIDs, interval and
// the codes of the quantisers, and the types of modules. A node of another profile would read locators as D
// bits and values as other values. It is 0 of no domain, nil.
func (d *Domain) Profile() uint32 {
	if d == nil {
		return 0
	}
	c := &d.config
	b := []byte{byte(c.Format), byte(c.Dialect)}
	b = binary.BigEndian.AppendUint16(b, c.TPIDCompact)
	b = binary.BigEndian.AppendUint16(b, c.TPIDWide)
	b = binary.BigEndian.AppendUint64(b, uint64(c.Interval))
	for t := range Standard {
		b = d.quantisers[t].appendProfile(b)
	}
	if d.second != nil {
		for t := range Standard {
			b = d.second.quantisers[t].appendProfile(b)
		}
	}
	for _, t := range Registered() {
		s := &definitions[t]
		b = append(b, byte(t), byte(s.Unit), byte(initCode(s.Min, 1)))
		b = append(d.quantisers[t].appendProfile(b), s.Name...)
		if d.second != nil {
			b = d.second.quantisers[t].appendProfile(b)
		}
	}
	h := fnv.New32a()
	h.Write(b)
	return h.Sum32()
}
