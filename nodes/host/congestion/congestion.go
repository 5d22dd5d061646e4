// Package congestion holds the congestion controllers of the host's transport,
// one file each, and the table that names them. A controller is told what
// happened to its flow, one struct per event, and answers with a window. It
// sends nothing and reads no clock; the transport drives it.
package congestion

import (
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/units"
)

// Controller decides how much one flow may have in flight. It belongs to one
// goroutine. The events are the transport's and valid until the call returns.
type Controller interface {
	OnAck(now units.Time, a *Ack)
	OnNack(now units.Time, n *Nack)
	OnTimeout(now units.Time, t *Timeout)
	// Output returns what the controller asks for. The pointer stays the same
	// and its contents change with each event.
	Output() *Output
}

// Output is what a controller requests of the transport and reports to the records.
type Output struct {
	Window units.Size // wire bytes that may be in flight
	// PacingRate is the most that the flow sends, in wire bytes: the time from the start
	// of one packet to the start of the next is at least the first one's size divided by
	// it. 0: as fast as the link. A paced flow that has nothing in flight may send one
	// packet however small Window is, so that a rate below one packet per RTT stands for
	// a window below one packet.
	PacingRate units.Rate
	// Timer is when a Timed controller wants OnTimer; units.Never: not at all. A time that
	// has passed means now. The transport reads it after each event, and when the flow
	// starts; of other controllers it reads nothing.
	Timer units.Time
	Wants csig.Weights // types of signal wanted in the next packets; Signals hold no others

	// For the records: what the last ACK was answered with, as an index of the
	// algorithm's Actions, the delay it was judged by, and the running minimum of
	// the RTT.
	Action  uint8
	Delay   units.Duration
	BaseRTT units.Duration
}

// The interfaces below are optional. The transport asserts them once for each flow, and a
// controller that implements none of them costs nothing for each packet. After the flow
// is done, or while a connection is idle, no event comes but those of phases.

// Timed is a Controller with a timer of its own, Output.Timer.
type Timed interface {
	Controller
	// OnTimer is called when Output.Timer has come. The controller sets the next one;
	// one that leaves Output.Timer in the past is called again only at its next deadline
	// or event, at least a picosecond later.
	OnTimer(now units.Time)
}

// SendListener is a Controller that is told of each data packet as it begins to leave.
type SendListener interface {
	Controller
	OnSend(now units.Time, s *Send)
}

// PhaseListener is a Controller that is told when a communication phase of its
// application begins and ends. A transfer is a phase. Of a connection the messages of one
// collective are, from the first post, or the end of the phase before, until all their bytes
// are acknowledged.
type PhaseListener interface {
	Controller
	OnPhase(now units.Time, p *Phase)
}

// CNPListener is a Controller that is told of congestion notification packets. The
// receivers send some if the algorithm's Needs say so.
type CNPListener interface {
	Controller
	OnCNP(now units.Time)
}

// Send is a data packet that begins to leave.
type Send struct {
	Size     units.Size // wire size
	Inflight units.Size // with this packet
	Again    bool       // a retransmission
}

// Phase is the begin or the end of a communication phase. Sizes are wire bytes, headers
// included; retransmissions count once. Of a connection they are as if all messages of the
// phase were as long as its first.
type Phase struct {
	Begin bool       // otherwise the end
	Total units.Size // of the phase
	Sent  units.Size // of those: 0 at the begin, Total at the end
}

// Needs is what an algorithm wants of the transport beyond ACKs and NACKs. What it does
// not ask for is not on the wire.
type Needs struct {
	HostDelay bool // Ack.HostDelay
	Hops      bool // Ack.Hops
	Credits   bool // receivers grant credit (RCCC), whatever the experiment says
	// CNP is the least time between two congestion notification packets of a flow, which
	// its receiver sends when a marked packet arrives (DCQCN paper §3.1, notification
	// point; 50 us there). 0: none.
	CNP units.Duration
}

