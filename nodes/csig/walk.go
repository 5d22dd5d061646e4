package csig

import (
	"encoding/binary"
	"errors"
)

// EtherTypes that Walk steps over or stops at.
const (
	etherTypeCTag   = 0x8100 // IEEE 802.1Q
	etherTypeSTag   = 0x88a8 // IEEE 802.1ad
	etherTypeOldTag = 0x9100 // outer tag before 802.1ad
	etherTypeMACsec = 0x88e5 // IEEE 802.1AE
)

// Lengths of a frame's parts, in bytes; IEEE 802.1AE §9.3 for the SecTAG, which
// ends with 8 more bytes of SCI if bit SC is set.
const (
	macAddresses = 12
	vlanLen      = 4
	secTagLen    = 8
	sciLen       = 8

	secTagVersion   = 0x80
	secTagSCI       = 0x20
	secTagEncrypted = 0x08 // bit E
	secTagChanged   = 0x04 // bit C
)

// maxTags bounds the tags of any kind that Walk accepts in one frame.
const maxTags = 8

// Errors of Walk, Insert and Strip.
var (
	ErrTruncated = errors.New("csig: truncated frame")
	ErrTags      = errors.New("csig: too many tags in a frame")
	ErrTagged    = errors.New("csig: the frame has a tag already")
	ErrProtected = errors.New("csig: the frame is encrypted by MACsec")
)

// Frame is what Walk finds in front of the network layer. Offsets count from
// the destination MAC address.
type Frame struct {
	Tag       int    // offset of the first CSIG tag's TPID; -1 without one
	Format    Format // of that tag
	EtherType uint16 // of the network layer; a length if below 0x0600
	L3        int    // offset of the network layer, the byte after the EtherType
	VLANs     int    // number of VLAN tags
	STag      int    // offset of the first S-tag's EtherType; -1 without one
	// Second tells that another CSIG tag follows the first: such a frame is
	// forwarded unchanged and counted (csig-and-workloads.md 1.7).
	Second bool
	MACsec bool // the frame has a SecTAG
	// Protected tells that what follows the SecTAG cannot be read: EtherType
	// is MACsec's and L3 the offset of the ciphertext.
	Protected bool
}

// Walk steps over the tags of an Ethernet frame: VLAN tags, one SecTAG and CSIG
// tags of both formats in any order (csig-and-workloads.md 1.5). It needs the
// frame only up to the network layer, keeps nothing of it, and returns
// ErrTruncated for one that ends before and ErrTags for one with more than
// eight tags.
func (d *Domain) Walk(frame []byte) (Frame, error) {
	f := Frame{Tag: -1, STag: -1}
	at := macAddresses
	for range maxTags + 1 {
		if len(frame) < at+2 {
			return Frame{}, ErrTruncated
		}
		f.EtherType = binary.BigEndian.Uint16(frame[at:])
		switch f.EtherType {
		case etherTypeSTag, etherTypeCTag, etherTypeOldTag:
			if f.EtherType == etherTypeSTag && f.STag < 0 {
				f.STag = at
			}
			f.VLANs++
			at += vlanLen
		case d.config.TPIDCompact:
			at = f.tagAt(at, FormatCompact)
		case d.config.TPIDWide:
			at = f.tagAt(at, FormatWide)
		case etherTypeMACsec:
			if len(frame) < at+secTagLen {
				return Frame{}, ErrTruncated
			}
			control := frame[at+2]
			// A second SecTAG, one of another version, and one over changed
			// bytes hide what follows.
			f.Protected = f.MACsec || control&(secTagVersion|secTagEncrypted|secTagChanged) != 0
			f.MACsec = true
			at += secTagLen
			if control&secTagSCI != 0 {
				at += sciLen
			}
			if f.Protected {
				f.L3 = at
				return f, f.fits(frame)
			}
		default:
			f.L3 = at + 2
			return f, nil
		}
	}
	return Frame{}, ErrTags
}

func (f *Frame) tagAt(at int, format Format) int {
	if f.Tag >= 0 {
		f.Second = true
	} else {
		f.Tag, f.Format = at, format
	}
	return at + format.Size()
}

func (f *Frame) fits(frame []byte) error {
	if len(frame) < f.L3 {
		*f = Frame{}
		return ErrTruncated
	}
	return nil
}

// Position is where Insert puts a tag. The zero value is LastTag.
type Position uint8

// Positions; they differ in frames with an S-tag only
// (csig-and-workloads.md 1.2 C9).
const (
	LastTag   Position = iota // before the network layer's EtherType
	AfterSTag                 // behind the first S-tag, before the C-tag
)

// String returns last or after-s-tag.
func (p Position) String() string { return name(positionNames, int(p), "position") }

var positionNames = []string{"last", "after-s-tag"}

// ParsePosition reads last or after-s-tag; empty text is last.
func ParsePosition(text string) (Position, error) {
	i, err := parseName("tag position", text, positionNames)
	return Position(i), err
}

// Insert puts a fresh tag of type t into the frame that begins with header,
// which Walk described as f, and returns the longer header. It grows header as
// append does, without allocating when the capacity suffices. It returns
// ErrTagged, ErrProtected, ErrTruncated when f reaches beyond header, or
// ErrNoTag in a domain without tags.
func (d *Domain) Insert(header []byte, f Frame, position Position, t Type) ([]byte, error) {
	switch {
	case d.size == noTag:
		return header, ErrNoTag
	case f.Tag >= 0:
		return header, ErrTagged
	case f.Protected:
		return header, ErrProtected
	case f.L3 < macAddresses+2 || f.L3 > len(header):
		return header, ErrTruncated
	}
	at := f.L3 - 2
	if position == AfterSTag && f.STag >= 0 {
		at = f.STag + vlanLen
	}
	end := len(header)
	for range d.size {
		header = append(header, 0)
	}
	copy(header[at+d.size:], header[at:end])
	d.Init(header[at:], t)
	return header, nil
}

// Strip removes the first CSIG tag of the frame that begins with header, which
// Walk described as f, and returns the shorter header. It returns ErrNoTag, or
// ErrTruncated when f reaches beyond header.
func Strip(header []byte, f Frame) ([]byte, error) {
	switch end := f.Tag + f.Format.Size(); {
	case f.Tag < 0 || f.Format == FormatNone:
		return header, ErrNoTag
	case end > len(header):
		return header, ErrTruncated
	default:
		return append(header[:f.Tag], header[end:]...), nil
	}
}
