package cluster

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func gracePeriod(p *corev1.Pod) time.Duration {
	if p.DeletionGracePeriodSeconds != nil {
		return time.Duration(*p.DeletionGracePeriodSeconds) * time.Second
	}
	return grace * time.Second
}

// nodeGone reports whether a pod's node does not exist or does not answer. Of users who may
// not read nodes, sure is false: they learn it from the cluster's reason for the deletion of
// the pod.
func (c *Cluster) nodeGone(ctx context.Context, p *corev1.Pod) (gone, sure bool) {
	if p.Spec.NodeName == "" {
		return false, true
	}
	n, err := c.client.CoreV1().Nodes().Get(ctx, p.Spec.NodeName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return true, true
	case err != nil:
		by := condition(p, corev1.DisruptionTarget)
		return by.Status == corev1.ConditionTrue && by.Reason == byTaint || nodeSilent(p), false
	}
	return !ready(n), true
}

// ready reports whether a node answers.
func ready(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
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
