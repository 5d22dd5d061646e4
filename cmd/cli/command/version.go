package command

import (
	"runtime/debug"
)

// SourceFolder is set by the linker: the folder of the source that this program was built
// from.
var SourceFolder string

// release is set by the linker in a release's build.
var release string

// Version returns the release, or the commit that the program was built
// from.
func Version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	commit, changed := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "+changes"
		}
	}
	if commit == "" {
		return "unknown"
	}
	return commit + changed
}
