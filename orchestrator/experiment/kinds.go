package experiment

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/modules"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Kind is what a kind of topology, of workload and of job have in common: a key
// below topology, workload or an item of jobs. The tags of the value's type say which keys
// are below it.
type Kind struct {
	Name string // the key, such as fat_tree
	Doc  string // one line
	// Is says which values there are, as the tag is; of a kind whose value is a single text.
	Is string
	// Value says in one line what stands behind the key, where that is not only a mapping.
	Value string
	// Short expands an item of the kind's list that is written as one text. It
	// returns nil for a text that it does not know. nil: there is no short form.
	Short func(text string) []KeyText
	// ShortWords says in words what an item is, after "is not": a transfer; write …
	ShortWords string
	// ShortNear returns the short form that a text probably means which Short does not
	// know, or "". May be nil.
	ShortNear func(text string) string
}

// KeyText is a key with the text of its value.
type KeyText struct{ Key, Text string }

// TopologyKind is an entry of the table of topologies.
type TopologyKind struct {
	Kind
	Spec TopologySpec // any value of the kind's type, such as FatTree{}
}

// WorkloadKind is an entry of the table of workloads.
type WorkloadKind struct {
	Kind
	Spec WorkloadSpec // any value of the kind's type, such as Incast{}
	// Matrix says that the transfers come from a file with start times of its own:
	// workload.start_unit applies, and starts have no jitter unless it is given.
	Matrix bool
}

// JobKind is an entry of the table of jobs.
type JobKind struct {
	Kind
	Spec JobSpec // any value of the kind's type, such as CollectiveJob{}
}

// The kinds of csiglab itself, in the order of messages, lists and documents.
var (
	topologyKinds = []TopologyKind{
		{Kind: Kind{Name: "file", Doc: "an htsim topology file", Is: "file", Value: "htsim '.topo' file"}, Spec: TopologyFile("")},
		{Kind: Kind{Name: "fat_tree", Doc: "a fat tree of two or three tiers of switches, each tier as given"}, Spec: FatTree{}},
		{Kind: Kind{Name: "k_ary", Doc: "a fat tree of equal switches without oversubscription"}, Spec: KAry{}},
		{Kind: Kind{Name: "leaf_spine", Doc: "leaf switches, each joined to every spine switch"}, Spec: LeafSpine{}},
		{Kind: Kind{Name: "dragonfly", Doc: "groups of routers joined all to all, with global links between the groups"}, Spec: topologies.DragonflySpec{}},
		{Kind: Kind{Name: "rail", Doc: "servers with several NICs, NIC i of each on rail switch i of its group, below spine switches; each NIC is a host"}, Spec: topologies.RailSpec{}},
		{Kind: Kind{Name: "dumbbell", Doc: "two switches with one link between them, the bottleneck, and hosts on both sides"}, Spec: topologies.DumbbellSpec{}},
		{Kind: Kind{Name: "parking_lot", Doc: "switches in a row: each link between two is the bottleneck of a pair of hosts, all are those of the pair h0, h1"}, Spec: topologies.ParkingLotSpec{}},
		{Kind: Kind{Name: "ring", Doc: "switches in a ring, each with hosts"}, Spec: topologies.RingSpec{}},
		{Kind: Kind{Name: "graph", Doc: "any fabric, node by node and link by link"}, Spec: Graph{}},
		{Kind: Kind{Name: "clab", Doc: "the hosts, switches and links of a containerlab topology file"}, Spec: Clab{}},
		{Kind: Kind{Name: "netbench", Doc: "a NetBench topology file"}, Spec: NetBench{}},
		{Kind: Kind{Name: "ns3", Doc: "a topology file of the ns-3 simulators of HPCC and SimAI"}, Spec: NS3{}},
		{Kind: Kind{Name: "astra", Doc: "a network file of ASTRA-sim", Value: "the file alone, or a mapping"}, Spec: Astra{}},
	}
	workloadKinds = []WorkloadKind{
		{
			Kind:   Kind{Name: "file", Doc: "an htsim connection matrix, or flows of the HPCC simulator", Is: "file", Value: "htsim '.cm' or '.tm' file, or 'flow.txt' of the HPCC simulator"},
			Spec:   WorkloadFile(""),
			Matrix: true,
		},
		{
			Kind: Kind{
				Name: "transfers", Doc: "messages, one by one", Value: "messages, in short '1 -> 10 200MB' or '1 -> 10 200MB at 5us'", Short: shortTransfer,
				ShortWords: "a transfer; want SRC -> DST SIZE or SRC -> DST SIZE at TIME, or a mapping with src, dst and size", ShortNear: nearTransfer,
			},
			Spec: Transfers(nil),
		},
		{Kind: Kind{Name: "permutation", Doc: "a message from every host to another, each receiving one"}, Spec: Permutation{}},
		{Kind: Kind{Name: "incast", Doc: "a message from each of several hosts to one"}, Spec: Incast{}},
		{Kind: Kind{Name: "all_to_all", Doc: "a message from every host to every other"}, Spec: AllToAll{}},
		{
			Kind: Kind{
				Name: "traffic", Doc: "generators beside one another: RPCs, bursts, incast, outcast, permutations, Poisson arrivals",
				Value: "generators; each has a name and one of the keys below",
			},
			Spec: Traffic(nil),
		},
	}
	jobKinds = []JobKind{
		{
			Kind: Kind{
				Name: "model", Doc: "training of a transformer: compute, tensor, pipeline, data, expert and context parallelism",
				Value: "a preset alone, such as 'gpt3-175b', or a mapping",
			},
			Spec: ModelJob{},
		},
		{Kind: Kind{Name: "pipeline", Doc: "pipeline parallelism with given times: a rank for each stage", Value: "the schedule alone, or a mapping"}, Spec: PipelineJob{}},
		{
			Kind: Kind{
				Name: "profile", Doc: "a time of compute and then an all-reduce, again and again, as the literature describes jobs that share a link",
				Value: "a preset alone, such as 'vgg19', or a mapping",
			},
			Spec: ProfileJob{},
		},
		{Kind: Kind{Name: "collective", Doc: "one collective again and again, as nccl-tests run it", Value: "the kind alone, such as 'all_to_all', or a mapping"}, Spec: CollectiveJob{}},
		{Kind: Kind{Name: "trace", Doc: "the programs of ranks from a file of another tool", Value: "the file alone, or a mapping"}, Spec: TraceJob{}},
	}
)

