package player

import (
	"slices"

	"github.com/csiglab/csiglab/internal/fifo"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
	"github.com/csiglab/csiglab/workloads/graph"
)

// Job is the part of a training job that this host plays: the programs of the ranks that
// are placed on it.
type Job struct {
	Job    int // its number, in records and in control messages
	Source graph.Source
	Ranks  []int // that are here, ascending
	Start  units.Time
	Seed   uint64
	// Schedule holds the job's communication back; see graph.Hold. The zero value does not.
	Schedule graph.Schedule
	Routes   []Route         // of every stream that begins or ends here
	Local    workloads.Local // of the streams that do not cross the fabric
}

// Route is the way of a stream's messages.
type Route struct {
	Stream graph.Stream
	// Flow is the connection that carries the messages, a flow that the host sends or
	// receives. It is metrics.Absent of a stream inside a server.
	Flow int
	// Of a stream inside a server, Port is Local where both ranks are here, otherwise the
	// control port that leads to the other one's host; ID then names the stream in control
	// messages.
	Port int
	ID   uint32
	// Relay says that the sender is on another host of the server, whose messages come by Port;
	// the host sends them on by Flow.
	Relay bool
}

// Read returns the ranks whose programs the host reads: those that are here and those whose messages
// it sends on.
func (j *Job) Read() []int {
	ranks := slices.Clone(j.Ranks)
	for _, r := range j.Routes {
		if from := int(r.Stream.From); r.Relay && !slices.Contains(ranks, from) {
			ranks = append(ranks, from)
		}
	}
	slices.Sort(ranks)
	return ranks
}

// Post is a message for a connection that this host sends.
type Post struct {
	Flow  int // id of the flow
	Size  units.Size
	Tag   metrics.Tag
	Total units.Size // of the sender's messages on this flow under the same tag; 0: not known
}

// job plays a Job.
type job struct {
	*Job
	engine  *graph.Engine
	routes  []Route        // by number of stream
	counts  []int          // by number of stream: messages sent or received on connections
	byID    map[uint32]int // number of a stream whose messages come from another host of the server
	senders []sender       // by index in Ranks
	due     units.Time     // when something of senders happens next
	relays  relays
	passed  []Post // of other hosts, that came since the last Posts
}

// sender is the way of a rank's messages inside its server: one after the other.
type sender struct {
	rank  int32
	line  units.Serialiser // of a rate
	free  units.Time       // when all messages have left
	queue fifo.Queue[localMessage]
	left  int // messages of queue that have left
}

// localMessage is a message inside the server that has not arrived.
type localMessage struct {
	stream int
	leaves units.Time
}

// stream is a stream of one of the host's jobs.
type stream struct{ job, number int }

// addJobs sets up the jobs, whose records go to sink.
func (p *Player) addJobs(jobs []Job, sink metrics.Sink) {
	if len(jobs) == 0 {
		return
	}
	p.streams, p.jobs, p.play = map[int]stream{}, make([]job, len(jobs)), units.Never
	for i := range jobs {
		c, j := &jobs[i], &p.jobs[i]
		j.counts = make([]int, len(c.Routes))
		j.Job, j.byID, j.senders, j.due = c, map[uint32]int{}, make([]sender, len(c.Ranks)), units.Never
		j.engine = graph.NewEngine(graph.Config{Job: int32(c.Job), Source: c.Source, Ranks: c.Ranks, Start: c.Start, Seed: c.Seed, Schedule: c.Schedule, Sink: sink})
		for k, rank := range c.Ranks {
			j.senders[k].rank = int32(rank)
			if c.Local.Rate > 0 {
				j.senders[k].line = units.NewSerialiser(c.Local.Rate)
			}
		}
		for _, r := range c.Routes {
			number := j.engine.Stream(r.Stream, int32(r.Flow))
			j.routes = append(j.routes, r)
			switch {
			case r.Relay:
				j.byID[r.ID] = number
				j.relays.add(c, r)
			case r.Flow != metrics.Absent:
				p.streams[r.Flow] = stream{i, number}
			case r.Port != Local:
				j.byID[r.ID] = number
			}
		}
	}
	p.settle()
}

// settle finds out when a job goes on next.
func (p *Player) settle() {
	p.play = units.Never
	for i := range p.jobs {
		p.play = min(p.play, p.jobs[i].engine.Next(), p.jobs[i].due)
	}
}

// OnMessageSent records that so many messages of a connection that this host sends, in all,
// have been acknowledged to their last bytes.
func (p *Player) OnMessageSent(now units.Time, flow, count int) {
	if s, ok := p.streams[flow]; ok {
		j := &p.jobs[s.job]
		j.engine.Sent(now, s.number, count-j.counts[s.number])
		j.counts[s.number] = count
		p.play = min(p.play, j.engine.Next())
	}
}

