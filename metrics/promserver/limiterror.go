package promserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/csiglab/csiglab/metrics/promserver/limits"
)

// LimitError is a query that has been refused or ended because of a limit.
type LimitError struct {
	What   string // what the query has too much of
	Limit  any    // the limit's value
	Flag   string // that raises it, without dashes
	Status int    // of HTTP
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s; the limit is %v, and csiglab serve --%s raises it", e.What, e.Limit, e.Flag)
}

// Statuses of refusals: of a text that is too large, of a query that turned out to cost too
// much, and of a server that has too much to do.
const (
	tooLarge = http.StatusBadRequest
	tooMuch  = http.StatusUnprocessableEntity
	tooBusy  = http.StatusServiceUnavailable
)

func timeError(l *limits.Limits) *LimitError {
	return &LimitError{"the query takes too long", l.Time, limits.FlagTime, tooBusy}
}

func memoryError(l *limits.Limits, what string) *LimitError {
	return &LimitError{what, l.Memory, limits.FlagMemory, tooMuch}
}

// limitOf returns the limit because of which a context has ended; otherwise the error itself.
func limitOf(ctx context.Context, err error) error {
	var limit *LimitError
	if err != nil && errors.As(context.Cause(ctx), &limit) {
		return limit
	}
	return err
}

// statusOf gives a refusal its status. It is an override of the API's error codes, whose
// type N is not exported.
func statusOf[N any](_ N, err error) (code int, override bool) {
	var limit *LimitError
	if errors.As(err, &limit) {
		return limit.Status, true
	}
	return 0, false
}
