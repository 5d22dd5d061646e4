package main

import (
	"os"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/programs/programstest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	programstest.Remove()
	os.Exit(code)
}
