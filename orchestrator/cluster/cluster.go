// Package cluster is what csiglab asks of a Kubernetes cluster: Jobs, their pods, logs,
// connections into pods, and the removal of all that. It is the only package that knows
// client-go, and knows nothing of experiments. Everything that it makes has the labels of
// Labels and the annotation of its owner (runs.Owner), by which Clean finds it.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	batch "k8s.io/client-go/applyconfigurations/batch/v1"
	core "k8s.io/client-go/applyconfigurations/core/v1"
)

// Errors of a cluster; test with errors.Is. The text of each says what the user can do.
var (
	ErrContext       = errors.New("kubeconfig")               // no such file or context
	ErrUnreachable   = errors.New("cluster is not reachable") // within ReachWithin
	ErrForbidden     = errors.New("rights are missing")
	ErrImage         = errors.New("image cannot be used")   // not found, not pulled, without csiglab
	ErrUnschedulable = errors.New("no room in the cluster") // quota, resources, taints
	ErrRefused       = errors.New("cluster refuses")        // admission, validation, policies
)

// ReachWithin bounds the first answer of a cluster.
const ReachWithin = 10 * time.Second

// Labels of everything that csiglab makes in a cluster.
const (
	LabelManaged = "app.kubernetes.io/managed-by" // csiglab
	LabelRun     = "csiglab.io/run"               // id of the run or sweep
	LabelPart    = "csiglab.io/part"              // what it is of it: trials or shards
	// AnnotationOwner is the process that holds the run (runs.Owner), on AnnotationMachine.
	AnnotationOwner   = "csiglab.io/owner"
	AnnotationMachine = "csiglab.io/machine"
)

// Cluster is a connection to a cluster. Its methods may be called from several goroutines.
type Cluster struct {
	Context, Namespace, Server string
	// unexported: clientset, rest config
}

// Connect connects to the cluster of a context of the user's kubeconfig ($KUBECONFIG,
// ~/.kube/config); empty: the current one. It asks the server for its version, so that a
// cluster that does not answer is an error here.
func Connect(ctx context.Context, contextName, namespace string) (*Cluster, error) {
	panic("not built yet")
}

// JobName returns the name of the Job of a run's part, so that its pods can name the
// ConfigMap and the Secret that follow it. It has at most 52 characters.
func JobName(run, part string) string { panic("not built yet") }

// Job makes a Job with the name JobName(run, part), by server-side apply, with the labels and annotations of run. Of a Job
// that exists with another content it returns an error.
func (c *Cluster) Job(ctx context.Context, run string, part string, spec *batch.JobSpecApplyConfiguration) (name string, err error) {
	panic("not built yet")
}

// Config makes an immutable ConfigMap with the name of a Job, that the cluster removes with
// the Job. Pods of the Job that mount it wait for it.
func (c *Cluster) Config(ctx context.Context, job string, data map[string][]byte) error {
	panic("not built yet")
}

// Secret is as Config, for what nobody else may read. Its data are in no error.
func (c *Cluster) Secret(ctx context.Context, job string, data map[string][]byte) error {
	panic("not built yet")
}

// Container returns the container that all of csiglab's pods have: uid 1000, no capability
// but the given ones, read-only root, no privilege escalation; and PodSpec the pod around
// it: no service-account token, no service links, emptyDir at /work (HOME) and /tmp.
func (c *Cluster) PodSpec(image string, args []string, capabilities []string) *core.PodSpecApplyConfiguration {
	panic("not built yet")
}

// Pod is the state of one pod of a Job.
type Pod struct {
	Name, Node, IP string
	Index          int    // completion index; -1 without one
	Phase          Phase  // what it is doing
	Exit           int    // of its container, once it has ended
	Reason         string // why it does not start, or how it ended: in words for the user, with the cause
	Message        string // termination message of its container
	Err            error  // wraps ErrImage, ErrUnschedulable, ErrRefused where it cannot start
	Disrupted      bool   // it was deleted, evicted or its node is gone
}

// Phase is what a pod does.
type Phase string

// Phases of a pod.
const (
	Waiting Phase = "waiting" // not scheduled, or its container does not run yet
	Running Phase = "running"
	Ended   Phase = "ended" // Exit says how
	Gone    Phase = "gone"  // deleted, or its node is gone
)

// JobState is the state of a Job.
type JobState struct {
	Active, Succeeded, Failed int
	Done                      bool   // complete or failed
	Failure                   string // why the Job failed as a whole
}

// Watch calls state and pod for every change of a Job and its pods until ctx ends, which is
// its error. It goes on after the connection to the server was lost (tools/watch), for at
// most a minute without an answer. Pods that hang on a node that is gone are removed by
// force, so that the Job makes others.
func (c *Cluster) Watch(ctx context.Context, job string, state func(JobState), pod func(Pod)) error {
	panic("not built yet")
}

// Logs follows the log of a pod's container from its begin.
func (c *Cluster) Logs(ctx context.Context, pod string) (io.ReadCloser, error) {
	panic("not built yet")
}

// Dial connects to a port on the loopback address of a pod, by port-forward.
func (c *Cluster) Dial(ctx context.Context, pod string, port int) (net.Conn, error) {
	panic("not built yet")
}

// Exec runs a command in a pod's container and returns its exit code.
func (c *Cluster) Exec(ctx context.Context, pod string, args []string, in io.Reader, out, errs io.Writer) (int, error) {
	panic("not built yet")
}

// Remove removes a run's Jobs, with their pods and ConfigMaps, and waits until they are gone.
func (c *Cluster) Remove(ctx context.Context, run string) error {
	panic("not built yet")
}

// Remains is what a run has left in a cluster.
type Remains struct {
	Run     string
	Objects []string // as KIND/NAME
	Owner   string   // AnnotationOwner
	Machine string   // AnnotationMachine
	Lives   bool     // its holder lives, or is on another machine, where nobody here can tell
}

// Find returns what csiglab has made in the namespace, by run.
func (c *Cluster) Find(ctx context.Context) ([]Remains, error) {
	panic("not built yet")
}

// Finding is one line of the doctor about a cluster.
type Finding struct {
	OK   bool
	Text string // what is missing, and what to do about it
}

// Check returns what is missing for csiglab in a cluster: rights to create Jobs, read pods
// and logs, forward ports; whether pods may make user namespaces (seccomp); the image; quotas.
func (c *Cluster) Check(ctx context.Context, image string) []Finding {
	panic("not built yet")
}

var _ = fmt.Sprint
