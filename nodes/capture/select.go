package capture

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// ErrForeign reports a file that no Writer wrote.
var ErrForeign = errors.New("capture: not a pcapng file as csiglab writes it")

// longestBlock bounds a packet block: a frame, its comments, and much more.
const longestBlock = 1 << 20

// Select copies what a Writer wrote, with those ports alone that have the given
// names. The caller knows that they are there.
func Select(out io.Writer, in io.Reader, ports []string) error {
	r, w := bufio.NewReaderSize(in, 1<<18), bufio.NewWriterSize(out, 1<<18)
	var places []uint32 // by interface in the file: that in the copy
	var kept uint32
	var block []byte
	for {
		var head [8]byte
		if _, err := io.ReadFull(r, head[:]); errors.Is(err, io.EOF) {
			return w.Flush()
		} else if err != nil {
			return fmt.Errorf("%w: %w", ErrForeign, err)
		}
		kind, length := binary.LittleEndian.Uint32(head[:]), binary.LittleEndian.Uint32(head[4:])
		if length < 12 || length%4 != 0 || length > longestBlock {
			return fmt.Errorf("%w: a block of %d bytes", ErrForeign, length)
		}
		block = append(slices.Grow(block[:0], int(length)), head[:]...)[:length]
		if _, err := io.ReadFull(r, block[8:]); err != nil {
			return fmt.Errorf("%w: %w", ErrForeign, err)
		}
		body := block[8 : length-4]
		switch kind {
		case sectionBlock:
			if len(body) < 4 || binary.LittleEndian.Uint32(body) != byteOrderMagic {
				return ErrForeign
			}
		case interfaceBlock:
			if !slices.Contains(ports, interfaceName(body)) {
				places = append(places, dropped)
				continue
			}
			places = append(places, kept)
			kept++
		case packetBlock:
			if len(body) < 4 || int(binary.LittleEndian.Uint32(body)) >= len(places) {
				return fmt.Errorf("%w: a packet of no interface", ErrForeign)
			}
			place := places[binary.LittleEndian.Uint32(body)]
			if place == dropped {
				continue
			}
			binary.LittleEndian.PutUint32(body, place)
		}
		if _, err := w.Write(block); err != nil {
			return fmt.Errorf("capture: %w", err)
		}
	}
}

const dropped = ^uint32(0)

// interfaceName returns the name in the body of an interface description block,
// behind eight bytes of link type and length.
func interfaceName(body []byte) string {
	for at := 8; at+4 <= len(body); {
		code, length := binary.LittleEndian.Uint16(body[at:]), int(binary.LittleEndian.Uint16(body[at+2:]))
		value := body[min(at+4, len(body)):]
		if length > len(value) {
			return ""
		}
		if code == nameOption {
			return string(value[:length])
		}
		at += 4 + (length+3)/4*4
	}
	return ""
}
