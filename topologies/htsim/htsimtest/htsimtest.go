// Package htsimtest gives tests of readers of htsim's files the public ones.
package htsimtest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// fixtures is where public input files lie beside a checkout.
const fixtures = "../shared/fixtures"

// Open opens a public file in place and skips the test where it is absent.
func Open(t testing.TB, name string) *os.File {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if filepath.Dir(dir) == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	f, err := os.Open(filepath.Join(dir, fixtures, name))
	if errors.Is(err, os.ErrNotExist) {
		t.Skipf("public file %s is not beside this checkout", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
