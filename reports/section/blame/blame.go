// Package blame is the section on where slow collectives of jobs, or slow transfers of runs
// without jobs, lost their time: at which port, rank or NIC, who sent there at the same time,
// and whether another path was free.
package blame

import "github.com/csiglab/csiglab/reports/waits"

// Kind is the kind of place where a collective, or a transfer, lost most of its time.
type Kind string

// Kinds of places.
const (
	Incast Kind = "incast" // the last hop to a receiver to which several hosts sent at once
	Core   Kind = "core"   // another port of a switch: on the way up, in the core, or on the way down
	Edge   Kind = "edge"   // the last hop to a receiver to which no other host sent
	NIC    Kind = "nic"    // the NIC of the sender, where its messages wait for each other
	Rank   Kind = "rank"   // a rank that came late, or computed longer than the median of the ranks
)

// Evidence is what a Blame knows its port by.
type Evidence string

// Kinds of evidence.
const (
	ByCSIG   Evidence = "csig"   // most of the delay in the CSIG samples of the transfer was of this port
	ByQueues Evidence = "queues" // of the ports on the shortest paths of the transfer it had the deepest queue in that time; the packets may have taken another path
	ByLoad   Evidence = "load"   // there are no packets; of these ports it was the busiest in that time, and so the one that limited the transfer
)

// Relief is how many times its rate a link gets that is taken to be no obstacle any more.
const Relief = 4

// Bounds of what is blamed.
const (
	maxBlame   = waits.MaxBlame // of a variant
	maxSources = 8              // Blame.SourceNames
	freeBelow  = 0.5            // a port is free if it is used to less than this share
	busyFrom   = 0.9            // a port that holds others back is used to this share or more
	maxSaves   = 3              // rows of a variant with Blame.Saves
	leastBlame = 0.05           // share of its duration that something must lose to be slow
)

// Blame says where one slow collective lost its time, or, of variants without jobs, one
// slow transfer. It is of the seed that charts show. Times are microseconds of model time.
type Blame struct {
	Variant string `json:"variant"`
	Seed    uint64 `json:"seed"`
	// Of a collective; Collective is "" of a transfer.
	Job        string `json:"job,omitempty"`
	Step       int32  `json:"step,omitempty"`
	Collective string `json:"collective,omitempty"`
	Group      int32  `json:"group"`
	// Transfer is the name of the flow, "" of a collective.
	Transfer string `json:"transfer,omitempty"`

	FromUS float64 `json:"fromUs"`
	ToUS   float64 `json:"toUs"`
	Open   bool    `json:"open,omitempty"` // the transfer did not complete: ToUS is the end of the run
	// UnloadedUS is what the messages of the critical path take on an idle fabric, one after
	// the other, with all ranks in time. Of a transfer it is its FCT on an idle fabric.
	UnloadedUS float64 `json:"unloadedUs"`
	// FastestUS is how long the fastest instance of the collective in this run took; 0 of
	// transfers.
	FastestUS float64 `json:"fastestUs,omitempty"`
	LostUS    float64 `json:"lostUs"` // duration less UnloadedUS

	// Where it lost the most of it, and how much: Share is that of the duration.
	Kind   Kind    `json:"kind"`
	Port   string  `json:"port,omitempty"` // "" of a rank, and of a NIC without a queue
	Node   string  `json:"node"`           // the port's node, the sender of a NIC, the host of a rank
	Rank   int32   `json:"rank"`           // of kind rank; -1 otherwise
	WaitUS float64 `json:"waitUs"`
	Share  float64 `json:"share"`
	// By is what the port is known by, "" without a port.
	By Evidence `json:"by,omitempty"`

	// Link is the link of Port, or of the NIC; "" of a rank.
	Link string `json:"link,omitempty"`
	// Saves is which share of the recorded steps of the job the removal of what is blamed is
	// predicted to save: Link at Relief times its rate, or a rank that computes as long as the
	// median of the ranks. nil: it is not one of the first rows, or there is no prediction.
	Saves *float64 `json:"saves,omitempty"`
	// Alike is the pattern of the links that are called like Link and have its rate, if there are
	// several, and SavesAlike what all of them at Relief times their rate save.
	Alike      string   `json:"alike,omitempty"`
	AlikeLinks int      `json:"alikeLinks,omitempty"` // how many these are
	SavesAlike *float64 `json:"savesAlike,omitempty"`

	// HeldBack is the port where packets waited if that was used to less than freeBelow, as
	// under priority flow control, because it had to wait for Port; "" otherwise.
	HeldBack string `json:"heldBack,omitempty"`

	// Fault is the name of a fault of the run that touched the link of Port, or its switch, in
	// this time.
	Fault string `json:"fault,omitempty"`

	// Of ports: the transfer of the critical path that waited there the longest, and the
	// time from the first to the last one that waited there.
	Flow       string  `json:"flow,omitempty"`
	Src        string  `json:"src,omitempty"` // hosts
	Dst        string  `json:"dst,omitempty"`
	WaitFromUS float64 `json:"waitFromUs,omitempty"`
	WaitToUS   float64 `json:"waitToUs,omitempty"`
	// Short says that this time is shorter than a telemetry window: what was used and free,
	// and who sent, is that of a longer time, and is not known of this one.
	Short bool `json:"short,omitempty"`

	// Sources is how many hosts sent to Dst in this time, of kinds incast and edge: in the
	// telemetry windows that overlap it. SourceNames are those that sent most, the first
	// maxSources.
	Sources     int      `json:"sources,omitempty"`
	SourceNames []string `json:"sourceNames,omitempty"`

	// Other is how many other ports the transfer could have taken instead: those of the same
	// switch on its shortest paths, or, if it has none, those as far from the source; without
	// those that a fault touched. Free of them were used to less than freeBelow in this time.
	Other int `json:"other"`
	Free  int `json:"free"`
	// Freest is the one of Other that was used the least, to FreestUse; "" if Other is 0.
	Freest    string  `json:"freest,omitempty"`
	FreestUse float64 `json:"freestUse,omitempty"`
	PortUse   float64 `json:"portUse,omitempty"` // of Port in this time
}

// US returns how long the collective or transfer lasts.
func (b *Blame) US() float64 { return b.ToUS - b.FromUS }
