package checkout

import (
	"os"
	"testing"
)

// Main is the whole of a TestMain but os.Exit: it runs the tests, then the functions of after, and
// returns the exit code. A test that needs another process starts its own binary again with the
// name of a role as first argument. That process does the role, with the arguments behind its
// name, in place of the tests.
func Main(m *testing.M, roles map[string]func(args []string) int, after ...func()) (code int) {
	if len(os.Args) > 1 && roles[os.Args[1]] != nil {
		return roles[os.Args[1]](os.Args[2:])
	}
	code = m.Run()
	for _, do := range after {
		do()
	}
	return code
}
