package cluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// remains is what a run has left in a cluster.
type remains struct {
	Run     string
	Objects []string // as KIND/NAME, sorted
	Owner   string   // AnnotationOwner
	Machine string   // AnnotationMachine
	// Lives says that the run's holder lives, or is on another machine or in another
	// container, where nobody here can tell; Here, that it is on this machine.
	Lives, Here bool
}

// holder returns who holds the run, in words.
func (r *remains) holder() string {
	name, _, _ := strings.Cut(r.Machine, "/")
	switch {
	case r.Machine == "":
		return "nobody knows who holds it"
	case !r.Here:
		return "its csiglab ran on machine " + name
	case r.Lives && runs.ParseOwner(r.Owner).Life() == runs.Lives:
		return fmt.Sprintf("its csiglab, process %d, is under way", runs.ParseOwner(r.Owner).PID)
	case r.Lives:
		return "its csiglab ran in another container of this machine"
	}
	return "its csiglab is gone"
}

// object is an object of a run.
type object struct {
	kind kind
	metav1.Object
	pod *corev1.Pod // of a pod
}

func (o object) String() string { return o.kind.name + "/" + o.GetName() }

// kind is a kind of objects that csiglab makes.
type kind struct {
	name   string
	list   func(context.Context, metav1.ListOptions) (runtime.Object, error)
	delete func(context.Context, string, metav1.DeleteOptions) error
}

// kinds returns the kinds of objects, Jobs first.
func (c *Cluster) kinds() []kind {
	jobs, pods := c.client.BatchV1().Jobs(c.Namespace), c.client.CoreV1().Pods(c.Namespace)
	configs, secrets := c.client.CoreV1().ConfigMaps(c.Namespace), c.client.CoreV1().Secrets(c.Namespace)
	return []kind{
		{"Job", anyList(jobs.List), jobs.Delete},
		{"Pod", anyList(pods.List), pods.Delete},
		{"ConfigMap", anyList(configs.List), configs.Delete},
		{"Secret", anyList(secrets.List), secrets.Delete},
	}
}

func anyList[L runtime.Object](list func(context.Context, metav1.ListOptions) (L, error)) func(context.Context, metav1.ListOptions) (runtime.Object, error) {
	return func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return list(ctx, o) }
}

// objects returns what carries a label, Jobs first. Users who may not list pods, ConfigMaps
// or Secrets cannot have made them either.
func (c *Cluster) objects(ctx context.Context, selector string) (objects []object, err error) {
	asked, cancel := call(ctx)
	defer cancel()
	for i, k := range c.kinds() {
		list, err := k.list(asked, metav1.ListOptions{LabelSelector: selector})
		if err == nil {
			err = meta.EachListItem(list, func(o runtime.Object) error {
				pod, _ := o.(*corev1.Pod)
				objects = append(objects, object{kind: k, Object: o.(metav1.Object), pod: pod})
				return nil
			})
		}
		if err != nil && (i == 0 || !apierrors.IsForbidden(err)) {
			return nil, c.explain("list "+k.name+"s", err)
		}
	}
	return objects, nil
}

// Find returns what csiglab has made in the namespace, by run, in the order of their ids.
func (c *Cluster) Find(ctx context.Context) ([]remains, error) {
	list, err := c.objects(ctx, LabelManaged+"="+Manager+","+LabelRun)
	if err != nil {
		return nil, err
	}
	byRun := map[string]*remains{}
	for _, o := range list {
		id := o.GetLabels()[LabelRun]
		r := byRun[id]
		if r == nil {
			r = &remains{Run: id}
			byRun[id] = r
		}
		r.Objects = append(r.Objects, o.String())
		if r.Owner == "" {
			r.Owner, r.Machine = o.GetAnnotations()[AnnotationOwner], o.GetAnnotations()[AnnotationMachine]
		}
	}
	found := []remains{}
	for _, id := range slices.Sorted(maps.Keys(byRun)) {
		r := byRun[id]
		slices.Sort(r.Objects)
		r.Here = r.Machine != "" && r.Machine == machine()
		r.Lives = !r.Here || runs.ParseOwner(r.Owner).Life() != runs.Died
		found = append(found, *r)
	}
	return found, nil
}

