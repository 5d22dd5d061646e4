package readingtest

import "time"

// Peak returns the greatest value that sample returns while f runs. Another goroutine calls it, at
// once and then at intervals.
func Peak(sample func() uint64, interval time.Duration, f func()) (peak uint64) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			peak = max(peak, sample())
			select {
			case <-stop:
				return
			case <-time.After(interval):
			}
		}
	}()
	f()
	close(stop)
	<-stopped
	return peak
}
