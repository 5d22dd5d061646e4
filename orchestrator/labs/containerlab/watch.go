package containerlab

import (
	"context"
	"fmt"
	"time"
)

// Times of an engine that is watched. An engine under load answers within a second.
const (
	pingEvery = time.Second
	pingTime  = 2 * time.Second
	sayAfter  = 5 * time.Second  // the user is told what is waited for
	lostAfter = 30 * time.Second // an engine that does not answer is given up
)

// Watch asks the engine now and then whether it lives, until the function that Watch
// returns is called. say receives what the engine's caller has been waiting for, once
// that takes some seconds. An engine that does not answer for half a minute is given up:
// all requests to it fail with ErrLost at once. Watches of an Engine do not overlap.
func (e *Engine) Watch(say func(text string)) (stop func()) {
	lost, give := context.WithCancel(context.Background())
	e.mu.Lock()
	e.lost, e.say = lost, say
	e.mu.Unlock()
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		e.watch(end, give)
	}()
	return func() {
		close(end)
		<-ended
		e.mu.Lock()
		e.lost, e.say = context.Background(), nil
		e.mu.Unlock()
		give()
	}
}

func (e *Engine) watch(end <-chan struct{}, give func()) {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	pinging, stop := context.WithCancel(context.Background())
	defer stop()
	go func() { // a ping under way does not delay the end
		<-end
		stop()
	}()
	answered, said := time.Now(), false
	for {
		select {
		case <-end:
			return
		case <-tick.C:
		}
		ctx, cancel := context.WithTimeout(pinging, pingTime)
		_, err := e.docker.Ping(ctx)
		cancel()
		silent := time.Since(answered)
		switch {
		case err == nil:
			answered, said = time.Now(), false
		case silent > lostAfter:
			give()
			<-end
			return
		case silent > sayAfter && !said:
			said = true
			e.waiting("the docker engine, which has not answered for %v at %s", sayAfter, e.docker.DaemonHost())
		}
	}
}

// waiting tells the user what is waited for, if somebody watches.
func (e *Engine) waiting(format string, args ...any) {
	e.mu.Lock()
	say := e.say
	e.mu.Unlock()
	if say != nil {
		say("waiting for " + fmt.Sprintf(format, args...))
	}
}
