package cluster

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Logs follows the log of a pod's container from its begin. It waits until the container
// starts, and reads until it has ended: then Read returns io.EOF. When a connection breaks it
// makes another one, and goes on behind the last whole line that it has passed on: a line is
// neither lost nor repeated, as long as the node keeps it (containerLogMaxSize, 10 MiB). Read
// returns an error that wraps ErrGone when the pod, and its log, exist no more before all was
// read; ErrForbidden; and ErrUnreachable after a minute without an answer. Read passes on whole
// lines only, but for a last one without an end. Close ends the reading; so does ctx.
func (c *Cluster) Logs(ctx context.Context, pod string) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	r, w := io.Pipe()
	l := &logReader{PipeReader: r, cancel: cancel, done: make(chan struct{})}
	f := &follower{Cluster: c, pod: pod, out: w, answered: time.Now()}
	go func() {
		defer close(l.done)
		err := f.follow(ctx)
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		w.CloseWithError(err) // nil: io.EOF
	}()
	return l, nil
}

// logReader is what Logs returns.
type logReader struct {
	*io.PipeReader
	cancel context.CancelFunc
	done   chan struct{}
}

func (l *logReader) Close() error {
	l.cancel()
	err := l.PipeReader.Close()
	<-l.done
	return err
}

// follower reads the log of one pod over as many connections as it needs. Each line comes
// with the time at which its node took it; a new connection starts at the second of the last
// line, and lines up to it are dropped.
type follower struct {
	*Cluster
	pod      string
	out      *io.PipeWriter
	answered time.Time
	last     string // time of the last line that was passed on, as the server writes it
	same     int    // lines of that time that were passed on
}

func (f *follower) follow(ctx context.Context) error {
	for {
		// The pod's state comes first: if its container had ended before the log was read
		// to its end, then that was all of the log.
		ended, err := f.ended(ctx)
		if err == nil {
			err = f.read(ctx, !ended)
			if err == nil && ended {
				return nil
			}
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, errNotStarted):
			f.answered = time.Now()
		case err != nil && (!temporary(err) || errors.Is(err, io.ErrClosedPipe)):
			return err
		case err != nil && time.Since(f.answered) > f.times.patience:
			return fmt.Errorf("read the log of pod %s: no answer for %v: %w", f.pod, f.times.patience, err)
		}
		pause := f.times.retry
		if err == nil {
			pause /= 10 // the connection has ended in order, most likely with the container
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// errNotStarted says that a container has no log yet.
var errNotStarted = errors.New("the container has not started")

// ended reports whether the pod's container has ended.
func (f *follower) ended(ctx context.Context) (bool, error) {
	asked, cancel := call(ctx)
	defer cancel()
	p, err := f.client.CoreV1().Pods(f.Namespace).Get(asked, f.pod, metav1.GetOptions{})
	if err != nil {
		return false, f.explain("read the log of pod "+f.pod, err)
	}
	d := describe(p, nil)
	switch {
	case d.Phase == Ended && d.Err != nil:
		return false, fmt.Errorf("read the log of pod %s: %w", f.pod, d.Err)
	case d.Phase == Gone:
		return false, fmt.Errorf("%w: read the log of pod %s: %s", ErrGone, f.pod, d.Reason)
	case d.Phase == Waiting:
		return false, errNotStarted
	}
	return d.Phase == Ended, nil
}

// read passes on the lines of one connection, from behind the last one.
func (f *follower) read(ctx context.Context, follow bool) error {
	o := &corev1.PodLogOptions{Container: container, Follow: follow, Timestamps: true}
	if f.last != "" {
		since, err := time.Parse(time.RFC3339Nano, f.last)
		if err != nil {
			return fmt.Errorf("%w: read the log of pod %s: time %q of a line: %w", ErrRefused, f.pod, f.last, err)
		}
		o.SinceTime = &metav1.Time{Time: since}
	}
	stream, err := f.client.CoreV1().Pods(f.Namespace).GetLogs(f.pod, o).Stream(ctx)
	if err != nil {
		var status apierrors.APIStatus
		if errors.As(err, &status) && status.Status().Code == http.StatusBadRequest && strings.Contains(status.Status().Message, "waiting to start") {
			return errNotStarted
		}
		return f.explain("read the log of pod "+f.pod, err)
	}
	defer stream.Close()
	f.answered = time.Now()
	return f.pass(stream, !follow)
}

// pass passes on the lines of a stream that are new. whole says that an end of the stream is
// the log's own.
func (f *follower) pass(stream io.Reader, whole bool) error {
	lines := bufio.NewReader(stream)
	seen := 0 // lines of time f.last in this stream
	if f.last == "" {
		seen = -1
	}
	resume := f.last
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return f.explain("read the log of pod "+f.pod, err)
		}
		if err == io.EOF && (len(line) == 0 || !whole) {
			return nil // without the end of its last line, which the next connection has
		}
		f.answered = time.Now()
		stamp, text, found := bytes.Cut(line, []byte(" "))
		if !found {
			return fmt.Errorf("%w: read the log of pod %s: line %q has no time", ErrRefused, f.pod, line)
		}
		at := string(stamp)
		if seen >= 0 {
			order, wrong := compareTimes(at, resume)
			switch {
			case wrong != nil:
				return fmt.Errorf("%w: read the log of pod %s: line %q: %w", ErrRefused, f.pod, line, wrong)
			case order < 0:
				continue
			case order == 0:
				if seen++; seen <= f.same {
					continue
				}
			default:
				seen = -1
			}
		}
		if at != f.last {
			f.last, f.same = at, 0
		}
		f.same++
		if _, err := f.out.Write(text); err != nil {
			return err
		}
		if err == io.EOF {
			return nil
		}
	}
}

// compareTimes compares two times as the server writes them, which leave out zeros at the
// end of a fraction.
func compareTimes(a, b string) (int, error) {
	x, err := time.Parse(time.RFC3339Nano, a)
	if err != nil {
		return 0, err
	}
	y, err := time.Parse(time.RFC3339Nano, b)
	return x.Compare(y), err
}
