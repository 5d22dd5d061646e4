package builder

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/plain"
	"github.com/csiglab/csiglab/nodes/modules"
)

// programs are the main packages that are built, by folder, if the source has them: early
// revisions had the first alone.
var programs = []string{"cmd/csiglab", "cmd/csig-host", "cmd/csig-switch"}

// programsOf returns those of the main packages that a source has.
func programsOf(source string, folders ...string) []string {
	return slices.DeleteFunc(slices.Clone(folders), func(folder string) bool {
		_, err := os.Stat(filepath.Join(source, folder))
		return err != nil
	})
}

// importsFile imports the modules: a file in each main package that the compiler sees and
// the source does not have.
const importsFile = "modules_compiled.go"

// content is what will be compiled.
type content struct {
	key     string           // of everything that is compiled
	modules []modules.Module // with their sums
	// functions are those of the packages that have no version.
	functions []Function
}

// list finds every source file that will be compiled and writes go.mod, go.sum and the
// overlay that list and compile use.
func (b *build) list(ctx context.Context) (*content, error) {
	if err := b.writeModule(ctx); err != nil {
		return nil, err
	}
	if err := b.writeOverlay(); err != nil {
		return nil, err
	}
	args := append([]string{"list", "-deps", "-json=ImportPath,Dir,Standard,Module,GoFiles,SFiles,HFiles,EmbedFiles"}, b.flags()...)
	out, err := b.online(ctx, true, call{dir: b.source.folder, args: append(args, b.packages()...)})
	if err != nil {
		return nil, b.explain(err)
	}
	version, err := b.tool.run(ctx, call{dir: b.source.folder, args: []string{"env", "GOVERSION", "GOARCH", "GOAMD64", "GOARM64"}})
	if err != nil {
		return nil, err
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "%s\n%s\n%q\n", version, b.source.version, b.linker(""))
	if len(b.Cover) > 0 {
		fmt.Fprintf(hash, "%q\n", b.Cover)
	}
	var functions []Function
	sums := map[string]io.Writer{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			c, err := b.finish(hash.Sum(nil), sums)
			if err == nil {
				c.functions = functions
			}
			return c, err
		case err != nil:
			return nil, fmt.Errorf("go list: %w", err)
		}
		if p.Standard {
			continue // the version of Go says it
		}
		if len(p.GoFiles) == 0 && slices.ContainsFunc(b.with, func(r resolved) bool { return r.module.Path == p.ImportPath }) {
			return nil, b.noPackage(p.ImportPath)
		}
		more, err := b.add(io.MultiWriter(hash, b.sumOf(sums, p.Module.Path)), &p)
		if err != nil {
			return nil, err
		}
		functions = append(functions, more...)
	}
}

// sumOf returns what takes the files of a module; of others than those of the request it
// takes nothing.
func (b *build) sumOf(sums map[string]io.Writer, module string) io.Writer {
	if !slices.ContainsFunc(b.with, func(r resolved) bool { return r.module.Path == module }) {
		return io.Discard
	}
	if sums[module] == nil {
		sums[module] = sha256.New()
	}
	return sums[module]
}

// listed is a package as go list describes it.
type listed struct {
	ImportPath, Dir string
	Standard        bool
	Module          struct {
		Path, Version, Dir string
		Replace            *struct{ Path, Version string }
	}
	GoFiles, SFiles, HFiles, EmbedFiles []string
}

