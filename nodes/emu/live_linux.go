package emu

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/csiglab/csiglab/nodes/capture/spool"
)

// Live is how the nodes of a run in real time are asked for their frames while it
// is under way: whoever has made a pipe in Folder rings for the node (Sheet.Ring),
// which opens it and sends.
type Live struct {
	Folder string // as the nodes see it; empty: nobody is answered
	About  string // what they say first
}

// wordRung counts how often somebody has rung for a node. Unlike other words it
// has many writers.
const wordRung = 6

// Ring makes a node look for pipes.
func (s *Sheet) Ring(node int) { atomic.AddInt64(s.word(node, wordRung), 1) }

func (s *Sheet) rung(node int) int64 { return atomic.LoadInt64(s.word(node, wordRung)) }

// answer opens the pipes of those who have asked.
func (n *Node) answer() {
	if n.cfg.Live.Folder == "" {
		return
	}
	streams := spool.Answer(n.cfg.Live.Folder, n.cfg.Node, spool.Hello{About: n.cfg.Live.About})
	if len(streams) == 0 {
		return
	}
	if n.taps == nil {
		n.taps = new(taps)
	}
	n.taps.live = append(n.taps.live, streams...)
}

// sendLive hands on what has been captured since, and ends what nobody reads.
func (t *taps) sendLive() {
	t.live = slices.DeleteFunc(t.live, func(s *spool.Stream) bool {
		if s.Flush() {
			return false
		}
		s.Close()
		return true
	})
}

// ErrNoSheet reports that a process is not one of a run in real time.
var ErrNoSheet = errors.New("not a process of a run in real time")

// OpenSheet maps the Sheet of a process of a run in real time with so many nodes;
// the caller closes it.
func OpenSheet(pid, nodes int) (*SharedSheet, error) {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		target, err := os.Readlink(name)
		if err != nil || !strings.HasPrefix(target, "/memfd:"+sheetName) {
			continue
		}
		file, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			return nil, fmt.Errorf("process %d: %w", pid, err)
		}
		info, err := file.Stat()
		if err == nil && info.Size() != int64(8*sheetWords(nodes)) {
			err = fmt.Errorf("its shared memory has %d bytes, %d nodes have %d", info.Size(), nodes, 8*sheetWords(nodes))
		}
		var s *SharedSheet
		if err == nil {
			if s, err = openSheet(file, nodes); err == nil {
				return s, nil
			}
		}
		return nil, fmt.Errorf("process %d: %w", pid, errors.Join(err, file.Close()))
	}
	return nil, fmt.Errorf("process %d: %w", pid, ErrNoSheet)
}
