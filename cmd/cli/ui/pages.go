package ui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// Bounds of making and keeping pages.
const (
	mostMaking  = 2                // pages that are made at a time
	mostWaiting = 16               // that are made or wait for their turn
	mostPage    = 64 << 20         // bytes of a page
	mostKept    = 128 << 20        // bytes of all pages that are kept
	mostTime    = 10 * time.Minute // to make a page
)

// errBusy reports that too many pages are being made.
var errBusy = errors.New("too many pages are being made")

// maker writes a page.
type maker func(ctx context.Context, w io.Writer) error

// pages makes pages and keeps the latest. Readers that ask for a page that is being made wait
// for it together; when the last of them goes away, it is given up.
type pages struct {
	turns chan struct{}
	all   sync.WaitGroup // of pages that are being made

	mu      sync.Mutex
	made    map[string]*page
	kept    []string // keys of the pages that have been made, the one that was read last at the end
	bytes   int
	waiting int
}

// page is a page that has been made, or is being made.
type page struct {
	done    chan struct{} // closed: text and err are set
	text    []byte
	err     error
	readers int
	cancel  context.CancelFunc
}

func newPages() pages {
	return pages{turns: make(chan struct{}, mostMaking), made: map[string]*page{}}
}

// get returns a page, which must not be changed. The error is errBusy, that of ctx or that of
// the maker.
func (p *pages) get(ctx context.Context, key string, of maker) ([]byte, error) {
	one, err := p.enter(ctx, key, of)
	if err != nil {
		return nil, err
	}
	select {
	case <-one.done:
		err = one.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if one.readers--; one.readers == 0 {
		select {
		case <-one.done:
		default:
			one.cancel()
			p.forget(key, one)
		}
	}
	return one.text, err
}

// enter adds a reader to a page, and begins to make it if need be.
func (p *pages) enter(ctx context.Context, key string, of maker) (*page, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.made[key]; one != nil {
		one.readers++
		p.touch(key)
		return one, nil
	}
	if p.waiting == mostWaiting {
		return nil, errBusy
	}
	p.waiting++
	one := &page{done: make(chan struct{}), readers: 1}
	// It outlives the reader who asked first if others have come.
	making, cancel := context.WithTimeout(context.WithoutCancel(ctx), mostTime)
	one.cancel = cancel
	p.made[key] = one
	p.all.Go(func() {
		defer cancel()
		p.make(making, key, one, of)
	})
	return one, nil
}

// make makes a page when it is its turn.
func (p *pages) make(ctx context.Context, key string, one *page, of maker) {
	var text bounded
	var err error
	select {
	case p.turns <- struct{}{}:
		if err = p.givenUp(ctx); err == nil {
			err = of(ctx, &text)
		}
		<-p.turns
	case <-ctx.Done():
		err = ctx.Err()
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("it was not made within %v", mostTime)
	}
	if text.full {
		err = fmt.Errorf("it has more than %d MB", mostPage>>20)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting--
	if one.err = err; err == nil {
		one.text = text.Bytes()
	}
	close(one.done)
	if p.made[key] != one {
		return
	}
	if err != nil {
		p.forget(key, one) // another try may do better
		return
	}
	p.kept = append(p.kept, key)
	p.bytes += len(one.text)
	for p.bytes > mostKept {
		p.forget(p.kept[0], p.made[p.kept[0]])
	}
}

// givenUp returns the error of the context of a page. While end gives up one page after the other it
// waits, so that none takes the turn of another in between.
func (p *pages) givenUp(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return ctx.Err()
}

// touch makes a page the last one to be forgotten.
func (p *pages) touch(key string) {
	if at := slices.Index(p.kept, key); at >= 0 {
		p.kept = append(slices.Delete(p.kept, at, at+1), key)
	}
}

// forget drops a page.
func (p *pages) forget(key string, one *page) {
	if p.made[key] != one {
		return
	}
	delete(p.made, key)
	if at := slices.Index(p.kept, key); at >= 0 {
		p.kept, p.bytes = slices.Delete(p.kept, at, at+1), p.bytes-len(one.text)
	}
}

// end gives up all pages that are being made, and waits until nothing is at work.
func (p *pages) end() {
	p.mu.Lock()
	for _, one := range p.made {
		one.cancel()
	}
	p.mu.Unlock()
	p.all.Wait()
}

// bounded keeps a page of mostPage bytes at most.
type bounded struct {
	bytes.Buffer
	full bool
}

// Write implements io.Writer.
func (b *bounded) Write(text []byte) (int, error) {
	if b.Len()+len(text) > mostPage {
		b.full = true
		return 0, errors.New("the page is too large")
	}
	return b.Buffer.Write(text)
}
