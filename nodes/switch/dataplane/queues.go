package dataplane

import (
	"math/rand/v2"
	"slices"

	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/nodes/switch/buffer"
	"github.com/csiglab/csiglab/nodes/switch/meter"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

type dropReason uint8

const (
	dropNoRoute dropReason = iota
	dropTTL
	dropDataFull
	dropControlFull
	dropHeadroom
	dropReasons
)

var dropNames = [dropReasons]string{"no route", "TTL exceeded", "data queue full", "control queue full", DropHeadroom}

// DropNames returns the reasons of drops, in the order of the counts of metrics.NodeTotals.
func DropNames() []string { return slices.Clone(dropNames[:]) }

// DropNoRoute and DropDataFull are the indices in DropNames of what raw frames are dropped for.
const (
	DropNoRoute  = int(dropNoRoute)
	DropDataFull = int(dropDataFull)
)

// DropHeadroom is the reason of drops in lossless classes, of which there should be none.
const DropHeadroom = "headroom full"

// queueState is what a switch has for the queues of all ports.
type queueState struct {
	resized []int // which sizes each port has, see Resize; nil: their own
	drops   [dropReasons]int64
}

// portQueue is the queues of a port and the line that they share.
type portQueue struct {
	buffer buffer.Port
	aqm    aqm.Policy
	line   units.Serialiser
	random *rand.Rand
}

func (s *Switch) enqueueControl(now units.Time, out *port, p *wire.Packet) {
	if !out.buffer.ControlFits(p) {
		out.dropped(now, p)
		s.discard(dropControlFull, p)
		return
	}
	out.buffer.PushControl(p)
}

// overflow frees space for p by trimming it or the packet enqueued last, or drops
// it. It returns the packet that is to enter the data queue, if any. Raw
// frames are not trimmed: nobody would know what is left of them.
func (s *Switch) overflow(now units.Time, out *port, p *wire.Packet) *wire.Packet {
	if !s.cfg.Trim || p.Kind() == wire.Raw {
		if out.hardFits(now, p) {
			return p
		}
		out.dropped(now, p)
		s.discard(dropDataFull, p)
		return nil
	}
	if aqm.TrimArriving(out.random) || out.buffer.Data() > out.Buffer.Longest() { // beyond it since Resize: what is queued stays
		s.trim(now, out, p)
		return nil
	}
	switch last := out.buffer.PopDataTail(); {
	case last == nil:
	case last.Kind() == wire.Raw:
		out.buffer.PushData(last)
		s.trim(now, out, p)
		return nil
	default:
		if m := out.mixture; m != nil {
			m.popTail(out.line.Takes(s.cfg.Sizes.OnLine(last)))
		}
		s.trim(now, out, last)
	}
	if !out.dataFits(now, p) { // what was trimmed was smaller
		out.record.Depth(now, int64(out.queueWithFluid(now)))
		s.trim(now, out, p)
		return nil
	}
	return p
}

func (s *Switch) trim(now units.Time, out *port, p *wire.Packet) {
	if tag := p.Tag(); tag != nil && s.domain != nil {
		out.record.Advance(now) // before its meter
		domain, locator, policies := s.formatOf(out, tag)
		if t, _ := domain.Peek(tag); t.Known() && policies[t] == Update {
			// The packet would have left its queue when all before it had.
			bytes, packets := s.queueOf(out, p)
			drain := out.line.Takes(bytes + units.Size(packets)*s.cfg.Sizes.Overhead)
			if m := out.mixture; m != nil {
				drain = units.Duration(m.wait(now))
			}
			domain.Trim(tag, s.signal(now, now.Add(drain), out, t, p), locator)
		}
	}
	before := p.Size
	p.Trim(s.cfg.Sizes, out.LastHop)
	out.record.Trim(now, int64(before-p.Size))
	if out.signalling != nil && out.sums != nil {
		out.sums.Count(now, meter.Trimmed, before-p.Size)
	}
	s.enqueueControl(now, out, p)
}

// dropped counts a packet that finds no room.
func (out *port) dropped(now units.Time, p *wire.Packet) {
	out.record.Drop(now, int64(p.Size))
	if out.signalling != nil && out.sums != nil {
		out.sums.Count(now, meter.Dropped, p.Size)
	}
}

func (s *Switch) discard(reason dropReason, p *wire.Packet) {
	s.drops[reason]++
	s.pool.Put(p)
}

// queueOf returns the bytes and packets of the data queue that p is for.
func (s *Switch) queueOf(out *port, p *wire.Packet) (bytes units.Size, packets int) {
	if out.classPort == nil {
		return out.buffer.Data(), out.buffer.DataLen()
	}
	k := s.classOf(p)
	return out.queues.BytesOf(k), out.queues.LenOf(k)
}

// queued returns the bytes that wait at a port, of control packets too.
func (p *port) queued() units.Size {
	if p.classPort == nil {
		return p.buffer.Bytes()
	}
	return p.buffer.Bytes() + p.queues.Bytes()
}
