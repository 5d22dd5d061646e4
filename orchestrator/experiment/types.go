// Package experiment reads experiment files: strict YAML in, a resolved Experiment
// out. It knows the keys with their units, defaults and ranges, and it builds the
// topology and the workload that they describe. It deploys nothing and runs
// nothing. Every error names file, line and column. Commands load experiments, the
// orchestrator compiles them.
package experiment

import (
	"fmt"
	"math"
	"strconv"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/switch/meter"
	"github.com/csiglab/csiglab/units"
)

// Schema is the version of the file format that this package reads.
const Schema = 1

// Experiment is one resolved experiment: every default filled in, every unit
// parsed. Field names in YAML are given in backquotes.
type Experiment struct {
	Schema      int      `yaml:"schema"`
	Name        string   `yaml:"name"` // [a-z0-9-]+
	Description string   `yaml:"description"`
	Topology    Topology `yaml:"topology"`
	Links       Links    `yaml:"links"`
	Classes     []Class  `yaml:"classes"` // data classes; none: one, which may lose packets
	// Routing is how switches choose among the paths to a host.
	Routing  Algorithm `yaml:"routing"` // default ecmp
	CSIG     CSIG      `yaml:"csig"`
	Hosts    Hosts     `yaml:"hosts"`
	Workload Workload  `yaml:"workload"`
	Jobs     []Job     `yaml:"jobs"` // training jobs, beside the workload or instead of it
	// Applications are programs over the kernel's TCP/IP; nil without.
	Applications *Applications  `yaml:"applications"`
	Generators   []Generator    `yaml:"generators"` // raw frames that hosts send in place of the transport
	Faults       []Fault        `yaml:"faults"`     // what fails in the fabric, and when
	Telemetry    Telemetry      `yaml:"telemetry"`
	Trace        *Trace         `yaml:"trace"`   // flows whose events are recorded one by one; nil: none
	Capture      []string       `yaml:"capture"` // links whose packets are written as pcapng, such as tor0-agg0
	Measure      Measure        `yaml:"measure"`
	End          units.Duration `yaml:"end"`       // the run ends here, exclusive; 0 = when all is done
	Variants     []Variant      `yaml:"variants"`  // at least one after resolution ("run" by default)
	Sweep        *Sweep         `yaml:"sweep"`     // of the base alone; nil: one point. Marshal leaves it out
	Seeds        []uint64       `yaml:"seeds"`     // default 1
	TieSeed      uint64         `yaml:"tie_seed"`  // 0: receives of one instant in port order
	Derived      []Derived      `yaml:"derived"`   // metrics computed from metrics, in order
	Expect       []string       `yaml:"expect"`    // assertions over medians: baseline.fairness_ratio > 3.7
	Robust       []Promise      `yaml:"robust"`    // which expectations hold under which other settings
	Published    []Published    `yaml:"published"` // figures to compare with in the report
	Runtime      string         `yaml:"runtime"`   // see package runtimes
	Clock        string         `yaml:"clock"`     // see package runtimes
	Wall         Wall           `yaml:"wall"`      // of clock wall
}

// Wall is the wall clock's dilation, and how far from real time a run may be.
type Wall struct {
	Dilation int    `yaml:"dilation"` // wall seconds per model second; 0 or "auto": the least that this machine keeps
	Budget   Budget `yaml:"budget"`
}

// Budget is the limits of a run in real time. A run that exceeds one of them is
// invalid. Values are shares: 0.05 is 5 %.
type Budget struct {
	Lateness  float64 `yaml:"lateness"`  // 99th percentile, of the smallest delay; default 0.25
	Displaced float64 `yaml:"displaced"` // packets that arrived after their model time; default 0.01
	Rate      float64 `yaml:"rate"`      // difference of a busy link from its rate; default 0.05
	Underlay  float64 `yaml:"underlay"`  // what lies between two machines, of the smallest delay of a link that is cut there; default 0.5
}

