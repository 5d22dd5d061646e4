package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batch "k8s.io/client-go/applyconfigurations/batch/v1"
	core "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/csiglab/csiglab/internal/checkout"
)

// TestMain lets KUBECONFIG name the test cluster, for tests in parallel.
func TestMain(m *testing.M) {
	if file := os.Getenv("CSIGLAB_KUBECONFIG"); file != "" {
		os.Setenv("KUBECONFIG", file)
	}
	os.Exit(checkout.Main(m, map[string]func([]string) int{holdRole: func(args []string) int {
		fmt.Fprintln(os.Stderr, hold(args[0]))
		return 1
	}}))
}

// testImage returns the image of csiglab on the nodes of the test cluster.
func testImage() string {
	if name := os.Getenv("CSIGLAB_CLUSTER_IMAGE"); name != "" {
		return name
	}
	return "lab.invalid/csiglab:1"
}

// testCluster connects to the cluster of CSIGLAB_KUBECONFIG, in a namespace of the test's
// own, which is removed at its end.
func testCluster(t *testing.T) *Cluster {
	t.Helper()
	if os.Getenv("CSIGLAB_KUBECONFIG") == "" {
		t.Skip("needs a Kubernetes cluster: CSIGLAB_KUBECONFIG is not set")
	}
	name := fmt.Sprintf("csiglab-test-%s", strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name())))
	if len(name) > 50 {
		name = name[:50]
	}
	name = fmt.Sprintf("%s-%x", name, time.Now().UnixNano()&0xffffff)
	c, err := Connect(t.Context(), "", name)
	if err != nil {
		t.Fatal(err)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := c.client.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.client.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
	// The controllers make the account that pods need to be admitted.
	until(t, "service account", func() bool {
		_, err := c.client.CoreV1().ServiceAccounts(name).Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil
	})
	return c
}

// until waits for something of the cluster.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not within a minute:", what)
		}
	}
}

// indexed returns an Indexed Job of n pods at once.
func indexed(n int32, pod *core.PodSpecApplyConfiguration) *batch.JobSpecApplyConfiguration {
	pod.Containers[0].WithResources(core.ResourceRequirements().WithRequests(corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("20m"), corev1.ResourceMemory: resource.MustParse("32Mi")}))
	return batch.JobSpec().WithCompletionMode("Indexed").WithCompletions(n).WithParallelism(n).WithBackoffLimitPerIndex(0).
		WithMaxFailedIndexes(n).WithPodReplacementPolicy("Failed").WithTemplate(core.PodTemplateSpec().WithSpec(pod))
}

