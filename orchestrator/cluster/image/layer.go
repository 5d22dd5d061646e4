package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/csiglab/csiglab/internal/cause"
)

// layer is one layer of an image, compressed in memory: a program is read once.
type layer struct {
	what           string // for the image's history
	compressed     []byte
	digest, diffID v1.Hash
}

// Digest implements v1.Layer.
func (l *layer) Digest() (v1.Hash, error) { return l.digest, nil }

// DiffID implements v1.Layer.
func (l *layer) DiffID() (v1.Hash, error) { return l.diffID, nil }

// Compressed implements v1.Layer.
func (l *layer) Compressed() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(l.compressed)), nil
}

// Uncompressed implements v1.Layer.
func (l *layer) Uncompressed() (io.ReadCloser, error) {
	return gzip.NewReader(bytes.NewReader(l.compressed))
}

// Size implements v1.Layer.
func (l *layer) Size() (int64, error) { return int64(len(l.compressed)), nil }

// MediaType implements v1.Layer.
func (l *layer) MediaType() (types.MediaType, error) { return types.DockerLayer, nil }

// layersOf returns the layers of an image: the folders and the user, then a program each,
// those that change least first.
func layersOf(ctx context.Context, programs []Programs) ([]*layer, error) {
	base, err := newLayer("folders, user", func(w *archive) error {
		for _, dir := range []struct {
			name string
			mode int64
		}{{"bin/", 0o755}, {"etc/", 0o755}, {"programs/", 0o755}, {"tmp/", 0o1777}, {"work/", 0o1777}} {
			w.folder(dir.name, dir.mode)
		}
		w.text("etc/group", "root:x:0:\ncsiglab:x:1000:\n")
		w.text("etc/passwd", "root:x:0:0::/:/bin/csiglab\ncsiglab:x:1000:1000::/work:/bin/csiglab\n")
		return nil
	})
	if err != nil {
		return nil, err
	}
	layers := []*layer{base}
	done := map[string]bool{}
	for i, p := range programs {
		folder := Folder
		if i > 0 {
			if !identity.MatchString(p.Identity) {
				return nil, fmt.Errorf("%w: its identity %q is no name", ErrProgram, p.Identity)
			}
			folder = Others + "/" + p.Identity
		}
		if done[folder] {
			continue // the same programs, given twice
		}
		done[folder] = true
		for k := range p.Files {
			file := p.Files[len(p.Files)-1-k] // csiglab comes last
			if err := check(file.Path); err != nil {
				return nil, err
			}
			l, err := newLayer(path.Join(folder, file.Name), func(w *archive) error { return w.program(ctx, path.Join(folder, file.Name), file.Path) })
			if err != nil {
				return nil, err
			}
			layers = append(layers, l)
		}
	}
	return layers, nil
}

// archive is the tar stream of a layer. Nothing of this machine or of the time is in it.
type archive struct {
	tar *tar.Writer
	err error // the first
}

// newLayer makes a layer of what fill writes.
func newLayer(what string, fill func(w *archive) error) (*layer, error) {
	var compressed bytes.Buffer
	plain := sha256.New()
	zip, err := gzip.NewWriterLevel(&compressed, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	w := &archive{tar: tar.NewWriter(io.MultiWriter(zip, plain))}
	if err := fill(w); err != nil {
		return nil, err
	}
	for _, end := range []func() error{w.tar.Close, zip.Close} {
		if err := end(); w.err == nil {
			w.err = err
		}
	}
	packed := sha256.New()
	packed.Write(compressed.Bytes()) // a hash cannot fail
	return &layer{what: what, compressed: compressed.Bytes(), digest: hashOf(packed), diffID: hashOf(plain)}, w.err
}

func hashOf(sum hash.Hash) v1.Hash {
	return v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum.Sum(nil))}
}

func (w *archive) header(h *tar.Header) {
	h.Format, h.ModTime = tar.FormatUSTAR, time.Unix(0, 0)
	if w.err == nil {
		w.err = w.tar.WriteHeader(h)
	}
}

func (w *archive) folder(name string, mode int64) {
	w.header(&tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: mode})
}

func (w *archive) text(name, content string) {
	w.header(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(content))})
	if w.err == nil {
		_, w.err = io.WriteString(w.tar, content)
	}
}

// program writes a program, with the folders that the base layer lacks.
func (w *archive) program(ctx context.Context, name, from string) error {
	file, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrProgram, from, cause.Of(err))
	}
	defer file.Close() // opened for reading
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("%s: %w", from, cause.Of(err))
	}
	name = strings.TrimPrefix(name, "/")
	parents := strings.Split(path.Dir(name), "/")
	for i := range parents[1:] {
		w.folder(strings.Join(parents[:i+2], "/")+"/", 0o755)
	}
	w.header(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o755, Size: info.Size()})
	if w.err != nil {
		return fmt.Errorf("%s: %w", from, w.err)
	}
	if _, err := io.Copy(writer{ctx, w.tar}, file); err != nil {
		return fmt.Errorf("read %s: %w", from, cause.Of(err))
	}
	return nil
}
