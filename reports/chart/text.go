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

// distinct shortens texts so that they are no wider than most. Those that would be equal keep what
// they differ in: they lose the end that they share, and then their common beginning.
func distinct(texts []string, most, size float64, bold bool) []string {
	all, equal := make([]string, len(texts)), map[string][]int{}
	for i, text := range texts {
		all[i] = Shorten(text, most, size, bold)
		if all[i] != clip(text) {
			equal[all[i]] = append(equal[all[i]], i)
		}
	}
	for _, of := range equal {
		if len(of) < 2 {
			continue
		}
		first := []rune(clip(texts[of[0]]))
		head, tail := len(first), len(first)
		for _, i := range of[1:] {
			letters, h, t := []rune(clip(texts[i])), 0, 0
			for h < min(head, len(letters)) && letters[h] == first[h] {
				h++
			}
			for t < min(tail, len(letters)-h, len(first)-h) && letters[len(letters)-1-t] == first[len(first)-1-t] {
				t++
			}
			head, tail = h, t
		}
		for _, i := range of {
			letters := []rune(clip(texts[i]))
			middle := string(letters[head : len(letters)-tail])
			if all[i] = string(letters[:head]) + middle + "…"; TextWidth(all[i], size, bold) > most {
				all[i] = Shorten("…"+middle+"…", most, size, bold)
			}
		}
	}
	return all
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
