// Package jsonread reads JSON as a stream: one token after the other, with the line and
// column of each in every error, and memory bounded by the longest string. It is for large
// and hostile files of other tools; who wants a value in a Go type takes encoding/json.
package jsonread

import (
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/csiglab/csiglab/internal/lines"
)

// Limits of what is read; beyond them a file is hostile.
const (
	maxDepth  = 512
	maxString = 16 << 20
	maxNumber = 400 // characters
	window    = 64 << 10
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
	name string
	in   io.Reader
	buf  []byte
	at   int   // next byte in buf
	err  error // of in, which has nothing more
	line int
	// start is the position in buf at which the line begins; negative if that is no longer
	// there.
	start int
	depth int
	text  []byte // of the last string or number
	begin lines.Pos
}

// New returns a Reader; name stands for the file in errors.
func New(name string, in io.Reader) *Reader {
	return &Reader{name: name, in: in, buf: make([]byte, 0, window), line: 1}
}

// Pos returns where the value begins that Peek, or a method that reads, has last seen.
func (r *Reader) Pos() lines.Pos { return r.begin }

// Errorf returns an error at a position.
func (r *Reader) Errorf(at lines.Pos, format string, args ...any) *lines.Error {
	return &lines.Error{File: r.name, Line: at.Line, Column: at.Column, Msg: fmt.Sprintf(format, args...)}
}

func (r *Reader) here() lines.Pos { return lines.Pos{Line: r.line, Column: r.at - r.start + 1} }

// fill reads more and reports whether there is any.
func (r *Reader) fill() bool {
	if r.err != nil {
		return false
	}
	r.start -= len(r.buf)
	r.buf, r.at = r.buf[:cap(r.buf)], 0
	for range 100 {
		n, err := r.in.Read(r.buf)
		r.err = err
		if n > 0 {
			r.buf = r.buf[:n]
			return true
		}
		if err != nil {
			r.buf = r.buf[:0]
			return false
		}
	}
	r.buf, r.err = r.buf[:0], io.ErrNoProgress
	return false
}

// next returns the next byte without taking it, and false at the end.
func (r *Reader) next() (byte, bool) {
	if r.at == len(r.buf) && !r.fill() {
		return 0, false
	}
	return r.buf[r.at], true
}

// end is the error of a file that ends in a value, or that cannot be read further.
func (r *Reader) end(in string) error {
	if r.err != nil && !errors.Is(r.err, io.EOF) {
		err := r.Errorf(r.here(), "cannot read on: %v", r.err)
		err.Cause = r.err
		return err
	}
	return r.Errorf(r.here(), "the file ends in %s", in)
}

// space skips white space and returns the next byte, or false at the end of the file.
func (r *Reader) space() (byte, bool) {
	for {
		c, ok := r.next()
		if !ok {
			return 0, false
		}
		switch c {
		case '\n':
			r.at++
			r.line, r.start = r.line+1, r.at
		case ' ', '\t', '\r':
			r.at++
		default:
			r.begin = r.here()
			return c, true
		}
	}
}

// Peek returns the kind of the next value, and None at the end of the file or of what is
// being read. A character that begins no value is an error.
func (r *Reader) Peek() (Kind, error) {
	c, ok := r.space()
	if !ok {
		if r.err != nil && !errors.Is(r.err, io.EOF) {
			return None, r.end("a value")
		}
		r.begin = r.here()
		return None, nil
	}
	switch c {
	case '{', '[', '"', 't', 'f', 'n':
		return Kind(c), nil
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return Number, nil
	case '}', ']':
		return None, nil
	}
	return None, r.unexpected(c, "a value")
}

func (r *Reader) unexpected(c byte, want string) error {
	if c >= utf8.RuneSelf {
		return r.Errorf(r.begin, "byte 0x%02x, want %s", c, want)
	}
	return r.Errorf(r.begin, "%q, want %s", string(rune(c)), want)
}

// want takes the next character, which must be one of two.
func (r *Reader) want(a, b byte, in, want string) (byte, error) {
	c, ok := r.space()
	if !ok {
		return 0, r.end(in)
	}
	if c != a && c != b {
		return 0, r.unexpected(c, want)
	}
	r.at++
	return c, nil
}

func (r *Reader) enter() error {
	if r.depth++; r.depth > maxDepth {
		return r.Errorf(r.begin, "nested deeper than %d", maxDepth)
	}
	return nil
}

// expect returns an error unless the next value is of the kind.
func (r *Reader) expect(want Kind) error {
	kind, err := r.Peek()
	if err != nil {
		return err
	}
	if kind != want {
		if c, ok := r.next(); ok && kind == None {
			return r.unexpected(c, want.String())
		}
		return r.Errorf(r.begin, "%s, want %s", kind, want)
	}
	return nil
}

// Object reads an object. It calls member for each key, whose place Pos is then; member has to
// read the value.
func (r *Reader) Object(member func(key string) error) error {
	if err := r.expect(Object); err != nil {
		return err
	}
	if err := r.enter(); err != nil {
		return err
	}
	r.at++
	for first := true; ; first = false {
		c, ok := r.space()
		switch {
		case !ok:
			return r.end("an object")
		case first && c == '}':
			r.at++
			r.depth--
			return nil
		case c != '"':
			return r.unexpected(c, "a key in quotes")
		}
		at := r.begin
		key, err := r.String()
		if err != nil {
			return err
		}
		if _, err := r.want(':', ':', "an object", "a colon"); err != nil {
			return err
		}
		r.begin = at
		if err := member(key); err != nil {
			return err
		}
		c, err = r.want(',', '}', "an object", "a comma or }")
		if err != nil {
			return err
		}
		if c == '}' {
			r.depth--
			return nil
		}
	}
}

