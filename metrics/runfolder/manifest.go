package runfolder

import (
	"fmt"
	"time"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
)

// Versions of the folder's files that this package writes and reads. Schema is
// that of manifest.json and the tables; 2 has a variant's actions and constants,
// and the column actions in cc.parquet; 3 names ports and hosts in the tables, and has
// text in the column type of signals.parquet. Open reads no other schema.
const (
	Schema        = 3
	SummarySchema = 1
)

// Module is a Go module that csiglab build has compiled in.
type Module struct {
	Path      string   `json:"path"`
	Version   string   `json:"version,omitempty"` // empty: a folder
	Sum       string   `json:"sum"`               // of its source files: h1: and a SHA-256 in base64
	Registers []string `json:"registers"`         // the table of csiglab list and the name, such as cc worst-hop
}

// ModuleSignal is a type of CSIG signal that a module has registered.
type ModuleSignal struct {
	Name  string  `json:"name"`
	Doc   string  `json:"doc"`
	Unit  string  `json:"unit"`            // of the values in the tables: B, B/s, ppm or ns; empty: a count
	Least bool    `json:"least,omitempty"` // switches keep the smallest value
	Heavy float64 `json:"heavy"`           // from which on a port counts as heavily loaded
}

// Manifest says what was run, where and how; it is manifest.json. Times of the
// model are in microseconds, as in the tables. The writer fills in Schema,
// Complete, Reason, Finished, Runs, Tables, Files and Digest.
type Manifest struct {
	Schema   int    `json:"schema" doc:"3, see [Schemas](#schemas)"`
	Complete bool   `json:"complete" doc:"false until everything else is written"`
	Reason   string `json:"reason,omitempty" doc:"why it is not complete"`

	Name        string    `json:"name" doc:"of the experiment"`
	Description string    `json:"description,omitempty" doc:"of the experiment"`
	Version     string    `json:"version" doc:"of csiglab"`
	GoVersion   string    `json:"goVersion" doc:"that built it"`
	Modules     []Module  `json:"modules,omitempty" doc:"Go modules that 'csiglab build' has compiled in: 'path', 'version', 'sum' of the source, 'registers'"`
	Machine     Machine   `json:"machine" doc:"CPU, cores, kernel"`
	Command     []string  `json:"command" doc:"the command line, program first"`
	Runtime     string    `json:"runtime" doc:"inproc, netns, containerlab or kubernetes"`
	Clock       string    `json:"clock" doc:"virtual, lockstep or wall"`
	Dilation    float64   `json:"dilation" doc:"wall seconds per model second; 0: there is no such ratio"`
	Started     time.Time `json:"started" doc:"UTC"`
	Finished    time.Time `json:"finished,omitzero" doc:"UTC"`

	IntervalUS float64 `json:"intervalUs" doc:"length of a telemetry window"`
	Measure    Window  `json:"measure" doc:"the measuring window, in us; 'toUs' 0: to the end"`

	Signals       []string       `json:"signals" doc:"names of the types of CSIG signal, by their number in tags"`
	ModuleSignals []ModuleSignal `json:"moduleSignals,omitempty" doc:"types of modules: 'name', 'doc', 'unit' of the values in tables, 'least', 'heavy'"`
	Nodes         []Node         `json:"nodes" doc:"number, name and kind of each node; 'foreign': tables have no windows of it, as it is [none of csiglab's](../how-to/foreign.md) or [in the kernel](../explanation/wall.md#switches-in-the-kernel)"`
	Ports         []Port         `json:"ports" doc:"both ends of each link, its rate and name, and the port's name, tier and direction"`
	Flows         []Flow         `json:"flows" doc:"number, name, hosts and size of each flow; of a connection of a job its 'messages', ranks and 'channel' too"`
	Jobs          []Job          `json:"jobs,omitempty" doc:"of each job hosts by rank, steps, phases and collectives; what [operations.parquet](telemetry.md#operationsparquet) has ('firstSteps', 'messages'); jobs with shared ports ('shares'); the 'prediction'"`
	Variants      []Variant      `json:"variants" doc:"in the order of the experiment: CC with 'actions' and 'constants', LB, AQM, CSIG format, MTU, [notes](#notes), [locators](#locators), the switches without CSIG ('silent'), 'tunnels', [parameters](#parameters)"`

	Published    []Published      `json:"published,omitempty" doc:"figures to compare with"`
	Expectations []string         `json:"expectations,omitempty" doc:"as the experiment states them"`
	Runs         []Run            `json:"runs" doc:"by variant, then seed: hashes, checks, reasons, wall and CPU seconds, [fidelity](#fidelity), [cut](#cut), programs, faults, notes"`
	Tables       map[string]int64 `json:"tables,omitempty" doc:"rows of each table"`
	// Missing are the runs that an incomplete folder lacks, by variant in the order of
	// Variants. A folder that was killed lists all runs. If it was killed when all had
	// finished, Salvage leaves an empty list. nil: the folder is complete, or it does not
	// say which runs it should have.
	Missing        []VariantSeeds `json:"missing,omitzero" doc:"runs that an [incomplete folder](#incomplete-folders) lacks, as 'seeds' of each 'variant'"`
	Options        Options        `json:"options,omitzero" doc:"what the command line said of all runs"`
	NoTraceHash    bool           `json:"noTraceHash,omitempty" doc:"neither runs nor nodes have [trace hashes](#checks)"`
	Resumed        []time.Time    `json:"resumed,omitempty" doc:"when the folder was resumed, UTC"`
	DroppedRecords int64          `json:"droppedRecords,omitempty" doc:"[records that tables lack](telemetry.md#from-the-node-to-the-table), of all runs and of each"`
	Details        []string       `json:"details,omitempty" doc:"metrics that 'summary.json' lacks because there are [too many](metrics.md#where-they-are)"`

	Files  map[string]FileDigest `json:"files,omitempty" doc:"length and SHA-256 of each file"`
	Digest string                `json:"digest,omitempty" doc:"SHA-256 of 'manifest.json' itself with zeros in place of this value"`
}

