package main

import (
	"os"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/programs/programstest"
)

func TestMain(m *testing.M) {
	os.Exit(checkout.Main(m, nil, programstest.Remove))
}
