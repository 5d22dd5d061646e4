package kernel

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Config is what a switch in the kernel is built from.
type Config struct {
	// Switch is the configuration of the machine, whose AtArrival counts as set.
	Switch dataplane.Config
	Format wire.Format // of the frames
	// Interfaces are the indices of the ports' interfaces, by port, in the network namespace
	// of the caller's thread.
	Interfaces []int
	// Start is model time 0 on the monotonic clock, in ns.
	Start int64
	// Dilation is wall time over model time; 0: 1.
	Dilation int64

	scripted bool // time and port of a frame come with it, for tests
}

// Switch is a switch in the kernel. Its methods may be called from several goroutines.
type Switch struct {
	objects transitObjects
	cfg     Config
	links   []link.Link
}

// New loads the program of a switch, which forwards nothing before Attach. It returns an
// error that names what of the configuration the kernel cannot do, or one of the kernel: of
// verification (*ebpf.VerifierError), or for lack of rights (os.ErrPermission).
func New(cfg Config) (*Switch, error) {
	if err := supported(&cfg.Switch); err != nil {
		return nil, fmt.Errorf("kernel datapath of %s: %w", cfg.Switch.Name, err)
	}
	s := &Switch{cfg: cfg}
	if err := s.load(); err != nil {
		return nil, fmt.Errorf("kernel datapath of %s: %w", cfg.Switch.Name, err)
	}
	return s, nil
}

// supported returns what of a machine's configuration the program lacks.
func supported(c *dataplane.Config) error {
	lacks := func(what string) error { return errors.New(what + ": not in the kernel") }
	switch {
	case c.Classes != nil:
		return lacks("classes, and with them lossless ones and PFC")
	case c.Forward.Routing.Name != "" && c.Forward.Routing.Name != "ecmp":
		return lacks("routing " + c.Forward.Routing.Name)
	case c.AQM.Name != "none" && c.AQM.Name != "step":
		return lacks("AQM " + c.AQM.Name)
	case c.Fluid != nil:
		return lacks("fidelity hybrid")
	case len(c.Resized) > 0:
		return lacks("faults that change rates")
	case c.Truth != 0:
		return lacks("exact signals beside the tags")
	case len(csig.Registered()) > 0:
		return lacks("signal " + csig.Registered()[0].String() + " of a module")
	}
	for i := range c.Ports {
		p := &c.Ports[i]
		switch {
		case p.Ingress.Outside || p.Ingress.Init.Every > 0 || p.Ingress.Refuses != [csig.Types]bool{} || p.Ingress.RefusesSecond != [csig.Types]bool{}:
			return fmt.Errorf("port %d: %w", i, lacks("tags put on or removed as frames come in"))
		case terminates(p):
			return fmt.Errorf("port %d: %w", i, lacks("policy terminate"))
		case p.Rate > maxRate:
			return fmt.Errorf("port %d: %w", i, lacks("a rate above "+maxRate.String()))
		case p.Buffer.Longest() > maxQueue:
			return fmt.Errorf("port %d: %w", i, lacks("a queue above "+maxQueue.String()))
		}
	}
	return nil
}

// What the program's 64 bits and its memory allow.
const (
	maxRate  = 8000 * units.Gbps
	maxQueue = 64 * units.MiB
)

// load fills in the program's constants and maps, and loads it.
func (s *Switch) load() error {
	cfg := s.cfg.Switch
	cfg.AtArrival = true
	machine, err := dataplane.New(cfg, new(wire.Pool), metrics.Discard)
	if err != nil {
		return err
	}
	spec, err := loadTransit()
	if err != nil {
		return err
	}
	slots := queueSlots(cfg.Ports)
	routes, hops := routesOf(&cfg.Forward.Routes)
	for name, entries := range map[string]int{"ports": len(cfg.Ports), "queues": len(cfg.Ports), "interfaces": len(cfg.Ports), "routes": len(routes), "hops": len(hops)} {
		spec.Maps[name].MaxEntries = uint32(max(1, entries))
	}
	spec.Maps["queues"].ValueSize = uint32(slots) * slotSize
	for name, value := range s.constants(machine.Domain(), slots) {
		if err := spec.Variables[name].Set(value); err != nil {
			return err
		}
	}
	if err := spec.LoadAndAssign(&s.objects, nil); err != nil {
		return err
	}
	if err := s.fill(machine, routes, hops); err != nil {
		s.Close()
		return err
	}
	return nil
}

