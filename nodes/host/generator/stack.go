package generator

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/nodes/csig"
)

// EtherTypes of tags in a stack.
const (
	etherTypeCTag   = 0x8100 // IEEE 802.1Q
	etherTypeSTag   = 0x88a8 // IEEE 802.1ad
	etherTypeMACsec = 0x88e5 // IEEE 802.1AE
)

// Control bits of a SecTAG (IEEE 802.1AE §9.5): the user data are encrypted (E) and
// changed (C).
const secTagEncrypted = 0x0c

// maxVLAN is the greatest VLAN identifier; 4095 is reserved (IEEE 802.1Q §9.6).
const maxVLAN = 4094

// maxStack bounds a stack so that the headers behind it are header bytes of a raw
// frame, whatever tags are removed.
const maxStack = 40

// stackWords says what ParseStack reads.
const stackWords = "a list of c-tag, s-tag, macsec, macsec:encrypted and csig:TYPE, such as \"s-tag c-tag csig:delay\""

// ErrStack is wrapped when a stack cannot be built.
var ErrStack = errors.New("not a stack of tags")

// ParseStack returns the bytes of a stack of tags, as they stand between the source
// MAC address and the EtherType of the network layer, from the outermost tag inwards.
// Words are separated by spaces:
//
//	c-tag, s-tag      a VLAN tag, with a VLAN identifier as in c-tag:100 (default 1)
//	macsec            a SecTAG that leaves what follows readable
//	macsec:encrypted  a SecTAG whose frame no switch can read
//	csig:TYPE         a CSIG tag of a type, given by name or number
//
// More fields of a CSIG tag follow its type, each behind a colon and in any order:
// SIGNAL/LOCATOR (without it the tag is fresh), d for a set D bit, compact or wide,
// the name of a dialect, and a TPID as in 0x9900. What is not given is the domain's;
// without a format in domain it is compact. Nothing keeps a tag from being forged: a
// signal that no hop wrote, a type that nobody knows. An error wraps ErrStack.
func ParseStack(text string, domain csig.Config) ([]byte, error) {
	var b []byte
	for _, word := range strings.Fields(text) {
		name, fields, _ := strings.Cut(word, ":")
		var err error
		switch name {
		case "c-tag":
			b, err = appendVLAN(b, etherTypeCTag, fields)
		case "s-tag":
			b, err = appendVLAN(b, etherTypeSTag, fields)
		case "macsec":
			b, err = appendSecTag(b, fields)
		case "csig":
			b, err = appendTag(b, domain, strings.Split(fields, ":"))
		default:
			err = fmt.Errorf("want %s", stackWords)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %q: %w", ErrStack, word, err)
		}
	}
	if len(b) > maxStack {
		return nil, fmt.Errorf("%w: %d B of tags; the most is %d", ErrStack, len(b), maxStack)
	}
	return b, nil
}

func appendVLAN(b []byte, etherType uint16, fields string) ([]byte, error) {
	id := 1
	if fields != "" {
		var err error
		if id, err = strconv.Atoi(fields); err != nil || id < 0 || id > maxVLAN {
			return b, fmt.Errorf("VLAN %q is not a number from 0 to %d", fields, maxVLAN)
		}
	}
	b = binary.BigEndian.AppendUint16(b, etherType)
	return binary.BigEndian.AppendUint16(b, uint16(id)), nil
}

// appendSecTag appends a SecTAG (IEEE 802.1AE §9.3) without SCI: EtherType, TCI and
// AN, short length 0, packet number 1.
func appendSecTag(b []byte, fields string) ([]byte, error) {
	control := byte(0)
	switch fields {
	case "":
	case "encrypted":
		control = secTagEncrypted
	default:
		return b, fmt.Errorf("%q is not encrypted", fields)
	}
	b = binary.BigEndian.AppendUint16(b, etherTypeMACsec)
	return append(b, control, 0, 0, 0, 0, 1), nil
}

// appendTag appends a CSIG tag with the given fields, the type first.
func appendTag(b []byte, domain csig.Config, fields []string) ([]byte, error) {
	t, err := parseType(fields[0])
	if err != nil {
		return b, err
	}
	c := csig.Config{Format: domain.Format, Dialect: domain.Dialect, TPIDCompact: domain.TPIDCompact, TPIDWide: domain.TPIDWide}
	if c.Format == csig.FormatNone {
		c.Format = csig.FormatCompact
	}
	tag, tpid, fresh := csig.Tag{Type: t}, uint16(0), true
	for _, field := range fields[1:] {
		signal, locator, values := strings.Cut(field, "/")
		switch {
		case field == "d":
			tag.DoNotUpdate = true
		case values:
			fresh = false
			s, err1 := strconv.ParseUint(signal, 0, 32)
			l, err2 := strconv.ParseUint(locator, 0, 16)
			if err := errors.Join(err1, err2); err != nil {
				return b, fmt.Errorf("%q is not a signal and a locator, such as 31/5", field)
			}
			tag.Signal, tag.Locator = uint32(s), uint16(l)
		case strings.HasPrefix(field, "0x"):
			n, err := strconv.ParseUint(field, 0, 16)
			if err != nil {
				return b, fmt.Errorf("%q is not a TPID", field)
			}
			tpid = uint16(n)
		default:
			if f, err := csig.ParseFormat(field); err == nil && f != csig.FormatNone && field != "" {
				c.Format = f
			} else if d, err := csig.ParseDialect(field); err == nil && field != "" {
				c.Dialect = d
			} else {
				return b, fmt.Errorf("%q is not SIGNAL/LOCATOR, d, a format, a dialect or a TPID", field)
			}
		}
	}
	switch {
	case tpid == 0:
	case c.Format == csig.FormatWide:
		c.TPIDWide, c.TPIDCompact = tpid, other(tpid)
	default:
		c.TPIDCompact, c.TPIDWide = tpid, other(tpid)
	}
	d, err := csig.NewDomain(c)
	if err != nil {
		return b, err
	}
	if fresh && t.Known() {
		room := make([]byte, c.Format.Size())
		d.Init(room, t)
		blank, err := d.ParseTag(room)
		if err != nil {
			panic("generator: " + err.Error()) // the domain has just written it
		}
		tag.Signal = blank.Signal
	}
	return d.AppendTag(b, tag)
}

// other returns a TPID that differs from the given one, for the format that a tag does
// not have.
func other(tpid uint16) uint16 {
	if tpid == csig.DefaultTPIDWide {
		return csig.DefaultTPIDCompact
	}
	return csig.DefaultTPIDWide
}

// parseType reads the name or the number of a type, which need not be known.
func parseType(text string) (csig.Type, error) {
	if n, err := strconv.ParseUint(text, 10, 4); err == nil {
		return csig.Type(n), nil
	}
	return csig.ParseType(text)
}