// Links are the queues and sizes of every link.
type Links struct {
	MTU          units.Size `yaml:"mtu"`           // wire size of a full data packet, header included; default 4150B
	Header       units.Size `yaml:"header"`        // wire size charged for headers, and of ACK, NACK and trimmed packets; default 64B
	Queue        units.Size `yaml:"queue"`         // data queue of a switch port; 0 or "auto": 1 BDP with trimming, 5 without
	ControlQueue units.Size `yaml:"control_queue"` // 0 or "auto": twice the data queue
	Trim         bool       `yaml:"trim"`          // default true
	// TrimThreshold is from which data queue on packets are trimmed; 0 or "auto": Queue.
	// Packets that cannot be trimmed have Queue. LastHopTrim is how many times that it is
	// at ports that lead to hosts; default 1.
	TrimThreshold units.Size `yaml:"trim_threshold"`
	LastHopTrim   float64    `yaml:"last_hop_trim"`
	Buffer        Buffer     `yaml:"buffer"`
	PFC           PFC        `yaml:"pfc"`

	AQM      Algorithm  `yaml:"aqm"` // default linear; not used unless ECN is enabled
	ECN      ECN        `yaml:"ecn"`
	CountTag bool       `yaml:"count_tag"` // charge the CSIG tag's bytes; default false
	Overhead units.Size `yaml:"overhead"`  // what each packet takes on the line beyond its size, such as 24B; default 0B
}

// MaxTransfer returns the size of the largest transfer that sequence numbers of
// 32 bits can number: one per packet, of MTU less header.
func (l Links) MaxTransfer() units.Size { return (1<<32 - 2) * (l.MTU - l.Header) }

// ECN says whether switch ports mark, and the thresholds of AQM policies that
// have none of their own. Policy linear marks no packet at or below Low, every
// one at or above High.
type ECN struct {
	Enabled bool       `yaml:"enabled"` // default true
	Low     units.Size `yaml:"low"`     // 0 or "auto": 0.2 BDP
	High    units.Size `yaml:"high"`    // 0 or "auto": 0.8 BDP
}

// CSIG is the domain's configuration. Names are those that the packages csig, meter
// and dataplane read.
type CSIG struct {
	Format       string              `yaml:"format"` // see csig.Format
	Dialect      csig.Dialect        `yaml:"dialect"`
	TPIDCompact  uint16              `yaml:"tpid_compact"`
	TPIDWide     uint16              `yaml:"tpid_wide"`
	Locators     Locators            `yaml:"locators"`      // how switch ports get their locators
	Signal       string              `yaml:"signal"`        // type that hosts ask for unless CC or LB choose; see csig.Type
	Interval     units.Duration      `yaml:"interval"`      // ABW window t; default 128us
	Meter        meter.Mode          `yaml:"meter"`         // the window of ABW
	Phase        meter.Phase         `yaml:"phase"`         // where the windows of ABW begin
	CountTrimmed bool                `yaml:"count_trimmed"` // trimmed packets count as used bandwidth; default false
	ABW          meter.Scope         `yaml:"abw"`           // whose available bandwidth tags hold
	OverrideD    []string            `yaml:"override_d"`    // signal types that hops update in spite of the D bit
	Delay        dataplane.DelayMode `yaml:"delay"`
	NQD          meter.DepthMode     `yaml:"nqd"`
	Quantisers   map[string]string   `yaml:"quantisers"` // signal type -> table name of package csig, for the chosen format
	Decode       csig.DecodeMode     `yaml:"decode"`
	TrimRule     csig.TrimRule       `yaml:"trim_rule"`
	Init         string              `yaml:"init"`    // as csig.ParseSampling, or "probe/TIME" (probes of each sending flow)
	MaxAge       units.Duration      `yaml:"max_age"` // of a sample of delay or queue depth; 0 or "auto": twice the last RTT
	PortDown     dataplane.PortDown  `yaml:"port_down"`
	Second       *CSIGSecond         `yaml:"second"`    // tags of the format that Format is not; nil: there are none
	Policies     []CSIGPolicy        `yaml:"policies"`  // exceptions from Init, Signal and Format, later wins
	Ports        []CSIGPort          `yaml:"ports"`     // exceptions from "update" at every egress port, later wins
	Collector    *Collector          `yaml:"collector"` // to whom samples are sent where tags end; nil: to nobody
}

// Locators is how switch ports get their locators. In YAML it is the name of a scheme,
// or a mapping with the key scheme.
type Locators struct {
	Scheme string         `yaml:"scheme"` // see csig.SchemeKind
	Widths *LocatorWidths `yaml:"widths"` // of scheme structured; nil: see csig.LocatorConfig
	Labels []LocatorLabel `yaml:"labels"` // of scheme registry; none: ports are numbered in the order of switches and ports
}

