package trial

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"

	"github.com/csiglab/csiglab/internal/cause"
)

// Identity returns the Trial.Identity of a program; "" is the calling program. If the program
// was built from a commit without changes, it is a digest of the commit, the modules and the
// version of Go, so that two machines that build it get the same. Otherwise it is a digest of
// the file.
func Identity(file string) (string, error) {
	if file == "" {
		self, err := os.Executable()
		if err != nil {
			return "", err
		}
		file = self
	}
	sum := sha256.New()
	if info, err := buildinfo.ReadFile(file); err == nil && describe(sum, info) {
		return "build-" + hex.EncodeToString(sum.Sum(nil)[:16]), nil
	}
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close() // opened for reading
	sum.Reset()
	if _, err := io.Copy(sum, f); err != nil {
		return "", fmt.Errorf("%s: %w", file, cause.Of(err))
	}
	return "file-" + hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

// decisive are the settings of a build that decide about what a program computes.
var decisive = []string{"vcs.revision", "GOARCH", "GOAMD64", "GOARM64", "GOEXPERIMENT", "GOFIPS140", "-tags", "-race"}

// describe writes what a program was built from, and reports whether that is all there is to
// know: a commit without changes, and no modules of folders.
func describe(w io.Writer, info *debug.BuildInfo) (whole bool) {
	commit, clean := false, false
	fmt.Fprintf(w, "%q %q\n", info.Path, info.GoVersion)
	for _, s := range info.Settings {
		commit = commit || s.Key == "vcs.revision" && s.Value != ""
		clean = clean || s.Key == "vcs.modified" && s.Value == "false"
		if slices.Contains(decisive, s.Key) {
			fmt.Fprintf(w, "%q %q\n", s.Key, s.Value)
		}
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		if m.Sum == "" {
			return false // a folder
		}
		fmt.Fprintf(w, "%q %q %q\n", m.Path, m.Version, m.Sum)
	}
	return commit && clean
}
