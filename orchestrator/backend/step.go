package backend

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/gateway"
	"github.com/csiglab/csiglab/nodes/emu/lockstep/shared"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/units"
)

// tick is how often the state of a run under way is checked.
const tick = 20 * time.Millisecond

// step runs the nodes under the lockstep clock.
func step(ctx context.Context, c *crew, control Control) (*Outcome, error) {
	if c.run.Processes == OneProcess {
		return stepInside(ctx, c, control.progress())
	}
	board, err := shared.New(len(c.configs), c.links, c.run.Plan.End)
	if err != nil {
		return nil, err
	}
	defer board.Close()
	other, err := joinParts(ctx, c, board)
	if err != nil {
		return nil, err
	}
	defer other.close()
	start := func() error {
		if err := c.startProcesses(ctx, board.File); err != nil {
			return err
		}
		return control.deployed(c.deployment, c.run, c.pids(), c.exposed)
	}
	if err := start(); err != nil {
		other.fail(err)
		return nil, err
	}
	out, err := stepProcesses(ctx, c, board, other, control)
	if err != nil || other == nil {
		other.fail(err)
		return out, err
	}
	out.Cut, err = c.net.stubs.count(c.run, other.result)
	return out, err
}

// stepInside drives all nodes in this process.
func stepInside(ctx context.Context, c *crew, progress func(units.Time)) (*Outcome, error) {
	if err := c.openInside(); err != nil {
		return nil, err
	}
	pool, err := shared.NewPool(c.insideNodes(), c.links, c.run.Plan.End)
	if err != nil {
		return nil, err
	}
	c.started = time.Now()
	done := make(chan error, 1)
	go func() { done <- pool.Run(ctx, runtime.GOMAXPROCS(0)) }()
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for running := true; running; {
		select {
		case err := <-done:
			if err != nil {
				return nil, err
			}
			running = false
		case <-ticker.C:
			progress(pool.Now())
		}
	}
	out := new(Outcome)
	out.End, out.Grants, out.Drained = pool.End(), pool.Grants(), c.drained(pool.End())
	return out, c.addInside(out)
}

// stepProcesses waits until every process has reported, and the other parts of the run have
// ended. It returns the first error: a process failed, another part is gone, the run stands
// still, or ctx has ended, which gives its cause.
func stepProcesses(ctx context.Context, c *crew, board *shared.Board, other *otherParts, control Control) (*Outcome, error) {
	out, progress := new(Outcome), control.progress()
	dog := watchdog{crew: c, board: board, control: control}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for running, others := len(c.processes), other.ends(); running > 0 || others != nil; {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-others:
			if other.err != nil {
				return nil, other.err
			}
			others = nil
		case e := <-c.ends:
			if err := c.failure(e); err != nil {
				return nil, err
			}
			c.add(out, e)
			running--
		case now := <-ticker.C:
			if c.started.IsZero() && board.Grants() > 0 {
				c.started = now
			}
			progress(board.Earliest())
			if err := dog.look(now); err != nil {
				return nil, other.insteadOf(err)
			}
		}
	}
	if c.started.IsZero() {
		c.started = time.Now()
	}
	out.Grants, out.End = board.Grants(), board.End()
	if other != nil {
		out.End = other.end
	}
	out.Drained = c.drained(out.End)
	return out, nil
}

// watchdog finds, when no node advances, the node that the others wait for, or the part of
// the run that this one waits for.
type watchdog struct {
	crew    *crew
	board   *shared.Board
	control Control
	grants  int64
	least   units.Time // the smallest bound of all nodes
	moved   time.Time
	said    bool // that this part waits for another
}

// Limits of a halt. After stoppedAfter without a turn, a process that is stopped by
// a signal is named as the cause. After haltedAfter and twice the frame timeout, in
// which a node can report a missing frame, any node that owes a turn is named. So long after
// that, a part of the run that does not move is named which neither names one of its nodes
// nor is silent (gateway.Config.Silence).
const (
	stoppedAfter = time.Second
	haltedAfter  = 5 * time.Second
	sayPartAfter = 3 * time.Second
	partAfter    = gateway.DefaultSilence
)

func (w *watchdog) look(now time.Time) error {
	board := w.board
	if g, least := board.Grants(), board.Earliest(); g != w.grants || least != w.least || w.moved.IsZero() {
		w.grants, w.least, w.moved, w.said = g, least, now, false
		return nil
	}
	still := now.Sub(w.moved)
	if still < stoppedAfter || board.Earliest() == units.Never {
		return nil
	}
	for _, p := range w.crew.processes {
		if runs.Stopped(p.pid) {
			return &NodeError{Name: p.name, Reason: "is stopped and all others wait for it"}
		}
	}
	limit := w.crew.run.FrameTimeout
	if limit == 0 {
		limit = emu.DefaultFrameTimeout
	}
	limit = 2*limit + haltedAfter
	owes, holder := board.Stuck(), board.Holder()
	if len(owes) == 0 && holder < 0 && w.crew.run.Part != nil {
		return w.await(still, limit+partAfter)
	}
	if still < limit {
		return nil
	}
	if holder >= 0 {
		owes = []int{holder}
	}
	var names []string
	for _, n := range owes {
		names = append(names, w.crew.configs[n].Name)
	}
	if len(names) == 0 {
		return errors.New("all nodes wait and none may advance")
	}
	return &NodeError{Name: strings.Join(names, ", "), Reason: fmt.Sprintf("has not taken its turn for %v", still.Round(time.Second))}
}

// await is look where every node of this part waits for other parts.
func (w *watchdog) await(still, limit time.Duration) error {
	part := w.crew.run.Part
	var parts []string
	for _, p := range w.board.Awaited() {
		parts = append(parts, part.Names[p])
	}
	names := strings.Join(parts, ", ")
	if still >= limit {
		return &gateway.PartError{Part: names, Reason: fmt.Sprintf("has not advanced for %v, and all nodes of %s wait for it", still.Round(time.Second), part.Names[part.Index])}
	}
	if still >= sayPartAfter && !w.said {
		w.said = true
		w.control.SayWaiting("%s to advance", names)
	}
	return nil
}
