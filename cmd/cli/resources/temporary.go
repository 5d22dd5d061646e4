package resources

import (
	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/orchestrator/programs/builder"
)

// TemporaryFolder makes a folder for what a command needs while it runs, beside the builds or,
// where these have none, in the system's. What kill -9 leaves there goes with csiglab clean.
func TemporaryFolder() (folder string, remove func(), err error) {
	if folder, remove, err = builder.Temporary(); err == nil {
		return folder, remove, nil
	}
	t, err := own.NewTemporary("", own.Scratch)
	if err != nil {
		return "", nil, command.Infrastructure(err)
	}
	return t.Dir, func() { t.Remove() }, nil
}
