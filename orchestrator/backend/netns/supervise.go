package netns

import (
	"context"
	"encoding/gob"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/modules"
	"github.com/csiglab/csiglab/nodes/watchdog"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/labs/application"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/units"
)

// Files of the supervisor.
const (
	fileOrder    = 3
	fileMessages = 4
	fileAlive    = 5
	firstFile    = fileOrder // of those that a supervisor is given
)

// files are the numbers of the other files of a supervisor; 0: it has no such file. It is
// plain data.
type files struct {
	Entrance int   // the listener of backend.Control.Entrance
	Listener int   // of backend.Meeting
	Calls    []int // of backend.Meeting
}

// closeOnExec keeps the files from the processes that the supervisor starts.
func (f *files) closeOnExec() {
	for _, fd := range append([]int{f.Entrance, f.Listener}, f.Calls...) {
		if fd > 0 {
			unix.CloseOnExec(fd)
		}
	}
}

// asMeeting returns the meeting of a part of a run.
func (f *files) asMeeting() *backend.Meeting {
	file := func(fd int, name string) *os.File {
		if fd == 0 {
			return nil
		}
		return os.NewFile(uintptr(fd), name)
	}
	m := &backend.Meeting{Listener: file(f.Listener, "listener")}
	for _, fd := range f.Calls {
		m.Calls = append(m.Calls, file(fd, "call"))
	}
	return m
}

// supervisable reports whether the program has called Supervise. A program that has
// not would, when it is started as a supervisor, do its own work again and start the
// next supervisor.
var supervisable bool

// Supervise does nothing unless the program was started as a supervisor. Then it runs
// the supervisor and exits. main calls it first of all.
func Supervise() {
	supervisable = true
	if code, ended := application.Init(); ended {
		os.Exit(code)
	}
	if len(os.Args) != 2 || os.Args[1] != supervisorArgument || os.Getenv(runs.EnvironmentRun) == "" {
		return
	}
	runtime.LockOSThread() // the nodes die with this thread
	for _, fd := range []int{fileOrder, fileMessages, fileAlive} {
		unix.CloseOnExec(fd)
	}
	in, out := os.NewFile(fileOrder, "order"), &sender{to: gob.NewEncoder(os.NewFile(fileMessages, "messages"))}
	go out.showLife()
	var o order
	err := gob.NewDecoder(in).Decode(&o)
	var last message
	if err == nil {
		o.Files.closeOnExec()
		ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM, unix.SIGHUP)
		last, err = guarded(func() (message, error) { return carryOut(ctx, &o, in, out.send) })
		stop()
	}
	if err != nil {
		last = message{Failure: backend.AsFailure(err)}
	}
	if out.send(last) != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// guarded calls carryOut, which may drive nodes. With modules, it ends with an error when
// one of their algorithms panics or does not return.
func guarded(carryOut func() (message, error)) (message, error) {
	if len(modules.Compiled()) == 0 {
		return carryOut()
	}
	var last message
	var err error
	fault := watchdog.Run(watchdog.Patience, func() {
		runtime.LockOSThread() // the nodes die with this thread
		last, err = carryOut()
	})
	if fault != nil {
		return message{}, fault
	}
	return last, err
}

// sender sends messages to csiglab, for several goroutines.
type sender struct {
	mu sync.Mutex
	to *gob.Encoder
}

func (s *sender) send(m message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to.Encode(m)
}

// showLife sends a message now and then, which says only that the supervisor runs. It
// returns when csiglab is gone.
func (s *sender) showLife() {
	for s.send(message{Alive: true}) == nil {
		time.Sleep(aliveEvery)
	}
}

// carryOut carries out an order. in is open for as long as a run is held.
func carryOut(ctx context.Context, o *order, in *os.File, out func(message) error) (last message, err error) {
	d, l, err := deploy(o)
	if err != nil {
		return last, err
	}
	defer l.reap()
	if o.Calibrate > 0 {
		last.Calibration, err = backend.Calibrate(d, &o.Run, o.Calibrate)
		return last, err
	}
	// If csiglab dies, who reads the messages, the supervisor dies too.
	send := func(m message) {
		out(m) //nolint:errcheck // see above
	}
	control := backend.Control{
		Deployed: func(nodes []runs.Node, links []runs.Link) error {
			send(message{Deployed: &deployed{Supervisor: os.Getpid(), Nodes: nodes, Links: links}})
			return nil
		},
		Records:  consumer(func(b *metrics.Batch) { send(message{Records: b}) }),
		Started:  func() { send(message{Started: true}) },
		Progress: func(now units.Time, _ float64) { send(message{Now: now}) },
		Note:     func(text string) { send(message{Note: text}) },
		Waiting:  func(text string) { send(message{Waiting: text}) },
	}
	if o.Run.Part != nil {
		control.Meeting = o.Files.asMeeting()
	}
	if o.Files.Entrance > 0 {
		if control.Entrance, err = entrance(o.Files.Entrance); err != nil {
			return last, err
		}
	}
	if o.Run.Held {
		control.Hold = untilEnd(in)
	}
	last.Outcome, err = backend.Drive(ctx, d, &o.Run, control)
	return last, err
}

// entrance returns the listener that csiglab has handed over.
func entrance(fd int) (*net.UnixListener, error) {
	file := os.NewFile(uintptr(fd), "entrance")
	defer file.Close() // the listener has a copy
	listener, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("socket of the programs: %w", err)
	}
	return listener.(*net.UnixListener), nil
}

// consumer is a metrics.Consumer made of a function.
type consumer func(*metrics.Batch)

func (c consumer) Consume(b *metrics.Batch) { c(b) }

// untilEnd returns a channel that is closed at the end of a file. csiglab keeps the
// order's pipe open for as long as the run is held.
func untilEnd(in *os.File) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		io.Copy(io.Discard, in) //nolint:errcheck // whatever ends it
	}()
	return ended
}
