package timekeeper

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/units"
)

// kind is what a message says.
type kind uint8

const (
	alive    kind = iota + 1 // the part lives
	probe                    // a sample begins: sent
	reply                    // answer to a probe: sent, received, answered, and the state of the part
	ready                    // to the leader: the nodes of the part wait for the start
	start                    // from the leader: the start of the run, on the clock of the receiver
	released                 // to the leader: the part is not held any more
	quit                     // from the leader: no program is waited for any more
	limit                    // from the leader: the model time before which the run ends
	stop                     // from the leader: the run is over; end, drained, behind
	failed                   // the part whose fault it is; the text says why
	bye                      // nothing more comes
)

// words is how many numbers a message of a kind has.
var words = map[kind]int{alive: 0, probe: 1, reply: 9, start: 1, limit: 1, stop: 3, failed: 1, ready: 0, released: 0, quit: 0, bye: 0}

// message is a message between two parts. On the wire it is its kind, its numbers, and for
// failed the length of the text and the text.
type message struct {
	kind  kind
	words []int64
	text  string
}

// maxText bounds the text of a message.
const maxText = 4096

// append appends the message to b.
func (m *message) append(b []byte) []byte {
	b = append(b, byte(m.kind))
	for _, w := range m.words {
		b = binary.BigEndian.AppendUint64(b, uint64(w))
	}
	if m.kind == failed {
		text := m.text[:min(len(m.text), maxText)]
		b = binary.BigEndian.AppendUint16(b, uint16(len(text)))
		b = append(b, text...)
	}
	return b
}

// read reads a message.
func read(from *bufio.Reader) (m message, err error) {
	k, err := from.ReadByte()
	if err != nil {
		return m, err
	}
	n, known := words[kind(k)]
	if !known {
		return m, fmt.Errorf("sent a message of kind %d, which does not exist", k)
	}
	m.kind, m.words = kind(k), make([]int64, n)
	if err := binary.Read(from, binary.BigEndian, m.words); err != nil {
		return m, err
	}
	if m.kind != failed {
		return m, nil
	}
	var size uint16
	if err := binary.Read(from, binary.BigEndian, &size); err != nil {
		return m, err
	}
	if size > maxText {
		return m, fmt.Errorf("sent a text of %d bytes", size)
	}
	text := make([]byte, size)
	_, err = io.ReadFull(from, text)
	m.text = string(text)
	return m, err
}

// State is how far a part is.
type State struct {
	wall.Progress
	Programs
}

// Programs is what the programs of a part do.
type Programs struct {
	Wanted  bool // some have not ended that the run waits for
	Running bool // some have not been stopped
}

func (p Programs) or(o Programs) Programs {
	return Programs{p.Wanted || o.Wanted, p.Running || o.Running}
}

// Bits of Programs in a message.
const (
	bitWanted = 1 << iota
	bitRunning
)

// answer is the content of a reply.
type answer struct {
	Sample
	start time.Duration // of the run, on the clock of the part that answers; 0 before
	state State
}

func (a *answer) words() []int64 {
	var programs int64
	if a.state.Wanted {
		programs |= bitWanted
	}
	if a.state.Running {
		programs |= bitRunning
	}
	return []int64{
		int64(a.Sent), int64(a.Received), int64(a.Answered), int64(a.start),
		int64(a.state.Next), int64(a.state.Last), a.state.Sent, a.state.Received, programs,
	}
}

func (m *message) answer(returned time.Duration) answer {
	w := m.words
	return answer{
		Sample: Sample{Sent: time.Duration(w[0]), Received: time.Duration(w[1]), Answered: time.Duration(w[2]), Returned: returned},
		start:  time.Duration(w[3]),
		state:  State{wall.Progress{Next: units.Time(w[4]), Last: units.Time(w[5]), Sent: w[6], Received: w[7]}, Programs{w[8]&bitWanted != 0, w[8]&bitRunning != 0}},
	}
}
