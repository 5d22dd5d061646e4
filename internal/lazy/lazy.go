// Package lazy has values that take time to make and that most commands do not need.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a function that compiles an expression when it is called first. An
// expression that does not compile is a programming error, and panics then.
func Regexp(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
