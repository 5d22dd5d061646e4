//go:build linux && (amd64 || arm64)

package main

// entry is where a csiglab begins that was linked with -E main.entry, as make build
// does. It does what Go's own start comes too late for, and goes on with that:
//   - It records whether standard output is open. Go opens /dev/null in place of a closed
//     descriptor, which cannot be told later from a /dev/null that the caller has opened.
//   - It ends with exit code 3 if the address space is too small for Go's start, which
//     would end with exit code 2 and a trace of the runtime.
//
//lint:ignore U1000 the linker's flag -E names it
func entry()

// addressLimit is the limit of the address space in bytes at entry, soft and hard
// (getrlimit(2), RLIMIT_AS).
//
//lint:ignore U1000 entry has it
var addressLimit [2]uint64

// tooSmall is what entry writes of an address space below the least number of entry_*.s.
//
//lint:ignore U1000 entry has it
var tooSmall = "csiglab: too little memory: csiglab needs at least 1600 MB of addresses; see ulimit -v\n"
