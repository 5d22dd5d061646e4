package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	jobs "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
	w := &watcher{Cluster: c, name: job, state: state, pod: pod, pods: map[string]*watched{}, answered: time.Now()}
	for {
		err := w.follow(ctx)
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

// watcher is the state of Watch: all that the server has said about a Job, its pods, their
// events and nodes, and what was reported of it.
type watcher struct {
	*Cluster
	name     string
	state    func(JobState)
	pod      func(Pod)
	answered time.Time // when the server answered last
	job      *jobs.Job
	lacking  time.Time // since when the Job has fewer pods than it wants; zero: it has all
	refused  error     // why
	reported *JobState // nil: nothing yet
	pods     map[string]*watched
}

// watched is what Watch knows of a pod.
type watched struct {
	object   *corev1.Pod
	since    time.Time // when it was first seen
	deleted  time.Time // when it was first seen to be deleted; zero: it is not
	asked    time.Time // when its events were read
	warnings []string  // of its events, oldest first
	forced   bool      // it was removed by force
	reported Pod
}

// follow lists the Job and its pods, and follows them until the connection breaks.
func (w *watcher) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	jobVersion, err := w.listJob(ctx)
	if err != nil {
		return err
	}
	podVersion, err := w.listPods(ctx)
	if err != nil {
		return err
	}
	w.report()
	jobChanges, err := changes(ctx, jobVersion, w.ofJob(), w.client.BatchV1().Jobs(w.Namespace).Watch)
	if err != nil {
		return w.explain("watch Job "+w.name, err)
	}
	podChanges, err := changes(ctx, podVersion, w.ofPods(), w.client.CoreV1().Pods(w.Namespace).Watch)
	if err != nil {
		return w.explain("watch pods of Job "+w.name, err)
	}
	beat := time.NewTicker(w.times.heartbeat)
	defer beat.Stop()
	for {
		var change watch.Event
		open := true
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-beat.C:
			if err := w.ask(ctx); err != nil {
				return err
			}
			continue
		case change, open = <-jobChanges:
		case change, open = <-podChanges:
		}
		if !open {
			return fmt.Errorf("%w: the watch of Job %s has ended", ErrUnreachable, w.name)
		}
		if err := w.take(ctx, change); err != nil {
			return err
		}
	}
}

func (w *watcher) ofJob() metav1.ListOptions {
	return metav1.ListOptions{FieldSelector: "metadata.name=" + w.name}
}

func (w *watcher) ofPods() metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: jobs.JobNameLabel + "=" + w.name}
}

func (w *watcher) removed() error {
	return fmt.Errorf("%w: Job %s was removed", ErrGone, w.name)
}

func (w *watcher) listJob(ctx context.Context) (version string, err error) {
	asked, cancel := call(ctx)
	defer cancel()
	list, err := w.client.BatchV1().Jobs(w.Namespace).List(asked, w.ofJob())
	if err != nil {
		return "", w.explain("read Job "+w.name, err)
	}
	w.answered = time.Now()
	if len(list.Items) == 0 {
		return "", w.removed()
	}
	w.job = &list.Items[0]
	return list.ResourceVersion, nil
}

// listPods lists all pods, in pages, and reports those that have changed or gone meanwhile.
func (w *watcher) listPods(ctx context.Context) (version string, err error) {
	there := map[string]bool{}
	for o, more := w.ofPods(), true; more; more = o.Continue != "" {
		o.Limit = 500
		asked, cancel := call(ctx)
		list, err := w.client.CoreV1().Pods(w.Namespace).List(asked, o)
		cancel()
		if err != nil {
			return "", w.explain("read pods of Job "+w.name, err)
		}
		w.answered = time.Now()
		for i := range list.Items {
			there[list.Items[i].Name] = true
			w.setPod(&list.Items[i])
		}
		version, o.Continue = list.ResourceVersion, list.Continue
	}
	for name := range w.pods {
		if !there[name] {
			w.deletePod(name)
		}
	}
	return version, nil
}

// changes returns the changes after a version, across connections that break.
func changes(ctx context.Context, version string, of metav1.ListOptions, from func(context.Context, metav1.ListOptions) (watch.Interface, error)) (<-chan watch.Event, error) {
	w, err := retry.NewRetryWatcherWithContext(ctx, version, &cache.ListWatch{WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		o.FieldSelector, o.LabelSelector = of.FieldSelector, of.LabelSelector
		return from(ctx, o)
	}})
	if err != nil {
		return nil, err
	}
	return w.ResultChan(), nil
}

// take takes a change of the Job or of a pod.
func (w *watcher) take(ctx context.Context, change watch.Event) error {
	if change.Type == watch.Error {
		err := apierrors.FromObject(change.Object)
		if apierrors.IsGone(err) || apierrors.IsResourceExpired(err) {
			return fmt.Errorf("%w: the server has forgotten where the watch was", ErrUnreachable)
		}
		return w.explain("watch Job "+w.name, err)
	}
	w.answered = time.Now()
	switch o := change.Object.(type) {
	case *jobs.Job:
		if change.Type == watch.Deleted {
			return w.removed()
		}
		if w.job = o; stateOf(o).Done {
			// The two watches have no common order: look at the pods before Done is reported.
			if _, err := w.listPods(ctx); err != nil {
				return err
			}
		}
		w.report()
	case *corev1.Pod:
		w.setPod(o)
		if change.Type == watch.Deleted { // its last state may say how it ended
			w.deletePod(o.Name)
		}
	}
	return nil
}

