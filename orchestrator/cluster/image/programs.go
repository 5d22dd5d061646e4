package image

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/nodes/modules"
	"github.com/csiglab/csiglab/orchestrator/programs"
)

// csiglab is the name that every csiglab has in the image.
const csiglab = programs.Csiglab

// built is the folder of the node programs of a csiglab with modules.
const built = csiglab + modules.ProgramsSuffix + "/"

// nodePrograms are the programs that csiglab starts for nodes.
var nodePrograms = []string{programs.Host, programs.Switch}

// Programs are the programs of one csiglab, as files of this machine.
type Programs struct {
	// Identity is that of csiglab and its node programs (trial.FileIdentity). It is the name
	// of the folder below Others. It is the same in the image, where the files stand to each
	// other as they do here.
	Identity string
	Version  string // of csiglab, for a label
	Build    string // key of a build with modules (modules.Build), for a label; else empty
	Files    []File // csiglab first
}

// File is a program.
type File struct {
	Name string // in the folder of its csiglab, such as csig-host or csiglab.programs/csig-host
	Path string // on this machine
}

// Of returns a csiglab with the node programs that belong to it: those beside it, and those
// of a csiglab with modules in the folder with its name and modules.ProgramsSuffix. host and
// switches are the programs that this csiglab itself uses, which may lie elsewhere; empty:
// only those that belong to it. The error wraps ErrProgram if one is not there.
func Of(path, host, switches string) (p Programs, err error) {
	if path, err = filepath.EvalSymlinks(path); err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return p, fmt.Errorf("%w: %w", ErrProgram, cause.Of(err))
	}
	p.Files = []File{{csiglab, path}}
	used := map[string]string{"csig-host": host, "csig-switch": switches}
	for _, name := range nodePrograms {
		p.add(name, filepath.Join(filepath.Dir(path), name))
		p.add(built+name, path+modules.ProgramsSuffix+"/"+name)
	}
	for _, name := range nodePrograms {
		from := used[name]
		switch {
		case from != "" && modules.Build() != "" && !p.has(built+name):
			p.add(built+name, from) // of the cache of builds
		case from != "" && !p.has(name) && !p.has(built+name):
			p.add(name, from) // of PATH
		}
		if !p.has(name) && !p.has(built+name) {
			return p, fmt.Errorf("%w: %s is neither beside %s nor in %s; make build or csiglab build puts it there", ErrProgram, name, path, path+modules.ProgramsSuffix)
		}
	}
	return p, nil
}

// AddSibling adds a program that csiglab starts in its own place, such as csiglab-cluster.
func (p *Programs) AddSibling(path string) {
	name := filepath.Base(path)
	if modules.Build() != "" {
		name = built + name
	}
	p.Files = append(p.Files, File{name, path})
}

// add adds a file if it is there.
func (p *Programs) add(name, path string) {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		p.Files = append(p.Files, File{name, path})
	}
}

func (p *Programs) has(name string) bool {
	return slices.ContainsFunc(p.Files, func(f File) bool { return f.Name == name })
}

// identity is what Programs.Identity looks like: a name of a folder.
var identity = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*$`)

// identities returns the sorted identities of programs.
func identities(all []Programs) (list []string) {
	for _, p := range all {
		list = append(list, p.Identity)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// machines are the instruction sets of ELF files by GOARCH.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// check refuses a program that would not start in the image, which has no C library and
// the platform of this machine.
func check(path string) error {
	file, err := elf.Open(path)
	if err != nil {
		if os.IsNotExist(err) || os.IsPermission(err) {
			return fmt.Errorf("%w: %s: %w", ErrProgram, path, cause.Of(err))
		}
		return fmt.Errorf("%w: %s is no Linux program (ELF)", ErrProgram, path)
	}
	defer file.Close() // opened for reading
	if want, known := machines[runtime.GOARCH]; known && file.Machine != want {
		return fmt.Errorf("%w: %s is for %s, and this machine is %s", ErrProgram, path, strings.TrimPrefix(file.Machine.String(), "EM_"), runtime.GOARCH)
	}
	for _, part := range file.Progs {
		if part.Type == elf.PT_INTERP {
			return fmt.Errorf("%w: %s is linked dynamically, and the image has no libraries; build it with CGO_ENABLED=0, as make build and csiglab build do", ErrProgram, path)
		}
	}
	return nil
}
