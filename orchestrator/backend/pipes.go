package backend

import (
	"encoding/gob"
	"os"

	"github.com/csiglab/csiglab/nodes/emu/process"
)

// Connect sends a node's process its specification through a pipe, and returns the
// file of its report. give gives the process its ends of the two pipes; they are
// closed here when it returns.
func Connect(spec *process.Spec, give func(specification, report *os.File) error) (*os.File, error) {
	specRead, specWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer specRead.Close()
	report, reportWrite, err := os.Pipe()
	if err != nil {
		specWrite.Close()
		return nil, err
	}
	defer reportWrite.Close()
	if err := give(specRead, reportWrite); err != nil {
		specWrite.Close()
		report.Close()
		return nil, err
	}
	go func() {
		// If the process dies meanwhile, its report is missing; the driver reports that
		// rather than the broken pipe.
		gob.NewEncoder(specWrite).Encode(spec) //nolint:errcheck // see above
		specWrite.Close()
	}()
	return report, nil
}
