package exposition

// Observe counts an observation of a histogram that records do not bring, or not alone.
// The labels are those of the family, in its order.
func (s *Set) Observe(f *Family, value float64, labels ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.series(f, labels).counts.observe(f, value, 1)
}