// Array reads a list. It calls element for each value, which it has to read.
func (r *Reader) Array(element func(i int) error) error {
	if err := r.expect(Array); err != nil {
		return err
	}
	if err := r.enter(); err != nil {
		return err
	}
	r.at++
	for i := 0; ; i++ {
		if c, ok := r.space(); !ok {
			return r.end("a list")
		} else if i == 0 && c == ']' {
			r.at++
			r.depth--
			return nil
		}
		if err := element(i); err != nil {
			return err
		}
		c, err := r.want(',', ']', "a list", "a comma or ]")
		if err != nil {
			return err
		}
		if c == ']' {
			r.depth--
			return nil
		}
	}
}

// String reads a string. What is not valid in it becomes the replacement character.
func (r *Reader) String() (string, error) {
	if err := r.expect(String); err != nil {
		return "", err
	}
	if err := r.scanString(true); err != nil {
		return "", err
	}
	return string(r.text), nil
}

// scanString takes a string, and puts it into r.text if it is to be kept.
func (r *Reader) scanString(keep bool) error {
	begin := r.begin
	r.text = r.text[:0]
	r.at++
	for length := 0; ; length++ {
		c, ok := r.next()
		if !ok {
			return r.end("a string")
		}
		switch {
		case c == '"':
			r.at++
			if keep && !utf8.Valid(r.text) {
				r.text = []byte(string([]rune(string(r.text))))
			}
			return nil
		case c < ' ':
			return r.Errorf(r.here(), "control character 0x%02x in a string", c)
		case length >= maxString:
			return r.Errorf(begin, "the string is longer than %d bytes", maxString)
		case c == '\\':
			if err := r.escape(keep); err != nil {
				return err
			}
		default:
			r.at++
			if keep {
				r.text = append(r.text, c)
			}
		}
	}
}

// escape takes a backslash and what follows it.
func (r *Reader) escape(keep bool) error {
	at := r.here()
	r.at++
	c, ok := r.next()
	if !ok {
		return r.end("a string")
	}
	r.at++
	switch c {
	case '"', '\\', '/':
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		unit, err := r.hex(at)
		if err != nil {
			return err
		}
		return r.unicode(unit, at, keep)
	default:
		return r.Errorf(at, "unknown escape \\%c", c)
	}
	if keep {
		r.text = append(r.text, c)
	}
	return nil
}

// unicode appends a code unit, with the second half of a surrogate pair if that follows.
func (r *Reader) unicode(unit rune, at lines.Pos, keep bool) error {
	for utf16.IsSurrogate(unit) {
		if c, ok := r.next(); !ok || c != '\\' {
			unit = utf8.RuneError
			break
		}
		r.at++
		if c, ok := r.next(); !ok || c != 'u' {
			// An escape of another kind follows half a pair. Go back to its backslash.
			if keep {
				r.text = utf8.AppendRune(r.text, utf8.RuneError)
			}
			return r.escaped(keep)
		}
		r.at++
		second, err := r.hex(at)
		if err != nil {
			return err
		}
		pair := utf16.DecodeRune(unit, second)
		if pair != utf8.RuneError {
			unit = pair
			break
		}
		if keep {
			r.text = utf8.AppendRune(r.text, utf8.RuneError)
		}
		unit = second
	}
	if keep {
		r.text = utf8.AppendRune(r.text, unit)
	}
	return nil
}

// escaped takes an escape whose backslash has been taken.
func (r *Reader) escaped(keep bool) error {
	r.at-- // to where the backslash was, or to a byte that stands for it
	return r.escape(keep)
}

func (r *Reader) hex(at lines.Pos) (rune, error) {
	var unit rune
	for range 4 {
		c, ok := r.next()
		if !ok {
			return 0, r.end("a string")
		}
		switch {
		case c >= '0' && c <= '9':
			unit = unit<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			unit = unit<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			unit = unit<<4 | rune(c-'A'+10)
		default:
			return 0, r.Errorf(at, "\\u wants four hexadecimal digits")
		}
		r.at++
	}
	return unit, nil
}

// Bool reads true or false.
func (r *Reader) Bool() (bool, error) {
	kind, err := r.Peek()
	if err != nil {
		return false, err
	}
	switch kind {
	case True:
		return true, r.word("true")
	case False:
		return false, r.word("false")
	}
	return false, r.expect(True)
}

func (r *Reader) word(word string) error {
	for i := range len(word) {
		c, ok := r.next()
		if !ok {
			return r.end("a word")
		}
		if c != word[i] {
			return r.Errorf(r.begin, "unknown word, want %s", word)
		}
		r.at++
	}
	return nil
}

// Skip reads a value and forgets it.
func (r *Reader) Skip() error {
	kind, err := r.Peek()
	if err != nil {
		return err
	}
	switch kind {
	case Object:
		return r.Object(func(string) error { return r.Skip() })
	case Array:
		return r.Array(func(int) error { return r.Skip() })
	case String:
		return r.scanString(false)
	case Number:
		return r.number()
	case True:
		return r.word("true")
	case False:
		return r.word("false")
	case Null:
		return r.word("null")
	default:
		if c, ok := r.next(); ok {
			return r.unexpected(c, "a value")
		}
		return r.end("a value")
	}
}
