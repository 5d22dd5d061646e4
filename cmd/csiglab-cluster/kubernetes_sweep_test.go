package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	client "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/csiglab/csiglab/orchestrator/compare/results"
	"github.com/csiglab/csiglab/orchestrator/programs/programstest"
)

// What tests on a cluster need beside CSIGLAB_KUBECONFIG: an image, and commands of the shell,
// which get an image's archive, or the name of a node, as their first argument.
const (
	imageEnv     = "CSIGLAB_CLUSTER_IMAGE" // an image that the nodes have, of the programs in TEST_PROGRAMS
	importEnv    = "TEST_CLUSTER_IMPORT"   // without one: makes an archive's image known to all nodes
	stopNodeEnv  = "TEST_CLUSTER_STOP"     // stops a node; without it no node is stopped
	startNodeEnv = "TEST_CLUSTER_START"    // starts it again
)

// realCluster is a namespace of a test on a real cluster, with an image of this csiglab.
type realCluster struct {
	*testing.T
	client    *client.Clientset
	namespace string
	image     string
}

func newRealCluster(t *testing.T) *realCluster {
	t.Helper()
	file := os.Getenv("CSIGLAB_KUBECONFIG")
	image := os.Getenv(imageEnv)
	if image != "" && os.Getenv("TEST_PROGRAMS") == "" {
		t.Skip(imageEnv + " needs TEST_PROGRAMS, the programs that are in it")
	}
	if file == "" || image == "" && os.Getenv(importEnv) == "" {
		t.Skipf("needs a Kubernetes cluster: CSIGLAB_KUBECONFIG, and %s or %s", imageEnv, importEnv)
	}
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		t.Fatal(err)
	}
	c := &realCluster{T: t, image: image}
	c.namespace = fmt.Sprintf("csiglab-%s-%d", strings.ToLower(t.Name()), os.Getpid())
	if c.client, err = client.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	if _, err := c.client.CoreV1().Namespaces().Create(t.Context(), &core.Namespace{ObjectMeta: meta.ObjectMeta{Name: c.namespace}}, meta.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.client.CoreV1().Namespaces().Delete(context.Background(), c.namespace, meta.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	if c.image != "" {
		return c
	}
	c.image = fmt.Sprintf("lab.invalid/csiglab:test-%d", os.Getpid())
	archive := filepath.Join(t.TempDir(), "csiglab.tar")
	if code, _, said := separately(t, "image", "save", archive, "--name", c.image); code != exitOK {
		t.Fatalf("image save: exit code %d\n%s", code, said)
	}
	c.shell(importEnv, archive)
	return c
}

// shell runs the command of a variable.
func (c *realCluster) shell(variable, argument string) {
	c.Helper()
	if out, err := exec.Command("sh", "-c", os.Getenv(variable)+` "$1"`, "sh", argument).CombinedOutput(); err != nil {
		c.Fatalf("%s %s: %v\n%s", variable, argument, err, out)
	}
}

// empty checks that nothing of csiglab is in the namespace.
func (c *realCluster) empty(when string) {
	c.Helper()
	o := meta.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=csiglab"}
	jobs, err1 := c.client.BatchV1().Jobs(c.namespace).List(c.Context(), o)
	pods, err2 := c.client.CoreV1().Pods(c.namespace).List(c.Context(), o)
	configs, err3 := c.client.CoreV1().ConfigMaps(c.namespace).List(c.Context(), o)
	secrets, err4 := c.client.CoreV1().Secrets(c.namespace).List(c.Context(), o)
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			c.Fatal(err)
		}
	}
	if n := len(jobs.Items) + len(pods.Items) + len(configs.Items) + len(secrets.Items); n > 0 {
		c.Errorf("%s: %d Jobs, %d pods, %d ConfigMaps and %d Secrets remain", when, len(jobs.Items), len(pods.Items), len(configs.Items), len(secrets.Items))
	}
}

// flags are those of a command on the cluster.
func (c *realCluster) flags() []string {
	return []string{"--on", "kubernetes", "--namespace", c.namespace, "--image", c.image}
}

// seen is what the pods of a namespace did.
type seen struct {
	mu    sync.Mutex
	nodes map[string]int             // pods that succeeded
	ended map[string]map[string]bool // pods that succeeded, by their index
}

// watch records the pods of the namespace until the test ends.
func (c *realCluster) watch() *seen {
	c.Helper()
	s := &seen{nodes: map[string]int{}, ended: map[string]map[string]bool{}}
	w, err := c.client.CoreV1().Pods(c.namespace).Watch(c.Context(), meta.ListOptions{})
	if err != nil {
		c.Fatal(err)
	}
	go func() {
		for e := range w.ResultChan() {
			p, ok := e.Object.(*core.Pod)
			if !ok || p.Status.Phase != core.PodSucceeded {
				continue
			}
			s.mu.Lock()
			index := p.Labels["batch.kubernetes.io/job-name"] + " " + p.Annotations["batch.kubernetes.io/job-completion-index"]
			if s.ended[index] == nil {
				s.ended[index] = map[string]bool{}
			}
			if !s.ended[index][p.Name] {
				s.ended[index][p.Name] = true
				s.nodes[p.Spec.NodeName]++
			}
			s.mu.Unlock()
		}
	}()
	return s
}

