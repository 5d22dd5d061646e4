package player

import (
	"github.com/csiglab/csiglab/internal/fifo"
	"github.com/csiglab/csiglab/workloads/graph"
)

// relays are the senders on other hosts of the server whose messages the host sends on, by rank. What
// comes from another host says of which stream it is and no more. The size of the message is in the
// program of its sender, which the relay reads too: a stream's messages are sent in its order.
type relays map[int32]*relay

// relay reads the program of one sender.
type relay struct {
	program graph.Program
	waiting map[graph.Stream]*fifo.Queue[Post] // by stream that comes here: messages that were read
}

// add adds a stream that comes here.
func (all *relays) add(j *Job, r Route) {
	if *all == nil {
		*all = relays{}
	}
	s := (*all)[r.Stream.From]
	if s == nil {
		s = &relay{program: j.Source.Program(int(r.Stream.From), j.Seed), waiting: map[graph.Stream]*fifo.Queue[Post]{}}
		(*all)[r.Stream.From] = s
	}
	s.waiting[r.Stream] = new(fifo.Queue[Post])
}

// next returns the next message of a route's stream, for its flow. ok is false if its sender has no
// more, which a control message that went astray would ask for.
func (all relays) next(r *Route) (post Post, ok bool) {
	s := all[r.Stream.From]
	queue := s.waiting[r.Stream]
	var op graph.Op
	for queue.Len() == 0 && s.program.Next(&op) {
		if op.Kind != graph.Send {
			continue
		}
		if q := s.waiting[graph.Stream{From: r.Stream.From, To: op.Peer, Channel: op.Channel}]; q != nil {
			q.Push(Post{Size: op.Bytes, Tag: op.Tag.Record(), Total: op.Total})
		}
	}
	if queue.Len() == 0 {
		return Post{}, false
	}
	post, _ = queue.Pop()
	post.Flow = r.Flow
	return post, true
}
