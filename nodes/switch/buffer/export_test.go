package buffer

import "github.com/csiglab/csiglab/units"

// Off reports whether the peer is to be paused.
func (g *Ingress) Off() bool { return g.off }

// Held returns the bytes in the switch.
func (g *Ingress) Held() units.Size { return g.reserved + g.shared + g.headroom }

// Used returns the shared bytes in use, Peak the most there were.
func (m *Memory) Used() units.Size { return m.used }
