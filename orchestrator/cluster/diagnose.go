package cluster

import (
	"cmp"
	"fmt"
	"slices"
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

// disruptions are the reasons of pods that their nodes have ended.
var disruptions = []string{"Evicted", "NodeLost", "Shutdown", "NodeShutdown", "Terminated"}

// Reasons of pods that somebody deletes, by hand or with their node.
const (
	beingDeleted = "it is being deleted"
	wasDeleted   = "it was deleted"
)

// describe returns the state of a pod. events are warnings about it, oldest first.
func describe(p *corev1.Pod, events []string) Pod {
	d := Pod{Name: p.Name, Node: p.Spec.NodeName, IP: p.Status.PodIP, Index: completionIndex(p), Phase: Waiting, Exit: -1}
	disruption := disruption(p)
	d.Disrupted = disruption != "" || slices.Contains(disruptions, p.Status.Reason)
	var state corev1.ContainerState
	for _, s := range p.Status.ContainerStatuses {
		if s.Name == container {
			state = s.State
		}
	}
	switch {
	case state.Terminated != nil && state.Terminated.Reason == "ContainerStatusUnknown":
		d.Phase, d.Disrupted = Gone, true
		d.Reason = cmp.Or(disruption, podReason(p), "its node lost it")
	case state.Terminated != nil:
		describeEnd(&d, p, state.Terminated, disruption)
	case p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded:
		// It ended without a container: evicted, or refused by its node.
		d.Phase, d.Reason = Gone, cmp.Or(podReason(p), disruption, "it ended without having run")
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
		describeWait(&d, p, state.Waiting, events)
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
func describeEnd(d *Pod, p *corev1.Pod, t *corev1.ContainerStateTerminated, disruption string) {
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
func describeWait(d *Pod, p *corev1.Pod, w *corev1.ContainerStateWaiting, events []string) {
	if c := condition(p, corev1.PodScheduled); c.Status == corev1.ConditionFalse && c.Message != "" && (c.Reason == corev1.PodReasonUnschedulable || c.Reason == corev1.PodReasonSchedulingGated) {
		d.Reason = "the scheduler finds no node: " + strings.TrimSpace(c.Message)
		d.Err = fmt.Errorf("%w: pod %s: %s", ErrUnschedulable, p.Name, d.Reason)
		return
	}
	if p.Spec.NodeName == "" {
		d.Reason = "it is not scheduled yet"
		return
	}
	node := nodeName(p.Spec.NodeName)
	latest := ""
	if len(events) > 0 {
		latest = events[len(events)-1]
	}
	if w == nil {
		d.Reason = cmp.Or(latest, "starts on "+node)
		return
	}
	settled, ofImage := imageReasons[w.Reason]
	message := strings.TrimSpace(w.Message)
	switch {
	case ofImage:
		if event := pullEvent(events); event != "" && (settled || message == "") {
			message = event // ImagePullBackOff itself does not say why
		}
		d.Reason = fmt.Sprintf("image %s cannot be had on %s: %s", image(p), node, cmp.Or(message, w.Reason))
		if settled || containsAny(message, absent...) {
			d.Err = fmt.Errorf("%w: pod %s: %s; csiglab image push makes and pushes one, csiglab image save one to import on the nodes", ErrImage, p.Name, d.Reason)
		}
	case startReasons[w.Reason] && containsAny(message, "executable file", "no such file", "no command specified"):
		d.Reason = fmt.Sprintf("image %s does not start: %s", image(p), message)
		d.Err = fmt.Errorf("%w: pod %s: %s; it must be one that csiglab image push or save has made", ErrImage, p.Name, d.Reason)
	case startReasons[w.Reason]:
		d.Reason = fmt.Sprintf("its container cannot be made on %s: %s", node, cmp.Or(message, w.Reason))
		d.Err = fmt.Errorf("%w: pod %s: %s", ErrRefused, p.Name, d.Reason)
	case condition(p, corev1.PodReadyToStartContainers).Status == corev1.ConditionTrue: // it has its volumes and its network
		d.Pulling = true
		d.Reason = cmp.Or(latest, message, fmt.Sprintf("starts on %s, which may be pulling image %s", node, image(p)))
	default: // ContainerCreating: volumes, the network
		d.Reason = cmp.Or(latest, message, "starts on "+node)
	}
}

// condition returns a condition of a pod, empty without one.
func condition(p *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	for _, c := range p.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return corev1.PodCondition{}
}

// disruption returns why the cluster ended a pod, in words, empty where it did not.
func disruption(p *corev1.Pod) string {
	c := condition(p, corev1.DisruptionTarget)
	if c.Status != corev1.ConditionTrue {
		return ""
	}
	switch c.Reason {
	case byTaint:
		return nodeName(p.Spec.NodeName) + " does not answer"
	case corev1.PodReasonPreemptionByScheduler:
		return "a pod of higher priority took its place"
	case "DeletionByPodGC":
		return nodeName(p.Spec.NodeName) + " is gone"
	case "EvictionByEvictionAPI":
		return "it was evicted"
	case corev1.PodReasonTerminationByKubelet:
		return cmp.Or(podReason(p), nodeName(p.Spec.NodeName)+" ended it")
	}
	return cmp.Or(strings.TrimSpace(c.Message), c.Reason)
}

// byTaint is the reason of pods that the cluster deletes since their node does not answer.
const byTaint = "DeletionByTaintManager"

// nodeSilent reports whether the cluster has marked a pod not ready although its container
// is: it does so when the node does not answer.
func nodeSilent(p *corev1.Pod) bool {
	return condition(p, corev1.PodReady).Status == corev1.ConditionFalse &&
		!slices.ContainsFunc(p.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return !s.Ready })
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

func containsAny(text string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
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