// VariantSeeds are seeds of one variant.
type VariantSeeds struct {
	Variant string   `json:"variant"`
	Seeds   []uint64 `json:"seeds"`
}

// Options are what the command line said of all runs and the experiment file does not.
type Options struct {
	Payload     string   `json:"payload,omitempty"`     // of real frames
	Processes   string   `json:"processes,omitempty"`   // of nodes
	CheckParity bool     `json:"checkParity,omitempty"` // each run is compared with a virtual one
	Inject      []string `json:"inject,omitempty"`      // faults
	Held        bool     `json:"held,omitempty"`        // a lab
	Shards      int      `json:"shards,omitempty"`      // parts that each run was cut into
	// Where runtime kubernetes ran.
	Context   string `json:"context,omitempty"` // of the kubeconfig
	Namespace string `json:"namespace,omitempty"`
	Image     string `json:"image,omitempty"`
}

// Incomplete returns why the folder is incomplete and how much it lacks; "" if it is
// complete.
func (m *Manifest) Incomplete() string {
	if m.Complete {
		return ""
	}
	missing := 0
	for _, v := range m.Missing {
		missing += len(v.Seeds)
	}
	text := "incomplete: " + m.Reason
	if missing > 0 {
		text += fmt.Sprintf("; %d of %d runs are missing", missing, missing+len(m.Runs))
	}
	return text
}

// FileDigest identifies the content of a file.
type FileDigest struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // in hexadecimal
}

// Machine is the computer that ran the experiment.
type Machine struct {
	CPU    string `json:"cpu"`    // model name
	Cores  int    `json:"cores"`  // that the process may use
	Kernel string `json:"kernel"` // such as "Linux 6.12.1 amd64"
}

// Window is a span of model time. ToUS 0 means the end of the run.
type Window struct {
	FromUS float64 `json:"fromUs"`
	ToUS   float64 `json:"toUs"`
}

// Kinds of nodes.
const (
	KindHost   = "host"
	KindSwitch = "switch"
)