// Signals are the newest CSIG samples of a flow at an event, by type. Types that
// the controller does not want have none.
type Signals [csig.Types]Signal

// Signal is a CSIG sample that came with an event, or that was held from an
// earlier one. A missing sample says nothing about the path: it is not headroom.
type Signal struct {
	Valid bool
	// Fresh reports that this is the first delivery of the sample. Other events bring
	// it again until a newer one comes or it is too old; an average takes fresh ones
	// alone.
	Fresh  bool
	EV     uint16 // entropy value of the packet that carried it
	Sample csig.Sample
	SentAt units.Time     // when the packet that carried it was sent
	Age    units.Duration // since then
	// Unloaded is what a full packet brings back from an idle path: of Delay the
	// residence in the path's slowest hop, 0 of other types. As base RTT it is that of
	// full packets for shorter ones too, which wait for the full ones in front of them.
	Unloaded units.Duration
}

// Queueing returns what a sample of Delay says beyond an idle path: its point less
// Unloaded, and 0 where the sample cannot be told from an idle path, because its
// range holds Unloaded or lies below.
func (s *Signal) Queueing() units.Duration {
	if s.Sample.Low <= uint64(s.Unloaded/units.Nanosecond) {
		return 0
	}
	return units.Duration(s.Sample.Point)*units.Nanosecond - s.Unloaded
}

// Ack is an acknowledgement.
type Ack struct {
	Acked    units.Size     // wire bytes that it reports as newly received
	Inflight units.Size     // after it
	RTT      units.Duration // of the packet that triggered it; valid if HasRTT
	HasRTT   bool           // false when the packet is not known or the sample ambiguous
	ECN      bool           // the packet was marked CE
	EV       uint16         // its entropy value
	Penalty  uint8          // receiver window penalty; 255 = none
	CSIG     Signals

	// AckedPackets is how many packets are known to have arrived because of it, that were
	// not known before. Acked is ahead of it when packets are reordered.
	AckedPackets int
	// HostDelay is the time at the receiver from the arrival of the packet that triggered
	// the ACK to the ACK's departure from the NIC (Swift paper §3.1, T3-T2), to the nanosecond up to
	// 4 us and to 1/4096 beyond. Valid if HasHostDelay, which needs Needs.HostDelay.
	HostDelay    units.Duration
	HasHostDelay bool
	// Hops is how many switches that packet crossed, by its TTL, at most 31; 0: not
	// known. It needs Needs.Hops.
	Hops uint8
}

// Nack is a packet that a switch trimmed. It has been taken out of Inflight.
type Nack struct {
	Size     units.Size // wire size of the packet as sent
	Inflight units.Size
	RTT      units.Duration
	HasRTT   bool
	LastHop  bool // trimmed at the last hop
	EV       uint16
	CSIG     Signals // fresh ones alone; DoNotUpdate says that the value may be forced
}

// Timeout is a packet given up for lost. It has been taken out of Inflight.
type Timeout struct {
	Size     units.Size
	Inflight units.Size
}

// Path is what a controller may know of its network at construction.
type Path struct {
	LinkRate   units.Rate     // of the sender's link
	NetworkRTT units.Duration // round trip of a full packet and its ACK over the longest path
	// Over an idle path with n switches that round trip is at most HostRTT + n*HopRTT.
	HostRTT, HopRTT units.Duration
	SlowestRate     units.Rate // of the fabric's links
	MTU             units.Size // wire size of a full data packet
	Header          units.Size
	Trim            bool // switches trim instead of dropping
	Credits         bool // receivers grant credit for what is sent (hosts.credits, Needs.Credits)
	// SignalInterval is over which time switches measure ABW and ABW/C; 0 without CSIG.
	SignalInterval units.Duration
}

// Action is one of the ways in which a controller answers an ACK.
type Action struct {
	Name  string // in records and metrics, such as fair_increase
	Label string // in legends, such as fair increase (FI)
	Short string // in bars, such as FI
}

