package plain

import (
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "",
		"a\tb\r\nc é":                  "a b  c é",
		"\x1b[31mred\x1b]0;title\a":    "�[31mred�]0;tit…",
		"\xff\u202e\u009b":             "���",
		strings.Repeat("x", 5_000_000): strings.Repeat("x", 15) + "…",
	} {
		if got := Text(text, 15); got != want {
			t.Errorf("%.40q: %q, want %q", text, got, want)
		}
	}
}