// Node names a node.
type Node struct {
	Node int32  `json:"node"`
	Name string `json:"name"`
	Kind string `json:"kind"` // KindHost or KindSwitch
	// Foreign says that the node is none of csiglab's, or a switch in the kernel: tables have no
	// windows of it.
	Foreign bool `json:"foreign,omitempty"`
}

// Port is one end of a link, and the direction out of it.
type Port struct {
	Node     int32  `json:"node"`
	Port     int32  `json:"port"`
	Peer     int32  `json:"peer"` // the node at the other end
	PeerPort int32  `json:"peerPort"`
	RateBPS  int64  `json:"rateBps"`
	Link     string `json:"link"`
	// Name is of the node and its peer, such as tor0-agg0; with the port's number,
	// tor0:1-agg0, where several links join the two.
	Name      string `json:"name"`
	Tier      string `json:"tier"`      // of the node: host, tor, agg, core or other
	Direction string `json:"direction"` // up: away from the hosts, or within a tier; down
}

// Job is a training job: a metrics.JobInfo in JSON.
type Job struct {
	Job         int32        `json:"job"`
	Name        string       `json:"name"`
	Ranks       []int32      `json:"ranks"` // host of each rank
	StartUS     float64      `json:"startUs"`
	TimeScale   float64      `json:"timeScale,omitempty"` // of its times and bytes; 0: 1, or not known
	LatencyUS   float64      `json:"latencyUs,omitempty"` // of a step, not scaled; 0: not known
	Steps       int          `json:"steps"`
	Schedule    *Schedule    `json:"schedule,omitempty"` // nil: it has none
	Phases      []string     `json:"phases,omitempty"`
	Collectives []Collective `json:"collectives,omitempty"`
	// Of Steps, operations.parquet has the first FirstSteps and the last one; none if
	// FirstSteps is 0. Without Messages it lacks their sends and receives.
	FirstSteps int         `json:"firstSteps"`
	Messages   bool        `json:"messages"`
	Prediction *Prediction `json:"prediction,omitempty"`
	// Shares are the other jobs that it shares links with, ascending.
	Shares []Share `json:"shares,omitempty"`
}

// Share is a metrics.Share in JSON.
type Share struct {
	Job     int32 `json:"job"`
	Ports   int   `json:"ports"`
	Node    int32 `json:"node"`
	Port    int32 `json:"port"`
	RateBPS int64 `json:"rateBps"`
}

// Schedule is the slots at which a job's communication begins: a metrics.Schedule in JSON.
type Schedule struct {
	PeriodUS     float64 `json:"periodUs"`
	OffsetUS     float64 `json:"offsetUs"`
	CorrectionUS float64 `json:"correctionUs"`
}

// Prediction is what follows from the plan about a job's iterations. Times are in
// microseconds.
type Prediction struct {
	// Of an iteration with the network for itself: ComputeUS, then CommunicationUS, with
	// BesideUS of computing beside it, make AloneUS. They are 0 if Reason is not "".
	ComputeUS       float64 `json:"computeUs"`
	BesideUS        float64 `json:"besideUs,omitempty"`
	CommunicationUS float64 `json:"communicationUs"`
	AloneUS         float64 `json:"aloneUs"`
	// Means of the second half of the iterations by the fluid model, with equal shares and
	// under Law, with the jitter of the first seed. They are 0 if FluidReason is not "".
	FairUS  float64 `json:"fairUs,omitempty"`
	FluidUS float64 `json:"fluidUs,omitempty"`
	Law     string  `json:"law,omitempty"` // in words
	// Weight * (Intercept + Slope * sent/total) is the job's share of a link against those of
	// the others under Law. Strict: the law has priorities.
	Weight      float64 `json:"weight,omitempty"`
	Intercept   float64 `json:"intercept,omitempty"`
	Slope       float64 `json:"slope,omitempty"`
	Strict      bool    `json:"strict,omitempty"`
	Reason      string  `json:"reason,omitempty"`      // why there are no times alone
	FluidReason string  `json:"fluidReason,omitempty"` // why there are none by the fluid model
}

