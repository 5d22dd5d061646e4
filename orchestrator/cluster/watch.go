package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	jobs "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	retry "k8s.io/client-go/tools/watch"
)

// Pod is the state of one pod of a Job.
type Pod struct {
	Name, Node, IP string
	Index          int    // completion index; -1 without one
	Phase          Phase  // what it is doing
	Exit           int    // of its container, once it has ended; -1: not known
	Reason         string // why it does not start, or how it ended: in words for the user, with the cause
	Message        string // termination message of its container: the end of its log where it failed
	// Err wraps ErrImage, ErrUnschedulable or ErrRefused while the pod cannot start. With
	// ErrUnschedulable it starts once others have made room; the other two do not mend by
	// themselves.
	Err       error
	Disrupted bool // it was deleted, evicted or its node is gone
	// Pulling says that its node has all but the container, whose image it may be pulling.
	Pulling bool
}

// Phase is what a pod does.
type Phase string

// Phases of a pod.
const (
	Waiting Phase = "waiting" // not scheduled, or its container does not run yet
	Running Phase = "running"
	Ended   Phase = "ended" // Exit says how
	Gone    Phase = "gone"  // deleted, evicted, or its node is gone
)

// JobState is the state of a Job.
type JobState struct {
	Active, Succeeded, Failed int    // pods; of an Indexed Job, Succeeded counts indices
	Done                      bool   // complete or failed
	Failure                   string // why the Job failed as a whole
	// Err is why the cluster makes none or not all of the Job's pods, such as a quota: it
	// wraps ErrUnschedulable, which may pass when others end, or ErrRefused. nil: it makes them.
	Err error
}

// Watch calls state and pod for every change of a Job and its pods until ctx ends, which is
// its error. It calls them one at a time. State with Done comes after the last change of the
// pods. Watch goes on after the connection to the server was lost, for at most a minute
// without an answer; the error then wraps ErrUnreachable. Of a Job that does not exist, or
// that somebody removes, the error wraps ErrGone. Pods that hang on a node that is gone are
// removed by force, so that the Job makes others.
func (c *Cluster) Watch(ctx context.Context, job string, state func(JobState), pod func(Pod)) error {
	w := &watcher{Cluster: c, job: job, state: state, pod: pod, pods: map[string]*watched{}, answered: time.Now()}
	for {
		err := w.round(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && !temporary(err):
			return err
		case err != nil && time.Since(w.answered) > c.times.patience:
			return fmt.Errorf("watch Job %s: no answer for %v: %w", job, c.times.patience, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(c.times.retry):
		}
	}
}

// watcher is the state of Watch. Its fields belong to the goroutine of Watch.
type watcher struct {
	*Cluster
	job      string
	state    func(JobState)
	pod      func(Pod)
	answered time.Time // when the server answered last
	object   *jobs.Job // nil: not seen yet
	lacking  time.Time // since when the Job has fewer pods than it wants; zero: it has all
	blocked  error     // why
	reported JobState
	told     bool // reported has been reported
	pods     map[string]*watched
}

// watched is what Watch knows of a pod.
type watched struct {
	object      *corev1.Pod
	since       time.Time // when it was first seen
	terminating time.Time // when it was first seen to be deleted; zero: it is not
	asked       time.Time // when its events were read
	events      []string  // warnings about it, oldest first
	forced      bool
	reported    Pod
}

// round lists the Job and its pods, and follows them until the watch breaks.
func (w *watcher) round(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	jobList := metav1.ListOptions{FieldSelector: "metadata.name=" + w.job}
	podList := metav1.ListOptions{LabelSelector: jobs.JobNameLabel + "=" + w.job}
	jobVersion, err := w.listJob(ctx, jobList)
	if err != nil {
		return err
	}
	podVersion, err := w.listPods(ctx, podList)
	if err != nil {
		return err
	}
	w.tell()
	jobEvents, err := follow(ctx, jobVersion, jobList, w.client.BatchV1().Jobs(w.Namespace).Watch)
	if err != nil {
		return w.explain("watch Job "+w.job, err)
	}
	podEvents, err := follow(ctx, podVersion, podList, w.client.CoreV1().Pods(w.Namespace).Watch)
	if err != nil {
		return w.explain("watch pods of Job "+w.job, err)
	}
	beat := time.NewTicker(w.times.heartbeat)
	defer beat.Stop()
	examined, busy := make(chan examination, 1), false
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case e, open := <-jobEvents:
			if !open {
				return fmt.Errorf("%w: the watch of Job %s has ended", ErrUnreachable, w.job)
			}
			if err := w.jobEvent(ctx, e, podList); err != nil {
				return err
			}
		case e, open := <-podEvents:
			if !open {
				return fmt.Errorf("%w: the watch of the pods of Job %s has ended", ErrUnreachable, w.job)
			}
			if err := w.podEvent(e); err != nil {
				return err
			}
		case <-beat.C:
			if !busy {
				busy = true
				go func(q questions) { examined <- w.examine(ctx, q) }(w.questions())
			}
		case e := <-examined:
			busy = false
			if err := w.take(ctx, e); err != nil {
				return err
			}
		}
	}
}

