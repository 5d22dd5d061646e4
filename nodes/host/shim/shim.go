// Package shim is the machine of a host that runs programs over the kernel's
// TCP/IP instead of the transport. It stands between the interface of these
// programs and the NIC, so that CSIG works below them: it puts tags into the
// frames that enter the fabric, and records and strips those of the frames that
// leave it. What the programs send and receive is otherwise untouched, byte for
// byte.
//
// It is driven through package node and touches no network itself.
package shim

import (
	"errors"

	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/wire"
)

// New returns the machine of cfg, drawing packets from pool.
func New(cfg Config, pool *wire.Pool) (node.Machine, error) {
	return nil, errors.New("shim: not finished")
}