// Collective describes a collective of a job.
type Collective struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	Algorithm string `json:"algorithm,omitempty"`
	Ranks     int    `json:"ranks"` // of a group
	Bytes     int64  `json:"bytes"` // as nccl-tests count them
	// BusFactor is what the size over the time is multiplied with to get the bus bandwidth;
	// 0 if the kind has none.
	BusFactor float64 `json:"busFactor,omitempty"`
}

// Jobs returns the jobs of a plan as the manifest keeps them, in the same order.
func Jobs(infos []metrics.JobInfo) []Job {
	var jobs []Job
	for i := range infos {
		j := &infos[i]
		one := Job{Job: j.Job, Name: j.Name, Ranks: j.Ranks, StartUS: units.Duration(j.Start).Microseconds(), TimeScale: j.TimeScale, LatencyUS: j.Latency.Microseconds(), Steps: j.Steps, Phases: j.Phases, FirstSteps: j.Kept.First, Messages: j.Kept.Messages}
		if s := j.Schedule; s.Period > 0 {
			one.Schedule = &Schedule{s.Period.Microseconds(), s.Offset.Microseconds(), s.Correction.Microseconds()}
		}
		for _, c := range j.Collectives {
			one.Collectives = append(one.Collectives, Collective{Name: c.Name, Kind: c.Kind, Algorithm: c.Algorithm, Ranks: c.Ranks, Bytes: int64(c.Bytes)})
		}
		for _, s := range j.Shares {
			one.Shares = append(one.Shares, Share{Job: s.Job, Ports: s.Ports, Node: s.Node, Port: s.Port, RateBPS: int64(s.Rate)})
		}
		jobs = append(jobs, one)
	}
	return jobs
}

// Variant is what charts and readers need to know of a variant.
type Variant struct {
	Name   string `json:"name"`
	MTU    int64  `json:"mtu"`    // wire bytes of a full data packet
	Header int64  `json:"header"` // wire bytes charged for headers
	// Overhead is the bytes that each packet takes on the line beyond its wire bytes.
	Overhead int64  `json:"overhead,omitempty"`
	CC       string `json:"cc"`
	LB       string `json:"lb"`
	OnePath  bool   `json:"onePath,omitempty"` // LB keeps each flow to one path at a time
	AQM      string `json:"aqm"`
	Routing  string `json:"routing,omitempty"` // "": ecmp
	CSIG     string `json:"csig"`              // format, or "none"
	Second   string `json:"second,omitempty"`  // format of the other tags in the fabric; "" without
	Flow     bool   `json:"flow,omitempty"`    // fidelity is flow: there are no packets, and queues are not known
	Hybrid   bool   `json:"hybrid,omitempty"`  // fidelity is hybrid: some messages are no packets, and what they wait for is not in queues

	Actions   []Action   `json:"actions,omitempty"`   // of CC, in the order of charts
	Constants []Constant `json:"constants,omitempty"` // of CC

	Notes    []string      `json:"notes,omitempty"`    // what a reader of the results should know of the configuration
	Locators *LocatorTable `json:"locators,omitempty"` // of CSIG tags; nil without tags
	Tunnels  string        `json:"tunnels,omitempty"`  // where CSIG tags are in them, outer or inner; "" without
	Silent   []string      `json:"silent,omitempty"`   // names of the switches that do not speak CSIG, though there are tags

	Parameters *Parameters `json:"parameters,omitempty"`

	Nodes []Node `json:"nodes,omitempty"` // set when they differ from the manifest's
	Ports []Port `json:"ports,omitempty"` // set when they differ from the manifest's
	Flows []Flow `json:"flows,omitempty"` // under the first seed; set when they differ from the manifest's
	Jobs  []Job  `json:"jobs,omitempty"`  // set when they differ from the manifest's
}

// Action is one of the ways in which congestion control answers an ACK.
type Action struct {
	Name  string `json:"name"`  // in cc.parquet and in metrics, such as fair_increase
	Label string `json:"label"` // in legends
	Short string `json:"short"` // in bars
}

