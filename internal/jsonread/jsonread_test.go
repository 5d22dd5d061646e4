package jsonread

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/internal/lines"
)

// value reads a value as package encoding/json would.
func value(r *Reader) (any, error) {
	kind, err := r.Peek()
	if err != nil {
		return nil, err
	}
	switch kind {
	case Object:
		m := map[string]any{}
		return m, r.Object(func(key string) (err error) {
			m[key], err = value(r)
			return err
		})
	case Array:
		l := []any{}
		err := r.Array(func(int) error {
			v, err := value(r)
			l = append(l, v)
			return err
		})
		return l, err
	case String:
		return r.String()
	case Number:
		return r.Float("number")
	case True, False:
		return r.Bool()
	default:
		return nil, r.Skip()
	}
}

// samples are texts that both readers take.
var samples = []string{
	`{}`, `[]`, ` [ ] `, `null`, `true`, `false`, `0`, `-1.5e3`, `""`, `"a\n\"\\\/\u00e9\ud83d\ude00"`,
	`"\ud83d"`, `"\ud83dx"`, `"\ud83d\n"`, `"\ud83d\u0041"`, `"\ud83d\ud83d\ude00"`, "\"\xff\"", `"é"`,
	`{"a":[1,2,{"b":null}],"c":"d","e":{"f":[[],{}]}}`, "{\n\t\"a\" : 1 ,\r\n \"b\":[true,false]}\n",
}

func TestAsEncodingJSON(t *testing.T) {
	for _, text := range samples {
		for _, in := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
			r := New("f", in)
			got, err := value(r)
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			var want any
			if err := json.Unmarshal([]byte(text), &want); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: got %#v, want %#v", text, got, want)
			}
			if kind, err := r.Peek(); kind != None || err != nil {
				t.Errorf("%s: %v, %v follows", text, kind, err)
			}
		}
	}
}

func TestErrorsHaveTheirPlace(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "f:1:1: the file ends in a value"},
		{"{\n \"a\": [1,\n  2", "f:3:4: the file ends in a list"},
		{`{"a"`, "f:1:5: the file ends in an object"},
		{`{"a" 1}`, `f:1:6: invalid character '1' after object name (expecting ':')`},
		{`{a: 1}`, `f:1:2: invalid character 'a' at start of value`},
		{`{1: 1}`, `f:1:2: object member name must be a string`},
		{`{"a":1,}`, `f:1:7: invalid character ',' at start of value`},
		{`[1,]`, `f:1:3: invalid character ',' at start of value`},
		{`[1 2]`, `f:1:4: invalid character '2' after array element (expecting ',' or ']')`},
		{`"ab`, "f:1:4: the file ends in a value"},
		{`"a\x"`, "f:1:3: invalid escape sequence `\\x` in string"},
		{`"a\u1g34"`, "f:1:3: invalid escape sequence `\\u1g"},
		{"\"a\nb\"", `f:1:3: invalid character '\n' in string (expecting non-control character)`},
		{"\n\n  trux", "f:3:6: invalid character 'x' in literal true (expecting 'e')"},
		{"1.2.3", `f:1:4: invalid character '.' at start of value`},
		{"[01]", `f:1:3: invalid character '1' after array element (expecting ',' or ']')`},
		{"\xfe", `f:1:1: invalid character '\xfe' at start of value`},
		{strings.Repeat("[", 10_001), "f:1:10001: exceeded max depth"},
		{strings.Repeat("1", maxNumber+1), fmt.Sprintf("f:1:1: the number is longer than %d characters", maxNumber)},
	} {
		for _, in := range []io.Reader{strings.NewReader(c.text), iotest.OneByteReader(strings.NewReader(c.text))} {
			r := New("f", in)
			_, err := value(r)
			if err == nil {
				_, err = r.Peek()
			}
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%.40q: got %v, want %s", c.text, err, c.want)
			}
		}
	}
}

// TestStringIsBounded reads a string without end: memory is bounded by what one string may
// take.
func TestStringIsBounded(t *testing.T) {
	checkout.SkipSlowRace(t)
	for _, read := range []func(*Reader) error{(*Reader).Skip, func(r *Reader) error { _, err := r.String(); return err }} {
		r := New("f", io.MultiReader(strings.NewReader(`"`), endless('a')))
		var at *lines.Error
		if err := read(r); !errors.As(err, &at) || at.Column != 1 || !strings.Contains(at.Msg, "longer than") {
			t.Errorf("got %v", err)
		}
	}
}

