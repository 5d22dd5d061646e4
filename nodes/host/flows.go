package host

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/units"
)

// index finds a host's flows by their ids. Hosts have few flows, and packets of one flow
// often follow each other.
type index struct {
	ids  []uint32 // ascending
	at   []int32  // ids[i] is that of flow at[i]; nil: of flow i
	last int      // in ids: the one found last
}

// newIndex returns the index of n flows with ids.
func newIndex(n int, id func(i int) int) index {
	x := index{ids: make([]uint32, n)}
	for i := range n {
		x.ids[i] = uint32(id(i))
	}
	if slices.IsSorted(x.ids) {
		return x
	}
	x.at = make([]int32, n)
	for i := range x.at {
		x.at[i] = int32(i)
	}
	slices.SortFunc(x.at, func(a, b int32) int { return id(int(a)) - id(int(b)) })
	slices.Sort(x.ids)
	return x
}

// find returns which flow has an id, -1 if none has.
func (x *index) find(id uint32) int {
	i := x.last
	if i >= len(x.ids) || x.ids[i] != id {
		var ok bool
		if i, ok = slices.BinarySearch(x.ids, id); !ok {
			return -1
		}
		x.last = i
	}
	if x.at != nil {
		return int(x.at[i])
	}
	return i
}

// maker makes controllers and balancers of flows.
type maker struct {
	controller func() congestion.Controller
	balancer   func(balance.Flow) balance.Balancer
	actions    []string // names of the controllers' actions
	bounds     transport.Bounds
	needs      congestion.Needs
}

// prepare sets up the maker of a host's flows. An error names what makes no sense.
func (m *maker) prepare(cfg *Config) (err error) {
	cc, ok := congestion.Table.Lookup(cfg.CC.Name)
	if !ok {
		return fmt.Errorf("unknown congestion control %q", cfg.CC.Name)
	}
	if err := cc.Check(cfg.CC.Params); err != nil {
		return err
	}
	m.needs = cc.NeedsOf(cfg.CC.Params)
	if len(cfg.Sends) == 0 {
		return nil
	}
	if m.controller, err = cc.Maker(cfg.Path, cfg.CC.Params); err != nil {
		return err
	}
	for i := range cfg.Sends {
		if own := cfg.Sends[i].CC; own != nil {
			if err := checkOwn(cc, cfg, own); err != nil {
				return err
			}
		}
	}
	m.actions = cc.ActionNames()
	windows, ok := cc.WindowsOf(cfg.Path, cfg.CC.Params)
	if !ok || cc.Module == "" {
		windows = congestion.Windows{Max: math.MaxInt64}
	}
	m.bounds = transport.NewBounds(&cc, windows)
	lb, ok := balance.Table.Lookup(cfg.LB.Name)
	if !ok {
		return fmt.Errorf("unknown load balancer %q", cfg.LB.Name)
	}
	m.balancer, err = lb.Maker(BalanceFlow(cfg.Path, cfg.CSIG), cfg.LB.Params)
	return err
}

// checkOwn checks the congestion control of a flow that has its own.
func checkOwn(cc congestion.Algorithm, cfg *Config, own *algorithm.Choice) error {
	if own.Name != cfg.CC.Name {
		return fmt.Errorf("congestion control %s in a host of %s", own.Name, cfg.CC.Name)
	}
	if _, err := cc.New(cfg.Path, own.Params); err != nil {
		return err
	}
	if cc.NeedsOf(own.Params) != cc.NeedsOf(cfg.CC.Params) {
		return fmt.Errorf("congestion control %s: parameters that receivers depend on differ between flows", own.Name)
	}
	return nil
}

// newController returns the controller of a flow that this host sends.
func (h *Host) newController(f *Flow) congestion.Controller {
	if f.CC == nil {
		return h.maker.controller()
	}
	cc, _ := congestion.Table.Lookup(f.CC.Name)
	controller, err := cc.New(h.cfg.Path, f.CC.Params)
	if err != nil {
		panic("host: " + err.Error()) // prepare has checked it
	}
	return controller
}

// BalanceFlow returns what balancers know of every flow that is sent over a path. The
// number of the flow and its generator are the caller's to fill in. c is nil without CSIG.
func BalanceFlow(p congestion.Path, c *csig.Config) balance.Flow {
	f := balance.Flow{NetworkRTT: p.NetworkRTT, MTU: p.MTU, Trim: p.Trim}
	if c != nil {
		f.Interval = c.Interval
	}
	return f
}

// size returns the payload bytes of a transfer, 0 of a connection.
func (f *End) size() units.Size {
	if f.Connection {
		return 0
	}
	return f.Size
}

// sender returns the flow with an id that this host sends, nil if it has none. The flow
// gets its state when it is asked for the first time.
func (h *Host) sender(id uint32) *flow {
	i := h.senders.find(id)
	if i < 0 {
		return nil
	}
	f := &h.flows[i]
	if f.Sender == nil {
		f.Sender = h.newSender(&h.cfg.Sends[i])
	}
	return f
}

// receiver is sender of a flow that this host receives.
func (h *Host) receiver(id uint32) *transport.Receiver {
	i := h.arrivals.find(id)
	if i < 0 {
		return nil
	}
	if h.receivers[i] == nil {
		h.receivers[i] = h.newReceiver(&h.cfg.Receives[i])
	}
	return h.receivers[i]
}

