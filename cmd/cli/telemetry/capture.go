package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/choose"
	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/holder"
	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/programs"
	"github.com/csiglab/csiglab/orchestrator/run/packets"
)

// captureFlags are the flags of capture.
type captureFlags struct {
	link     string
	end      string
	out      string
	variant  string
	seed     uint64
	duration time.Duration
	packets  int
}

// name returns what the flags capture: a link, an end of a node, or one end of a link.
func (c *captureFlags) name() string {
	if c.link == "" || c.end == "" {
		return c.link + c.end
	}
	return c.link + "-at-" + c.end
}

func captureCommand(a *command.App) *cobra.Command {
	var c captureFlags
	cmd := command.AsksEngine(&cobra.Command{
		Use:   "capture RUN|LAB --link A-B [--end A]",
		Short: "Write the packets of a link as pcapng: of a run folder, or live of a lab",
		Long: "Write the packets at both ends of a link as pcapng, for Wireshark: with interface names, model time, and\n" +
			"comments with the queue that a packet left and the port that its CSIG tag names. Each packet is there\n" +
			"twice, as it was sent and as it was received; --end writes those of one end alone.\n\n" +
			"Of a run's folder: what the run captured. If it did not capture the link, the same run once more in\n" +
			"virtual time, which must have the same trace; a run in real time cannot be repeated.\n" +
			"Of a lab, or of any run in real time that is under way: what the link carries from now on, until Ctrl-C.",
		Example: "  csiglab capture three-flow --link tor0-agg0 --end tor0\n" +
			"  csiglab capture runs/three-flow-20260101-120000-00000 --link tor0-agg0 --variant csig --out link.pcapng\n" +
			"  csiglab capture three-flow --link tor0-agg0 --out - | wireshark -k -i -",
		Args:              command.One("a run's folder or a lab"),
		ValidArgsFunction: choose.CompleteLabs(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.link == "" && c.end == "" {
				return command.Usage("--link is missing: the name of a link, such as tor0-agg0")
			}
			c.out = cmp.Or(c.out, c.name()+".pcapng")
			info, err := os.Stat(args[0])
			if err != nil || !info.IsDir() {
				run, err := choose.Lab(cmd.Context(), a, args[0])
				if err != nil {
					return err
				}
				return liveCapture(a, cmd, run, &c)
			}
			list, err := choose.Labs(cmd.Context(), a)
			if err != nil {
				return err
			}
			for _, r := range list {
				if held, err := os.Stat(r.Folder); err == nil && os.SameFile(held, info) && (r.State == runs.Running || r.State == runs.Held) {
					return liveCapture(a, cmd, r, &c) // the run has not ended
				}
			}
			return captureRun(a, cmd, args[0], &c)
		},
	})
	f := cmd.Flags()
	f.StringVar(&c.link, "link", "", "the link, such as `tor0-agg0`")
	f.StringVar(&c.end, "end", "", "write the packets at the end of this `node` alone; --link may be left out if it has one link only")
	f.StringVar(&c.out, "out", "", "the pcapng `FILE`; - is standard output (default: LINK.pcapng, LINK-at-NODE.pcapng with --end)")
	f.Var(&choose.Once{Value: &c.variant}, "variant", "of a run's folder: which `variant` (default: the first)")
	f.Uint64Var(&c.seed, "seed", 0, "of a run's folder: which `seed` (default: the first)")
	f.DurationVar(&c.duration, "duration", 0, "of a lab: end after this wall time, such as `10s`")
	f.IntVar(&c.packets, "packets", 0, "of a lab: end after this many packets")
	f.Lookup("out").Annotations = map[string][]string{command.NoSetting: nil}
	return cmd
}

// only refuses flags that do not apply.
func only(cmd *cobra.Command, what string, flags ...string) error {
	for _, name := range flags {
		if cmd.Flags().Changed(name) {
			return command.Usage("--%s: %s", name, what)
		}
	}
	return nil
}

// captureRun writes the packets of a run's folder, once all of them are known to be
// right.
func captureRun(a *command.App, cmd *cobra.Command, folder string, c *captureFlags) error {
	if err := only(cmd, folder+" is a run's folder, of which all packets are written", "duration", "packets"); err != nil {
		return err
	}
	// The packets are checked before the first one is in a pipe or a device.
	info, err := os.Stat(c.out)
	if c.out == command.StdoutName || err == nil && !info.Mode().IsRegular() {
		file, err := os.CreateTemp("", "csiglab-capture-")
		if err != nil {
			return command.Infrastructure(cause.Of(err))
		}
		defer file.Close()
		os.Remove(file.Name()) // now, because the end of a reader such as head kills csiglab; the open file stays usable
		if err := recaptureInto(a, cmd, folder, c, file); err != nil {
			return err
		}
		out := a.Output(c.out)
		if _, err = file.Seek(0, io.SeekStart); err == nil {
			_, err = io.Copy(out, file)
		}
		return out.End(command.Infrastructure(err))
	}
	part, err := own.Create(c.out, 0o644)
	if err != nil {
		return command.Usage("--out %s: %w", c.out, cause.Of(err))
	}
	defer part.Discard()
	if err := recaptureInto(a, cmd, folder, c, part.File()); err != nil {
		return err
	}
	if err := part.Commit(); err != nil {
		return command.Infrastructure(fmt.Errorf("--out %s: %w", c.out, cause.Of(err)))
	}
	a.Say("wrote " + c.out)
	return nil
}