// follow returns the changes after a version, across connections that break.
func follow(ctx context.Context, version string, list metav1.ListOptions, watchFrom func(context.Context, metav1.ListOptions) (watch.Interface, error)) (<-chan watch.Event, error) {
	w, err := retry.NewRetryWatcherWithContext(ctx, version, &cache.ListWatch{WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		o.FieldSelector, o.LabelSelector = list.FieldSelector, list.LabelSelector
		return watchFrom(ctx, o)
	}})
	if err != nil {
		return nil, err
	}
	return w.ResultChan(), nil
}

// answer notes that the server answered.
func (w *watcher) answer() { w.answered = time.Now() }

func (w *watcher) listJob(ctx context.Context, o metav1.ListOptions) (version string, err error) {
	asked, cancel := call(ctx)
	defer cancel()
	list, err := w.client.BatchV1().Jobs(w.Namespace).List(asked, o)
	if err != nil {
		return "", w.explain("read Job "+w.job, err)
	}
	w.answer()
	if len(list.Items) == 0 {
		return "", w.removed()
	}
	w.setJob(&list.Items[0])
	return list.ResourceVersion, nil
}

func (w *watcher) removed() error {
	return fmt.Errorf("%w: Job %s was removed", ErrGone, w.job)
}

// listPods lists all pods, in pages, and reports those that have gone meanwhile.
func (w *watcher) listPods(ctx context.Context, o metav1.ListOptions) (version string, err error) {
	there := map[string]bool{}
	for o.Limit = 500; ; {
		asked, cancel := call(ctx)
		list, err := w.client.CoreV1().Pods(w.Namespace).List(asked, o)
		cancel()
		if err != nil {
			return "", w.explain("read pods of Job "+w.job, err)
		}
		w.answer()
		for i := range list.Items {
			there[list.Items[i].Name] = true
			w.setPod(&list.Items[i])
		}
		if version, o.Continue = list.ResourceVersion, list.Continue; o.Continue == "" {
			break
		}
	}
	for name := range w.pods {
		if !there[name] {
			w.deletePod(name)
		}
	}
	return version, nil
}

// failed returns the error of a watch, nil where listing again mends it.
func (w *watcher) failed(o runtime.Object) error {
	err := apierrors.FromObject(o)
	if apierrors.IsGone(err) || apierrors.IsResourceExpired(err) {
		return fmt.Errorf("%w: the server has forgotten where the watch was", ErrUnreachable)
	}
	return w.explain("watch Job "+w.job, err)
}

func (w *watcher) jobEvent(ctx context.Context, e watch.Event, pods metav1.ListOptions) error {
	if e.Type == watch.Error {
		return w.failed(e.Object)
	}
	w.answer()
	j, ok := e.Object.(*jobs.Job)
	switch {
	case !ok:
		return nil
	case e.Type == watch.Deleted:
		return w.removed()
	}
	w.setJob(j)
	if stateOf(j).Done {
		// The two watches have no common order: look at the pods before Done is reported.
		if _, err := w.listPods(ctx, pods); err != nil {
			return err
		}
	}
	w.tell()
	return nil
}

