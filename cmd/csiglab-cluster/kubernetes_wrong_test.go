package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/csiglab/csiglab/orchestrator/programs/programstest"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// kubeconfig writes that of the tests with changes.
func kubeconfig(t *testing.T, change func(*api.Cluster, *api.AuthInfo)) string {
	t.Helper()
	c, err := clientcmd.LoadFromFile(os.Getenv("CSIGLAB_KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	current := c.Contexts[c.CurrentContext]
	change(c.Clusters[current.Cluster], c.AuthInfos[current.AuthInfo])
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*c, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// What a cluster does not have or permit is a clear error within 30 s, of runs and of sweeps,
// and leaves nothing there.
func TestWrongInputOnKubernetes(t *testing.T) {
	c := newRealCluster(t)
	small := fmt.Sprintf("small-%s", c.namespace)
	if _, err := c.client.CoreV1().Namespaces().Create(t.Context(), &core.Namespace{ObjectMeta: meta.ObjectMeta{Name: small}}, meta.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.client.CoreV1().Namespaces().Delete(t.Context(), small, meta.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}()
	quota := &core.ResourceQuota{ObjectMeta: meta.ObjectMeta{Name: "small"}, Spec: core.ResourceQuotaSpec{Hard: core.ResourceList{core.ResourceRequestsCPU: resource.MustParse("10m")}}}
	if _, err := c.client.CoreV1().ResourceQuotas(small).Create(t.Context(), quota, meta.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	file := fatTreeFile(t, "200kB")
	for _, w := range []struct {
		name             string
		config           string // a kubeconfig; "": that of the tests
		context          string
		namespace, image string
		code             int
		want             []string
	}{
		{"unknown context", "", "nowhere", c.namespace, c.image, exitUsage, []string{`there is no context "nowhere"; there are `}},
		{"unreachable server", kubeconfig(t, func(c *api.Cluster, _ *api.AuthInfo) { c.Server = "https://127.0.0.1:1" }), "", c.namespace, c.image, exitInfrastructure, []string{"127.0.0.1:1", "connection refused"}},
		{"silent server", kubeconfig(t, func(c *api.Cluster, _ *api.AuthInfo) { c.Server = "https://192.0.2.1:6443" }), "", c.namespace, c.image, exitInfrastructure, []string{"192.0.2.1:6443"}},
		{"no rights", kubeconfig(t, func(_ *api.Cluster, a *api.AuthInfo) { a.Impersonate = "nobody" }), "", c.namespace, c.image, exitInfrastructure, []string{"rights are missing: make Job", `User "nobody" cannot `}},
		{"unknown namespace", "", "", "no-such-namespace", c.image, exitInfrastructure, []string{"no-such-namespace"}},
		{"invalid image", "", "", c.namespace, "lab.invalid/CSIGLAB::x", exitInfrastructure, []string{"lab.invalid/CSIGLAB::x"}},
		{"image not found", "", "", c.namespace, "127.0.0.1:1/csiglab:none", exitInfrastructure, []string{"127.0.0.1:1/csiglab:none", "cannot be had"}},
		{"quota", "", "", small, c.image, exitInfrastructure, []string{"exceeded quota: small"}},
	} {
		on := "kubernetes"
		if w.context != "" {
			on += ":" + w.context
		}
		for _, args := range [][]string{
			{"run", file, "--runtime", "kubernetes", "--context", w.context, "--shards", "2"},
			{"sweep", file, "--seeds", "2", "--on", on},
		} {
			cmd := exec.Command(filepath.Join(programstest.Built(t), "csiglab"), append(args, "--namespace", w.namespace, "--image", w.image, "--out", filepath.Join(t.TempDir(), "out"))...)
			if cmd.Env = os.Environ(); w.config != "" {
				cmd.Env = append(cmd.Env, "KUBECONFIG="+w.config)
			}
			began := time.Now()
			out, _ := cmd.CombinedOutput() // the exit code says so
			took := time.Since(began)
			t.Logf("%s, %s: exit code %d after %v: %s", w.name, args[0], cmd.ProcessState.ExitCode(), took, out)
			if code := cmd.ProcessState.ExitCode(); code != w.code || took > 30*time.Second {
				t.Errorf("%s, %s: exit code %d after %v, want %d", w.name, args[0], code, took, w.code)
			}
			for _, want := range w.want {
				if !strings.Contains(string(out), want) {
					t.Errorf("%s, %s: %q is not in the message", w.name, args[0], want)
				}
			}
			for _, namespace := range []string{c.namespace, small} {
				here := &realCluster{T: t, client: c.client, namespace: namespace}
				here.empty(w.name)
			}
		}
	}
}