// add writes the names and hashes of a package's files, and returns its functions. Packages of
// versions have their version alone, which go.sum vouches for.
func (b *build) add(to io.Writer, p *listed) (functions []Function, err error) {
	if p.Module.Version != "" && (p.Module.Replace == nil || p.Module.Replace.Version != "") {
		_, err := fmt.Fprintf(to, "%s %s %v\n", p.ImportPath, p.Module.Version, p.Module.Replace)
		if err != nil || !slices.ContainsFunc(b.with, func(r resolved) bool { return r.module.Path == p.Module.Path }) {
			return nil, err
		}
	}
	files := slices.Concat(p.GoFiles, p.SFiles, p.HFiles, p.EmbedFiles)
	slices.Sort(files)
	for _, name := range files {
		if name == importsFile {
			continue // of the overlay: the modules' packages are in the list themselves
		}
		file := name
		if !filepath.IsAbs(file) {
			file = filepath.Join(p.Dir, name)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(to, "%x  %s\n", sha256.Sum256(text), path.Join(p.ImportPath, filepath.Base(name)))
		if strings.HasSuffix(name, ".go") {
			functions = append(functions, functionsOf(p.ImportPath, filepath.Base(name), text)...)
		}
	}
	return functions, nil
}

// finish returns the content, with the sums of the modules.
func (b *build) finish(key []byte, sums map[string]io.Writer) (*content, error) {
	c := &content{}
	for _, r := range b.with {
		m := r.module
		sum, ok := sums[m.Path].(interface{ Sum([]byte) []byte })
		if !ok {
			return nil, b.noPackage(m.Path)
		}
		m.Sum = "h1:" + base64.StdEncoding.EncodeToString(sum.Sum(nil))
		c.modules = append(c.modules, m)
	}
	whole := sha256.New()
	whole.Write(key)
	fmt.Fprintf(whole, "%v", c.modules)
	c.key = hex.EncodeToString(whole.Sum(nil)[:12])
	return c, nil
}

func (b *build) noPackage(module string) error {
	return input("%s: the module has no Go package in its first folder; csiglab imports that one, and it may import others", b.flagOf(module))
}

func (b *build) flagOf(module string) string {
	for _, r := range b.with {
		if r.module.Path == module && r.folder != "" {
			return "--with " + module + "=" + r.folder
		}
	}
	return "--with " + module
}

// writeModule writes go.mod and go.sum: csiglab's own, with the modules.
func (b *build) writeModule(ctx context.Context) error {
	mod, err := os.ReadFile(filepath.Join(b.source.folder, "go.mod"))
	if err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(b.source.folder, "go.sum"))
	if err != nil {
		return err
	}
	edits := []string{"mod", "edit"}
	for _, r := range b.with {
		version := r.module.Version
		if r.folder != "" {
			version = "v0.0.0"
			edits = append(edits, "-replace="+r.module.Path+"="+r.folder)
			// The folder's own sums of what it needs besides csiglab.
			if own, err := os.ReadFile(filepath.Join(r.folder, "go.sum")); err == nil {
				sums = appendLines(sums, own)
			}
		}
		edits = append(edits, "-require="+r.module.Path+"@"+version)
	}
	sums = appendLines(sums, b.cache.sums())
	file := b.work.Path("go.mod")
	if err := errors.Join(os.WriteFile(file, mod, 0o644), os.WriteFile(b.work.Path("go.sum"), sums, 0o644)); err != nil {
		return err
	}
	if len(b.with) == 0 {
		return nil
	}
	if _, err := b.tool.run(ctx, call{dir: b.work.Dir, args: append(edits, file)}); err != nil {
		return inputError{fmt.Errorf("go.mod with the modules: %w", err)}
	}
	return nil
}

func appendLines(text, more []byte) []byte {
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	return append(text, more...)
}

// writeOverlay writes the overlay, the files that the compiler sees beside those of
// csiglab's source.
func (b *build) writeOverlay() error {
	var imports strings.Builder
	imports.WriteString("// Code generated by csiglab build. DO NOT EDIT.\n\npackage main\n\nimport (\n")
	for _, r := range b.with {
		fmt.Fprintf(&imports, "\t_ %q\n", r.module.Path)
	}
	imports.WriteString(")\n")
	replace := map[string]string{}
	for _, folder := range b.programs {
		replace[filepath.Join(b.source.folder, folder, importsFile)] = b.work.Path("imports.go")
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(b.work.Path("imports.go"), []byte(imports.String()), 0o644), os.WriteFile(b.work.Path("overlay.json"), overlay, 0o644))
}

// flags are those of list and build. The tool that Request.Cover needs knows no overlay.
func (b *build) flags() []string {
	flags := []string{"-modfile=" + b.work.Path("go.mod")}
	if len(b.with) > 0 {
		flags = append(flags, "-overlay="+b.work.Path("overlay.json"))
	}
	return flags
}

