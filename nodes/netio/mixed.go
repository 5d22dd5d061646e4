package netio

import (
	"errors"
	"time"
)

// Mixed is a Conn some of whose ports are another Conn's and the rest joined in
// memory. Memory has all ports; those of outside are not joined there.
type Mixed struct {
	Memory  *Memory
	outside Conn
	ports   []int // of outside: the port here
	places  []int // by port: the port of outside, or -1
	split   []Message
}

// NewMixed returns a Conn with the given number of ports. Port i of outside is
// port ports[i].
func NewMixed(ports int, outside Conn, outer []int) *Mixed {
	m := &Mixed{Memory: NewMemory(ports), outside: outside, ports: outer, places: make([]int, ports)}
	for port := range m.places {
		m.places[port] = -1
	}
	for i, port := range outer {
		m.places[port] = i
	}
	return m
}

// Receive implements Conn. Frames from outside come first.
func (m *Mixed) Receive(batch []Frame, wait time.Duration) (int, error) {
	for {
		n, err := m.outside.Receive(batch, 0)
		for i := range batch[:n] {
			batch[i].Port = m.ports[batch[i].Port]
		}
		if err != nil {
			return n, err
		}
		step := min(wait, mixedWait)
		if n > 0 {
			step = 0
		}
		more, err := m.Memory.Receive(batch[n:], step)
		if n += more; n > 0 || err != nil || wait <= 0 {
			return n, err
		}
		wait -= step
	}
}

// mixedWait is how often Mixed looks at both its halves when it waits.
const mixedWait = time.Millisecond

// Send implements Conn.
func (m *Mixed) Send(batch []Message) error {
	m.split = m.split[:0]
	for i := range batch {
		if place := m.places[batch[i].Port]; place >= 0 {
			m.split = append(m.split, batch[i])
			m.split[len(m.split)-1].Port = place
		}
	}
	if err := m.outside.Send(m.split); err != nil {
		var of *PortError
		if errors.As(err, &of) {
			return &PortError{m.ports[of.Port], of.Err}
		}
		return err
	}
	m.split = m.split[:0]
	for i := range batch {
		if m.places[batch[i].Port] < 0 {
			m.split = append(m.split, batch[i])
		}
	}
	return m.Memory.Send(m.split)
}

// Descriptor returns the file that poll(2) calls readable when a frame has come
// from outside; -1, which poll ignores, if outside has none.
func (m *Mixed) Descriptor() int {
	if o, ok := m.outside.(interface{ Descriptor() int }); ok {
		return o.Descriptor()
	}
	return -1
}

// Drops implements Conn.
func (m *Mixed) Drops() (int64, error) {
	outside, err := m.outside.Drops()
	inside, more := m.Memory.Drops()
	return outside + inside, errors.Join(err, more)
}

// Close implements Conn.
func (m *Mixed) Close() error { return errors.Join(m.outside.Close(), m.Memory.Close()) }
