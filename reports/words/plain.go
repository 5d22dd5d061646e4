package words

import (
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// Plain returns the result with texts that are safe to show: names and descriptions come
// from files that anybody may have written. Package html/template and json escape what
// HTML and JSON would interpret; here control characters, and those that change the
// direction of the text around them, become visible, and texts longer than
// MostCharacters are cut. It returns r itself when all texts are plain.
func Plain[T any](r *T) *T {
	v := reflect.ValueOf(r)
	if isPlain(v) {
		return r
	}
	return plainCopy(v).Interface().(*T)
}

// Bounds of texts in runes: of all on the page, of names, and of names in drawings.
const (
	MostCharacters = 2000
	MostOfName     = 200
	MostInDrawing  = 32
)

// hostile reports whether a character would not be seen, or would change how others are.
func hostile(c rune) bool {
	switch {
	case c < 0x20 || c >= 0x7F && c < 0xA0: // control characters
		return true
	case c >= 0x200B && c <= 0x200F, c >= 0x2028 && c <= 0x202E, c >= 0x2060 && c <= 0x206F, c == 0xFEFF, c == 0x061C: // zero width; separators; direction
		return true
	case c == utf8.RuneError:
		return true
	}
	return false
}

// PlainText returns a text with its hostile characters visible. Line breaks and tabs
// become spaces.
func PlainText(text string) string {
	if isPlainText(text) {
		return text
	}
	var b strings.Builder
	n := 0
	for _, c := range text {
		if n++; n > MostCharacters {
			fmt.Fprintf(&b, "… (%d characters)", utf8.RuneCountInString(text))
			break
		}
		switch {
		case c == '\n' || c == '\t' || c == '\r':
			b.WriteByte(' ')
		case c < 0x20:
			b.WriteRune(0x2400 + c) // the picture of the control character
		case hostile(c):
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

func isPlainText(text string) bool {
	return utf8.RuneCountInString(text) <= MostCharacters && strings.IndexFunc(text, hostile) < 0
}

func isPlain(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return isPlainText(v.String())
	case reflect.Pointer, reflect.Interface:
		return v.IsNil() || isPlain(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && !isPlain(v.Field(i)) {
				return false
			}
		}
	case reflect.Slice, reflect.Array:
		if !holdsText(v.Type().Elem()) {
			return true
		}
		for i := range v.Len() {
			if !isPlain(v.Index(i)) {
				return false
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if !isPlain(key) || !isPlain(v.MapIndex(key)) {
				return false
			}
		}
	}
	return true
}

// holdsText reports whether values of a type may hold text: numbers do not.
func holdsText(t reflect.Type) bool {
	return t.Kind() > reflect.Complex128
}

// plainCopy returns a copy of a value with plain texts. What holds none is shared.
func plainCopy(v reflect.Value) reflect.Value {
	if isPlain(v) {
		return v
	}
	c := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.String:
		c.SetString(PlainText(v.String()))
	case reflect.Pointer:
		c.Set(reflect.New(v.Type().Elem()))
		c.Elem().Set(plainCopy(v.Elem()))
	case reflect.Interface:
		c.Set(plainCopy(v.Elem()))
	case reflect.Struct:
		c.Set(v)
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				c.Field(i).Set(plainCopy(v.Field(i)))
			}
		}
	case reflect.Slice:
		c.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			c.Index(i).Set(plainCopy(v.Index(i)))
		}
	case reflect.Array:
		for i := range v.Len() {
			c.Index(i).Set(plainCopy(v.Index(i)))
		}
	case reflect.Map:
		c.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for _, key := range v.MapKeys() {
			c.SetMapIndex(plainCopy(key), plainCopy(v.MapIndex(key)))
		}
	}
	return c
}

// Shortened returns a text of at most so many runes, its beginning when it is longer.
func Shortened(text string, most int) string {
	if len(text) <= most || utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// Clipped returns the first letters of a name that may be very long.
func Clipped(text string) string { return Shortened(text, MostOfName) }