// Remove removes a run's Jobs, with their pods, ConfigMaps and Secrets, and waits until they
// are gone, at most a minute. Pods on nodes that do not answer are removed by force. To
// remove what does not exist is no error.
func (c *Cluster) Remove(ctx context.Context, run string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.times.remove, fmt.Errorf("not done within %v", c.times.remove))
	defer cancel()
	selector := LabelManaged + "=" + Manager + "," + LabelRun + "=" + run
	asked, hanging := map[string]bool{}, map[string]time.Time{}
	var left []object
	var problem error
	for pause := removeEvery; ; pause = min(2*pause, removeEvery*8) {
		list, err := c.objects(ctx, selector)
		switch {
		case err == nil && len(list) == 0:
			return nil
		case err == nil:
			left, problem = list, nil
			for _, o := range list {
				if err := c.remove(ctx, o, asked, hanging); err != nil && problem == nil {
					problem = err
				}
			}
		default:
			problem = err
		}
		if problem != nil && !temporary(problem) {
			return fmt.Errorf("remove run %s: %w", run, problem)
		}
		select {
		case <-ctx.Done():
			return c.unremoved(run, left, cmp.Or(problem, context.Cause(ctx)))
		case <-time.After(pause):
		}
	}
}

// removeEvery is when Remove first looks whether everything is gone; it looks ever less often.
const removeEvery = 200 * time.Millisecond

func (c *Cluster) unremoved(run string, left []object, why error) error {
	var names []string
	for _, o := range left {
		names = append(names, o.String())
	}
	slices.Sort(names)
	const most = 5
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("%d more", len(names)-most))
	}
	return fmt.Errorf("remove run %s: %w; left: %s; csiglab clean --on kubernetes tries again", run, why, strings.Join(names, ", "))
}

// remove asks for the removal of an object, once, and by force where its node is gone.
func (c *Cluster) remove(ctx context.Context, o object, done map[string]bool, hanging map[string]time.Time) error {
	if o.pod != nil && o.pod.DeletionTimestamp != nil {
		return c.removeHanging(ctx, o.pod, hanging)
	}
	uid := o.GetUID()
	key := string(uid) + o.String()
	if done[key] {
		return nil
	}
	how := metav1.DeleteOptions{}
	if uid != "" {
		how.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	switch {
	case o.kind.name == "Job":
		foreground := metav1.DeletePropagationForeground
		how.PropagationPolicy = &foreground
	case o.pod != nil && o.pod.Status.Phase == corev1.PodPending:
		// A Job's pods go with it; to remove them here too is faster. What has not started
		// has nothing to end in order, and its node may be busy with the pull of its image.
		now := int64(0)
		how.GracePeriodSeconds = &now
	}
	asked, cancel := call(ctx)
	defer cancel()
	if err := o.kind.delete(asked, o.GetName(), how); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return c.explain("remove "+o.kind.name+" "+o.GetName(), err)
	}
	done[key] = true
	return nil
}

// removeHanging removes a pod by force that should have ended, if its node does not answer.
func (c *Cluster) removeHanging(ctx context.Context, p *corev1.Pod, hanging map[string]time.Time) error {
	since, known := hanging[p.Name]
	if !known {
		hanging[p.Name] = time.Now()
		return nil
	}
	if p.Status.Phase == corev1.PodPending {
		return c.force(ctx, p)
	}
	if time.Since(since) < removeEvery*8 {
		return nil // as long as a program takes to end
	}
	// A node that is known not to answer needs no patience.
	asked, cancel := call(ctx)
	defer cancel()
	if gone, sure := c.nodeGone(asked, p); !gone || !sure && time.Since(since) < gracePeriod(p)+c.times.hang {
		return nil
	}
	return c.force(asked, p)
}