func (w *watcher) podEvent(e watch.Event) error {
	if e.Type == watch.Error {
		return w.failed(e.Object)
	}
	w.answer()
	if p, ok := e.Object.(*corev1.Pod); ok && e.Type == watch.Deleted {
		w.setPod(p) // its last state may say how it ended
		w.deletePod(p.Name)
	} else if ok {
		w.setPod(p)
	}
	return nil
}

// setJob takes a state of the Job.
func (w *watcher) setJob(j *jobs.Job) {
	w.object = j
	switch s := stateOf(j); {
	case s.Done || s.Active >= wanted(j) || j.DeletionTimestamp != nil:
		w.lacking, w.blocked = time.Time{}, nil
	case w.lacking.IsZero():
		w.lacking = time.Now()
	}
}

// tell reports the Job's state if it has changed.
func (w *watcher) tell() {
	s := stateOf(w.object)
	s.Err = w.blocked
	old := w.reported
	if w.told && s.Active == old.Active && s.Succeeded == old.Succeeded && s.Failed == old.Failed && s.Done == old.Done && s.Failure == old.Failure && errorText(s.Err) == errorText(old.Err) {
		return
	}
	w.reported, w.told = s, true
	w.state(s)
}

// setPod takes a state of a pod and reports it if it has changed.
func (w *watcher) setPod(p *corev1.Pod) {
	seen := w.pods[p.Name]
	if seen == nil {
		seen = &watched{since: time.Now()}
		w.pods[p.Name] = seen
	}
	seen.object = p
	if p.DeletionTimestamp != nil && seen.terminating.IsZero() {
		seen.terminating = time.Now()
	}
	w.tellPod(seen)
}

func (w *watcher) tellPod(seen *watched) {
	p := w.describe(seen.object, seen.events)
	if seen.forced {
		p.Phase, p.Disrupted, p.Reason = Gone, true, fmt.Sprintf("%s does not answer; the pod was removed by force", nodeName(p.Node))
	}
	if samePod(p, seen.reported) {
		return
	}
	seen.reported = p
	w.pod(p)
}

// deletePod reports that a pod is gone, unless its container had ended before.
func (w *watcher) deletePod(name string) {
	seen := w.pods[name]
	delete(w.pods, name)
	if seen == nil || seen.reported.Phase == Ended || seen.reported.Phase == Gone {
		return
	}
	p := seen.reported
	p.Phase, p.Exit, p.Disrupted = Gone, -1, true
	if p.Reason == "" || p.Reason == beingDeleted {
		p.Reason = wasDeleted
	}
	w.pod(p)
}

// stateOf returns the state of a Job without Err.
func stateOf(j *jobs.Job) JobState {
	s := JobState{Active: int(j.Status.Active), Succeeded: int(j.Status.Succeeded), Failed: int(j.Status.Failed)}
	for _, c := range j.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case jobs.JobComplete:
			s.Done = true
		case jobs.JobFailed:
			s.Done, s.Failure = true, c.Message
			if s.Failure == "" {
				s.Failure = c.Reason
			}
		}
	}
	return s
}

// wanted returns how many pods a Job wants at least to be active now.
func wanted(j *jobs.Job) int {
	if j.Spec.Suspend != nil && *j.Spec.Suspend {
		return 0
	}
	n := 1
	if j.Spec.Parallelism != nil {
		n = int(*j.Spec.Parallelism)
	}
	if j.Spec.Completions != nil {
		// Of an index that has failed for good there is no pod either; Failed counts every
		// pod, so that this is a lower bound.
		n = min(n, int(*j.Spec.Completions)-int(j.Status.Succeeded)-int(j.Status.Failed))
	}
	return max(n, 0)
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func samePod(a, b Pod) bool {
	sameError := errorText(a.Err) == errorText(b.Err)
	a.Err, b.Err = nil, nil
	return sameError && a == b
}

// errNode says that nobody can tell whether a node lives.
var errNode = errors.New("node not readable")