func recaptureInto(a *command.App, cmd *cobra.Command, folder string, c *captureFlags, file *os.File) error {
	return captureError(a.Work.Recapture(packets.Recapture{
		Folder: folder, Link: c.link, End: c.end, Variant: c.variant, Seed: c.seed, AnySeed: !cmd.Flags().Changed("seed"),
		Announce: a.Say, Version: command.Version(),
	}, cmd.Context(), file))
}

// liveCapture writes packets as they arrive.
func liveCapture(a *command.App, cmd *cobra.Command, run runs.Run, c *captureFlags) error {
	if err := only(cmd, "run "+run.ID+" is under way, and is captured as it is", "variant", "seed"); err != nil {
		return err
	}
	if c.duration < 0 || c.duration == 0 && cmd.Flags().Changed("duration") {
		return command.Usage("--duration %v: want more than 0", c.duration)
	}
	if c.packets < 0 || c.packets == 0 && cmd.Flags().Changed("packets") {
		return command.Usage("--packets %d: want at least 1", c.packets)
	}
	switch run.State {
	case runs.Dead:
		return choose.Dead(run)
	case runs.Foreign:
		return choose.Foreign(run)
	}
	if !(runtimes.Way{Clock: run.Clock}).Has(runtimes.RealTime) {
		return command.Usage("run %s is under clock %s, not in real time: csiglab capture %s has its packets when it is over", run.ID, run.Clock, run.Folder)
	}
	c.link = run.LinkName(c.link)
	place, err := c.shard(&run)
	switch {
	case err != nil:
		return err
	case place != nil && place.Pod != "":
		if err := a.Lacks(programs.Cluster); err != nil {
			return err
		}
		return captureInPod(a, cmd, run, place, c)
	case place != nil:
		if err := holder.Within(place); err != nil {
			return command.Infrastructure(err)
		}
		if run, err = choose.Lab(cmd.Context(), a, run.ID); err != nil {
			return err
		}
	}
	out := a.Streamed(c.out)
	capture := packets.Live{Run: run, Link: c.link, End: c.end, Duration: c.duration, Packets: c.packets, Announce: a.Say}
	got, err := a.Work.Live(capture, cmd.Context(), out)
	if err != nil {
		err = captureError(err)
	}
	if err := out.End(err); err != nil {
		return err
	}
	text := spelling.Plural(got.Packets, "packet")
	if c.out != command.StdoutName {
		text = "wrote " + c.out + ": " + text
	}
	if got.Missed > 0 {
		text += fmt.Sprintf(", %d more were missed because they came too fast", got.Missed)
	}
	if got.Ended {
		text += "; the run has ended"
	}
	a.Say(text)
	return nil
}

// shard returns the part of a run in several parts that has what is captured; nil: the run
// has one part, or what is captured is not known.
func (c *captureFlags) shard(run *runs.Run) (*runs.Shard, error) {
	var place *runs.Shard
	for _, n := range run.Nodes {
		on := slices.ContainsFunc(n.Interfaces, func(i runs.Interface) bool { return i.Link == c.link && c.link != "" })
		if n.Shard == nil || c.end != "" && n.Name != c.end || c.end == "" && !on {
			continue
		}
		if place != nil && place.Index != n.Shard.Index {
			return nil, command.Usage("link %s is cut between shards %d and %d: name the node at one end by --end", c.link, place.Index, n.Shard.Index)
		}
		place = n.Shard
	}
	return place, nil
}

// captureInPod captures by the csiglab of the pod that has the link.
func captureInPod(a *command.App, cmd *cobra.Command, run runs.Run, place *runs.Shard, c *captureFlags) error {
	args := []string{"capture", run.ID, "--out", command.StdoutName}
	for _, flag := range []string{"link", "end", "duration", "packets"} {
		if cmd.Flags().Changed(flag) {
			args = append(args, "--"+flag, cmd.Flag(flag).Value.String())
		}
	}
	out := a.Streamed(c.out)
	code, err := a.Linked.Cluster.InPod(cmd.Context(), place, args, nil, out, a.Stderr)
	switch {
	case cmd.Context().Err() != nil:
		err = nil // Ctrl-C is how a capture ends
	case err != nil:
		err = command.Infrastructure(err)
	case code != command.ExitOK:
		err = &command.ExitError{Code: code} // the csiglab of the pod has said why
	}
	if err := out.End(err); err != nil {
		return err
	}
	if c.out != command.StdoutName {
		a.Say("wrote " + c.out)
	}
	return nil
}

// captureError gives an error its exit code.
func captureError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return command.Infrastructure(errors.New("interrupted"))
	case errors.Is(err, failure.ErrConfiguration):
		return command.Misuse(err)
	case errors.Is(err, failure.ErrInfrastructure):
		return command.Infrastructure(err)
	}
	return command.FolderError(err)
}
