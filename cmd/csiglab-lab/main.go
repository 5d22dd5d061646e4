// Command csiglab-lab is csiglab, linked with containerlab and docker: it runs nodes
// in containers, finds and removes them, writes topologies for containerlab and
// examines the Docker engine. csiglab starts it; it knows all commands itself.
package main

import (
	"os"

	"github.com/csiglab/csiglab/cmd/cli"
	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/orchestrator/backend/containers"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab/terminal"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
)

func main() {
	terminal.Restore()
	campaign.Add(containers.Runtime)
	os.Exit(cli.Main(command.Linked{Containers: engine{}}))
}
