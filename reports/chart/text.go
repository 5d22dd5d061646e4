package chart

import (
	"strings"
	"sync"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"

	"github.com/csiglab/csiglab/reports/words"
)

const textSize = 11.0

// face is a font with the widths of its common letters.
type face struct {
	font  *sfnt.Font
	ascii [128]float64 // of an em
}

// metrics are the widths of letters of Liberation Sans, which Arial and Helvetica share.
var metrics = sync.OnceValue(func() *[2]face {
	m := &[2]face{}
	for i, ttf := range [][]byte{liberationsansregular.TTF, liberationsansbold.TTF} {
		f, err := sfnt.Parse(ttf)
		if err != nil {
			panic("chart: " + err.Error()) // the font is a part of the program
		}
		m[i].font = f
		for r := range rune(128) {
			m[i].ascii[r] = advance(f, r)
		}
	}
	return m
})

// has reports whether the font has a letter.
func (f *face) has(r rune) bool {
	var buffer sfnt.Buffer
	index, err := f.font.GlyphIndex(&buffer, r)
	return err == nil && index != 0
}

func advance(f *sfnt.Font, r rune) float64 {
	const em = 2048
	var buffer sfnt.Buffer
	index, err := f.GlyphIndex(&buffer, r)
	if err != nil {
		return 0
	}
	width, err := f.GlyphAdvance(&buffer, index, fixed.I(em), font.HintingNone)
	if err != nil {
		return 0
	}
	return float64(width) / 64 / em
}

// faceFor returns the font of texts.
func faceFor(bold bool) *face {
	if bold {
		return &metrics()[1]
	}
	return &metrics()[0]
}

// TextWidth returns the width of a line of text of a size, in user units.
func TextWidth(text string, size float64, bold bool) float64 {
	m := faceFor(bold)
	width := 0.0
	for _, r := range text {
		if r < 128 {
			width += m.ascii[r]
		} else {
			width += advance(m.font, r)
		}
	}
	return width * size
}

// Shorten cuts a text in its middle so that it is no wider than most. One letter stays.
func Shorten(text string, most, size float64, bold bool) string {
	text = clip(text)
	if TextWidth(text, size, bold) <= most {
		return text
	}
	letters := []rune(text)
	low, high := 0, len(letters)-1 // letters that stay
	for low < high {
		n := (low + high + 1) / 2
		if TextWidth(cut(letters, n), size, bold) <= most {
			low = n
		} else {
			high = n - 1
		}
	}
	return cut(letters, max(low, 1))
}

func cut(letters []rune, n int) string {
	head := (n + 1) / 2
	return string(letters[:head]) + "…" + string(letters[len(letters)-(n-head):])
}

// clip returns the first letters of a text that may be very long, with control characters
// made visible.
func clip(text string) string { return words.Clipped(strings.Map(visible, text)) }

// visible replaces what no document may have, such as a control character in a name (XML 1.0,
// Char).
func visible(r rune) rune {
	switch {
	case r == '\t' || r == '\n' || r == '\r':
		return ' '
	case r < ' ' || r >= 0x7F && r < 0xA0 || r == 0xFFFE || r == 0xFFFF:
		return '\uFFFD'
	}
	return r
}

// number prints v; a zero has no sign.
func number(v float64) string { return words.Number(v + 0) }

// signed prints a difference.
func signed(v float64) string {
	if v > 0 {
		return "+" + number(v)
	}
	return number(v)
}

// quantity prints a value with its unit.
func quantity(v float64, unit string) string {
	if text := number(v); unit != "" && text != words.None {
		return text + "\u00a0" + unit
	}
	return number(v)
}
