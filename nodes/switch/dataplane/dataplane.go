// Package dataplane is the switch machine: it forwards IPv4, queues per egress
// port, marks, trims and drops, and writes its signals into CSIG tags. Raw
// frames it forwards by their MAC address, unchanged but for tag and mark. It is
// driven through package node and touches no network itself.
//
// A packet's way: Receive -> (switch delay) -> forward -> data or control queue
// of the egress port -> Transmit, where ECN and CSIG are decided.
package dataplane

import (
	"fmt"
	"math/rand/v2"

	"github.com/csiglab/csiglab/internal/fifo"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
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
	CSIG    *CSIG
	// PortDown is what the senders hear of packets for a port that is down.
	PortDown PortDown
	Pairs    []metrics.Pair // of hosts with programs: the flows of raw frames
	Seed     uint64
	Measure  metrics.Span
	Records  units.Duration // telemetry interval
	Traced   metrics.Traced // events to record, where tags end here
	Truth    metrics.TruthChoice
	Resized  []PortSizes // that ports get in Resize and ResizeArrivals
	// Postcards says where samples go, besides into records, where tags end; nil: nowhere.
	Postcards *Postcards
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

// Switch is the machine.
type Switch struct {
	cfg      Config
	pool     *wire.Pool
	sink     metrics.Sink
	ecmp     forward.ECMP
	policy   forward.Policy   // nil: ecmp alone forwards
	weighted forward.Weighted // policy, if its weights may change
	domain   *csig.Domain
	tpids    csig.TPIDs
	ports    []port
	ready    node.PortSet
	filter   node.PortSet // ports at which tags that come in may be removed or put on

	classes  *classes  // nil without
	arrivals *arrivals // nil while no rate has changed
	resized  []int     // which sizes each port has, see Resize; nil: their own

	pipeline fifo.Queue[inPipeline] // packets within Delay, in order

	drops   [dropReasons]int64
	made    int64 // packets that the switch made and forwarded
	tags    [tagOutcomes]int64
	samples map[uint32]*samples // of Terminate, by flow
	inputs  csig.Inputs         // of the signal of a module that is asked for
	truth   *truth              // nil: it is not recorded
	pairs   map[[2]int]uint32   // flows of raw frames, by source and destination
	taken   int64               // packets for the switch itself

	postcards int64      // of made
	nextCard  units.Time // when the next one may be sent
}

// port begins with what each packet needs, which Touch reads.
type port struct {
	buffer     buffer.Port
	aqm        aqm.Policy
	line       units.Serialiser
	random     *rand.Rand
	*classPort // nil without classes
	Port
	record metrics.PortRecorder
	abw    meter.Bandwidth
	depth  meter.Depth
	sums   *meter.Sums // nil: no module has registered a signal

	edge    bool         // some tags that come in are removed
	initial *csig.Domain // of the tags that are put on
	sampler csig.Sampler
	turn    int // index in Ingress.Signals of the next tag that is put on
}

// New returns the machine of cfg, which draws packets from pool and emits its
// records into sink. An error names the part of the configuration that makes no
// sense.
func New(cfg Config, pool *wire.Pool, sink metrics.Sink) (*Switch, error) {
	s := &Switch{
		cfg:     cfg,
		pool:    pool,
		sink:    sink,
		ports:   make([]port, len(cfg.Ports)),
		ready:   node.NewPortSet(len(cfg.Ports)),
		filter:  node.NewPortSet(len(cfg.Ports)),
		samples: map[uint32]*samples{},
		pairs:   make(map[[2]int]uint32, len(cfg.Pairs)),
	}
	for _, p := range cfg.Pairs {
		s.pairs[[2]int{int(p.Source), int(p.Destination)}] = uint32(p.Flow)
	}
	if err := s.configureForwarding(); err != nil {
		return nil, fmt.Errorf("switch %s: %w", cfg.Name, err)
	}
	if cfg.Classes != nil {
		if err := s.prepareClasses(); err != nil {
			return nil, fmt.Errorf("switch %s: %w", cfg.Name, err)
		}
	}
	policy, ok := aqm.Table.Lookup(cfg.AQM.Name)
	if !ok {
		return nil, fmt.Errorf("switch %s: unknown AQM %q", cfg.Name, cfg.AQM.Name)
	}
	if cfg.CSIG != nil {
		var err error
		if s.domain, err = csig.NewDomain(cfg.CSIG.Domain); err != nil {
			return nil, fmt.Errorf("switch %s: %w", cfg.Name, err)
		}
		c := s.domain.Config()
		s.tpids = csig.TPIDs{Compact: c.TPIDCompact, Wide: c.TPIDWide}
	}
	for i, p := range cfg.Ports {
		random := node.Random(cfg.Seed, cfg.Node, node.RandomPort, i)
		marking, err := policy.New(aqm.Port{Rate: p.Rate, Queue: p.Buffer.Data, ECN: p.ECN, Random: random}, cfg.AQM.Params)
		if err != nil {
			return nil, fmt.Errorf("switch %s: aqm %w", cfg.Name, err)
		}
		var bandwidth metrics.Meter
		if s.domain != nil {
			bandwidth = &s.ports[i].abw
		}
		s.ports[i] = port{
			Port:   p,
			buffer: buffer.NewPort(p.Buffer),
			line:   units.NewSerialiser(p.Rate),
			random: random,
			aqm:    marking,
			record: metrics.NewPortRecorder(metrics.PortConfig{Node: cfg.Node, Port: i, Records: cfg.Records, Measure: cfg.Measure, Sink: sink, Meter: bandwidth}),
		}
		if cfg.Classes != nil {
			if err := s.configureClasses(i); err != nil {
				return nil, fmt.Errorf("switch %s: %w", cfg.Name, err)
			}
		}
		if s.domain != nil {
			s.ports[i].abw, s.ports[i].sums = s.newBandwidth(i), s.newSums(i)
			s.configureShares(i)
			s.ports[i].depth = meter.NewDepth(cfg.CSIG.Depth, p.Buffer.Data, p.Rate, cfg.CSIG.Tau)
			if err := s.configureIngress(i); err != nil {
				return nil, fmt.Errorf("switch %s: port %d: %w", cfg.Name, i, err)
			}
		}
	}
	s.truth = s.newTruth()
	return s, nil
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
		sum += int64(out.Locator) + out.record.Touch() + out.buffer.Touch()
		if out.classPort != nil {
			sum += out.queues.Touch()
		}
	}
	return sum
}

// Profile returns that of the switch's CSIG domain.
func (s *Switch) Profile() uint32 { return s.domain.Profile() }
