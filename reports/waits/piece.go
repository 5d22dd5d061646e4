package waits

// Kind is what a piece of a critical path is.
type Kind string

// Kinds of pieces.
const (
	KindCompute  Kind = "compute"
	KindTransfer Kind = "transfer" // of a message over the fabric
	KindLocal    Kind = "local"    // of a message within a server
	KindIdle     Kind = "idle"     // nothing was under way: a start, a time to wait for, or a schedule that held the job back
)

// Piece is a piece of a critical path. Times are microseconds of model time.
type Piece struct {
	Kind       Kind    `json:"kind"`
	Rank       int32   `json:"rank"` // of a message its sender
	Host       string  `json:"host"`
	Peer       int32   `json:"peer"` // rank that a message goes to; -1: no message
	PeerHost   string  `json:"peerHost,omitempty"`
	Flow       string  `json:"flow,omitempty"` // that carries the message over the fabric
	Phase      string  `json:"phase,omitempty"`
	Collective string  `json:"collective,omitempty"`
	Bytes      int64   `json:"bytes,omitempty"`
	FromUS     float64 `json:"fromUs"`
	ToUS       float64 `json:"toUs"`
	// UnloadedUS is what a transfer takes on an idle fabric, and a compute of a rank that
	// computes as long as the median of the ranks does in this step.
	UnloadedUS float64 `json:"unloadedUs"`
	// Hop is the port at which a transfer waited the most: by its CSIG samples, or without
	// any the one with the deepest queue on the shortest paths of the flow, and without packets
	// the busiest; "" if no port had a queue, or the NIC is the busiest: it then waited at its
	// NIC, for other messages.
	Hop string `json:"hop,omitempty"`
	// HopDelayUS is how long packets waited there: by the samples on average, or the time
	// that the deepest queue takes to drain; 0: not known.
	HopDelayUS float64 `json:"hopDelayUs,omitempty"`
	// ByLoad says that Hop is known by its load, as there are no packets.
	ByLoad bool `json:"byLoad,omitempty"`

	FlowNumber int32 `json:"-"` // of the run; -1: no message, or one within a server
	Sampled    bool  `json:"-"` // Hop is by CSIG samples
	// HopShare is which part of what the transfer waited was at Hop, by its samples or by the
	// queues; 1 of a NIC without a queue.
	HopShare float64 `json:"-"`

	send    bool // it waits for the acknowledgement
	chained bool // behind another message of the connection
}

// US returns how long the piece lasts.
func (p *Piece) US() float64 { return p.ToUS - p.FromUS }

// WaitUS returns how much longer it lasts than unloaded, not negative.
func (p *Piece) WaitUS() float64 {
	if p.Kind == KindIdle {
		return 0
	}
	return max(0, p.US()-p.UnloadedUS)
}
