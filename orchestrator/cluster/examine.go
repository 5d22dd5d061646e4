package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// questions are what Watch asks the server now and then beside what it follows: whether it
// answers, why pods do not start, and whether the nodes of pods that do not end live.
type questions struct {
	job     types.UID // whose events are to be read; empty: not
	pending []*corev1.Pod
	hanging []*corev1.Pod
}

// examination is what the server answered.
type examination struct {
	err     error // of the question whether it answers
	blocked string
	events  map[string][]string // by pod
	forced  []string            // pods that were removed by force
}

// At most so many pods are examined at once, and each so often: what holds one pod of a Job
// back holds back the others.
const (
	examinedPods  = 4
	examinedEvery = 10 * time.Second
)

// questions returns what is to be asked now.
func (w *watcher) questions() (q questions) {
	now := time.Now()
	if !w.lacking.IsZero() && now.Sub(w.lacking) >= w.times.diagnose {
		q.job = w.object.UID
	}
	for _, seen := range w.pods {
		p := seen.object
		switch {
		case seen.forced:
		case !seen.terminating.IsZero():
			if now.Sub(seen.terminating) >= w.times.hang+gracePeriod(p) {
				q.hanging = append(q.hanging, p)
			}
		case seen.reported.Phase == Waiting && p.Spec.NodeName != "" && len(q.pending) < examinedPods &&
			now.Sub(seen.since) >= w.times.diagnose && now.Sub(seen.asked) >= examinedEvery:
			seen.asked = now
			q.pending = append(q.pending, p)
		}
	}
	return q
}

func gracePeriod(p *corev1.Pod) time.Duration {
	if p.DeletionGracePeriodSeconds != nil {
		return time.Duration(*p.DeletionGracePeriodSeconds) * time.Second
	}
	return grace * time.Second
}

// examine asks the server. It runs beside Watch and reads nothing of w that changes.
func (w *watcher) examine(ctx context.Context, q questions) (e examination) {
	asked, cancel := call(ctx)
	defer cancel()
	if _, err := w.client.BatchV1().Jobs(w.Namespace).Get(asked, w.job, metav1.GetOptions{}); err != nil {
		e.err = w.explain("read Job "+w.job, err)
		return e
	}
	if q.job != "" {
		for _, event := range w.events(asked, q.job) {
			if event.Reason == "FailedCreate" {
				e.blocked = event.Message
			}
		}
	}
	e.events = map[string][]string{}
	for _, p := range q.pending {
		for _, event := range w.events(asked, p.UID) {
			if !strings.HasPrefix(event.Reason, "Failed") {
				continue // a remark, such as about name servers
			}
			e.events[p.Name] = append(e.events[p.Name], strings.TrimSpace(event.Message))
		}
	}
	for _, p := range q.hanging {
		if w.nodeGone(asked, p) && w.force(asked, p) == nil {
			e.forced = append(e.forced, p.Name)
		}
	}
	return e
}

// events returns the warnings about an object, oldest first; none where they cannot be read,
// which needs a right that users may lack.
func (c *Cluster) events(ctx context.Context, of types.UID) []corev1.Event {
	list, err := c.client.CoreV1().Events(c.Namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(of)})
	if err != nil {
		return nil
	}
	warnings := slices.DeleteFunc(list.Items, func(e corev1.Event) bool { return e.Type != corev1.EventTypeWarning })
	slices.SortStableFunc(warnings, func(a, b corev1.Event) int { return eventTime(a).Compare(eventTime(b)) })
	return warnings
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

// nodeGone reports whether a pod's node does not exist or does not answer. Users who may
// not read nodes learn it from the cluster's reason for the deletion of the pod.
func (c *Cluster) nodeGone(ctx context.Context, p *corev1.Pod) bool {
	if p.Spec.NodeName == "" {
		return false
	}
	err := c.nodeLives(ctx, p.Spec.NodeName)
	if errors.Is(err, errNode) {
		for _, cond := range p.Status.Conditions {
			if cond.Type == corev1.DisruptionTarget && cond.Status == corev1.ConditionTrue && cond.Reason == "DeletionByTaintManager" {
				return true
			}
		}
		return nodeSilent(p)
	}
	return err != nil
}

// nodeLives returns nil if a node answers, errNode if nobody can tell, and any other error if
// it does not answer.
func (c *Cluster) nodeLives(ctx context.Context, name string) error {
	n, err := c.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("node %s is gone", name)
	case err != nil:
		return errNode
	}
	for _, cond := range n.Status.Conditions {
		if cond.Type == corev1.NodeReady && cond.Status == corev1.ConditionTrue {
			return nil
		}
	}
	return fmt.Errorf("node %s does not answer", name)
}

// failedStatus ends a pod whose node cannot say so any more.
const failedStatus = `{"status":{"phase":"Failed","reason":"NodeLost","message":"csiglab: its node does not answer"}}`

// force removes a pod without waiting for its node. A Job keeps its pods by a finalizer until
// they have ended, and makes no others before (podReplacementPolicy Failed). So the pod is
// marked as failed first, as Kubernetes' own collector of pods does.
func (c *Cluster) force(ctx context.Context, p *corev1.Pod) error {
	pods := c.client.CoreV1().Pods(p.Namespace)
	if p.Status.Phase != corev1.PodFailed && p.Status.Phase != corev1.PodSucceeded {
		_, err := pods.Patch(ctx, p.Name, types.MergePatchType, []byte(failedStatus), metav1.PatchOptions{FieldManager: Manager}, "status")
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) { // without the right, the Job waits for the node
			return c.explain("end pod "+p.Name, err)
		}
	}
	now := int64(0)
	err := pods.Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &p.UID}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return c.explain("remove pod "+p.Name, err)
}

// take takes what the server answered.
func (w *watcher) take(ctx context.Context, e examination) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case e.err != nil && !temporary(e.err):
		if errors.Is(e.err, ErrGone) {
			return w.removed()
		}
		return e.err
	case e.err != nil:
		if time.Since(w.answered) > w.times.patience {
			return e.err
		}
		return nil
	}
	w.answer()
	if e.blocked != "" && !w.lacking.IsZero() {
		w.blocked = w.refusal("make the pods of Job "+w.job, e.blocked)
	}
	w.tell()
	for name, events := range e.events {
		if seen := w.pods[name]; seen != nil {
			seen.events = events
			w.tellPod(seen)
		}
	}
	for _, name := range e.forced {
		if seen := w.pods[name]; seen != nil {
			seen.forced = true
			w.tellPod(seen)
		}
	}
	return nil
}

// refusal returns the error of an event that says why pods are not made.
func (c *Cluster) refusal(task, message string) error {
	message = strings.TrimPrefix(strings.TrimSpace(message), "Error creating: ")
	if strings.Contains(message, "is forbidden") {
		err := c.explainStatus(task, nil, metav1.Status{Code: 403, Message: message})
		if !errors.Is(err, ErrForbidden) {
			return err
		}
	}
	return fmt.Errorf("%w: %s: %s", ErrRefused, task, message)
}
