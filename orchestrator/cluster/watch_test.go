package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	jobs "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// jobServer is an API server with one Job, its pods, events and nodes. Its watches break as
// often as told.
type jobServer struct {
	mu      sync.Mutex
	version int
	job     *jobs.Job // nil: not found
	pods    map[string]*corev1.Pod
	events  []corev1.Event
	nodes   map[string]bool // ready; absent: not found
	forbid  bool            // reading nodes and events
	down    bool            // it answers nothing
	forced  []string        // pods that were deleted with grace period 0
	breaks  int             // so many watches break after their first change
	changed chan struct{}   // closed and replaced at every change
	log     []change
}

type change struct {
	version int
	kind    string // jobs or pods
	typ     string
	object  any
}

func newJobServer() *jobServer {
	one := int32(1)
	return &jobServer{version: 10, changed: make(chan struct{}), pods: map[string]*corev1.Pod{}, nodes: map[string]bool{"n": true},
		job: &jobs.Job{TypeMeta: metav1.TypeMeta{Kind: "Job", APIVersion: "batch/v1"}, ObjectMeta: metav1.ObjectMeta{Name: "j", Namespace: "lab", UID: "job-uid"}, Spec: jobs.JobSpec{Parallelism: &one, Completions: &one}}}
}

// change makes a change and lets the watches know. The caller holds no lock.
func (s *jobServer) change(kind, typ string, object metav1.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changeLocked(kind, typ, object)
}

