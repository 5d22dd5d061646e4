package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/csiglab/csiglab/orchestrator/cluster"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
)

// Times of a Job.
const (
	stuckTime = 20 * time.Second // nothing runs and a pod cannot start
	lateTime  = 10 * time.Second // what the Job's end may be ahead of the last pods' ends
	readTime  = 20 * time.Second // for a log after its pod has ended
	againTime = time.Second      // until a log is tried again
	mostReads = 3                // of the log of a pod that has ended
)

// job is a Job of trials under way.
//
//	Watch ──▶ observe ──▶ follow: a log per pod ──▶ receive ──▶ outcome
//	    └───▶ state ────────────────────────────────────────────▶ finish: what has none
type job struct {
	*Runner
	*parcel
	run, name string
	wake      chan struct{} // something has changed

	mu       sync.Mutex
	indices  []index
	pods     map[string]*pod
	state    cluster.JobState
	seen     bool      // state is the Job's
	done     time.Time // when state.Done was first seen
	progress time.Time // when a pod began or ended, or a trial got its outcome
	gone     map[string]bool
	fatal    error
	warned   bool
	follows  sync.WaitGroup
}

// index is what is known of a trial.
type index struct {
	final    bool           // it was answered
	held     *trial.Outcome // with exit code 3, unless another pod does better
	failures int            // pods that count for retries
	reason   string         // of the last of them
	ended    bool           // a pod has ended with an exit code of csiglab run
}

// pod is a pod of the Job.
type pod struct {
	cluster.Pod
	following, followed bool
	counted             bool
	changed             chan struct{} // closed and replaced at each change
	cancel              context.CancelFunc
}

func newJob(r *Runner, p *parcel, run string) *job {
	return &job{Runner: r, parcel: p, run: run, wake: make(chan struct{}, 1), indices: make([]index, len(p.requests)), pods: map[string]*pod{}, gone: map[string]bool{}}
}

// perform makes the Job and answers its trials. It returns those whose outcome it could not
// read.
func (j *job) perform(ctx context.Context) (missing []*request, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer j.follows.Wait()
	defer stop()
	if err := j.make(ctx); err != nil {
		return nil, clusterError(ctx, err)
	}
	j.progress = time.Now()
	watched := make(chan error, 1)
	j.follows.Go(func() {
		watched <- j.Cluster.Watch(ctx, j.name, j.observeJob, func(p cluster.Pod) { j.observe(ctx, p) })
	})
	tick := time.NewTicker(cmp.Or(j.pause, againTime))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case err := <-watched:
			return nil, clusterError(ctx, fmt.Errorf("job %s: %w", j.name, err))
		case <-j.wake:
		case <-tick.C:
		}
		if missing, over, err := j.check(); over || err != nil {
			return missing, err
		}
	}
}

// clusterError returns an error of the cluster as one of the infrastructure, or the
// context's cause.
func clusterError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return failure.Infrastructure(err)
}

// make makes the Job and what its pods mount.
func (j *job) make(ctx context.Context) (err error) {
	if j.needs.guessed {
		j.say("this csiglab does not know all of the experiment, which may be of another version: pods ask for %s of memory", roomy(j.needs.request()))
	}
	if j.name, err = j.Cluster.Job(ctx, j.run, part, j.spec(j.run, len(j.requests), j.needs)); err != nil {
		return err
	}
	if err := j.Cluster.Config(ctx, j.name, map[string][]byte{payloadFile: j.data}); err != nil {
		return err
	}
	if len(j.Results.credentials) == 0 {
		return nil
	}
	data := map[string][]byte{}
	for name, value := range j.Results.credentials {
		data[name] = []byte(value)
	}
	return j.Cluster.Secret(ctx, j.name, data)
}

func (j *job) signal() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// observeJob takes a state of the Job.
func (j *job) observeJob(s cluster.JobState) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.state, j.seen = s, true
	if s.Done && j.done.IsZero() {
		j.done = time.Now()
	}
	j.signal()
}

