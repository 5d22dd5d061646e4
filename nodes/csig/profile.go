package csig

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
)

// ErrMixedProfiles reports nodes of one domain whose configurations differ.
var ErrMixedProfiles = errors.New("mixed profiles in one CSIG domain")

// Member is a node of a domain with the configuration that it has.
type Member struct {
	Node   string
	Domain *Domain
}

// Agree returns an error that wraps ErrMixedProfiles and names the first node
// that does not share the profile of the first member: format, dialect, TPIDs,
// interval and quantisers. A node of another profile would read locators as D
// bits and values as other values. Nodes without CSIG are legal and are left
// out of members.
func Agree(members []Member) error {
	for i := 1; i < len(members); i++ {
		first, m := members[0], members[i]
		if what, has, want := first.Domain.difference(m.Domain); what != "" {
			return fmt.Errorf("csig: node %s: %s %s, but node %s has %s: %w", m.Node, what, has, first.Node, want, ErrMixedProfiles)
		}
	}
	return nil
}

// difference names the first part of the profile in which d and other differ.
func (d *Domain) difference(other *Domain) (what, has, want string) {
	a, b := &d.config, &other.config
	switch {
	case a.Format != b.Format:
		return "format", b.Format.String(), a.Format.String()
	case a.Dialect != b.Dialect:
		return "dialect", b.Dialect.String(), a.Dialect.String()
	case a.TPIDCompact != b.TPIDCompact:
		return "tpid_compact", fmt.Sprintf("0x%04X", b.TPIDCompact), fmt.Sprintf("0x%04X", a.TPIDCompact)
	case a.TPIDWide != b.TPIDWide:
		return "tpid_wide", fmt.Sprintf("0x%04X", b.TPIDWide), fmt.Sprintf("0x%04X", a.TPIDWide)
	case a.Interval != b.Interval:
		return "interval", b.Interval.String(), a.Interval.String()
	}
	for t := range Types {
		if q, other := d.quantisers[t], other.quantisers[t]; !q.equal(other) {
			return "quantiser of " + t.String(), other.describe(), q.describe()
		}
	}
	return "", "", ""
}

// equal tells whether two resolved quantisers give the same codes.
func (q Quantiser) equal(other Quantiser) bool {
	return slices.Equal(q.appendProfile(nil), other.appendProfile(nil))
}

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

func (q Quantiser) describe() string {
	switch {
	case q.Name != "":
		return q.Name
	case q.Step != 0:
		return fmt.Sprintf("step %d base %d", q.Step, q.Base)
	}
	return fmt.Sprintf("edges %v bands %v", q.Edges, q.Bands)
}

// Profile returns the 32-bit hash of what the nodes of a domain must share
// (csig-and-workloads.md 1.10): FNV-1a over format, dialect, TPIDs, interval and
// the codes of the quantisers. Domains for which Agree finds no difference have
// equal profiles.
func (d *Domain) Profile() uint32 {
	c := &d.config
	b := []byte{byte(c.Format), byte(c.Dialect)}
	b = binary.BigEndian.AppendUint16(b, c.TPIDCompact)
	b = binary.BigEndian.AppendUint16(b, c.TPIDWide)
	b = binary.BigEndian.AppendUint64(b, uint64(c.Interval))
	for t := range Types {
		b = d.quantisers[t].appendProfile(b)
	}
	h := fnv.New32a()
	h.Write(b)
	return h.Sum32()
}
