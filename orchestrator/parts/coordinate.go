package parts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/nodes/emu/gateway"
	"github.com/csiglab/csiglab/nodes/modules"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Times of a coordinator.
const (
	helloWithin = 30 * time.Second
	readyWithin = 2 * time.Minute // the order of a large fabric takes some seconds
	// graceAfter is how long the others may still say what happened, once one shard has
	// reported that another one is gone.
	graceAfter = 3 * time.Second
	// stopWithin is how long shards may take to remove what they made.
	stopWithin  = 15 * time.Second
	fateWithin  = 5 * time.Second
	eventsAhead = 64
)

// Coordinate runs a run in parts, of for each node its part, on shards that wait in Serve.
// All start together. The errors are those of backend.Backend.Run; an *Error names the shard
// that is at fault.
func Coordinate(ctx context.Context, r *backend.Run, of []int, shards []Shard, c backend.Control) (*backend.Outcome, error) {
	defer func() {
		for _, s := range shards {
			s.Conn.Close()
		}
	}()
	co := &coordinator{
		run: r, of: of, control: c, events: make(chan event, eventsAhead), done: make(chan struct{}),
		nodes: make([]runs.Node, len(r.Plan.Graph.Nodes)), links: make([]runs.Link, len(r.Plan.Graph.Links)),
	}
	for i, s := range shards {
		co.shards = append(co.shards, &remote{
			Shard: s, index: i, stream: newStream(s.Conn, silentAfter),
			files: arrivals{run: r, folder: r.Folder, part: i, of: of},
		})
		co.names = append(co.names, s.Name)
	}
	var readers sync.WaitGroup
	for _, s := range co.shards {
		s.stream.slow = func() { c.SayWaiting("%s, which has sent nothing for %v", s.Name, sayAfter) }
		readers.Go(func() { co.read(s) })
	}
	out, err := co.coordinate(ctx)
	co.stop(err != nil)
	close(co.done)
	readers.Wait()
	for _, s := range co.shards {
		if wrong := s.files.close(); wrong != nil && err == nil {
			err = wrong
		}
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// coordinator is the state of Coordinate, which one goroutine has.
type coordinator struct {
	run     *backend.Run
	of      []int
	control backend.Control
	shards  []*remote
	names   []string
	events  chan event
	done    chan struct{} // closed when nobody takes events any more

	nodes []runs.Node
	links []runs.Link
}

// remote is a shard as the coordinator knows it.
type remote struct {
	Shard
	index  int
	stream *stream
	files  arrivals // of its reader

	state    state
	deployed bool
	now      units.Time
	outcome  *backend.Outcome
	ended    bool // its connection
}

// state is how far a shard is.
type state int

const (
	calling state = iota // it has not said hello
	ordered
	ready
	running
	started // in real time
)

// event is what comes from a shard: a message or the end of its connection.
type event struct {
	from *remote
	message
	err error
}

// read receives what a shard sends until the connection ends.
func (co *coordinator) read(s *remote) {
	for {
		m, err := s.stream.receive()
		if err == nil {
			err = co.consume(s, &m)
		}
		if err != nil {
			co.post(event{from: s, err: err})
			return
		}
		if m.Hello != nil {
			s.stream.limit = limit
		}
		co.post(event{from: s, message: m})
	}
}

func (co *coordinator) post(e event) {
	select {
	case co.events <- e:
	case <-co.done:
	}
}

// consume takes what needs no decision: records, files, remarks.
func (co *coordinator) consume(s *remote, m *message) error {
	switch {
	case m.Records != nil:
		if n := int(m.Records.Node); n < 0 || n >= len(co.of) || co.of[n] != s.index {
			return fmt.Errorf("%w: records of a node that it does not have", errProtocol)
		}
		co.control.Consumer().Consume(m.Records)
		m.Records = &metrics.Batch{} // they need no memory in the queue
	case m.File != nil:
		return s.files.add(m.File)
	case m.Note != "" && co.control.Note != nil:
		co.control.Note(s.Name + ": " + gateway.Printable([]byte(m.Note)))
	case m.Waiting != "" && co.control.Waiting != nil:
		co.control.Waiting(s.Name + ": " + gateway.Printable([]byte(m.Waiting)))
	}
	return nil
}

// coordinate orders the shards and follows them to their end.
func (co *coordinator) coordinate(ctx context.Context) (*backend.Outcome, error) {
	phase := time.NewTimer(helloWithin)
	defer phase.Stop()
	var failed error // by the fault of another shard, which may tell more itself
	hold := co.control.Hold
	if !co.run.Held {
		hold = nil
	}
	at := calling
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-hold:
			hold = nil
			co.tell(message{End: true})
		case <-phase.C:
			if failed != nil {
				return nil, failed
			}
			return nil, co.missing(at)
		case e := <-co.events:
			err := co.handle(ctx, e)
			var part *gateway.PartError
			switch {
			case err == nil:
			case failed == nil && errors.As(err, &part):
				failed = co.explain(ctx, err, part)
				phase.Reset(graceAfter)
				continue
			case failed != nil && errors.As(err, &part):
				continue
			default:
				return nil, err
			}
			if failed != nil {
				continue
			}
			if next := co.least(); next > at {
				if err := co.advance(next); err != nil {
					return nil, err
				}
				if at = co.least(); at >= running {
					phase.Stop()
				} else {
					phase.Reset(readyWithin)
				}
			}
			if co.over() {
				return co.outcome()
			}
		}
	}
}

