package docs_test

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
)

// make fuzz tries inputs all the time: without -fuzzminimizetime, FuzzParse of
// orchestrator/experiment shortens one for a minute after the other.
func TestFuzzTarget(t *testing.T) {
	if os.Getenv("CSIGLAB_E2E") == "" {
		t.Skip("takes half a minute; set CSIGLAB_E2E=1")
	}
	make := exec.Command("make", "fuzz", "FUZZ=orchestrator/experiment", "FUZZTIME=15s")
	make.Dir = ".."
	said, err := make.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", make, err, said)
	}
	most := 0
	for _, m := range regexp.MustCompile(`execs: ([0-9]+)`).FindAllSubmatch(said, -1) {
		n, err := strconv.Atoi(string(m[1]))
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, n)
	}
	if most < 3000 {
		t.Errorf("%d inputs in 15 s, want at least 3000\n%s", most, said)
	}
}