// LocatorWidths are the bits of the fields of a structured locator, the most
// significant first. Their sum is the locator's length.
type LocatorWidths struct {
	Tier      int `yaml:"tier"`
	Direction int `yaml:"direction"`
	Switch    int `yaml:"switch"`
	Port      int `yaml:"port"`
}

// LocatorLabel gives a switch port its locator.
type LocatorLabel struct {
	Locator int    `yaml:"locator"` // from 1
	Switch  string `yaml:"switch"`  // name of the node
	Port    int    `yaml:"port"`    // from 0
}

// Collector is a host to which switches send samples of tags that end at their ports, as
// packets.
type Collector struct {
	Host     int            `yaml:"host"`
	Interval units.Duration `yaml:"interval"` // at most one in it, of each flow and signal at a switch; default 100us
	Loop     string         `yaml:"loop"`     // what it does with them; see Loops. Default none
	Period   units.Duration `yaml:"period"`   // of the loop; default 500us
}

// Loops returns the values of Collector.Loop: a collector only counts, or sets the weights
// of routing wcmp by available bandwidth.
func Loops() []string { return []string{"none", "abw"} }

// CSIGPort says what some switch ports do to tags: those that Switch, Tier, Port and To
// together select.
type CSIGPort struct {
	Switch  string   `yaml:"switch"`  // node name or pattern with *, such as tor* or agg0; default *
	Tier    string   `yaml:"tier"`    // tor, agg or core; "": any
	Port    int      `yaml:"port"`    // -1 or "all": every port
	To      string   `yaml:"to"`      // host or switch; "": any
	Type    string   `yaml:"type"`    // signal type or "all", for Policy
	Format  string   `yaml:"format"`  // compact or wide, for Policy and Init; "all": both, and for Init CSIG.Format
	Policy  string   `yaml:"policy"`  // of tags that leave; see dataplane.Policy; "": as before
	Outside *bool    `yaml:"outside"` // the peer is outside the domain; nil: as Policy says
	Init    string   `yaml:"init"`    // frames that come in without a tag and get one; see csig.ParseSampling; "": as before
	Signals []string `yaml:"signals"` // types of these tags in turn; empty: CSIG.Signal
}

// newCSIGPort returns an item of csig.ports with the defaults that are not empty.
func newCSIGPort() CSIGPort { return CSIGPort{Switch: "*", Port: -1, Type: "all", Format: allFormats} }

// Hosts is the transport with its CC and LB.
type Hosts struct {
	CC       Algorithm          `yaml:"cc"`        // default nscc
	LB       Algorithm          `yaml:"lb"`        // default mixed
	AckEvery units.Size         `yaml:"ack_every"` // accepted bytes between coalesced ACKs; default 16384B
	Credits  bool               `yaml:"credits"`   // receivers grant credit (RCCC) beside the CC; cc rccc has it anyway
	Recovery transport.Recovery `yaml:"recovery"`  // what a flow does about losses; default selective
	// TrimPlace says how a sender knows whether a packet was trimmed at the last hop.
	TrimPlace transport.TrimPlace `yaml:"trim_place"`
	MinRTO    units.Duration      `yaml:"min_rto"` // 0 or "auto": 15us + 6 queues
	// Policies change parameters of CC for some transfers; of two for one the later wins.
	Policies []HostPolicy `yaml:"policies"`
}

// Algorithm names an algorithm of a table and sets its parameters, each a text
// that is checked against the table. In YAML it is a name, or a mapping with the
// key name and one key per parameter, which are those that the table declares.
type Algorithm = algorithm.Choice

// Applications are hosts that run programs, unmodified and over the kernel's
// TCP/IP, beside the transport or instead of it.
type Applications struct {
	Hosts    []int      `yaml:"hosts"`    // numbers of hosts, which transfers may use too
	Signals  []string   `yaml:"signals"`  // signal types that tags ask for, packet by packet in turn; empty: CSIG.Signal
	Queue    units.Size `yaml:"queue"`    // of a host towards the fabric; 0 or "auto": the data queue of a switch port of its link's rate
	MTU      units.Size `yaml:"mtu"`      // of the programs' interface, IP header included; default 1500B
	Image    string     `yaml:"image"`    // runtime containerlab: image of the container that programs run in; "": the host's files
	Programs []Program  `yaml:"programs"` // started in the order of their start
}

