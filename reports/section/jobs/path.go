package jobs

import (
	"cmp"
	"slices"

	"github.com/csiglab/csiglab/reports/waits"
)

// Path is what one step, or one collective, waited for.
type Path struct {
	waits.Path
	// How long the path is in each kind of piece.
	ComputeUS  float64       `json:"computeUs"`
	TransferUS float64       `json:"transferUs"` // local ones too
	IdleUS     float64       `json:"idleUs"`
	Lost       *Lost         `json:"lost,omitempty"` // where most time was lost; nil if none was
	Pieces     []waits.Piece `json:"pieces,omitempty"`
	Cut        int           `json:"cut,omitempty"` // pieces that Pieces lacks because there are too many, from its middle
}

// Lost is where a critical path lost the most time against an idle fabric, and ranks that
// all compute as long as the median: one rank, or one port.
type Lost struct {
	Rank   int32   `json:"rank"` // -1: at a port
	Host   string  `json:"host,omitempty"`
	Port   string  `json:"port,omitempty"`
	NIC    bool    `json:"nic,omitempty"`    // no queue was seen: the messages waited for others at the NIC of Host
	ByLoad bool    `json:"byLoad,omitempty"` // see waits.Piece
	Flow   string  `json:"flow,omitempty"`   // of the transfer that waited there the longest
	Peer   int32   `json:"peer"`             // of this transfer; Sender too
	Sender int32   `json:"sender"`
	US     float64 `json:"us"`
	Share  float64 `json:"share"` // of the time of the step or collective
	// DelayUS is how long packets waited at the port, on average over the transfers of the path.
	DelayUS float64 `json:"delayUs,omitempty"`

	from, to string // hosts of Sender and Peer
}

const (
	leastLost = 0.005 // the share of a step from which time is lost
	maxPieces = 1000  // pieces of a path that the JSON form lists
)

// keep lists the pieces.
func (p *Path) keep() {
	p.Pieces = p.Whole
	if n := len(p.Whole); n > maxPieces {
		p.Cut = n - maxPieces
		p.Pieces = slices.Concat(p.Whole[:maxPieces/2], p.Whole[n-maxPieces/2:])
	}
}

// newPath returns a path with sums over its pieces, and where time was lost.
func newPath(of *waits.Path) *Path {
	p := &Path{Path: *of}
	type place struct {
		rank int32
		port string
	}
	lost := map[place]*Lost{}
	worst := map[place]float64{}
	delays := map[place]float64{} // weighted by length
	lengths := map[place]float64{}
	for i := range p.Whole {
		s := &p.Whole[i]
		var at place
		switch s.Kind {
		case waits.KindCompute:
			p.ComputeUS += s.US()
			at = place{s.Rank, ""}
		case waits.KindIdle:
			p.IdleUS += s.US()
			continue
		default:
			p.TransferUS += s.US()
			at = place{-1, s.Hop}
			if s.Hop == "" {
				at.port = "nic " + s.Host
			}
		}
		l := lost[at]
		if l == nil {
			l = &Lost{Rank: at.rank, Peer: -1, Sender: -1}
			lost[at] = l
			if s.Kind == waits.KindCompute {
				l.Host = s.Host
			} else if l.Port, l.ByLoad = s.Hop, s.ByLoad; s.Hop == "" {
				l.NIC, l.Host = true, s.Host
			}
		}
		l.US += s.WaitUS()
		if s.Kind != waits.KindCompute {
			delays[at] += s.HopDelayUS * s.US()
			lengths[at] += s.US()
			if wait := s.WaitUS(); wait > worst[at] || l.Flow == "" {
				worst[at], l.Flow, l.Sender, l.Peer, l.from, l.to = wait, s.Flow, s.Rank, s.Peer, s.Host, s.PeerHost
			}
		}
	}
	for at, l := range lost {
		if lengths[at] > 0 {
			l.DelayUS = delays[at] / lengths[at]
		}
		l.Share = l.US / p.US()
		b := p.Lost
		if l.Share >= leastLost && (b == nil || cmp.Or(cmp.Compare(l.US, b.US), cmp.Compare(b.Rank, l.Rank), cmp.Compare(b.Port, l.Port), cmp.Compare(b.Host, l.Host)) > 0) {
			p.Lost = l
		}
	}
	return p
}
