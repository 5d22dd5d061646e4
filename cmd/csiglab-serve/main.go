// Command csiglab-serve is csiglab, linked with Prometheus' storage, query language and
// API: it serves run folders and labs as series, and writes OpenMetrics. csiglab starts
// it; it knows all commands itself.
package main

import (
	"os"

	"github.com/csiglab/csiglab/cmd/cli"
	"github.com/csiglab/csiglab/cmd/cli/command"
)

func main() { os.Exit(cli.Main(command.Linked{Server: prometheus{}})) }