// observe takes a state of a pod, and follows its log once there is one.
func (j *job) observe(ctx context.Context, now cluster.Pod) {
	j.mu.Lock()
	defer j.mu.Unlock()
	defer j.signal()
	p := j.pods[now.Name]
	if p == nil {
		p = &pod{changed: make(chan struct{})}
		j.pods[now.Name] = p
	}
	if p.Phase != now.Phase && now.Phase != cluster.Waiting {
		j.progress = time.Now()
	}
	p.Pod = now
	close(p.changed)
	p.changed = make(chan struct{})
	if now.Index < 0 || now.Index >= len(j.indices) {
		return
	}
	i := &j.indices[now.Index]
	switch now.Phase {
	case cluster.Gone:
		j.lost(p)
		if p.cancel != nil {
			p.cancel()
		}
	case cluster.Ended:
		switch {
		case now.Disrupted:
			j.lost(p)
		case now.Exit >= 0 && now.Exit <= 2:
			i.ended = true
		case !p.counted:
			p.counted = true
			i.failures++
			i.reason = j.reason(p)
		}
		if p.cancel != nil { // a log may go on without its node
			time.AfterFunc(readTime, p.cancel)
		}
		fallthrough
	case cluster.Running:
		if !p.following && !p.followed && !i.final {
			p.following = true
			j.follows.Go(func() { j.follow(ctx, p) })
		}
	}
}

// lost says once for each node that it is gone.
func (j *job) lost(p *pod) {
	if p.Node == "" || j.gone[p.Node] || j.indices[p.Index].final {
		return
	}
	j.gone[p.Node] = true
	j.say("%s has lost pods (%s); their trials run again", p.Node, p.Reason)
}

// reason says how a pod has ended that has no outcome.
func (j *job) reason(p *pod) string {
	text := fmt.Sprintf("pod %s on %s: ", p.Name, p.Node)
	switch {
	case p.Reason != "":
		text += p.Reason
	default:
		text += fmt.Sprintf("exit code %d", p.Exit)
	}
	const killed = 128 + 9 // SIGKILL
	if p.Exit == killed {
		text += fmt.Sprintf("; its limit of memory is %s", roomy(j.needs.limit()))
	}
	return text
}

// follow reads the log of a pod until it has an outcome, or can have none any more.
func (j *job) follow(ctx context.Context, p *pod) {
	defer func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		p.following, p.followed, p.cancel = false, true, nil
		j.signal()
	}()
	for reads := 0; ctx.Err() == nil; {
		j.mu.Lock()
		read, cancel := context.WithCancel(ctx)
		if p.Phase == cluster.Ended {
			reads++
			read, cancel = context.WithTimeout(ctx, readTime)
		}
		p.cancel = cancel
		name := p.Name
		j.mu.Unlock()
		said, err := j.read(read, name)
		cancel()
		if err == nil && j.receive(p, said) {
			return
		}
		j.mu.Lock()
		phase, changed, exit := p.Phase, p.changed, p.Exit
		if errors.Is(err, errNoReport) && phase == cluster.Ended && reads > 0 && (exit == 1 || exit == 2) {
			j.silent(p)
			j.mu.Unlock()
			return
		}
		j.mu.Unlock()
		if phase == cluster.Gone || phase == cluster.Ended && (reads >= mostReads || reads > 0 && exit > 3) {
			return
		}
		if phase == cluster.Ended && reads == 0 {
			continue
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-time.After(cmp.Or(j.pause, againTime)):
		}
	}
}

// silent takes a pod that has ended with a code of csiglab, which no other pod can change, and
// without an outcome in a log that was whole: the image has something else.
func (j *job) silent(p *pod) {
	i := &j.indices[p.Index]
	if i.reason == "" {
		i.reason = fmt.Sprintf("pod %s on %s: exit code %d without an outcome; is image %s one of csiglab image push? it said: %s", p.Name, p.Node, p.Exit, j.Image, strings.TrimSpace(p.Message))
	}
	i.failures++
}

// read reads the report in a pod's log.
func (j *job) read(ctx context.Context, pod string) (*report, error) {
	log, err := j.Cluster.Logs(ctx, pod)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { log.Close() }) //nolint:errcheck // the read ends
	defer func() {
		if stop() {
			log.Close() //nolint:errcheck // it was read
		}
	}()
	return readReport(log)
}

// receive takes the report of a pod, and reports whether it is of the pod's trial.
func (j *job) receive(p *pod, said *report) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	q := j.requests[p.Index]
	if said.Key != keyText(q.trial) {
		return false
	}
	j.progress = time.Now()
	i := &j.indices[p.Index]
	switch {
	case said.Lacks:
		j.fatal = failure.Configuration(j.lacks(q.trial, said.Has))
	case i.final:
	case said.Outcome.Exit == 3:
		i.held = &said.Outcome
	default:
		i.final = true
		j.deliver(q, result{outcome: said.Outcome})
	}
	return true
}

