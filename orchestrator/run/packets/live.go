package packets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/csiglab/csiglab/nodes/capture"
	"github.com/csiglab/csiglab/nodes/capture/spool"
	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// Live captures the packets of a link of a run in real time, from now on, at both of its
// ends or at one. The nodes there send them.
type Live struct {
	Run      runs.Run
	Link     string        // may be empty if End has one link only
	End      string        // node at the only end to capture; empty: both
	Duration time.Duration // wall time; 0: until ctx or the run ends
	Packets  int           // 0: any number
	Announce func(string)  // called when the capture has begun; may be nil
}

// Captured is the result of a capture of a run under way.
type Captured struct {
	Packets int
	Missed  int64 // packets for which the capture was too slow
	Ended   bool  // the capture ended because the run has ended
}

// Times of a live capture, in wall time.
const (
	answerWithin = 5 * time.Second
	// heldFor is how long a packet is held back: an earlier packet of the other end
	// may still arrive.
	heldFor = 300 * time.Millisecond
	// shownEvery is how often packets are written.
	shownEvery = 100 * time.Millisecond
)

// Write writes packets as pcapng as they come. When ctx ends, so does the capture,
// in order and without an error. The error wraps failure.ErrConfiguration if the run has
// no such link, and failure.ErrInfrastructure if it cannot be captured.
func (c Live) Write(ctx context.Context, out io.Writer) (*Captured, error) {
	link, err := chooseLink(c.Link, c.End, c.joints())
	if err != nil {
		return nil, failure.Configuration(err)
	}
	c.Link = link
	ends, err := c.ends()
	if err != nil {
		return nil, failure.Configuration(err)
	}
	sources, about, err := c.listen(ends)
	defer func() {
		for _, s := range sources {
			s.Close()
		}
	}()
	if err != nil {
		return nil, failure.Infrastructure(fmt.Errorf("capture %s of run %s: %w", c.Link, c.Run.ID, err))
	}
	cfg, err := c.config(about)
	if err != nil {
		return nil, err
	}
	w, err := capture.NewWriter(out, cfg)
	if err != nil {
		return nil, failure.Infrastructure(err)
	}
	if err := w.Flush(); err != nil {
		return nil, failure.Infrastructure(err)
	}
	if c.Announce != nil {
		names := make([]string, len(cfg.Ports))
		for i, p := range cfg.Ports {
			names[i] = p.Name
		}
		c.Announce("captures " + strings.Join(names, " and "))
	}
	got, err := c.merge(ctx, sources, w)
	if err = errors.Join(err, w.Close()); err != nil {
		return got, failure.Infrastructure(err)
	}
	return got, nil
}

// liveEnd is one end of the link.
type liveEnd struct{ node, port int }

// joints returns the links of the run.
func (c Live) joints() []joint {
	var list []joint
	for _, l := range c.Run.Links {
		if len(l.Nodes) == 2 {
			list = append(list, joint{l.Name, [2]string{l.Nodes[0], l.Nodes[1]}})
		}
	}
	return list
}

// ends finds the ends of the link that are captured. The end of the node with which the
// link's name begins comes first.
func (c Live) ends() ([]liveEnd, error) {
	var names []string
	for _, l := range c.Run.Links {
		names = append(names, l.Name)
		if l.Name != c.Link {
			continue
		}
		var ends []liveEnd
		for _, name := range l.Nodes {
			if c.End != "" && name != c.End {
				continue
			}
			node := slices.IndexFunc(c.Run.Nodes, func(n runs.Node) bool { return n.Name == name })
			if node < 0 {
				return nil, fmt.Errorf("capture %s: run %s has no node %s", c.Link, c.Run.ID, name)
			}
			if c.Run.Nodes[node].Foreign {
				continue
			}
			port := slices.IndexFunc(c.Run.Nodes[node].Interfaces, func(i runs.Interface) bool { return i.Link == c.Link })
			ends = append(ends, liveEnd{node, port})
		}
		if len(ends) == 0 {
			return nil, fmt.Errorf("capture %s: packets are captured in csiglab's nodes, and there is none at this end; csiglab exec starts a program such as tcpdump there", c.Link)
		}
		return ends, nil
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("run %s has no links yet", c.Run.ID)
	}
	return nil, fmt.Errorf("capture %w; csiglab inspect %s lists all", plan.UnknownLink(c.Link, names), c.Run.ID)
}

