package chakra

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// maxMessage is the largest message of a file. Those of real traces have some 100 B, and
// metadata that holds the program of a collective library some 10 kB.
const maxMessage = 16 << 20

// Field numbers of the messages in et_def.proto.
const (
	metaVersion, metaAttr = 1, 2

	nodeID, nodeName, nodeType, nodeControl, nodeData       = 1, 2, 3, 4, 5
	nodeStart, nodeDuration, nodeInputs, nodeOutputs, nodeA = 6, 7, 8, 9, 10

	attrName = 1
	ioValues = 1
)

// messages reads a file of messages, each behind its length.
type messages struct {
	in   *bufio.Reader
	at   int64 // bytes read, unpacked
	data []byte
}

// next returns the next message and where it begins. It returns io.EOF at the end of the
// file, and the message until the next call.
func (m *messages) next() (data []byte, at int64, err error) {
	at = m.at
	length, err := binary.ReadUvarint(m)
	switch {
	case err == nil:
	case errors.Is(err, io.EOF) && m.at == at:
		return nil, at, io.EOF
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, at, errors.New("the file ends in the length of a message")
	case m.at-at >= binary.MaxVarintLen64:
		return nil, at, errors.New("the length of a message is a number of more than 64 bits")
	default:
		return nil, m.at, err
	}
	if length > maxMessage {
		return nil, at, fmt.Errorf("a message of %d bytes, want at most %d", length, maxMessage)
	}
	at = m.at
	m.data = m.data[:0]
	for left := int(length); left > 0; {
		// A length that is not true does not cost its memory.
		n := min(left, 64<<10)
		m.data = slices.Grow(m.data, n)[:len(m.data)+n]
		got, err := io.ReadFull(m.in, m.data[len(m.data)-n:])
		m.at += int64(got)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, m.at, fmt.Errorf("the file ends in a message of %d bytes that begins at byte %d", length, at)
		}
		if err != nil {
			return nil, m.at, err
		}
		left -= n
	}
	return m.data, at, nil
}

// ReadByte implements io.ByteReader, for the lengths.
func (m *messages) ReadByte() (byte, error) {
	b, err := m.in.ReadByte()
	if err == nil {
		m.at++
	}
	return b, err
}

// wireError is what is wrong at an offset within a message.
type wireError struct {
	at  int
	msg string
}

// Error implements error.
func (e *wireError) Error() string { return e.msg }

// field is one field of a message.
type field struct {
	number protowire.Number
	kind   protowire.Type
	bits   uint64 // of a number
	data   []byte // of a length-delimited field
	at     int    // where the value begins
}

// fields calls do for the fields of a message that begins at offset base. do does not keep f.
func fields(data []byte, base int, do func(f *field) error) error {
	var f field
	for pos := 0; pos < len(data); {
		number, kind, n := protowire.ConsumeTag(data[pos:])
		if n < 0 {
			return &wireError{base + pos, "no protobuf field: " + parseError(n)}
		}
		pos += n
		f = field{number: number, kind: kind, at: base + pos}
		switch kind {
		case protowire.VarintType:
			f.bits, n = protowire.ConsumeVarint(data[pos:])
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(data[pos:])
			f.bits = uint64(v)
		case protowire.Fixed64Type:
			f.bits, n = protowire.ConsumeFixed64(data[pos:])
		case protowire.BytesType:
			f.data, n = protowire.ConsumeBytes(data[pos:])
			f.at += n - len(f.data)
		default:
			n = protowire.ConsumeFieldValue(number, kind, data[pos:])
		}
		if n < 0 {
			return &wireError{base + pos, fmt.Sprintf("field %d: %s", number, parseError(n))}
		}
		pos += n
		if err := do(&f); err != nil {
			return err
		}
	}
	return nil
}

// parseError returns what protowire found wrong, without its prefix, whose space differs from
// build to build.
func parseError(n int) string {
	return strings.TrimLeft(strings.TrimPrefix(protowire.ParseError(n).Error(), "proto:"), " \u00a0")
}

// want returns an error unless the field has the wire type.
func (f *field) want(kind protowire.Type) error {
	if f.kind != kind {
		return &wireError{f.at, fmt.Sprintf("field %d has wire type %d, want %d", f.number, f.kind, kind)}
	}
	return nil
}

// decodeMetadata reads the message that begins a file.
func decodeMetadata(data []byte) error {
	return fields(data, 0, func(f *field) error {
		switch f.number {
		case metaVersion, metaAttr:
			if err := f.want(protowire.BytesType); err != nil {
				err.(*wireError).msg = "the file does not begin with metadata: " + err.Error()
				return err
			}
		}
		return nil
	})
}

// interner has the one copy of texts that repeat in most nodes.
type interner map[string]string

