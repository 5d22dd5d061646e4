// Command csig-switch runs a switch: its CSIG transit dataplane, over the packet
// sockets of its network namespace. csiglab starts it and passes its
// configuration through inherited files; it has no options.
package main

import (
	"os"

	"github.com/csiglab/csiglab/nodes/emu/process"
)

func main() { os.Exit(process.Main()) }
