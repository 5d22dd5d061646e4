package runfolder

import (
	"errors"
	"io/fs"
	"slices"
)

// unbegun reports whether a folder holds only what a writer has left that was killed before
// it had written which experiment it is: nothing in it counts, and nothing of anybody else's
// is in it.
func unbegun(dir string, root fs.FS, entries []fs.DirEntry) bool {
	ours := []string{ManifestFile, ManifestFile + ".part", ExperimentFile, ExperimentFile + ".part", LogFile}
	for _, l := range layouts() {
		ours = append(ours, tableFileName(l.name))
	}
	var manifest bool
	for _, e := range entries {
		switch {
		case e.Name() == partsFolder && e.IsDir():
			if parts, err := fs.ReadDir(root, partsFolder); err != nil || len(parts) > 0 {
				return false
			}
		case !e.Type().IsRegular() || !slices.Contains(ours, e.Name()):
			return false
		}
		manifest = manifest || e.Name() == ManifestFile
	}
	if !manifest { // it is written first
		return len(entries) == 1 && entries[0].Name() == ManifestFile+".part"
	}
	f := &Folder{Dir: dir}
	return f.readManifest() == nil && f.Manifest.unbegun()
}

// unbegun reports whether it is of a folder whose experiment has not been written.
func (m *Manifest) unbegun() bool {
	return !m.Complete && len(m.Runs) == 0 && m.Files[ExperimentFile] == FileDigest{}
}

// empty removes the files of an unbegun folder, by which it is known last.
func (c *claim) empty(entries []fs.DirEntry) error {
	var errs []error
	for _, e := range entries {
		if e.Name() != ManifestFile {
			errs = append(errs, c.root.Remove(e.Name()))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := c.root.Remove(ManifestFile); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
