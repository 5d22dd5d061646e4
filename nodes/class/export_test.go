package class

import "github.com/csiglab/csiglab/units"

// Deficit returns what a class may send beyond its next quantum, in bytes.
func (s *Scheduler) Deficit(class int) units.Size { return s.deficit[class] }
