// Package batch performs trials on a cluster: many at a time, as the indices of an Indexed
// Job, each a pod that runs csiglab once. Runner is the side of the user, Serve that of the
// pod.
//
//	trial.Each ──▶ Runner ── Job, ConfigMap ──▶ pods: Serve ──▶ trial.Local ──▶ csiglab run
//	                  ◀── outcomes, in each pod's log ──┘            └─▶ claim or object store
package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/client-go/applyconfigurations/batch/v1"
	corev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/csiglab/csiglab/orchestrator/cluster"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
)

// Objects makes and removes what a Job consists of; see cluster.Cluster.
type Objects interface {
	PodSpec(image string, args []string, capabilities []string) *corev1.PodSpecApplyConfiguration
	Job(ctx context.Context, run, part string, spec *batchv1.JobSpecApplyConfiguration) (name string, err error)
	Config(ctx context.Context, job string, data map[string][]byte) error
	Secret(ctx context.Context, job string, data map[string][]byte) error
	Remove(ctx context.Context, run string) error
}

// Observer follows Jobs; see cluster.Cluster.
type Observer interface {
	Watch(ctx context.Context, job string, state func(cluster.JobState), pod func(cluster.Pod)) error
	Logs(ctx context.Context, pod string) (io.ReadCloser, error)
}

// Cluster is what trials need of a cluster. cluster.Cluster is one.
type Cluster interface {
	Objects
	Observer
}

var _ Cluster = (*cluster.Cluster)(nil)

// Bounds of a Job. Kubernetes takes 100,000 indices with a limit of failures each, and more
// than 10,000 pods at a time of none (validation of batch/v1); 1 MiB is the most that a
// ConfigMap has.
const (
	MostTrials  = 10_000
	mostPayload = 1000 << 10 // bytes, compressed; the rest of the MiB is for names
)

// mostPods is how many pods of a Job exist at a time unless Runner.Parallel says otherwise.
// Those that the nodes have no room for wait, and each costs the scheduler some work.
const mostPods = 500

// NewID returns an id for a sweep or campaign of a name: lower case, with a random end, and
// short enough for the names of Jobs and their pods.
func NewID(kind, name string) string {
	const most = 16
	var b strings.Builder
	for _, c := range strings.ToLower(name) {
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9') {
			c = '-'
		}
		if b.Len() < most && (c != '-' || b.Len() > 0) {
			b.WriteRune(c)
		}
	}
	return strings.Trim(kind+"-"+strings.Trim(b.String(), "-"), "-") + fmt.Sprintf("-%08x", rand.Uint32())
}

// quietTime is how long no further trial is asked for before a Job is made.
const quietTime = 100 * time.Millisecond

// mostRounds is how many Jobs a trial is part of whose outcome cannot be read.
const mostRounds = 3

// Runner is a trial.Runner whose trials run in a cluster. It collects the trials that are
// asked for at about the same time, and makes one Job of them. So a caller asks for all
// trials at once; Parallel bounds how many run at a time. The caller ends with Close.
type Runner struct {
	Cluster  Cluster
	Image    string
	ID       string  // of the sweep or campaign, for names in the cluster; see NewID
	Parallel int     // the most pods at a time; 0: mostPods. Runs in real time go one by one
	Results  Results // where whole run folders go; the zero value: nowhere
	// Say receives remarks for the user, from several goroutines at once; may be nil.
	Say func(text string)

	patience, pause, quiet time.Duration // 0: stuckTime, againTime, quietTime; tests set them

	mu      sync.Mutex
	waiting []*request
	timer   *time.Timer
	settled bool // no trial was asked for since the quiet time
	left    int  // trials of Jobs under way without outcome
	jobs    int  // made so far
	runs    []string
	closed  bool
	tasks   map[*task]bool
	under   sync.WaitGroup // Jobs under way
}

// request is a trial that was asked for.
type request struct {
	trial  trial.Trial
	done   chan result
	ctx    context.Context // of who asked
	rounds int             // Jobs that it was part of

	answered bool
}

type result struct {
	outcome trial.Outcome
	err     error
}

// errClosed: Run after Close.
var errClosed = errors.New("the runner is closed")

// Run implements trial.Runner. The error is the context's; or of class
// failure.ErrConfiguration: the image lacks the program, or the experiment is too large for
// a Job; or of class failure.ErrInfrastructure: the cluster is at fault.
func (r *Runner) Run(ctx context.Context, t trial.Trial) (trial.Outcome, error) {
	q := &request{trial: t, done: make(chan result, 1), ctx: ctx}
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return trial.Outcome{}, errClosed
	}
	r.waiting, r.settled = append(r.waiting, q), false
	quiet := cmp.Or(r.quiet, quietTime)
	if r.timer == nil {
		r.timer = time.AfterFunc(quiet, r.settle)
	} else {
		r.timer.Reset(quiet)
	}
	r.consider()
	r.mu.Unlock()
	select {
	case res := <-q.done:
		return res.outcome, res.err
	case <-ctx.Done():
		r.mu.Lock()
		r.drop()
		r.mu.Unlock()
		return trial.Outcome{}, ctx.Err()
	}
}

