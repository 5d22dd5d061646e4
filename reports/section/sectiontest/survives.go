package sectiontest

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Survives checks that numbers are the same after JSON, in which nothing is NaN or infinite.
func Survives[T any](t testing.TB, numbers T) {
	t.Helper()
	text, err := json.Marshal(numbers)
	if err != nil {
		t.Fatal(err)
	}
	var back T
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(back, numbers, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("after JSON (-got +want):\n%s", diff)
	}
}
