// Package fluid is a fabric without packets: a machine that carries the messages of flows as
// a fluid, all of them or those that hosts do not send as packets. Flows that send at one time divide the ports that they cross by max-min fairness
// (progressive filling; Bertsekas, Gallager, Data Networks, §6.5), at once and exactly. A message of a million packets
// costs as much as one of a single packet. There is no queue, no mark, no loss, no CSIG, and
// no congestion control that has to find its rate.
//
// Hosts reach the network over control links, and tell it of each message (see Posted). The
// network knows of it a link's delay later. It plays everything so much later, and so gives the
// answers, which take longer than that, at the moments at which they are due.
//
//	network.go   the machine: messages in, notices out
//	rates.go     who sends how fast
//	taken.go     what packets find of the fluid on the ports that they cross
//	account.go   what went where, in windows and in all
package fluid

import (
	"errors"
	"fmt"
	"math"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
)

// Config is all that a network is built from: plain data.
type Config struct {
	Node  int // number of the machine, behind those of the fabric
	Name  string
	Delay units.Duration // of each control link
	Links int            // how many control links there are

	Ports  []Port
	Flows  []Flow  // ascending by ID
	Epochs []Epoch // in order of time; the first begins at 0

	// Packet is the wire size of a full packet, Header what of it is no payload, and Overhead what
	// a packet takes on the line beyond its size.
	Packet, Header, Overhead units.Size

	Records units.Duration // length of telemetry windows
	Measure metrics.Span
}

// Port is an egress port of the fabric.
type Port struct {
	Node, Port int32
	// Link is the control link to the node, which is told what flows take of the port, as packets
	// cross it too, and which records it. -1: there are no packets, and the network records it.
	Link int32
	// Answers is what ACKs of other flows take of the rate beside data: of a byte on the line,
	// so much more. 0: only data comes here, or no data.
	Answers float64
}

// Epoch is a time in which no port changes its rate, and no flow its ways.
type Epoch struct {
	From  units.Time
	Rates []units.Rate // by port
	Ways  [][]Way      // by flow
}

// Law is how large a part flows ask for of the links that they share: flows divide them in
// proportion to
//
//	Weight * (Intercept + Slope*progress) * (Low + (1-Low)*free)
//
// Here progress is the share of its phase's bytes that a flow has sent, and free the share of its
// links that was free when it began to send.
type Law struct{ Weight, Intercept, Slope, Low float64 }

// Flow is a transfer or connection.
type Flow struct {
	ID           int
	Source, Sink int        // the control links to its ends
	Packets      float64    // about what part of its messages its host sends as packets; 0: none
	Size         units.Size // of a transfer; 0: a connection, whose messages are told one by one
	Tag          units.Size // of each packet, beyond Packet
	Law          Law
	// A packet takes Latency from a NIC to the other end on an idle way, beside the time that its
	// bytes take on links: PerByte, in picoseconds for a byte, on all but the slowest one, where
	// they take what the rate of the flow says. The answer takes Reply.
	Latency, Reply units.Duration
	PerByte        float64
}

// Way is a port, and the share of a flow's bytes that crosses it.
type Way struct {
	Port  int32
	Share float64 // more than 0, at most 1
}

// check returns what makes no sense of a configuration.
func (c *Config) check() error {
	if c.Packet <= c.Header || c.Header <= 0 || c.Records <= 0 || c.Delay <= 0 {
		return fmt.Errorf("packets of %v with headers of %v, windows of %v, links of %v", c.Packet, c.Header, c.Records, c.Delay)
	}
	for k := range c.Epochs {
		if err := c.checkEpoch(k); err != nil {
			return fmt.Errorf("epoch %d: %w", k, err)
		}
	}
	for i := range c.Ports {
		if l := int(c.Ports[i].Link); l < -1 || l >= c.Links {
			return fmt.Errorf("port %d is at link %d of %d", i, l, c.Links)
		}
	}
	if len(c.Epochs) == 0 || c.Epochs[0].From != 0 {
		return errors.New("no epoch begins at 0")
	}
	for i := range c.Flows {
		f := &c.Flows[i]
		switch {
		case f.Source < 0 || f.Source >= c.Links || f.Sink < 0 || f.Sink >= c.Links:
			return fmt.Errorf("flow %d is between links %d and %d of %d", f.ID, f.Source, f.Sink, c.Links)
		case f.Latency < 2*c.Delay:
			return fmt.Errorf("flow %d takes %v, which is less than twice %v", f.ID, f.Latency, c.Delay)
		case !(f.Law.Weight > 0) || !(f.Law.Intercept > 0) || !(f.Law.Slope >= 0) || !(f.Law.Low > 0 && f.Law.Low <= 1):
			return fmt.Errorf("flow %d has the law %+v", f.ID, f.Law)
		}
	}
	return nil
}