// Constant is a figure of congestion control that follows from the experiment
// alone.
type Constant struct {
	Name  string  `json:"name"` // of the metric, such as target_qdelay_us
	Value float64 `json:"value"`
	Label string  `json:"label"`           // in texts, such as target queueing delay
	Unit  string  `json:"unit"`            // in texts
	Chart string  `json:"chart,omitempty"` // ID of the chart that shows the value as a level, in the unit of its lines
	Short string  `json:"short,omitempty"` // name of the level
}

// LocatorTable says which switch ports the locators in tags and in signals.parquet
// stand for.
type LocatorTable struct {
	Scheme   string    `json:"scheme"`   // structured or registry
	Locators []Locator `json:"locators"` // ascending
	// Remedy is the setting with which no two ports share a locator; absent if none do
	// now, and if there is no such setting.
	Remedy string `json:"remedy,omitempty"`
	// SecondScheme and SecondRemedy are of Variant.Second. Its locators have
	// metrics.SecondFormat added.
	SecondScheme string `json:"secondScheme,omitempty"`
	SecondRemedy string `json:"secondRemedy,omitempty"`
}

// Locator is a locator and its ports, such as tor0-agg0 for the port of tor0 that leads
// to agg0. A tag with a locator of several ports does not say which of them wrote it.
type Locator struct {
	Locator int32    `json:"locator"`
	Ports   []string `json:"ports"`  // names, as Port.Name
	Places  []Place  `json:"places"` // of Ports, in the same order
}

// Place is where a switch port is, in names.
type Place struct {
	Node      string `json:"node"`
	Port      int32  `json:"port"`
	Peer      string `json:"peer"`
	Tier      string `json:"tier"`      // as Port.Tier
	Direction string `json:"direction"` // as Port.Direction
}

