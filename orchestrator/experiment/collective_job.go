package experiment

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/graph"
)

// CollectiveJob is one collective again and again, as nccl-tests run it: an iteration is a
// step of the job. In YAML also short: the kind.
type CollectiveJob struct {
	Kind      collective.Kind      `yaml:"kind"`
	Algorithm collective.Algorithm `yaml:"algorithm"`
	Size      units.Size           `yaml:"size"`
	Channels  int                  `yaml:"channels"`
	Chunk     units.Size           `yaml:"chunk"`   // 0 or "none": no slicing
	Groups    int                  `yaml:"groups"`  // of as many ranks each
	Strided   bool                 `yaml:"strided"` // group g has the ranks g, g + groups, g + 2 groups, …
	Local     int                  `yaml:"local"`   // 0 or "auto": the ranks of a server
	Root      int                  `yaml:"root"`
	Warmup    int                  `yaml:"warmup"`
	Gap       units.Duration       `yaml:"gap"`
}

// maxChannels is the most channels of a collective.
const maxChannels = 64

var _ = RegisterJob(JobKind{
	Kind: Kind{
		Name: "collective", Doc: "one collective again and again, as nccl-tests run it", Rank: 30,
		Keys: []Key{
			{Path: "", Default: collective.AllReduce.String(), Doc: "the kind alone, such as `all_to_all`, or a mapping"},
			{Path: "kind", Default: collective.AllReduce.String(), Rule: OneOf(collective.Kinds()...), Doc: "what it does"},
			{Path: "algorithm", Default: collective.Auto.String(), Rule: OneOf(collective.Algorithms()...), Doc: "how; auto: a ring where there is one, otherwise direct messages"},
			{Path: "size", Default: "32MiB", Rule: Between(units.Byte, maxTransfer), Doc: "of the buffer of a rank, as nccl-tests count it"},
			{Path: "channels", Default: "1", Rule: Between(1, maxChannels), Doc: "as NCCL's: each does its share of the buffer"},
			{Path: "chunk", Default: "none", Rule: Between(units.Byte, maxTransfer).Or("none"), Doc: "largest message; none: no slicing"},
			{Path: "groups", Default: "1", Rule: Between(1, maxHosts), Doc: "of ranks, as large as each other, that run the collective at the same time"},
			{Path: "strided", Default: "false", Doc: "the ranks of a group are `groups` apart; otherwise they follow each other"},
			{Path: "local", Default: "auto", Rule: Between(1, maxHosts).Or("auto"), Doc: "of algorithm hierarchical: ranks of an inner group; auto: those of a server"},
			{Path: "root", Default: "0", Rule: Between(0, maxHosts), Doc: "of broadcast, reduce, gather and scatter: place in the group"},
			{Path: "warmup", Default: "0", Rule: Between(0, maxSteps), Doc: "iterations before the job's steps, which its metrics leave out"},
			{Path: "gap", Default: "0s", Rule: Between(0, maxLength), Doc: "time that a rank computes before each iteration"},
		},
	},
	Spec: CollectiveJob{},
})

// Check implements JobSpec.
func (c CollectiveJob) Check(k *Check) {
	known := []string{collective.Auto.String()}
	for _, a := range collective.AlgorithmsOf(c.Kind) {
		if a == c.Algorithm || c.Algorithm == collective.Auto {
			return
		}
		known = append(known, a.String())
	}
	k.Fail("algorithm", "%s has no algorithm %q; known: %s", c.Kind, c.Algorithm, strings.Join(known, " "))
}

// Ranks implements JobSpec.
func (c CollectiveJob) Ranks(asked, room int) (int, error) {
	if asked != 0 && asked%c.Groups != 0 {
		return 0, &PathError{"groups", fmt.Errorf("%d groups of the same size cannot have %d ranks", c.Groups, asked)}
	}
	if asked == 0 {
		asked = room / c.Groups * c.Groups
	}
	return asked, nil
}

// Auto implements JobDeriver.
func (c CollectiveJob) Auto(key string, in JobInput) string {
	if key == "algorithm" {
		return collective.AlgorithmsOf(c.Kind)[0].String()
	}
	return strconv.Itoa(in.Local)
}

// Build implements JobSpec.
func (c CollectiveJob) Build(in JobInput) (graph.Source, error) {
	config := collective.Config{
		Call: collective.Call{
			Kind: c.Kind, Algorithm: c.Algorithm, Bytes: c.Size, Channels: c.Channels, Chunk: c.Chunk, Root: c.Root, Local: c.Local,
		},
		Groups: make([][]int, c.Groups), Ranks: in.Ranks, Iterations: in.Steps, Warmup: c.Warmup, Gap: c.Gap,
	}
	if config.Call.Local == 0 {
		config.Call.Local = in.Local
	}
	for _, r := range in.Order {
		g := r / (in.Ranks / c.Groups)
		if c.Strided {
			g = r % c.Groups
		}
		config.Groups[g] = append(config.Groups[g], r)
	}
	source, err := collective.New(config)
	return source, err
}
