package trial

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/nodes/modules"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/programs"
)

// Identity returns the Trial.Identity of a program; "" is the calling csiglab. If the program
// was built from a commit without changes, it is a digest of the commit, the modules and the
// version of Go, so that two machines that build it get the same. Otherwise it is a digest of
// the file.
func Identity(file string) (string, error) {
	if file == "" {
		self, err := programs.Core()
		if err != nil {
			return "", err
		}
		file = self
	}
	sum := sha256.New()
	if info, err := buildinfo.ReadFile(file); err == nil && describe(sum, info) {
		return buildPrefix + hex.EncodeToString(sum.Sum(nil)[:16]), nil
	}
	return FileIdentity(file)
}

// belonging returns the files of which a program consists: with the programs
// of nodes, which csiglab finds beside itself, or with modules in the folder of
// modules.ProgramsSuffix. They need not all exist.
func belonging(file string) ([]string, error) {
	file, err := filepath.EvalSymlinks(file)
	if err != nil {
		return nil, err
	}
	list := []string{file}
	for _, name := range []string{programs.Host, programs.Switch} {
		list = append(list, filepath.Join(filepath.Dir(file), name), filepath.Join(file+modules.ProgramsSuffix, name))
	}
	return list, nil
}

// FileIdentity returns a Trial.Identity that is a digest of a program and of the programs for
// nodes that belong to it. Local checks it before the first trial.
func FileIdentity(file string) (string, error) {
	list, err := belonging(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, cause.Of(err))
	}
	sum := sha256.New()
	for i, name := range list {
		digest, err := Digest(context.Background(), name)
		if err != nil && (i == 0 || !errors.Is(err, fs.ErrNotExist)) {
			return "", err
		}
		fmt.Fprintf(sum, "%s\n", digest)
	}
	return filePrefix + hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

// Prefixes of identities that Local can check.
const (
	filePrefix  = "file-"
	buildPrefix = "build-"
)

// verify returns an error that wraps ErrProgramChanged if a program has another identity.
// Identities of other prefixes are not of the file alone.
func verify(file, identity string) (err error) {
	now := identity
	switch {
	case strings.HasPrefix(identity, filePrefix):
		now, err = FileIdentity(file)
	case strings.HasPrefix(identity, buildPrefix):
		now, err = Identity(file)
	}
	if err == nil && now != identity {
		err = fmt.Errorf("%s: %w", file, ErrProgramChanged)
	}
	if err != nil {
		return failure.Infrastructure(err)
	}
	return nil
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
