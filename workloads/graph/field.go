package graph

import "fmt"

// FieldError reports a field of a generator's configuration that makes no sense. It wraps
// ErrInvalid.
type FieldError struct {
	// Field is the field's name as in an experiment, with dots and indices: stragglers[1].rank.
	Field   string
	Problem string
}

// Error implements error.
func (e *FieldError) Error() string { return fmt.Sprintf("%v: %s: %s", ErrInvalid, e.Field, e.Problem) }

// Unwrap returns ErrInvalid.
func (e *FieldError) Unwrap() error { return ErrInvalid }

// Fault returns a FieldError with a formatted problem.
func Fault(field, format string, values ...any) error {
	return &FieldError{Field: field, Problem: fmt.Sprintf(format, values...)}
}
