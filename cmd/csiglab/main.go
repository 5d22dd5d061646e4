// Command csiglab runs experiments with congestion control, load balancing and
// CSIG on a fabric, and turns them into verdicts, metrics and reports. What needs
// containers, a cluster or a Prometheus server it hands to csiglab-lab,
// csiglab-cluster or csiglab-serve.
package main

import (
	"os"

	"github.com/csiglab/csiglab/cmd/cli"
	"github.com/csiglab/csiglab/cmd/cli/command"
)

func main() { os.Exit(cli.Main(command.Linked{})) }