// settle makes Jobs of what waits.
func (r *Runner) settle() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settled = true
	r.consider()
}

// consider makes a Job of the trials that wait, unless there will soon be more of them: while
// a Job is under way, each of its outcomes lets the caller ask for another trial. So the
// next Job is made when the last ones have fewer left than wait.
func (r *Runner) consider() {
	r.waiting = slices.DeleteFunc(r.waiting, func(q *request) bool { return q.ctx.Err() != nil })
	for n := len(r.waiting); n > 0 && !r.closed; n = len(r.waiting) {
		if n < MostTrials && (!r.settled || n < MostTrials/2 && n < r.left) {
			return
		}
		n = min(n, MostTrials)
		part := slices.Clone(r.waiting[:n])
		r.waiting = slices.Delete(r.waiting, 0, n)
		r.left += n
		r.under.Go(func() { r.perform(part) })
	}
}

// task is work for trials, which ends when nobody waits for them.
type task struct {
	requests []*request
	cancel   context.CancelCauseFunc
}

// begin begins a task. The caller ends it with end.
func (r *Runner) begin(requests []*request) (context.Context, *task) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(requests[0].ctx))
	t := &task{requests, cancel}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tasks == nil {
		r.tasks = map[*task]bool{}
	}
	r.tasks[t] = true
	r.drop()
	return ctx, t
}

func (r *Runner) end(t *task) {
	t.cancel(nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.tasks, t)
}

// drop ends the tasks whose trials nobody waits for any more.
func (r *Runner) drop() {
	for t := range r.tasks {
		if r.closed {
			t.cancel(errClosed)
		} else if !slices.ContainsFunc(t.requests, func(q *request) bool { return q.ctx.Err() == nil }) {
			t.cancel(context.Canceled)
		}
	}
}

// Close ends the Jobs under way and removes what the runner has made in the cluster. The
// context bounds how long that may take.
func (r *Runner) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	if r.timer != nil {
		r.timer.Stop()
	}
	r.drop()
	for _, q := range r.waiting {
		q.done <- result{err: errClosed}
	}
	r.waiting = nil
	r.mu.Unlock()
	r.under.Wait() // all of it ends with the contexts
	var errs []error
	for _, run := range r.remaining() {
		if err := r.remove(ctx, run); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// remaining returns the runs that were not removed yet.
func (r *Runner) remaining() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.runs)
}

// remove removes a Job with all that it has.
func (r *Runner) remove(ctx context.Context, run string) error {
	if err := r.Cluster.Remove(ctx, run); err != nil {
		return failure.Infrastructure(fmt.Errorf("remove Job of %s: %w", run, err))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs = slices.DeleteFunc(r.runs, func(other string) bool { return other == run })
	return nil
}

func (r *Runner) say(format string, args ...any) {
	if r.Say != nil {
		r.Say(fmt.Sprintf(format, args...))
	}
}

// perform performs trials, in as many Jobs as it takes.
func (r *Runner) perform(requests []*request) {
	ctx, t := r.begin(requests)
	parts, err := r.pack(ctx, requests)
	r.end(t)
	if err != nil {
		r.answer(requests, err)
		return
	}
	for _, p := range parts {
		r.under.Go(func() { r.rounds(p) })
	}
}

// rounds makes a Job of trials, and further ones of those whose outcome cannot be read.
func (r *Runner) rounds(p *parcel) {
	for {
		missing, err := r.one(p)
		if err != nil {
			r.answer(p.requests, err)
			return
		}
		if len(missing) == 0 {
			return
		}
		var again []*request
		for _, q := range missing {
			if q.rounds++; q.rounds < mostRounds {
				again = append(again, q)
				continue
			}
			r.deliver(q, result{outcome: trial.Outcome{Exit: 3, Reasons: []string{fmt.Sprintf("its outcome could not be read in %d Jobs", mostRounds)}}})
		}
		if len(again) == 0 {
			return
		}
		if p, err = p.of(again); err != nil {
			r.answer(again, err)
			return
		}
	}
}

// one makes a Job of a parcel and returns the trials whose outcome it could not read.
func (r *Runner) one(p *parcel) (missing []*request, err error) {
	ctx, t := r.begin(p.requests)
	defer r.end(t)
	r.mu.Lock()
	r.jobs++
	j := newJob(r, p, fmt.Sprintf("%s-%d", r.ID, r.jobs))
	r.runs = append(r.runs, j.run)
	r.mu.Unlock()
	if missing, err = j.perform(ctx); err == nil {
		// Those who wait have their outcomes. What cannot be removed now, Close tries again.
		r.remove(ctx, j.run) //nolint:errcheck // as above
	}
	return missing, err
}

// answer gives an error to all trials that have no outcome yet.
func (r *Runner) answer(requests []*request, err error) {
	for _, q := range requests {
		r.deliver(q, result{err: err})
	}
}

// deliver answers who asked for a trial. Only the first answer counts.
func (r *Runner) deliver(q *request, res result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.answered {
		return
	}
	q.answered = true
	q.done <- res
	r.left--
	r.consider()
}
