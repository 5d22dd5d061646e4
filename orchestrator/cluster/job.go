package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	jobs "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	batch "k8s.io/client-go/applyconfigurations/batch/v1"
	core "k8s.io/client-go/applyconfigurations/core/v1"
	meta "k8s.io/client-go/applyconfigurations/meta/v1"
)

// annotationContent is the digest of what a Job was made of. Most of a Job cannot be changed
// later, and the server's defaults make it hard to compare two.
const annotationContent = "csiglab.io/content"

// JobName returns the name of the Job of a part of a run, so that its pods can name the
// ConfigMap and the Secret of the Job, which have the same name. It has at most
// maxJobName characters; the middle of a longer one is a digest.
func JobName(run, part string) string {
	name := Manager + "-" + run + "-" + part
	if len(name) <= maxJobName {
		return name
	}
	part = part[max(0, len(part)-20):]
	return Manager + "-" + digest(name) + "-" + strings.TrimLeft(part, "-.")
}

// maxJobName leaves room for the index in the host names of an Indexed Job's pods.
const maxJobName = 52

// Job makes a Job, by server-side apply, with the labels and annotations of run on it and on
// its pods. The same Job again is no error. Of a Job that exists with another content, or
// that is being removed, it returns an error that wraps ErrRefused. Once the server was
// asked, Job waits for its answer even if ctx ends, so that Remove finds what was made. With
// an error, name is empty if no Job was made. Otherwise there may be one, or it may come
// later: AwaitJob and then Remove.
func (c *Cluster) Job(ctx context.Context, run, part string, spec *batch.JobSpecApplyConfiguration) (name string, err error) {
	name = JobName(run, part)
	task := "make Job " + name
	if wrong := slices.Concat(validation.IsDNS1123Label(name), validation.IsValidLabelValue(run), validation.IsValidLabelValue(part)); len(wrong) > 0 {
		return "", fmt.Errorf("%w: %s: %s", ErrRefused, task, strings.Join(wrong, "; "))
	}
	spec, content, err := c.marked(run, part, spec)
	if err != nil {
		return "", fmt.Errorf("%w: %s: %w", ErrRefused, task, err)
	}
	notes := identity()
	notes[annotationContent] = content
	job := batch.Job(name, c.Namespace).WithLabels(labels(run, part)).WithAnnotations(notes).WithSpec(spec)
	if err := ctx.Err(); err != nil {
		return "", context.Cause(ctx)
	}
	asked, cancel := call(context.WithoutCancel(ctx))
	defer cancel()
	there, err := c.client.BatchV1().Jobs(c.Namespace).Get(asked, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return "", c.explain(task, err)
	case there.DeletionTimestamp != nil:
		return "", fmt.Errorf("%w: %s: a Job of this name is being removed", ErrRefused, task)
	case there.Annotations[annotationContent] != content:
		return "", fmt.Errorf("%w: %s: a Job of this name exists with another content; csiglab clean --on kubernetes removes it", ErrRefused, task)
	}
	if _, err = c.client.BatchV1().Jobs(c.Namespace).Apply(asked, job, metav1.ApplyOptions{FieldManager: Manager, Force: true}); err != nil {
		if refused(err) {
			name = ""
		}
		return name, c.explain(task, err)
	}
	if ctx.Err() != nil {
		return name, context.Cause(ctx)
	}
	return name, nil
}

// refused reports whether an error is an answer of the server that it has done nothing.
func refused(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= 400 && code < 500 && code != http.StatusRequestTimeout
}

// AwaitJob waits some seconds for a Job that the server may still be making.
func (c *Cluster) AwaitJob(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(ctx, c.times.late)
	defer cancel()
	for {
		asked, done := call(ctx)
		_, err := c.client.BatchV1().Jobs(c.Namespace).Get(asked, name, metav1.GetOptions{})
		done()
		if err == nil || refused(err) && !apierrors.IsNotFound(err) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(c.times.retry):
		}
	}
}

// marked returns a copy of a Job's spec with labels and annotations on its pods, and a digest
// of the spec.
func (c *Cluster) marked(run, part string, spec *batch.JobSpecApplyConfiguration) (*batch.JobSpecApplyConfiguration, string, error) {
	if spec == nil || spec.Template == nil || spec.Template.Spec == nil {
		return nil, "", errors.New("the Job has no pod")
	}
	text, err := canonical(spec)
	if err != nil {
		return nil, "", err
	}
	marked := *spec
	template := *spec.Template
	if template.ObjectMetaApplyConfiguration == nil {
		template.ObjectMetaApplyConfiguration = &meta.ObjectMetaApplyConfiguration{}
	} else {
		copied := *template.ObjectMetaApplyConfiguration
		copied.Labels, copied.Annotations = maps.Clone(copied.Labels), maps.Clone(copied.Annotations)
		template.ObjectMetaApplyConfiguration = &copied
	}
	template.WithLabels(labels(run, part)).WithAnnotations(identity())
	marked.Template = &template
	return &marked, digest(text), nil
}

