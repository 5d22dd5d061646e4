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
	v, _ := plain(reflect.ValueOf(r))
	return v.Interface().(*T)
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

// plain returns a value with plain texts. It is a copy, as far as it has to be, if a text in it
// was changed.
func plain(v reflect.Value) (to reflect.Value, changed bool) {
	to = v
	put := func(place func(reflect.Value) reflect.Value) {
		e, other := plain(place(v))
		if !other {
			return
		}
		if !changed {
			changed, to = true, reflect.New(v.Type()).Elem()
			to.Set(v)
			if v.Kind() == reflect.Slice {
				to.Set(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v))
			}
		}
		place(to).Set(e)
	}
	switch v.Kind() {
	case reflect.String:
		if text := PlainText(v.String()); text != v.String() {
			to = reflect.New(v.Type()).Elem()
			to.SetString(text)
			return to, true
		}
	case reflect.Interface:
		if !v.IsNil() {
			return plain(v.Elem())
		}
	case reflect.Pointer:
		if v.IsNil() {
			break
		}
		if e, other := plain(v.Elem()); other {
			to = reflect.New(v.Type().Elem())
			to.Elem().Set(e)
			return to, true
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				put(func(v reflect.Value) reflect.Value { return v.Field(i) })
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if !holdsText(v.Type().Elem()) {
				break
			}
			put(func(v reflect.Value) reflect.Value { return v.Index(i) })
		}
	case reflect.Map:
		all := reflect.MakeMapWithSize(v.Type(), v.Len())
		for key, value := range v.Seq2() {
			k, a := plain(key)
			e, b := plain(value)
			all.SetMapIndex(k, e)
			changed = changed || a || b
		}
		if changed {
			return all, true
		}
	}
	return to, changed
}

// holdsText reports whether values of a type may hold text: numbers do not.
func holdsText(t reflect.Type) bool { return t.Kind() > reflect.Complex128 }

// Shortened returns a text of at most so many runes, its beginning when it is longer.
func Shortened(text string, most int) string {
	if len(text) <= most || utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// Clipped returns the first letters of a name that may be very long.
func Clipped(text string) string { return Shortened(text, MostOfName) }
