package live

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/csiglab/csiglab/conformance"
	"github.com/csiglab/csiglab/nodes/netio"
)

// UDP ports of frames: those that are judged, and those of the background.
const (
	discard    = 9
	background = 10
)

// loadLength is how long a frame of the background is, with its check sequence.
const loadLength = 1000

// bench is the interfaces around a device.
type bench struct {
	Config
	layout
	addresses []net.HardwareAddr
	number    uint64 // of the last frame
	batch     []netio.Frame
}

// next returns a number that no frame has had.
func (b *bench) next() uint64 {
	b.number++
	return b.number
}

// between returns a frame from a port to another one.
func (b *bench) between(from, to int, stack []part, body []byte) conformance.Frame {
	f := b.frame(b.addresses[from], b.addresses[to], stack, body)
	f.Port = from
	return f
}

// ours reports whether a frame comes from this bench, which sends nothing else: devices send
// frames of their own, such as those of LLDP.
func (b *bench) ours(frame []byte) bool {
	return len(frame) >= 12 && slices.ContainsFunc(b.addresses, func(a net.HardwareAddr) bool { return bytes.Equal(a, frame[6:12]) })
}

func (b *bench) send(f *conformance.Frame) error {
	return b.Conn.Send([]netio.Message{{Port: f.Port, Header: f.Bytes}})
}

// Waits for what leaves the device: for the first frame, and for more after the last one.
const (
	patience = 300 * time.Millisecond
	quiet    = 15 * time.Millisecond
)

// through sends frames and returns what leaves. It waits longer as long as fewer frames than
// expected have left.
func (b *bench) through(ctx context.Context, in []conformance.Frame, expected int) (out []conformance.Frame, err error) {
	for late := 1; late > 0; { // what comes late is no answer
		if late, err = b.Conn.Receive(b.batch, 0); err != nil {
			return nil, err
		}
	}
	for i := range in {
		if err := b.send(&in[i]); err != nil {
			return nil, err
		}
	}
	end := time.Now().Add(patience)
	for {
		wait := quiet
		if len(out) < expected {
			wait = time.Until(end)
		}
		n, err := b.Conn.Receive(b.batch, max(0, wait))
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || n == 0 {
			return out, err
		}
		for _, f := range b.batch[:n] {
			if b.ours(f.Data) {
				out = append(out, conformance.Frame{Port: f.Port, Bytes: bytes.Clone(f.Data)})
			}
		}
		if time.Now().After(end) {
			return out, nil
		}
	}
}

// learn shows the device the addresses, and returns an error unless each leads to its port alone.
func (b *bench) learn(ctx context.Context) error {
	for _, judged := range []bool{false, true} { // a bridge floods what it does not know yet
		for to := range b.addresses {
			from := (to + 1) % len(b.addresses)
			f := b.between(from, to, nil, payload(discard, 80, b.next()))
			out, err := b.through(ctx, []conformance.Frame{f}, 1)
			if err != nil {
				return err
			}
			if !judged {
				continue
			}
			if len(out) == 1 && out[0].Port == to {
				continue
			}
			left := "did not leave"
			for i, o := range out {
				if i == 0 {
					left = "left by"
				}
				left += " " + b.Ports[o.Port]
			}
			return fmt.Errorf("%w as a switch: a frame from %s to %v must leave by %s alone, and %s", conformance.ErrDevice, b.Ports[from], b.addresses[to], b.Ports[to], left)
		}
	}
	return nil
}

// flow is background from a port to another one, at a share of the latter's rate.
type flow struct {
	from, to int
	share    float64
}

// under sends background, and calls probe each gap, count times, and goes on for a gap behind
// the last one. What comes back goes to got. It reports how much of the time it was away, longer
// than a quarter of a window at once.
func (b *bench) under(ctx context.Context, flows []flow, gap time.Duration, count int, probe func() conformance.Frame, got func(port int, frame []byte)) (away float64, err error) {
	frames := make([]conformance.Frame, len(flows))
	sent := make([]float64, len(flows)) // bytes
	for i, f := range flows {
		frames[i] = b.between(f.from, f.to, nil, payload(background, loadLength-4-12, 0))
	}
	var batch []netio.Message
	start := time.Now()
	last, due := start, start.Add(gap)
	for {
		now := time.Now()
		batch = batch[:0]
		// A probe goes ahead of the background: a full queue has room for it then.
		if count > 0 && !now.Before(due) {
			f := probe()
			batch = append(batch, netio.Message{Port: f.Port, Header: f.Bytes})
			due = now.Add(gap)
			count--
		}
		for i, f := range flows {
			rate := f.share * float64(b.Setup.Ports[f.to].Rate) / 8
			// Whoever was away for long does not send all of that at once.
			sent[i] += rate * max(0, (now.Sub(last)-gap/2).Seconds())
			for sent[i] < rate*now.Sub(start).Seconds() && len(batch) < 256 {
				batch = append(batch, netio.Message{Port: f.from, Header: frames[i].Bytes, Droppable: true})
				sent[i] += loadLength
			}
		}
		if pause := now.Sub(last); pause > time.Duration(b.Setup.Interval)/4 {
			away += pause.Seconds()
		}
		last = now
		if err := b.Conn.Send(batch); err != nil {
			return 0, err
		}
		n, err := b.Conn.Receive(b.batch, 200*time.Microsecond)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return 0, err
		}
		for _, f := range b.batch[:n] {
			if b.ours(f.Data) {
				got(f.Port, f.Data)
			}
		}
		if count == 0 && !now.Before(due) {
			return away / now.Sub(start).Seconds(), nil
		}
	}
}

// numberOf returns the number that a frame ends with.
func numberOf(frame []byte) uint64 { return binary.BigEndian.Uint64(frame[len(frame)-8:]) }