func (s *jobServer) changeLocked(kind, typ string, object metav1.Object) {
	s.version++
	object.SetResourceVersion(fmt.Sprint(s.version))
	switch o := object.(type) {
	case *jobs.Job:
		if s.job = o; typ == "DELETED" {
			s.job = nil
		}
	case *corev1.Pod:
		if s.pods[o.Name] = o; typ == "DELETED" {
			delete(s.pods, o.Name)
		}
	}
	text, _ := json.Marshal(object)
	s.log = append(s.log, change{version: s.version, kind: kind, typ: typ, object: json.RawMessage(text)})
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *jobServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	s.mu.Lock()
	down := s.down
	s.mu.Unlock()
	if down {
		panic(http.ErrAbortHandler)
	}
	kind := "pods"
	if strings.Contains(r.URL.Path, "/jobs") {
		kind = "jobs"
	}
	if r.URL.Query().Get("watch") != "" {
		s.watch(w, r, kind)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	meta := map[string]string{"resourceVersion": fmt.Sprint(s.version)}
	deny := func(code int, text string) {
		w.WriteHeader(code)
		io.WriteString(w, statusJSON(code, text))
	}
	_, name, _ := strings.Cut(r.URL.Path, "/"+kind+"/")
	switch {
	case r.Method == http.MethodDelete:
		var o metav1.DeleteOptions
		json.NewDecoder(r.Body).Decode(&o)
		// The Job's finalizer keeps a pod that has not ended.
		if p := s.pods[name]; p != nil && o.GracePeriodSeconds != nil && *o.GracePeriodSeconds == 0 && p.Status.Phase == corev1.PodFailed {
			s.forced = append(s.forced, name)
			s.changeLocked("pods", "DELETED", p)
		}
		json.NewEncoder(w).Encode(metav1.Status{Status: "Success"})
	case r.Method == http.MethodPatch && strings.HasSuffix(name, "/status"):
		p := s.pods[strings.TrimSuffix(name, "/status")]
		if p == nil {
			deny(404, "no such pod")
			return
		}
		json.NewDecoder(r.Body).Decode(p) // a merge patch
		json.NewEncoder(w).Encode(p)
	case strings.Contains(r.URL.Path, "/nodes/"):
		name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		ready, there := s.nodes[name]
		switch {
		case s.forbid:
			deny(403, "nodes is forbidden")
		case !there:
			w.WriteHeader(404)
			io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
		default:
			status := corev1.ConditionUnknown
			if ready {
				status = corev1.ConditionTrue
			}
			json.NewEncoder(w).Encode(corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}}})
		}
	case strings.HasSuffix(r.URL.Path, "/events"):
		if s.forbid {
			deny(403, "events is forbidden")
			return
		}
		uid := strings.TrimPrefix(r.URL.Query().Get("fieldSelector"), "involvedObject.uid=")
		of := slices.DeleteFunc(slices.Clone(s.events), func(e corev1.Event) bool { return string(e.InvolvedObject.UID) != uid })
		json.NewEncoder(w).Encode(map[string]any{"kind": "EventList", "apiVersion": "v1", "metadata": meta, "items": of})
	case kind == "jobs" && name != "":
		if s.job == nil {
			w.WriteHeader(404)
			io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"jobs.batch \"j\" not found","reason":"NotFound","details":{"name":"j","kind":"jobs"},"code":404}`)
			return
		}
		json.NewEncoder(w).Encode(s.job)
	case kind == "jobs":
		items := []jobs.Job{}
		if s.job != nil {
			items = append(items, *s.job)
		}
		json.NewEncoder(w).Encode(map[string]any{"kind": "JobList", "apiVersion": "batch/v1", "metadata": meta, "items": items})
	default:
		items := []corev1.Pod{}
		for _, p := range s.pods {
			items = append(items, *p)
		}
		json.NewEncoder(w).Encode(map[string]any{"kind": "PodList", "apiVersion": "v1", "metadata": meta, "items": items})
	}
}

// watch sends the changes of a kind after a version.
func (s *jobServer) watch(w http.ResponseWriter, r *http.Request, kind string) {
	var after int
	fmt.Sscan(r.URL.Query().Get("resourceVersion"), &after)
	w.(http.Flusher).Flush()
	for {
		s.mu.Lock()
		changed, log, down := s.changed, slices.Clone(s.log), s.down
		broken := false
		for _, c := range log {
			if c.kind != kind || c.version <= after {
				continue
			}
			json.NewEncoder(w).Encode(map[string]any{"type": c.typ, "object": c.object})
			after = c.version
			if broken = s.breaks > 0; broken {
				s.breaks--
				break
			}
		}
		s.mu.Unlock()
		w.(http.Flusher).Flush()
		if broken || down {
			panic(http.ErrAbortHandler)
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// testPod returns a pod of the Job in a phase.
func testPod(name string, phase corev1.PodPhase, state corev1.ContainerState, conditions ...corev1.PodCondition) *corev1.Pod {
	return &corev1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "lab", UID: types.UID(name), Annotations: map[string]string{jobs.JobCompletionIndexAnnotation: "0"}},
		Spec:       corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: container, Image: "img"}}},
		Status: corev1.PodStatus{Phase: phase, Conditions: conditions,
			ContainerStatuses: []corev1.ContainerStatus{{Name: container, State: state, Ready: state.Running != nil}}}}
}

var running = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}

func exited(code int32) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}
}

// step waits for a report of Watch.
func step[T any](t *testing.T, reports <-chan T, what string, is func(T) bool) T {
	t.Helper()
	for {
		select {
		case r := <-reports:
			if is(r) {
				return r
			}
			t.Logf("before %s: %+v", what, r)
		case <-t.Context().Done():
			t.Fatalf("no report of %s", what)
		}
	}
}

// watchJob starts Watch. The channels have what it reports, in order.
func watchJob(t *testing.T, c *Cluster) (states chan JobState, pods chan Pod, end func() error) {
	states, pods = make(chan JobState, 100), make(chan Pod, 100)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	ended := make(chan error, 1)
	go func() {
		ended <- c.Watch(ctx, "j", func(s JobState) { states <- s }, func(p Pod) { pods <- p })
	}()
	return states, pods, func() error { return <-ended }
}

// TestWatch follows a Job over watches that break after each change.
func TestWatch(t *testing.T) {
	s := newJobServer()
	s.breaks = 4
	c := connected(t, s)
	states, pods, _ := watchJob(t, c)
	step(t, states, "the first state", func(s JobState) bool { return !s.Done })
	s.change("pods", "ADDED", testPod("p", corev1.PodPending, corev1.ContainerState{}))
	step(t, pods, "waiting", func(p Pod) bool { return p.Phase == Waiting && p.Index == 0 && p.Node == "n" })
	s.change("pods", "MODIFIED", testPod("p", corev1.PodRunning, running))
	step(t, pods, "running", func(p Pod) bool { return p.Phase == Running && p.Err == nil && p.Reason == "" })
	done := s.job.DeepCopy()
	done.Status = jobs.JobStatus{Succeeded: 1, Conditions: []jobs.JobCondition{{Type: jobs.JobComplete, Status: corev1.ConditionTrue}}}
	s.mu.Lock() // the pod's last change and the Job's at once, the Job's first
	s.pods["p"] = testPod("p", corev1.PodFailed, exited(3))
	s.changeLocked("jobs", "MODIFIED", done)
	s.mu.Unlock()
	step(t, states, "done", func(s JobState) bool { return s.Done && s.Succeeded == 1 && s.Failure == "" })
	select {
	case p := <-pods:
		if p.Phase != Ended || p.Exit != 3 || p.Reason != "exit code 3" {
			t.Errorf("pod %+v, want one that ended with exit code 3", p)
		}
	default:
		t.Error("Done was reported before the end of the pod")
	}
}

// TestWatchServerAway ends when the server does not answer for too long, and goes on when it
// answers again before.
func TestWatchServerAway(t *testing.T) {
	t.Parallel() // client-go asks again for ten seconds
	s := newJobServer()
	c := connected(t, s)
	states, _, end := watchJob(t, c)
	step(t, states, "the first state", func(JobState) bool { return true })
	s.mu.Lock()
	s.down = true
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
	if err := end(); !errors.Is(err, ErrUnreachable) {
		t.Errorf("error %v, want %v", err, ErrUnreachable)
	}
}

// TestWatchRemoved ends when somebody removes the Job.
func TestWatchRemoved(t *testing.T) {
	s := newJobServer()
	states, _, end := watchJob(t, connected(t, s))
	step(t, states, "the first state", func(JobState) bool { return true })
	s.change("jobs", "DELETED", s.job.DeepCopy())
	if err := end(); !errors.Is(err, ErrGone) {
		t.Errorf("error %v, want %v", err, ErrGone)
	}
}

// TestWatchQuota hears from the Job's events why there are no pods, and that it has passed.
func TestWatchQuota(t *testing.T) {
	s := newJobServer()
	s.events = []corev1.Event{{InvolvedObject: corev1.ObjectReference{UID: "job-uid"}, Type: "Warning", Reason: "FailedCreate",
		Message: `Error creating: pods "j-0-x" is forbidden: exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1`}}
	states, _, _ := watchJob(t, connected(t, s))
	got := step(t, states, "the quota", func(s JobState) bool { return s.Err != nil })
	if !errors.Is(got.Err, ErrUnschedulable) || !strings.Contains(got.Err.Error(), "exceeded quota: small") {
		t.Errorf("error %v, want %v", got.Err, ErrUnschedulable)
	}
	active := s.job.DeepCopy()
	active.Status.Active = 1
	s.change("jobs", "MODIFIED", active)
	step(t, states, "pods that are made", func(s JobState) bool { return s.Err == nil && s.Active == 1 })
}

// TestWatchNodeGone holds that a pod that does not end on a node that does not answer is
// removed by force, and one on a node that lives is not, also where the user may not read nodes.
func TestWatchNodeGone(t *testing.T) {
	now := metav1.Now()
	zero := int64(0)
	deleted := func(node string, conditions ...corev1.PodCondition) *corev1.Pod {
		p := testPod("p", corev1.PodRunning, running, conditions...)
		p.Spec.NodeName, p.DeletionTimestamp, p.DeletionGracePeriodSeconds = node, &now, &zero
		return p
	}
	byTaint := corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByTaintManager"}
	for _, tt := range []struct {
		name   string
		pod    *corev1.Pod
		forbid bool
		forced bool
	}{
		{"node lives", deleted("n"), false, false},
		{"node not ready", deleted("silent"), false, true},
		{"node gone", deleted("nowhere"), false, true},
		{"no rights, evicted by taint", deleted("silent", byTaint), true, true},
		{"no rights, deleted by a user", deleted("silent"), true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newJobServer()
			s.nodes["silent"], s.forbid = false, tt.forbid
			s.pods["p"] = tt.pod
			states, pods, _ := watchJob(t, connected(t, s))
			step(t, states, "the first state", func(JobState) bool { return true })
			step(t, pods, "the pod", func(p Pod) bool { return p.Disrupted })
			if tt.forced {
				p := step(t, pods, "its removal", func(p Pod) bool { return p.Phase == Gone })
				if !strings.Contains(p.Reason, "does not answer") && !strings.Contains(p.Reason, "deleted") {
					t.Errorf("reason %q", p.Reason)
				}
				return
			}
			// Three more questions of Watch, each seen by the server as a change of the Job.
			for i := range 3 {
				j := s.job.DeepCopy()
				j.Status.Failed = int32(i + 1)
				s.change("jobs", "MODIFIED", j)
				step(t, states, "another state", func(s JobState) bool { return s.Failed == i+1 })
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if len(s.forced) > 0 {
				t.Errorf("removed by force: %v", s.forced)
			}
		})
	}
}

// TestDescribe holds what becomes of the states of pods.
func TestDescribe(t *testing.T) {
	waits := func(reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
	unscheduled := testPod("p", corev1.PodPending, corev1.ContainerState{}, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/2 nodes are available: 2 Insufficient cpu."})
	unscheduled.Spec.NodeName = ""
	evicted := testPod("p", corev1.PodFailed, corev1.ContainerState{})
	evicted.Status.Reason, evicted.Status.Message = "Evicted", "The node was low on resource: memory."
	outOf := testPod("p", corev1.PodFailed, corev1.ContainerState{})
	outOf.Status.Reason, outOf.Status.Message = "OutOfcpu", "Node didn't have enough resource: cpu"
	killed := exited(137)
	killed.Terminated.Reason = "OOMKilled"
	started := exited(128)
	started.Terminated.Reason, started.Terminated.Message = "StartError", `exec: "/x": no such file or directory`
	for _, tt := range []struct {
		name   string
		pod    *corev1.Pod
		events []string
		phase  Phase
		err    error
		text   string
		gone   bool
	}{
		{"unschedulable", unscheduled, nil, Waiting, ErrUnschedulable, "Insufficient cpu", false},
		{"pull, first try", testPod("p", corev1.PodPending, waits("ErrImagePull", "dial tcp: i/o timeout")), nil, Waiting, nil, "i/o timeout", false},
		{"pull, not found", testPod("p", corev1.PodPending, waits("ErrImagePull", "img: not found")), nil, Waiting, ErrImage, "not found", false},
		{"pull, settled", testPod("p", corev1.PodPending, waits("ImagePullBackOff", `Back-off pulling image "img"`)), []string{`Failed to pull image "img": dial tcp: i/o timeout`, "Error: ErrImagePull"}, Waiting, ErrImage, "node n: dial tcp: i/o timeout", false},
		{"never pulled", testPod("p", corev1.PodPending, waits("ErrImageNeverPull", "not present with pull policy of Never")), nil, Waiting, ErrImage, "Never", false},
		{"volume", testPod("p", corev1.PodPending, waits("ContainerCreating", "")), []string{`MountVolume.SetUp failed: configmap "x" not found`}, Waiting, nil, `configmap "x" not found`, false},
		{"config", testPod("p", corev1.PodPending, waits("CreateContainerConfigError", `secret "s" not found`)), nil, Waiting, ErrRefused, `secret "s"`, false},
		{"start", testPod("p", corev1.PodFailed, started), nil, Ended, ErrImage, "/x", false},
		{"out of memory", testPod("p", corev1.PodFailed, killed), nil, Ended, nil, "more memory", false},
		{"signal", testPod("p", corev1.PodFailed, exited(143)), nil, Ended, nil, "signal 15", false},
		{"well", testPod("p", corev1.PodSucceeded, exited(0)), nil, Ended, nil, "", false},
		{"evicted", evicted, nil, Gone, nil, "low on resource", true},
		{"refused by its node", outOf, nil, Gone, ErrRefused, "enough resource: cpu", false},
		{"node silent", testPod("p", corev1.PodRunning, running, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse}), nil, Running, nil, "does not answer", false},
		{"preempted", testPod("p", corev1.PodFailed, exited(143), corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "PreemptionByScheduler"}), nil, Ended, nil, "higher priority", true},
	} {
		got := describe(tt.pod, tt.events)
		if got.Phase != tt.phase || !errors.Is(got.Err, tt.err) || (tt.err == nil) != (got.Err == nil) || !strings.Contains(got.Reason, tt.text) || got.Disrupted != tt.gone {
			t.Errorf("%s: got %+v, want %s, %v, %q, disrupted %v", tt.name, got, tt.phase, tt.err, tt.text, tt.gone)
		}
	}
}
