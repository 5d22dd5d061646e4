package sim

// Events returns the number of events processed.
func (s *Sim) Events() (count int64) {
	for _, sh := range s.shards {
		count += sh.count
	}
	return count
}
