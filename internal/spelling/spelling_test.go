package spelling_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/spelling"
)

func TestNearest(t *testing.T) {
	names := []string{"Radix_Up", "Radix_Down", "Bundle", "id", "size"}
	for text, want := range map[string]string{
		"radix_up": "Radix_Up", "Radix_Donw": "Radix_Down", "bundel": "Bundle", "Radix": "", "di": "id", "sise": "size",
		"zzz": "", "": "", strings.Repeat("x", 1000): "",
	} {
		if got := spelling.Nearest(text, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", text, got, want)
		}
	}
	if got := spelling.Nearest("cb", []string{"ab", "ac", "cc"}); got != "ab" {
		t.Errorf("Nearest of equals = %q, want the first, ab", got)
	}
}

func ExampleNearest() {
	fmt.Println(spelling.Nearest("bundel", []string{"bundle", "tier"}))
	// Output: bundle
}

func ExampleHint() {
	fmt.Printf("unknown colour %q%s\n", "gren", spelling.Hint(spelling.Nearest("gren", []string{"red", "green"})))
	fmt.Printf("unknown colour %q%s\n", "mauve", spelling.Hint(spelling.Nearest("mauve", []string{"red", "green"})))
	// Output:
	// unknown colour "gren" (did you mean "green"?)
	// unknown colour "mauve"
}