// handle handles an event.
func (co *coordinator) handle(ctx context.Context, e event) error {
	s := e.from
	if e.err != nil {
		s.ended = true
		if s.outcome != nil {
			return nil
		}
		return &Error{s.Name, s.broke(ctx, e.err)}
	}
	wrong := func() error {
		return &Error{s.Name, fmt.Errorf("%w: a message out of turn", errProtocol)}
	}
	switch m := &e.message; {
	case m.Hello != nil:
		if s.state != calling {
			return wrong()
		}
		return co.greet(s, m.Hello)
	case m.Alive, m.File != nil, m.Records != nil, m.Note != "", m.Waiting != "":
	case m.Failure != nil && m.Failure.Ended:
		if why := s.fate(ctx); why != "" {
			return &Error{s.Name, errors.New(why)}
		}
		return &Error{s.Name, fmt.Errorf("somebody has ended it: %s", m.Failure.Text)}
	case m.Failure != nil:
		return &Error{s.Name, m.Failure.Err()}
	case m.Ready:
		if s.state != ordered {
			return wrong()
		}
		s.state = ready
	case s.state < running:
		return wrong()
	case m.Deployed != nil:
		return co.describe(s, m.Deployed)
	case m.Progress != nil:
		s.now = m.Progress.Now
		co.progress()
	case m.Started:
		if s.state = started; co.least() == started && co.control.Started != nil {
			co.control.Started()
		}
	case m.Outcome != nil:
		s.outcome = m.Outcome
	default:
		return wrong()
	}
	return nil
}

// greet checks what a shard says of itself.
func (co *coordinator) greet(s *remote, h *hello) error {
	refuse := func(format string, args ...any) error { return &Error{s.Name, fmt.Errorf(format, args...)} }
	switch {
	case h.Protocol != protocol:
		return refuse("it speaks version %d of the protocol, this csiglab %d: it is another csiglab; make the image of this one (csiglab image)", h.Protocol, protocol)
	case h.Build != modules.Build():
		return refuse("it is a csiglab with other modules; make the image of this one (csiglab image)")
	case co.run.Identity != "" && h.Identity != co.run.Identity:
		return refuse("it is another csiglab, %s, and this one is %s: their results could differ; make the image of this one (csiglab image)", h.Identity, co.run.Identity)
	case co.run.Wall != nil && !h.Tunnels:
		return refuse("%w: it may not make the tunnels that clock wall needs", backend.ErrUnavailable)
	}
	if s.Address == "" {
		s.Address = h.Address
	}
	s.state = ordered
	return nil
}

// least returns the state that all shards have reached.
func (co *coordinator) least() state {
	least := started
	for _, s := range co.shards {
		least = min(least, s.state)
	}
	return least
}

// advance sends what follows when all shards have reached a state.
func (co *coordinator) advance(to state) error {
	switch to {
	case ordered:
		return co.order()
	case ready:
		co.tell(message{Go: true})
		for _, s := range co.shards {
			s.state = running
		}
	}
	return nil
}

