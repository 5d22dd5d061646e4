// Command csig-host runs a host: its transport, congestion control and load balancer, or the shim below the
// programs of the host, over the packet sockets of its network namespace. csiglab starts it and tells it everything
// through inherited files; it has no options. As "csig-host idle" it waits in the container of a host's programs.
package main

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"os"
	"syscall"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/reaper"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == reaper.Argument {
		reaper.Run(syscall.SIGTERM)
		return
	}
	os.Exit(emu.Main(build))
}

func build(config []byte, pool *wire.Pool) (node.Machine, error) {
	var m host.Machine
	if err := gob.NewDecoder(bytes.NewReader(config)).Decode(&m); err != nil {
		return nil, fmt.Errorf("read the host's configuration: %w", err)
	}
	return m.New(pool)
}