// Config makes an immutable ConfigMap of the name of a Job, which the cluster removes with
// the Job. Keys are file names. A ConfigMap holds at most 1 MiB.
func (c *Cluster) Config(ctx context.Context, job string, data map[string][]byte) error {
	task := "make ConfigMap " + job
	of, err := c.owner(ctx, job)
	if err != nil {
		return c.explain(task, err)
	}
	config := core.ConfigMap(job, c.Namespace).WithLabels(of.labels).WithAnnotations(of.annotations).
		WithOwnerReferences(of.reference).WithBinaryData(data).WithImmutable(true)
	asked, cancel := call(ctx)
	defer cancel()
	_, err = c.client.CoreV1().ConfigMaps(c.Namespace).Apply(asked, config, metav1.ApplyOptions{FieldManager: Manager, Force: true})
	return c.explain(task, err)
}

// Secret makes an immutable Secret of the name of a Job, which the cluster removes with the
// Job. It is for credentials that pods need, and nothing else.
func (c *Cluster) Secret(ctx context.Context, job string, data map[string][]byte) error {
	task := "make Secret " + job
	of, err := c.owner(ctx, job)
	if err != nil {
		return c.explain(task, err)
	}
	secret := core.Secret(job, c.Namespace).WithLabels(of.labels).WithAnnotations(of.annotations).
		WithOwnerReferences(of.reference).WithData(data).WithType(corev1.SecretTypeOpaque).WithImmutable(true)
	asked, cancel := call(ctx)
	defer cancel()
	_, err = c.client.CoreV1().Secrets(c.Namespace).Apply(asked, secret, metav1.ApplyOptions{FieldManager: Manager, Force: true})
	return c.explain(task, err)
}

// owned is what an object of a Job takes from it.
type owned struct {
	reference           *meta.OwnerReferenceApplyConfiguration
	labels, annotations map[string]string
}

func (c *Cluster) owner(ctx context.Context, job string) (owned, error) {
	asked, cancel := call(ctx)
	defer cancel()
	j, err := c.client.BatchV1().Jobs(c.Namespace).Get(asked, job, metav1.GetOptions{})
	if err != nil {
		return owned{}, err
	}
	return owned{
		// BlockOwnerDeletion would need the right to change the Job's finalizers where the
		// server checks that; Remove waits for these objects by itself.
		reference: meta.OwnerReference().WithAPIVersion(jobs.SchemeGroupVersion.String()).WithKind("Job").
			WithName(j.Name).WithUID(j.UID).WithController(true).WithBlockOwnerDeletion(false),
		labels: labels(j.Labels[LabelRun], j.Labels[LabelPart]), annotations: identity(),
	}, nil
}

// User is the user and group id of csiglab in pods.
const User = 1000

// Folders of a pod that can be written to, each an emptyDir.
const (
	WorkFolder = "/work" // HOME, and where csiglab starts
	TmpFolder  = "/tmp"
)

// container is the name of the one container of each pod.
const container = "csiglab"

// grace is how long a pod may take to end in order, in seconds.
const grace = 10

// PodSpec returns the spec of a pod with one container, which starts csiglab with args: uid
// 1000, no capability but the given ones, read-only root, no privilege escalation, no
// service-account token, no service links, and folders to write to at /work, which is HOME,
// and /tmp. A pod that needs capabilities runs as root, since the kernel gives them to no
// other user of a program without file capabilities. Callers add resources, volumes and
// environment to Containers[0].
func (c *Cluster) PodSpec(image string, args, capabilities []string) *core.PodSpecApplyConfiguration {
	caps := core.Capabilities().WithDrop("ALL")
	user, ordinary := int64(User), true
	for _, name := range capabilities {
		caps.WithAdd(corev1.Capability(name))
		user, ordinary = 0, false
	}
	main := core.Container().WithName(container).WithImage(image).WithImagePullPolicy(corev1.PullIfNotPresent).
		WithArgs(args...).WithWorkingDir(WorkFolder).
		WithEnv(core.EnvVar().WithName("HOME").WithValue(WorkFolder), core.EnvVar().WithName("TMPDIR").WithValue(TmpFolder)).
		WithVolumeMounts(core.VolumeMount().WithName("work").WithMountPath(WorkFolder), core.VolumeMount().WithName("tmp").WithMountPath(TmpFolder)).
		WithTerminationMessagePolicy(corev1.TerminationMessageFallbackToLogsOnError).
		WithSecurityContext(core.SecurityContext().WithAllowPrivilegeEscalation(false).WithReadOnlyRootFilesystem(true).WithPrivileged(false).WithCapabilities(caps))
	return core.PodSpec().
		WithRestartPolicy(corev1.RestartPolicyNever).
		WithAutomountServiceAccountToken(false).WithEnableServiceLinks(false).
		WithTerminationGracePeriodSeconds(grace).
		WithSecurityContext(core.PodSecurityContext().WithRunAsNonRoot(ordinary).WithRunAsUser(user).WithRunAsGroup(user).WithFSGroup(user)).
		WithVolumes(core.Volume().WithName("work").WithEmptyDir(core.EmptyDirVolumeSource()), core.Volume().WithName("tmp").WithEmptyDir(core.EmptyDirVolumeSource())).
		WithContainers(main)
}

// canonical returns a spec as text that is the same for the same content.
func canonical(spec *batch.JobSpecApplyConfiguration) (string, error) {
	text, err := json.Marshal(spec)
	return string(text), err
}