// Program is a command that a host runs.
type Program struct {
	Host       int            `yaml:"host"`
	Run        string         `yaml:"run"` // command line; see Args
	Start      units.Duration `yaml:"start"`
	Background bool           `yaml:"background"` // the run does not wait for its end
}

// Generator is raw frames that a host sends to another, in even steps. The host has no
// transport.
type Generator struct {
	Host  int            `yaml:"host"`
	To    int            `yaml:"to"`
	Size  units.Size     `yaml:"size"`  // on the wire without the stack, check sequence included; default 1500B
	Count int            `yaml:"count"` // 0 or "auto": without end
	Start units.Duration `yaml:"start"`
	Every units.Duration `yaml:"every"` // from one frame to the next; 0 or "auto": by rate
	Rate  units.Rate     `yaml:"rate"`  // mean wire rate; 0 or "auto": by every
	Stack string         `yaml:"stack"` // tags in front of the network layer; see generator.ParseStack
	DSCP  int            `yaml:"dscp"`
	Paths int            `yaml:"paths"` // UDP source ports in turn; default 1
}

// Telemetry is what is recorded.
type Telemetry struct {
	Interval units.Duration `yaml:"interval"` // of the windows; default 100us; 0 or "auto": a few hundred windows of the predicted run
	// TraceHash is full, every packet in and out of every node enters the trace hash, or
	// none, which clock virtual alone has: no trace hash.
	TraceHash string `yaml:"trace_hash"`
	// Operations says which operations of jobs the tables keep, as ParseOperations.
	Operations string `yaml:"operations"`
	// Truth has one of so many tagged data packets recorded with the exact values of the hops
	// beside its sample; 0: none.
	Truth int `yaml:"truth"`
}

// Values of Telemetry.TraceHash.
const (
	traceHashFull = "full"
	traceHashNone = "none"
)

// Values of Telemetry.Operations beside a number of steps.
const (
	operationsAuto = "auto"
	operationsAll  = "all"
	operationsNone = "none"
)

// ParseOperations reads telemetry.operations: from the first one so many steps of each job,
// and the last one. For auto it returns -1, for all math.MaxInt32, for none 0.
func ParseOperations(text string) (steps int, err error) {
	switch text {
	case operationsAuto:
		return -1, nil
	case operationsAll:
		return math.MaxInt32, nil
	case operationsNone:
		return 0, nil
	}
	steps, err = strconv.Atoi(text)
	if err != nil || steps < 1 || steps > math.MaxInt32 {
		return 0, fmt.Errorf("%q: want %s, %s, %s or a number of steps from 1", text, operationsAuto, operationsAll, operationsNone)
	}
	return steps, nil
}

// Untraced reports whether runs have no trace hash.
func (t Telemetry) Untraced() bool { return t.TraceHash == traceHashNone }

// Trace is the flows that are traced: their events are recorded one by one.
type Trace struct {
	// Flows are names of flows, patterns with *, numbers, or ranges of numbers such as
	// 0..9 (see ParseFlowNumbers). Empty: none.
	Flows  []string `yaml:"flows"`
	Events []string `yaml:"events"` // kinds, see metrics.EventNames; default: all
}

// Measure is the measuring window, a span of model time, and the groups of flows that
// metrics are computed over.
type Measure struct {
	From units.Duration `yaml:"from"`
	To   units.Duration `yaml:"to"` // 0: the end of the run
	// Groups are names of flows, patterns and numbers, as in Trace.Flows, by the name of
	// the group.
	Groups map[string][]string `yaml:"groups"`
}

// Variant is a named set of overrides: dotted path -> YAML value, applied to
// the file before it is resolved.
type Variant struct {
	Name string
	Set  map[string]any
}

// Derived is a metric computed from a variant's metrics, such as
// fairness_ratio.
type Derived struct {
	Name string `yaml:"name"`
	Expr string `yaml:"expr"`
}

// Published is a figure from a publication to compare a metric with.
type Published struct {
	Variant string  `yaml:"variant"`
	Metric  string  `yaml:"metric"`
	Value   float64 `yaml:"value"`
	Low     float64 `yaml:"low"` // the band in which the median is called reproduced
	High    float64 `yaml:"high"`
	Source  string  `yaml:"source"`
	Note    string  `yaml:"note"` // the known cause when the median lies outside
}
