package crash

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// TestMain crashes if it is told to.
func TestMain(m *testing.M) {
	switch os.Getenv("CRASH") {
	case "panic":
		fmt.Fprintln(os.Stderr, "a warning")
		done := make(chan int)
		for range 2000 {
			go func() { <-done }()
		}
		var none []int
		fmt.Println(none[len(os.Args)])
	case "fatal":
		// An error that no recover stops, and that the race detector has no words about.
		new(sync.Mutex).Unlock()
	}
	os.Exit(m.Run())
}

// The crash of a real program is told by its cause, though thousands of lines follow.
func TestCrash(t *testing.T) {
	for how, want := range map[string]string{
		"panic": "panic: runtime error: index out of range [",
		"fatal": "fatal error: sync: unlock of unlocked mutex; ",
	} {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), "CRASH="+how, "GOTRACEBACK=all", "GOMAXPROCS=4")
		var said Stderr
		cmd.Stderr = &said
		if err := cmd.Run(); err == nil {
			t.Fatalf("%s: it did not crash", how)
		}
		got := said.Words()
		if !strings.HasPrefix(got, want) || strings.Contains(got, "goroutine ") || strings.Count(got, "; ") != maxLines || len(got) > 2000 {
			t.Errorf("%s: got %q, want it to begin with %q", how, got, want)
		}
	}
}

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "",
		"\n \n":                              "",
		"one\ntwo\n":                         "one; two",
		"panic: \x1b[31mred\x1b]0;x\a":       "panic: �[31mred�]0;x�",
		"1\n2\n3\n4\n5\n6":                   "1; 2; 3; 4; 5; 6",
		"1\n2\n3\n4\n5\n6\n7\n8":             "1; 2; 3; 4; 5; 6; and 2 more lines",
		"a log\nruntime: no memory\nmore":    "runtime: no memory; more",
		"x\n\ngoroutine 1 [running]:\nmain.": "x; main.",
	} {
		if got := Words(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	s := new(Stderr)
	if got := s.Words(); got != "it said nothing" {
		t.Errorf("nothing: %q", got)
	}
	for range 3 {
		if n, err := s.Write(make([]byte, MaxText)); n != MaxText || err != nil {
			t.Errorf("Write: %d, %v", n, err)
		}
	}
	if len(s.text) != MaxText {
		t.Errorf("it keeps %d bytes", len(s.text))
	}
}
