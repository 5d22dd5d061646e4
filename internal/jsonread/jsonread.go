// Package jsonread reads JSON as a stream: one token after the other, with the line and
// column of each in every error, and memory bounded by the longest string. It is for large
// and hostile files of other tools; who wants a value in a Go type takes encoding/json. The
// syntax is jsontext's, as are the errors about it; places, limits and numbers are ours.
package jsonread

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/csiglab/csiglab/internal/lines"
)

// Limits of what is read; beyond them a file is hostile.
const (
	maxString = 16 << 20
	maxNumber = 400 // characters
)

// Kind is what a value is: the first character of its text, and Number for each number.
type Kind byte

// Kinds of value. None is the end of the file, or of an object or array.
const (
	None   Kind = 0
	Object Kind = '{'
	Array  Kind = '['
	String Kind = '"'
	Number Kind = '0'
	True   Kind = 't'
	False  Kind = 'f'
	Null   Kind = 'n'
)

// String returns the kind in words.
func (k Kind) String() string {
	switch k {
	case Object:
		return "an object"
	case Array:
		return "a list"
	case String:
		return "a string"
	case Number:
		return "a number"
	case True, False:
		return "true or false"
	case Null:
		return "null"
	default:
		return "the end"
	}
}

// Reader reads values from a stream. Values may follow each other without comma at the top,
// as some tools write them. Its errors are *lines.Error. It belongs to one goroutine.
type Reader struct {
	name  string
	in    *source
	dec   *jsontext.Decoder
	begin lines.Pos
	// peeked is what the decoder says of the next value, 0 if it has not been asked.
	peeked jsontext.Kind
}

// New returns a Reader; name stands for the file in errors.
func New(name string, in io.Reader) *Reader {
	s := &source{in: in, line: 1}
	s.dec = jsontext.NewDecoder(s, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return &Reader{name: name, in: s, dec: s.dec}
}

// Pos returns where the value begins that Peek, or a method that reads, has last seen.
func (r *Reader) Pos() lines.Pos { return r.begin }

// Errorf returns an error at a position.
func (r *Reader) Errorf(at lines.Pos, format string, args ...any) *lines.Error {
	return &lines.Error{File: r.name, Line: at.Line, Column: at.Column, Msg: fmt.Sprintf(format, args...)}
}

// fail returns an error of the decoder with its place.
func (r *Reader) fail(err error) error {
	wrong, syntax := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case errors.Is(err, errLong):
		return r.Errorf(r.in.pos(r.next()), "%v", errLong)
	case err == io.EOF:
		return r.Errorf(r.in.pos(r.in.read), "the file ends in a value")
	case syntax && wrong.Err == io.ErrUnexpectedEOF:
		what := "a value"
		if within, _ := r.dec.StackIndex(r.dec.StackDepth()); within != 0 {
			what = Kind(within).String()
		}
		return r.Errorf(r.in.pos(r.in.read), "the file ends in %s", what)
	case syntax:
		return r.Errorf(r.in.pos(wrong.ByteOffset), "%v", wrong.Err)
	}
	err = cmp.Or(errors.Unwrap(err), err) // without the decoder's words
	at := r.Errorf(r.in.pos(r.in.read), "cannot read on: %v", err)
	at.Cause = err
	return at
}

// next returns the offset of what follows the token that has been read last.
func (r *Reader) next() int64 {
	at := r.dec.InputOffset()
	for _, c := range r.dec.UnreadBuffer() {
		if c > ':' || c != ' ' && c != '\n' && c != ',' && c != ':' && c != '\t' && c != '\r' {
			break
		}
		at++
	}
	return at
}

// Peek returns the kind of the next value, and None at the end of the file or of what is
// being read. A character that begins no value is an error.
func (r *Reader) Peek() (Kind, error) {
	if r.peeked == 0 {
		if r.peeked = r.dec.PeekKind(); r.peeked == 0 {
			_, err := r.dec.ReadToken()
			if err == io.EOF {
				r.begin = r.in.pos(r.in.read)
				return None, nil
			}
			return None, r.fail(err)
		}
		r.begin = r.in.pos(r.next())
	}
	if r.peeked == '}' || r.peeked == ']' {
		return None, nil
	}
	return Kind(r.peeked), nil
}

// expect returns an error unless the next value is of the kind.
func (r *Reader) expect(want Kind) error {
	kind, err := r.Peek()
	if err == nil && kind != want {
		err = r.Errorf(r.begin, "%s, want %s", kind, want)
	}
	return err
}

// token takes what Peek has seen.
func (r *Reader) token() (jsontext.Token, error) {
	r.peeked = 0
	t, err := r.dec.ReadToken()
	if err != nil {
		err = r.fail(err)
	}
	return t, err
}

// enter takes the beginning of an object or list.
func (r *Reader) enter(kind Kind) error {
	err := r.expect(kind)
	if err == nil {
		_, err = r.token()
	}
	return err
}

// leave takes the end of an object or list, and reports whether it is there.
func (r *Reader) leave() (bool, error) {
	kind, err := r.Peek()
	if err == nil && kind == None {
		_, err = r.token()
	}
	return kind == None, err
}

// Object reads an object. It calls member for each key, whose place Pos is then; member has to
// read the value.
func (r *Reader) Object(member func(key string) error) error {
	if err := r.enter(Object); err != nil {
		return err
	}
	for {
		if left, err := r.leave(); left || err != nil {
			return err
		}
		key, err := r.token()
		if err != nil {
			return err
		}
		if err := member(key.String()); err != nil {
			return err
		}
	}
}

// Array reads a list. It calls element for each value, which it has to read: one that reads
// nothing is called without end.
func (r *Reader) Array(element func(i int) error) error {
	if err := r.enter(Array); err != nil {
		return err
	}
	for i := 0; ; i++ {
		if left, err := r.leave(); left || err != nil {
			return err
		}
		if err := element(i); err != nil {
			return err
		}
	}
}

// String reads a string. What is not valid in it becomes the replacement character.
func (r *Reader) String() (string, error) { return r.scalar(String) }

// scalar reads a value of a kind as text.
func (r *Reader) scalar(kind Kind) (string, error) {
	if err := r.expect(kind); err != nil {
		return "", err
	}
	t, err := r.token()
	if err != nil {
		return "", err
	}
	return t.String(), nil
}

// Bool reads true or false.
func (r *Reader) Bool() (bool, error) {
	kind, err := r.Peek()
	if err != nil {
		return false, err
	}
	if kind != True && kind != False {
		return false, r.expect(True)
	}
	_, err = r.token()
	return kind == True, err
}

// Skip reads a value and forgets it.
func (r *Reader) Skip() error {
	if _, err := r.Peek(); err != nil {
		return err
	}
	r.peeked = 0
	if err := r.dec.SkipValue(); err != nil {
		return r.fail(err)
	}
	return nil
}
