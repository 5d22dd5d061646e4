package wall

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/nodes/netio"
)

// Calibration is how well this machine keeps real time.
type Calibration struct {
	FrameHop time.Duration // CPU time to sleep, wake, read, and send one frame
	Loads    []Load        // by rising share
	RealTime bool          // threads get a real-time priority
}

// Load is how late timers are while so many threads as a run has nodes compete
// for the processors.
type Load struct {
	Share    float64       // of all processors, taken by these threads
	Lateness time.Duration // 99th percentile, the median of calibrateRounds
	Timers   int64
}

// Figures of a calibration, which takes about two seconds and a half.
const (
	calibrateRounds = 3 // an odd number: one hiccup of the machine decides nothing
	calibrateTime   = 250 * time.Millisecond
	calibrateFrames = 1500
	calibrateLength = 4096
	// calibrateTogether is how many threads are due at the same instants. Nodes of a
	// fabric are so too, as links are equal and flows start together. On one machine the
	// 99th percentile was 80 us with each thread by itself, 73 to 106 us with four
	// together, 100 to 150 us with six; three-flow runs had 74 to 106 us.
	calibrateTogether = 6
)

// calibrateShares are the wanted loads, as shares of all processors, up to the
// load that a run may cause.
var calibrateShares = []float64{0.08, 0.2, 0.5}

// Calibrate measures frames between the only ports of a and b, which are joined,
// and then timers under loads, of as many threads as there are to be nodes. Both
// ports stay the caller's.
func Calibrate(a, b netio.Conn, nodes int) (*Calibration, error) {
	noCollections()
	runtime.GOMAXPROCS(max(nodes, runtime.NumCPU()) + spareProcessors)
	before := processCPU()
	var all sync.WaitGroup
	errs := make([]error, 2)
	for i, conn := range []netio.Conn{a, b} {
		all.Go(func() { onThread(func(w *threadSleeper) { errs[i] = pingPong(w, conn, i == 0) }) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err // without the cost of a frame there are no loads
	}
	c := &Calibration{RealTime: true, FrameHop: (processCPU() - before) / (2 * calibrateFrames)}
	rounds := make([][]time.Duration, len(calibrateShares))
	c.Loads = make([]Load, len(calibrateShares))
	for range calibrateRounds {
		for i, share := range calibrateShares {
			late, taken, realTime := calibrateLoad(nodes, share, c.FrameHop)
			rounds[i] = append(rounds[i], late.Quantile(0.99))
			c.Loads[i].Share += taken / calibrateRounds
			c.Loads[i].Timers += late.Events
			c.RealTime = c.RealTime && realTime
		}
	}
	for i := range c.Loads {
		slices.Sort(rounds[i])
		c.Loads[i].Lateness = rounds[i][calibrateRounds/2]
	}
	return c, nil
}

// calibrateLoad has threads wake at random, some of them together, and work for
// half of a frame-hop: the sleep and the wake are the other half. It returns how
// late they were, which share of the processors they took, and whether all of them
// had a real-time priority.
func calibrateLoad(threads int, share float64, hop time.Duration) (late Lateness, taken float64, realTime bool) {
	mean := float64(hop) * float64(threads) / (share * float64(runtime.NumCPU()))
	start := Monotonic() + startIn
	begin, before := time.Now(), processCPU()
	realTime = true
	var all sync.WaitGroup
	var mu sync.Mutex
	for i := range threads {
		all.Go(func() {
			var mine Lateness
			privileged := onThread(func(w *threadSleeper) {
				w.start = func() time.Duration { return start }
				random := rand.New(rand.NewPCG(uint64(i/calibrateTogether), 0))
				for next := time.Duration(0); ; {
					if next += time.Duration(random.ExpFloat64() * mean); next > calibrateTime {
						return
					}
					for w.now() < next {
						w.wait(next, false)
					}
					now := w.now()
					mine.Add(now - next)
					for w.now() < now+hop/2 { // work
					}
				}
			})
			mu.Lock()
			defer mu.Unlock()
			late.Merge(mine)
			realTime = realTime && privileged
		})
	}
	all.Wait()
	taken = (processCPU() - before).Seconds() / time.Since(begin).Seconds() / float64(runtime.NumCPU())
	return late, taken, realTime
}

// startIn is the time from the creation of threads until they pace.
const startIn = 20 * time.Millisecond

// onThread calls f on a thread that paces and that no other goroutine uses
// afterwards. It reports whether the thread got a real-time priority.
func onThread(f func(*threadSleeper)) (privileged bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		prepareThread()
		privileged = isRealTime()
		w := &threadSleeper{}
		w.calibrate()
		f(w)
	}()
	<-done
	return privileged
}

// pingPong returns every frame that comes; serve begins.
func pingPong(w *threadSleeper, conn netio.Conn, serve bool) error {
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
				return fmt.Errorf("wall: calibration: frame %d of %d did not come back within %v", got+1, calibrateFrames, calibrateLimit)
			}
			w.wait(w.now()+maxSleep, true)
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
