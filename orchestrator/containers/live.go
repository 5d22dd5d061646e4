package containers

import "path/filepath"

// Meeting returns the folder, in a run's folder, that its nodes see too, and no
// other. They leave there what they capture, and who wants the frames of a run in
// real time makes a pipe there (emu.Live).
func Meeting(runFolder string) string { return filepath.Join(runFolder, meeting) }
