package runs

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// metricsFolder is the folder, in a run's NodeFolder, where its processes serve metrics.
// It exists while the run goes on.
const metricsFolder = "metrics"

// MetricsFolder returns the folder of the sockets at which the processes of a run serve
// metrics.
func MetricsFolder(nodeFolder string) string { return filepath.Join(nodeFolder, metricsFolder) }

// MakeMetricsFolder makes the folder of MetricsFolder, which only this user can open.
func MakeMetricsFolder(nodeFolder string) error {
	RemoveMetricsFolder(nodeFolder)
	return os.Mkdir(MetricsFolder(nodeFolder), 0o700)
}

// RemoveMetricsFolder removes the sockets that the processes of a run that was killed have left,
// and their folder. It removes nothing else.
func RemoveMetricsFolder(nodeFolder string) {
	if nodeFolder == "" {
		return
	}
	folder := MetricsFolder(nodeFolder)
	entries, _ := os.ReadDir(folder) //nolint:errcheck // no folder, no sockets
	for _, e := range entries {
		if e.Type() == fs.ModeSocket {
			os.Remove(filepath.Join(folder, e.Name()))
		}
	}
	syscall.Rmdir(folder) //nolint:errcheck // something else is in it
}
