package main

import (
	"os"
	"testing"

	"github.com/csiglab/csiglab/internal/programs/programstest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	programstest.Remove()
	os.Exit(code)
}