// Published is a figure from a publication that a metric's median is compared
// with. The median reproduces it when it lies in the band, ends included.
type Published struct {
	Variant string  `json:"variant"`
	Metric  string  `json:"metric"`
	Value   float64 `json:"value"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	Source  string  `json:"source,omitempty"`
	Note    string  `json:"note,omitempty"` // the known cause when the median lies outside
}

// Run is how one seed of one variant went.
type Run struct {
	Variant     string     `json:"variant"`
	Seed        uint64     `json:"seed"`
	TraceHash   string     `json:"traceHash,omitempty"`  // "": left out, see Manifest.NoTraceHash
	NodeHashes  []NodeHash `json:"nodeHashes,omitempty"` // likewise
	WallSeconds float64    `json:"wallSeconds"`
	CPUSeconds  float64    `json:"cpuSeconds"`
	DataPackets int64      `json:"dataPackets"`
	// DroppedRecords is how many records of the run found no room on their way into
	// the tables. Totals are never among them.
	DroppedRecords int64 `json:"droppedRecords,omitempty"`
	// Operations is how many operations of jobs operations.parquet lacks because there
	// are too many; see Job.FirstSteps.
	OperationsLeftOut int64 `json:"operationsLeftOut,omitempty"`
	// Thinned says how old windows of a lab have become longer, from the beginning of the run
	// on. Events of flows are left out before the end of its last entry.
	Thinned []Thinned `json:"thinned,omitempty"`

	Valid    bool      `json:"valid"`
	Reasons  []string  `json:"reasons,omitempty"` // why it is not valid
	Checks   []Check   `json:"checks,omitempty"`
	Fidelity *Fidelity `json:"fidelity,omitempty"` // of a run in real time
	Cut      *Cut      `json:"cut,omitempty"`      // of a run in several parts
	Programs []Program `json:"programs,omitempty"` // of hosts that run some, in the experiment's order
	Faults   []Fault   `json:"faults,omitempty"`   // in the experiment's order
	Notes    []string  `json:"notes,omitempty"`    // what a reader of the results should know of this run
	Flows    []Flow    `json:"flows,omitempty"`    // set when they differ from the variant's
}

// Fault is a fault that was scheduled for a run. Times are microseconds of model time.
type Fault struct {
	Name     string   `json:"name"`
	Kind     string   `json:"kind"`
	What     string   `json:"what"`  // in words, without times
	Where    []string `json:"where"` // names of links, switches or hosts
	FromUS   float64  `json:"fromUs"`
	UntilUS  *float64 `json:"untilUs,omitempty"` // nil: it lasted until the end of the run
	Happened bool     `json:"happened"`          // false: the run ended before
	Arriving int64    `json:"arriving"`          // packets that it dropped where they arrived
	Queued   int64    `json:"queued"`            // packets that it dropped in switches
	Bytes    int64    `json:"bytes"`             // wire bytes of all of them
}

// Program is one program of a run. Times are microseconds of model time.
type Program struct {
	Host    string   `json:"host"` // name of the node
	Args    []string `json:"args"`
	Output  string   `json:"output"`            // file in the run folder
	StartUS *float64 `json:"startUs,omitempty"` // nil: it was not started
	EndUS   *float64 `json:"endUs,omitempty"`
	Code    int      `json:"code"`              // that it exited with
	Signal  string   `json:"signal,omitempty"`  // that ended it
	Stopped bool     `json:"stopped,omitempty"` // it was ended with the run; Code and Signal say nothing
	Failure string   `json:"failure,omitempty"` // why it could not be started
}

// Fidelity is how well a run kept real time. Times ending in US are microseconds:
// of lateness in wall time, of the others in model time.
type Fidelity struct {
	Dilation        float64 `json:"dilation" doc:"wall seconds per model second"`
	RealTime        bool    `json:"realTime" doc:"all threads that pace had a real-time priority"`
	SmallestDelayUS float64 `json:"smallestDelayUs" doc:"the smallest delay that matters, in model time: of the shortest link, or a full packet's time on the fastest one"`
	Events          int64   `json:"events" doc:"of all nodes"`
	LatenessP50US   float64 `json:"latenessP50Us" doc:"how late events were: median, to an eighth"`
	LatenessP99US   float64 `json:"latenessP99Us" doc:"99th percentile, to an eighth"`
	LatenessMaxUS   float64 `json:"latenessMaxUs" doc:"greatest"`
	LatenessShare   float64 `json:"latenessShare" doc:"the 99th percentile as a share of the smallest delay times the dilation; 'wall.budget.lateness' limits it"`
	Frames          int64   `json:"frames" doc:"sent by the nodes"`
	Lost            int64   `json:"lost" doc:"of these, not received; any makes the run invalid"`
	Surplus         int64   `json:"surplus" doc:"received on a link beyond those sent, or twice; any makes the run invalid"`
	Shaped          int64   `json:"shaped" doc:"of those sent, dropped by the links' shapers"`
	Unread          int64   `json:"unread" doc:"of programs, lost between a program and its node; any makes the run invalid"`
	Foreign         int64   `json:"foreign" doc:"that came over links and that no node sent, which were dropped, and runts of programs"`
	Displaced       int64   `json:"displaced" doc:"packets that came after their moment; 'wall.budget.displaced' limits their share"`
	DisplacedMaxUS  float64 `json:"displacedMaxUs" doc:"by how much at most, in model time"`
	CPUShare        float64 `json:"cpuShare" doc:"of all processors, while the run was deployed"`
	Behind          float64 `json:"behindSeconds" doc:"how late the run was when it was given up; 0: it was not"`

	Mismatches []LinkMismatch `json:"mismatches,omitempty" doc:"directions of links with lost, surplus or foreign frames"`

	Underlay []Underlay `json:"underlay,omitempty" doc:"between each two machines 'a' and 'b': round trips, offset of the clocks, and their 'share' of the smallest delay between them; 'wall.budget.underlay' limits it"`

	Links []LinkRate `json:"links,omitempty" doc:"of each busy direction of a link, the 'packets' that left back to back and their 'rate' as a share of the nominal one; 'wall.budget.rate' limits it"`
}

// Underlay is the network between two parts of a run and their clocks, in wall time.
type Underlay struct {
	A             string  `json:"a"` // names of the parts
	B             string  `json:"b"`
	RoundTripUS   float64 `json:"roundTripUs"` // median
	RoundTripMin  float64 `json:"roundTripMinUs"`
	RoundTripP99  float64 `json:"roundTripP99Us"`
	ClockOffsetUS float64 `json:"clockOffsetUs"` // of the clock of B, ahead of that of A, at most
	ClockErrorUS  float64 `json:"clockErrorUs"`  // of this measurement
	// Link is the link between them with the smallest delay, Delay this delay in model time;
	// none: no link joins them.
	Link    string  `json:"link,omitempty"`
	DelayUS float64 `json:"delayUs,omitempty"`
	// Share is half of the median round trip and the offset, of Delay in wall time.
	Share float64 `json:"share"`
}

// LinkMismatch is a direction of a link that carried other frames than its sender's, or
// not all of them.
type LinkMismatch struct {
	Link     string `json:"link"`
	From     string `json:"from"` // names of the nodes
	To       string `json:"to"`
	Sent     int64  `json:"sent"`
	Received int64  `json:"received"`          // with the mark of this direction, and whole
	Lost     int64  `json:"lost,omitempty"`    // of those sent
	Surplus  int64  `json:"surplus,omitempty"` // received beyond those sent, or twice
	// Foreign counts the frames that were dropped, by the reason why no node can have
	// sent them.
	Foreign ForeignFrames `json:"foreign"`
}

// ForeignFrames counts frames on a link that no node of the run has sent.
type ForeignFrames struct {
	Unmarked  int64 `json:"unmarked,omitempty"`  // without a trailer, also short ones
	Elsewhere int64 `json:"elsewhere,omitempty"` // of another run, or another direction of a link
	Damaged   int64 `json:"damaged,omitempty"`   // cannot be read
	Repeated  int64 `json:"repeated,omitempty"`  // with a sequence number that an earlier frame had
	Past      int64 `json:"past,omitempty"`      // with an arrival time too long ago
	Future    int64 `json:"future,omitempty"`    // with an arrival time or a sequence number too far ahead
	Excess    int64 `json:"excess,omitempty"`    // more than may wait at a port
}

// LinkRate is how fast a busy port sent in wall time.
type LinkRate struct {
	Node    int32   `json:"node"`
	Port    int32   `json:"port"`
	Packets int64   `json:"packets"` // that left back to back
	Rate    float64 `json:"rate"`    // achieved, as a share of the nominal rate
}

// NodeHash is the trace hash of one node, in hexadecimal.
type NodeHash struct {
	Node string `json:"node"`
	Hash string `json:"hash"`
}

// Check is one test of a run's trustworthiness, such as conservation, parity or
// the fidelity of its timing.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"` // what was compared, or what is wrong
}

// Failed returns the names of the checks that failed; nil: none.
func Failed(checks []Check) (names []string) {
	for _, c := range checks {
		if !c.OK {
			names = append(names, c.Name)
		}
	}
	return names
}

// NodesOf returns the nodes of a variant.
func (m *Manifest) NodesOf(variant string) []Node {
	for _, v := range m.Variants {
		if v.Name == variant && v.Nodes != nil {
			return v.Nodes
		}
	}
	return m.Nodes
}

// PortsOf returns the ports of a variant.
func (m *Manifest) PortsOf(variant string) []Port {
	for _, v := range m.Variants {
		if v.Name == variant && v.Ports != nil {
			return v.Ports
		}
	}
	return m.Ports
}

// JobsOf returns the jobs of a variant.
func (m *Manifest) JobsOf(variant string) []Job {
	for _, v := range m.Variants {
		if v.Name == variant && v.Jobs != nil {
			return v.Jobs
		}
	}
	return m.Jobs
}

// locatorsOf returns the locators of a variant, nil without.
func (m *Manifest) locatorsOf(variant string) []Locator {
	for _, v := range m.Variants {
		if v.Name == variant && v.Locators != nil {
			return v.Locators.Locators
		}
	}
	return nil
}
