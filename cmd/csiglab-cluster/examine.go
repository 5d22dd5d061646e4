package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	batch "k8s.io/client-go/applyconfigurations/batch/v1"
	core "k8s.io/client-go/applyconfigurations/core/v1"
	meta "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/csiglab/csiglab/cmd/cli/doctor"
	"github.com/csiglab/csiglab/orchestrator/cluster"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
)

// examined is a cluster that is examined.
type examined struct {
	*cluster.Cluster
	// Image is the image of csiglab that pods try; empty: none is tried.
	Image string
	// Run is the id under which the pods that try it are made.
	Run string
}

// trialTime bounds the pods that try the image, the pull of the image included.
const trialTime = 2 * time.Minute

// mostTried bounds the nodes on which the image is tried.
const mostTried = 8

// examine runs every check of the cluster. With an image it makes a Job, with a pod for each
// node, whose pods run csiglab doctor there, and removes it.
func (c examined) examine(ctx context.Context) []doctor.Finding {
	var list []doctor.Finding
	able := true // to make the Job
	for _, f := range c.Check(ctx) {
		list = append(list, doctor.Finding{Runtime: runtimes.Kubernetes, Name: f.Name, OK: f.OK, Optional: f.Optional, Detail: f.Detail, Fix: f.Fix})
		able = able && (f.OK || f.Optional)
	}
	image := doctor.Finding{Runtime: runtimes.Kubernetes, Name: "image", Optional: true}
	space := doctor.Finding{Runtime: runtimes.Kubernetes, Name: "namespaces in pods", Optional: true, Detail: "not tried", Fix: "mend what is missing above first"}
	switch {
	case c.Image == "":
		image.Detail, image.Fix = "not tried", "name one with --image REF; csiglab image push REF makes and pushes it"
		space.Fix = "name an image with --image REF"
		return append(list, image, space)
	case !able:
		image.Detail, image.Fix = "not tried", "mend what is missing above first"
		return append(list, image, space)
	}
	image.Optional, space.Optional = false, false
	c.try(ctx, &image, &space)
	return append(list, image, space)
}

// errTried ends the watch of the pods that have all ended.
var errTried = errors.New("all pods have ended")

// try makes the pods and fills in the findings about the image and about what a pod may do.
func (c examined) try(ctx context.Context, image, space *doctor.Finding) {
	ctx, cancel := context.WithTimeoutCause(ctx, trialTime, fmt.Errorf("the pods have not ended within %v", trialTime))
	defer cancel()
	begun := time.Now()
	n := min(max(c.Nodes(ctx), 1), mostTried)
	job, err := c.Job(ctx, c.Run, "doctor", c.trial(n))
	ended := map[int]cluster.Pod{} // by index
	if err == nil {
		err = c.wait(ctx, job, n, ended)
	}
	found := map[string][]doctor.Finding{} // by node
	for _, p := range ended {
		if err == nil {
			found[p.Node], err = c.findings(ctx, p)
		}
	}
	removal, stop := context.WithTimeout(context.WithoutCancel(ctx), trialTime)
	defer stop()
	if removed := c.Remove(removal, c.Run); err == nil {
		err = removed
	}
	if err != nil {
		image.Detail, image.Fix = err.Error(), imageFix(err)
		return
	}
	nodes := slices.Sorted(maps.Keys(found))
	image.OK = true
	image.Detail = fmt.Sprintf("%s starts on %s, in %.1f s with its removal", c.Image, strings.Join(nodes, ", "), time.Since(begun).Seconds())
	*space = permitted(nodes, found)
}

// permitted says whether csiglab can make the namespaces of nodes in pods of each node.
func permitted(nodes []string, found map[string][]doctor.Finding) doctor.Finding {
	f := doctor.Finding{Runtime: runtimes.Kubernetes, Name: "namespaces in pods", OK: true,
		Detail: "uid 1000 without capabilities can make user and network namespaces, links and raw sockets, for real frames in lockstep"}
	for _, node := range nodes {
		for _, of := range found[node] {
			if of.OK || of.Optional || of.Runtime != runtimes.Netns {
				continue
			}
			f.OK, f.Detail = false, fmt.Sprintf("node %s: %s: %s", node, of.Name, of.Detail)
			f.Fix = of.Fix
			if of.Name == "user namespaces" {
				f.Fix = "pods need a seccomp profile that permits user namespaces: let nodes not set seccompDefault (kubelet), and user.max_user_namespaces be above 0; virtual runs work without"
			}
			return f
		}
	}
	return f
}

// imageFix returns what to do about pods that did not end well.
func imageFix(err error) string {
	switch {
	case errors.Is(err, cluster.ErrImage):
		return "csiglab image push REF makes and pushes it, csiglab image save F.tar writes it for import on the nodes"
	case errors.Is(err, cluster.ErrUnschedulable):
		return "make room: csiglab clean --on kubernetes removes what runs left"
	case errors.Is(err, cluster.ErrRefused):
		return "ask the administrator, or use another namespace"
	}
	return "look at it: kubectl get pods, events"
}

// trial returns a Job of n pods on as many nodes as there are.
func (c examined) trial(n int) *batch.JobSpecApplyConfiguration {
	pod := c.PodSpec(c.Image, []string{"doctor", "--json"}, nil)
	pod.Containers[0].WithResources(core.ResourceRequirements().
		WithRequests(corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("64Mi")}).
		WithLimits(corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")}))
	pod.WithTopologySpreadConstraints(core.TopologySpreadConstraint().WithMaxSkew(1).WithTopologyKey(corev1.LabelHostname).
		WithWhenUnsatisfiable(corev1.ScheduleAnyway).WithLabelSelector(meta.LabelSelector().WithMatchLabels(map[string]string{cluster.LabelRun: c.Run})))
	return batch.JobSpec().WithCompletionMode("Indexed").WithCompletions(int32(n)).WithParallelism(int32(n)).
		WithBackoffLimitPerIndex(0).WithMaxFailedIndexes(int32(n)).WithTTLSecondsAfterFinished(600).
		WithActiveDeadlineSeconds(int64(trialTime.Seconds())).
		WithTemplate(core.PodTemplateSpec().WithSpec(pod))
}

// wait waits until the pods have ended.
func (c examined) wait(ctx context.Context, job string, n int, ended map[int]cluster.Pod) error {
	watching, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	err := c.Watch(watching, job, func(s cluster.JobState) {
		switch {
		case s.Err != nil:
			stop(s.Err)
		case s.Done && len(ended) < n:
			stop(fmt.Errorf("the Job ended before its pods: %s", s.Failure))
		}
	}, func(p cluster.Pod) {
		switch {
		case p.Err != nil:
			stop(p.Err)
		case p.Phase == cluster.Gone:
			stop(fmt.Errorf("pod %s is gone: %s", p.Name, p.Reason))
		case p.Phase == cluster.Ended:
			if ended[p.Index] = p; len(ended) == n {
				stop(errTried)
			}
		}
	})
	if errors.Is(err, errTried) {
		return nil
	}
	return err
}

// findings reads what csiglab doctor found in a pod.
func (c examined) findings(ctx context.Context, p cluster.Pod) (list []doctor.Finding, err error) {
	log, err := c.Logs(ctx, p.Name)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	text, err := io.ReadAll(log)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%w: csiglab doctor --json in it ended with exit code %d and wrote %.200q", cluster.ErrImage, p.Exit, text)
	}
	return list, nil
}
