package csig

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Layout of a tag behind its TPID; bit 0 is the most significant
// (docs/reference/references.md#tag-layout). The word that follows the TPID holds the locator
// in both formats.
//
//	compact, 16 bits   T 3, R 1, S 5, LM 6, D 1      draft-01: T 3, R 1, S 5, LM 7
//	wide, 48 bits      LM 15, D 1, T 4, S 20, R 8    draft-01: LM 16, T 4, S 20, R 8
const (
	typeShift     = 13
	reservedShift = 12
	signalShift   = 7
	signalMask    = 1<<5 - 1

	wideTypeShift   = 28
	wideSignalShift = 8
	wideSignalMask  = 1<<20 - 1
)

// Tag is the content of a tag, as it is on the wire.
type Tag struct {
	Type        Type   // 3 bits compact, 4 bits wide; may be unknown
	Signal      uint32 // code: 5 bits compact, 20 bits wide
	Locator     uint16 // up to Domain.MaxLocator
	DoNotUpdate bool   // always false in draft-01
	Reserved    uint8  // 1 bit compact, 8 bits wide
}

// Errors of ParseTag and AppendTag.
var (
	ErrNoTag    = errors.New("csig: no tag of this domain")
	ErrTagField = errors.New("csig: tag field out of range")
)

func (d *Domain) setLayout(f Format, dialect Dialect) {
	if f == FormatNone {
		return
	}
	d.size, d.lmMask = f.Size(), 0xffff
	if f == FormatCompact {
		d.lmMask = 1<<signalShift - 1
	}
	if dialect == UEC050 {
		d.dMask, d.lmShift = 1, 1
		d.lmMask &^= 1
	}
}

// initCode is the signal of a fresh tag: all ones of a type whose hops keep the smallest
// value, and otherwise 0 (docs/reference/references.md#open-choices).
func initCode(min bool, width uint) uint32 {
	if min {
		return 1<<width - 1
	}
	return 0
}

// ParseTag reads the tag that begins at b[0]. It returns ErrNoTag when b is too
// short or begins with another TPID.
func (d *Domain) ParseTag(b []byte) (Tag, error) {
	t, frozen := d.Peek(b)
	if t == InvalidType {
		return Tag{}, ErrNoTag
	}
	word := binary.BigEndian.Uint16(b[2:])
	tag := Tag{Type: t, DoNotUpdate: frozen, Locator: word & d.lmMask >> d.lmShift}
	if d.wide {
		tag.Signal = binary.BigEndian.Uint32(b[4:]) >> wideSignalShift & wideSignalMask
		tag.Reserved = b[7]
	} else {
		tag.Signal = uint32(word >> signalShift & signalMask)
		tag.Reserved = uint8(word >> reservedShift & 1)
	}
	return tag, nil
}

// AppendTag appends tag, TPID included, to b. A field that does not fit into
// the domain's format and dialect wraps ErrTagField; b is then returned as it
// was.
func (d *Domain) AppendTag(b []byte, tag Tag) ([]byte, error) {
	if d.size == noTag {
		return b, ErrNoTag
	}
	maxType, maxSignal, maxReserved := Type(7), uint32(signalMask), uint8(1)
	if d.wide {
		maxType, maxSignal, maxReserved = 15, wideSignalMask, 0xff
	}
	switch {
	case tag.Type > maxType:
		return b, fmt.Errorf("%w: type %d above %d", ErrTagField, tag.Type, uint8(maxType))
	case tag.Signal > maxSignal:
		return b, fmt.Errorf("%w: signal %d above %d", ErrTagField, tag.Signal, maxSignal)
	case tag.Locator > d.MaxLocator():
		return b, fmt.Errorf("%w: locator %d above %d", ErrTagField, tag.Locator, d.MaxLocator())
	case tag.Reserved > maxReserved:
		return b, fmt.Errorf("%w: reserved %d above %d", ErrTagField, tag.Reserved, maxReserved)
	case tag.DoNotUpdate && d.dMask == 0:
		return b, fmt.Errorf("%w: %v has no D bit", ErrTagField, d.config.Dialect)
	}
	word := tag.Locator << d.lmShift
	if tag.DoNotUpdate {
		word |= d.dMask
	}
	b = binary.BigEndian.AppendUint16(b, d.tpid)
	if !d.wide {
		word |= uint16(tag.Type)<<typeShift | uint16(tag.Reserved)<<reservedShift | uint16(tag.Signal)<<signalShift
		return binary.BigEndian.AppendUint16(b, word), nil
	}
	b = binary.BigEndian.AppendUint16(b, word)
	word2 := uint32(tag.Type)<<wideTypeShift | tag.Signal<<wideSignalShift | uint32(tag.Reserved)
	return binary.BigEndian.AppendUint32(b, word2), nil
}
