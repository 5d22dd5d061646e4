package application

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Files that decide how programs resolve names. cacheFolder has the socket of the name
// service cache daemon, which answers for the machine.
const (
	hostsFile   = "/etc/hosts"
	switchFile  = "/etc/nsswitch.conf"
	cacheFolder = "/var/run/nscd"
)

// mountNames makes the names that JSON on in holds resolve for this process and those
// that are started in its mount namespace. It mounts over files of the machine, which do
// not change; a file that the machine does not have cannot be mounted over, and is left
// out. Where the kernel refuses the mounts, as in some containers, names do not resolve.
func mountNames(in io.Reader) error {
	var names Names
	if err := json.NewDecoder(in).Decode(&names); err != nil {
		return fmt.Errorf("read the names of hosts: %w", err)
	}
	if len(names) == 0 {
		return nil
	}
	err := replaceFiles(map[string]func(base []byte) []byte{hostsFile: names.Hosts, switchFile: switchText})
	if err == nil {
		err = hide(cacheFolder)
	}
	if err != nil && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("mount the names of hosts: %w", err)
	}
	return nil
}

// replaceFiles mounts, over each file that exists, a new one that edit makes of it. The
// new files are in a file system in memory, which needs a place while they are made:
// /proc, of which this process needs nothing meanwhile.
func replaceFiles(edit map[string]func(base []byte) []byte) error {
	const place = "/proc"
	if err := unix.Mount("tmpfs", place, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=755,size=16m"); err != nil {
		return err
	}
	defer unix.Unmount(place, unix.MNT_DETACH) //nolint:errcheck // it was mounted here
	for path, make := range edit {
		base, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		made := filepath.Join(place, filepath.Base(path))
		if err == nil {
			err = os.WriteFile(made, make(base), 0o644)
		}
		if err == nil {
			err = unix.Mount(made, path, "", unix.MS_BIND, "")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// hide mounts an empty folder over one, if there is one.
func hide(folder string) error {
	info, err := os.Stat(folder)
	if err != nil || !info.IsDir() {
		return nil
	}
	return unix.Mount("tmpfs", folder, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC|unix.MS_RDONLY, "mode=755,size=4k")
}

// enterName makes this thread, and the processes that it starts, see a hostname of
// their own.
func enterName(name string) error {
	if err := unix.Unshare(unix.CLONE_NEWUTS); err != nil {
		return err
	}
	return unix.Sethostname([]byte(name))
}
