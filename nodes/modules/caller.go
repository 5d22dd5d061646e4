package modules

import (
	"runtime"
	"strings"
)

// Caller returns the import path of a package: that of the function which is so many
// callers above the one that calls Caller. It is called while the program starts.
func Caller(above int) string {
	var pc [1]uintptr
	if runtime.Callers(above+2, pc[:]) == 0 {
		return ""
	}
	frame, _ := runtime.CallersFrames(pc[:]).Next()
	return PackageOf(frame.Function)
}

// PackageOf returns the import path of the package of a function, given by the name that
// stacks have, such as example.com/mine/relay.(*state).OnAck or
// gopkg.in/relay%2ev2.init.0.
func PackageOf(function string) string {
	last := strings.LastIndexByte(function, '/') + 1
	folder, rest := function[:last], function[last:]
	name, _, _ := strings.Cut(rest, ".")
	return folder + strings.ReplaceAll(name, "%2e", ".")
}
