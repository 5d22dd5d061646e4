package backend

import (
	"errors"
	"strings"
	"testing"
)

func TestMissingProgram(t *testing.T) {
	_, err := FindProgram("csig-no-such-program")
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "csig-no-such-program") {
		t.Errorf("error %v, want one that names the program", err)
	}
}
