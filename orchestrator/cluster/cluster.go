// Package cluster is what csiglab asks of a Kubernetes cluster: Jobs, their pods, logs,
// connections into pods, and the removal of all that. It is the only package that knows
// client-go, and knows nothing of experiments. Everything that it makes has the labels of
// Labels and the annotation of its owner (runs.Owner), by which Find and Remove find it.
package cluster

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// Errors of a cluster; test with errors.Is. The text of each error that wraps one says what
// is wrong and, where it is known, what the user can do.
var (
	ErrContext       = errors.New("kubeconfig")               // no such file or context: a mistake of the user
	ErrUnreachable   = errors.New("cluster is not reachable") // no answer, a wrong certificate, an answer that is none
	ErrForbidden     = errors.New("rights are missing")
	ErrImage         = errors.New("image cannot be used")   // not found, not pulled, without csiglab
	ErrUnschedulable = errors.New("no room in the cluster") // quota, resources, taints
	ErrRefused       = errors.New("cluster refuses")        // admission, validation, policies
	ErrGone          = errors.New("it is gone")             // a pod or Job that does not exist any more
)

// Times of a cluster.
const (
	// reachWithin bounds the first answer of a cluster.
	reachWithin = 10 * time.Second
	// callWithin bounds each later call that is not a stream.
	callWithin = 20 * time.Second
	// patience is how long a stream (Watch, Logs) goes on without an answer of the cluster.
	patience = time.Minute
)

// Labels of everything that csiglab makes in a cluster.
const (
	LabelManaged = "app.kubernetes.io/managed-by" // Manager
	LabelRun     = "csiglab.io/run"               // id of the run or sweep
	LabelPart    = "csiglab.io/part"              // what it is of it, such as trials or shards
	// AnnotationOwner is the process that holds the run (runs.Owner), on AnnotationMachine.
	AnnotationOwner   = "csiglab.io/owner"
	AnnotationMachine = "csiglab.io/machine"
)

// Manager is the field manager of server-side apply and the value of LabelManaged.
const Manager = "csiglab"

// Cluster is a connection to a cluster. Its methods may be called from several goroutines.
type Cluster struct {
	Context   string // of the kubeconfig; empty inside of a cluster
	Namespace string
	Server    string // URL of its API server
	Version   string // of the server, such as v1.34.4

	client kubernetes.Interface
	config *rest.Config
	times  times
}

// times are those that tests make shorter.
type times struct {
	patience  time.Duration // constant patience
	heartbeat time.Duration // between two questions of Watch whether the server answers
	diagnose  time.Duration // how long a pod or Job may hang before its events are read
	hang      time.Duration // how long a pod may exceed its grace period on a node that is gone
	retry     time.Duration // between two tries of a stream that has broken
	remove    time.Duration // how long Remove waits
	late      time.Duration // how long AwaitJob waits
}

func defaultTimes() times {
	return times{patience: patience, heartbeat: 5 * time.Second, diagnose: 2 * time.Second, hang: 5 * time.Second, retry: time.Second, remove: time.Minute, late: 10 * time.Second}
}

// Parse returns the context of a target kubernetes[:CONTEXT], as users name clusters;
// empty: the current context.
func Parse(target string) (contextName string, err error) {
	kind, contextName, named := strings.Cut(target, ":")
	switch {
	case kind != "kubernetes":
		return "", fmt.Errorf("%q: want kubernetes or kubernetes:CONTEXT", target)
	case named && contextName == "":
		return "", fmt.Errorf("%q: the name of the context is missing", target)
	}
	return contextName, nil
}

// identity is who holds what this process makes in a cluster.
func identity() map[string]string {
	return map[string]string{AnnotationOwner: runs.Self().String(), AnnotationMachine: machine()}
}

// labels returns the labels of all objects of a run; part may be empty.
func labels(run, part string) map[string]string {
	l := map[string]string{LabelManaged: Manager, LabelRun: run}
	if part != "" {
		l[LabelPart] = part
	}
	return l
}

// machine returns the name of this machine, which users know it by, and a digest of its id,
// such as build7/3f0a5c21d6e9. machine-id(5) asks that the id itself stays on the machine.
func machine() string {
	name, _ := os.Hostname()
	id, _ := os.ReadFile("/etc/machine-id")
	return name + "/" + digest(name, strings.TrimSpace(string(id)))
}
