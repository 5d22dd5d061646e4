package results

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"io"
	"strings"
)

// digestKey is the key of the table's metadata whose value is the SHA-256 of the file, with
// zeros in place of this value.
const digestKey = "csiglab.sha256"

// noDigest is what stands in the place of the digest while that is computed.
var noDigest = strings.Repeat("0", hex.EncodedLen(sha256.Size))

// place returns what a footer, which is Thrift's compact protocol, has for the digest: the key,
// the header of the second field (a text), its length and itself. A text of the layout, which is
// JSON, has no such bytes; names of columns stand before it.
func place(digest string) []byte {
	return append([]byte(digestKey+"\x18"+string(rune(len(noDigest)))), digest...)
}

// sealer writes a Parquet file, and puts its digest in its place in the footer.
type sealer struct {
	w    io.Writer
	sum  hash.Hash
	kept []byte // not written yet: from the first such place on, or what may be its beginning
	ends bool   // kept has the place
}

// Write implements io.Writer.
func (s *sealer) Write(p []byte) (int, error) {
	s.sum.Write(p)
	s.kept = append(s.kept, p...)
	if s.ends {
		return len(p), nil
	}
	empty := place(noDigest)
	at := bytes.Index(s.kept, empty)
	if s.ends = at >= 0; !s.ends {
		at = max(0, len(s.kept)-len(empty)+1)
	}
	_, err := s.w.Write(s.kept[:at])
	s.kept = append(s.kept[:0], s.kept[at:]...)
	return len(p), err
}

// close writes the rest.
func (s *sealer) close() error {
	if !s.ends {
		panic("results: the footer has no place for the digest")
	}
	copy(s.kept[bytes.LastIndex(s.kept, place(noDigest)):], place(hex.EncodeToString(s.sum.Sum(nil))))
	_, err := s.w.Write(s.kept)
	return err
}

// checkDigest compares a table of so many bytes with its digest.
func (t *Table) checkDigest(size int64) error {
	const end = 8 // bytes of the footer's length and "PAR1"
	digest, _ := t.data.Lookup(digestKey)
	var length [4]byte
	if _, err := t.file.ReadAt(length[:], size-end); err != nil {
		return t.damaged("%v", err)
	}
	begin := size - end - int64(binary.LittleEndian.Uint32(length[:]))
	if begin < 0 {
		return t.damaged("it has no footer")
	}
	footer := make([]byte, size-begin)
	if _, err := t.file.ReadAt(footer, begin); err != nil {
		return t.damaged("%v", err)
	}
	at := bytes.LastIndex(footer, place(digest))
	if at < 0 || len(digest) != len(noDigest) {
		return t.damaged("it has no digest")
	}
	copy(footer[at:], place(noDigest))
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(t.file, 0, begin)); err != nil {
		return t.damaged("%v", err)
	}
	sum.Write(footer)
	if hex.EncodeToString(sum.Sum(nil)) != digest {
		return t.damaged("it differs from its digest")
	}
	return nil
}
