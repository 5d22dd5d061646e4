// Package tracefile finds and opens the files of an execution trace, of which there is one for
// each rank. The files may be packed with gzip. It knows nothing of their content.
package tracefile

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/internal/own"
)

// File is the trace of a rank.
type File struct {
	Name string // in errors
	// Rank is the rank that the file is of, or Unknown.
	Rank int
	Open func() (io.ReadCloser, error)
}

// Unknown is the rank of a file whose name does not say it.
const Unknown = -1

// maxFiles bounds the number of files of a folder that are looked at.
const maxFiles = 1 << 17

// Find returns the files of a trace by rank: path is a folder with the files of one trace, one
// of the files, or what their names begin with. The last number of a name, before the endings
// and without a letter behind it, is the rank (resnet_2gpu.5.json is of rank 5, resnet_2gpu.json of
// an unknown one); the names of one trace differ in it alone. endings are those of the format,
// such as .et; .gz may follow. A file on its own, in whose name no rank has its place, is
// Unknown. An archive (.tgz, .tar.gz, .tar) is as the folder of all its files; a path may go on
// behind it, as if it were a folder.
func Find(path string, endings ...string) ([]File, error) {
	if archive, inside, ok := inArchive(path); ok {
		members, err := unpackArchive(archive, DefaultBytes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", archive, err)
		}
		return members.find(archive, inside, endings)
	}
	dir, base := filepath.Split(path)
	want := func(name, family string) bool { return strings.HasPrefix(name, base) }
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		dir, base = path, ""
	case err == nil:
		own, rank, ok := split(base, endings)
		if !ok || rank == Unknown {
			return []File{One(path)}, nil
		}
		want = func(_, family string) bool { return family == own }
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	names, listErr := list(dir)
	if listErr != nil {
		return nil, listErr
	}
	families := map[string][]File{}
	for _, name := range names {
		family, rank, ok := split(name, endings)
		if ok && rank != Unknown && want(name, family) {
			families[family] = append(families[family], file(filepath.Join(dir, name), rank))
		}
	}
	keys := slices.Sorted(maps.Keys(families))
	for _, key := range keys { // what is said is a whole name, and the beginning of longer ones
		if before, _, _ := strings.Cut(key, rankMark); err != nil && (before == base || before == base+".") {
			keys = []string{key}
		}
	}
	if len(keys) == 0 && err != nil {
		return nil, err
	}
	return only(path, keys, families, endings)
}

// only returns the files of the one trace of a path, by rank. keys name its families.
func only(path string, keys []string, families map[string][]File, endings []string) ([]File, error) {
	switch len(keys) {
	case 0:
		return nil, fmt.Errorf("%s: no file <name>.<rank>%s", path, strings.Join(endings, " or "))
	case 1:
	default:
		name := func(i int) string {
			return strings.TrimPrefix(families[keys[i]][0].Name, strings.TrimSuffix(path, "/")+"/")
		}
		return nil, fmt.Errorf("%s: files of several traces, such as %s and %s; name one of them", path, name(0), name(1))
	}
	files := families[keys[0]]
	slices.SortStableFunc(files, func(a, b File) int { return cmp.Compare(a.Rank, b.Rank) })
	for i := range files {
		if i > 0 && files[i].Rank == files[i-1].Rank {
			return nil, fmt.Errorf("%s and %s are both of rank %d", files[i-1].Name, files[i].Name, files[i].Rank)
		}
	}
	return files, nil
}

// list returns the names of a folder's files, in order.
func list(dir string) ([]string, error) {
	f, err := os.Open(cmp.Or(dir, "."))
	if err != nil {
		return nil, err
	}
	defer f.Close() // opened for reading
	names, err := f.Readdirnames(maxFiles + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(names) > maxFiles {
		return nil, fmt.Errorf("%s: more than %d files", dir, maxFiles)
	}
	slices.Sort(names)
	return names, nil
}

// rankMark stands for the rank in a family.
const rankMark = "\x00"

// split returns what the names of a trace have in common, and the rank. It reports false if
// the name has none of the endings.
func split(name string, endings []string) (family string, rank int, ok bool) {
	stem := strings.TrimSuffix(name, ".gz")
	i := slices.IndexFunc(endings, func(ending string) bool { return strings.HasSuffix(stem, ending) })
	if i < 0 {
		return "", Unknown, false
	}
	stem = strings.TrimSuffix(stem, endings[i])
	begin, end := number(stem)
	for end > 0 && end < len(stem) && (stem[end]|0x20 >= 'a' && stem[end]|0x20 <= 'z') {
		begin, end = number(stem[:begin])
	}
	rank, err := strconv.Atoi(stem[begin:end])
	if err != nil || rank > math.MaxInt32 {
		return stem, Unknown, true
	}
	return stem[:begin] + rankMark + stem[end:], rank, true
}

// number returns where the last number of a text begins and ends; 0, 0 if there is none.
func number(text string) (begin, end int) {
	end = strings.LastIndexAny(text, "0123456789") + 1
	begin = end
	for begin > 0 && text[begin-1] >= '0' && text[begin-1] <= '9' {
		begin--
	}
	return begin, end
}

// One returns the file of a name, of unknown rank.
func One(name string) File { return file(name, Unknown) }

func file(name string, rank int) File {
	return File{Name: name, Rank: rank, Open: func() (io.ReadCloser, error) { return own.Input(name, math.MaxInt64) }}
}

// Budget is how many bytes may be read, unpacked, from all files of a trace together.
type Budget struct {
	Left int64
	most int64
}

// DefaultBytes is the number of bytes that are read without being told otherwise.
const DefaultBytes = 1 << 30

// NewBudget returns a Budget; 0 is DefaultBytes.
func NewBudget(most int64) *Budget {
	if most == 0 {
		most = DefaultBytes
	}
	return &Budget{most, most}
}

// Unpack returns a reader of the content of a file, which may be packed with gzip: its first
// bytes say so. Reading fails when the budget is used up.
func Unpack(r io.Reader, b *Budget) (io.Reader, error) {
	buffered := bufio.NewReaderSize(r, 64<<10)
	if magic, err := buffered.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		packed, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("gzip: %w", err)
		}
		return &limited{packed, b}, nil
	}
	return &limited{buffered, b}, nil
}

// limited takes what it reads from a budget.
type limited struct {
	r io.Reader
	b *Budget
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	if l.b.Left <= 0 {
		// At the end of the file it is no matter that nothing is left.
		var one [1]byte
		if n, err := io.ReadFull(l.r, one[:]); n == 0 {
			return 0, err
		}
		return 0, fmt.Errorf("the files hold more than %d bytes, unpacked", l.b.most)
	}
	if int64(len(p)) > l.b.Left {
		p = p[:l.b.Left]
	}
	n, err := l.r.Read(p)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("gzip: the file is cut off")
	}
	l.b.Left -= int64(n)
	return n, err
}

// text marks the position of a text file: its line and column, instead of a byte.
const (
	text  = 1 << 62
	width = 31
	low   = 1<<width - 1
)

// At returns the position of a line and column, from 1.
func At(line, column int) int64 { return text | int64(min(line, low))<<width | int64(min(column, low)) }

// Place returns name:line:column of a position that At has made, and name: byte n of another
// one.
func Place(name string, pos int64) string {
	if pos&text == 0 {
		return fmt.Sprintf("%s: byte %d", name, pos)
	}
	return fmt.Sprintf("%s:%d:%d", name, pos&^text>>width, pos&low)
}
