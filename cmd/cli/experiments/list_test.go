package experiments

import (
	"slices"
	"testing"
)

// The arguments of list are the sections that it has.
func TestListTables(t *testing.T) {
	var names []string
	for _, s := range allTables() {
		names = append(names, s.name)
	}
	if want := slices.DeleteFunc(slices.Clone(tables), func(name string) bool { return name == algorithms }); !slices.Equal(names, want) {
		t.Errorf("sections %q, and arguments %q", names, tables)
	}
}
