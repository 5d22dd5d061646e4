package top

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/csiglab/csiglab/orchestrator/labs/live"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// Watch looks at a lab again and again.
type Watch struct {
	Run      *runs.Run
	Reader   *live.Reader
	Interval time.Duration                             // between two looks
	List     func(context.Context) ([]runs.Run, error) // of runs and labs
	before   *Moment
}

// ErrEnded reports that the lab is no longer there.
var ErrEnded = errors.New("the lab has ended")

// look returns the table of the time since the last look, nil at the first one. The error
// is ErrEnded, or says that the list of runs cannot be read.
func (w *Watch) look(ctx context.Context, size Size) ([]string, error) {
	now := NewMoment(w.before, w.Reader.Read(ctx))
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if len(now.Silent) > 0 {
		if err := w.ended(ctx); err != nil {
			return nil, err
		}
	}
	before := w.before
	w.before = now
	return NewView(before, now, w.Run.Lateness).Table(w.Run.Name+" "+w.Run.ID, size), nil
}

// ended returns ErrEnded if the lab is no longer on the list, or its csiglab is gone.
func (w *Watch) ended(ctx context.Context) error {
	list, err := w.List(ctx)
	if err != nil {
		return err
	}
	for _, r := range list {
		if r.ID == w.Run.ID && r.State != runs.Dead && r.End == nil {
			return nil
		}
	}
	return ErrEnded
}

// Print prints the table of one interval.
func (w *Watch) Print(ctx context.Context, to io.Writer, size Size) error {
	if _, err := w.look(ctx, size); err != nil {
		return err
	}
	if err := pause(ctx, w.Interval); err != nil {
		return err
	}
	lines, err := w.look(ctx, size)
	if err != nil {
		return err
	}
	return Print(to, lines)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// Draw draws the table on a terminal until the user or the lab ends it. What the user does
// is no error.
func (w *Watch) Draw(ctx context.Context, out, in *os.File) error {
	screen, err := OpenScreen(out, in)
	if err != nil {
		return err
	}
	defer screen.Close()
	ctx, quit := context.WithCancel(ctx)
	defer quit()
	go func() {
		for {
			select {
			case key := <-screen.Keys():
				if Quits(key) {
					quit()
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		next := time.Now().Add(w.Interval)
		lines, err := w.look(ctx, screen.Size())
		if err == nil {
			err = screen.Draw(lines)
		}
		if err == nil {
			err = pause(ctx, time.Until(next))
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
	}
}
