package revision

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/csiglab/csiglab/internal/plain"
	"github.com/csiglab/csiglab/orchestrator/programs/builder"
)

// Repository is a git repository with csiglab's source or an algorithm module.
type Repository struct {
	Top    string // its working tree's first folder, absolute
	Prefix string // of the folder that was named, below Top; empty: Top itself
}

// Commit is a revision.
type Commit struct {
	Hash      string // in full
	Short     string
	Author    string
	Date      time.Time // of the author
	Committed time.Time
	Subject   string // without characters that a terminal would interpret
}

// openRepository returns the repository that a folder is in.
func openRepository(ctx context.Context, folder string) (*Repository, error) {
	if err := checkFolder(folder); err != nil {
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	out, err := git(ctx, folder, "rev-parse", "--show-toplevel", "--show-prefix")
	if err != nil {
		if strings.Contains(err.Error(), "not a git repository") {
			return nil, input("%s is in no git repository, so that it has no revisions", folder)
		}
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	top, prefix, _ := strings.Cut(string(out), "\n")
	return &Repository{top, strings.TrimSuffix(strings.TrimRight(prefix, "\n"), "/")}, nil
}

// Repository returns the repository of the revisions that a request may name.
func (r *Request) Repository(ctx context.Context) (*Repository, error) {
	i, err := r.varied()
	if err != nil {
		return nil, err
	}
	if i >= 0 {
		return openRepository(ctx, r.With[i].Folder)
	}
	folder, err := builder.Source(ctx, r.Source, r.Linked)
	switch {
	case errors.Is(err, builder.ErrInput) && r.Source == "":
		return nil, input("csiglab's own source, of which this would be a revision, is not found: do this in a checkout of csiglab, or name a module with --with MODULE=FOLDER")
	case errors.Is(err, builder.ErrInput):
		return nil, classified{err, ErrInput}
	}
	if err != nil {
		return nil, err
	}
	return openRepository(ctx, folder)
}

// Commit returns the commit that a revision names.
func (r *Repository) Commit(ctx context.Context, revision string) (Commit, error) {
	if revision == "" || strings.HasPrefix(revision, "-") || strings.ContainsAny(revision, "\x00\n") {
		return Commit{}, input("%q is no revision", shown(revision))
	}
	out, err := git(ctx, r.Top, "rev-parse", "--verify", "--quiet", revision+"^{commit}")
	if ctx.Err() != nil {
		return Commit{}, ctx.Err()
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return Commit{}, err
	}
	if err != nil {
		hint := ""
		if r.shallow(ctx) {
			hint = "; the repository is a shallow clone, git fetch --unshallow gets the rest"
		}
		return Commit{}, input("%s has no revision %q%s", r.Top, shown(revision), hint)
	}
	list, err := r.log(ctx, "--max-count=1", strings.TrimSpace(string(out)))
	if err != nil {
		return Commit{}, err
	}
	if len(list) != 1 {
		return Commit{}, fmt.Errorf("git log: %d commits for %s", len(list), revision)
	}
	return list[0], nil
}

// Between returns the commits after good up to bad, oldest first, along the first parents
// of bad. It refuses a good one that is none of these: the list would begin where its branch
// did, with commits that it does not have.
func (r *Repository) Between(ctx context.Context, good, bad Commit) ([]Commit, error) {
	if good.Hash == bad.Hash {
		return nil, input("good and bad are the same commit, %s", good.Short)
	}
	_, err := git(ctx, r.Top, "merge-base", "--is-ancestor", good.Hash, bad.Hash)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &exit) && exit.ExitCode() == 1:
		why := ""
		if _, err := git(ctx, r.Top, "merge-base", "--is-ancestor", bad.Hash, good.Hash); err == nil {
			why = ": it is the other way round"
		} else if r.shallow(ctx) {
			why = "; the repository is a shallow clone, git fetch --unshallow gets the rest"
		}
		return nil, input("good %s does not come before bad %s in the history%s", good.Short, bad.Short, why)
	case err != nil:
		return nil, err
	}
	list, err := r.log(ctx, "--first-parent", "--reverse", good.Hash+".."+bad.Hash)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	before, err := r.Commit(ctx, list[0].Hash+"^1")
	switch {
	case errors.Is(err, ErrInput): // the first commit of all
		return nil, input("good %s came to bad %s by a merge, and only the first parents of %s are searched: name one of these, such as %s", good.Short, bad.Short, bad.Short, list[0].Short)
	case err != nil:
		return nil, err
	case before.Hash != good.Hash:
		return nil, input("good %s came to bad %s by a merge, and only the first parents of %s are searched: name one of these, such as %s, where the branch of %s began", good.Short, bad.Short, bad.Short, before.Short, good.Short)
	}
	return list, nil
}

func (r *Repository) log(ctx context.Context, args ...string) (list []Commit, err error) {
	out, err := git(ctx, r.Top, append([]string{"log", "-z", "--no-show-signature", "--no-color", "--encoding=UTF-8", "--format=%H%n%h%n%aI%n%cI%n%an%n%s"}, args...)...)
	if err != nil {
		return nil, err
	}
	for _, text := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if text == "" {
			continue
		}
		f := strings.SplitN(text, "\n", 6)
		if len(f) != 6 {
			return nil, fmt.Errorf("git log: %q", text)
		}
		var dates [2]time.Time
		for i := range dates {
			if dates[i], err = time.Parse(time.RFC3339, f[2+i]); err != nil {
				return nil, fmt.Errorf("git log: commit %s: %w", f[1], err)
			}
		}
		list = append(list, Commit{f[0], f[1], shown(f[4]), dates[0], dates[1], shown(f[5])})
	}
	return list, nil
}