// TestLinesAreBounded skips many short lines: what the reader keeps of them is bounded by what
// the decoder reads ahead.
func TestLinesAreBounded(t *testing.T) {
	text := "[" + strings.Repeat("1,\n", 200_000) + "x"
	r := New("f", strings.NewReader(text))
	if err := r.Skip(); err == nil || !strings.HasPrefix(err.Error(), "f:200001:1: invalid character 'x'") {
		t.Errorf("got %v", err)
	}
	if most := cap(r.in.ends); most > 1<<13 {
		t.Errorf("%d line ends are kept", most)
	}
}

type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		text string
		want int64
		err  string
	}{
		{"5", 5, ""}, {`"5"`, 5, ""}, {"-1", -1, ""}, {"5.0", 5, ""}, {"1e3", 1000, ""}, {"0e999999999", 0, ""}, {"-0.000", 0, ""},
		{"9007199254740993.0", 9007199254740993, ""},
		{"1.5", 0, `f:1:1: n "1.5" is not a whole number`},
		{"1e-999999999", 0, `f:1:1: n "1e-999999999" is not a whole number`},
		{"1e19", 0, `f:1:1: n "1e19" does not fit 64 bits`},
		{"99999999999999999999", 0, `f:1:1: n "99999999999999999999" does not fit 64 bits`},
		{`"x"`, 0, `f:1:1: n "x" is not a whole number`},
		{`[]`, 0, `f:1:1: a list, want a number`},
		{`"1.` + strings.Repeat("0", maxNumber) + `"`, 0, "f:1:1: the number is longer than 400 characters"},
		{"9007199254740994", 0, "f:1:1: n is 9007199254740994, want -1 to 9007199254740993"},
	} {
		got, err := New("f", strings.NewReader(c.text)).Int("n", -1, 9007199254740993)
		if got != c.want || err == nil && c.err != "" || err != nil && err.Error() != c.err {
			t.Errorf("%s: got %d, %v, want %d, %s", c.text, got, err, c.want, c.err)
		}
	}
	if v, err := New("f", strings.NewReader("18446744073709551615")).Uint("n"); v != 1<<64-1 || err != nil {
		t.Errorf("got %d, %v", v, err)
	}
	if _, err := New("f", strings.NewReader("-1")).Uint("n"); err == nil {
		t.Error("Uint reads -1")
	}
}

// TestValuesInARow reads what tools write that put one value after the other.
func TestValuesInARow(t *testing.T) {
	r := New("f", strings.NewReader("{\"a\":1}{\"a\":2}\n{\"a\":3}"))
	for i := range 3 {
		if v, err := value(r); err != nil || fmt.Sprint(v) != fmt.Sprintf("map[a:%d]", i+1) {
			t.Fatalf("value %d: got %v, %v", i, v, err)
		}
	}
	if kind, err := r.Peek(); kind != None || err != nil {
		t.Errorf("got %v, %v behind the last value", kind, err)
	}
}

func TestReadError(t *testing.T) {
	broken := errors.New("broken")
	_, err := value(New("f", io.MultiReader(strings.NewReader("[1,"), iotest.ErrReader(broken))))
	if want := "f:1:4: cannot read on: broken"; !errors.Is(err, broken) || err.Error() != want {
		t.Errorf("got %v, want %s, which wraps %v", err, want, broken)
	}
}

func FuzzReader(f *testing.F) {
	for _, text := range samples {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<16 {
			return
		}
		var want any
		valid := json.Unmarshal(text, &want) == nil
		got, err := value(New("f", strings.NewReader(string(text))))
		var at *lines.Error
		if err != nil && (!errors.As(err, &at) || at.Line < 1 || at.Column < 1) {
			t.Fatalf("%q: no place in %v", text, err)
		}
		if valid && err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %#v, want %#v", text, got, want)
		}
		if valid && err != nil && len(text) < 300 && !strings.Contains(err.Error(), "fits") {
			t.Errorf("%q: %v", text, err)
		}
	})
}

func TestFields(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 1}`:         "",
		`{"b": 2, "a": 1}`: "",
		`[]`:               "x:1:1: a list; want a thing, an object",
		`{"b": 2}`:         `x:1:1: a thing lacks the key "a"`,
		`{"a": 1, "a": 1}`: `x:1:10: the key "a" is there twice`,
		`{"a": 1, "c": 1}`: `x:1:10: unknown key "c" of a thing`,
		`{"a": {}}`:        `x:1:7: an object; want the number, a number`,
	} {
		r := New("x", strings.NewReader(text))
		value := func() error {
			if err := r.Want(Number, "the number"); err != nil {
				return err
			}
			_, err := r.Text()
			return err
		}
		got := ""
		if err := r.Fields("a thing", map[string]func() error{"a": value, "b": value}, "b"); err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: error %q, want %q", text, got, want)
		}
	}
}
