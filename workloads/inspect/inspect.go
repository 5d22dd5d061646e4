// Package inspect says what is in a workload without running it on a fabric: ranks,
// messages, bytes by kind, and what an ideal network would make of it, with its critical
// path and a picture of ranks by time.
package inspect

import (
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
)

// MaxOperations is how many operations of all ranks are played: a few seconds, and 700 MB.
const MaxOperations = 2_000_000

// Hop is a part of the critical path.
type Hop struct {
	Rank  int        `json:"rank"`
	What  string     `json:"what"` // compute, or send: the message to Peer until it has arrived or is acknowledged
	Peer  int        `json:"peer"` // -1: none
	Bytes units.Size `json:"bytes"`
	Of    string     `json:"of"` // collective or phase, or ""
	From  units.Time `json:"fromPs"`
	Until units.Time `json:"untilPs"`
}

// Played is what an ideal network makes of a source.
type Played struct {
	End      units.Time     `json:"endPs"`
	Compute  units.Duration `json:"criticalComputePs"`
	Messages units.Duration `json:"criticalMessagesPs"`
	Path     []Hop          `json:"criticalPath"` // from the beginning to the end
	Picture  Picture        `json:"-"`
}

// Play plays a source over links without congestion and follows what ended last back to the
// beginning. Its error is that of graph.Ideal, also for more than
// MaxOperations.
func Play(s graph.Source, seed uint64, link graph.Link) (*Played, error) {
	k := &keeper{rows: make([][]interval, min(s.Ranks(), maxRows)), byOp: map[opKey]int32{}, bySend: map[sendKey]int32{}}
	link.Sink, link.Most = k, MaxOperations
	t, err := graph.Ideal(s, seed, link)
	if err != nil {
		return nil, err
	}
	p := &Played{End: t.End, Path: []Hop{}, Picture: Picture{rows: k.rows, ranks: s.Ranks(), end: t.End}}
	k.path(p, s.Labels())
	return p, nil
}

// kept is an operation that was played.
type kept struct {
	rank, peer int32
	kind       metrics.OperationKind
	channel    uint16
	op         uint32
	message    uint32
	phase      int16 // from 1; 0: none
	collective int16
	bytes      int64
	start, end units.Time
	ready      units.Time
	after      int64
}

type opKey struct {
	rank int32
	op   uint32
}

type sendKey struct {
	from, to int32
	channel  uint16
	message  uint32
}

// keeper is the metrics.Sink of Play.
type keeper struct {
	ops    []kept
	byOp   map[opKey]int32
	bySend map[sendKey]int32
	rows   [][]interval
	last   int32 // the operation that ended last
}

// Emit implements metrics.Sink.
func (k *keeper) Emit(r metrics.Record) {
	o, ok := r.(*metrics.Operation)
	if !ok || o.Kind == metrics.OperationSpan {
		return
	}
	i := int32(len(k.ops))
	k.ops = append(k.ops, kept{
		rank: o.Rank, peer: o.Peer, kind: o.Kind, channel: o.Channel, op: o.Op, message: o.Message, phase: o.Tag.Phase, collective: o.Tag.Collective,
		bytes: o.Bytes, start: o.Start, end: o.End, ready: o.Ready, after: o.After,
	})
	k.byOp[opKey{o.Rank, o.Op}] = i
	if o.Kind == metrics.OperationSend {
		k.bySend[sendKey{o.Rank, o.Peer, o.Channel, o.Message}] = i
	}
	if o.End >= k.ops[k.last].end {
		k.last = i
	}
	k.draw(o)
}

// path follows the operation that ended last back to the beginning.
func (k *keeper) path(p *Played, labels *graph.Labels) {
	if len(k.ops) == 0 {
		return
	}
	until := p.End
	for i := k.last; ; {
		o := &k.ops[i]
		if o.kind == metrics.OperationRecv {
			// It waited for the message, or for what is in front of it at its rank.
			if send, ok := k.bySend[sendKey{o.peer, o.rank, o.channel, o.message}]; ok && o.end > o.ready {
				i = send
				continue
			}
		} else {
			hop := Hop{Rank: int(o.rank), What: o.kind.String(), Peer: -1, Of: name(o, labels), From: o.start, Until: until}
			if d := units.Duration(until - o.start); o.kind == metrics.OperationCompute {
				p.Compute += d
			} else {
				hop.Peer, hop.Bytes = int(o.peer), units.Size(o.bytes)
				p.Messages += d
			}
			if until > o.start {
				p.Path = append(p.Path, hop)
			}
			until = o.start
		}
		if o.kind == metrics.OperationSend && o.start > o.ready && o.message > 0 {
			// It waited for the message in front of it on its stream.
			if before, ok := k.bySend[sendKey{o.rank, o.peer, o.channel, o.message - 1}]; ok {
				i = before
				continue
			}
		}
		next, ok := k.byOp[opKey{o.rank, uint32(o.after)}]
		if o.after < 0 || !ok {
			break
		}
		i = next
	}
	slices.Reverse(p.Path)
}

// name returns the collective of an operation, or its phase.
func name(o *kept, labels *graph.Labels) string {
	switch {
	case o.collective > 0:
		return labels.Collectives[o.collective-1].Name
	case o.phase > 0:
		return labels.Phases[o.phase-1]
	}
	return ""
}
