package live

import (
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/csiglab/csiglab/conformance"
)

// layout is what the bits of tags depend on.
type layout struct {
	draft bool // dialect draft-01: the locator has the place of D too
	tpids map[string]uint16
}

func layoutOf(d *conformance.Setup) layout {
	l := layout{draft: d.Dialect == "draft-01", tpids: map[string]uint16{}}
	for name, f := range d.Formats {
		v, _ := strconv.ParseUint(f.TPID, 0, 16) // Check has seen it
		l.tpids[name] = uint16(v)
	}
	return l
}

// encode returns the octets of a tag.
func (l *layout) encode(t conformance.Tag) []byte {
	mark := uint64(t.Locator)
	if !l.draft {
		mark <<= 1
		if t.D {
			mark |= 1
		}
	}
	b := binary.BigEndian.AppendUint16(nil, l.tpids[t.Format])
	if t.Format == compact {
		return binary.BigEndian.AppendUint16(b, uint16(t.Type<<13|t.Reserved<<12|t.Signal<<7)|uint16(mark))
	}
	v := mark<<32 | uint64(t.Type)<<28 | uint64(t.Signal)<<8 | uint64(t.Reserved)
	return append(b, binary.BigEndian.AppendUint64(nil, v)[2:]...)
}

// signal returns S of a tag whose TPID begins at an offset; -1 if the frame is too short.
func signal(frame []byte, format string, at int) int {
	switch {
	case format == compact && len(frame) >= at+4:
		return int(binary.BigEndian.Uint16(frame[at+2:])) >> 7 & 31
	case format == wide && len(frame) >= at+8:
		return int(binary.BigEndian.Uint32(frame[at+4:])) >> 8 & ones
	}
	return -1
}

// locators returns the highest locator of a format.
func (l *layout) locators(format string) int {
	n := 127
	if format == wide {
		n = 1<<16 - 1
	}
	if l.draft {
		return n
	}
	return n >> 1
}

// part is a piece of a frame between the addresses and the EtherType: a tag or octets.
type part struct {
	tag *conformance.Tag
	raw []byte
}

func tagged(t conformance.Tag) part { return part{tag: &t} }

func raw(b ...byte) part { return part{raw: b} }

// vlan returns a VLAN tag of VID 100 and priority 3.
func vlan(tpid uint16) part { return raw(byte(tpid>>8), byte(tpid), 0x60, 0x64) }

// secTag returns a SecTAG with the given control bits, and an SCI if bit SC (0x20) is set.
func secTag(control byte) part {
	b := []byte{0x88, 0xe5, control, 0, 0, 0, 0, 9}
	if control&0x20 != 0 {
		b = append(b, 2, 0, 0, 0, 1, 0, 0, 1)
	}
	return raw(b...)
}

// frame returns a frame between two addresses. body begins with the EtherType.
func (l *layout) frame(from, to []byte, stack []part, body []byte) (f conformance.Frame) {
	f.Bytes = slices.Concat(to, from)
	for _, x := range stack {
		if x.tag != nil {
			f.Tags = append(f.Tags, *x.tag)
			f.Bytes = append(f.Bytes, l.encode(*x.tag)...)
		}
		f.Bytes = append(f.Bytes, x.raw...)
	}
	f.Bytes = append(f.Bytes, body...)
	return f
}

// payload returns an EtherType and an IPv4 packet of UDP without checksum to a port, n octets
// together, that ends with a number.
func payload(to uint16, n int, number uint64) []byte {
	b := []byte{
		8, 0, 0x45, 0, byte((n - 2) >> 8), byte(n - 2), 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
		0x9c, 0x40, byte(to >> 8), byte(to), byte((n - 22) >> 8), byte(n - 22), 0, 0,
	}
	sum := 0
	for i := 2; i < 22; i += 2 {
		sum += int(b[i])<<8 | int(b[i+1])
	}
	sum = sum&0xffff + sum>>16
	b[12], b[13] = byte(^sum>>8), byte(^sum)
	for i := len(b); i < n-8; i++ {
		b = append(b, byte(i))
	}
	return binary.BigEndian.AppendUint64(b, number)
}
