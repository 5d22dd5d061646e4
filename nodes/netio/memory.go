package netio

import (
	"errors"
	"sync"
	"time"
)

// Memory is a Conn without a network: ports joined in memory. It drops what finds
// its slots full, as a ring does.
type Memory struct {
	mu      sync.Mutex
	arrived chan struct{} // holds a token when queue has frames, and perhaps when not
	queue   []Frame
	out     [][]byte // of the last batch, whose owner is the caller until the next
	free    [][]byte // buffers of frames
	drops   int64
	closed  bool
	peers   []peer // by port
	slots   int
}

type peer struct {
	conn *Memory
	port int
}

// NewMemory returns a Conn with the given number of ports, joined to nothing.
func NewMemory(ports int) *Memory {
	return &Memory{arrived: make(chan struct{}, 1), peers: make([]peer, ports), slots: SlotsOf(ports)}
}

// Keep sets how many frames the Conn keeps at most, those of the last batch among them
// until the next call of Receive, as in a ring. It is called before any frame is sent.
func (m *Memory) Keep(slots int) { m.slots = slots }

// Join connects port p of a with port q of b. It is called before any frame is
// sent.
func Join(a *Memory, p int, b *Memory, q int) {
	a.peers[p], b.peers[q] = peer{b, q}, peer{a, p}
}

// Receive implements Conn.
func (m *Memory) Receive(batch []Frame, wait time.Duration) (int, error) {
	n, err := m.take(batch)
	if n > 0 || err != nil || wait <= 0 {
		return n, err
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-m.arrived:
			if n, err = m.take(batch); n > 0 || err != nil {
				return n, err
			}
		case <-timer.C:
			return m.take(batch)
		}
	}
}

func (m *Memory) take(batch []Frame) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return 0, ErrClosed
	}
	m.free, m.out = append(m.free, m.out...), m.out[:0]
	n := copy(batch, m.queue)
	for _, f := range m.queue[:n] {
		m.out = append(m.out, f.Data)
	}
	m.queue = append(m.queue[:0], m.queue[n:]...)
	if len(m.queue) > 0 {
		m.wake()
	}
	return n, nil
}

// wake leaves a token. The caller holds the lock.
func (m *Memory) wake() {
	select {
	case m.arrived <- struct{}{}:
	default:
	}
}

// Arrived returns a channel from which something can be received when a frame can
// be, and now and then when none can. Who receives from it calls Receive next.
func (m *Memory) Arrived() <-chan struct{} { return m.arrived }

// Send implements Conn.
func (m *Memory) Send(batch []Message) error {
	for i := range batch {
		f := &batch[i]
		to := m.peers[f.Port]
		if to.conn == nil {
			return errors.New("netio: port leads nowhere")
		}
		to.conn.put(to.port, f)
	}
	return nil
}

// put queues a copy of a frame.
func (m *Memory) put(port int, f *Message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closed:
	case len(m.queue)+len(m.out) >= m.slots:
		m.drops++
	default:
		var data []byte
		if last := len(m.free) - 1; last >= 0 {
			data, m.free = m.free[last][:0], m.free[:last]
		}
		data = append(append(append(data, f.Header...), f.Payload...), f.Trailer...)
		m.queue = append(m.queue, Frame{Port: port, Data: data})
		m.wake()
	}
}

// Drops implements Conn.
func (m *Memory) Drops() (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.drops, nil
}

// Close implements Conn.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed, m.queue = true, nil
	m.wake()
	return nil
}
