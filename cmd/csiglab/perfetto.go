package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/csiglab/csiglab/metrics/perfetto"
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// perfettoFlags are the flags of export --perfetto.
type perfettoFlags struct {
	file    string
	ports   int
	variant string
	seed    uint64
}

// chosen reports whether --perfetto is given, and refuses flags that need it.
func (p *perfettoFlags) chosen(f *pflag.FlagSet) (bool, error) {
	if p.file == "" && f.Changed("ports") {
		return false, usage("--ports needs --perfetto")
	}
	if p.file != "" && p.ports < 0 {
		return false, usage("--ports %d: want a number of ports, 0 or more", p.ports)
	}
	return p.file != "", nil
}

// exportPerfetto writes a run's folder as a trace for ui.perfetto.dev.
