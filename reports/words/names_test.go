package words

import (
	"strings"
	"testing"
)

// Figures of different names have different IDs, by which the script finds their data. IDs and
// names of files have small letters, digits and hyphens alone.
func TestIDs(t *testing.T) {
	long := strings.Repeat("a", 64)
	seen := map[string]string{}
	for _, name := range []string{"a-b", "a--b", "-a-b", long, long[:62], long[:61] + "b", "GPT", "gpt", "…", "a\nb"} {
		id := ID(name)
		if other, ok := seen[id]; ok {
			t.Errorf("%q and %q have the ID %s", name, other, id)
		}
		seen[id] = name
		if strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.HasPrefix(id, "-") {
			t.Errorf("%q has the ID %q", name, id)
		}
	}
	if got := ID("csig-wide"); got != "csig-wide" {
		t.Errorf("got %s of an ordinary name", got)
	}
	if got := FileName("Step 1 of " + long); len(got) > 60 || FileName("…") != "figure" || FileName("GPT/3") != "gpt-3" {
		t.Errorf("names %q, %q, %q", got, FileName("…"), FileName("GPT/3"))
	}
}
