package builder

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/nodes/modules"
)

// cache is the folder of what was built: a folder for each key with the programs and
// aboutFile, the locks, and the sums of the modules that were fetched.
type cache struct{ dir string }

const (
	aboutFile       = "build.json"
	sumsFile        = "go.sum"
	temporaryPrefix = "tmp-"
	// maxEntries is how many builds are kept: those used last. One takes 60 MB.
	maxEntries = 6
)

// about describes an entry of the cache.
type about struct {
	Modules []Described       `json:"modules"`
	Hashes  map[string]string `json:"hashes"` // of the programs' files: SHA-256 by name
}

// openCache opens the cache, and removes what builds that were killed have left.
func openCache() (*cache, error) {
	dir, err := modules.BuildsFolder(os.UserCacheDir)
	if err != nil {
		return nil, fmt.Errorf("cache folder: %w; set XDG_CACHE_HOME", err)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, fmt.Errorf("cache folder: %w", cause.Of(err))
	}
	root, err := own.Folder(dir)
	if err != nil {
		return nil, fmt.Errorf("cache folder: %w", err)
	}
	root.Close()
	own.RemoveLeft(dir, temporaryPrefix) //nolint:errcheck // nothing depends on it
	return &cache{dir}, nil
}

// RemoveLeft removes what builds of this user have left that were killed, and returns the
// places.
func RemoveLeft() (removed []string, err error) {
	dir, err := modules.BuildsFolder(os.UserCacheDir)
	if err != nil {
		return nil, nil // without a cache folder there is no build
	}
	return own.RemoveLeft(dir, temporaryPrefix)
}

// temporary makes the folder of a build.
func (c *cache) temporary() (*own.Temporary, error) { return own.NewTemporary(c.dir, temporaryPrefix) }

// Temporary makes a folder beside the builds. When the process is killed, RemoveLeft or the
// next build removes the folder.
func Temporary() (dir string, remove func(), err error) {
	c, err := openCache()
	if err != nil {
		return "", nil, err
	}
	t, err := c.temporary()
	if err != nil {
		return "", nil, fmt.Errorf("cache folder: %w", cause.Of(err))
	}
	return t.Dir, func() { t.Remove() }, nil
}

// sums returns the sums of the modules that were fetched before.
func (c *cache) sums() []byte {
	text, _ := os.ReadFile(filepath.Join(c.dir, sumsFile)) // without them the go command fetches them
	return text
}

// addSums adds the sums that the go command has verified.
func (c *cache) addSums(file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		return
	}
	lines := strings.Split(string(appendLines(c.sums(), text)), "\n")
	slices.Sort(lines)
	lines = slices.DeleteFunc(slices.Compact(lines), func(line string) bool { return line == "" })
	_ = own.WriteFile(filepath.Join(c.dir, sumsFile), []byte(strings.Join(lines, "\n")+"\n"), 0o644) // the same
}

// entry is a build in the cache, or the place of one.
type entry struct{ dir string }

func (c *cache) entry(key string) entry { return entry{filepath.Join(c.dir, key)} }

// lockFile returns the file of the entry's lock. It is never removed; entries whose keys
// begin alike share one, so that there are 16.
func (e entry) lockFile() string {
	return filepath.Join(filepath.Dir(e.dir), "lock-"+filepath.Base(e.dir)[:1])
}

// lock waits until no other process builds or reads the entry. It calls wait once if it
// has to wait.
func (e entry) lock(ctx context.Context, wait func()) (release func(), err error) {
	file, err := os.OpenFile(e.lockFile(), os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cache folder: %w", cause.Of(err))
	}
	said := false
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return func() { file.Close() }, nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			file.Close()
			return nil, fmt.Errorf("lock %s: %w", file.Name(), err)
		}
		if !said {
			said = true
			wait()
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// store moves programs into the entry.
func (e entry) store(programs string, described []Described) error {
	a := about{Modules: described, Hashes: map[string]string{}}
	files, err := os.ReadDir(programs)
	if err != nil {
		return err
	}
	for _, file := range files {
		if a.Hashes[file.Name()], err = hashOf(filepath.Join(programs, file.Name())); err != nil {
			return err
		}
	}
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(programs, aboutFile), text, 0o644); err != nil {
		return err
	}
	if err := os.RemoveAll(e.dir); err != nil {
		return err
	}
	return os.Rename(programs, e.dir)
}

// errNotCached says that the cache does not have the whole entry.
var errNotCached = errors.New("not in the cache")

// install copies the programs to where they are asked for, each file atomically. It
// returns errNotCached if the entry is not there or damaged.
func (e entry) install(output string) ([]Described, error) {
	var a about
	text, err := os.ReadFile(filepath.Join(e.dir, aboutFile))
	if err != nil || json.Unmarshal(text, &a) != nil {
		return nil, errNotCached
	}
	for name, want := range a.Hashes {
		if got, err := hashOf(filepath.Join(e.dir, name)); err != nil || got != want {
			return nil, errNotCached
		}
	}
	now := time.Now()
	_ = os.Chtimes(e.dir, now, now) // for prune
	folder := ProgramsFolder(output)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, outputError(output, err)
	}
	lock, err := os.Open(folder)
	if err != nil {
		return nil, outputError(output, err)
	}
	defer lock.Close()
	// Two builds of one output do not mix their programs.
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return nil, fmt.Errorf("lock %s: %w", folder, err)
	}
	for name := range a.Hashes {
		to := filepath.Join(folder, name)
		if name == "csiglab" {
			to = output
		}
		from, err := os.Open(filepath.Join(e.dir, name))
		if err != nil {
			return nil, errNotCached
		}
		err = own.WriteTo(to, 0o755, func(w io.Writer) error {
			_, err := io.Copy(w, from)
			return err
		})
		from.Close()
		if err != nil {
			return nil, outputError(output, err)
		}
	}
	return a.Modules, nil
}

func outputError(output string, err error) error {
	return fmt.Errorf("-o %s: %w", output, cause.Of(err))
}

func hashOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", hash.Sum(nil)), nil
}

// prune removes the entries that were not used for the longest time.
func (c *cache) prune(keep entry) {
	list, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	type used struct {
		entry
		at time.Time
	}
	var entries []used
	for _, d := range list {
		if info, err := d.Info(); err == nil && d.IsDir() && !strings.HasPrefix(d.Name(), temporaryPrefix) {
			entries = append(entries, used{c.entry(d.Name()), info.ModTime()})
		}
	}
	slices.SortFunc(entries, func(a, b used) int { return b.at.Compare(a.at) })
	for _, e := range entries[min(len(entries), maxEntries):] {
		if e.dir == keep.dir {
			continue
		}
		lock, err := os.OpenFile(e.lockFile(), os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
		if err == nil && unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			os.RemoveAll(e.dir) // what is left is no whole entry, and is built again
		}
		if err == nil {
			lock.Close()
		}
	}
}