// checkEpoch returns what makes no sense of an epoch.
func (c *Config) checkEpoch(k int) error {
	e := &c.Epochs[k]
	switch {
	case len(e.Rates) != len(c.Ports) || len(e.Ways) != len(c.Flows):
		return fmt.Errorf("%d rates and %d ways of %d ports and %d flows", len(e.Rates), len(e.Ways), len(c.Ports), len(c.Flows))
	case k > 0 && e.From <= c.Epochs[k-1].From:
		return fmt.Errorf("it begins at %v, not after the one before", e.From)
	}
	for i, rate := range e.Rates {
		if rate <= 0 {
			return fmt.Errorf("port %d has a rate of %v", i, rate)
		}
	}
	for i, ways := range e.Ways {
		if len(ways) == 0 {
			return fmt.Errorf("flow %d crosses no port", c.Flows[i].ID)
		}
		for _, w := range ways {
			if w.Port < 0 || int(w.Port) >= len(c.Ports) || !(w.Share > 0) {
				return fmt.Errorf("flow %d sends %g of its bytes through port %d of %d", c.Flows[i].ID, w.Share, w.Port, len(c.Ports))
			}
		}
	}
	return nil
}

// packets returns how many packets a message has.
func (c *Config) packets(size units.Size) int64 {
	return max(1, int64((size+c.Packet-c.Header-1)/(c.Packet-c.Header)))
}

// onLine returns what a message takes on a line.
func (c *Config) onLine(f *Flow, size units.Size) units.Size {
	return size + units.Size(c.packets(size))*(c.Header+f.Tag+c.Overhead)
}

// latency returns how much longer a message takes than its bytes at the flow's rate: a packet is
// stored at each link but the slowest. That is a full one if there are several, as the last one
// waits for those before it.
func (c *Config) latency(f *Flow, size units.Size) units.Duration {
	packet := min(size, c.Packet-c.Header) + c.Header + f.Tag + c.Overhead
	return f.Latency + units.Duration(math.Round(f.PerByte*float64(packet)))
}

// Posted is what a host tells the network in a control message: the flow is its trigger.
// A message of more bytes than a code can say is told in several pieces, all of which but the last
// have the bit more. Before them comes, with the bit phase, the size of the phase that it belongs
// to, in units of phaseUnit, if that is larger. Both bits say that the flow sends packets from now
// on, which take their share of links, or, with the code 0 beside them, that it has sent them.
type Posted struct{ Flow, Code uint32 }

const (
	more      = 1 << 31
	phase     = 1 << 30
	mostPiece = phase - 1
	phaseUnit = 1024 * units.Byte
)

// Post returns what tells the network of a message of a flow, and of the bytes of its phase, behind
// what a slice has. A size of 0 stands for a transfer, whose size the network knows.
func Post(to []Posted, flow uint32, size, total units.Size) []Posted {
	if total > size {
		to = append(to, Posted{flow, phase | uint32(min(total/phaseUnit, mostPiece))})
	}
	for ; size > mostPiece; size -= mostPiece {
		to = append(to, Posted{flow, mostPiece | more})
	}
	return append(to, Posted{flow, uint32(size)})
}

// PostPackets returns what tells the network that a flow sends packets, or has sent them.
func PostPackets(flow uint32, sends bool) Posted {
	if sends {
		return Posted{flow, more | phase | 1}
	}
	return Posted{flow, more | phase}
}

// Notice is what the network tells a host: how many messages of a connection have been
// acknowledged at its sender, or have arrived at its receiver, or that a transfer has.
type Notice struct {
	Flow               uint32
	Messages           int // of a connection
	Received, Transfer bool
}

// Bits of a notice's code. The rest is the number of messages.
const (
	received = 1 << 31
	transfer = 1 << 30
)

// code returns the notice as the code of a control message.
func (n Notice) code() uint32 {
	code := uint32(n.Messages)
	if n.Received {
		code |= received
	}
	if n.Transfer {
		code |= transfer
	}
	return code
}

// ReadNotice returns the notice in a control message.
func ReadNotice(trigger, code uint32) Notice {
	return Notice{Flow: trigger, Messages: int(code &^ (received | transfer)), Received: code&received != 0, Transfer: code&transfer != 0}
}
