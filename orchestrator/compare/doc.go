// Package compare is the room of what compares runs: a change of which runs are compared, how
// many there are, where they run, what is kept of them or how they are judged belongs here, and
// not in cmd/cli, which has flags and prints. It has no code of its own. Its packages, in reading
// order:
//
//   - trial: runs in other processes, and the journal of those that have ended
//   - results: the table of many runs
//   - sweep: points, variants and seeds, in shards, to one table
//   - stress: a sweep of unseen seeds and of settings that differ in one thing
//   - statistics: what the numbers of two sides say
//   - verdict: what a comparison of two sides came to, as data
//   - revision: a program of a git revision, a folder or a module
//   - regress: a suite on two sides, to a verdict
//   - history: what is kept of many revisions
//   - bisect: the first bad revision or value
//   - batch: trials as the indices of a Job of a cluster
package compare