// Constant is a figure that follows from the path and the parameters alone. It
// becomes a metric, and a level in a chart.
type Constant struct {
	Name  string // of the metric, which ends in the unit, such as target_qdelay_us
	Value float64
	Label string // in texts, such as target queueing delay
	Unit  string // in texts, such as µs
	Chart string // ID of the chart that shows the value as a level, in the unit of its lines; "": none
	Short string // of the level, such as target
}

// ChartDelays is the ID of the chart of the delays that controllers were fed, in
// microseconds.
const ChartDelays = "delays"

// Algorithm is an entry of the table.
type Algorithm struct {
	algorithm.Spec
	Actions []Action // what Output.Action can be, in the order of charts
	// Build returns a controller. The reader's parameters are of their kinds and
	// checked; Build calls Fail for one whose value makes no sense on this path.
	Build func(p Path, r *algorithm.Reader) Controller
	// Constants returns the figures that reports show beside the flows; nil without
	// any.
	Constants func(p Path, r *algorithm.Reader) []Constant
	// Windows returns the bounds of Output.Window; nil if the algorithm states none.
	Windows func(p Path, r *algorithm.Reader) Windows
	// Needs returns what the algorithm wants of the transport with these parameters; nil:
	// nothing.
	Needs func(r *algorithm.Reader) Needs
	// Share returns how flows of the algorithm share a link; nil: that is not modelled.
	Share func(r *algorithm.Reader) Share
}

// Windows are the bounds of a controller's window, in wire bytes.
type Windows struct{ Min, Max units.Size }

// ActionNames returns the names of the algorithm's actions, by index.
func (a Algorithm) ActionNames() []string {
	names := make([]string, len(a.Actions))
	for i, action := range a.Actions {
		names[i] = action.Name
	}
	return names
}

// ConstantsOf returns the constants with parameters that New takes.
func (a Algorithm) ConstantsOf(p Path, params algorithm.Values) []Constant {
	if a.Constants == nil {
		return nil
	}
	return a.Constants(p, a.Read(params))
}

// WindowsOf returns the bounds of the window with parameters that New takes. ok is false
// if the algorithm states none.
func (a Algorithm) WindowsOf(p Path, params algorithm.Values) (w Windows, ok bool) {
	if a.Windows == nil {
		return w, false
	}
	return a.Windows(p, a.Read(params)), true
}

// NeedsOf returns what the algorithm wants of the transport with parameters that New takes.
func (a Algorithm) NeedsOf(params algorithm.Values) Needs {
	if a.Needs == nil {
		return Needs{}
	}
	return a.Needs(a.Read(params))
}

// Resolve returns the parameters that New uses with the given ones, see
// algorithm.Resolve.
func (a Algorithm) Resolve(p Path, params algorithm.Values) (algorithm.Values, error) {
	return algorithm.Resolve(a.Spec, params, func(r *algorithm.Reader) { a.Build(p, r) })
}

// New returns a controller with the given parameters. An *algorithm.ParamError
// names the one whose value makes no sense.
func (a Algorithm) New(p Path, params algorithm.Values) (Controller, error) {
	return algorithm.Build(a.Spec, params, func(r *algorithm.Reader) Controller { return a.Build(p, r) })
}

// Maker returns a function that returns what New returns, a new controller at each call,
// for many flows that are alike. The errors are New's.
func (a Algorithm) Maker(p Path, params algorithm.Values) (func() Controller, error) {
	r, err := algorithm.Maker(a.Spec, params, func(r *algorithm.Reader) Controller { return a.Build(p, r) })
	if err != nil {
		return nil, err
	}
	return func() Controller { return a.Build(p, r) }, nil
}

// Table is every algorithm.
var Table = algorithm.Table[Algorithm]{
	nscc,
	rccc,
	constant,
	dctcp,
	swift,
	dcqcn,
	poseidon,
	csigHPCC,
	mltcp,
	csigShare,
}
