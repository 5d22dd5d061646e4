package csig

import (
	"encoding/binary"
	"errors"
)

// EtherTypes that Walk steps over or stops at.
const (
	etherTypeIPv4   = 0x0800
	etherTypeCTag   = 0x8100 // IEEE 802.1Q
	etherTypeSTag   = 0x88a8 // IEEE 802.1ad
	etherTypeOldTag = 0x9100 // outer tag before 802.1ad
	etherTypeMACsec = 0x88e5 // IEEE 802.1AE
)

// Lengths of a frame's parts, in bytes; IEEE 802.1AE §9.3 for the SecTAG, which
// ends with 8 more bytes of SCI if bit SC is set.
const (
	macAddresses = 12
	minEtherType = 0x0600 // what is below is a length (IEEE 802.3 §3.2.6)
	etherTypeLen = 2
	vlanLen      = 4
	wideLen      = 8
	secTagLen    = 8
	sciLen       = 8

	secTagVersion   = 0x80
	secTagSCI       = 0x20
	secTagEncrypted = 0x08 // bit E
	secTagChanged   = 0x04 // bit C
)

// MaxTags is how many tags Walk steps over in one frame, the first CSIG tag not
// counted.
const MaxTags = 8

// Errors of Walk, Insert and Strip.
var (
	ErrTruncated = errors.New("csig: truncated frame")
	ErrTags      = errors.New("csig: too many tags in a frame")
	ErrTagged    = errors.New("csig: the frame has a tag already")
)

// TPIDs are the EtherTypes of the CSIG tags that a fabric may carry. Zero means
// that the fabric has no tags of that format.
type TPIDs struct{ Compact, Wide uint16 }

// Frame is what stands in front of the network layer of a frame, as Walk finds it.
// Offsets count from the destination MAC address; Walk goes no further than 255.
type Frame struct {
	Tag    uint8  // offset of the first CSIG tag's TPID; 0 without one
	Format Format // of that tag; FormatNone without one
	L3     uint8  // offset of the network layer, the byte behind EtherType
	// Second reports whether another CSIG tag follows the first
	// (docs/reference/references.md#hop-update), and More has the bytes of all CSIG tags behind
	// the first.
	Second bool
	More   uint8
	MACsec bool // the frame has a SecTAG
	// EtherType is the one at which Walk stopped: of the network layer, a length if
	// below 0x0600, or MACsec's when a SecTAG hides what follows it.
	EtherType uint16
}

// Walk steps over the tags of an Ethernet frame and writes into f what it finds:
// VLAN tags, one SecTAG and CSIG tags of both formats in any order
// (docs/reference/references.md#tag-position). It stops at a second SecTAG, and at one behind which
// the bytes are encrypted or changed. It reads the frame only up to the network
// layer and keeps nothing of it.
//
// Walk returns ErrTruncated for a frame that ends before the network layer or
// within a SecTAG, and ErrTags for one with more than MaxTags tags. f then
// describes the frame up to the tag that is cut off or one too many, and has its
// EtherType.
func (t TPIDs) Walk(frame []byte, f *Frame) error {
	*f = Frame{L3: macAddresses + etherTypeLen}
	at := macAddresses
	if len(frame) < at+etherTypeLen {
		return ErrTruncated
	}
	for others := 0; ; {
		etherType := binary.BigEndian.Uint16(frame[at:])
		f.EtherType, f.L3 = etherType, uint8(at+etherTypeLen)
		n, format := vlanLen, FormatNone
		switch {
		case etherType == etherTypeIPv4 || etherType < minEtherType:
			return nil
		case etherType == t.Compact:
			format = FormatCompact
		case etherType == t.Wide:
			n, format = wideLen, FormatWide
		case etherType == etherTypeCTag || etherType == etherTypeSTag || etherType == etherTypeOldTag:
		case etherType == etherTypeMACsec:
			length, readable := parseSecTag(frame[at:])
			if f.MACsec || !readable {
				return f.hidden(frame, at+length)
			}
			n = length
		default:
			return nil
		}
		at += n
		if len(frame) < at+etherTypeLen {
			return ErrTruncated
		}
		if format != FormatNone && f.Tag == 0 {
			f.Tag, f.Format = uint8(at-n), format
			continue
		}
		if others++; others > MaxTags {
			return ErrTags
		}
		f.Second = f.Second || format != FormatNone
		f.More += uint8(format.Size())
		f.MACsec = f.MACsec || etherType == etherTypeMACsec
	}
}

// hidden ends the walk at a SecTAG, which ends at the given offset.
func (f *Frame) hidden(frame []byte, end int) error {
	if len(frame) < end {
		return ErrTruncated
	}
	f.MACsec = true
	return nil
}

// parseSecTag returns the length of the SecTAG that begins at b[0], EtherType
// included, and reports whether the bytes behind it are those of the frame: not
// encrypted, not changed, and of a version that is known. A SecTAG that is cut off
// is longer than b.
func parseSecTag(b []byte) (n int, readable bool) {
	if len(b) < secTagLen {
		return secTagLen, true
	}
	control := b[2]
	n = secTagLen
	if control&secTagSCI != 0 {
		n += sciLen
	}
	return n, control&(secTagVersion|secTagEncrypted|secTagChanged) == 0
}

// Insert makes room for a CSIG tag, the last one in front of the EtherType at which
// Walk stopped, and describes the frame with it. header is the beginning of the
// frame that f describes. Insert returns the longer header, in which the tag's
// content is undefined. It grows header as append does, without allocating when the
// capacity suffices. It returns ErrTagged, ErrNoTag for FormatNone, or ErrTruncated
// when f reaches beyond header.
func (f *Frame) Insert(header []byte, format Format) ([]byte, error) {
	at, n := int(f.L3)-etherTypeLen, format.Size()
	switch {
	case format == FormatNone:
		return header, ErrNoTag
	case f.Tag != 0:
		return header, ErrTagged
	case at < macAddresses || int(f.L3) > len(header):
		return header, ErrTruncated
	}
	var room [wideLen]byte
	header = append(header, room[:n]...)
	copy(header[at+n:], header[at:])
	f.Tag, f.Format, f.L3 = uint8(at), format, f.L3+uint8(n)
	return header, nil
}

// Strip removes the first CSIG tag of the frame that begins with header, which f
// describes, and describes the frame without it. It returns the shorter header,
// ErrNoTag, or ErrTruncated when f reaches beyond header.
func (f *Frame) Strip(header []byte) ([]byte, error) {
	at, n := int(f.Tag), f.Format.Size()
	switch {
	case at == 0:
		return header, ErrNoTag
	case at+n > len(header):
		return header, ErrTruncated
	}
	header = append(header[:at], header[at+n:]...)
	f.Tag, f.Format, f.L3 = 0, FormatNone, f.L3-uint8(n)
	return header, nil
}
