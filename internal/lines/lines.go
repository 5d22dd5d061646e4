// Package lines cuts a text file into lines and words that know their position, and holds
// the error that names one. The readers of text files share it.
package lines

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/internal/spelling"
)

// Pos is a place in a file; lines and columns count from 1, columns in bytes.
type Pos struct {
	Line, Column int
}

// Word is a run of characters without space, tab or "#" at its start.
type Word struct {
	Pos
	Text string
}

// End returns the position after the word.
func (w Word) End() Pos { return Pos{w.Line, w.Column + len(w.Text)} }

// Error is a complaint about one place of a file.
type Error struct {
	File         string
	Line, Column int
	Msg          string
	Suggestion   string // what may have been meant, or ""
	Cause        error  // wrapped, or nil
}

// Error returns file:line:column: message (did you mean "suggestion"?).
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Msg) + spelling.Hint(e.Suggestion)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// MaxLine is the longest line that is read, in bytes.
const MaxLine = 64 << 10

// Reader reads a file line by line.
type Reader struct {
	name    string
	scanner *bufio.Scanner
	words   []Word
	line    int // lines read
	last    Pos
}

// NewReader returns a Reader; name stands for the file in its errors.
func NewReader(name string, r io.Reader) *Reader {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 4096), MaxLine)
	return &Reader{name: name, scanner: s, last: Pos{1, 1}}
}

// Next returns the words of the next line that has any, without comments ("#"
// to the end of the line). The slice is valid until the next call. It returns
// nil at the end of the file. The error is an *Error.
func (r *Reader) Next() ([]Word, error) {
	for {
		text, ok, err := r.Line()
		if !ok {
			return nil, err
		}
		r.words = split(r.words[:0], r.line, text)
		if len(r.words) > 0 {
			return r.words, nil
		}
	}
}

// Each calls do with the words of each further line that has any, as Next returns them. It
// returns the first error, which is that of do or an *Error.
func (r *Reader) Each(do func(words []Word) error) error {
	for {
		words, err := r.Next()
		if err == nil && words != nil {
			err = do(words)
		}
		if err != nil || words == nil {
			return err
		}
	}
}

// Line returns the next line as it is, without its end, and whether there is one. Its
// number is that of Last. The error is an *Error.
func (r *Reader) Line() (text string, ok bool, err error) {
	if r.scanner.Scan() {
		r.line++
		text = strings.TrimSuffix(r.scanner.Text(), "\r")
		r.last = Pos{r.line, len(text) + 1}
		return text, true, nil
	}
	if err := r.scanner.Err(); err != nil {
		msg := "cannot read the file: " + err.Error()
		if errors.Is(err, bufio.ErrTooLong) {
			msg = fmt.Sprintf("the line is longer than %d bytes", MaxLine)
		}
		return "", false, &Error{File: r.name, Line: r.line + 1, Column: 1, Msg: msg, Cause: err}
	}
	return "", false, nil
}

// Last returns the position after the last character read.
func (r *Reader) Last() Pos { return r.last }

// Place returns file:line:column, for loss reports.
func (r *Reader) Place(at Pos) string { return fmt.Sprintf("%s:%d:%d", r.name, at.Line, at.Column) }

// Errorf returns an *Error at a position.
func (r *Reader) Errorf(at Pos, format string, args ...any) *Error {
	return &Error{File: r.name, Line: at.Line, Column: at.Column, Msg: fmt.Sprintf(format, args...)}
}

// Unknown returns the *Error for a word that is none of names.
func (r *Reader) Unknown(what string, w Word, names ...string) *Error {
	err := r.Errorf(w.Pos, "unknown %s %q", what, w.Text)
	if err.Suggestion = spelling.Nearest(w.Text, names); err.Suggestion == "" {
		err.Msg += "; use " + Alternatives(names)
	}
	return err
}

// Int reads w as a decimal integer from low to high; what names it in the error.
func (r *Reader) Int(what string, w Word, low, high int64) (int64, *Error) {
	v, err := strconv.ParseInt(w.Text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange), err == nil && (v < low || v > high):
		return 0, r.Errorf(w.Pos, "%s is %s, want %d to %d", what, w.Text, low, high)
	case err != nil:
		return 0, r.Errorf(w.Pos, "%s %q is not a whole number", what, w.Text)
	}
	return v, nil
}

func split(words []Word, line int, text string) []Word {
	for i := 0; i < len(text); {
		if text[i] == ' ' || text[i] == '\t' {
			i++
			continue
		}
		if text[i] == '#' {
			break
		}
		start := i
		for i < len(text) && text[i] != ' ' && text[i] != '\t' {
			i++
		}
		words = append(words, Word{Pos{line, start + 1}, text[start:i]})
	}
	return words
}

// Alternatives joins names as "a, b or c".
func Alternatives(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}