func (h *Host) ends(f *End) transport.Ends {
	return transport.Ends{LocalIP: h.cfg.IP, RemoteIP: f.Peer, LocalMAC: h.cfg.MAC, RemoteMAC: h.cfg.NextHopMAC}
}

// shared returns what all flows of the host have in common.
func (h *Host) shared() *transport.Common {
	if h.common == nil {
		c := h.cfg
		var sleek *transport.SleekTerms
		if c.Recovery == transport.Sleek {
			sleek = transport.NewSleekTerms(c.Rate, c.Path.NetworkRTT, c.Path.Trim)
		}
		h.common = &transport.Common{
			MTU: c.MTU, Sizes: c.Sizes, RTO: c.RTO, AckEvery: c.AckEvery, Recovery: c.Recovery, Credit: h.terms(), Sleek: sleek, Measure: c.Measure, Records: c.Records,
			Domain: h.domain, GiveUp: c.GiveUp, LastHops: c.LastHops, Place: c.Place, Actions: h.maker.actions, Needs: h.maker.needs, Sink: h.sink, Traced: c.Traced, Truth: c.Truth, Bounds: h.maker.bounds,
		}
	}
	return h.common
}

// terms returns the terms of receiver credits, nil without any.
func (h *Host) terms() *transport.CreditTerms {
	if c := h.cfg; c.Credits || h.maker.needs.Credits {
		return transport.NewCreditTerms(c.Rate, c.Path.NetworkRTT, c.MTU, c.Sizes.Header)
	}
	return nil
}

func (h *Host) newSender(f *Flow) *transport.Sender {
	balanced := BalanceFlow(h.cfg.Path, h.cfg.CSIG)
	balanced.ID, balanced.Random = uint32(f.ID), h.random(node.RandomBalance, &f.End)
	cfg := transport.SenderConfig{
		Common:  h.shared(),
		Flow:    uint32(f.ID),
		Ends:    h.ends(&f.End),
		Size:    f.size(),
		Stop:    f.Stop,
		CC:      h.newController(f),
		LB:      h.maker.balancer(balanced),
		Tagging: h.cfg.TaggingOf(f),
		DSCP:    h.dscpOf(f),
	}
	if f.Paths != nil {
		cfg.Paths = *f.Paths
	}
	if h.domain != nil {
		cfg.Types = h.random(node.RandomSignals, &f.End)
		if cfg.Tagging.Draws() {
			cfg.Random = h.random(node.RandomTagging, &f.End)
		}
	}
	return transport.NewSender(cfg)
}

func (h *Host) random(purpose node.Purpose, f *End) *rand.Rand {
	return node.Random(h.cfg.Seed, h.cfg.Node, purpose, f.ID)
}

func (h *Host) newReceiver(f *End) *transport.Receiver {
	return transport.NewReceiver(transport.ReceiverConfig{
		Common:  h.shared(),
		Flow:    uint32(f.ID),
		Ends:    h.ends(f),
		Packets: transport.Packets(f.size(), h.cfg.MTU, h.cfg.Sizes.Header),
		Stops:   f.Stop > 0,
	})
}

// closeSender closes flow i of those that this host sends and returns its totals.
func (h *Host) closeSender(i int, end units.Time) metrics.SenderTotals {
	if s := h.flows[i].Sender; s != nil {
		return s.Close(end)
	}
	out := h.newController(&h.cfg.Sends[i]).Output() // as that of every flow at its start
	return metrics.SenderTotals{
		Flow: int32(h.cfg.Sends[i].ID), Start: units.Never, Done: units.Never, BaseRTT: out.BaseRTT, Cwnd: int64(out.Window),
	}
}

// closeReceiver closes flow i of those that this host receives and returns its totals.
func (h *Host) closeReceiver(i int) metrics.ReceiverTotals {
	if r := h.receivers[i]; r != nil {
		return r.Close()
	}
	return metrics.ReceiverTotals{Flow: int32(h.cfg.Receives[i].ID), Done: units.Never}
}

// SetRate gives the NIC another rate from now on.
func (h *Host) SetRate(_ units.Time, port int, rate units.Rate) {
	if port == NIC {
		h.nic = units.NewSerialiser(rate)
	}
}

// SetArrivalRate says at which rate data comes in from now on: credits are for no more.
func (h *Host) SetArrivalRate(_ units.Time, port int, rate units.Rate) {
	if port == NIC && h.puller != nil {
		h.puller.SetRate(rate)
	}
}

// newDomain returns the CSIG domain of a host. An error names a flow whose tags are of a
// format that the domain does not have.
func newDomain(cfg *Config) (*csig.Domain, error) {
	d, err := csig.NewDomain(*cfg.CSIG)
	if err != nil {
		return nil, err
	}
	for i := range cfg.Sends {
		if format := cfg.TaggingOf(&cfg.Sends[i]).Format; d.In(format) == nil {
			return nil, fmt.Errorf("flow %d: tags of format %v, which the domain does not have", cfg.Sends[i].ID, format)
		}
	}
	return d, nil
}
