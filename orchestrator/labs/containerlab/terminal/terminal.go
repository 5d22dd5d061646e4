// Package terminal keeps libraries from talking to the terminal before csiglab
// does. One that containerlab brings asks it for its colours when the program
// starts, also where no colour is shown, and takes the answer from what the user
// types, which csiglab exec hands to another program.
//
// Packages are initialised in the order of their paths, as far as their imports
// are (Go specification, Package initialization), so that this one, with no
// imports but the standard library's, comes before that library, which asks
// nothing of a terminal that is dumb. csiglab's main calls Restore.
package terminal

import "os"

const variable = "TERM"

var before, set = os.LookupEnv(variable)

func init() {
	os.Setenv(variable, "dumb") //nolint:errcheck // the worst is what it is for
}

// Restore gives the environment what it had.
func Restore() {
	if !set {
		os.Unsetenv(variable) //nolint:errcheck // as above
		return
	}
	os.Setenv(variable, before) //nolint:errcheck // as above
}
