// Package graph is the transfer graph of training traffic: the one model to which
// collectives, pipelines, whole jobs and the traces of other tools compile. Each rank of a
// job has a Program, a sequence of operations (send, receive, compute, barrier, and marks of
// where a collective or a step begins and ends) with dependencies among the operations of
// the rank. Ranks meet in messages alone. A Program is expanded while it is played, so that
// a long job is never in memory as a whole.
//
// The package has no network and no clock of its own. An Engine plays the programs of the
// ranks of one machine; the hosts' player drives it on a fabric, Ideal on links without
// congestion.
package graph

import (
	"errors"
	"fmt"

	"github.com/csiglab/csiglab/units"
)

// None is the absence of a phase, a collective or a group in a Tag.
const None = -1

// Kind is what an operation does.
type Kind uint8

// Kinds of operation.
const (
	// Send sends Bytes to rank Peer on Channel. It is complete when the last byte is
	// acknowledged.
	Send Kind = iota
	// Recv receives a message from rank Peer on Channel: the k-th Recv of a pair of ranks and
	// a channel gets the message of the k-th Send. It is complete when its dependencies are
	// and the message has arrived. A message may arrive before.
	Recv
	// Compute uses the rank's processor Unit for Duration. Operations of one unit run one at
	// a time, in the order in which they become ready, and of those that become ready
	// together in program order.
	Compute
	// Hold is complete when its dependencies are and the job's Schedule lets it go on. It is
	// like a Barrier in a job without a schedule.
	Hold
	// Barrier is complete when its dependencies are. It joins them.
	Barrier
	// Begin and End mark where the rank enters and leaves what their Tag names: a
	// collective if the tag has one, otherwise a phase, otherwise a step. They take no time.
	Begin
	End
)

// String returns the kind's name.
func (k Kind) String() string {
	return [...]string{"send", "recv", "compute", "hold", "barrier", "begin", "end"}[k]
}

// Tag says what an operation belongs to. Records of it, and of what happens to its
// messages in the fabric, have the tag of the operation.
type Tag struct {
	Step       int32 // of the job, from 0
	Phase      int32 // index in Labels.Phases, or None
	Collective int32 // index in Labels.Collectives, or None
	Group      int32 // which of the groups of ranks that run the collective, from 0; None without collective
}

// Op is one operation of a rank. Its id is its position in the rank's program, from 0.
type Op struct {
	Kind    Kind
	Unit    uint8      // of Compute
	Channel uint16     // of Send and Recv: tells apart the streams of messages between two ranks
	Peer    int32      // rank; of Send and Recv
	Bytes   units.Size // of Send and Recv, at least 1
	// Total is how much the rank sends on this stream under the same tag; 0: not known. Of
	// Send.
	Total units.Size
	// Duration is how long it takes, not negative: of Recv from when its message has arrived, if the
	// program is that far, of others from when their dependencies are complete; of Send and Hold 0.
	// Those of a rank take their time beside each other, but for Computes of one unit.
	Duration units.Duration
	// NotBefore is a time since the job's start before which the operation does not become
	// ready.
	NotBefore units.Duration
	// Deps are the ids of operations before this one that have to be complete first.
	Deps []uint32
	Tag  Tag
	// Fence promises that every operation behind this one in the program depends on it,
	// directly or through others. A player does not expand a program behind a fence before
	// the fence is complete, so that fences bound its memory.
	Fence bool
}

// check reports what is wrong with an operation of one of so many ranks, and its id.
func (o *Op) check(rank int32, id uint32, ranks int) error {
	for _, d := range o.Deps {
		if d >= id {
			return fmt.Errorf("it depends on operation %d, which is not before it", d)
		}
	}
	switch {
	case o.Kind > End:
		return fmt.Errorf("unknown kind %d", o.Kind)
	case o.Duration < 0 || o.NotBefore < 0:
		return errors.New("a time is negative")
	case o.Duration > 0 && (o.Kind == Send || o.Kind == Hold):
		return errors.New("it has a duration")
	case o.Kind > Recv:
		return nil
	case o.Peer < 0 || int(o.Peer) >= ranks || o.Peer == rank:
		return fmt.Errorf("peer %d, want another rank from 0 to %d", o.Peer, ranks-1)
	case o.Bytes < 1:
		return fmt.Errorf("%d bytes, want 1 or more", int64(o.Bytes))
	}
	return nil
}

// Program is the operations of a rank, in order. It belongs to one goroutine.
type Program interface {
	// Next writes the next operation into op. It may use the memory of op.Deps. It returns
	// false behind the last operation.
	Next(op *Op) bool
}

// Source describes the programs of all ranks of a job. Its values are plain data that
// package gob can encode, so that a Source can go to the processes of the nodes. Every step of a job sends the same
// messages; what differs from step to step is compute time alone, but for a Static. A
// program lists the operations of one step after those of the step before.
type Source interface {
	// Ranks returns how many ranks there are, numbered from 0.
	Ranks() int
	// Steps returns the number of steps, at least 1.
	Steps() int
	// Labels names what tags refer to. The result is not to be changed.
	Labels() *Labels
	// Program returns the program of a rank from its beginning. What is random in it depends
	// on seed, rank and step alone.
	Program(rank int, seed uint64) Program
	// Only returns a Source with the same numbers and labels that may leave out the programs
	// of all other ranks.
	Only(ranks []int) Source
}

// Labels names the phases and collectives of a job.
type Labels struct {
	Phases      []string // such as forward, backward
	Collectives []Collective
}

// Collective is what a job says of a collective that it runs in every step, in one or
// several groups of ranks at a time.
type Collective struct {
	Name      string // within the job, such as gradients 3
	Kind      string // such as all_reduce; see package collective
	Algorithm string // such as ring
	Ranks     int    // of a group
	// Bytes is the size of the buffer, as nccl-tests count it: of all-gather and
	// reduce-scatter that of the whole array.
	Bytes units.Size
}

// ErrLimit is wrapped, beside ErrInvalid, by the error of programs with more operations than
// are allowed.
var ErrLimit = errors.New("too many operations")

// ErrInvalid is wrapped by errors of programs that cannot be played.
var ErrInvalid = errors.New("invalid transfer graph")