// Sections of the experiment file of which one kind fills a part; [] stands for an index.
const (
	topologySection = "topology"
	workloadSection = "workload"
	jobSection      = "jobs[]"
)

// registered is a kind with the type of its values.
type registered struct {
	Kind
	value  reflect.Type
	matrix bool   // see WorkloadKind
	module string // that has registered it; empty: csiglab itself
}

// kinds has the kinds of each section: those of csiglab, then those of modules.
var kinds = func() map[string][]registered {
	all := map[string][]registered{}
	for _, k := range topologyKinds {
		all[topologySection] = append(all[topologySection], registered{Kind: k.Kind, value: reflect.TypeOf(k.Spec)})
	}
	for _, k := range workloadKinds {
		all[workloadSection] = append(all[workloadSection], registered{Kind: k.Kind, value: reflect.TypeOf(k.Spec), matrix: k.Matrix})
	}
	for _, k := range jobKinds {
		all[jobSection] = append(all[jobSection], registered{Kind: k.Kind, value: reflect.TypeOf(k.Spec)})
	}
	return all
}()

// sectionOf returns the section that a field has a part of, by the field's type.
func sectionOf(field reflect.Type) (section string, ok bool) {
	switch field {
	case reflect.TypeFor[TopologySpec]():
		return topologySection, true
	case reflect.TypeFor[WorkloadSpec]():
		return workloadSection, true
	case reflect.TypeFor[JobSpec]():
		return jobSection, true
	}
	return "", false
}

// RegisterTopology adds the kind of a module to the table of topologies. The type of k.Spec is
// a struct whose fields have tags, a text or a slice of such structs; docs/how-to/extend.md describes
// the tags. RegisterTopology is for variables of packages, as in
//
//	var _ = RegisterTopology(TopologyKind{…})
//
// so that every kind is there before anything runs; it is not safe beside other
// calls. It returns the entry. If the entry contradicts its type or the table, csiglab says so
// and does not start (modules.Check).
func RegisterTopology(k TopologyKind) TopologyKind {
	enter("topologies", topologySection, registered{Kind: k.Kind, value: reflect.TypeOf(k.Spec)})
	return k
}

// RegisterWorkload adds a kind to the table of workloads, as RegisterTopology does
// to the table of topologies.
func RegisterWorkload(k WorkloadKind) WorkloadKind {
	enter("workloads", workloadSection, registered{Kind: k.Kind, value: reflect.TypeOf(k.Spec), matrix: k.Matrix})
	return k
}

// RegisterJob adds a kind to the table of jobs, as RegisterTopology does to the table of
// topologies.
func RegisterJob(k JobKind) JobKind {
	enter("jobs", jobSection, registered{Kind: k.Kind, value: reflect.TypeOf(k.Spec)})
	return k
}

// enter registers a kind for the function that has called the one that calls enter.
func enter(list, section string, k registered) {
	caller := modules.Caller(2)
	k.module = modules.Origin(caller)
	lacks := k.lacks(section)
	if len(lacks) == 0 {
		kinds[section] = append(kinds[section], k)
		slices.SortStableFunc(kinds[section], func(a, b registered) int { return strings.Compare(a.module, b.module) })
	}
	modules.Register(caller, list, k.Name, lacks)
}