// listen requests the packets from the nodes and waits for their answers. The caller
// closes the sources, also after an error.
func (c Live) listen(ends []liveEnd) (sources []*spool.Source, about string, err error) {
	folder := c.Run.NodeFolder
	for _, end := range ends {
		s, err := spool.Listen(folder, end.node, end.port)
		if err != nil {
			return sources, "", err
		}
		sources = append(sources, s)
		block, err := wall.FindControlBlock(c.Run.Nodes[end.node].PID, len(c.Run.Nodes))
		if err != nil {
			return sources, "", err
		}
		block.RequestCapture(end.node)
		if err := block.Close(); err != nil {
			return sources, "", err
		}
	}
	for i, s := range sources {
		hello, err := s.Hello(answerWithin)
		if err != nil {
			return sources, "", fmt.Errorf("node %s: %w", c.Run.Nodes[ends[i].node].Name, err)
		}
		about = hello.About
	}
	return sources, about, nil
}

// config returns how to read the packets of a variant.
func (c Live) config(variant string) (capture.Config, error) {
	e, err := experimentOf(c.Run.Folder, variant)
	if err != nil {
		return capture.Config{}, err
	}
	e.Capture = []string{c.Link}
	compiled, err := plan.Compile(e, e.Seeds[0])
	if err != nil {
		return capture.Config{}, err
	}
	cfg := compiled.Capture()
	cfg.Ports = onlyEnd(cfg.Ports, compiled.Graph, c.End)
	cfg.Comment = fmt.Sprintf("run %s, variant %s; times are model time from the start of the run", c.Run.ID, variant)
	cfg.Unordered = true
	return cfg, nil
}

// arrived is a record of a source, nil when that has ended.
type arrived struct {
	record *spool.Record
	err    error
	at     time.Time
}

// merge writes the records of the sources. Each gets the index of its source.
func (c Live) merge(ctx context.Context, sources []*spool.Source, w *capture.Writer) (*Captured, error) {
	records, stop := make(chan arrived, 1024), make(chan struct{})
	defer close(stop)
	for place, s := range sources {
		go func() {
			for {
				r, err := s.Read()
				if r != nil {
					r.Port = place
				}
				select {
				case records <- arrived{r, err, time.Now()}:
				case <-stop:
					return
				}
				if err != nil {
					return
				}
			}
		}()
	}
	var limit <-chan time.Time
	if c.Duration > 0 {
		timer := time.NewTimer(c.Duration)
		defer timer.Stop()
		limit = timer.C
	}
	ticker := time.NewTicker(shownEvery)
	defer ticker.Stop()
	got := new(Captured)
	var held []arrived
	// show writes, in the order of model time, the records that arrived by then and
	// those with earlier model times. more is false when Packets have been written.
	show := func(then time.Time) (more bool, err error) {
		slices.SortStableFunc(held, func(a, b arrived) int { return cmp.Compare(a.record.At, b.record.At) })
		due := 0
		for i, a := range held {
			if !a.at.After(then) {
				due = i + 1
			}
		}
		for _, a := range held[:due] {
			if c.Packets > 0 && got.Packets == c.Packets {
				break
			}
			w.Write(*a.record)
			got.Packets++
			got.Missed += a.record.Missed
		}
		held = slices.Delete(held, 0, due)
		return c.Packets == 0 || got.Packets < c.Packets, w.Flush()
	}
	for left := len(sources); ; {
		select {
		case <-ctx.Done():
			_, err := show(time.Now())
			return got, err
		case <-limit:
			_, err := show(time.Now())
			return got, err
		case a := <-records:
			switch {
			case errors.Is(a.err, io.EOF):
				if left--; left == 0 {
					got.Ended = true
					_, err := show(time.Now())
					return got, err
				}
			case a.err != nil:
				return got, a.err
			default:
				held = append(held, a)
			}
		case now := <-ticker.C:
			if more, err := show(now.Add(-heldFor)); err != nil || !more {
				return got, err
			}
		}
	}
}