// report reports the Job's state if it has changed.
func (w *watcher) report() {
	s := stateOf(w.job)
	switch {
	case s.Done || s.Active >= wanted(w.job) || w.job.DeletionTimestamp != nil:
		w.lacking, w.refused = time.Time{}, nil
	case w.lacking.IsZero():
		w.lacking = time.Now()
	}
	s.Err = w.refused
	// As text, since two errors that say the same are not equal.
	if w.reported == nil || fmt.Sprint(s) != fmt.Sprint(*w.reported) {
		w.reported = &s
		w.state(s)
	}
}

// setPod takes a state of a pod.
func (w *watcher) setPod(p *corev1.Pod) {
	seen := w.pods[p.Name]
	if seen == nil {
		seen = &watched{since: time.Now()}
		w.pods[p.Name] = seen
	}
	seen.object = p
	if p.DeletionTimestamp != nil && seen.deleted.IsZero() {
		seen.deleted = time.Now()
	}
	w.reportPod(seen)
}

// reportPod reports the state of a pod if it has changed.
func (w *watcher) reportPod(seen *watched) {
	p := describe(seen.object, seen.warnings)
	if seen.forced {
		p.Phase, p.Disrupted, p.Reason = Gone, true, nodeName(p.Node)+" does not answer; the pod was removed by force"
	}
	if fmt.Sprint(p) != fmt.Sprint(seen.reported) {
		seen.reported = p
		w.pod(p)
	}
}

// deletePod reports that a pod is gone, unless its container had ended before.
func (w *watcher) deletePod(name string) {
	p := w.pods[name].reported
	delete(w.pods, name)
	if p.Phase == Ended || p.Phase == Gone {
		return
	}
	p.Phase, p.Exit, p.Disrupted = Gone, -1, true
	if p.Reason == "" || p.Reason == beingDeleted {
		p.Reason = wasDeleted
	}
	w.pod(p)
}

// At most so many pods are asked about at once, and each so often: what holds one pod of a Job
// back holds back the others.
const (
	askedPods  = 4
	askedEvery = 10 * time.Second
)

// ask asks the server what no watch says: whether it still answers, why the Job has fewer pods
// than it wants, why pods do not start, and whether the nodes of pods that do not end live.
func (w *watcher) ask(ctx context.Context) error {
	asked, cancel := call(ctx)
	defer cancel()
	if _, err := w.client.BatchV1().Jobs(w.Namespace).Get(asked, w.name, metav1.GetOptions{}); err != nil {
		switch err = w.explain("read Job "+w.name, err); {
		case errors.Is(err, ErrGone):
			return w.removed()
		case temporary(err) && time.Since(w.answered) <= w.times.patience:
			return nil
		}
		return err
	}
	w.answered = time.Now()
	if !w.lacking.IsZero() && time.Since(w.lacking) >= w.times.diagnose {
		if texts := w.warnings(asked, w.job.UID, "FailedCreate"); len(texts) > 0 {
			w.refused = w.refusal("make the pods of Job "+w.name, texts[len(texts)-1])
		}
	}
	w.report()
	most := askedPods
	for _, seen := range w.pods {
		p := seen.object
		switch {
		case seen.forced:
		case !seen.deleted.IsZero():
			if time.Since(seen.deleted) < gracePeriod(p)+w.times.hang {
				continue
			}
			if gone, _ := w.nodeGone(asked, p); gone && w.force(asked, p) == nil {
				seen.forced = true
				w.reportPod(seen)
			}
		case most > 0 && seen.reported.Phase == Waiting && p.Spec.NodeName != "" &&
			time.Since(seen.since) >= w.times.diagnose && time.Since(seen.asked) >= askedEvery:
			most--
			seen.asked = time.Now()
			if texts := w.warnings(asked, p.UID, "Failed"); texts != nil { // others are remarks, such as about name servers
				seen.warnings = texts
			}
			w.reportPod(seen)
		}
	}
	return nil
}

// warnings returns the warnings about an object whose reason begins so, oldest first; none where
// they cannot be read, which needs a right that users may lack.
func (c *Cluster) warnings(ctx context.Context, of types.UID, reason string) (texts []string) {
	list, err := c.client.CoreV1().Events(c.Namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(of)})
	if err != nil {
		return nil
	}
	slices.SortStableFunc(list.Items, func(a, b corev1.Event) int { return eventTime(a).Compare(eventTime(b)) })
	for _, e := range list.Items {
		if e.Type == corev1.EventTypeWarning && strings.HasPrefix(e.Reason, reason) {
			texts = append(texts, strings.TrimSpace(e.Message))
		}
	}
	return texts
}

func eventTime(e corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}
