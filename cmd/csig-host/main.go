// Command csig-host runs a host: its transport, congestion control and load balancer, or the shim below the
// programs of the host, over the packet sockets of its network namespace. csiglab starts it and passes its
// configuration through inherited files; it has no options. As "csig-host idle" it waits in the container of a host's programs.
package main

import (
	"os"
	"syscall"

	"github.com/csiglab/csiglab/nodes/emu/process"
	"github.com/csiglab/csiglab/orchestrator/labs/reaper"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == reaper.Argument {
		reaper.Run(syscall.SIGTERM)
		return
	}
	os.Exit(process.Main())
}
