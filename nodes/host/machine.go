package host

import (
	"errors"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/host/shim"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/wire"
)

// Machine is the configuration of a host's node: of the transport, or of the shim
// where programs run over the kernel's. One of the two is set. It is what is
// handed to the node's process.
type Machine struct {
	Transport *Config
	Shim      *shim.Config
}

// New returns the machine, which draws packets from pool and emits its records
// into sink.
func (m Machine) New(pool *wire.Pool, sink metrics.Sink) (node.Machine, error) {
	switch {
	case m.Transport != nil && m.Shim == nil:
		return New(*m.Transport, pool, sink)
	case m.Shim != nil && m.Transport == nil:
		return shim.New(*m.Shim, pool, sink)
	}
	return nil, errors.New("host: want the configuration of the transport or of the shim")
}

// Ports returns the number of the machine's ports.
func (m Machine) Ports() int {
	if m.Shim != nil {
		return shim.Ports
	}
	return 1 + m.Transport.Control
}
