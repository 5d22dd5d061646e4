package jsonread

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/csiglab/csiglab/internal/lines"
)

// source is what the decoder reads from. It counts lines, and bounds how far the decoder reads
// ahead, as the decoder keeps a whole string, and space between values.
type source struct {
	in   io.Reader
	dec  *jsontext.Decoder
	read int64 // bytes
	// line begins at start; ends are the offsets of the line ends behind that.
	line  int
	start int64
	ends  []int64
}

var errLong = fmt.Errorf("the string, or the space, is longer than %d bytes", maxString)

// Read implements io.Reader.
func (s *source) Read(p []byte) (n int, err error) {
	taken := s.dec.InputOffset()
	if s.read-taken > maxString {
		return 0, errLong
	}
	s.pos(taken)
	n, err = s.in.Read(p)
	for at := 0; ; at++ {
		next := bytes.IndexByte(p[at:n], '\n')
		if next < 0 {
			break
		}
		at += next
		s.ends = append(s.ends, s.read+int64(at))
	}
	s.read += int64(n)
	return n, err
}

// pos returns the place of an offset, whose line is not before that of the last one.
func (s *source) pos(offset int64) lines.Pos {
	passed := 0
	for passed < len(s.ends) && s.ends[passed] < offset {
		passed++
	}
	if passed > 0 {
		s.line, s.start = s.line+passed, s.ends[passed-1]+1
		s.ends = slices.Delete(s.ends, 0, passed)
	}
	return lines.Pos{Line: s.line, Column: int(max(offset-s.start, 0)) + 1}
}
