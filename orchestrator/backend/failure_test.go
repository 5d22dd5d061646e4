package backend_test

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"testing"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/gateway"
	"github.com/csiglab/csiglab/orchestrator/backend"
)

// An error that went to another process says the same, and is asked for as before.
func TestFailure(t *testing.T) {
	for _, c := range []struct {
		err error
		is  func(error) bool
	}{
		{errors.New("something"), func(error) bool { return true }},
		{fmt.Errorf("run: %w", &backend.NodeError{Name: "h0", Reason: "died"}), as[*backend.NodeError]},
		{fmt.Errorf("run: %w", &emu.LinkError{}), as[*emu.LinkError]},
		{fmt.Errorf("run: %w", &gateway.PartError{Reason: "silent"}), as[*gateway.PartError]},
		{&backend.ProgramError{Index: 3, Err: errors.New("no such file")}, func(err error) bool {
			program, ok := errors.AsType[*backend.ProgramError](err)
			return ok && program.Index == 3
		}},
		{fmt.Errorf("%w: no kernel", backend.ErrUnavailable), func(err error) bool { return errors.Is(err, backend.ErrUnavailable) }},
		{fmt.Errorf("stop: %w", backend.ErrRemains), func(err error) bool { return errors.Is(err, backend.ErrRemains) }},
	} {
		var sent bytes.Buffer
		var got backend.Failure
		if err := gob.NewEncoder(&sent).Encode(backend.AsFailure(c.err)); err != nil {
			t.Fatal(err)
		}
		if err := gob.NewDecoder(&sent).Decode(&got); err != nil {
			t.Fatal(err)
		}
		if !c.is(got.Err()) || got.Text != c.err.Error() {
			t.Errorf("%v became %v", c.err, got.Err())
		}
	}
}

func as[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
