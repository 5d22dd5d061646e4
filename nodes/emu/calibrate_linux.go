package emu

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/nodes/netio"
)

// Calibration is how well this machine keeps real time.
type Calibration struct {
	Lateness Lateness      // of timers, with every processor in use
	FrameHop time.Duration // CPU time to sleep, wake, read, and send one frame
	RealTime bool          // threads get a real-time priority
}

// Figures of a calibration, which takes about a second.
const (
	calibrateTimers   = 1500 // per processor
	calibrateInterval = 400 * time.Microsecond
	calibrateFrames   = 1500
	calibrateLength   = 4096
)

// Calibrate measures timers, and frames between the only ports of a and b, which
// are joined. Both stay the caller's.
func Calibrate(a, b netio.Conn) (*Calibration, error) {
	noCollections()
	threads := runtime.NumCPU()
	runtime.GOMAXPROCS(threads + spareProcessors)
	c := &Calibration{RealTime: true}
	var all sync.WaitGroup
	var mu sync.Mutex
	for range threads {
		all.Go(func() {
			var late Lateness
			privileged := onThread(func(w *thread) {
				for next := w.now(); late.Events < calibrateTimers; {
					next += calibrateInterval
					w.wait(next, false)
					late.Add(w.now() - next)
				}
			})
			mu.Lock()
			defer mu.Unlock()
			c.Lateness.Merge(late)
			c.RealTime = c.RealTime && privileged
		})
	}
	all.Wait()
	before := processCPU()
	errs := make([]error, 2)
	for i, conn := range []netio.Conn{a, b} {
		all.Go(func() { onThread(func(w *thread) { errs[i] = pingPong(w, conn, i == 0) }) })
	}
	all.Wait()
	c.FrameHop = (processCPU() - before) / (2 * calibrateFrames)
	return c, errors.Join(errs...)
}

// onThread calls f on a thread that paces and that nothing else uses afterwards.
// It tells whether the thread got a real-time priority.
func onThread(f func(*thread)) (privileged bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		pacing()
		privileged = realTime()
		w := &thread{}
		w.calibrate()
		f(w)
	}()
	<-done
	return privileged
}

// pingPong returns every frame that comes; serve begins.
func pingPong(w *thread, conn netio.Conn, serve bool) error {
	if s, ok := conn.(interface{ Descriptor() int }); ok {
		w.fds = []unix.PollFd{{Fd: int32(s.Descriptor()), Events: unix.POLLIN}}
	}
	data := make([]byte, calibrateLength)
	message := []netio.Message{{Header: data[:64], Payload: data[64:]}}
	batch := make([]netio.Frame, 1)
	began := w.now()
	for sent, got := 0, 0; got < calibrateFrames; {
		if sent < calibrateFrames && (serve && sent == got || !serve && sent < got) {
			if err := conn.Send(message); err != nil {
				return err
			}
			sent++
		}
		n, err := conn.Receive(batch, 0)
		if err != nil {
			return err
		}
		if got += n; n == 0 {
			if w.now()-began > calibrateLimit {
				return fmt.Errorf("emu: calibration: frame %d of %d did not come back within %v", got+1, calibrateFrames, calibrateLimit)
			}
			w.wait(w.now()+restless, true)
		}
		if !serve && got == calibrateFrames {
			return conn.Send(message) // the last
		}
	}
	return nil
}

const calibrateLimit = 10 * time.Second

func processCPU() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
