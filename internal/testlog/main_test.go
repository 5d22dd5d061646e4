package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
)

// Tests of a module of its own, as go test -json tells of them.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module m\n",
		"a/a_test.go": `package a
import "testing"
func TestWell(t *testing.T) { t.Log("quiet") }
func TestWrong(t *testing.T) { t.Run("sub", func(t *testing.T) { t.Error("this is wrong") }) }
func TestPart(t *testing.T) { t.Run("sub", func(t *testing.T) { t.Log("` + checkout.LeftOut + `much") }) }
func TestSkipped(t *testing.T) { t.Skip("` + checkout.LeftOut + `all") }
func TestAbsent(t *testing.T) { t.Skip("no engine") }
`,
		"b/b_test.go": "package b\nimport \"testing\"\nfunc TestWell(t *testing.T) {}\n",
		"c/c_test.go": "package c\nimport \"testing\"\nfunc TestDies(t *testing.T) { go panic(\"dead\"); select {} }\n",
		"d/d_test.go": "package d\nfunc (\n",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "test", "-json", "./...")
	cmd.Dir = dir
	text, _ := cmd.Output() // a test fails
	var out bytes.Buffer
	list, err := read(strings.NewReader("make: told\n"+string(text)), &out)
	if want := []string{"m/a TestPart", "m/a TestSkipped"}; err != nil || !slices.Equal(list, want) {
		t.Errorf("%q, %v, want %q\n%s", list, err, want, text)
	}
	for _, want := range []string{"make: told\n", "this is wrong\n", "--- FAIL: TestWrong/sub", "FAIL\tm/a\t", "ok  \tm/b\t", "panic: dead", "FAIL\tm/d [setup failed]", "d_test.go:2"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	for _, no := range []string{"quiet", "TestPart", "no engine", "PASS"} {
		if strings.Contains(out.String(), no) {
			t.Errorf("%q in\n%s", no, &out)
		}
	}
}