// lacks is the error of an image without the program of a trial.
func (j *job) lacks(t trial.Trial, has string) error {
	if t.Program == "" {
		return fmt.Errorf("%w: image %s has another csiglab than this one: it has %s, and this is %s; csiglab image push %[2]s makes it of this one", trial.ErrNoProgram, j.Image, has, j.all.programs[""])
	}
	command := "csiglab image push " + j.Image
	seen := map[string]bool{"": true}
	for _, q := range j.requests {
		if name := q.trial.Program; !seen[name] {
			seen[name] = true
			command += " --program " + name
		}
	}
	return fmt.Errorf("%w: image %s lacks the program %s (%s; it has %s); %s puts it there", trial.ErrNoProgram, j.Image, t.Program, j.all.programs[t.Program], has, command)
}

// check answers the trials that can get no better outcome. It reports whether the Job is
// over, and which trials have no outcome then.
func (j *job) check() (missing []*request, over bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fatal != nil {
		return nil, true, j.fatal
	}
	following := make([]bool, len(j.indices))
	busy := false
	for _, p := range j.pods {
		if p.following {
			following[p.Index], busy = true, true
		}
	}
	left, awaited := 0, false
	for n := range j.indices {
		i := &j.indices[n]
		if !i.final && i.failures > retries && !following[n] {
			j.invalid(n)
		}
		if !i.final {
			left++
			awaited = awaited || !i.ended && i.failures == 0
		}
	}
	switch {
	case left == 0:
		return nil, true, nil
	case !j.state.Done:
		return nil, false, j.stuck()
	case busy || awaited && time.Since(j.done) < lateTime:
		return nil, false, nil
	}
	return j.finish(left)
}

// finish answers what can be answered of a Job that has finished, and returns the rest.
func (j *job) finish(left int) (missing []*request, over bool, err error) {
	if left == len(j.indices) && j.state.Succeeded == 0 && j.state.Failure != "" && len(j.pods) == 0 {
		return nil, true, failure.Infrastructure(fmt.Errorf("job %s failed: %s", j.name, j.state.Failure))
	}
	for n := range j.indices {
		switch i := &j.indices[n]; {
		case i.final:
		case i.failures > 0 || i.held != nil:
			j.invalid(n)
		default:
			missing = append(missing, j.requests[n])
		}
	}
	if len(missing) > 0 {
		j.say("the outcomes of %d of %d trials cannot be read, since their pods or nodes are gone; they run again", len(missing), len(j.requests))
	}
	return missing, true, nil
}

// invalid answers a trial of which no pod had a better outcome.
func (j *job) invalid(n int) {
	i := &j.indices[n]
	out := trial.Outcome{Exit: 3, Reasons: []string{i.reason}}
	if i.held != nil {
		out = *i.held
	}
	i.final = true
	j.deliver(j.requests[n], result{outcome: out})
}

// stuck returns why a Job cannot go on, if nothing runs and pods cannot start.
func (j *job) stuck() error {
	patience := cmp.Or(j.patience, stuckTime)
	if !j.seen || time.Since(j.progress) < patience {
		return nil
	}
	var worst *pod
	waiting := 0
	for _, p := range j.pods {
		switch {
		case p.Phase == cluster.Running:
			return nil
		case p.Phase != cluster.Waiting:
		case worst == nil || p.Err != nil && (worst.Err == nil || errors.Is(worst.Err, cluster.ErrUnschedulable)):
			waiting++
			worst = p
		default:
			waiting++
		}
	}
	switch {
	case worst == nil && j.state.Err != nil:
		return failure.Infrastructure(fmt.Errorf("job %s: %w", j.name, j.state.Err))
	case worst == nil && len(j.pods) > 0:
		return nil // a trial is tried again after a pause
	case worst == nil:
		return failure.Infrastructure(fmt.Errorf("job %s: %w: the cluster has made no pod in %v; kubectl describe job %[1]s says why, such as a quota", j.name, cluster.ErrUnschedulable, patience))
	case worst.Err == nil:
		return nil // an image is pulled, or a volume is mounted
	case !errors.Is(worst.Err, cluster.ErrUnschedulable):
		return failure.Infrastructure(fmt.Errorf("pod %s: %w", worst.Name, worst.Err))
	case !j.warned:
		j.warned = true
		j.say("%d pods wait for room in the cluster: %s; csiglab waits too", waiting, worst.Reason)
	}
	return nil
}
