package command

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

// A command that takes long says so once, after 5 s; a faster one says nothing.
func TestWord(t *testing.T) {
	for took, want := range map[time.Duration]string{sayAfter - 1: "", sayAfter + 1: "large\n", time.Hour: "large\n"} {
		synctest.Test(t, func(t *testing.T) {
			var said bytes.Buffer
			stop := (&App{Stderr: &said}).Word("large")
			time.Sleep(took)
			stop()
			stop()
			if said.String() != want {
				t.Errorf("after %v: %q, want %q", took, said.String(), want)
			}
		})
	}
}