// fill fills the maps.
func (s *Switch) fill(machine *dataplane.Switch, routes []transitRoute, hops []uint32) error {
	for host := range routes {
		if err := s.objects.Routes.Put(uint32(host), &routes[host]); err != nil {
			return err
		}
	}
	for i, port := range hops {
		if err := s.objects.Hops.Put(uint32(i), port); err != nil {
			return err
		}
	}
	for i := range s.cfg.Switch.Ports {
		p, err := s.port(i, machine)
		if err != nil {
			return fmt.Errorf("port %d: %w", i, err)
		}
		if err := s.objects.Ports.Put(uint32(i), p); err != nil {
			return err
		}
	}
	for i, index := range s.cfg.Interfaces {
		if err := s.objects.Interfaces.Put(uint32(index), uint32(i)); err != nil {
			return err
		}
	}
	return nil
}

// Attach puts the program on the interfaces, which it leaves with Close.
func (s *Switch) Attach() error {
	for i, index := range s.cfg.Interfaces {
		l, err := link.AttachTCX(link.TCXOptions{Interface: index, Program: s.objects.Transit, Attach: ebpf.AttachTCXIngress})
		if err != nil {
			return fmt.Errorf("kernel datapath of %s: port %d: %w", s.cfg.Switch.Name, i, err)
		}
		s.links = append(s.links, l)
	}
	return nil
}

// Close takes the program off the interfaces, and gives back its memory.
func (s *Switch) Close() error {
	var errs []error
	for _, l := range s.links {
		errs = append(errs, l.Close())
	}
	s.links = nil
	return errors.Join(append(errs, s.objects.Close())...)
}

// Totals returns what the switch has done, as a machine counts it: without queues, and without
// what has come in at each port.
func (s *Switch) Totals() (metrics.NodeTotals, error) {
	c := &s.cfg.Switch
	t := metrics.NodeTotals{Node: int32(c.Node), Name: c.Name, Drops: counts(dataplane.DropNames()), Tags: counts(dataplane.TagNames())}
	for i := range c.Ports {
		var p transitPort
		if err := s.objects.Ports.Lookup(uint32(i), &p); err != nil {
			return t, err
		}
		sent, dropped, bytes, lost := int64(p.SentPackets), int64(p.DroppedPackets), int64(p.SentBytes), int64(p.DroppedBytes)
		t.Ports = append(t.Ports, metrics.PortTotals{
			Node: t.Node, Port: int32(i), TxPackets: sent, TxBytes: bytes, DroppedPackets: dropped, DroppedBytes: lost,
			EnqueuedPackets: sent + dropped, EnqueuedBytes: bytes + lost, MarkedPackets: int64(p.Marked),
		})
		t.Drops[dataplane.DropDataFull].Packets += dropped
		for k, name := range outcomes {
			t.Tags[slices.IndexFunc(t.Tags, func(c metrics.Count) bool { return c.Name == name })].Packets += int64(p.Tags[k])
		}
	}
	var unrouted []uint64 // by CPU
	if err := s.objects.Lost.Lookup(uint32(0), &unrouted); err != nil {
		return t, err
	}
	for _, n := range unrouted {
		t.Drops[dataplane.DropNoRoute].Packets += int64(n)
	}
	return t, nil
}

// counts returns counts of nothing by name.
func counts(names []string) (list []metrics.Count) {
	for _, name := range names {
		list = append(list, metrics.Count{Name: name})
	}
	return list
}

// outcomes are the names of what becomes of tags, in the order of transit.c.
var outcomes = [...]string{"updated", "kept", "frozen", "unknown", "passed", "stripped", "several"}
