package containerlab_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
)

// library is containerlab's module.
const library = "github.com/srl-labs/containerlab"

// testCommand deploys a topology file of Deploy with containerlab's own command,
// as it is, and compares the time that both take to deploy and destroy it.
func testCommand(t *testing.T, b *bench) {
	command := buildCommand(t)
	g := threeFlow(t)
	lab, _ := b.lab(t, g, "r1")
	path := filepath.Join(lab.Folder, "three-flow.clab.yml")
	run := func(args ...string) time.Duration {
		cmd := exec.Command(command, append(args, "--topo", path)...)
		cmd.Env = append(os.Environ(), "CLAB_VERSION_CHECK=disable", "TMPDIR="+lab.Folder) // it keeps a copy of the file in TMPDIR
		start := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, out)
		}
		return time.Since(start)
	}
	// Best of some rounds, in turns: the machine has other work too.
	ours, theirs := time.Hour, time.Hour
	const rounds = 5
	for i := range rounds {
		start := time.Now()
		d, err := b.engine.Deploy(t.Context(), lab)
		if err != nil {
			t.Fatal(err)
		}
		deploy := time.Since(start)
		if err := b.engine.Destroy(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		whole := time.Since(start)
		ours = min(ours, whole)

		commandDeploy := run("deploy")
		list, err := b.docker.ContainerList(t.Context(), container.ListOptions{Filters: filters.NewArgs(filters.Arg("label", "csiglab.run=r1"), filters.Arg("status", "running"))})
		if err != nil || len(list) != len(g.Nodes) {
			t.Fatalf("containerlab made %d containers that run, want %d (%v)", len(list), len(g.Nodes), err)
		}
		commandDestroy := run("destroy", "--cleanup")
		theirs = min(theirs, commandDeploy+commandDestroy)
		t.Logf("round %d: csiglab %v to deploy, %v to destroy; containerlab %v and %v", i+1, deploy, whole-deploy, commandDeploy, commandDestroy)
		if i > 0 && ours <= theirs*11/10 {
			return
		}
	}
	t.Errorf("best of %d: deploy and destroy in %v, containerlab's command in %v: want at most 1.1 times that", rounds, ours, theirs)
}

// buildCommand builds containerlab's command from the module that this one uses.
// It would stop at /proc/modules where the kernel has none: there it gets an
// empty file to read.
func buildCommand(t *testing.T) string {
	t.Helper()
	output := func(name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Dir = repository(t)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, stderr.String())
		}
		return strings.TrimSpace(string(out))
	}
	dir := t.TempDir()
	command, source, mod := filepath.Join(dir, "containerlab"), filepath.Join(dir, "source"), filepath.Join(dir, "go.mod")
	build := []string{"build", "-o", command, library}
	if _, err := os.Stat("/proc/modules"); err != nil {
		if err := os.CopyFS(source, os.DirFS(output("go", "list", "-m", "-f", "{{.Dir}}", library))); err != nil {
			t.Fatal(err)
		}
		reader := filepath.Join(source, "utils/kernel_module.go")
		text, err := os.ReadFile(reader)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(reader, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(reader, bytes.ReplaceAll(text, []byte(`"/proc/modules"`), []byte(`"/dev/null"`)), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"go.mod", "go.sum"} {
			text, err := os.ReadFile(filepath.Join(repository(t), name))
			if err != nil {
				t.Fatal(err)
			}
			if name == "go.mod" {
				text = fmt.Appendf(text, "\nreplace %s => %s\n", library, source)
			}
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		build = []string{"build", "-modfile", mod, "-o", command, library}
	}
	output("go", build...)
	return command
}