// maxInterned bounds what an interner keeps.
const maxInterned = 1 << 14

// text returns a text that may be the copy of an earlier one.
func (in interner) text(data []byte) string {
	if known, ok := in[string(data)]; ok {
		return known
	}
	s := string(data)
	if len(in) < maxInterned && len(s) < 256 {
		in[s] = s
	}
	return s
}

// decodeNode reads a node.
func decodeNode(data []byte, n *node, in interner) error {
	return fields(data, 0, func(f *field) error {
		var want protowire.Type
		switch f.number {
		case nodeID, nodeType, nodeStart, nodeDuration:
			want = protowire.VarintType
		case nodeControl, nodeData:
			if want = f.kind; want != protowire.VarintType {
				want = protowire.BytesType // packed
			}
		case nodeName, nodeInputs, nodeOutputs, nodeA:
			want = protowire.BytesType
		default:
			return nil
		}
		if err := f.want(want); err != nil {
			return err
		}
		switch f.number {
		case nodeID:
			n.id = f.bits
		case nodeName:
			n.called(f.data, in)
		case nodeType:
			n.kind = int64(f.bits)
		case nodeDuration:
			n.duration = f.bits
		case nodeControl, nodeData:
			list := &n.control
			if f.number == nodeData {
				list = &n.data
			}
			if f.kind == protowire.VarintType {
				*list = append(*list, f.bits)
				return nil
			}
			for pos := 0; pos < len(f.data); {
				id, size := protowire.ConsumeVarint(f.data[pos:])
				if size < 0 {
					return &wireError{f.at + pos, fmt.Sprintf("field %d: %s", f.number, parseError(size))}
				}
				*list = append(*list, id)
				pos += size
			}
		case nodeInputs:
			return fields(f.data, f.at, func(f *field) error {
				if f.number != ioValues {
					return nil
				}
				if n.name == "" || n.defines { // the inputs of others are of no use
					n.inputs = string(f.data)
				}
				return f.want(protowire.BytesType)
			})
		case nodeA:
			return decodeAttribute(f.data, f.at, n, in)
		}
		return nil
	})
}

// Field numbers of the values of an attribute, each followed by that of a list of such.
const (
	attrDouble, attrFloat, attrInt32, attrInt64, attrUint32, attrUint64   = 3, 5, 7, 9, 11, 13
	attrSint32, attrSint64, attrFixed32, attrFixed64                      = 15, 17, 19, 21
	attrSfixed32, attrSfixed64, attrBool, attrString, attrBytes, attrLast = 23, 25, 27, 29, 31, 32
)

// decodeAttribute reads an attribute of a node.
func decodeAttribute(data []byte, base int, n *node, in interner) error {
	var name string
	var v value
	err := fields(data, base, func(f *field) error {
		want := protowire.BytesType
		switch f.number {
		case attrInt32, attrInt64, attrUint32, attrUint64, attrSint32, attrSint64, attrBool:
			want = protowire.VarintType
		case attrFixed32, attrSfixed32, attrFloat:
			want = protowire.Fixed32Type
		case attrFixed64, attrSfixed64, attrDouble:
			want = protowire.Fixed64Type
		default:
			if f.number > attrLast {
				return nil
			}
		}
		if err := f.want(want); err != nil {
			return err
		}
		switch f.number {
		case attrName:
			name = in.text(f.data)
		case attrInt32:
			v = integer(int64(int32(f.bits)))
		case attrInt64, attrSfixed64:
			v = integer(int64(f.bits))
		case attrUint32, attrFixed32:
			v = integer(int64(uint32(f.bits)))
		case attrUint64, attrFixed64:
			if v = integer(int64(f.bits)); f.bits > math.MaxInt64 {
				v = value{kind: tooLarge}
			}
		case attrSint32, attrSint64:
			v = integer(protowire.DecodeZigZag(f.bits))
		case attrSfixed32:
			v = integer(int64(int32(f.bits)))
		case attrBool:
			v = integer(min(1, int64(f.bits>>1|f.bits&1)))
		case attrDouble:
			v = real(math.Float64frombits(f.bits))
		case attrFloat:
			v = real(float64(math.Float32frombits(uint32(f.bits))))
		case attrString, attrBytes:
			v = value{kind: text, text: in.text(f.data)}
		case attrBool + 1:
			v = value{kind: list}
			return fields(f.data, f.at, func(f *field) error {
				for _, b := range f.data {
					v.some = v.some || b == 0
				}
				v.some = v.some || f.kind == protowire.VarintType && f.bits == 0
				return nil
			})
		default:
			if f.number > attrName+1 {
				v = value{kind: list}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return n.set(name, v, int64(base))
}
