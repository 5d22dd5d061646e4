package cause_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"testing"

	"github.com/csiglab/csiglab/internal/cause"
)

func TestOf(t *testing.T) {
	_, err := os.Open("not/here")
	if got := cause.Of(fmt.Errorf("load: %w", err)); got.Error() != "no such file or directory" || !errors.Is(got, fs.ErrNotExist) {
		t.Errorf("got %v, want the reason alone", got)
	}
	other := errors.New("other")
	if got := cause.Of(other); got != other || cause.Of(nil) != nil {
		t.Errorf("got %v, %v, want errors of other things as they are", got, cause.Of(nil))
	}
}