// OnMessageReceived records that so many messages of a connection that this host receives,
// in all, have arrived whole.
func (p *Player) OnMessageReceived(now units.Time, flow, count int) {
	if s, ok := p.streams[flow]; ok {
		j := &p.jobs[s.job]
		j.engine.Received(now, s.number, count-j.counts[s.number])
		j.counts[s.number] = count
		p.play = min(p.play, j.engine.Next())
	}
}

// Posts plays what is due of the jobs and returns the messages to post on connections, in
// order. The slice is valid until the next call. The host calls it when NextStart is due,
// after the transfers that are Due and before Outbox.
func (p *Player) Posts(now units.Time) []Post {
	p.posts = p.posts[:0]
	if now < p.play {
		return p.posts
	}
	for i := range p.jobs {
		p.posts, p.jobs[i].passed = append(p.posts, p.jobs[i].passed...), p.jobs[i].passed[:0]
		for j := &p.jobs[i]; min(j.due, j.engine.Next()) <= now; {
			p.playJob(now, j)
		}
	}
	p.settle()
	return p.posts
}

// playJob does what is due of a job.
func (p *Player) playJob(now units.Time, j *job) {
	if j.due <= now {
		p.local(now, j)
	}
	j.engine.Advance(now)
	for _, m := range j.engine.Posts() {
		switch r := j.route(m.Stream); {
		case r == nil: // a stream that the plan does not know; its rank is stuck
		case r.Flow != metrics.Absent:
			p.posts = append(p.posts, Post{Flow: r.Flow, Size: m.Bytes, Tag: m.Tag, Total: m.Total})
		default:
			j.send(now, m)
		}
	}
}

// route returns the way of a stream's messages, nil if there is none.
func (j *job) route(number int) *Route {
	if number >= len(j.routes) {
		return nil
	}
	return &j.routes[number]
}

// send sends a message inside the server.
func (j *job) send(now units.Time, m graph.Post) {
	from := j.engine.StreamOf(m.Stream).From
	for i := range j.senders {
		s := &j.senders[i]
		if s.rank != from {
			continue
		}
		s.free = max(s.free, now)
		if j.Local.Rate > 0 {
			s.free = s.line.Departure(s.free, m.Bytes)
		}
		s.queue.Push(localMessage{m.Stream, s.free})
		j.due = min(j.due, s.next(j.Local.Delay))
		return
	}
}

// next returns when a message leaves or arrives next.
func (s *sender) next(delay units.Duration) units.Time {
	if s.queue.Len() == 0 {
		return units.Never
	}
	at := s.queue.At(0).leaves.Add(delay)
	if s.left < s.queue.Len() {
		at = min(at, s.queue.At(s.left).leaves)
	}
	return at
}

// local takes the messages inside the server that leave their rank, and those that arrive.
// A message is sent when it has arrived.
func (p *Player) local(now units.Time, j *job) {
	j.due = units.Never
	for i := range j.senders {
		s := &j.senders[i]
		for s.left < s.queue.Len() && s.queue.At(s.left).leaves <= now {
			if r := j.route(s.queue.At(s.left).stream); r.Port != Local {
				p.outbox = append(p.outbox, Message{Port: r.Port, Trigger: jobMessage | uint32(j.Job.Job), Code: r.ID})
			}
			s.left++
		}
		for s.left > 0 && s.queue.At(0).leaves.Add(j.Local.Delay) <= now {
			m, _ := s.queue.Pop()
			s.left--
			j.engine.Sent(now, m.stream, 1)
			if j.route(m.stream).Port == Local {
				j.engine.Received(now, m.stream, 1)
			}
		}
		j.due = min(j.due, s.next(j.Local.Delay))
	}
}

// jobMessage is what the trigger of a control message is that stands for a message of a job
// inside a server; the other bits are the job's number, and the code is the route's ID.
const jobMessage = 1 << 31

// onJobMessage takes a message from another host of the server.
func (p *Player) onJobMessage(now units.Time, number int, id uint32) bool {
	for i := range p.jobs {
		j := &p.jobs[i]
		if j.Job.Job != number {
			continue
		}
		stream, ok := j.byID[id]
		switch r := j.route(stream); {
		case !ok:
		case r.Relay:
			if post, known := j.relays.next(r); known {
				j.passed, p.play = append(j.passed, post), now
			}
		default:
			j.engine.Received(now, stream, 1)
			p.play = min(p.play, j.engine.Next())
		}
		return ok
	}
	return false
}

// Close returns what has become of the jobs.
func (p *Player) Close() (totals []metrics.JobTotals) {
	for i := range p.jobs {
		j := &p.jobs[i]
		t := metrics.JobTotals{Job: int32(j.Job.Job), Operations: int64(j.engine.Expanded() - j.engine.Live()), Done: j.engine.Done()}
		switch {
		case j.engine.Err() != nil:
			t.Waits = j.engine.Err().Error()
		case !t.Done:
			t.Waits = j.engine.Stuck()
		}
		totals = append(totals, t)
	}
	return totals
}
