// Command device answers conformance requests with csiglab's own machines. Tests build it, also
// with mistakes in the machines.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/csiglab/csiglab/conformance"
	"github.com/csiglab/csiglab/conformance/own"
)

func main() {
	if err := conformance.Serve(context.Background(), own.Device{}, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "device:", err)
		os.Exit(1)
	}
}
