// Command csiglab-cluster is csiglab, linked with Kubernetes' client, registries of
// images and object stores: it runs nodes in pods, trials as the indices of a Job, and
// makes the images of these pods. csiglab starts it; it knows all commands itself.
package main

import (
	"os"

	// Certificate authorities for machines that have none of their own, such as a pod, whose
	// image holds csiglab alone: an object store is reached by TLS.
	_ "golang.org/x/crypto/x509roots/fallback"

	"github.com/csiglab/csiglab/cmd/cli"
	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/orchestrator/parts/pods"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
)

func main() {
	campaign.Add(pods.Runtime)
	os.Exit(cli.Main(command.Linked{Cluster: kubernetes{connect: connectBatch}}))
}
