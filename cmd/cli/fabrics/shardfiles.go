package fabrics

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/perform"
	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab/clab"
	"github.com/csiglab/csiglab/orchestrator/parts"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
)

// shardFlags choose how a fabric is written for several machines.
type shardFlags struct {
	shards  int
	remotes []string
	vni     int

	addresses []netip.Addr // remotes; set by check
}

func (s *shardFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&s.shards, "shards", 0, "cut the fabric into `N` parts, and write a file for each machine (with --format clab)")
	f.StringSliceVar(&s.remotes, "remotes", nil, "the `ADDRESSES` at which the machines reach each other, in the order of the parts, as A,B,…")
	f.IntVar(&s.vni, "vni", clab.DefaultVNI, "vxlan identifier of the first cut link; the others follow")
}

// check checks the flags before anything is read.
func (s *shardFlags) check(cmd *cobra.Command, f *fabricFlags) error {
	if !cmd.Flags().Changed("shards") {
		for _, flag := range []string{"remotes", "vni"} {
			if cmd.Flags().Changed(flag) {
				return command.Usage("--%s goes with --shards", flag)
			}
		}
		return nil
	}
	switch {
	case f.format == formatC9s:
		return command.Usage("--shards goes with --format %s; clabernetes places the nodes of a topology itself", formatClab)
	case f.format != formatClab:
		return command.Usage("--shards goes with --format %s", formatClab)
	case s.shards < 1:
		return command.Usage("--shards %d: want at least 1", s.shards)
	case f.out == command.StdoutName:
		return command.Usage("--shards writes a file for each machine: name their folder with --out")
	case len(s.remotes) != s.shards:
		return command.Usage("--remotes: %d addresses for %d machines; want one each, in the order of the parts, such as --remotes 192.0.2.1,192.0.2.2", len(s.remotes), s.shards)
	}
	for _, text := range s.remotes {
		address, err := netip.ParseAddr(text)
		if err != nil {
			return command.Usage("--remotes: %q is no IP address", text)
		}
		s.addresses = append(s.addresses, address.Unmap())
	}
	return nil
}

// exportShards writes a file for each part of a fabric into the folder --out: all of them, or
// none if one cannot be written.
func exportShards(a *command.App, e command.Exporter, g *topologies.Graph, f *fabricFlags, s *shardFlags) error {
	placed, err := f.cut(g, s.shards)
	if err != nil {
		return perform.RunError(err, nil)
	}
	texts := make([]bytes.Buffer, s.shards)
	for i := range texts {
		if err := e.WriteShard(&texts[i], command.ExportShard{Of: placed.Of, Index: i, Remotes: s.addresses, VNI: s.vni}); err != nil {
			return perform.RunError(err, nil)
		}
	}
	folder, err := own.Folder(f.out)
	if err != nil {
		return command.Usage("--out %s: %w", f.out, cause.Of(err))
	}
	defer folder.Close()
	name := func(i int) string { return fmt.Sprintf("%s.shard%d.clab.yml", g.Name, i) }
	if _, err := folder.Lstat(name(s.shards)); err == nil {
		return command.Usage("--out %s: it has %s of another export, with more parts; remove that", f.out, name(s.shards))
	} else if !errors.Is(err, fs.ErrNotExist) {
		return command.Infrastructure(fmt.Errorf("--out %s: %w", f.out, cause.Of(err)))
	}
	for i := range texts {
		if err := a.Write(filepath.Join(f.out, name(i)), texts[i].Bytes()); err != nil {
			return err
		}
		part := placed.Parts[i]
		a.Say(fmt.Sprintf("%s: %s, %s, for the machine with address %s", name(i), spelling.Plural(part.Hosts, "host"), spelling.Plural(part.Switches, "switch"), s.addresses[i]))
	}
	if len(placed.Links) > 0 {
		mtu := e.MTU()
		a.Notes([]string{fmt.Sprintf("%s cut, vxlan %d to %d, UDP port %d; frames of the lab need an MTU of %d on the interfaces between the machines (%d with IPv4)",
			spelling.Plural(len(placed.Links), "link"), s.vni, s.vni+len(placed.Links)-1, clab.TunnelPort, mtu+clab.TunnelOverhead, mtu+clab.TunnelOverhead-20)})
	}
	return nil
}

// cut cuts the fabric, as csiglab run does if it is that of an experiment.
func (f *fabricFlags) cut(g *topologies.Graph, n int) (*parts.Placement, error) {
	if f.experiment == nil {
		return parts.CutGraph(g, n)
	}
	p, err := plan.Compile(f.experiment, f.experiment.Seeds[0])
	if err != nil {
		return nil, failure.Configuration(err)
	}
	return parts.Cut(p, n)
}
