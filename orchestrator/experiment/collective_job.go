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
	Kind      collective.Kind      `yaml:"kind,short" default:"all_reduce" doc:"what it does"`
	Algorithm collective.Algorithm `yaml:"algorithm" default:"auto" doc:"how; auto: a ring where there is one, otherwise direct messages"`
	Size      units.Size           `yaml:"size" is:"payload" default:"32MiB" doc:"of the buffer of a rank, as nccl-tests count it"`
	Channels  int                  `yaml:"channels" is:"channels" default:"1" doc:"as NCCL's: each does its share of the buffer; those of rings and trees take turns at the NICs of a server"`
	Chunk     units.Size           `yaml:"chunk" is:"payload or none" default:"none" doc:"largest message; none: no slicing, but of trees, which take NCCL's chunks"`
	Groups    int                  `yaml:"groups" is:"hosts" default:"1" doc:"of ranks, as large as each other, that run the collective at the same time"`
	Strided   bool                 `yaml:"strided" default:"false" doc:"the ranks of a group are 'groups' apart; otherwise they follow each other"`
	Local     int                  `yaml:"local" is:"hosts or auto" default:"auto" doc:"of algorithm hierarchical: ranks of an inner group; auto: those of a server"`
	Root      int                  `yaml:"root" is:"host" default:"0" doc:"of broadcast, reduce, gather and scatter: place in the group"`
	Warmup    int                  `yaml:"warmup" is:"step" default:"0" doc:"iterations before the job's steps, which its metrics leave out"`
	Gap       units.Duration       `yaml:"gap" is:"time" default:"0s" doc:"time that a rank computes before each iteration"`
}

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
			Kind: c.Kind, Algorithm: c.Algorithm, Bytes: c.Size, Channels: c.Channels, Chunk: c.Chunk, Root: c.Root, Local: c.Local, Servers: in.Servers,
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