// TestJobOnCluster makes a Job with a ConfigMap, watches its pods, reads their logs and
// removes everything.
func TestJobOnCluster(t *testing.T) {
	c := testCluster(t)
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	pod := c.PodSpec(testImage(), []string{"version"}, nil)
	pod.WithVolumes(core.Volume().WithName("payload").WithConfigMap(core.ConfigMapVolumeSource().WithName(JobName("0badcafe", "trials"))))
	pod.Containers[0].WithVolumeMounts(core.VolumeMount().WithName("payload").WithMountPath("/payload"))
	job, err := c.Job(ctx, "0badcafe", "trials", indexed(3, pod))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Config(ctx, job, map[string][]byte{"payload": {0, 1, 2}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Job(ctx, "0badcafe", "trials", indexed(4, pod)); !errors.Is(err, ErrRefused) {
		t.Errorf("the same Job with another content: %v, want %v", err, ErrRefused)
	}
	ended, done := map[int]int{}, errors.New("done")
	watching, stop := context.WithCancelCause(ctx)
	var final JobState
	err = c.Watch(watching, job, func(s JobState) {
		if s.Done {
			final = s
			stop(done)
		}
	}, func(p Pod) {
		t.Logf("pod %+v", p)
		if p.Phase == Ended {
			ended[p.Index] = p.Exit
		}
		if p.Err != nil {
			stop(p.Err)
		}
		if p.Phase == Ended && p.Index == 0 {
			r, err := c.Logs(ctx, p.Name)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(r)
			if err != nil || !strings.Contains(string(text), "csiglab") {
				t.Errorf("log %q, %v", text, err)
			}
		}
	})
	if !errors.Is(err, done) {
		t.Fatal(err)
	}
	if len(ended) != 3 || ended[0]+ended[1]+ended[2] != 0 || final.Succeeded != 3 {
		t.Errorf("ended %v, Job %+v, want three pods with exit code 0", ended, final)
	}
	found, err := c.Find(ctx)
	if err != nil || len(found) != 1 || !found[0].Lives || !found[0].Here || len(found[0].Objects) != 5 {
		t.Errorf("found %+v, %v, want a Job, its ConfigMap and three pods of a holder that lives", found, err)
	}
	if err := c.Remove(ctx, "0badcafe"); err != nil {
		t.Fatal(err)
	}
	if found, err := c.Find(ctx); err != nil || len(found) != 0 {
		t.Errorf("found %+v, %v after Remove, want nothing", found, err)
	}
}

// start makes a Job of one pod and returns the pod's name when it runs.
func start(t *testing.T, c *Cluster, run string, pod *core.PodSpecApplyConfiguration) string {
	t.Helper()
	job, err := c.Job(t.Context(), run, "test", indexed(1, pod))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	watching, stop := context.WithCancelCause(ctx)
	up := errors.New("up")
	name := ""
	err = c.Watch(watching, job, func(JobState) {}, func(p Pod) {
		switch {
		case p.Phase == Running:
			name = p.Name
			stop(up)
		case p.Err != nil:
			stop(p.Err)
		case p.Phase == Ended:
			stop(fmt.Errorf("the pod ended with exit code %d: %s", p.Exit, p.Message))
		}
	})
	if !errors.Is(err, up) {
		t.Fatal(err)
	}
	return name
}

// TestConnectionsOnCluster runs commands in a pod that serves HTTP, connects to its port and
// follows its log.
func TestConnectionsOnCluster(t *testing.T) {
	c := testCluster(t)
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	const port = 7799
	name := start(t, c, "c0", c.PodSpec(testImage(), []string{"ui", "/tmp", "--port", strconv.Itoa(port)}, nil))

	// The log says where csiglab serves, as soon as it does.
	log, err := c.Logs(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(log).ReadString('\n')
	if err != nil || !strings.Contains(line, "7799") {
		t.Errorf("first line of the log: %q, %v", line, err)
	}

	conn, err := c.Dial(ctx, name, port)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answer := bufio.NewReader(conn)
	if text, err := answer.ReadString('\n'); err != nil || !strings.HasPrefix(text, "HTTP/1.1 ") {
		t.Errorf("answer over port-forward: %q, %v", text, err)
	}
	conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if _, err := io.ReadAll(answer); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read after the answer: %v, want %v", err, os.ErrDeadlineExceeded)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}

	// A port where nothing listens.
	conn, err = c.Dial(ctx, name, port+1)
	if err != nil {
		t.Fatal(err)
	}
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := conn.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("read from a port where nothing listens: %v, want connection refused", err)
	}
	conn.Close()
	if _, err := c.Dial(ctx, "nobody", port); !errors.Is(err, ErrGone) {
		t.Errorf("connect to a pod that does not exist: %v, want %v", err, ErrGone)
	}

	var out, errs strings.Builder
	code, err := c.Exec(ctx, name, []string{"csiglab", "version"}, nil, &out, &errs)
	if code != 0 || err != nil || !strings.Contains(out.String(), "csiglab") {
		t.Errorf("exec: exit code %d, %v, output %q, errors %q", code, err, out.String(), errs.String())
	}
	errs.Reset()
	code, err = c.Exec(ctx, name, []string{"csiglab", "validate", "nothing.yaml"}, nil, nil, &errs)
	if code != 2 || err != nil || !strings.Contains(errs.String(), "nothing.yaml") {
		t.Errorf("exec of what fails: exit code %d, %v, errors %q, want 2 and the file's name", code, err, errs.String())
	}
	if _, err := c.Exec(ctx, "nobody", []string{"csiglab"}, nil, &out, nil); !errors.Is(err, ErrGone) {
		t.Errorf("exec in a pod that does not exist: %v, want %v", err, ErrGone)
	}
	if code, err := c.Exec(ctx, name, []string{"no-such-program"}, nil, &out, &errs); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "no-such-program") {
		t.Errorf("exec of a program that does not exist: exit code %d, %v, want %v", code, err, ErrRefused)
	}

	// The pod has no token, so that it can ask the API server for nothing.
	p, err := c.client.CoreV1().Pods(c.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range p.Spec.Containers[0].VolumeMounts {
		if strings.Contains(m.MountPath, "serviceaccount") {
			t.Errorf("pod has a token at %s", m.MountPath)
		}
	}
	errs.Reset()
	// The file itself: csiglab reads it as an experiment, and says that it is not there.
	if code, err := c.Exec(ctx, name, []string{"csiglab", "validate", "/var/run/secrets/kubernetes.io/serviceaccount/token"}, nil, nil, &errs); code != 2 || err != nil || !strings.Contains(errs.String(), "no such file") {
		t.Errorf("token in the pod: exit code %d, %v, %q, want no such file", code, err, errs.String())
	}
	sc := p.Spec.Containers[0].SecurityContext
	if sc.Capabilities == nil || len(sc.Capabilities.Add) > 0 || len(sc.Capabilities.Drop) != 1 || !*sc.ReadOnlyRootFilesystem || *sc.AllowPrivilegeEscalation || *p.Spec.SecurityContext.RunAsUser != User {
		t.Errorf("security of the pod: %+v, %+v", sc, p.Spec.SecurityContext)
	}

	// The pod is removed while its log is read: an error, not an end.
	rest := make(chan error, 1)
	go func() {
		_, err := io.ReadAll(log)
		rest <- err
	}()
	if err := c.Remove(ctx, "c0"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-rest:
		if err != nil && !errors.Is(err, ErrGone) {
			t.Errorf("log of a pod that was removed: %v, want its end or %v", err, ErrGone)
		}
	case <-time.After(30 * time.Second):
		t.Error("the log of a pod that was removed does not end")
	}
}

// TestCannotStartOnCluster makes Jobs whose pods cannot start, each for another reason, and
// wants to hear why within 30 s.
func TestCannotStartOnCluster(t *testing.T) {
	for _, tt := range []struct {
		name    string
		prepare func(t *testing.T, c *Cluster)
		spec    func(c *Cluster) *batch.JobSpecApplyConfiguration
		want    error
		text    string
	}{
		{name: "image not found", want: ErrImage, text: "lab.invalid/nothing:1",
			spec: func(c *Cluster) *batch.JobSpecApplyConfiguration {
				return indexed(1, c.PodSpec("lab.invalid/nothing:1", []string{"version"}, nil))
			}},
		{name: "image without csiglab", want: ErrImage, text: "does not start",
			spec: func(c *Cluster) *batch.JobSpecApplyConfiguration {
				pod := c.PodSpec(testImage(), nil, nil)
				pod.Containers[0].WithCommand("/no/such/program")
				return indexed(1, pod)
			}},
		{name: "no room", want: ErrUnschedulable, text: "Insufficient cpu",
			spec: func(c *Cluster) *batch.JobSpecApplyConfiguration {
				spec := indexed(1, c.PodSpec(testImage(), []string{"version"}, nil))
				(*spec.Template.Spec.Containers[0].Resources.Requests)[corev1.ResourceCPU] = resource.MustParse("1000")
				return spec
			}},
		{name: "quota too small", want: ErrUnschedulable, text: "exceeded quota: small",
			prepare: func(t *testing.T, c *Cluster) {
				q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "small"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourceRequestsCPU: resource.MustParse("10m")}}}
				if _, err := c.client.CoreV1().ResourceQuotas(c.Namespace).Create(t.Context(), q, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
				until(t, "quota", func() bool {
					q, err := c.client.CoreV1().ResourceQuotas(c.Namespace).Get(t.Context(), "small", metav1.GetOptions{})
					return err == nil && len(q.Status.Hard) > 0
				})
			},
			spec: func(c *Cluster) *batch.JobSpecApplyConfiguration {
				return indexed(1, c.PodSpec(testImage(), []string{"version"}, nil))
			}},
		{name: "pod security", want: ErrRefused, text: "violates PodSecurity",
			prepare: func(t *testing.T, c *Cluster) {
				ns, err := c.client.CoreV1().Namespaces().Get(t.Context(), c.Namespace, metav1.GetOptions{})
				if err == nil {
					ns.Labels[levelLabel] = "restricted"
					_, err = c.client.CoreV1().Namespaces().Update(t.Context(), ns, metav1.UpdateOptions{})
				}
				if err != nil {
					t.Fatal(err)
				}
			},
			spec: func(c *Cluster) *batch.JobSpecApplyConfiguration {
				return indexed(1, c.PodSpec(testImage(), []string{"version"}, []string{"NET_ADMIN"}))
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := testCluster(t)
			if tt.prepare != nil {
				tt.prepare(t, c)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			watching, stop := context.WithCancelCause(ctx)
			defer stop(nil)
			job, err := c.Job(ctx, "0bad", "test", tt.spec(c))
			if err == nil {
				err = c.Watch(watching, job, func(s JobState) {
					if s.Err != nil {
						stop(s.Err)
					}
				}, func(p Pod) {
					if p.Err != nil {
						stop(p.Err)
					}
				})
			}
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("error %v, want %v with %q", err, tt.want, tt.text)
			}
			if err := c.Remove(t.Context(), "0bad"); err != nil {
				t.Error(err)
			}
			if found, err := c.Find(t.Context()); err != nil || len(found) > 0 {
				t.Errorf("left: %+v, %v", found, err)
			}
		})
	}
}
