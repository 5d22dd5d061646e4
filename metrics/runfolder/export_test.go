package runfolder

// Dropped returns how many records of the run were dropped on their way here.
func (r *RunWriter) Dropped() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dropped
}
