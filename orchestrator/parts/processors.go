package parts

import (
	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/orchestrator/backend"
)

// divideProcessors divides the processors of this machine among the parts of a run in
// lockstep. A part pins its nodes to the processors that it may use, so two parts with the
// same processors would pin theirs to the first ones. divide restricts the calling thread,
// and processes that it starts, to the processors of a part. restore gives the thread all of
// them back. In real time a node must not wait for a processor while another is idle: then
// both do nothing.
func divideProcessors(r *backend.Run) (divide func(part int), restore func()) {
	var all unix.CPUSet
	if r.Wall != nil || unix.SchedGetaffinity(0, &all) != nil {
		return func(int) {}, func() {}
	}
	var processors []int
	for cpu := range len(all) * 64 {
		if all.IsSet(cpu) {
			processors = append(processors, cpu)
		}
	}
	divide = func(part int) {
		var set unix.CPUSet
		for _, cpu := range share(processors, part, r.Shards) {
			set.Set(cpu)
		}
		unix.SchedSetaffinity(0, &set) //nolint:errcheck // the part is slower with all of them
	}
	return divide, func() { unix.SchedSetaffinity(0, &all) } //nolint:errcheck // they are the thread's own
}

// share returns the processors of a part, ascending: one at least. Where there are fewer
// processors than parts, neighbours share one.
func share(processors []int, part, parts int) []int {
	first, end := part*len(processors)/parts, (part+1)*len(processors)/parts
	return processors[first:max(end, first+1)]
}
