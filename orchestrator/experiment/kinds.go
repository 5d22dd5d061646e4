package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/modules"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Kind is what a kind of topology, of workload and of job have in common: a key
// below topology, workload or an item of jobs, the keys below it, and what they may say.
// Each kind has a file of its own, NAME_topology.go, NAME_workload.go or NAME_job.go,
// which registers it.
// (With the name at the end, the go tool would take a file for one of an operating
// system: dragonfly.)
type Kind struct {
	Name string // the key, such as fat_tree
	Doc  string // one line
	// Rank is the place of the kind in messages and lists: lower ranks come first,
	// equal ranks in the order of their names. The order in which kinds are
	// registered does not matter.
	Rank int
	// Keys are the keys below the name, in the order of the documentation: one for
	// each key of the value's type.
	Keys []Key
	// Short expands an item of the kind's list that is written as one text. It
	// returns nil for a text that it does not know. nil: there is no short form.
	Short func(text string) []KeyText
	// ShortWords says in words what an item is, after "is not": a transfer; write …
	ShortWords string
	// ShortNear returns the short form that a text probably means which Short does not
	// know, or "". May be nil.
	ShortNear func(text string) string
}

// Key is one key of a kind.
type Key struct {
	// Path is the key below the kind's name, such as rate, tiers[].rate or, where
	// the kind is a list, [].src. It is empty for the kind's value itself, which is
	// a list or a single value then.
	Path     string
	Doc      string // one line
	Required bool
	Default  string // as in the file; empty without
	Rule     Rule   // of a single value
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

// RegisterTopology adds a kind to the table of topologies. The type of k.Spec is a
// struct with yaml tags, a text or a slice of such structs. RegisterTopology is
// for variables of packages, as in
//
//	var _ = RegisterTopology(TopologyKind{…})
//
// so that every kind is there before anything runs; it is not safe beside other
// calls. It returns the entry and panics if the entry contradicts its type or the
// table, which is an error in the program. If a module that csiglab build compiles in has
// made it, csiglab says so and does not start (modules.Check).
func RegisterTopology(k TopologyKind) TopologyKind {
	enter("topologies", topologySection, &k.Kind, reflect.TypeOf(k.Spec), false)
	return k
}

// RegisterWorkload adds a kind to the table of workloads, as RegisterTopology does
// to the table of topologies.
func RegisterWorkload(k WorkloadKind) WorkloadKind {
	enter("workloads", workloadSection, &k.Kind, reflect.TypeOf(k.Spec), k.Matrix)
	return k
}

// RegisterJob adds a kind to the table of jobs, as RegisterTopology does to the table of
// topologies.
func RegisterJob(k JobKind) JobKind {
	enter("jobs", jobSection, &k.Kind, reflect.TypeOf(k.Spec), false)
	return k
}

// Sections of the experiment file of which one kind fills a part; [] stands for an index.
const (
	topologySection = "topology"
	workloadSection = "workload"
	jobSection      = "jobs[]"
)

// sectionOf has the sections by the type of the field that holds the kind's value.
var sectionOf = map[reflect.Type]string{
	reflect.TypeFor[TopologySpec](): topologySection,
	reflect.TypeFor[WorkloadSpec](): workloadSection,
	reflect.TypeFor[JobSpec]():      jobSection,
}

// registered is a kind with the type of its values.
type registered struct {
	Kind
	value  reflect.Type
	matrix bool   // see WorkloadKind
	module string // that has registered it; empty: csiglab itself
}

// kinds has the kinds of each section, ordered by rank.
var kinds = map[string][]registered{}

func byRank(a, b Kind) int {
	return cmp.Or(cmp.Compare(a.Rank, b.Rank), strings.Compare(a.Name, b.Name))
}

// ownPackages begins the import paths of csiglab's own packages.
const ownPackages = "github.com/csiglab/csiglab/"

// enter registers a kind for the function that has called the one that calls enter.
func enter(list, section string, k *Kind, value reflect.Type, matrix bool) {
	caller := modules.Caller(2)
	if strings.HasPrefix(caller, ownPackages) {
		if fault := register(section, k, value, matrix, ""); fault != "" {
			panic(fmt.Sprintf("experiment: %s %s: %s", section, k.Name, fault))
		}
		return
	}
	var lacks []string
	if !algorithm.Identifier(k.Name, '_') {
		lacks = append(lacks, fmt.Sprintf("Kind.Name is %q; experiment files name a kind by lower-case letters, digits and _, such as fat_tree", k.Name))
	}
	if k.Doc == "" {
		lacks = append(lacks, "Kind.Doc is empty: set it to one line, which csiglab list prints")
	}
	for _, key := range k.Keys {
		if key.Doc == "" {
			lacks = append(lacks, fmt.Sprintf("key %q has no doc: set Key.Doc to one line, which csiglab list prints", key.Path))
		}
	}
	if len(lacks) == 0 {
		if fault := register(section, k, value, matrix, modules.Origin(caller)); fault != "" {
			lacks = append(lacks, fault)
		}
	}
	modules.Register(caller, list, k.Name, lacks)
}

// register adds a kind's keys to the schema. It returns what is wrong, and then adds
// nothing; "" if nothing is.
func register(section string, k *Kind, value reflect.Type, matrix bool, module string) (fault string) {
	if value == nil {
		return "no Spec"
	}
	for _, other := range kinds[section] {
		if other.Name == k.Name || other.value == value {
			return "the name or the type belongs to " + other.Name
		}
	}
	root := join(section, k.Name)
	missing := map[string]bool{}
	walkPaths(value, root, func(path string, _ bool) { missing[path] = true })
	for _, key := range k.Keys {
		path := below(root, key.Path)
		if !missing[path] {
			return fmt.Sprintf("the type has no key %q, or it is given twice", key.Path)
		}
		delete(missing, path)
	}
	for _, path := range slices.Sorted(maps.Keys(missing)) {
		if !strings.HasSuffix(path, "[]") {
			return "Keys has no entry for " + path
		}
	}
	for _, key := range k.Keys {
		path := below(root, key.Path)
		rules[path] = key.Rule
		if dot := strings.LastIndex(path, "."); key.Required {
			required[path[:dot]] = append(required[path[:dot]], path[dot+1:])
		}
		if key.Default != "" {
			fallbacks[path] = key.Default
		}
	}
	kinds[section] = append(kinds[section], registered{*k, value, matrix, module})
	slices.SortFunc(kinds[section], func(a, b registered) int { return byRank(a.Kind, b.Kind) })
	return ""
}

// fallbacks has the defaults of the kinds' keys by path; [] stands for an index.
var fallbacks = map[string]string{"classes[].weight": "1", "classes[].ecn.enabled": "true"}

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
// those below the kind's name, as in Key.Path but with an index where that has [].
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
	if excess := s.Excess(); excess != "" {
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

// Fabric reports what is wrong with the parameters of a generator, and a fabric that is
// too large. size is the generator's. It returns the number of hosts as Fits does.
func (c *Check) Fabric(size func() (topologies.Size, error)) (hosts int) {
	_, err := size()
	var ports *topologies.PortsError
	switch {
	case errors.As(err, &ports):
		c.Ports("ports", ports.Switch, ports.Needed, ports.Has)
		return 0
	case err != nil:
		c.Fail("", "%s", strings.TrimPrefix(err.Error(), topologies.ErrInvalid.Error()+": "))
		return 0
	}
	return c.Fits("", size)
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
