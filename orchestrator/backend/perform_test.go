package backend

import (
	"errors"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/programs"
)

func TestMissingProgram(t *testing.T) {
	_, err := programs.Find("csig-no-such-program")
	if !errors.Is(err, programs.ErrMissing) || !strings.Contains(err.Error(), "csig-no-such-program") {
		t.Errorf("error %v, want one that names the program", err)
	}
}
