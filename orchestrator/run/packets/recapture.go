package packets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/nodes/capture"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/backend/inproc"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/units"
)

// Recapture writes the packets of one link in one run of a run folder, at both of its
// ends or at one.
type Recapture struct {
	Folder  string
	Link    string // may be empty if End has one link only
	End     string // node at the only end to capture; empty: both
	Variant string // empty: the first
	Seed    uint64
	AnySeed bool // the first of the variant's, instead of Seed
	// Announce receives which run it is and where the packets come from; may be nil.
	Announce func(string)
	Version  string // of this csiglab
}

// Write writes the packets as pcapng. If the run captured the link, it copies them.
// Otherwise, if the run's clock is exact, it repeats the run in virtual time, which
// must give the same trace. The output is valid only when Write has returned nil. Its
// error wraps failure.ErrConfiguration if there is no such run or link,
// failure.ErrInfrastructure if the trace differs, or is one of package runfolder's.
func (c Recapture) Write(ctx context.Context, out io.Writer) error {
	folder, err := runfolder.OpenKept(c.Folder)
	if err != nil {
		return err
	}
	run, err := c.find(folder)
	if err != nil {
		return failure.Configuration(err)
	}
	e, err := experimentOf(c.Folder, run.Variant)
	if err != nil {
		return err
	}
	topology, err := e.Topology.Build()
	if err != nil {
		return failure.Configuration(err)
	}
	c.Link = linkName(topology.Graph, c.Link)
	if c.Link == "" {
		if c.Link, err = chooseLink("", c.End, joints(topology.Graph)); err != nil {
			return failure.Configuration(err)
		}
	}
	captured := slices.ContainsFunc(e.Capture, func(name string) bool { return linkName(topology.Graph, name) == c.Link })
	e.Capture = []string{c.Link}
	p, err := plan.Compile(e, run.Seed)
	if cause, had := failure.WithoutPlace(err); had { // the folder's file does not say it
		err = failure.Configuration(fmt.Errorf("capture %w", cause))
	}
	if err != nil {
		return err
	}
	name := fmt.Sprintf("variant %s, seed %d", run.Variant, run.Seed)
	if _, err := chooseLink(c.Link, c.End, joints(p.Graph)); err != nil {
		return failure.Configuration(err)
	}
	p.Captured = onlyEnd(p.Captured, p.Graph, c.End)
	if captured {
		switch err := c.copy(FileName(c.Folder, run.Variant, run.Seed), p.Captured, out); {
		case err == nil:
			c.announce(name + ": packets that the run captured")
			return nil
		case !errors.Is(err, fs.ErrNotExist):
			return failure.Infrastructure(err)
		}
	}
	if !(runtimes.Way{Clock: folder.Manifest.Clock}).Has(runtimes.Repeatable) {
		return failure.Configuration(fmt.Errorf("%s did not capture %s, and a run in real time cannot be had again; "+
			"run the experiment with --capture %s, or capture a lab while it is up", name, c.Link, c.Link))
	}
	if p.Untraced {
		return failure.Configuration(fmt.Errorf("%s did not capture %s and has no trace hash (telemetry.trace_hash: none), so that nothing can show that a run of today is the same; "+
			"run the experiment with --capture %s, or with trace hash", name, c.Link, c.Link))
	}
	c.announce(name + ": runs again in virtual time")
	pcap, err := begin(p, out, run.Variant, run.Seed)
	if err != nil {
		return failure.Infrastructure(err)
	}
	records := measure.NewRecords(p, nil)
	_, err = Virtual(ctx, &backend.Run{Plan: p}, pcap, records, nil)
	if wrong := pcap.Close(); err == nil && wrong != nil {
		err = failure.Infrastructure(wrong)
	}
	if err != nil {
		return err
	}
	if hash := measure.TraceHash(records.Nodes()); fmt.Sprintf("%x", hash) != run.TraceHash {
		return failure.Infrastructure(fmt.Errorf("%s leaves the trace %.6x when it runs again, in the folder it has %.12s; "+
			"the folder was written by csiglab %s, this is %s, and a file that the experiment names may have changed", name, hash, run.TraceHash, folder.Manifest.Version, c.Version))
	}
	c.announce(fmt.Sprintf("%s: the trace is that of the run (%.12s)", name, run.TraceHash))
	return nil
}

// Virtual runs a plan in virtual time, on r.Workers cores unless it captures: it
// captures the packets in a File, which may be nil, and passes on the records. progress, which may be nil, is called now and then
// with the share of the payload that has been delivered. The run ends early when
// packets or records cannot be written.
func Virtual(ctx context.Context, r *backend.Run, pcap *File, records *measure.Records, progress func(delivered float64)) (*backend.Outcome, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := backend.Control{Records: records, Progress: func(_ units.Time, delivered float64) {
		if progress != nil {
			progress(delivered)
		}
		if pcap.Failed() || records.Err() != nil {
			cancel()
		}
	}}
	if pcap != nil {
		c.Tap = pcap.Tap
	}
	out, err := inproc.Backend{}.Run(ctx, r, c)
	if pcap.Failed() {
		return nil, pcap.Err()
	}
	if wrong := records.Err(); wrong != nil {
		return nil, wrong
	}
	return out, err
}

// experimentOf reads the experiment of a run folder and returns one of its variants.
// Its error wraps failure.ErrConfiguration.
func experimentOf(folder, variant string) (*experiment.Experiment, error) {
	set, err := experiment.Load(filepath.Join(folder, runfolder.ExperimentFile), experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		return nil, failure.Configuration(err)
	}
	for _, v := range set.Variants {
		if v.Name == variant {
			return v.Experiment, nil
		}
	}
	return nil, failure.Configuration(fmt.Errorf("run folder %s: its %s has no variant %s", folder, runfolder.ExperimentFile, variant))
}

func (c Recapture) announce(text string) {
	if c.Announce != nil {
		c.Announce(text)
	}
}

// find returns the run in the folder.
func (c Recapture) find(folder *runfolder.Folder) (*runfolder.Run, error) {
	var variants, seeds []string
	for i, r := range folder.Manifest.Runs {
		if !slices.Contains(variants, r.Variant) {
			variants = append(variants, r.Variant)
		}
		if c.Variant != "" && r.Variant != c.Variant {
			continue
		}
		if c.AnySeed || r.Seed == c.Seed {
			return &folder.Manifest.Runs[i], nil
		}
		if seed := fmt.Sprint(r.Seed); !slices.Contains(seeds, seed) {
			seeds = append(seeds, seed)
		}
	}
	if len(seeds) == 0 {
		return nil, fmt.Errorf("run folder %s has no variant %q; it has %s", c.Folder, c.Variant, strings.Join(variants, ", "))
	}
	return nil, fmt.Errorf("run folder %s has no seed %d of it; it has %s", c.Folder, c.Seed, strings.Join(seeds, ", "))
}

// copy copies the packets of ports from a run's capture.
func (c Recapture) copy(file string, ports []capture.Port, out io.Writer) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	var names []string
	for _, p := range ports {
		names = append(names, p.Name)
	}
	if err := capture.Select(out, in, names); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}
