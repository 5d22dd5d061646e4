package orchestrator

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/nodes/capture"
	"github.com/csiglab/csiglab/nodes/capture/spool"
	"github.com/csiglab/csiglab/nodes/emu"
)

// setCapture finds the ports of the links that the experiment captures.
func (f *fabric) setCapture() error {
	var err error
	f.capture.Ports, err = capture.Ports(f.graph, f.experiment.Capture)
	if errors.Is(err, capture.ErrLink) {
		names := f.graph.LinkNames()
		for i, name := range f.experiment.Capture {
			if !slices.Contains(names, name) {
				return at(fmt.Sprintf("capture[%d]", i), unknownLink(name, names))
			}
		}
	}
	if err != nil {
		return at("capture", err)
	}
	return nil
}

// unknownLink is the error of a link that is captured and is not among those that
// there are.
func unknownLink(name string, names []string) error {
	err := fmt.Errorf("%q: %w", name, capture.ErrLink)
	if near := nearestLink(name, names); near != "" {
		err = fmt.Errorf("%w (did you mean %q?)", err, near)
	}
	// One of each tier says more than the first of a thousand.
	var kinds, like []string
	for _, n := range names {
		kind := digits.ReplaceAllString(n, "")
		if !slices.Contains(kinds, kind) {
			kinds, like = append(kinds, kind), append(like, n)
		}
	}
	return fmt.Errorf("%w; the %d links are called like %s", err, len(names), strings.Join(like, ", "))
}

// digits are the numbers of nodes in names of links.
var digits = regexp.MustCompile(`[0-9]+`)

// tierNames replace what others call the switches of a tier by what they are called
// here: the top one is agg with two tiers and core with three.
var tierNames = []*strings.Replacer{
	strings.NewReplacer("leaf", "tor", "edge", "tor", "spine", "agg"),
	strings.NewReplacer("leaf", "tor", "edge", "tor", "spine", "core"),
}

// nearestLink returns the link that a name was probably meant to be, "" if none is
// near.
func nearestLink(name string, names []string) string {
	tries := []string{name}
	for _, r := range tierNames {
		tries = append(tries, r.Replace(strings.ToLower(name)))
	}
	for _, try := range tries {
		if slices.Contains(names, try) {
			return try
		}
		if a, b, ok := strings.Cut(try, "-"); ok && slices.Contains(names, b+"-"+a) {
			return b + "-" + a // from the hosts up, as all are
		}
	}
	return spelling.Nearest(name, names)
}

// capturing is the capture of a run as it is written.
type capturing struct {
	*capture.Writer
	buffer *bufio.Writer
	file   *os.File // nil: somebody else's
}

// newCapture begins the capture of a run; nil if its plan has none.
func newCapture(p *Plan, folder, variant string, seed uint64) (*capturing, error) {
	if len(p.Capture.Ports) == 0 {
		return nil, nil
	}
	file, err := os.Create(captureFile(folder, variant, seed))
	if err != nil {
		return nil, err
	}
	out, err := writeCapture(p, file, variant, seed)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	out.file = file
	return out, nil
}

// writeCapture begins a capture of what the plan captures.
func writeCapture(p *Plan, to io.Writer, variant string, seed uint64) (_ *capturing, err error) {
	c := p.Capture
	c.Comment = fmt.Sprintf("variant %s, seed %d; times are model time from the start of the run", variant, seed)
	out := &capturing{buffer: bufio.NewWriterSize(to, 1<<20)}
	out.Writer, err = capture.NewWriter(out.buffer, c)
	return out, err
}

// captureFile is where a run's capture is.
func captureFile(folder, variant string, seed uint64) string {
	return filepath.Join(folder, fmt.Sprintf("%s-%d.pcapng", variant, seed))
}

// close ends the capture; nil is fine.
func (c *capturing) close() error {
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

// failed tells whether writing has failed.
func (c *capturing) failed() bool { return c != nil && c.Err() != nil }

// merge writes what the nodes of a run with real frames have captured.
func (c *capturing) merge(from emu.Capture) (err error) {
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
	return c.Merge(spools)
}

// removeSpools removes what merge has read, or a run that failed has left.
func removeSpools(c emu.Capture) {
	for _, name := range c.Spools() {
		os.Remove(name)
	}
}