// lacks returns what a kind of a module lacks.
func (k *registered) lacks(section string) (lacks []string) {
	if !algorithm.Identifier(k.Name, '_') {
		lacks = append(lacks, fmt.Sprintf("Kind.Name is %q; experiment files name a kind by lower-case letters, digits and _, such as fat_tree", k.Name))
	}
	if k.Doc == "" {
		lacks = append(lacks, "Kind.Doc is empty: set it to one line, which csiglab list prints")
	}
	if k.value == nil {
		return append(lacks, "no Spec")
	}
	for _, other := range kinds[section] {
		if other.Name == k.Name || other.value == k.value {
			lacks = append(lacks, "the name or the type belongs to "+other.Name)
		}
	}
	if _, err := newRule(k.Is, k.value); err != nil {
		lacks = append(lacks, "Kind.Is: "+err.Error())
	}
	keys, err := (&key{value: k.value}).below()
	if err != nil {
		lacks = append(lacks, err.Error())
	}
	for _, one := range keys {
		if one.doc == "" && one.form() != mapping && !strings.HasSuffix(one.path, "[]") {
			lacks = append(lacks, fmt.Sprintf("key %q has no doc: set the tag doc of its field to one line, which csiglab list prints", one.path))
		}
	}
	return lacks
}

// alternatives returns the keys of the mapping at a path of which one excludes the others:
// the names of the section's kinds. An override that sets one removes the rest.
func alternatives(path string) []string {
	var names []string
	for _, k := range kinds[general(path)] {
		names = append(names, k.Name)
	}
	return names
}

// kindOf returns the kind of a value of a section, which must be registered.
func kindOf(section string, value reflect.Type) Kind {
	for _, k := range kinds[section] {
		if k.value == value {
			return k.Kind
		}
	}
	panic(fmt.Sprintf("experiment: %v is no kind of %s", value, section))
}

// below joins a path and the path of a key below it, which may begin with an index.
func below(path, key string) string {
	if key == "" || key[0] == '[' {
		return path + key
	}
	return join(path, key)
}

// Check lets a kind test its value against the rest of the experiment. Keys are
// those below the kind's name, as in EntryKey.Path but with an index where that has [].
type Check struct {
	decoder    *decoder
	experiment *Experiment
	path       string // of the kind's value
	hosts      int
}

// Fail reports that the value of a key is wrong.
func (c *Check) Fail(key, format string, args ...any) {
	c.decoder.failAt(below(c.path, key), fmt.Sprintf(format, args...), "")
}

// Hosts returns the number of hosts of the topology; 0 while it is not known.
func (c *Check) Hosts() int { return c.hosts }

// Fits reports a fabric that is too large, by the estimates of its size, at a key. It
// returns the number of hosts, or 0 if the fabric is too large or has no size.
func (c *Check) Fits(key string, size func() (topologies.Size, error)) (hosts int) {
	s, err := size()
	if err != nil {
		return 0
	}
	if excess := s.Excess(topologies.Largest); excess != "" {
		if !c.decoder.anySize {
			c.Fail(key, "too large: %s", excess)
		}
		return 0
	}
	return s.Hosts
}

// Ports reports a switch with more links than ports, at a key; has 0 is no limit.
func (c *Check) Ports(key, name string, needed, has int) {
	if has > 0 && needed > has {
		c.Fail(key, "%d are too few: switch %s needs %d", has, name, needed)
	}
}

// fabric reports what is wrong with the parameters of a generator, and a fabric that is
// too large. It returns the number of hosts as Fits does.
func (c *Check) fabric(s Sized) (hosts int) {
	_, err := s.Size()
	var ports *topologies.PortsError
	var key *topologies.KeyError
	switch {
	case errors.As(err, &ports):
		c.Ports("ports", ports.Switch, ports.Needed, ports.Has)
		return 0
	case errors.As(err, &key):
		c.Fail(key.Key, "%s", key.Msg)
		return 0
	case err != nil:
		c.Fail("", "%s", strings.TrimPrefix(err.Error(), topologies.ErrInvalid.Error()+": "))
		return 0
	}
	return c.Fits("", s.Size)
}

// Host reports a host that the topology does not have.
func (c *Check) Host(key string, host int) {
	if c.hosts > 0 && host >= c.hosts {
		c.Fail(key, "no host %d; hosts go from 0 to %d", host, c.hosts-1)
	}
}

// Size reports a transfer that is too large for the sequence numbers.
func (c *Check) Size(key string, size units.Size) {
	if !c.decoder.sound("links") {
		return
	}
	// A header as large as the MTU is another error.
	if most := c.experiment.Links.MaxTransfer(); most > 0 && size > most {
		c.Fail(key, "%v is too large; packets of links.mtu %v can number %v", size, c.experiment.Links.MTU, most)
	}
}

// Start reports a transfer that starts after the run's end.
func (c *Check) Start(key string, start units.Duration) {
	if end := c.experiment.End; end != 0 && start >= end && c.decoder.sound("end") {
		c.Fail(key, "starts at %v, not before the run's end %v", start, end)
	}
}
