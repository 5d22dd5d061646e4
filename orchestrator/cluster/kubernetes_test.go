package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batch "k8s.io/client-go/applyconfigurations/batch/v1"
	core "k8s.io/client-go/applyconfigurations/core/v1"
)

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
	file := os.Getenv("CSIGLAB_KUBECONFIG")
	if file == "" {
		t.Skip("needs a Kubernetes cluster: CSIGLAB_KUBECONFIG is not set")
	}
	t.Setenv("KUBECONFIG", file)
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
