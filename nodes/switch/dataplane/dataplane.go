// Package dataplane is the switch machine: it forwards IPv4, queues per egress
// port, marks, trims and drops, and writes its signals into CSIG tags. Raw
// frames it forwards by their MAC address, unchanged but for tag and mark. It is
// driven through package node and touches no network itself.
//
// The files follow a packet. In ingress.go it is received, waits for the switch's delay and
// is forwarded to a queue of its egress port; tags from outside the domain are removed
// first. In queues.go, and for classes in classes.go and pfc.go, it finds no room and is
// trimmed or dropped. In egress.go it is transmitted and marked, and CSIG compares and
// replaces the value of its tag (updateTag); what a port measures for this is in signals.go.
// records.go records samples and totals, fault.go changes rates and sizes while the switch
// runs, and arrivals.go knows the rates of before.
package dataplane

import (
	"errors"
	"fmt"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/fluid"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/nodes/switch/buffer"
	"github.com/csiglab/csiglab/nodes/switch/forward"
	"github.com/csiglab/csiglab/nodes/switch/meter"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Config is all that a switch is built from: plain data.
type Config struct {
	Node    int
	Name    string
	Delay   units.Duration // from the last bit in to the egress queue
	Ports   []Port
	Forward forward.Config
	Sizes   wire.Sizes
	AQM     algorithm.Choice // of aqm.Table, at every port
	Classes *Classes         // nil: one class that may lose packets, at ports that share no memory
	Trim    bool             // trim what does not fit; otherwise drop it
	// AtArrival has marks and depths say what was in the data queue ahead of a packet as it
	// came (DCTCP paper §3.1), and not what it leaves behind. It is for one class.
	AtArrival bool
	CSIG      *CSIG
	// PortDown is what the senders hear of packets for a port that is down.
	PortDown PortDown
	Pairs    []metrics.Pair // of hosts with programs: the flows of raw frames
	Seed     uint64
	Measure  metrics.Span
	Records  units.Duration // telemetry interval
	Traced   metrics.Traced // events to record, where tags end here
	Truth    metrics.TruthChoice
	Resized  []PortSizes // that ports get in Resize and ResizeArrivals
	// Fluid is set where flows of a fluid take a part of the ports' rates (see fluid.Network). It
	// tells the switch of that over a control link, whose port comes behind Ports; nil: there is none.
	Fluid *fluid.Lending
	// Tunnel is set of an end of tunnels; nil of other switches.
	Tunnel *Tunnel
	// Postcards says where samples go, besides into records, where tags end; nil: nowhere.
	Postcards *Postcards
}

// PortCount returns the number of the machine's ports.
func (c *Config) PortCount() int {
	if c.Fluid != nil {
		return len(c.Ports) + 1
	}
	return len(c.Ports)
}

// Port is one port.
type Port struct {
	MAC      [6]byte
	PeerMAC  [6]byte
	Locator  uint16
	Second   *SecondFormat      // of tags of the domain's second format; nil without
	LastHop  bool               // leads to a host
	Policies [csig.Types]Policy // of the tags that leave
	Rate     units.Rate
	Buffer   buffer.Limits
	ECN      aqm.Thresholds
	Ingress  Ingress     // of the tags that come in
	Classes  []PortClass // as Config.Classes.List; nil without
}

// SecondFormat is what a port does to tags of the second format of a domain.
type SecondFormat struct {
	Locator  uint16
	Policies [csig.Types]Policy
}

// CSIG is the switch's part in the domain; a switch without it passes tags on
// untouched.
type CSIG struct {
	Domain csig.Config
	Meter  meter.Mode
	Phase  meter.Phase
	Delay  DelayMode
	// Available is whose available bandwidth tags hold; other than meter.Raw it needs
	// Config.Classes.
	Available meter.Scope
	Depth     meter.DepthMode
	Tau       units.Duration // constant of meter.Drain
	// CountTrimmed has trimmed packets count as used bandwidth.
	CountTrimmed bool
}

// Switch is the machine. Each part of a packet's way has its state here and at each port.
type Switch struct {
	cfg     Config
	pool    *wire.Pool
	sink    metrics.Sink
	domain  *csig.Domain
	ports   []port
	ready   node.PortSet
	classes *classes // nil without
	ingressState
	queueState
	egressState
}

// port begins with what each packet needs, which Touch reads: five cache lines.
type port struct {
	portQueue
	*classPort            // nil without classes
	macs        wire.MACs // of the packets that leave
	record      metrics.PortRecorder
	*Port                // of Config.Ports; a copy once the port has changed, see own
	*signalling          // nil of a switch without CSIG
	mixture     *mixture // nil of a port without a fluid
}

// signalling is what a port has besides with Config.CSIG.
type signalling struct {
	meters
	portIngress
}

// own returns the port's configuration, which is its own from now on and may be changed.
func (out *port) own() *Port {
	own := *out.Port
	out.Port = &own
	return out.Port
}

// New returns the machine of cfg, which draws packets from pool and emits its
// records into sink. An error names the part of the configuration that makes no
// sense.
func New(cfg Config, pool *wire.Pool, sink metrics.Sink) (*Switch, error) {
	s := &Switch{
		cfg:          cfg,
		pool:         pool,
		sink:         sink,
		ports:        make([]port, len(cfg.Ports)),
		ready:        node.NewPortSet(cfg.PortCount()),
		ingressState: ingressState{filter: node.NewPortSet(len(cfg.Ports))},
		egressState:  egressState{samples: map[uint32]*samples{}, pairs: make(map[[2]int]uint32, len(cfg.Pairs))},
	}
	for _, p := range cfg.Pairs {
		s.pairs[[2]int{int(p.Source), int(p.Destination)}] = uint32(p.Flow)
	}
	if err := s.configure(); err != nil {
		return nil, fmt.Errorf("switch %s: %w", cfg.Name, err)
	}
	return s, nil
}

func (s *Switch) configure() (err error) {
	if err = s.configureForwarding(); err != nil {
		return err
	}
	if s.cfg.Classes != nil {
		if s.cfg.AtArrival {
			return errors.New("queues as packets arrive are of one class")
		}
		if err = s.prepareClasses(); err != nil {
			return err
		}
	}
	policy, ok := aqm.Table.Lookup(s.cfg.AQM.Name)
	if !ok {
		return fmt.Errorf("unknown AQM %q", s.cfg.AQM.Name)
	}
	if s.cfg.CSIG != nil {
		if s.domain, err = csig.NewDomain(s.cfg.CSIG.Domain); err != nil {
			return err
		}
		c := s.domain.Config()
		s.tpids = csig.TPIDs{Compact: c.TPIDCompact, Wide: c.TPIDWide}
		signalling := make([]signalling, len(s.ports))
		for i := range s.ports {
			s.ports[i].signalling = &signalling[i]
		}
	}
	for i := range s.ports {
		if err = s.configurePort(i, policy); err != nil {
			return err
		}
	}
	s.configureTunnel()
	s.truth = s.newTruth()
	return nil
}

func (s *Switch) configurePort(i int, policy aqm.Algorithm) error {
	p, out := &s.cfg.Ports[i], &s.ports[i]
	random := node.Random(s.cfg.Seed, s.cfg.Node, node.RandomPort, i)
	marking, err := policy.New(aqm.Port{Rate: p.Rate, Queue: p.Buffer.Data, ECN: p.ECN, Random: random}, s.cfg.AQM.Params)
	if err != nil {
		return fmt.Errorf("aqm %w", err)
	}
	out.Port, out.macs = p, wire.NewMACs(p.PeerMAC, p.MAC)
	out.portQueue = portQueue{buffer: buffer.NewPort(p.Buffer), aqm: marking, line: units.NewSerialiser(p.Rate), random: random}
	var bandwidth metrics.Meter
	if s.domain != nil {
		bandwidth = &out.abw
	}
	out.record = metrics.NewPortRecorder(metrics.PortConfig{Node: s.cfg.Node, Port: i, Records: s.cfg.Records, Measure: s.cfg.Measure, Sink: s.sink, Meter: bandwidth})
	if s.cfg.Classes != nil {
		if err := s.configureClasses(i); err != nil {
			return err
		}
	}
	if s.domain == nil {
		return nil
	}
	out.abw, out.sums = s.newBandwidth(i), s.newSums(i)
	s.newDepths(out)
	s.configureShares(i)
	if err := s.configureIngress(i); err != nil {
		return fmt.Errorf("port %d: %w", i, err)
	}
	return nil
}

// Ready is the set of ports that have something to send.
func (s *Switch) Ready() node.PortSet { return s.ready }

// Touch implements node.Toucher: it reads what the ports that send have at hand and the
// packets that they send next.
func (s *Switch) Touch() (sum int64) {
	for port := range s.ports {
		if !s.ready.Has(port) {
			continue
		}
		out := &s.ports[port]
		sum += int64(out.macs[0]) + out.record.Touch() + out.buffer.Touch()
		if out.classPort != nil {
			sum += out.queues.Touch()
		}
	}
	return sum
}

// Domain returns the switch's CSIG domain, nil without.
func (s *Switch) Domain() *csig.Domain { return s.domain }

// Bandwidth returns the meter of a port as it begins, for a switch with a domain.
func (s *Switch) Bandwidth(port int) meter.Bandwidth { return s.newBandwidth(port) }

// Profile returns that of the switch's CSIG domain.
func (s *Switch) Profile() uint32 { return s.domain.Profile() }
