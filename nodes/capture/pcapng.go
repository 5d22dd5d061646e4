package capture

import (
	"bufio"
	"encoding/binary"
	"io"
	"math"
)

// Block types, codes of options and values of pcapng (draft-ietf-opsawg-pcapng).
const (
	sectionBlock   = 0x0a0d0d0a
	interfaceBlock = 1
	packetBlock    = 6 // enhanced

	byteOrderMagic = 0x1a2b3c4d
	unknownLength  = math.MaxUint64
	ethernet       = 1 // link type
	nanoseconds    = 9 // resolution of times

	endOfOptions      = 0
	commentOption     = 1 // in blocks of all types
	applicationOption = 4 // of sections
	nameOption        = 2 // of interfaces
	descriptionOption = 3
	resolutionOption  = 9
	flagsOption       = 2 // of packets
	droppedOption     = 4
	inbound, outbound = 1, 2 // flags
	longestOption     = math.MaxUint16
	align             = 4
)

// pcapng writes the blocks of a file. It knows of the format no more than captures need: the
// pcapgo of gopacket writes all of it, and brings tables of protocols that cost each program 2 MB
// and its start some MiB (docs/explanation/performance.md).
type pcapng struct {
	out   *bufio.Writer
	block []byte // scratch: one block
}

// begin starts a block; end writes it.
func (w *pcapng) begin(kind uint32) {
	w.block = binary.LittleEndian.AppendUint32(w.block[:0], kind)
	w.u32(0) // the length
}

func (w *pcapng) u16(v uint16) { w.block = binary.LittleEndian.AppendUint16(w.block, v) }
func (w *pcapng) u32(v uint32) { w.block = binary.LittleEndian.AppendUint32(w.block, v) }
func (w *pcapng) u64(v uint64) { w.block = binary.LittleEndian.AppendUint64(w.block, v) }

func (w *pcapng) pad() {
	for len(w.block)%align != 0 {
		w.block = append(w.block, 0)
	}
}

// text adds an option, unless it is empty. What is longer than an option can be is cut.
func (w *pcapng) text(code uint16, s string) {
	if s == "" {
		return
	}
	s = s[:min(len(s), longestOption)]
	w.u16(code)
	w.u16(uint16(len(s)))
	w.block = append(w.block, s...)
	w.pad()
}

func (w *pcapng) end() error {
	w.u32(endOfOptions)
	length := uint32(len(w.block) + 4)
	w.u32(length)
	binary.LittleEndian.PutUint32(w.block[4:], length)
	_, err := w.out.Write(w.block)
	return err
}

// newPcapng begins a file with an interface for each port.
func newPcapng(out io.Writer, comment string, ports []Port) (*pcapng, error) {
	w := &pcapng{out: bufio.NewWriter(out)}
	w.begin(sectionBlock)
	w.u32(byteOrderMagic)
	w.u16(1) // version 1.0
	w.u16(0)
	w.u64(unknownLength)
	w.text(applicationOption, "csiglab")
	w.text(commentOption, comment)
	err := w.end()
	for i := 0; i < len(ports) && err == nil; i++ {
		w.begin(interfaceBlock)
		w.u16(ethernet)
		w.u16(0)
		w.u32(0) // frames of any length
		w.text(nameOption, ports[i].Name)
		w.text(descriptionOption, ports[i].Description)
		w.u16(resolutionOption)
		w.u16(1)
		w.block = append(w.block, nanoseconds)
		w.pad()
		err = w.end()
	}
	return w, err
}

// captured is a packet as a file has it.
type captured struct {
	at       uint64 // ns
	port     int
	frame    []byte // what was captured
	length   int    // of the whole frame
	comments []string
	sent     bool
	missed   uint64 // packets that the port lost since the last one
}

func (w *pcapng) packet(p captured) error {
	w.begin(packetBlock)
	w.u32(uint32(p.port))
	w.u32(uint32(p.at >> 32))
	w.u32(uint32(p.at))
	w.u32(uint32(len(p.frame)))
	w.u32(uint32(p.length))
	w.block = append(w.block, p.frame...)
	w.pad()
	for _, c := range p.comments {
		w.text(commentOption, c)
	}
	w.u16(flagsOption)
	w.u16(4)
	if p.sent {
		w.u32(outbound)
	} else {
		w.u32(inbound)
	}
	if p.missed > 0 {
		w.u16(droppedOption)
		w.u16(8)
		w.u64(p.missed)
	}
	return w.end()
}
