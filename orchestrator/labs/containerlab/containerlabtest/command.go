package containerlabtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
)

// module is containerlab's.
const module = "github.com/srl-labs/containerlab"

// commandEnv holds the path of containerlab's command.
const commandEnv = "CONTAINERLAB_TEST_COMMAND"

// Command returns the path of containerlab's command, which it builds from the module that
// this one uses; in Alone, which may have no network for that, it is what the test has built
// before.
// It would stop at /proc/modules where the kernel has none: there it gets an
// empty file to read.
func Command(t testing.TB) string {
	t.Helper()
	if built := os.Getenv(commandEnv); built != "" {
		return built
	}
	output := func(name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Dir = checkout.Repository(t)
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
	build := []string{"build", "-o", command, module}
	if _, err := os.Stat("/proc/modules"); err != nil {
		if err := os.CopyFS(source, os.DirFS(output("go", "list", "-m", "-f", "{{.Dir}}", module))); err != nil {
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
			text, err := os.ReadFile(filepath.Join(checkout.Repository(t), name))
			if err != nil {
				t.Fatal(err)
			}
			if name == "go.mod" {
				text = fmt.Appendf(text, "\nreplace %s => %s\n", module, source)
			}
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		build = []string{"build", "-modfile", mod, "-o", command, module}
	}
	output("go", build...)
	t.Setenv(commandEnv, command)
	return command
}
