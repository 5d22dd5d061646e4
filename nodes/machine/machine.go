// Package machine describes the machine of any node of a fabric as plain data and
// builds it, so that one description can be compiled, sent to another process, and
// turned into a machine there. It holds no behaviour of its own: that is in
// nodes/host, nodes/host/shim, nodes/host/generator, nodes/switch/dataplane and nodes/fault.
// Drivers (nodes/sim, nodes/emu) get machines from it.
package machine

import (
	"errors"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/fault"
	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/host/generator"
	"github.com/csiglab/csiglab/nodes/host/shim"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/wire"
)

// Spec is the configuration of one node's machine. Exactly one field beside Faults is set. It is
// plain data, which package gob can encode.
type Spec struct {
	Host   *host.Config      // a host with our transport, and with programs if it has an Edge
	Shim   *shim.Config      // a host that has only programs, over the kernel's transport
	Switch *dataplane.Config // a switch

	Generator *generator.Config // a host that sends raw frames and has no transport

	Faults *fault.Config // that the node suffers; nil without
}

// ErrSpec reports a Spec that is none: no field is set, or more than one.
var ErrSpec = errors.New("machine: want the configuration of one machine: a host, a shim, a generator or a switch")

// New returns the machine, which draws its packets from pool and emits its records
// into sink. An error names the node and the value that is wrong; it is ErrSpec if
// the Spec is none.
func (s Spec) New(pool *wire.Pool, sink metrics.Sink) (node.Machine, error) {
	if s.Faults == nil {
		return s.intact(pool, sink)
	}
	with := fault.NewSink(sink)
	m, err := s.intact(pool, with)
	if err != nil {
		return nil, err
	}
	return made(fault.New(*s.Faults, m, s.Ports(), pool, with))
}

// intact returns the machine without faults.
func (s Spec) intact(pool *wire.Pool, sink metrics.Sink) (node.Machine, error) {
	switch {
	case s.kinds() != 1:
		return nil, ErrSpec
	case s.Host != nil:
		return made(host.New(s.Host, pool, sink))
	case s.Shim != nil:
		return made(shim.New(*s.Shim, pool, sink))
	case s.Generator != nil:
		return made(generator.New(*s.Generator, pool, sink))
	}
	return made(dataplane.New(*s.Switch, pool, sink))
}

// made returns a machine, or nil with an error, where the nil pointer to a machine
// would be no nil node.Machine.
func made[M node.Machine](m M, err error) (node.Machine, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (s Spec) kinds() (n int) {
	for _, set := range []bool{s.Host != nil, s.Shim != nil, s.Generator != nil, s.Switch != nil} {
		if set {
			n++
		}
	}
	return n
}

// Ports returns the number of the machine's ports, 0 for a Spec that is none.
func (s Spec) Ports() int {
	switch {
	case s.Host != nil:
		return s.Host.Ports()
	case s.Shim != nil:
		return shim.Ports
	case s.Generator != nil:
		return generator.Ports
	case s.Switch != nil:
		return len(s.Switch.Ports)
	}
	return 0
}

// Counters returns the names of the counters that the machine has in
// metrics.NodeTotals: of tags, and of programs' frames.
func (s Spec) Counters() (tags, programs []string) {
	switch {
	case s.Switch != nil:
		return dataplane.TagNames(), nil
	case s.Generator != nil:
		return generator.TagNames(), nil
	case s.Edge() != nil:
		return shim.TagNames(), shim.ProgramNames()
	}
	return nil, nil
}

// Edge returns the configuration of what a host has below its programs, nil for a node
// without programs.
func (s Spec) Edge() *shim.EdgeConfig {
	switch {
	case s.Host != nil:
		return s.Host.Edge
	case s.Shim != nil:
		return &s.Shim.EdgeConfig
	}
	return nil
}

// Name returns the node's name, "" for a Spec that is none.
func (s Spec) Name() string {
	switch {
	case s.Host != nil:
		return s.Host.Name
	case s.Shim != nil:
		return s.Shim.Name
	case s.Generator != nil:
		return s.Generator.Name
	case s.Switch != nil:
		return s.Switch.Name
	}
	return ""
}