func (r *Repository) shallow(ctx context.Context) bool {
	out, err := git(ctx, r.Top, "rev-parse", "--is-shallow-repository")
	return err == nil && strings.TrimSpace(string(out)) == "true"
}

// state describes the working tree of a folder, as far as git knows it.
func state(ctx context.Context, folder string) string {
	out, err := git(ctx, folder, "rev-parse", "--short", "HEAD")
	if err != nil {
		return ""
	}
	changed, err := git(ctx, folder, "status", "--porcelain", "--", ".")
	if err == nil && len(changed) > 0 {
		return fmt.Sprintf(" (%s and changes)", bytes.TrimSpace(out))
	}
	return fmt.Sprintf(" (%s)", bytes.TrimSpace(out))
}

// fromGit builds a revision, in a folder that exists while it is built.
func fromGit(ctx context.Context, r Request) (Program, error) {
	repository, err := r.Repository(ctx)
	if err != nil {
		return Program{}, err
	}
	commit, err := repository.Commit(ctx, r.Ref.Value)
	if err != nil {
		return Program{}, err
	}
	p := Program{Label: label(r.Ref, commit), Commit: commit.Hash, Date: commit.Committed}
	folder, remove, err := builder.Temporary()
	if err != nil {
		return p, err
	}
	defer remove()
	if err := repository.archive(ctx, commit, folder); err != nil {
		return p, err
	}
	source := filepath.Join(folder, filepath.FromSlash(repository.Prefix))
	if info, err := os.Stat(source); err != nil || !info.IsDir() {
		return p, classified{fmt.Errorf("the revision has no folder %s", repository.Prefix), ErrBroken}
	}
	return compile(ctx, r, source, p)
}

func label(r Ref, c Commit) string {
	if strings.HasPrefix(c.Hash, r.Value) {
		return fmt.Sprintf("git:%s", c.Short)
	}
	return fmt.Sprintf("git:%s (%s)", shown(r.Value), c.Short)
}

// archive writes the files of a commit into a folder.
func (r *Repository) archive(ctx context.Context, c Commit, folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close() // files are closed one by one
	read, write := io.Pipe()
	unpacked := make(chan error, 1)
	go func() {
		err := unpack(root, read)
		read.CloseWithError(err) // git ends when nobody reads
		unpacked <- err
	}()
	err = gitTo(ctx, write, r.Top, "archive", "--format=tar", c.Hash)
	write.CloseWithError(err)
	if from := <-unpacked; from != nil && (err == nil || !errors.Is(from, err)) {
		err = from
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("git archive %s: %w", c.Short, err)
	}
	return nil
}

// unpack writes the files of an archive below root. Nothing in the archive leads outside.
func unpack(root *os.Root, from io.Reader) error {
	archive := tar.NewReader(from)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			_, err := io.Copy(io.Discard, from) // the padding
			return err
		}
		if err != nil {
			return err
		}
		name := path.Clean(header.Name)
		switch header.Typeflag {
		case tar.TypeDir:
			err = root.MkdirAll(name, 0o755)
		case tar.TypeReg:
			err = writeFile(root, name, archive, fs.FileMode(header.Mode).Perm()&0o755)
		case tar.TypeSymlink:
			err = root.Symlink(header.Linkname, name)
		}
		if err != nil {
			return err
		}
	}
}

func writeFile(root *os.Root, name string, from io.Reader, mode fs.FileMode) error {
	if dir := path.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode|0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}

// gitVariables are those of the caller's environment that would choose another repository,
// as in a hook.
var gitVariables = []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"}

// git calls git in a folder and returns what it prints. The error has what git says.
func git(ctx context.Context, folder string, args ...string) ([]byte, error) {
	var out bytes.Buffer
	err := gitTo(ctx, &out, folder, args...)
	return out.Bytes(), err
}

func gitTo(ctx context.Context, to io.Writer, folder string, args ...string) error {
	program, err := exec.LookPath("git")
	if err != nil {
		return errors.New("revisions need the program git, which is not on PATH")
	}
	cmd := exec.CommandContext(ctx, program, append([]string{"-C", folder, "--no-pager"}, args...)...)
	env := slices.DeleteFunc(os.Environ(), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains(gitVariables, name)
	})
	cmd.Env = append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = to, &stderr
	runtime.LockOSThread() // Pdeathsig is about the thread
	defer runtime.UnlockOSThread()
	if err := cmd.Run(); err != nil {
		if said := strings.TrimSpace(stderr.String()); said != "" {
			return fmt.Errorf("%s (%w)", strings.TrimPrefix(shown(said), "fatal: "), err)
		}
		return err
	}
	return nil
}

// mostText is how many runes of a text from a repository are shown.
const mostText = 200

func shown(text string) string { return plain.Text(text, mostText) }
