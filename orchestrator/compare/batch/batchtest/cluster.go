// Package batchtest is a cluster in memory for tests of package batch: it runs the indices of
// a Job as the Job controller of Kubernetes does, on nodes that tests can stop.
package batchtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	batchapi "k8s.io/api/batch/v1"
	batchv1 "k8s.io/client-go/applyconfigurations/batch/v1"
	corev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/csiglab/csiglab/orchestrator/cluster"
)

// Pod is what the program of a pod gets.
type Pod struct {
	Name, Node, Image string
	Index             int
	Args              []string
	Config, Secret    map[string][]byte
}

// Cluster is a cluster. Its fields are set before the first use.
type Cluster struct {
	Nodes []string
	Slots int // pods that a node runs at a time
	// Run is the program of the pods: it writes the pod's log and returns the exit code. The
	// context ends when the pod is killed.
	Run func(ctx context.Context, p Pod, log io.Writer) int
	// Refuse is an error of pods that cannot start; nil: they start.
	Refuse func(p Pod) error
	// NoLog reports that the log of a pod that has ended cannot be read; may be nil.
	NoLog func(p Pod) bool

	mu      sync.Mutex
	jobs    map[string]*job
	pods    map[string]*pod
	stopped map[string]bool // nodes
	made    int
	specs   []*batchv1.JobSpecApplyConfiguration
}

// job is a Job.
type job struct {
	name, run      string
	spec           *batchv1.JobSpecApplyConfiguration
	config, secret map[string][]byte
	watchers       []*watcher
	indices        []index
	removed        bool
}

type index struct {
	active, done bool
	failures     int
}

type watcher struct {
	state func(cluster.JobState)
	pod   func(cluster.Pod)
}

type pod struct {
	cluster.Pod
	job    *job
	log    *buffer
	cancel context.CancelFunc
	noLog  bool
}

// PodSpec implements batch.Objects.
func (c *Cluster) PodSpec(image string, args []string, capabilities []string) *corev1.PodSpecApplyConfiguration {
	return new(cluster.Cluster).PodSpec(image, args, capabilities)
}

// Job implements batch.Objects.
func (c *Cluster) Job(_ context.Context, run, part string, spec *batchv1.JobSpecApplyConfiguration) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.jobs == nil {
		c.jobs, c.pods, c.stopped = map[string]*job{}, map[string]*pod{}, map[string]bool{}
	}
	name := cluster.JobName(run, part)
	if c.jobs[name] != nil {
		return "", fmt.Errorf("%w: Job %s exists", cluster.ErrRefused, name)
	}
	c.jobs[name] = &job{name: name, run: run, spec: spec, indices: make([]index, *spec.Completions)}
	c.specs = append(c.specs, spec)
	return name, nil
}

// Config implements batch.Objects. The pods of the Job start then.
func (c *Cluster) Config(_ context.Context, name string, data map[string][]byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	j := c.jobs[name]
	if j == nil {
		return errors.New("no such Job")
	}
	j.config = data
	c.schedule()
	return nil
}

// Secret implements batch.Objects.
func (c *Cluster) Secret(_ context.Context, name string, data map[string][]byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	j := c.jobs[name]
	if j == nil {
		return errors.New("no such Job")
	}
	j.secret = data
	c.schedule()
	return nil
}

// ready reports whether all that the pods mount is there.
func (j *job) ready() bool {
	for _, v := range j.spec.Template.Spec.Volumes {
		if v.ConfigMap != nil && j.config == nil || v.Secret != nil && j.secret == nil {
			return false
		}
	}
	return true
}

// Remove implements batch.Objects.
func (c *Cluster) Remove(_ context.Context, run string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, j := range c.jobs {
		if j.run != run {
			continue
		}
		j.removed = true
		delete(c.jobs, name)
		for name, p := range c.pods {
			if p.job == j {
				p.cancel()
				delete(c.pods, name)
			}
		}
	}
	return nil
}

// Watch implements batch.Observer.
func (c *Cluster) Watch(ctx context.Context, name string, state func(cluster.JobState), each func(cluster.Pod)) error {
	c.mu.Lock()
	j := c.jobs[name]
	if j == nil {
		c.mu.Unlock()
		return errors.New("no such Job")
	}
	w := &watcher{state, each}
	j.watchers = append(j.watchers, w)
	for _, p := range c.pods {
		if p.job == j {
			w.pod(p.Pod)
		}
	}
	w.state(j.state())
	c.mu.Unlock()
	<-ctx.Done()
	return ctx.Err()
}

// Logs implements batch.Observer.
func (c *Cluster) Logs(ctx context.Context, name string) (io.ReadCloser, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pods[name]
	if p == nil || p.noLog || c.stopped[p.Node] {
		return nil, fmt.Errorf("log of %s: %w", name, cluster.ErrUnreachable)
	}
	return &reader{buffer: p.log, ctx: ctx}, nil
}

// Stop stops a node: its pods are gone, with their logs.
func (c *Cluster) Stop(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped[node] = true
	for name, p := range c.pods {
		if p.Node != node {
			continue
		}
		p.log.end()
		if p.Phase == cluster.Running {
			p.cancel()
			p.Phase, p.Disrupted, p.Reason = cluster.Gone, true, "its node is gone"
			p.job.indices[p.Index].active = false
			delete(c.pods, name)
			c.announce(p.job, p.Pod)
		}
	}
	c.schedule()
}

