package buffer

import "github.com/csiglab/csiglab/units"

// MemoryConfig is the memory of a switch that its ports share. Each queue of a class that
// may lose packets, and each class of an ingress port that may not, has Reserved bytes for
// itself; what is beyond comes from Shared.
type MemoryConfig struct {
	Shared   units.Size
	Reserved units.Size
	// Alpha is the share of the free memory that one queue may have: dynamic threshold
	// alpha (B - Q(t)), of Choudhury and Hahne, IEEE/ACM Transactions on Networking 1998.
	Alpha float64
}

// Memory is the shared memory of a switch. Nil stands for a switch whose ports share
// nothing. Build it with NewMemory.
type Memory struct {
	cfg  MemoryConfig
	used units.Size
	peak units.Size
}

// NewMemory returns the memory of a switch, unused.
func NewMemory(cfg MemoryConfig) *Memory { return &Memory{cfg: cfg} }

// threshold returns how many shared bytes a queue may have now.
func (m *Memory) threshold() units.Size {
	return units.Size(float64(float64(m.cfg.Shared-m.used) * m.cfg.Alpha))
}

// Peak returns the most shared bytes that were in use.
func (m *Memory) Peak() units.Size { return m.peak }

// reserved returns the bytes that each queue has for itself.
func (m *Memory) reserved() units.Size { return m.cfg.Reserved }

// beyond returns the shared bytes of a queue of the given length.
func (m *Memory) beyond(queue units.Size) units.Size { return max(0, queue-m.cfg.Reserved) }

// Fits reports whether a queue of the given length may take size bytes more: within what
// is reserved for it, or within the threshold.
func (m *Memory) Fits(queue, size units.Size) bool {
	after := m.beyond(queue + size)
	more := after - m.beyond(queue)
	return after == 0 || after <= m.threshold() && m.used+more <= m.cfg.Shared
}

// Resize accounts a queue whose length changes.
func (m *Memory) Resize(from, to units.Size) { m.changeUsed(m.beyond(to) - m.beyond(from)) }

// changeUsed accounts shared bytes; negative ones are given back.
func (m *Memory) changeUsed(size units.Size) {
	m.used += size
	m.peak = max(m.peak, m.used)
}
