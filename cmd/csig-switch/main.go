// Command csig-switch runs a switch: its CSIG transit dataplane, over the packet
// sockets of its network namespace. csiglab starts it and tells it everything
// through inherited files; it has no options.
package main

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"os"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/wire"
)

func main() { os.Exit(emu.Main(build)) }

func build(config []byte, pool *wire.Pool) (node.Machine, error) {
	var c dataplane.Config
	if err := gob.NewDecoder(bytes.NewReader(config)).Decode(&c); err != nil {
		return nil, fmt.Errorf("read the switch's configuration: %w", err)
	}
	return dataplane.New(c, pool)
}