// Specs returns the Jobs that were made, in order.
func (c *Cluster) Specs() []*batchv1.JobSpecApplyConfiguration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.specs)
}

// Objects returns how many Jobs and pods there are.
func (c *Cluster) Objects() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.jobs) + len(c.pods)
}

// schedule makes the pods for which there is room. The caller holds the lock.
func (c *Cluster) schedule() {
	for _, j := range c.jobs {
		if !j.ready() {
			continue
		}
		for i := range j.indices {
			active := 0
			for k := range j.indices {
				if j.indices[k].active {
					active++
				}
			}
			node := c.room()
			if active >= int(*j.spec.Parallelism) || node == "" {
				break
			}
			if x := &j.indices[i]; !x.active && !x.done {
				x.active = true
				c.start(j, i, node)
			}
		}
	}
}

// room returns the node with the fewest pods, if it has room for one.
func (c *Cluster) room() (best string) {
	least := c.Slots
	for _, node := range c.Nodes {
		n := 0
		for _, p := range c.pods {
			if p.Node == node && (p.Phase == cluster.Running || p.Phase == cluster.Waiting) {
				n++
			}
		}
		if n < least && !c.stopped[node] {
			best, least = node, n
		}
	}
	return best
}

// start starts a pod.
func (c *Cluster) start(j *job, i int, node string) {
	c.made++
	ctx, cancel := context.WithCancel(context.Background())
	p := &pod{Pod: cluster.Pod{Name: fmt.Sprintf("%s-%d-%05d", j.name, i, c.made), Node: node, Index: i, Phase: cluster.Running}, job: j, log: newBuffer(), cancel: cancel}
	main := j.spec.Template.Spec.Containers[0]
	given := Pod{Name: p.Name, Node: node, Image: *main.Image, Index: i, Args: main.Args, Config: j.config, Secret: j.secret}
	c.pods[p.Name] = p
	if c.Refuse != nil {
		if err := c.Refuse(given); err != nil {
			p.Phase, p.Err, p.Reason = cluster.Waiting, err, err.Error()
			c.announce(j, p.Pod)
			return
		}
	}
	c.announce(j, p.Pod)
	go func() {
		exit := c.Run(ctx, given, p.log)
		p.log.end()
		c.mu.Lock()
		defer c.mu.Unlock()
		if j.removed || p.Phase == cluster.Gone {
			return
		}
		p.Phase, p.Exit, p.noLog = cluster.Ended, exit, c.NoLog != nil && c.NoLog(given)
		if exit > 3 {
			p.Reason = fmt.Sprintf("killed, exit code %d", exit)
		}
		j.ended(i, exit)
		c.announce(j, p.Pod)
		c.schedule()
	}()
}

// ended counts a pod that has ended, as the Job's policy says.
func (j *job) ended(i, exit int) {
	x := &j.indices[i]
	x.active = false
	if exit == 0 {
		x.done = true
		return
	}
	for _, rule := range j.spec.PodFailurePolicy.Rules {
		if rule.OnExitCodes == nil || !slices.Contains(rule.OnExitCodes.Values, int32(exit)) {
			continue
		}
		if *rule.Action == batchapi.PodFailurePolicyActionFailIndex {
			x.done, x.failures = true, x.failures+1
			return
		}
		break
	}
	x.failures++
	x.done = x.failures > int(*j.spec.BackoffLimitPerIndex)
}

func (j *job) state() cluster.JobState {
	s := cluster.JobState{Done: true}
	for _, x := range j.indices {
		switch {
		case x.active:
			s.Active++
		case x.done && x.failures == 0:
			s.Succeeded++
		}
		s.Failed += x.failures
		s.Done = s.Done && x.done
	}
	if s.Done && s.Failed > 0 {
		s.Failure = "indices have failed"
	}
	return s
}

// announce tells those who watch. The caller holds the lock, so that they see all in order.
func (c *Cluster) announce(j *job, p cluster.Pod) {
	s := j.state()
	for _, w := range j.watchers {
		w.pod(p)
		w.state(s)
	}
}

// buffer is a log that is read while it is written.
type buffer struct {
	mu      sync.Mutex
	data    []byte
	ended   bool
	changed chan struct{}
}

func newBuffer() *buffer { return &buffer{changed: make(chan struct{})} }

// Write never fails.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.ended {
		b.data = append(b.data, p...)
		close(b.changed)
		b.changed = make(chan struct{})
	}
	return len(p), nil
}

func (b *buffer) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.ended {
		b.ended = true
		close(b.changed)
	}
}

type reader struct {
	*buffer
	ctx context.Context
	at  int
}

func (r *reader) Close() error { return nil }

func (r *reader) Read(p []byte) (int, error) {
	for {
		r.mu.Lock()
		n, changed, ended := copy(p, r.data[r.at:]), r.changed, r.ended
		r.mu.Unlock()
		r.at += n
		switch {
		case n > 0:
			return n, nil
		case ended:
			return 0, io.EOF
		}
		select {
		case <-r.ctx.Done():
			return 0, r.ctx.Err()
		case <-changed:
		}
	}
}
