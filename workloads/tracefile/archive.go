package tracefile

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/own"
)

// archived are the regular files of an archive: the content by name. All of it is in memory.
type archived map[string][]byte

// IsArchive reports whether a name is that of an archive.
func IsArchive(name string) bool {
	return slices.ContainsFunc([]string{".tgz", ".tar.gz", ".tar"}, func(ending string) bool { return strings.HasSuffix(name, ending) })
}

// unpackArchive reads the regular files of an archive, at most so many bytes of them. It leaves
// out those in which the tar of macOS keeps attributes of others, ._NAME. Errors do not name
// the archive.
func unpackArchive(name string, most int64) (archived, error) {
	f, err := own.Input(name, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	defer f.Close() // opened for reading
	budget := NewBudget(most)
	unpacked, err := Unpack(f, budget)
	if err != nil {
		return nil, err
	}
	members := archived{}
	for r := tar.NewReader(unpacked); ; {
		header, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return members, nil
		case err != nil:
			return nil, fmt.Errorf("archive: %w", err)
		case header.Typeflag != tar.TypeReg || strings.HasPrefix(path.Base(header.Name), "._"):
			continue
		case len(members) == maxFiles:
			return nil, fmt.Errorf("archive: more than %d files", maxFiles)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return nil, fmt.Errorf("archive: %s: %w", header.Name, err)
		}
		members[path.Clean(header.Name)] = data
	}
}

// inArchive returns the archive of a path that leads into one, and what is asked for there: "" is
// everything.
func inArchive(name string) (archive, inside string, ok bool) {
	for archive = name; archive != "." && archive != "/"; archive = filepath.Dir(archive) {
		if info, err := os.Stat(archive); IsArchive(archive) && (err != nil || info.Mode().IsRegular()) {
			inside, _ = filepath.Rel(archive, name) // one is the beginning of the other
			return archive, strings.TrimPrefix(filepath.ToSlash(inside), "."), true
		}
	}
	return "", "", false
}

// find returns the files of the one trace that an archive holds where Find is asked for.
func (m archived) find(archive, inside string, endings []string) ([]File, error) {
	families, alone := map[string][]File{}, map[string][]File{} // of names with a rank, and without
	want := func(name, _ string) bool { return strings.HasPrefix(name, inside) }
	if _, ok := m[inside]; ok {
		dir, base := path.Split(inside)
		if own, rank, ok := split(base, endings); ok && rank != Unknown {
			want = func(_, family string) bool { return family == dir+own }
		} else {
			want = func(name, _ string) bool { return name == inside }
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		dir, base := path.Split(name)
		family, rank, ok := split(base, endings)
		if !ok || !want(name, dir+family) {
			continue
		}
		data := m[name]
		f := File{Name: filepath.Join(archive, name), Rank: rank, Open: func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(data)), nil
		}}
		if rank == Unknown {
			alone[name] = []File{f}
		} else {
			families[dir+family] = append(families[dir+family], f)
		}
	}
	if len(families) == 0 {
		families = alone
	}
	return only(filepath.Join(archive, inside), slices.Sorted(maps.Keys(families)), families, endings)
}
