package docs_test

import (
	"bytes"
	"context"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/csiglab/csiglab/orchestrator/compare/results"
)

// Names of cluster.md.
const (
	shownImage     = "registry.example.com/team/csiglab:1"
	shownNamespace = "csiglab"
	shownUser      = "ann"
)

// The commands of cluster.md, on the cluster of CSIGLAB_KUBECONFIG: csiglab has the rights of
// the Role and no others, the sweep's table is the local one's, and nothing is left. The nodes
// have the image of CSIGLAB_CLUSTER_IMAGE, of the csiglab in TEST_PROGRAMS; the push goes to
// a registry of the test.
func TestCluster(t *testing.T) {
	admin := os.Getenv("CSIGLAB_KUBECONFIG")
	image := os.Getenv("CSIGLAB_CLUSTER_IMAGE")
	bin := os.Getenv("TEST_PROGRAMS")
	switch {
	case admin == "":
		t.Skip("needs a Kubernetes cluster: CSIGLAB_KUBECONFIG is not set")
	case image == "" || bin == "":
		t.Skip("needs an image that the nodes have, CSIGLAB_CLUSTER_IMAGE, and its programs, TEST_PROGRAMS")
	}
	if _, err := exec.LookPath("kubectl"); err != nil {
		t.Skip("kubectl is not on PATH: ", err)
	}
	dir := t.TempDir()
	copyTree(t, dir)
	if err := os.Symlink(bin, filepath.Join(dir, "bin")); err != nil {
		t.Fatal(err)
	}
	user := filepath.Join(t.TempDir(), "kubeconfig")
	impersonate(t, admin, user)
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	namespace := "docs-" + strings.ToLower(strings.TrimPrefix(filepath.Base(filepath.Dir(dir)), "Test")) // of this test alone
	r := runner{dir: dir, env: append(environment(bin), "HOME="+t.TempDir())}
	run := func(text string) string {
		t.Helper()
		text = strings.NewReplacer("image push "+shownImage, "image push "+server.Listener.Addr().String()+"/team/csiglab:1", shownImage, image,
			"--namespace "+shownNamespace, "--namespace "+namespace, "namespace "+shownNamespace, "namespace "+namespace, "-n "+shownNamespace, "-n "+namespace).Replace(text)
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		cmd := r.command(ctx, text)
		config := user
		if strings.HasPrefix(text, "kubectl ") {
			config = admin
		}
		cmd.Env = append(cmd.Env, "KUBECONFIG="+config)
		start := time.Now()
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", text, err, tail(out))
		}
		t.Logf("ran in %v: %s", time.Since(start).Round(time.Millisecond), text)
		return string(out)
	}
	text, err := os.ReadFile("how-to/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	list, err := blocks(string(text))
	if err != nil {
		t.Fatal(err)
	}
	var shown []string // of the first block with a reason that names this test, then of the second
	for _, b := range list {
		if strings.Contains(b.notRun, t.Name()) {
			for _, c := range b.commands {
				shown = append(shown, c.text)
			}
		}
	}
	if len(shown) != 7 {
		t.Fatalf("%d commands, want five and two of the rights: %q", len(shown), shown)
	}
	t.Cleanup(func() {
		cmd := exec.Command("kubectl", "delete", "namespace", namespace, "--ignore-not-found")
		cmd.Env = append(os.Environ(), "KUBECONFIG="+admin)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	run(shown[0])
	run(shown[1])
	run(shown[5])
	run(shown[6])
	// The user may make Jobs, and not what a Job cannot.
	if said := run("kubectl auth can-i create pods --as " + shownUser + " -n " + namespace + " || true"); !strings.Contains(said, "no") {
		t.Errorf("the Role permits to make pods: %s", said)
	}
	for _, command := range shown[2:5] {
		run(command)
	}
	run("csiglab sweep docs/examples/sweep.yaml --out sweeps/local")
	here, err1 := os.ReadFile(filepath.Join(dir, "sweeps", "local", results.File))
	there, err2 := os.ReadFile(filepath.Join(dir, "sweeps", "queues", results.File))
	if err1 != nil || err2 != nil || !bytes.Equal(here, there) {
		t.Errorf("the cluster has another table: %d and %d bytes, %v, %v", len(there), len(here), err1, err2)
	}
	if left := run("kubectl -n " + shownNamespace + " get jobs,pods,configmaps,secrets -l app.kubernetes.io/managed-by=csiglab -o name"); strings.TrimSpace(left) != "" {
		t.Errorf("left in the cluster:\n%s", left)
	}
}

// impersonate writes a kubeconfig that is another with the rights of shownUser.
func impersonate(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	var config map[string]any
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	users, _ := config["users"].([]any)
	for _, u := range users {
		u.(map[string]any)["user"].(map[string]any)["as"] = shownUser
	}
	if len(users) == 0 {
		t.Fatalf("%s has no user", from)
	}
	if text, err = yaml.Marshal(config); err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
