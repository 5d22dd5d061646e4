package runs

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/csiglab/csiglab/nodes/emu/process"
)

// Environment variables of a run's processes on this machine: the run's id, the node's
// name, and the folder of the list of runs, by which a csiglab that a program starts
// finds its own run.
const (
	EnvironmentRun  = "CSIGLAB_RUN"
	EnvironmentNode = process.EnvironmentNode
	EnvironmentList = "CSIGLAB_LIST"
)

// Marks reports whether a variable, as name=value, says which run and node a process
// belongs to.
func Marks(variable string) bool {
	return strings.HasPrefix(variable, EnvironmentRun+"=") || strings.HasPrefix(variable, EnvironmentNode+"=")
}

// Environment returns the variables of a program of a run, as name=value, besides
// EnvironmentNode.
func Environment(id string) []string {
	return []string{EnvironmentRun + "=" + id, EnvironmentList + "=" + folder()}
}

// entrance is the socket at which other processes enter the networks of a run's nodes.
func entrance(id string) string { return filepath.Join(folder(), id+enterSuffix) }

// Entrance opens the socket at which Dial calls a run of this process.
func (e *Entry) Entrance() (listen *net.UnixListener, err error) {
	err = at(entrance(e.run.ID), func(path string) (err error) {
		listen, err = net.ListenUnix("unixpacket", &net.UnixAddr{Net: "unixpacket", Name: path})
		if err == nil {
			listen.SetUnlinkOnClose(false) // the path is of the folder's descriptor
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("run %s: open the socket of its programs: %w", e.run.ID, err)
	}
	return listen, nil
}

// Dial calls the process that hands out the networks of a run's nodes.
func (r *Run) Dial() (call *net.UnixConn, err error) {
	err = at(entrance(r.ID), func(path string) (err error) {
		call, err = net.DialUnix("unixpacket", nil, &net.UnixAddr{Net: "unixpacket", Name: path})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("run %s takes no programs (%w)", r.ID, err)
	}
	return call, nil
}

// inherited returns the folder of the list that the program's run has given it, "" for
// a process that no run has started.
func inherited() string { return os.Getenv(EnvironmentList) }
