package runfolder

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/own"
)

// maxText is how many bytes of a JSON or YAML file of a run folder are read.
const maxText = 1 << 30

// maxIndented is the length in bytes up to which manifest.json is indented for human
// readers once the folder is closed. Indenting takes more time than all the rest of writing it.
const maxIndented = 1 << 20

// noDigest stands in manifest.json for its own digest while that is computed.
var noDigest = strings.Repeat("0", hex.EncodedLen(sha256.Size))

// digestOf returns the digest of a content.
func digestOf(r io.Reader) (d FileDigest, err error) {
	h := sha256.New()
	if d.Bytes, err = io.Copy(h, r); err != nil {
		return d, err
	}
	d.SHA256 = hex.EncodeToString(h.Sum(nil))
	return d, nil
}

// digests returns the digests of files of the folder, which are closed.
func (w *Writer) digests(names ...string) (map[string]FileDigest, error) {
	digests := make(map[string]FileDigest, len(names))
	for _, name := range names {
		f, err := w.root.Open(name)
		if errors.Is(err, fs.ErrNotExist) { // the run had no experiment file
			continue
		}
		if err == nil {
			digests[name], err = digestOf(f)
			f.Close() // opened for reading
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.path(name), cause.Of(err))
		}
	}
	return digests, nil
}

// writeManifest writes manifest.json, with its digest if the folder has digests.
func (w *Writer) writeManifest() error {
	m := w.manifest
	if m.Files != nil {
		m.Digest = noDigest
	}
	text, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("%s: %w", w.path(ManifestFile), err)
	}
	if len(text) <= maxIndented && !m.Finished.IsZero() {
		var indented bytes.Buffer
		if err := json.Indent(&indented, text, "", "  "); err != nil {
			return fmt.Errorf("%s: %w", w.path(ManifestFile), err)
		}
		text = indented.Bytes()
	}
	text = append(text, '\n')
	if m.Files != nil {
		sum := sha256.Sum256(text)
		at := bytes.LastIndex(text, []byte(noDigest)) // Digest is the last key
		hex.Encode(text[at:], sum[:])
	}
	return w.writeFile(ManifestFile, text)
}

// checkManifest compares the text of a manifest with its own digest, if it has one.
func (m *Manifest) checkManifest(text []byte) error {
	if m.Digest == "" && m.Files == nil {
		return nil // incomplete
	}
	at := bytes.LastIndex(text, []byte(m.Digest))
	if len(m.Digest) != len(noDigest) || at < 0 {
		return fmt.Errorf("%s: %w: it has no digest of its own", ManifestFile, ErrDamaged)
	}
	plain := bytes.Clone(text)
	copy(plain[at:], noDigest)
	if sum := sha256.Sum256(plain); hex.EncodeToString(sum[:]) != m.Digest {
		return fmt.Errorf("%s: %w: it differs from its digest", ManifestFile, ErrDamaged)
	}
	return nil
}

// checkFile compares the content of a file of the folder with its digest in the
// manifest, if that has digests.
func (m *Manifest) checkFile(name string, content io.Reader) error {
	if m.Files == nil {
		return nil
	}
	want, ok := m.Files[name]
	if !ok {
		return fmt.Errorf("%s: %w: %s has no digest of it", name, ErrDamaged, ManifestFile)
	}
	got, err := digestOf(content)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", name, cause.Of(err))
	case got != want:
		return fmt.Errorf("%s: %w: it differs from its digest in %s", name, ErrDamaged, ManifestFile)
	}
	return nil
}

// readText reads a text file, which must be a regular one.
func readText(path string) ([]byte, error) { return own.ReadFile(path, maxText) }
