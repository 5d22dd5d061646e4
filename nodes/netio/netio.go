// Package netio moves frames between the ports of real nodes in batches: over
// AF_PACKET sockets on network interfaces, and in memory for tests. It knows
// nothing of packets, models or time; the drivers of package emu call it.
package netio

import (
	"errors"
	"fmt"
	"time"
)

// Conn is all ports of one node. It belongs to one goroutine.
type Conn interface {
	// Receive fills batch with frames that have arrived, in order of arrival per
	// port, and returns how many. When there are none it waits for the first, no
	// longer than wait, and returns 0 without an error if none came. The data is
	// the Conn's and valid until the next call of Receive.
	Receive(batch []Frame, wait time.Duration) (int, error)
	// Send puts frames on the wire, in order per port, and returns when the Conn
	// needs their bytes no more. An error means that the rest was not sent.
	Send(batch []Message) error
	// Drops returns how many frames have been lost since the start for want of room
	// on their way in, or, of Droppable ones, because they could not be sent.
	Drops() (int64, error)
	// Close frees the ports; frames not yet received are lost.
	Close() error
}

// Frame is a frame that has arrived, from the destination MAC address on,
// without FCS.
type Frame struct {
	Port int
	Data []byte
}

// Message is a frame to be sent: Header, Payload and Trailer in a row. Any of
// them but Header may be empty. The caller owns the bytes.
type Message struct {
	Port                     int
	Header, Payload, Trailer []byte
	// Droppable says that the frame is lost and counted if the port cannot take its
	// length, or has lost its interface. For others that is an error.
	Droppable bool
}

// Len returns the length of the frame.
func (m *Message) Len() int { return len(m.Header) + len(m.Payload) + len(m.Trailer) }

// PortError is an error of one port, as when its interface is gone.
type PortError struct {
	Port int
	Err  error
}

func (e *PortError) Error() string { return fmt.Sprintf("netio: port %d: %v", e.Port, e.Err) }
func (e *PortError) Unwrap() error { return e.Err }

// ErrClosed reports a Conn whose other end, or itself, is gone.
var ErrClosed = errors.New("netio: closed")

// Slots is the least number of frames that a Conn keeps until they are received.
// A fabric of 100 Gb/s under lockstep never had more than 16 waiting (prototype, 854,518 frames).
const Slots = 512

// slotsPerPort is the least number per port, for nodes with many of them.
const slotsPerPort = 32

// SlotsOf returns how many frames a Conn with the given number of ports keeps
// until they are received.
func SlotsOf(ports int) int { return max(Slots, slotsPerPort*ports) }
