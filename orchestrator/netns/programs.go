package netns

import (
	"fmt"
	"os"
	"time"

	"github.com/csiglab/csiglab/nodes/host/shim"
	"github.com/csiglab/csiglab/orchestrator/application"
)

// attach gives the hosts of f.Applications the interface of their programs, whose
// other end is a port of the host's node.
func (d *deployment) attach(f *Fabric) error {
	for _, host := range f.Applications {
		s := &d.spaces[host]
		index, err := application.Attach(s.file, host, portName(shim.NIC), portName(shim.Application), f.ApplicationMTU)
		if err != nil {
			return fmt.Errorf("node %s: %w", s.name, err)
		}
		s.indices = append(s.indices, index)
	}
	return nil
}

// programs returns the programs of the run; nil without. Stop must be called in
// the end.
func (s *supervisor) programs(d *deployment) (*application.Set, error) {
	if len(s.fabric.Programs) == 0 {
		return nil, nil
	}
	spaces := map[int]*os.File{}
	for _, host := range s.fabric.Applications {
		spaces[host] = d.spaces[host].file
	}
	starter, err := application.NewLocal(spaces)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	set := application.NewSet(s.fabric.Programs, *s.fabric.Wall, s.fabric.End, starter)
	set.Hold(s.hold)
	return set, nil
}

// started tells csiglab that the run has started, and lets the programs begin.
func (s *supervisor) started(start time.Duration) {
	s.say(message{Started: true}) //nolint:errcheck // without csiglab the supervisor dies
	if s.apps != nil {
		s.apps.Begin(start)
	}
}
