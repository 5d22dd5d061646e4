//go:build linux && (amd64 || arm64)

package main

// entry is where a csiglab begins that was linked with -E main.entry, as make build
// does. It records whether standard output is open, and goes on with Go's own start: that
// opens /dev/null in place of a closed descriptor, which cannot be told later from a
// /dev/null that the caller has opened.
//
//lint:ignore U1000 the linker's flag -E names it
func entry()