// start begins a sweep on the cluster, and returns when so many trials have ended.
func (c *realCluster) start(folder string, done int, args ...string) (cmd *exec.Cmd, said *bytes.Buffer) {
	c.Helper()
	cmd = exec.Command(filepath.Join(programstest.Built(c.T), "csiglab"), append(append([]string{"sweep"}, args...), c.flags()...)...)
	said = &bytes.Buffer{}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		c.Fatal(err)
	}
	for until := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		journal, _ := os.ReadFile(filepath.Join(folder, "trials.jsonl"))
		if bytes.Count(journal, []byte(`"trial":`)) >= done {
			return cmd, said
		}
		if !exists(c.T, cmd.Process.Pid) || time.Now().After(until) {
			cmd.Process.Kill() //nolint:errcheck // it may have ended
			cmd.Wait()         //nolint:errcheck // as above
			c.Fatalf("no %d trials\n%s", done, said)
		}
	}
}

// A sweep of 40 runs on a cluster: over all nodes, with the table of a local sweep. Ctrl-C,
// and kill -9 with csiglab clean, leave nothing there; --resume does the rest. A node that
// is stopped half way costs no trial that has ended.
func TestSweepOnKubernetes(t *testing.T) {
	c := newRealCluster(t)
	file := pointsFile(t, "2MB", "")
	at := func(name string) string { return filepath.Join(filepath.Dir(file), name) }
	sweep := []string{file, "--seeds", "20"}
	if code, _, said := separately(t, append([]string{"sweep", "--out", at("local")}, sweep...)...); code != exitOK {
		t.Fatalf("exit code %d\n%s", code, said)
	}
	want, err := os.ReadFile(filepath.Join(at("local"), results.File))
	if err != nil {
		t.Fatal(err)
	}
	same := func(name string) {
		t.Helper()
		if got, err := os.ReadFile(filepath.Join(at(name), results.File)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: another table, or %v", name, err)
		}
		c.empty(name)
	}
	s := c.watch()
	if code, _, said := separately(t, append(append([]string{"sweep", "--out", at("whole")}, sweep...), c.flags()...)...); code != exitOK {
		t.Fatalf("exit code %d\n%s", code, said)
	}
	same("whole")
	s.mu.Lock()
	if len(s.nodes) < 2 {
		t.Errorf("pods by node: %v", s.nodes)
	}
	s.mu.Unlock()

	cmd, said := c.start(at("stopped"), 3, append(sweep, "--out", at("stopped"))...)
	cmd.Process.Signal(syscall.SIGINT) //nolint:errcheck // the exit code says so
	cmd.Wait()                         //nolint:errcheck // as above
	if code := cmd.ProcessState.ExitCode(); code != exitInfrastructure || !strings.Contains(said.String(), "csiglab: interrupted\nthe sweep is incomplete: ") {
		t.Errorf("Ctrl-C: exit code %d\n%s", code, said)
	}
	c.empty("Ctrl-C")

	cmd, _ = c.start(at("stopped"), 6, "--resume", at("stopped"))
	cmd.Process.Kill() //nolint:errcheck // it is there
	cmd.Wait()         //nolint:errcheck // as above
	if code, out, said := separately(t, "clean", "--on", "kubernetes", "--namespace", c.namespace); code != exitOK || !strings.Contains(out, "removed") {
		t.Errorf("clean: exit code %d\n%s%s", code, out, said)
	}
	c.empty("kill -9 and clean")
	if code, _, said := separately(t, append([]string{"sweep", "--resume", at("stopped")}, c.flags()...)...); code != exitOK || !strings.Contains(said, " have ended already") {
		t.Errorf("resume: exit code %d\n%s", code, said)
	}
	same("stopped")

	if os.Getenv(stopNodeEnv) == "" {
		t.Log("no node is stopped: " + stopNodeEnv + " is not set")
		return
	}
	nodes, err := c.client.CoreV1().Nodes().List(t.Context(), meta.ListOptions{})
	if err != nil || len(nodes.Items) < 2 {
		t.Fatalf("nodes: %v", err)
	}
	node := nodes.Items[len(nodes.Items)-1].Name
	cmd, said = c.start(at("node"), 15, append(sweep, "--out", at("node"))...)
	c.shell(stopNodeEnv, node)
	defer c.shell(startNodeEnv, node)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
	same("node")
	s.mu.Lock()
	defer s.mu.Unlock()
	for index, pods := range s.ended {
		if len(pods) > 1 {
			t.Errorf("%s was done by %d pods", index, len(pods))
		}
	}
}
