package transport

import "github.com/csiglab/csiglab/units"

// endEarly ends the message of a flow that stops: the next packet that has not been sent is
// the last one, of a byte. If there is none, the flow has nothing to stop. What has been
// sent is still acknowledged, or sent again.
func (s *Sender) endEarly() {
	s.stop = units.Never
	if s.next == s.packets {
		return
	}
	mss := s.common.mss()
	s.packets, s.last, s.lastShort = s.next+1, s.next, uint16(mss-1)
	if size := units.Size(s.next)*mss + 1; size < s.size {
		s.size, s.totals.Stopped = size, true
	}
}

// payload returns the payload bytes that have been sent, each counted once.
func (s *Sender) payload() units.Size {
	mss := s.common.mss()
	unsent := units.Size(0)
	switch c := s.connection; {
	case c != nil:
		begin := s.next
		for i := c.open.Len() - c.unsent; i < c.open.Len(); i++ {
			m := c.open.At(i)
			unsent += units.Size(m.end-begin)*mss - units.Size(s.common.lacks(m.Size))
			begin = m.end
		}
	case s.next < s.packets:
		unsent = units.Size(s.packets-s.next)*mss - units.Size(s.lastShort)
	}
	return s.size - unsent
}
