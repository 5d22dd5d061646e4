package cluster

import (
	"fmt"
	"strconv"
	"strings"

	jobs "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// imageReasons are the reasons for which a container waits on its image, those that do not
// mend by themselves with true.
var imageReasons = map[string]bool{
	"ErrImagePull": false, "ImagePullBackOff": true, "ErrImageNeverPull": true,
	"InvalidImageName": true, "ImageInspectError": true, "RegistryUnavailable": true, "SignatureValidationFailed": true,
}

// absent are parts of the messages of registries that do not mend by themselves.
var absent = []string{"not found", "denied", "unauthorized", "forbidden", "no such host", "does not exist", "manifest unknown", "no match for platform", "x509", "server gave HTTP response"}

// startReasons are the reasons for which a container cannot be made.
var startReasons = map[string]bool{"CreateContainerConfigError": true, "CreateContainerError": true, "RunContainerError": true, "PreCreateHookError": true, "PostStartHookError": true}

// Reasons of pods that somebody deletes, by hand or with their node.
const (
	beingDeleted = "it is being deleted"
	wasDeleted   = "it was deleted"
)

// describe returns the state of a pod. events are warnings about it, oldest first.
func (c *Cluster) describe(p *corev1.Pod, events []string) Pod {
	d := Pod{Name: p.Name, Node: p.Spec.NodeName, IP: p.Status.PodIP, Index: completionIndex(p), Phase: Waiting, Exit: -1}
	disruption := disruption(p)
	d.Disrupted = disruption != "" || p.Status.Reason == "Evicted" || p.Status.Reason == "NodeLost" || p.Status.Reason == "Shutdown" || p.Status.Reason == "NodeShutdown" || p.Status.Reason == "Terminated"
	var state corev1.ContainerState
	for _, s := range p.Status.ContainerStatuses {
		if s.Name == container {
			state = s.State
		}
	}
	switch {
	case state.Terminated != nil && state.Terminated.Reason == "ContainerStatusUnknown":
		d.Phase, d.Disrupted = Gone, true
		d.Reason = first(disruption, podReason(p), "its node lost it")
	case state.Terminated != nil:
		c.describeEnd(&d, p, state.Terminated, disruption)
	case p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded:
		// It ended without a container: evicted, or refused by its node.
		d.Phase, d.Reason = Gone, first(podReason(p), disruption, "it ended without having run")
		if !d.Disrupted {
			d.Err = fmt.Errorf("%w: pod %s: %s", ErrRefused, p.Name, d.Reason)
		}
	case state.Running != nil:
		d.Phase = Running
		if disruption != "" {
			d.Reason = disruption
		} else if nodeSilent(p) {
			d.Reason = nodeName(p.Spec.NodeName) + " does not answer"
		}
	default:
		c.describeWait(&d, p, state.Waiting, events)
	}
	if p.DeletionTimestamp != nil {
		d.Disrupted = true
		if d.Reason == "" {
			d.Reason = beingDeleted
		}
	}
	return d
}

// describeEnd describes a pod whose container has ended.
func (c *Cluster) describeEnd(d *Pod, p *corev1.Pod, t *corev1.ContainerStateTerminated, disruption string) {
	d.Phase, d.Exit, d.Message = Ended, int(t.ExitCode), strings.TrimSpace(t.Message)
	switch {
	case t.Reason == "StartError" || t.Reason == "ContainerCannotRun":
		d.Reason = fmt.Sprintf("image %s does not start: %s", image(p), d.Message)
		d.Err = fmt.Errorf("%w: pod %s: image %s does not start; it must be one that csiglab image push or save has made: %s", ErrImage, p.Name, image(p), d.Message)
	case t.Reason == "OOMKilled":
		d.Reason = "it needed more memory than its limit" + limit(p)
	case disruption != "":
		d.Reason = disruption
	case p.DeletionTimestamp != nil && t.ExitCode != 0:
		d.Reason = wasDeleted
	case t.Signal != 0 || t.ExitCode > 128:
		signal := int(t.Signal)
		if signal == 0 {
			signal = int(t.ExitCode) - 128
		}
		d.Reason = fmt.Sprintf("exit code %d: signal %d ended it", t.ExitCode, signal)
	case t.ExitCode != 0:
		d.Reason = fmt.Sprintf("exit code %d", t.ExitCode)
	}
}

// describeWait describes a pod whose container does not run yet.
func (c *Cluster) describeWait(d *Pod, p *corev1.Pod, w *corev1.ContainerStateWaiting, events []string) {
	if text := unschedulable(p); text != "" {
		d.Reason = "the scheduler finds no node: " + text
		d.Err = fmt.Errorf("%w: pod %s: %s", ErrUnschedulable, p.Name, d.Reason)
		return
	}
	if p.Spec.NodeName == "" {
		d.Reason = "it is not scheduled yet"
		return
	}
	node := nodeName(p.Spec.NodeName)
	if w == nil {
		d.Reason = first(last(events), "starts on "+node)
		return
	}
	settled, ofImage := imageReasons[w.Reason]
	message := strings.TrimSpace(w.Message)
	switch {
	case ofImage:
		if event := pullEvent(events); event != "" && (settled || message == "") {
			message = event // ImagePullBackOff itself does not say why
		}
		d.Reason = fmt.Sprintf("image %s cannot be had on %s: %s", image(p), node, first(message, w.Reason))
		if settled || containsAny(message, absent) {
			d.Err = fmt.Errorf("%w: pod %s: %s; csiglab image push makes and pushes one, csiglab image save one to import on the nodes", ErrImage, p.Name, d.Reason)
		}
	case startReasons[w.Reason] && containsAny(message, []string{"executable file", "no such file", "no command specified"}):
		d.Reason = fmt.Sprintf("image %s does not start: %s", image(p), message)
		d.Err = fmt.Errorf("%w: pod %s: %s; it must be one that csiglab image push or save has made", ErrImage, p.Name, d.Reason)
	case startReasons[w.Reason]:
		d.Reason = fmt.Sprintf("its container cannot be made on %s: %s", node, first(message, w.Reason))
		d.Err = fmt.Errorf("%w: pod %s: %s", ErrRefused, p.Name, d.Reason)
	case networked(p):
		d.Pulling = true
		d.Reason = first(last(events), message, fmt.Sprintf("starts on %s, which may be pulling image %s", node, image(p)))
	default: // ContainerCreating: volumes, the network
		d.Reason = first(last(events), message, "starts on "+node)
	}
}

// networked reports whether a pod has its volumes and its network, and lacks containers.
func networked(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReadyToStartContainers {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// unschedulable returns the scheduler's words about a pod that it cannot place.
func unschedulable(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && (c.Reason == corev1.PodReasonUnschedulable || c.Reason == corev1.PodReasonSchedulingGated) {
			return strings.TrimSpace(c.Message)
		}
	}
	return ""
}

// disruption returns why the cluster ended a pod, in words, empty where it did not.
func disruption(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type != corev1.DisruptionTarget || c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Reason {
		case "DeletionByTaintManager":
			return nodeName(p.Spec.NodeName) + " does not answer"
		case corev1.PodReasonPreemptionByScheduler:
			return "a pod of higher priority took its place"
		case "DeletionByPodGC":
			return nodeName(p.Spec.NodeName) + " is gone"
		case "EvictionByEvictionAPI":
			return "it was evicted"
		case corev1.PodReasonTerminationByKubelet:
			return first(podReason(p), nodeName(p.Spec.NodeName)+" ended it")
		}
		return first(strings.TrimSpace(c.Message), c.Reason)
	}
	return ""
}

// nodeSilent reports whether the cluster has marked a pod not ready although its container
// is: it does so when the node does not answer.
func nodeSilent(p *corev1.Pod) bool {
	for _, s := range p.Status.ContainerStatuses {
		if !s.Ready {
			return false
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionFalse
		}
	}
	return false
}

func podReason(p *corev1.Pod) string {
	switch reason, message := p.Status.Reason, strings.TrimSpace(p.Status.Message); {
	case reason == "":
		return message
	case message == "":
		return reason
	default:
		return reason + ": " + message
	}
}

func completionIndex(p *corev1.Pod) int {
	n, err := strconv.Atoi(p.Annotations[jobs.JobCompletionIndexAnnotation])
	if err != nil {
		return -1
	}
	return n
}

func image(p *corev1.Pod) string {
	if len(p.Spec.Containers) == 0 {
		return ""
	}
	return p.Spec.Containers[0].Image
}

func limit(p *corev1.Pod) string {
	if len(p.Spec.Containers) > 0 {
		if q, ok := p.Spec.Containers[0].Resources.Limits[corev1.ResourceMemory]; ok {
			return ", " + q.String()
		}
	}
	return ""
}

func nodeName(name string) string {
	if name == "" {
		return "its node"
	}
	return "node " + name
}

// pullEvent returns why the last pull of an image failed, as events say it.
func pullEvent(events []string) string {
	found := ""
	for _, e := range events {
		if rest, ok := strings.CutPrefix(e, "Failed to pull image "); ok {
			_, found, _ = strings.Cut(rest, ": ") // behind the image's name in quotes
		}
	}
	return found
}

func last(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return texts[len(texts)-1]
}

// first returns the first text that is not empty.
func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

func containsAny(text string, parts []string) bool {
	for _, p := range parts {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}
