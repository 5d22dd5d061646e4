// Package packets writes the packets of a run as pcapng: in the capture file of a run
// that is executed (File), from the run folder of a run that is over (Recapture), and
// from the nodes of a run under way (Live).
package packets

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/nodes/capture"
	"github.com/csiglab/csiglab/nodes/capture/spool"
	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// File is the capture file of a run, open for writing. It is nil for a run that
// captures nothing.
type File struct {
	*capture.Writer
	buffer *bufio.Writer
	file   *os.File // nil: the caller's, who closes it
}

// Create begins the capture of a run in its folder; nil if the plan captures nothing.
func Create(p *plan.Plan, folder, variant string, seed uint64) (*File, error) {
	if len(p.Captured) == 0 {
		return nil, nil
	}
	file, err := own.NewFile(FileName(folder, variant, seed), 0o644)
	if err != nil {
		return nil, err
	}
	out, err := begin(p, file, variant, seed)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	out.file = file
	return out, nil
}

// begin begins a capture of what the plan captures.
func begin(p *plan.Plan, to io.Writer, variant string, seed uint64) (_ *File, err error) {
	c := p.Capture()
	c.Comment = fmt.Sprintf("variant %s, seed %d; times are model time from the start of the run", variant, seed)
	out := &File{buffer: bufio.NewWriterSize(to, 1<<20)}
	out.Writer, err = capture.NewWriter(out.buffer, c)
	return out, err
}

// FileName returns the file of a run's capture in its folder.
func FileName(folder, variant string, seed uint64) string {
	return filepath.Join(folder, fmt.Sprintf("%s-%d.pcapng", variant, seed))
}

// Close ends the capture.
func (c *File) Close() error {
	if c == nil {
		return nil
	}
	err := errors.Join(c.Writer.Close(), c.buffer.Flush())
	if c.file == nil {
		return err
	}
	if err = errors.Join(err, c.file.Close()); err != nil {
		return fmt.Errorf("capture %s: %w", c.file.Name(), err)
	}
	return nil
}

// Failed reports whether writing has failed.
func (c *File) Failed() bool { return c != nil && c.Err() != nil }

// Merge writes the packets that the nodes of a run with real frames have captured.
func (c *File) Merge(from emu.Capture) (err error) {
	var spools []*spool.Reader
	defer func() {
		for _, s := range spools {
			err = errors.Join(err, s.Close())
		}
	}()
	for _, name := range from.Spools() {
		s, err := spool.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the node saw no frame
		}
		if err != nil {
			return err
		}
		spools = append(spools, s)
	}
	return c.Writer.Merge(spools)
}

// RemoveSpools removes the files that Merge has read or would have read.
func RemoveSpools(c emu.Capture) {
	for _, name := range c.Spools() {
		os.Remove(name)
	}
}
