package emu

import (
	"slices"

	"github.com/csiglab/csiglab/nodes/capture/spool"
)

// Live is how other processes ask the nodes of a run in real time for their frames
// during the run: a process makes a pipe in Folder and then requests the capture
// (wall.ControlBlock.RequestCapture); the node opens the pipe and writes frames.
type Live struct {
	Folder string // as the nodes see it; empty: requests are not answered
	About  string // description that nodes send first
}

// OpenLive opens the pipes that were made in the folder of Live since the last
// call. Their readers get the frames of a port from now on.
func (n *Node) OpenLive() {
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

// FlushLive writes the frames captured since the last call to the open pipes, and
// closes pipes without a reader.
func (n *Node) FlushLive() {
	if n.taps != nil {
		n.taps.flushLive()
	}
}

func (t *taps) flushLive() {
	t.live = slices.DeleteFunc(t.live, func(s *spool.Stream) bool {
		if s.Flush() {
			return false
		}
		s.Close()
		return true
	})
}