func (b *build) packages() (list []string) {
	for _, folder := range b.programs {
		list = append(list, "./"+folder)
	}
	return list
}

// linker returns the linker's flags, by package: those of make build, and more.
func (b *build) linker(more string) []string {
	// The linker passes over a variable that the source has not got. Revisions before package command have them in package cli.
	const command, cli = " -X " + modulePath + "/cmd/cli/command.", " -X " + modulePath + "/cmd/cli."
	flags := "-ldflags=-s -w" + command + "release=" + b.source.version + cli + "release=" + b.source.version + more
	if !b.Anonymous {
		flags += command + "SourceFolder=" + b.source.checkout() + cli + "sourceFolder=" + b.source.checkout()
	}
	return []string{flags}
}

// checkout returns the folder of the source, for builds of the new csiglab, if it will
// stay and the linker takes its name.
func (s source) checkout() string {
	if strings.ContainsAny(s.folder, " '\"\\") {
		return ""
	}
	return s.folder
}

// compile builds the programs into the folder programs of the working folder, and starts
// the new csiglab to see what its modules have registered.
func (b *build) compile(ctx context.Context, c *content) ([]Described, error) {
	folder := b.work.Path("programs")
	if err := os.Mkdir(folder, 0o755); err != nil {
		return nil, err
	}
	if b.Anonymous {
		b.source.version = "source-" + c.key[:12]
	}
	var cover []string
	if len(b.Cover) > 0 {
		// A program whose main package does not count what it executes writes nothing.
		cover = []string{"-cover", "-coverpkg=" + strings.Join(append(slices.Clone(b.Cover), modulePath+"/"+programs[0]), ",")}
	}
	args := slices.Concat([]string{"build", "-trimpath", "-buildvcs=false", "-o", folder + "/"}, cover, b.flags(), b.linker(modules.LinkerFlags(c.modules, c.key)), b.packages())
	if _, err := b.online(ctx, true, call{dir: b.source.folder, args: args}); err != nil {
		return nil, b.explain(err)
	}
	return b.examine(ctx, filepath.Join(folder, "csiglab"), c)
}

// explain returns the error of the compiler or of go list.
func (b *build) explain(err error) error {
	var failed *toolError
	if !errors.As(err, &failed) {
		return err
	}
	for _, r := range b.with {
		if strings.Contains(failed.text, "does not contain package "+r.module.Path+"\n") || strings.HasSuffix(failed.text, "does not contain package "+r.module.Path) {
			return b.noPackage(r.module.Path)
		}
	}
	return classify(fmt.Errorf("%s does not compile:\n%s", b.withNames("csiglab"), b.shown(failed.text)), err)
}

// examine starts a csiglab that says what its modules have registered.
func (b *build) examine(ctx context.Context, program string, c *content) ([]Described, error) {
	args := []string{"version", "--json"}
	if len(c.modules) == 0 {
		args = args[:1] // early revisions have no --json
	}
	stdout, why, err := b.tool.start(ctx, program, args...)
	if err != nil {
		return nil, err
	}
	if why != "" {
		return nil, input("%s %s", b.withNames("csiglab"), why)
	}
	if len(c.modules) == 0 {
		return nil, nil
	}
	var about struct{ Modules []Described }
	if err := json.Unmarshal(stdout, &about); err != nil {
		return nil, input("%s prints other text than the JSON of version --json; %s must neither print nor end the program: %q", b.withNames("csiglab"), starting, plain.Text(string(stdout), 100))
	}
	registers := map[string]bool{}
	for _, d := range about.Modules {
		registers[d.Path] = len(d.Registers) > 0
	}
	for _, path := range slices.Sorted(maps.Keys(registers)) {
		if !registers[path] {
			return nil, input("module %s registers nothing: call congestion.Register, balance.Register, aqm.Register, forward.Register, experiment.RegisterTopology or experiment.RegisterWorkload in an init function of its first package, or of one that it imports (docs/how-to/extend.md)", path)
		}
	}
	if len(about.Modules) != len(c.modules) {
		return nil, fmt.Errorf("the new csiglab has %d modules, want %d: is %s another csiglab?", len(about.Modules), len(c.modules), b.source.words)
	}
	return about.Modules, nil
}
