package wildcard_test

import (
	"path"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/wildcard"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"queue_kb.p99.*", "queue_kb.p99.tor0-agg0", true},
		{"queue_kb.p99.*", "queue_kb.p999", false},
		{"rate_gbps.0-*", "rate_gbps.0-8#2", true},
		{"*.h0-h3 app", "rate_gbps.h0-h3 app", true},
		{"fct_us.0-8", "fct_us.0-8", true},
		{"fct_us.0-8", "fct_us.0-8#2", false},
		{"*", "", true},
		{"a*a", "a", false},
		{"a*b*a", "aba", true},
		{"a*ab*b", "aab", false},
		{"a*ab*b", "aabb", true},
		{"x.[ab]*", "x.a", false},
		{"x.?*", "x.a", false},
		{"**", "x", true},
	} {
		if got := wildcard.Match(c.pattern, c.name); got != c.want {
			t.Errorf("Match(%q, %q) = %v, want %v", c.pattern, c.name, got, c.want)
		}
	}
	if got := wildcard.Prefix("a.b*c*"); got != "a.b" {
		t.Errorf("Prefix: got %q, want a.b", got)
	}
}

// Without its other special characters and slashes, package path has the same patterns.
func FuzzMatch(f *testing.F) {
	f.Add("a*b", "acb")
	f.Add("**a*", "ba")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if strings.ContainsAny(pattern, `?[\/`) || strings.Contains(name, "/") {
			t.Skip()
		}
		want, err := path.Match(pattern, name)
		if err != nil {
			t.Skip()
		}
		if got := wildcard.Match(pattern, name); got != want {
			t.Errorf("Match(%q, %q) = %v, want %v", pattern, name, got, want)
		}
	})
}