// order sends each shard its part of the run.
func (co *coordinator) order() error {
	authority, err := backend.NewAuthority(co.run.ID)
	if err != nil {
		return err
	}
	experiment, err := os.ReadFile(filepath.Join(co.run.Folder, runfolder.ExperimentFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var addresses []string
	for _, s := range co.shards {
		addresses = append(addresses, s.Address)
	}
	for i, s := range co.shards {
		r := *co.run
		part := &backend.Part{Index: i, Of: co.of, Names: co.names, Addresses: addresses}
		if part.Credentials, err = authority.Issue(i); err != nil {
			return err
		}
		r.Part, r.Shards = part, len(co.shards)
		go func() {
			s.stream.send(message{Order: &order{r, experiment}}) //nolint:errcheck // the reader sees the connection end
			s.stream.showLife()
		}()
	}
	return nil
}

// tell sends a message to all shards.
func (co *coordinator) tell(m message) {
	for _, s := range co.shards {
		go s.stream.send(m) //nolint:errcheck // the reader sees the connection end
	}
}

// missing returns the error of a phase that has taken too long.
func (co *coordinator) missing(at state) error {
	var late []string
	for _, s := range co.shards {
		if s.state == at {
			late = append(late, s.Name)
		}
	}
	what, within := "to say hello", helloWithin
	if at == ordered {
		what, within = "to be ready", readyWithin
	}
	return fmt.Errorf("%s: took more than %v %s; no shard was started", strings.Join(late, ", "), within, what)
}

// describe notes the nodes and links of a shard, and hands on those of the whole run once
// all shards have told theirs.
func (co *coordinator) describe(s *remote, d *deployed) error {
	g := co.run.Plan.Graph
	for _, n := range d.Nodes {
		i := slices.IndexFunc(g.Nodes, func(o topologies.Node) bool { return o.Name == n.Name })
		if i < 0 || co.of[i] != s.index {
			return &Error{s.Name, fmt.Errorf("%w: node %q is not one of its own", errProtocol, n.Name)}
		}
		place := s.Place
		if n.Shard = &place; place.Pod != "" {
			n.Metrics = "" // no socket that could be reached here
		}
		co.nodes[i] = n
	}
	names := g.LinkNames()
	for _, l := range d.Links {
		i := slices.Index(names, l.Name)
		if i < 0 {
			continue
		}
		// The description of a link of two other shards is theirs.
		if link := g.Links[i]; co.of[link.A.Node] == s.index || co.of[link.B.Node] == s.index {
			co.links[i] = l
		}
	}
	s.deployed = true
	for _, s := range co.shards {
		if !s.deployed {
			return nil
		}
	}
	if co.control.Deployed == nil {
		return nil
	}
	return co.control.Deployed(slices.Clone(co.nodes), slices.Clone(co.links))
}

// progress reports the model time that all shards have passed.
func (co *coordinator) progress() {
	now := units.Never
	for _, s := range co.shards {
		now = min(now, s.now)
	}
	if now != units.Never && co.control.Progress != nil {
		co.control.Progress(now, 0)
	}
}

// over reports whether all shards have sent their outcome.
func (co *coordinator) over() bool {
	return !slices.ContainsFunc(co.shards, func(s *remote) bool { return s.outcome == nil })
}

func (co *coordinator) outcome() (*backend.Outcome, error) {
	var parts []*backend.Outcome
	for _, s := range co.shards {
		parts = append(parts, s.outcome)
	}
	return backend.Merge(co.run, co.of, parts)
}

// fate returns why a shard has ended, "" if that is not known.
func (s *remote) fate(ctx context.Context) string {
	if s.Fate == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, fateWithin)
	defer cancel()
	return s.Fate(ctx)
}

// broke returns the error of a connection that has ended, with the reason if it is known.
func (s *remote) broke(ctx context.Context, err error) error {
	if !errors.Is(err, errProtocol) {
		if why := s.fate(ctx); why != "" {
			return errors.New(why)
		}
	}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the connection broke")
	case errors.Is(err, errProtocol):
		return err
	}
	return fmt.Errorf("the connection broke: %w", err)
}

// explain adds to the error of a shard that cannot reach another one what is known of that.
func (co *coordinator) explain(ctx context.Context, err error, part *gateway.PartError) error {
	for _, s := range co.shards {
		if s.Name != part.Part {
			continue
		}
		if why := s.fate(ctx); why != "" {
			return fmt.Errorf("%w; %s", err, why)
		}
	}
	return err
}

// stop tells all shards to remove what they have made, and waits until they have.
func (co *coordinator) stop(failed bool) {
	co.tell(message{Stop: true})
	within := time.NewTimer(stopWithin)
	defer within.Stop()
	for {
		left := slices.IndexFunc(co.shards, func(s *remote) bool { return !s.ended })
		if left < 0 {
			return
		}
		select {
		case e := <-co.events:
			e.from.ended = e.from.ended || e.err != nil
		case <-within.C:
			if failed && co.control.Note != nil {
				co.control.Note(fmt.Sprintf("%s has not removed its part within %v", co.shards[left].Name, stopWithin))
			}
			for _, s := range co.shards {
				s.Conn.Close()
			}
			return
		}
	}
}
