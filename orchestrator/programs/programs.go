// Package programs names the programs of which csiglab consists and finds them. All know
// the same commands; those beside csiglab are linked with libraries that few commands need
// and hand nothing on. It starts no program: cmd/cli does.
package programs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/nodes/modules"
)

// Names of the programs.
const (
	Csiglab = "csiglab"         // experiments, virtual time, namespaces, reports, comparisons
	Lab     = "csiglab-lab"     // also containerlab and docker
	Serve   = "csiglab-serve"   // also Prometheus' storage, query language and API
	Cluster = "csiglab-cluster" // also Kubernetes, images and object stores
	Host    = "csig-host"       // a host's node
	Switch  = "csig-switch"     // a switch's node
)

// Siblings are the programs that csiglab may hand a command to.
var Siblings = []string{Lab, Serve, Cluster}

// ErrMissing is the class of Find's errors.
var ErrMissing = errors.New("program not found")

// ElsewhereError is the error of what this program is not linked with. Nothing has been
// done or printed yet: the other program does the whole command.
type ElsewhereError struct {
	Program string // the one that has it
}

func (e *ElsewhereError) Error() string { return e.Program + " does this, and not this program" }

// Elsewhere returns an ElsewhereError.
func Elsewhere(program string) error { return &ElsewhereError{program} }

// Find returns the path of a program that is installed beside this one or on PATH. Those of
// a csiglab with modules are of the same build: they are in a folder beside it, or in the
// cache of builds. The error wraps ErrMissing.
func Find(name string) (string, error) {
	self, err := os.Executable()
	if modules.Build() != "" {
		return findBuilt(self, name)
	}
	if err == nil {
		beside := self[:strings.LastIndexByte(self, '/')+1] + name
		if executable(beside) {
			return beside, nil
		}
		if info, err := os.Stat(beside); err == nil && !info.IsDir() {
			return "", fmt.Errorf("%w: %s is not executable; chmod +x makes it so", ErrMissing, beside)
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%w: program %s is neither beside %s nor on PATH; make build puts it there", ErrMissing, name, self)
	}
	return path, nil
}

// findBuilt returns a program of the same build as this csiglab with modules. A sibling of
// csiglab finds the others beside itself.
func findBuilt(self, name string) (string, error) {
	places := []string{self + modules.ProgramsSuffix}
	if folder := filepath.Dir(self); slices.Contains(Siblings, filepath.Base(self)) {
		places[0] = folder
	}
	if cache, err := modules.BuildsFolder(os.UserCacheDir); err == nil {
		places = append(places, cache+"/"+modules.Build())
	}
	for _, folder := range places {
		if path := folder + "/" + name; executable(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: program %s of this csiglab is not in %s; csiglab build%s puts it there", ErrMissing, name, strings.Join(places, " or "), flagOf(name))
}

// flagOf returns the flag of csiglab build that makes a sibling, with a blank before it.
func flagOf(name string) string {
	if slices.Contains(Siblings, name) {
		return " --also " + name
	}
	return ""
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// Core returns the path of csiglab itself: of this program, or of the csiglab that this
// sibling belongs to. Trials and their identities are of it, whoever performs them.
func Core() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	folder, name := filepath.Split(self)
	if !slices.Contains(Siblings, name) {
		return self, nil
	}
	if built, ok := strings.CutSuffix(filepath.Clean(folder), modules.ProgramsSuffix); ok {
		return built, nil
	}
	return Find(Csiglab)
}
